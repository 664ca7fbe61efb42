#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limit.h"
#include "log.h"
#include "name.h"
#include "quantity.h"
#include "store.h"

#define HOUR_MS INT64_C(3600000)

enum kind {
    KIND_COUNT = QUANTITY_COUNT,
    KIND_DURATION = QUANTITY_DURATION,
    KIND_SIZE = QUANTITY_SIZE,
    KIND_OCTAL = QUANTITY_OCTAL,
    KIND_FLAG,
    KIND_LEVEL,
    KIND_RETURNS,
    KIND_TYPE,
    KIND_TEXT, /* never empty */
    KIND_PATH, /* empty: NULL */
};

struct row {
    const char *section, *key;
    enum kind kind;
    size_t offset; /* in struct config */
    const char *fallback;
    int64_t min, max;
    const char *unit, *summary;
    bool reloadable, secret;
};

#define AT(field) offsetof(struct config, field)
#define UNIT_DURATION "ms, s, m or h"
#define UNIT_SIZE "B, KiB, MiB or GiB"
#define UNIT_FLAG "yes or no"

/* In the order of conf/idmintd.conf. */
static const struct row rows[] = {
    {"listen", "resp", KIND_TEXT, AT(listen.resp), "127.0.0.1:7377", 0, 0,
     "host:port, [v6]:port or unix:PATH; several by comma; port 0 picks one",
     "Where the line protocol (RESP) is served", false, false},
    {"listen", "http", KIND_PATH, AT(listen.http), "127.0.0.1:7378", 0, 0,
     "as resp; empty: nowhere", "Where HTTP is served", false, false},
    {"listen", "advertise", KIND_PATH, AT(listen.advertise), "", 0, 0,
     "host:port; empty: the first of resp", "Where clients find this daemon when it leads", false,
     false},
    {"listen", "threads", KIND_COUNT, AT(listen.threads), "0", 0, 256,
     "threads; 0: the cores less one, at least one", "Threads that serve connections", false,
     false},
    {"listen", "backlog", KIND_COUNT, AT(listen.backlog), "511", 1, 65535, "connections",
     "Connections that wait to be accepted", false, false},
    {"listen", "unix_mode", KIND_OCTAL, AT(listen.unix_mode), "0700", 0, 0777, "octal",
     "Permissions of a Unix socket", false, false},

    {"store", "uri", KIND_TEXT, AT(store.uri), "sqlite:/var/lib/idmint/idmint.db", 0, 0,
     "sqlite:PATH, mongodb://..., mongodb+srv://... or memory:",
     "Where counters and the ObjectId high water are kept", false, true},
    {"store", "batch", KIND_COUNT, AT(store.batch), "4096", 1, 65536, "operations",
     "The most operations in one commit", false, false},

    {"mongo", "password_file", KIND_PATH, AT(mongo.password_file), "", 0, 0, "path; empty: none",
     "The password for the user that the URI names", false, false},
    {"mongo", "database", KIND_TEXT, AT(mongo.place.database), "idmint", 0, 0, "name",
     "The database whose documents are the counters", false, false},
    {"mongo", "collection", KIND_TEXT, AT(mongo.place.collection), "counters", 0, 0, "name",
     "The collection in it", false, false},
    {"mongo", "key", KIND_TEXT, AT(mongo.place.key), "_id", 0, 0, "field",
     "The field that holds a counter's name", false, false},
    {"mongo", "field", KIND_TEXT, AT(mongo.place.field), "seq", 0, 0, "field",
     "The field that holds its value", false, false},
    {"mongo", "returns", KIND_RETURNS, AT(mongo.place.returns), "after", 0, 0, "after or before",
     "Whether documents hold the value issued last (after) or the next one (before)", false, false},
    {"mongo", "type", KIND_TYPE, AT(mongo.place.type), "keep", 0, 0, "keep or int64",
     "Whether a value keeps its number type until it must grow", false, false},
    {"mongo", "create_index", KIND_FLAG, AT(mongo.create_index), "no", 0, 0, UNIT_FLAG,
     "Whether to make the unique index that a key other than _id needs", false, false},
    {"mongo", "state_database", KIND_TEXT, AT(mongo.state_database), "idmint", 0, 0, "name",
     "The database for what idmint keeps for itself, in its collection idmint_state", false, false},
    {"mongo", "issuer", KIND_TEXT, AT(mongo.issuer), "main", 0, 0, "name",
     "Daemons of one name share one order of ObjectIds", false, false},
    {"mongo", "connections", KIND_COUNT, AT(mongo.connections), "16", 1, 1024, "connections",
     "Operations under way at a time", false, false},
    {"mongo", "flights", KIND_COUNT, AT(mongo.flights), "1", 1, 64, "operations",
     "How many of them may be of one counter", false, false},
    {"mongo", "lease", KIND_DURATION, AT(mongo.lease_ms), "20s", 2000, HOUR_MS, UNIT_DURATION,
     "How long a leader that is silent is waited for", false, false},
    {"mongo", "window", KIND_DURATION, AT(mongo.window_ms), "20s", 1000, HOUR_MS,
     UNIT_DURATION "; whole seconds",
     "How far ahead the high water is saved, instead of oid.window", false, false},

    {"oid", "lead", KIND_DURATION, AT(oid.lead_ms), "2s", 1000, HOUR_MS, UNIT_DURATION,
     "How far ids may run ahead of the clock", false, false},
    {"oid", "forward_step", KIND_DURATION, AT(oid.forward_step_ms), "1h", 10000, 720 * HOUR_MS,
     UNIT_DURATION, "The longest forward step of the clock that is followed at once", false, false},
    {"oid", "forward_settle", KIND_DURATION, AT(oid.forward_settle_ms), "1m", 0, 24 * HOUR_MS,
     UNIT_DURATION, "How long a longer step must last to be followed", false, false},
    {"oid", "window", KIND_DURATION, AT(oid.window_ms), "3s", 1000, HOUR_MS,
     UNIT_DURATION "; whole seconds", "How far ahead the high water is saved", false, false},

    {"counters", "auto_create", KIND_FLAG, AT(counters.auto_create), "yes", 0, 0, UNIT_FLAG,
     "Whether the first use of a name creates the counter", false, false},
    {"counters", "start", KIND_COUNT, AT(counters.start), "1", INT64_MIN, INT64_MAX, "value",
     "The first value", false, false},
    {"counters", "step", KIND_COUNT, AT(counters.step), "1", 1, INT64_MAX, "values",
     "The distance between two values", false, false},
    {"counters", "max", KIND_COUNT, AT(counters.max), "9007199254740991", INT64_MIN, INT64_MAX,
     "value", "The greatest value (JavaScript reads greater ones than 2^53 - 1 wrongly)", false,
     false},
    {"counters", "cache", KIND_COUNT, AT(counters.cache), "1", 1, 1000000, "values; 1: none",
     "Values reserved ahead and issued from memory; a crash skips what is left of them", false,
     false},
    {"counters", "in_memory", KIND_COUNT, AT(counters.in_memory), "1000000", 1, 1000000000,
     "counters", "The most counters held in memory", false, false},
    {"counters", "block", KIND_DURATION, AT(counters.block_ms), "10s", 100, HOUR_MS, UNIT_DURATION,
     "How long reserved values are used where daemons share a store", false, false},

    {"auth", "password_file", KIND_PATH, AT(auth.password_file), "", 0, 0, "path; empty: none",
     "Passwords, one a line: PASSWORD or NAME:PASSWORD", true, false},
    {"auth", "allow_open", KIND_FLAG, AT(auth.allow_open), "no", 0, 0, UNIT_FLAG,
     "Whether a network may reach the daemon without a password", false, false},

    {"http", "hosts", KIND_PATH, AT(http.hosts), "", 0, 0, "names by comma, without port",
     "What Host may say beside localhost, 127.0.0.1, [::1] and the addresses of http", true, false},
    {"http", "origins", KIND_PATH, AT(http.origins), "", 0, 0, "scheme://host[:port], by comma",
     "Whose pages in a browser may call, beside the daemon's own", true, false},
    {"http", "open_paths", KIND_PATH, AT(http.open_paths), "/healthz", 0, 0, "paths by comma",
     "What is served without a password where one is set", true, false},
    {"http", "request", KIND_DURATION, AT(http.request_ms), "10s", 100, HOUR_MS, UNIT_DURATION,
     "Time within which a whole request must have come in", true, false},
    {"http", "idle", KIND_DURATION, AT(http.idle_ms), "1m", 100, HOUR_MS, UNIT_DURATION,
     "A connection without a request for so long is closed", true, false},
    {"http", "body", KIND_SIZE, AT(http.body_bytes), "64KiB", 1024, 1 << 20, UNIT_SIZE,
     "The longest body of a request", true, false},

    {"limits", "connections", KIND_COUNT, AT(limits.connections), "10000", 1, 1000000,
     "connections", "The most connections at a time", false, false},
    {"limits", "request", KIND_DURATION, AT(limits.request_ms), "1500ms", 10, HOUR_MS,
     UNIT_DURATION, "Time within which each request is answered", true, false},
    {"limits", "idle", KIND_DURATION, AT(limits.idle_ms), "0", 0, 720 * HOUR_MS,
     UNIT_DURATION "; 0: never", "A connection silent for so long is closed", true, false},
    {"limits", "open", KIND_DURATION, AT(limits.open_ms), "10s", 100, HOUR_MS, UNIT_DURATION,
     "Time to authenticate, where a password is asked for", true, false},
    {"limits", "write", KIND_DURATION, AT(limits.write_ms), "30s", 100, HOUR_MS, UNIT_DURATION,
     "A client that reads no reply for so long is dropped", true, false},
    {"limits", "output", KIND_SIZE, AT(limits.output_bytes), "1MiB", 4096, 1 << 30, UNIT_SIZE,
     "Replies that wait for one client before reading from it pauses", true, false},
    {"limits", "buffers", KIND_SIZE, AT(limits.buffer_bytes), "256MiB", 1 << 20, INT64_C(1) << 40,
     UNIT_SIZE, "Buffers and waiting requests of all connections together", true, false},

    {"log", "level", KIND_LEVEL, AT(log.level), "info", 0, 0,
     "error, warning, notice, info or debug", "The least important lines that are logged", true,
     false},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* What [counter NAME] may override of [counters]. */
static const struct {
    const char *key;
    size_t value, has;
} overrides[] = {
    {"start", offsetof(struct config_counter, start), offsetof(struct config_counter, has_start)},
    {"step", offsetof(struct config_counter, step), offsetof(struct config_counter, has_step)},
    {"max", offsetof(struct config_counter, max), offsetof(struct config_counter, has_max)},
    {"cache", offsetof(struct config_counter, cache), offsetof(struct config_counter, has_cache)},
};
#define OVERRIDES (sizeof(overrides) / sizeof(overrides[0]))

/* What it may override of [mongo], and what is its own. */
static const struct {
    const char *key;
    size_t offset;
} places[] = {
    {"database", offsetof(struct config_counter, place.database)},
    {"collection", offsetof(struct config_counter, place.collection)},
    {"key", offsetof(struct config_counter, place.key)},
    {"field", offsetof(struct config_counter, place.field)},
    {"returns", offsetof(struct config_counter, place.returns)},
    {"type", offsetof(struct config_counter, place.type)},
    {"match", offsetof(struct config_counter, match)},
};
#define PLACES (sizeof(places) / sizeof(places[0]))

static const struct row match_row = {.section = "counter",
                                     .key = "match",
                                     .kind = KIND_TEXT,
                                     .unit = "extended JSON",
                                     .summary = "Finds the document"};

static const char *const levels[] = {
    [LOG_ERROR] = "error", [LOG_WARNING] = "warning", [LOG_NOTICE] = "notice",
    [LOG_INFO] = "info",   [LOG_DEBUG] = "debug",
};
static const char *const returns[] = {[CONFIG_AFTER] = "after", [CONFIG_BEFORE] = "before"};
static const char *const types[] = {[CONFIG_KEEP] = "keep", [CONFIG_INT64] = "int64"};

/* Kinds whose values are words, each with its number. */
static const struct {
    const char *const *words;
    size_t first, end;
    const char *wrong;
} words[] = {
    [KIND_LEVEL] = {levels, LOG_ERROR, sizeof(levels) / sizeof(levels[0]), "no such level"},
    [KIND_RETURNS] = {returns, 0, 2, "neither after nor before"},
    [KIND_TYPE] = {types, 0, 2, "neither keep nor int64"},
};

/* A value as read, before it is put in its place. */
union parsed {
    int64_t number;
    bool flag;
    char *text;
};

static bool is_text(const struct row *row)
{
    return row->kind == KIND_TEXT || row->kind == KIND_PATH;
}

static const char *parse_number(const struct row *row, const char *value, int64_t *number)
{
    int64_t parsed;
    const char *why = quantity_parse((enum quantity)row->kind, value, &parsed);
    if (why)
        return why;
    if (parsed < row->min || parsed > row->max)
        return "out of range";
    *number = parsed;
    return NULL;
}

static const char *parse_word(enum kind kind, const char *value, int64_t *number)
{
    for (size_t i = words[kind].first; i < words[kind].end; i++) {
        if (strcmp(words[kind].words[i], value) == 0) {
            *number = (int64_t)i;
            return NULL;
        }
    }
    return words[kind].wrong;
}

static const char *parse_flag(const char *value, bool *flag)
{
    if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
        return "neither yes nor no";
    *flag = value[0] == 'y';
    return NULL;
}

static const char *parse_text(const struct row *row, const char *value, char **text)
{
    if (*value == '\0' && row->kind == KIND_TEXT)
        return "must not be empty";
    if (strlen(value) >= CONFIG_TEXT_BYTES)
        return "longer than 4096 bytes";
    for (const char *at = value; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            return "control character";
    }
    char *copy = *value ? strdup(value) : NULL;
    if (*value && !copy)
        return "out of memory";
    *text = copy;
    return NULL;
}

/* NULL, or why `value` does not do. */
static const char *parse(const struct row *row, const char *value, union parsed *parsed)
{
    switch (row->kind) {
    case KIND_FLAG:
        return parse_flag(value, &parsed->flag);
    case KIND_LEVEL:
    case KIND_RETURNS:
    case KIND_TYPE:
        return parse_word(row->kind, value, &parsed->number);
    case KIND_TEXT:
    case KIND_PATH:
        return parse_text(row, value, &parsed->text);
    case KIND_COUNT:
    case KIND_DURATION:
    case KIND_SIZE:
    case KIND_OCTAL:
        break;
    }
    return parse_number(row, value, &parsed->number);
}

static void release_text(const struct row *row, char *text)
{
    if (text != row->fallback)
        free(text);
}

static void put(struct config *config, const struct row *row, const union parsed *parsed)
{
    char *at = (char *)config + row->offset;
    if (row->kind == KIND_FLAG) {
        *(bool *)at = parsed->flag;
    } else if (is_text(row)) {
        release_text(row, *(char **)at);
        *(char **)at = parsed->text;
    } else {
        *(int64_t *)at = parsed->number;
    }
}

static const struct row *find_row(const char *section, const char *key)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].section, section) == 0 && strcmp(rows[i].key, key) == 0)
            return &rows[i];
    }
    return NULL;
}

/* The row of a key of [counter NAME]. */
static const struct row *counter_row(const char *key)
{
    if (strcmp(key, match_row.key) == 0)
        return &match_row;
    const struct row *row = find_row("counters", key);
    return row ? row : find_row("mongo", key);
}

static bool section_is_known(const char *section)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].section, section) == 0)
            return true;
    }
    return false;
}

/* NAME of "counter NAME", else NULL. */
static const char *counter_name(const char *section)
{
    static const char prefix[] = "counter ";
    if (strncmp(section, prefix, sizeof(prefix) - 1) != 0)
        return NULL;
    return section + strspn(section + sizeof(prefix) - 1, " \t") + sizeof(prefix) - 1;
}

/* The counter's place in the list; where it is absent, the place at the end. */
static struct config_counter **find_counter(struct config *config, const char *name)
{
    struct config_counter **place = &config->counter;
    while (*place && strcmp((*place)->name, name) != 0)
        place = &(*place)->next;
    return place;
}

static struct config_counter *add_counter(struct config *config, const char *name)
{
    struct config_counter **place = find_counter(config, name);
    if (*place)
        return *place;
    struct config_counter *counter = calloc(1, sizeof(*counter));
    char *copy = strdup(name);
    if (!counter || !copy) {
        free(counter);
        free(copy);
        return NULL;
    }
    counter->name = copy;
    counter->place.returns = -1;
    counter->place.type = -1;
    *place = counter;
    return counter;
}

static void set_place(struct config_counter *counter, size_t offset, const struct row *row,
                      union parsed *parsed)
{
    char *at = (char *)counter + offset;
    if (!is_text(row)) {
        *(int64_t *)at = parsed->number;
        return;
    }
    free(*(char **)at);
    *(char **)at = parsed->text;
    parsed->text = NULL;
}

/* Takes the text out of `parsed` where it keeps it. */
static const char *set_counter(struct config *config, const char *name, const struct row *row,
                               union parsed *parsed)
{
    size_t i = 0, p = 0;
    while (i < OVERRIDES && strcmp(overrides[i].key, row->key) != 0)
        i++;
    while (p < PLACES && strcmp(places[p].key, row->key) != 0)
        p++;
    if (i == OVERRIDES && p == PLACES)
        return "unknown key: [counter NAME] does not have it";
    struct config_counter *counter = add_counter(config, name);
    if (!counter)
        return "out of memory";
    if (p < PLACES) {
        set_place(counter, places[p].offset, row, parsed);
        return NULL;
    }
    *(int64_t *)((char *)counter + overrides[i].value) = parsed->number;
    *(bool *)((char *)counter + overrides[i].has) = true;
    return NULL;
}

#define RANGE_TEXT sizeof(((struct config_row_text *)0)->range)

static void range_text(const struct row *row, char out[RANGE_TEXT])
{
    char least[QUANTITY_TEXT], most[QUANTITY_TEXT];
    out[0] = '\0';
    if (row->min == row->max)
        return;
    quantity_text((enum quantity)row->kind, row->min, least);
    quantity_text((enum quantity)row->kind, row->max, most);
    snprintf(out, RANGE_TEXT, "%s .. %s", least, most);
}

static int refuse(const char *section, const char *key, const struct row *row, const char *value,
                  const char *source, const char *reason, char *why, size_t why_bytes)
{
    char range[RANGE_TEXT] = "";
    if (row)
        range_text(row, range);
    /* A text may hold a password, and is long: it is not repeated. */
    if (row && !is_text(row))
        snprintf(why, why_bytes, "%s: [%s] %s = %.40s: %s (%s%s%s)", source, section, key, value,
                 reason, row->unit, *range ? "; " : "", range);
    else
        snprintf(why, why_bytes, "%s: [%s] %s: %s", source, section, key, reason);
    return -1;
}

int config_set(struct config *config, const char *section, const char *key, const char *value,
               const char *source, char *why, size_t why_bytes)
{
    const char *name = counter_name(section);
    const char *reason = name ? name_check(name, strlen(name)) : NULL;
    const struct row *row = name ? counter_row(key) : find_row(section, key);
    if (!name && !section_is_known(section))
        reason = "unknown section";
    else if (!reason && !row)
        reason = "unknown key";
    if (reason)
        return refuse(section, key, NULL, value, source, reason, why, why_bytes);

    union parsed parsed = {0};
    reason = parse(row, value, &parsed);
    if (reason)
        return refuse(section, key, row, value, source, reason, why, why_bytes);
    if (name)
        reason = set_counter(config, name, row, &parsed);
    else
        put(config, row, &parsed);
    if (name && is_text(row))
        free(parsed.text);
    return reason ? refuse(section, key, NULL, value, source, reason, why, why_bytes) : 0;
}

void config_init(struct config *config)
{
    memset(config, 0, sizeof(*config));
    for (size_t i = 0; i < ROWS; i++) {
        union parsed parsed = {0};
        /* Texts stand for themselves until they are set, so that this can not fail. */
        if (is_text(&rows[i]))
            parsed.text = rows[i].fallback[0] != '\0' ? (char *)rows[i].fallback : NULL;
        else
            (void)parse(&rows[i], rows[i].fallback, &parsed);
        put(config, &rows[i], &parsed);
    }
}

void config_finish(struct config *config)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (is_text(&rows[i]))
            release_text(&rows[i], *(char **)((char *)config + rows[i].offset));
    }
    while (config->counter) {
        struct config_counter *counter = config->counter;
        config->counter = counter->next;
        for (size_t i = 0; i < PLACES; i++) {
            if (is_text(counter_row(places[i].key)))
                free(*(char **)((char *)counter + places[i].offset));
        }
        free(counter->name);
        free(counter);
    }
    memset(config, 0, sizeof(*config));
}

void config_counter_create(const struct config *config, const struct config_counter *counter,
                           struct store_counter *create)
{
    *create = (struct store_counter){
        .start = counter && counter->has_start ? counter->start : config->counters.start,
        .step = counter && counter->has_step ? counter->step : config->counters.step,
        .max = counter && counter->has_max ? counter->max : config->counters.max,
        .cache = counter && counter->has_cache ? counter->cache : config->counters.cache,
    };
    /* Below int64 it stays 0: config_check refuses such a counter. */
    if (__builtin_sub_overflow(create->start, create->step, &create->value))
        create->value = 0;
}

void config_counter_place(const struct config *config, const struct config_counter *counter,
                          struct config_place *place)
{
    *place = config->mongo.place;
    place->database = counter->place.database ? counter->place.database : place->database;
    place->collection = counter->place.collection ? counter->place.collection : place->collection;
    place->key = counter->place.key ? counter->place.key : place->key;
    place->field = counter->place.field ? counter->place.field : place->field;
    place->returns = counter->place.returns >= 0 ? counter->place.returns : place->returns;
    place->type = counter->place.type >= 0 ? counter->place.type : place->type;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_place(const struct config_place *a, const struct config_place *b)
{
    return same_text(a->database, b->database) && same_text(a->collection, b->collection) &&
           same_text(a->key, b->key) && same_text(a->field, b->field) && a->returns == b->returns &&
           a->type == b->type;
}

bool config_same_counters(const struct config *a, const struct config *b)
{
    const struct config_counter *one = a->counter, *other = b->counter;
    for (; one && other; one = one->next, other = other->next) {
        if (strcmp(one->name, other->name) != 0 || !same_text(one->match, other->match) ||
            !same_place(&one->place, &other->place))
            return false;
        struct store_counter left, right;
        config_counter_create(a, one, &left);
        config_counter_create(b, other, &right);
        if (memcmp(&left, &right, sizeof(left)) != 0)
            return false;
    }
    return !one && !other;
}

bool config_row(size_t index, struct config_row_text *row)
{
    if (index >= ROWS)
        return false;
    const struct row *from = &rows[index];
    *row = (struct config_row_text){
        .section = from->section,
        .key = from->key,
        .unit = from->unit,
        .summary = from->summary,
        .fallback = from->fallback,
        .reloadable = from->reloadable,
        .secret = from->secret,
    };
    range_text(from, row->range);
    return true;
}

int config_get(const struct config *config, size_t index, char *value, size_t value_bytes)
{
    if (index >= ROWS)
        return -1;
    const struct row *row = &rows[index];
    const char *at = (const char *)config + row->offset;
    const char *text;
    char number[QUANTITY_TEXT];
    if (row->kind == KIND_FLAG) {
        text = *(const bool *)at ? "yes" : "no";
    } else if (row->kind == KIND_LEVEL || row->kind == KIND_RETURNS || row->kind == KIND_TYPE) {
        text = words[row->kind].words[*(const int64_t *)at];
    } else if (is_text(row)) {
        text = *(char *const *)at;
    } else {
        quantity_text((enum quantity)row->kind, *(const int64_t *)at, number);
        text = number;
    }
    size_t len = text ? strlen(text) : 0;
    if (len >= value_bytes)
        return -1;
    memcpy(value, text ? text : "", len + 1);
    return 0;
}
