/* A skip list of counters, in byte order of their names, and a fault countdown in front of it. */
#include "store_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define LEVELS 16 /* at one node in four a level: plenty for 4^10 counters */
#define THREADS_MAX 64
#define HANG_POLL_MS 5

enum fault {
    FAULT_OK,
    FAULT_NOT_DONE,
    FAULT_UNKNOWN_APPLIED,
    FAULT_UNKNOWN_LOST,
    FAULT_STOP,
    FAULT_HANG,
    FAULT_NONE, /* the fault file has nothing to say */
};

static const char *const fault_words[] = {
    [FAULT_OK] = "ok",
    [FAULT_NOT_DONE] = "not_done",
    [FAULT_UNKNOWN_APPLIED] = "unknown_applied",
    [FAULT_UNKNOWN_LOST] = "unknown_lost",
    [FAULT_STOP] = "stop",
    [FAULT_HANG] = "hang",
};

struct step {
    enum fault fault;
    uint64_t left;
};

struct script {
    struct step *steps;
    size_t count;
    size_t at;
};

struct node {
    struct store_counter counter;
    size_t name_len;
    char *name;
    struct node *next[]; /* as many as its level */
};

struct memory_store {
    struct store base;
    pthread_mutex_t mutex; /* over all below */
    struct node *head[LEVELS];
    uint64_t random;
    int64_t generation;
    int64_t high_water_s;
    struct store_lease lease;
    struct script script;
    char *fault_file; /* set at open */
};

static int compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t len = a_len < b_len ? a_len : b_len;
    int order = len == 0 ? 0 : memcmp(a, b, len);
    return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

/* For each level, the link that a node of this name hangs on or would hang on. */
static struct node *seek(struct memory_store *memory, const char *name, size_t name_len,
                         struct node **links[LEVELS])
{
    struct node **level = memory->head;
    for (int i = LEVELS - 1; i >= 0; i--) {
        while (level[i] != NULL && compare(level[i]->name, level[i]->name_len, name, name_len) < 0)
            level = level[i]->next;
        links[i] = &level[i];
    }
    return *links[0];
}

static struct node *find(struct memory_store *memory, const char *name, size_t name_len,
                         struct node **links[LEVELS])
{
    struct node *node = seek(memory, name, name_len, links);
    return node != NULL && compare(node->name, node->name_len, name, name_len) == 0 ? node : NULL;
}

static int insert(struct memory_store *memory, const char *name, size_t name_len,
                  const struct store_counter *counter, struct node **links[LEVELS])
{
    memory->random ^= memory->random << 13;
    memory->random ^= memory->random >> 7;
    memory->random ^= memory->random << 17;
    int levels = 1;
    while (levels < LEVELS && (memory->random >> (2 * levels) & 3) == 0)
        levels++;
    size_t bytes = sizeof(struct node) + (size_t)levels * sizeof(struct node *);
    struct node *node = malloc(bytes + name_len);
    if (node == NULL)
        return -1;
    node->counter = *counter;
    node->name = (char *)node + bytes;
    node->name_len = name_len;
    if (name_len != 0)
        memcpy(node->name, name, name_len);
    for (int i = 0; i < levels; i++) {
        node->next[i] = *links[i];
        *links[i] = node;
    }
    return 0;
}

static void unlink_node(struct node *node, struct node **links[LEVELS])
{
    for (int i = 0; i < LEVELS && *links[i] == node; i++)
        *links[i] = node->next[i];
    free(node);
}

static void list(struct memory_store *memory, struct store_op *op)
{
    struct node **links[LEVELS];
    bool behind = compare(op->after, op->after_len, op->name, op->name_len) >= 0;
    struct node *node = behind && op->after_len != 0 ? seek(memory, op->after, op->after_len, links)
                                                     : seek(memory, op->name, op->name_len, links);
    op->result = STORE_DONE;
    op->text[0] = '\0';
    for (int64_t rows = 0; node != NULL && rows < op->count; node = node->next[0]) {
        if (!store_list_wants(op, node->name, node->name_len))
            return;
        if (op->after_len != 0 &&
            compare(node->name, node->name_len, op->after, op->after_len) == 0)
            continue;
        op->row(op, node->name, node->name_len, &node->counter);
        rows++;
    }
}

static void apply_counter(struct memory_store *memory, struct store_op *op)
{
    struct node **links[LEVELS];
    struct node *node = find(memory, op->name, op->name_len, links);
    struct store_counter counter = {0};
    if (node != NULL)
        counter = node->counter;
    enum store_change change = store_counter_apply(op, node != NULL, &counter, &memory->generation);
    if (change == STORE_NEW) {
        if (insert(memory, op->name, op->name_len, &counter, links) != 0)
            store_op_fail(op, STORE_NOT_DONE, "out of memory");
    } else if (change == STORE_GONE) {
        unlink_node(node, links);
    } else if (change != STORE_SAME) {
        node->counter = counter;
    }
}

static void apply(struct memory_store *memory, struct store_op *op)
{
    if (op->verb == STORE_LIST) {
        list(memory, op);
    } else if (op->verb == STORE_HIGH_WATER) {
        memory->high_water_s = op->value;
        op->result = STORE_DONE;
        op->text[0] = '\0';
    } else if (store_verb_leases(op->verb)) {
        (void)store_lease_apply(op, &memory->lease);
    } else {
        apply_counter(memory, op);
    }
}

static enum fault fault_parse(const char *text, size_t len)
{
    for (int i = 0; i < FAULT_NONE; i++)
        if (strlen(fault_words[i]) == len && memcmp(fault_words[i], text, len) == 0)
            return (enum fault)i;
    return FAULT_NONE;
}

static int parse_number(const char *text, size_t len, uint64_t min, uint64_t max, uint64_t *number)
{
    uint64_t value = 0;
    if (len == 0 || len > 18)
        return -1;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    if (value < min || value > max)
        return -1;
    *number = value;
    return 0;
}

static int script_parse(const char *text, size_t len, struct script *script)
{
    size_t room = 1;
    for (size_t i = 0; i < len; i++)
        room += text[i] == ',';
    struct step *steps = calloc(room, sizeof(*steps));
    if (steps == NULL)
        return -1;
    size_t count = 0;
    for (size_t at = 0; at < len; count++) {
        const char *comma = memchr(text + at, ',', len - at);
        size_t item = comma == NULL ? len - at : (size_t)(comma - (text + at));
        const char *star = memchr(text + at, '*', item);
        size_t word = star == NULL ? item : (size_t)(star - (text + at));
        steps[count].left = 1;
        steps[count].fault = fault_parse(text + at, word);
        if (steps[count].fault >= FAULT_HANG ||
            (star != NULL &&
             parse_number(star + 1, item - word - 1, 1, UINT32_MAX, &steps[count].left) != 0)) {
            free(steps);
            return -1;
        }
        at += item + (comma != NULL);
    }
    *script = (struct script){steps, count, 0};
    return 0;
}

static enum fault script_next(struct script *script, bool writes)
{
    if (script->at == script->count)
        return FAULT_OK;
    struct step *step = &script->steps[script->at];
    if (step->fault == FAULT_STOP)
        return FAULT_NOT_DONE;
    if (!writes)
        return FAULT_OK;
    if (--step->left == 0)
        script->at++;
    return step->fault;
}

static enum fault read_fault_file(const char *path)
{
    char word[32];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? FAULT_NONE : FAULT_NOT_DONE;
    ssize_t len = read(fd, word, sizeof(word));
    close(fd);
    while (len > 0 && (word[len - 1] == '\n' || word[len - 1] == ' '))
        len--;
    if (len <= 0)
        return FAULT_NONE;
    enum fault fault = fault_parse(word, (size_t)len);
    /* A word that is none must not pass as health. */
    return fault == FAULT_NONE || fault == FAULT_STOP ? FAULT_NOT_DONE : fault;
}

static enum fault wait_for_fault_file(const char *path)
{
    enum fault fault = read_fault_file(path);
    while (fault == FAULT_HANG) {
        poll(NULL, 0, HANG_POLL_MS);
        fault = read_fault_file(path);
    }
    return fault;
}

static void memory_commit(struct store *store, struct store_op **ops, size_t count)
{
    struct memory_store *memory = (struct memory_store *)store;
    enum fault fault = FAULT_NONE;
    if (memory->fault_file != NULL)
        fault = wait_for_fault_file(memory->fault_file);

    bool writes = false;
    for (size_t i = 0; i < count; i++)
        writes = writes || store_verb_writes(ops[i]->verb);

    pthread_mutex_lock(&memory->mutex);
    if (fault == FAULT_NONE)
        fault = script_next(&memory->script, writes);
    if (fault == FAULT_OK || fault == FAULT_UNKNOWN_APPLIED)
        for (size_t i = 0; i < count; i++)
            apply(memory, ops[i]);
    pthread_mutex_unlock(&memory->mutex);

    if (fault != FAULT_OK)
        for (size_t i = 0; i < count; i++)
            store_op_fail(ops[i], fault == FAULT_NOT_DONE ? STORE_NOT_DONE : STORE_UNKNOWN,
                          "a fault by script");
}

static void memory_close(struct store *store)
{
    struct memory_store *memory = (struct memory_store *)store;
    struct node *node = memory->head[0];
    while (node != NULL) {
        struct node *next = node->next[0];
        free(node);
        node = next;
    }
    pthread_mutex_destroy(&memory->mutex);
    free(memory->script.steps);
    free(memory->fault_file);
    free(memory);
}

static int set_option(struct memory_store *memory, const char *key, size_t key_len,
                      const char *value, size_t value_len)
{
    struct store *base = &memory->base;
    uint64_t number = 0;
    if (key_len == 6 && memcmp(key, "faults", 6) == 0)
        return memory->script.steps == NULL ? script_parse(value, value_len, &memory->script) : -1;
    if (key_len == 10 && memcmp(key, "fault_file", 10) == 0 && memory->fault_file == NULL) {
        memory->fault_file = strndup(value, value_len);
        return memory->fault_file == NULL || value_len == 0 ? -1 : 0;
    }
    if (key_len == 6 && memcmp(key, "shared", 6) == 0) {
        base->shared = value_len == 3 && memcmp(value, "yes", 3) == 0;
        return base->shared || (value_len == 2 && memcmp(value, "no", 2) == 0) ? 0 : -1;
    }
    if (parse_number(value, value_len, 1, THREADS_MAX, &number) != 0)
        return -1;
    if (key_len == 7 && memcmp(key, "workers", 7) == 0)
        base->workers = (unsigned)number;
    else if (key_len == 7 && memcmp(key, "flights", 7) == 0)
        base->flights = (unsigned)number;
    else
        return -1;
    return 0;
}

static int set_options(struct memory_store *memory, const char *rest, char *why, size_t why_bytes)
{
    if (rest[0] != '\0' && rest[0] != '?') {
        snprintf(why, why_bytes, "memory: takes nothing but options, as in memory:?workers=2");
        return -1;
    }
    for (const char *at = rest + (rest[0] == '?'); *at != '\0';) {
        size_t len = strcspn(at, "&");
        const char *equals = memchr(at, '=', len);
        size_t key_len = equals == NULL ? len : (size_t)(equals - at);
        if (equals == NULL || set_option(memory, at, key_len, equals + 1, len - key_len - 1) != 0) {
            snprintf(why, why_bytes, "memory: option \"%.*s\" is not understood", (int)len, at);
            return -1;
        }
        at += len + (at[len] == '&');
    }
    return 0;
}

static int memory_open(const struct config *config, const char *rest, struct store **store,
                       char *why, size_t why_bytes)
{
    struct memory_store *memory = calloc(1, sizeof(*memory));
    if (memory == NULL) {
        snprintf(why, why_bytes, "out of memory");
        return -1;
    }
    pthread_mutex_init(&memory->mutex, NULL);
    memory->random = UINT64_C(0x9e3779b97f4a7c15); /* any but 0; only balances the list */
    memory->high_water_s = -1;
    memory->lease.high_water_s = -1;
    memory->base.backend = &store_memory_backend;
    memory->base.workers = 1;
    memory->base.flights = 1;
    uint64_t id[2] = {0};
    if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id)) {
        snprintf(why, why_bytes, "no random bytes from the system");
        goto fail;
    }
    struct store_facts *facts = &memory->base.facts;
    snprintf(facts->id, sizeof(facts->id), "%016" PRIx64 "%016" PRIx64, id[0], id[1]);
    snprintf(facts->version, sizeof(facts->version), "memory");
    facts->birth_s = time(NULL);
    facts->high_water_s = -1;
    if (set_options(memory, rest, why, why_bytes) != 0)
        goto fail;
    *store = &memory->base;
    return 0;

fail:
    memory_close(&memory->base);
    return -1;
}

int store_memory_script(struct store *store, const char *script)
{
    struct memory_store *memory = (struct memory_store *)store;
    struct script parsed;
    if (script_parse(script, strlen(script), &parsed) != 0)
        return -1;
    pthread_mutex_lock(&memory->mutex);
    struct script old = memory->script;
    memory->script = parsed;
    pthread_mutex_unlock(&memory->mutex);
    free(old.steps);
    return 0;
}

int64_t store_memory_high_water(struct store *store)
{
    struct memory_store *memory = (struct memory_store *)store;
    pthread_mutex_lock(&memory->mutex);
    int64_t high_water_s = memory->high_water_s;
    pthread_mutex_unlock(&memory->mutex);
    return high_water_s;
}

const struct store_backend store_memory_backend = {
    .scheme = "memory",
    .open = memory_open,
    .commit = memory_commit,
    .close = memory_close,
};
