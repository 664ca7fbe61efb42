#include "store_worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"

struct worker_thread {
    struct store_worker *worker;
    struct store_op **ops; /* room for one commit */
    pthread_t thread;
    _Atomic int64_t busy_ms; /* BOOTTIME at which its commit began; 0: in none */
};

struct store_worker {
    struct store *store;
    size_t batch;
    unsigned threads_started;
    struct worker_thread *threads;

    pthread_mutex_t mutex; /* over all below */
    pthread_cond_t wake;
    unsigned waiting; /* threads in pthread_cond_wait */
    unsigned signals; /* of these, how many have been signalled and not come back yet */
    bool stopping;
    struct store_op *first;
    struct store_op *last;
    struct store_worker_stats stats;
};

static int64_t clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* At most `batch` ops off the head of the queue, as a list; NULL: the queue is empty. */
static struct store_op *detach(struct store_worker *worker)
{
    struct store_op *first = worker->first;
    struct store_op *rest = first;
    for (size_t i = 0; i < worker->batch && rest != NULL; i++) {
        rest->queued = false;
        rest = rest->next;
        worker->stats.queued--;
    }
    worker->first = rest;
    if (rest == NULL) {
        worker->last = NULL;
    } else {
        rest->prev->next = NULL;
        rest->prev = NULL;
    }
    return first;
}

/* Waits for work. NULL: stopping, and nothing is queued. */
static struct store_op *next_batch(struct store_worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    while (worker->first == NULL && !worker->stopping) {
        worker->waiting++;
        pthread_cond_wait(&worker->wake, &worker->mutex);
        worker->waiting--;
        /* A wakeup nobody sent may use up another thread's signal; that thread then finds the
         * queue as this one left it, and waits again. */
        if (worker->signals > 0)
            worker->signals--;
    }
    struct store_op *list = detach(worker);
    pthread_mutex_unlock(&worker->mutex);
    return list;
}

/* Asks each op whether it still wants anything; what does not may be gone when `close` returns. */
static size_t close_all(struct store_op *list, struct store_op **ops)
{
    size_t count = 0;
    while (list != NULL) {
        struct store_op *op = list;
        list = op->next;
        if (op->close == NULL || op->close(op))
            ops[count++] = op;
    }
    return count;
}

/* One line when the store begins to fail, one when it answers again; or that it never will. */
static void tell(const struct store_op *failed, const char *stopped)
{
    if (failed == NULL && stopped == NULL)
        log_line(LOG_NOTICE, "store: answers again");
    else if (failed == NULL)
        log_line(LOG_ERROR, "store: %s", stopped);
    else
        log_line(LOG_ERROR, "store: %s: %s; %s",
                 failed->result == STORE_UNKNOWN ? "outcome unknown" : "not done",
                 failed->text[0] != '\0' ? failed->text : "no reason given",
                 stopped != NULL ? stopped : "until it answers, what needs it gets an error");
}

/* What a commit tells of the store. */
struct verdict {
    const struct store_op *failed; /* an op that shows that the store fails; NULL: it answers */
    bool failed_to_write, wrote;
};

static void judge(struct verdict *verdict, const struct store_op *op)
{
    bool failed = op->result == STORE_NOT_DONE || op->result == STORE_UNKNOWN;
    bool writes = store_verb_writes(op->verb);
    if (failed && verdict->failed == NULL)
        verdict->failed = op;
    verdict->failed_to_write = verdict->failed_to_write || (failed && writes);
    verdict->wrote = verdict->wrote || (op->result == STORE_DONE && writes);
}

/* With the lock held. Returns whether it is news. */
static bool note_health(struct store_worker *worker, const struct verdict *verdict, int64_t now_ms)
{
    struct store_worker_stats *stats = &worker->stats;
    const struct store_op *failed = verdict->failed;
    bool stopped = worker->store->stopped != stats->stopped;
    bool changed = stopped || (stats->failing_ms != 0) != (failed != NULL);
    stats->stopped = worker->store->stopped;
    if (failed == NULL) {
        stats->answered_ms = now_ms;
        /* A disk that can be read may still take no write. */
        if (stats->failing_to_write && !verdict->wrote)
            return stopped;
        stats->failing_ms = 0;
        stats->failing_to_write = false;
        return changed;
    }
    if (stats->failing_ms == 0)
        stats->failing_ms = now_ms;
    stats->failed_ms = now_ms;
    stats->failing_to_write = stats->failing_to_write || verdict->failed_to_write;
    stats->failure = failed->result;
    memcpy(stats->failure_text, failed->text, sizeof stats->failure_text);
    return changed;
}

static void count_results(struct store_worker *worker, struct store_op **ops, size_t count,
                          int64_t start_us)
{
    uint64_t by_result[STORE_RESULTS] = {0};
    struct verdict verdict = {0};
    for (size_t i = 0; i < count; i++) {
        by_result[-ops[i]->result]++;
        judge(&verdict, ops[i]);
    }
    int64_t now_us = clock_us();
    struct store_worker_stats *stats = &worker->stats;

    pthread_mutex_lock(&worker->mutex);
    metrics_observe(&stats->commit_us, metrics_us_bounds, (uint64_t)(now_us - start_us), 1);
    metrics_observe(&stats->commit_ops, metrics_ops_bounds, count, 1);
    for (size_t i = 0; i < STORE_RESULTS; i++)
        stats->ops_by_result[i] += by_result[i];
    if (by_result[STORE_DONE] != 0)
        stats->last_done_ms = now_us / 1000;
    bool changed = note_health(worker, &verdict, now_us / 1000);
    pthread_mutex_unlock(&worker->mutex);

    if (changed)
        tell(verdict.failed, worker->store->stopped);
}

static void *worker_run(void *arg)
{
    struct worker_thread *self = arg;
    struct store_worker *worker = self->worker;
    struct store_op *list;
    /* When stopping, a thread leaves once it finds the queue empty: what callbacks submit after
     * that is found by the thread that runs the callbacks. */
    while ((list = next_batch(worker)) != NULL) {
        size_t count = close_all(list, self->ops);
        if (count == 0)
            continue;
        int64_t start_us = clock_us();
        atomic_store_explicit(&self->busy_ms, start_us / 1000, memory_order_relaxed);
        store_commit(worker->store, self->ops, count);
        atomic_store_explicit(&self->busy_ms, 0, memory_order_relaxed);
        count_results(worker, self->ops, count, start_us);
        for (size_t i = 0; i < count; i++)
            self->ops[i]->done(self->ops[i]);
    }
    return NULL;
}

static int start_threads(struct store_worker *worker)
{
    /* Signals are for the main thread. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = 0;
    for (unsigned i = 0; i < worker->store->workers && result == 0; i++) {
        struct worker_thread *self = &worker->threads[i];
        self->worker = worker;
        self->ops = calloc(worker->batch, sizeof(struct store_op *));
        if (self->ops == NULL || pthread_create(&self->thread, NULL, worker_run, self) != 0) {
            result = -1;
            break;
        }
        worker->threads_started++;
        char name[16];
        snprintf(name, sizeof(name), "store-%u", i % 1000);
        pthread_setname_np(self->thread, name);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

int store_worker_create(struct store *store, size_t batch, struct store_worker **worker)
{
    struct store_worker *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return -1;
    made->store = store;
    made->stats.answered_ms = clock_us() / 1000;
    made->batch = batch == 0 ? 1 : batch;
    if (store->batch_max != 0 && made->batch > store->batch_max)
        made->batch = store->batch_max;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->wake, NULL);
    made->threads = calloc(store->workers, sizeof(*made->threads));
    if (made->threads == NULL || start_threads(made) != 0) {
        store_worker_destroy(made);
        return -1;
    }
    *worker = made;
    return 0;
}

void store_worker_submit(struct store_worker *worker, struct store_op *op)
{
    struct store_batch batch = {0};
    store_batch_add(&batch, op);
    store_worker_submit_batch(worker, &batch);
}

void store_worker_submit_batch(struct store_worker *worker, struct store_batch *batch)
{
    if (batch->first == NULL)
        return;
    pthread_mutex_lock(&worker->mutex);
    for (struct store_op *op = batch->first; op != NULL; op = op->next)
        op->queued = true; /* not before: other threads may try to cancel it already */
    batch->first->prev = worker->last;
    if (worker->first == NULL)
        worker->first = batch->first;
    else
        worker->last->next = batch->first;
    worker->last = batch->last;
    worker->stats.queued += batch->count;
    *batch = (struct store_batch){0};
    if (worker->waiting > worker->signals) {
        worker->signals++;
        pthread_cond_signal(&worker->wake);
    }
    pthread_mutex_unlock(&worker->mutex);
}

/* Without a search: a million may be queued, and all be cancelled when their time is over. */
bool store_worker_cancel(struct store_worker *worker, struct store_op *op)
{
    pthread_mutex_lock(&worker->mutex);
    bool queued = op->queued;
    if (queued) {
        *(op->prev != NULL ? &op->prev->next : &worker->first) = op->next;
        *(op->next != NULL ? &op->next->prev : &worker->last) = op->prev;
        op->queued = false;
        worker->stats.queued--;
    }
    pthread_mutex_unlock(&worker->mutex);
    return queued;
}

void store_worker_look(struct store_worker *worker, struct store_worker_stats *stats)
{
    pthread_mutex_lock(&worker->mutex);
    *stats = worker->stats;
    pthread_mutex_unlock(&worker->mutex);
    for (unsigned i = 0; i < worker->store->workers; i++) {
        int64_t since_ms = atomic_load_explicit(&worker->threads[i].busy_ms, memory_order_relaxed);
        if (since_ms != 0 && (stats->busy_ms == 0 || since_ms < stats->busy_ms))
            stats->busy_ms = since_ms;
    }
}

void store_worker_destroy(struct store_worker *worker)
{
    if (worker == NULL)
        return;
    pthread_mutex_lock(&worker->mutex);
    worker->stopping = true;
    pthread_cond_broadcast(&worker->wake);
    pthread_mutex_unlock(&worker->mutex);
    for (unsigned i = 0; i < worker->threads_started; i++)
        pthread_join(worker->threads[i].thread, NULL);
    for (unsigned i = 0; worker->threads != NULL && i < worker->store->workers; i++)
        free(worker->threads[i].ops);
    free(worker->threads);
    pthread_cond_destroy(&worker->wake);
    pthread_mutex_destroy(&worker->mutex);
    free(worker);
}
