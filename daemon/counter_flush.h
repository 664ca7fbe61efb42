/* A flush: the takes of one counter that share a commit, from opening to dealing out the values;
 * and the table behind counter.h. For counter.c and counter_flush.c alone. */
#ifndef IDMINT_COUNTER_FLUSH_H
#define IDMINT_COUNTER_FLUSH_H

#include "counter.h"
#include "counter_table.h"

#define COUNTER_TEXT_STEP "this counter's STEP is not 1: use NEXT name count"
#define COUNTER_TEXT_BACKWARD                                                                      \
    "the stored value went back; COUNTER RAISE or COUNTER RESET ... FORCE lets it go on"

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
    uint32_t takes; /* how many it has */
    bool closed;
    bool submitted;
    bool ordered; /* a take of it is behind one that may be under way: no other flight beside it */
    bool prefetch;
    bool read;     /* the counter was looked at first, for its step */
    bool allotted; /* MAX is near: the takes' `served` says what fits, `want` what to commit */
    int64_t want;
    /* When it was last sent, and how the counter stood then. */
    int64_t sent_ms, sent_us; /* us: where flushes gather */
    int64_t floor;
    int64_t generation;
    uint32_t orders;
    bool loaded;
};

_Static_assert(sizeof(struct counter_flush) <= COUNTER_WAIT_BYTES, "what is counted for it");

/* With the shard's lock held. NULL: no memory. */
struct counter_flush *counter_flush_open(struct counters *counters, struct counter_shard *shard,
                                         struct counter *counter);
/* With the shard's lock held: a take begins to wait, behind the others; and waits no more. */
void counter_flush_add(struct counter_flush *flush, struct counter_take *take);
void counter_flush_remove(struct counter_flush *flush, struct counter_take *take);
/* A take has to wait: where values are being reserved ahead, they were too few. */
void counter_flush_outrun(struct counter *counter);
/* Open a flush without takes where the counter's blocks run low. */
void counter_flush_prefetch(struct counters *counters, struct counter_shard *shard,
                            struct counter *counter);
/* The open flush, if it is to be handed to the worker now: the caller does so after unlocking, with
 * counter_flush_submit (which takes NULL for nothing). */
struct counter_flush *counter_flush_due(struct counters *counters, struct counter *counter);
void counter_flush_submit(struct counters *counters, struct counter_flush *flush);

/* Serve the take from the blocks, if they hold at least `least` of its replies; what does not serve
 * it is dropped, but for the newest block: the next may adjoin it. */
bool counter_serve(struct counter_shard *shard, struct counter *counter, struct counter_take *take,
                   uint32_t least);
/* Forget a counter of which nothing is known, so that names that do not exist take no memory. */
void counter_settle(struct counters *counters, struct counter_shard *shard,
                    struct counter *counter);
/* An op that hands the counter's unused rest back, to be submitted after unlocking; it frees
 * itself. NULL: nothing to hand back, or no memory: then it is lost, as in a crash. */
struct store_op *counter_give_back(const struct counter *counter);

#endif
