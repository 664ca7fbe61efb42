#include "mongo_state.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* Of a counter that no command has changed; documents hold how often one has since. */
#define FIRST_GENERATION 1

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int mongo_state_init(struct mongo_state *state, const struct config *config)
{
    state->config = config;
    pthread_mutex_init(&state->lock, NULL);
    return row_cache_init(&state->cache);
}

void mongo_state_finish(struct mongo_state *state)
{
    row_cache_finish(&state->cache);
    pthread_mutex_destroy(&state->lock);
}

/* --- The store's id --- */

static int read_identity(const bson_t *reply, struct store_facts *facts)
{
    bson_iter_t id, birth;
    if (!mongo_find(reply, "value.id", &id) || !mongo_find(reply, "value.birth", &birth) ||
        !BSON_ITER_HOLDS_UTF8(&id) || strlen(bson_iter_utf8(&id, NULL)) != STORE_ID_HEX)
        return -1;
    snprintf(facts->id, sizeof(facts->id), "%s", bson_iter_utf8(&id, NULL));
    facts->birth_s = bson_iter_as_int64(&birth);
    return 0;
}

int mongo_state_identify(struct mongo_state *state, struct mongo_call *call,
                         struct store_facts *facts, struct mongo_fault *fault)
{
    uint8_t random[STORE_ID_HEX / 2];
    char id[STORE_ID_HEX + 1];
    bson_t reply;
    if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
        mongo_fault_set(fault, STORE_NOT_DONE, "no random bytes");
        return -1;
    }
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(id + 2 * i, 3, "%02x", random[i]);
    int result = -1;
    /* Two daemons may be the first at once: then one finds that the other was. */
    for (int tries = 0; tries < 3 && result < 0; tries++)
        result = mongo_write(call, state->config->mongo.state_database,
                             BCON_NEW("findAndModify", MONGO_STATE_COLLECTION, "query", "{", "_id",
                                      "store", "}", "update", "{", "$setOnInsert", "{", "id",
                                      BCON_UTF8(id), "birth", BCON_INT64(time(NULL)), "}", "}",
                                      "upsert", BCON_BOOL(true), "new", BCON_BOOL(true)),
                             &reply, fault);
    if (result < 0)
        return -1;
    result = read_identity(&reply, facts);
    bson_destroy(&reply);
    if (result < 0)
        mongo_fault_set(fault, STORE_REFUSED, "%s.%s: the document \"store\" is not idmint's",
                        state->config->mongo.state_database, MONGO_STATE_COLLECTION);
    return result;
}

/* --- Options --- */

static void configured(const struct mongo_state *state, const char *name, size_t name_len,
                       struct store_counter *options)
{
    const struct config_counter *c = state->config->counter;
    while (c != NULL && !(strlen(c->name) == name_len && memcmp(c->name, name, name_len) == 0))
        c = c->next;
    config_counter_create(state->config, c, options);
    options->generation = FIRST_GENERATION;
}

static void parse_number(const bson_t *document, const char *key, int64_t *number)
{
    bson_iter_t at;
    if (bson_iter_init_find(&at, document, key))
        *number = bson_iter_as_int64(&at);
}

void mongo_state_parse(const struct mongo_state *state, const bson_t *document, const char *name,
                       size_t name_len, struct store_counter *options)
{
    configured(state, name, name_len, options);
    struct store_counter stated = *options;
    parse_number(document, "start", &stated.start);
    parse_number(document, "step", &stated.step);
    parse_number(document, "max", &stated.max);
    parse_number(document, "cache", &stated.cache);
    if (store_counter_check(&stated) == NULL)
        *options = stated;
    int64_t changes = 0;
    parse_number(document, "generation", &changes);
    options->generation = FIRST_GENERATION + changes;
}

void mongo_state_counter_id(char id[MONGO_STATE_ID_BYTES], const char *name, size_t name_len)
{
    snprintf(id, MONGO_STATE_ID_BYTES, "counter/%.*s", (int)name_len, name);
}

/* What was read or written just now, with the floor that was read; the greater one known before
 * stays, within a generation. */
static void remember(struct mongo_state *state, const char *name, size_t name_len, int64_t read_ms,
                     struct store_counter *options)
{
    bool hit;
    pthread_mutex_lock(&state->lock);
    struct row *row = row_cache_look(&state->cache, name, name_len, &hit);
    if (hit && row->counter.generation == options->generation &&
        row->counter.value > options->value)
        options->value = row->counter.value;
    /* A slower thread may have read before a newer generation was made. */
    if (!hit || row->counter.generation <= options->generation || row->id < read_ms)
        (void)row_cache_put(&state->cache, name, name_len, read_ms, options);
    pthread_mutex_unlock(&state->lock);
}

int mongo_state_get(struct mongo_state *state, struct mongo_call *call, const char *name,
                    size_t name_len, bool fresh, struct store_counter *options, bool *known,
                    struct mongo_fault *fault)
{
    char id[MONGO_STATE_ID_BYTES];
    bson_t reply, document;
    int64_t read_ms = now_ms();
    pthread_mutex_lock(&state->lock);
    struct row *row = row_cache_look(&state->cache, name, name_len, known);
    bool good = *known && !fresh && read_ms - row->id < state->config->counters.block_ms;
    if (good)
        *options = row->counter;
    pthread_mutex_unlock(&state->lock);
    if (good)
        return 0;

    mongo_state_counter_id(id, name, name_len);
    if (mongo_read(call, state->config->mongo.state_database,
                   BCON_NEW("find", MONGO_STATE_COLLECTION, "filter", "{", "_id", BCON_UTF8(id),
                            "}", "limit", BCON_INT32(1), "singleBatch", BCON_BOOL(true)),
                   &reply, fault) < 0)
        return -1;
    bool found = mongo_find_document(&reply, "cursor.firstBatch.0", &document);
    if (found)
        mongo_state_parse(state, &document, name, name_len, options);
    else
        configured(state, name, name_len, options);
    options->value = INT64_MIN;
    if (found)
        parse_number(&document, "floor", &options->value);
    bson_destroy(&reply);
    remember(state, name, name_len, read_ms, options);
    return 0;
}

static void append_change(bson_t *update, enum mongo_state_change change,
                          const struct store_counter *options)
{
    const struct {
        const char *key;
        int64_t number;
    } fields[] = {{"start", options->start},
                  {"step", options->step},
                  {"max", options->max},
                  {"cache", options->cache}};
    bson_t set = BSON_INITIALIZER, unset = BSON_INITIALIZER;
    BSON_APPEND_INT64(&unset, "floor", 0); /* it was the old generation's */
    for (size_t i = 0; change != MONGO_STATE_KEEP && i < sizeof(fields) / sizeof(fields[0]); i++)
        BSON_APPEND_INT64(change == MONGO_STATE_FORGET ? &unset : &set, fields[i].key,
                          fields[i].number);
    BSON_APPEND_DOCUMENT(update, "$unset", &unset);
    if (!bson_empty(&set))
        BSON_APPEND_DOCUMENT(update, "$set", &set);
    bson_destroy(&set);
    bson_destroy(&unset);
}

static int change_state(struct mongo_state *state, struct mongo_call *call, const char *id,
                        int64_t expected, const bson_t *update, bson_t *reply,
                        struct mongo_fault *fault)
{
    bson_t query, value;
    int result = -1;
    bson_init(&query);
    BSON_APPEND_UTF8(&query, "_id", id);
    if (expected != MONGO_STATE_ANY)
        BSON_APPEND_INT64(&query, "generation", expected - FIRST_GENERATION);
    fault->code = 11000;
    /* Two may make the document at once: then one finds that the other has. */
    for (int tries = 0; tries < 3 && result < 0 && fault->code == 11000; tries++)
        result =
            mongo_write(call, state->config->mongo.state_database,
                        BCON_NEW("findAndModify", MONGO_STATE_COLLECTION, "query",
                                 BCON_DOCUMENT(&query), "update", BCON_DOCUMENT(update), "upsert",
                                 BCON_BOOL(expected <= FIRST_GENERATION), "new", BCON_BOOL(true)),
                        reply, fault);
    bson_destroy(&query);
    if (result == 0 && !mongo_find_document(reply, "value", &value)) {
        bson_destroy(reply);
        mongo_fault_set(fault, STORE_NOT_DONE, "the counter's options changed meanwhile");
        fault->code = 11000;
        return -1;
    }
    return result;
}

int mongo_state_bump(struct mongo_state *state, struct mongo_call *call, const char *name,
                     size_t name_len, int64_t expected, enum mongo_state_change change,
                     struct store_counter *options, struct mongo_fault *fault)
{
    char id[MONGO_STATE_ID_BYTES];
    struct store_counter stored;
    bson_t reply, update;
    bson_iter_t at;
    int64_t read_ms = now_ms();
    int result;
    mongo_state_counter_id(id, name, name_len);
    configured(state, name, name_len, &stored);
    if (change == MONGO_STATE_RESTORE && stored.start == options->start &&
        stored.step == options->step && stored.max == options->max &&
        stored.cache == options->cache)
        change = MONGO_STATE_FORGET;
    bson_init(&update);
    append_change(&update, change, options);
    bson_t *inc = BCON_NEW("generation", BCON_INT64(1));
    BSON_APPEND_DOCUMENT(&update, "$inc", inc);
    bson_destroy(inc);
    result = change_state(state, call, id, expected, &update, &reply, fault);
    bson_destroy(&update);
    if (result < 0)
        return -1;
    if (mongo_find(&reply, "value.generation", &at))
        options->generation = FIRST_GENERATION + bson_iter_as_int64(&at);
    bson_destroy(&reply);
    if (change != MONGO_STATE_FORGET)
        stored = *options;
    stored.generation = options->generation;
    stored.value = options->value = INT64_MIN;
    remember(state, name, name_len, read_ms, &stored);
    return 0;
}

void mongo_state_issued(struct mongo_state *state, const char *name, size_t name_len,
                        int64_t generation, int64_t value)
{
    bool hit;
    pthread_mutex_lock(&state->lock);
    struct row *row = row_cache_look(&state->cache, name, name_len, &hit);
    if (hit && row->counter.generation == generation && row->counter.value < value)
        row->counter.value = value;
    pthread_mutex_unlock(&state->lock);
    mongo_floors_note(&state->floors, name, name_len, generation - FIRST_GENERATION, value);
}
