/* A flush: the takes of one counter that share a commit, from opening to dealing out the values;
 * and the table behind counter.h. For counter.c and counter_flush.c alone. */
#ifndef IDMINT_COUNTER_FLUSH_H
#define IDMINT_COUNTER_FLUSH_H

#include "counter.h"
#include "counter_table.h"

/* How one name is created, where the configuration names it. */
struct override {
    struct override *next;
    struct store_counter create;
    size_t name_len;
    char name[];
};

struct counters {
    struct counters_settings settings;
    bool shared;
    unsigned flights;
    struct store_worker *worker;
    struct override *overrides;
    struct counter_shard shards[COUNTER_SHARDS];
};

/* The takes of one counter that share a commit; a prefetch has none. Holds its counter in memory.
 */
struct counter_flush {
    struct store_op op; /* first, so that the op's address is the flush's */
    struct counters *counters;
    struct counter_shard *shard;
    struct counter *counter;
    struct counter_take *head, **tail;
    int64_t sent_ms;
    bool closed;
    bool submitted;
    bool prefetch;
    bool allotted; /* the takes' `served` says what fits below MAX: commit just that, */
    int64_t left;  /* or, for a prefetch, what is left */
};

/* With the shard's lock held. NULL: no memory. */
struct counter_flush *counter_flush_open(struct counters *counters, struct counter_shard *shard,
                                         struct counter *counter);
/* Open a flush without takes where the counter's blocks run low; NULL: no need, or no memory. */
void counter_flush_prefetch(struct counters *counters, struct counter_shard *shard,
                            struct counter *counter);
/* The open flush, if it is to be handed to the worker now: the caller does so after unlocking, with
 * counter_flush_submit (which takes NULL for nothing). */
struct counter_flush *counter_flush_due(struct counters *counters, struct counter *counter);
void counter_flush_submit(struct counters *counters, struct counter_flush *flush);

/* What the store told about the counter. taken: the values from `first` on were taken; false: they
 * went back, and the counter is stopped. */
bool counter_learn(struct counter *counter, const struct store_counter *stored, int64_t first,
                   bool taken);
/* Forget a counter of which nothing is known, so that names that do not exist take no memory. */
void counter_settle(struct counters *counters, struct counter_shard *shard,
                    struct counter *counter);
/* Values left in one block. */
int64_t counter_block_left(const struct counter *counter, const struct counter_block *block);

#endif
