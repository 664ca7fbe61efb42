/* Counters over a store and a worker that do only what a test tells them to: an op that has been
 * submitted waits until the test picks it up, has it committed, and has it done. Include it in one
 * file of an executable: it stands in for store_worker.c. */
#ifndef IDMINT_COUNTER_FIXTURE_H
#define IDMINT_COUNTER_FIXTURE_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "counter.h"
#include "fake_clock.h"
#include "suite.h"

#define MANY INT64_C(9007199254740991) /* MAX where nobody says otherwise */

#define ROWS 2048
#define BATCH 2048

struct row {
    char name[64];
    struct store_counter counter;
    bool exists;
};

/* The store's rows outlive the daemon, as a file would. */
struct store_worker {
    struct store_op *first, **last; /* submitted, in order */
    struct row rows[ROWS];
    size_t row_count;
    int64_t generation;
    unsigned commits;
    unsigned give_backs; /* that were DONE */
};

/* Ops that are picked up together. */
struct batch {
    struct store_op *ops[BATCH];
    size_t count;
};

struct bench {
    struct store_worker worker;
    struct counters_settings settings;
    bool shared;
    unsigned flights;
    struct counters *counters;
    unsigned dones;
    unsigned near_max, went_back; /* events */
    char event_name[64];
};

static struct clock_now bench_clock = {.real_ms = 1700000000000, .boot_ms = 500000};

static inline struct clock_now bench_now(void)
{
    return bench_clock;
}

/* --- The worker --- */

void store_worker_submit(struct store_worker *worker, struct store_op *op)
{
    op->next = NULL;
    *worker->last = op;
    worker->last = &op->next;
}

bool store_worker_cancel(struct store_worker *worker, struct store_op *op)
{
    struct store_op **link = &worker->first;
    while (*link != NULL && *link != op)
        link = &(*link)->next;
    if (*link == NULL)
        return false;
    *link = op->next;
    if (worker->last == &op->next)
        worker->last = link;
    return true;
}

static inline size_t queued(const struct bench *bench)
{
    size_t count = 0;
    for (const struct store_op *op = bench->worker.first; op != NULL; op = op->next)
        count++;
    return count;
}

/* Pick up what is queued: from here on its ops are closed. */
static inline void pick(struct bench *bench, struct batch *batch)
{
    struct store_op *list = bench->worker.first;
    bench->worker.first = NULL;
    bench->worker.last = &bench->worker.first;
    batch->count = 0;
    while (list != NULL) {
        struct store_op *op = list;
        list = op->next;
        if (op->close == NULL || op->close(op))
            batch->ops[batch->count++] = op;
    }
}

static inline struct row *row_of(struct bench *bench, const char *name, size_t name_len)
{
    struct store_worker *worker = &bench->worker;
    for (size_t i = 0; i < worker->row_count; i++)
        if (strlen(worker->rows[i].name) == name_len &&
            memcmp(worker->rows[i].name, name, name_len) == 0)
            return &worker->rows[i];
    if (worker->row_count == ROWS || name_len >= sizeof worker->rows[0].name)
        ck_abort_msg("the row does not fit");
    struct row *row = &worker->rows[worker->row_count++];
    memcpy(row->name, name, name_len);
    return row;
}

/* The stored counter, for tests that look at it or change it behind the daemon's back. */
static inline struct store_counter *stored(struct bench *bench, const char *name)
{
    struct row *row = row_of(bench, name, strlen(name));
    ck_assert_msg(row->exists, "%s is not stored", name);
    return &row->counter;
}

static inline bool is_stored(struct bench *bench, const char *name)
{
    return row_of(bench, name, strlen(name))->exists;
}

static inline void apply(struct bench *bench, struct store_op *op)
{
    struct row *row = row_of(bench, op->name, op->name_len);
    enum store_change change =
        store_counter_apply(op, row->exists, &row->counter, &bench->worker.generation);
    if (change == STORE_NEW || change == STORE_GONE)
        row->exists = change == STORE_NEW;
    bench->worker.give_backs += op->verb == STORE_GIVE_BACK && op->result == STORE_DONE;
}

static inline void commit(struct bench *bench, struct batch *batch)
{
    bench->worker.commits += batch->count > 0;
    for (size_t i = 0; i < batch->count; i++)
        apply(bench, batch->ops[i]);
}

/* The commit fails; applied: though it took place. */
static inline void commit_fails(struct bench *bench, struct batch *batch, enum store_result result,
                                bool applied)
{
    if (applied)
        commit(bench, batch);
    for (size_t i = 0; i < batch->count; i++)
        store_op_fail(batch->ops[i], result, "by script");
}

static inline void finish(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        batch->ops[i]->done(batch->ops[i]);
}

/* One commit of all that is queued. */
static inline void step(struct bench *bench)
{
    struct batch batch;
    pick(bench, &batch);
    commit(bench, &batch);
    finish(&batch);
}

static inline void step_fails(struct bench *bench, enum store_result result, bool applied)
{
    struct batch batch;
    pick(bench, &batch);
    commit_fails(bench, &batch, result, applied);
    finish(&batch);
}

static inline void run(struct bench *bench)
{
    for (int i = 0; bench->worker.first != NULL; i++) {
        ck_assert_msg(i < 100, "the queue does not run dry");
        step(bench);
    }
}

/* --- The counters --- */

static inline void bench_event(void *context, enum counter_event event, const char *name,
                               size_t name_len)
{
    struct bench *bench = context;
    struct counters_state state;
    counters_look(bench->counters, &state); /* no lock is held meanwhile */
    bench->near_max += event == COUNTER_NEAR_MAX;
    bench->went_back += event == COUNTER_WENT_BACK;
    memcpy(bench->event_name, name, name_len);
    bench->event_name[name_len] = '\0';
}

static inline void start(struct bench *bench)
{
    bench->counters =
        counters_create(&bench->settings, bench->shared, bench->flights, &bench->worker);
    ck_assert_ptr_nonnull(bench->counters);
}

/* As after kill -9: what is queued is gone too (the tests that use it have nothing queued). */
static inline void crash(struct bench *bench)
{
    ck_assert_uint_eq(queued(bench), 0);
    counters_destroy(bench->counters);
    start(bench);
}

/* A store of its own and counters that are created with these options. */
static inline struct bench *bench_create(int64_t first, int64_t by, int64_t max, int64_t cache)
{
    struct bench *bench = calloc(1, sizeof *bench);
    ck_assert_ptr_nonnull(bench);
    bench->worker.last = &bench->worker.first;
    bench->settings = (struct counters_settings){
        .create = {.start = first, .step = by, .max = max, .cache = cache},
        .auto_create = true,
        .seed = 12345,
        .in_memory = 100000,
        .block_ms = 10000,
        .now = bench_now,
        .event = bench_event,
        .context = bench,
    };
    bench->flights = 1;
    start(bench);
    return bench;
}

static inline struct bench *bench_restart(struct bench *bench)
{
    counters_destroy(bench->counters);
    start(bench);
    return bench;
}

static inline void bench_destroy(struct bench *bench)
{
    run(bench);
    counters_destroy(bench->counters);
    free(bench);
}

/* --- Takes --- */

struct wish {
    struct counter_take take;
    struct bench *bench;
    bool waits, done;
    unsigned nth; /* the how manieth to be done */
};

static inline void wish_done(struct counter_take *take)
{
    struct wish *wish = (struct wish *)take;
    if (!wish->waits || wish->done)
        ck_abort_msg("done without need");
    wish->done = true;
    wish->nth = ++wish->bench->dones;
}

static inline enum counter_status wish_for(struct bench *bench, struct wish *wish, const char *name,
                                           int64_t count, uint32_t repeat, bool unit_step)
{
    *wish = (struct wish){
        .take = {.count = count, .repeat = repeat, .unit_step = unit_step, .done = wish_done},
        .bench = bench,
        .waits = true};
    enum counter_status status =
        counter_take(bench->counters, bench_clock, name, strlen(name), &wish->take);
    wish->waits = status == COUNTER_WAITS;
    return status;
}

/* `count` values that have to come from the store. */
static inline void ask(struct bench *bench, struct wish *wish, const char *name, int64_t count)
{
    ck_assert_int_eq(wish_for(bench, wish, name, count, 1, false), COUNTER_WAITS);
    ck_assert(!wish->done);
}

#define ck_got(wish, value)                                                                        \
    do {                                                                                           \
        ck_assert((wish)->done || !(wish)->waits);                                                 \
        ck_assert_int_eq((wish)->take.error, ERROR_NONE);                                          \
        ck_assert_uint_eq((wish)->take.served, (wish)->take.repeat);                               \
        ck_assert_ptr_null((wish)->take.text);                                                     \
        ck_assert_int_eq((wish)->take.first, (value));                                             \
    } while (0)

#define ck_failed(wish, word)                                                                      \
    do {                                                                                           \
        ck_assert((wish)->done || !(wish)->waits);                                                 \
        ck_assert_int_eq((wish)->take.error, (word));                                              \
        ck_assert_uint_eq((wish)->take.served, 0);                                                 \
        ck_assert_ptr_nonnull((wish)->take.text);                                                  \
        free((wish)->take.text);                                                                   \
        (wish)->take.text = NULL;                                                                  \
    } while (0)

/* One value, wherever it comes from. */
static inline int64_t next(struct bench *bench, const char *name)
{
    struct wish wish;
    if (wish_for(bench, &wish, name, 1, 1, false) == COUNTER_WAITS)
        while (!wish.done)
            step(bench);
    ck_got(&wish, wish.take.first);
    return wish.take.first;
}

/* One value that a block must hold. */
static inline int64_t next_cached(struct bench *bench, const char *name)
{
    struct wish wish;
    ck_assert_int_eq(wish_for(bench, &wish, name, 1, 1, false), COUNTER_DONE);
    ck_got(&wish, wish.take.first);
    return wish.take.first;
}

static inline enum error_word next_error(struct bench *bench, const char *name)
{
    struct wish wish;
    if (wish_for(bench, &wish, name, 1, 1, false) == COUNTER_WAITS)
        while (!wish.done)
            step(bench);
    ck_assert_uint_eq(wish.take.served, 0);
    free(wish.take.text);
    return wish.take.error;
}

/* The first value, and a whole block behind it. */
static inline struct bench *with_block(int64_t max, int64_t cache)
{
    struct bench *bench = bench_create(1, 1, max, cache);
    ck_assert_int_eq(next(bench, "a"), 1);
    run(bench);
    return bench;
}

static inline struct counters_state look(struct bench *bench)
{
    struct counters_state state;
    counters_look(bench->counters, &state);
    return state;
}

/* --- Orders --- */

struct wanted_order {
    struct counter_order order;
    struct bench *bench;
    bool done;
};

static inline void order_done(struct counter_order *order)
{
    ((struct wanted_order *)order)->done = true;
}

static inline void order(struct bench *bench, struct wanted_order *order, enum store_verb verb,
                         const char *name, int64_t value)
{
    *order = (struct wanted_order){.bench = bench};
    order->order.op.verb = verb;
    order->order.op.name = name;
    order->order.op.name_len = strlen(name);
    order->order.op.value = value;
    order->order.op.counter = bench->settings.create;
    order->order.op.counter.value = bench->settings.create.start - bench->settings.create.step;
    order->order.done = order_done;
    counter_submit(bench->counters, &order->order);
}

/* An order and its commit. */
static inline void order_now(struct bench *bench, enum store_verb verb, const char *name,
                             int64_t value)
{
    struct wanted_order wanted;
    order(bench, &wanted, verb, name, value);
    while (!wanted.done)
        step(bench);
    ck_assert_int_eq(wanted.order.op.result, STORE_DONE);
}

#endif
