/* Group commit: gathers the operations that arrive while a commit is under way and commits them
 * together, on threads of its own (as many as the store allows at once). */
#ifndef IDMINT_STORE_WORKER_H
#define IDMINT_STORE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "metrics.h"
#include "store.h"

struct store_worker;

/* Ops gathered by one thread, to be submitted together: one lock, one wakeup, one commit. Zeroed:
 * none yet. */
struct store_batch {
    struct store_op *first, *last;
    size_t count;
};
static inline void store_batch_add(struct store_batch *batch, struct store_op *op)
{
    op->next = NULL;
    op->prev = batch->last;
    if (batch->first == NULL)
        batch->first = op;
    else
        batch->last->next = op;
    batch->last = op;
    batch->count++;
}

#define STORE_RESULTS 9 /* results there are; index: -result */

struct store_worker_stats {
    struct metrics_histogram commit_us, commit_ops; /* each commit's time and operations */
    uint64_t ops_by_result[STORE_RESULTS];
    uint64_t queued; /* waiting now */
    /* By CLOCK_BOOTTIME. */
    int64_t last_done_ms; /* the last commit with a DONE in it; 0: none yet */
    int64_t answered_ms;  /* the last commit that did not fail; the start where there is none yet */
    int64_t failing_ms;   /* since when commits fail; 0: they do not */
    int64_t failed_ms;    /* the last commit that failed */
    int64_t busy_ms;      /* begin of the oldest commit under way; 0: none */
    bool failing_to_write;     /* a write was among those that failed: one that succeeds ends it */
    enum store_result failure; /* of the last commit that failed, and why */
    char failure_text[128];
    const char *stopped; /* as the store says */
};

/* batch: the most operations in one commit; the store may set a lower bound. Starts the threads. 0,
 * or -1 where a thread can not be started. */
int store_worker_create(struct store *store, size_t batch, struct store_worker **worker)
    __attribute__((warn_unused_result));

/* Any thread. The op's `done` is called on a worker thread, or `close` drops it. */
void store_worker_submit(struct store_worker *worker, struct store_op *op);

/* Submits what was gathered, in order, and leaves the batch empty. Any thread. */
void store_worker_submit_batch(struct store_worker *worker, struct store_batch *batch);

/* Take an op back that no commit has picked up yet: true, and neither close nor done is called;
 * false: it is (or was) in a commit, and `done` comes or came. Any thread. */
bool store_worker_cancel(struct store_worker *worker, struct store_op *op);

void store_worker_look(struct store_worker *worker, struct store_worker_stats *stats);

/* Commit what is queued, wait for it, end the threads. NULL: nothing. Not from a worker thread;
 * nothing may be submitted any more by other threads, though `done` callbacks may still submit. */
void store_worker_destroy(struct store_worker *worker);

#endif
