/* Operations on a store, one call each, for tests. */
#ifndef IDMINT_TEST_STORE_OPS_H
#define IDMINT_TEST_STORE_OPS_H

#include <string.h>

#include "config.h"
#include "store.h"

#define OPS_MAX INT64_C(9007199254740991)

static inline struct store_counter ops_fresh(int64_t start, int64_t step, int64_t max)
{
    return (struct store_counter){start - step, start, step, max, 1, 0};
}

static inline struct store_op ops_make(enum store_verb verb, const char *name)
{
    struct store_op op = {.verb = verb, .name = name, .counter = ops_fresh(1, 1, OPS_MAX)};
    op.name_len = name == NULL ? 0 : strlen(name);
    op.result = STORE_REFUSED; /* to be set by the store */
    op.created = true;
    memset(op.text, 'x', sizeof(op.text));
    return op;
}

static inline struct store_op ops_take(const char *name, int64_t count)
{
    struct store_op op = ops_make(STORE_TAKE, name);
    op.count = count;
    op.create = true;
    return op;
}

static inline struct store_op ops_value(enum store_verb verb, const char *name, int64_t value)
{
    struct store_op op = ops_make(verb, name);
    op.value = value;
    return op;
}

/* In a configuration that says no more than the URI. */
static inline int ops_open(const char *uri, struct store **store, char *why, size_t why_bytes)
{
    char text[512];
    struct config config;
    config_init(&config);
    config.store.uri = text;
    strncpy(text, uri, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    return store_open(&config, store, why, why_bytes);
}

/* One commit of one op. */
static inline enum store_result ops_commit(struct store *store, struct store_op *op)
{
    store_commit(store, &op, 1);
    return op->result;
}

/* The value of a counter as the store tells it; INT64_MIN: it tells none. */
static inline int64_t ops_read(struct store *store, const char *name)
{
    struct store_op op = ops_make(STORE_READ, name);
    return ops_commit(store, &op) == STORE_DONE ? op.counter.value : INT64_MIN;
}

#endif
