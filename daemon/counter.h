/* Durable named counters: hands out values from the store, and from blocks reserved ahead.
 *
 * The way of a take: counter_take looks the name up; where a reserved block holds what is wanted,
 * it is served at once, from memory. Else it waits in the counter's open flush, which is with the
 * store worker. When a worker thread picks the flush up it is closed: takes that come later open
 * the next one. When its commit is done, the values are dealt to its takes in order, and each
 * take's `done` is called.
 * Order: takes of one name are served in the order they came, so neither a block nor a later flush
 * overtakes a take that waits. Where a store has several flights of one counter under way, they may
 * end in any order; who says that he is `behind` gets none of them beside his.
 * Locks: the table is cut into shards by the name's hash, one mutex each, held for no longer than
 * it takes to serve; no lock is held while the worker is handed an op, nor while `done` or `event`
 * is called.
 * Knows no clock, log or store driver: they are handed in. */
#ifndef IDMINT_COUNTER_H
#define IDMINT_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "errors.h"
#include "store_worker.h"

enum counter_event {
    COUNTER_NEAR_MAX,  /* past 90 % of its MAX; told once while the counter is held in memory */
    COUNTER_WENT_BACK, /* the store's value fell: stopped with BACKWARD */
};

struct counters_settings {
    struct store_counter create; /* how a name is created at its first use */
    bool auto_create;
    uint64_t seed;    /* random: keeps clients from choosing names that meet in one bucket */
    size_t in_memory; /* counters held in memory at most (those with takes waiting come on top) */
    int64_t
        block_ms; /* where the store is shared: how long a block is used after it was asked for */
    struct clock_now (*now)(void); /* called on worker threads */
    /* CLOCK_MONOTONIC, for flushes that gather takes (counter_gather.h); NULL: they go at once.
     * Called on worker threads. */
    int64_t (*gather_clock_us)(void);
    /* Told from any thread; may be NULL. */
    void (*event)(void *context, enum counter_event event, const char *name, size_t name_len);
    void *context;
};

struct counters;
struct counter_flush;
struct counter_shard;

/* What a take that waits may hold beside itself: a flush, where it is the first of its name. */
#define COUNTER_WAIT_BYTES 512

/* A wish for values; lives inside its owner's request until it is done or cancelled. */
struct counter_take {
    struct counter_take *next;  /* this and the next three: counter.c's */
    struct counter_take **link; /* what points to it in its flush */
    struct counter_flush *flush;
    struct counter_shard *shard;
    int64_t count;             /* in: values wanted by each reply, 1 .. LIMIT_COUNTER_RANGE */
    uint32_t repeat;           /* in: replies that want so many, 1 .. LIMIT_RUN */
    struct store_batch *batch; /* in: where a flush that this take opens is gathered, for the caller
                                * to submit soon; NULL: it is submitted at once */
    bool
        behind; /* in: an earlier take of the same client may be under way: not in parallel to it */
    bool unit_step;        /* in: refused unless the counter's STEP is 1 */
    uint32_t served;       /* out: so many replies got values, from the first on */
    enum error_word error; /* out: what the others got; NONE if all were served */
    int64_t first;         /* out: first value of the first reply */
    int64_t step;          /* out: reply i has first + (i * count + 0 .. count - 1) * step */
    char *text;            /* out: why, where `error` is set; NULL or from malloc, caller frees */
    void (*done)(struct counter_take *take); /* on a worker thread; may free the take */
};

/* An operation on one counter that is not a take: READ, CREATE, RAISE, RESET, DROP or LIST. */
struct counter_order {
    struct store_op op; /* in and out; its close and done are counter.c's */
    struct counters *counters;
    void (*done)(struct counter_order *order); /* on a worker thread; may free the order */
};

/* `worker` must outlive the counters; `shared`, `flights`: as the store says. NULL: no memory. */
struct counters *counters_create(const struct counters_settings *settings, bool shared,
                                 unsigned flights, struct store_worker *worker);
/* How that one name is created at its first use. Before the first take. */
int counters_override(struct counters *counters, const char *name, size_t name_len,
                      const struct store_counter *create) __attribute__((warn_unused_result));
/* How `name` would be created. Any thread. */
void counters_how_created(const struct counters *counters, const char *name, size_t name_len,
                          struct store_counter *create);

/* Hand the unused rest of every block back to the store, as far as it still can be. No take may
 * come any more; the worker still runs, and destroying it waits for the end of this. */
void counters_give_back(struct counters *counters);
/* After the worker has been destroyed. NULL: nothing. */
void counters_destroy(struct counters *counters);

enum counter_status {
    COUNTER_DONE = 0,   /* take is filled in: served >= 1 replies, maybe fewer than `repeat` (then
                         * take again for the rest), or an error for all */
    COUNTER_WAITS = -1, /* `done` will be called, unless counter_cancel takes it back */
};

/* The name must have passed name_check. Any thread. */
enum counter_status counter_take(struct counters *counters, struct clock_now now, const char *name,
                                 size_t name_len, struct counter_take *take)
    __attribute__((warn_unused_result));

/* true: taken back, nothing was taken and `done` will not be called. false: its flush is closed;
 * `done` comes or came. Any thread. */
bool counter_cancel(struct counter_take *take) __attribute__((warn_unused_result));

/* Any thread. op.name must live until done. Orders and takes of one name that are under way at the
 * same time take effect in any order: who cares lets the first be done before the second comes. */
void counter_submit(struct counters *counters, struct counter_order *order);
/* As store_worker_cancel. */
bool counter_withdraw(struct counter_order *order) __attribute__((warn_unused_result));

struct counters_state {
    size_t in_memory;
    uint64_t bytes;      /* that they take, names and table included */
    uint64_t from_block; /* replies served from memory */
    uint64_t from_store; /* replies served by a commit */
    uint64_t flushes;
    int headroom_percent; /* the least left below MAX of those in memory; 100: none there */
};
void counters_look(struct counters *counters, struct counters_state *state);

#endif
