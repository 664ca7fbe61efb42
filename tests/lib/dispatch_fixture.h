/* A whole daemon but for its sockets: real allocators on a memory store, a clock of the test's own,
 * and loops that count what the test says. The store worker keeps real time (BOOTTIME). */
#ifndef IDMINT_DISPATCH_FIXTURE_H
#define IDMINT_DISPATCH_FIXTURE_H

#include <check.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "counter.h"
#include "dispatch.h"
#include "leader.h"
#include "metrics.h"
#include "oid.h"
#include "resources.h"
#include "store_memory.h"
#include "store_ops.h"
#include "store_worker.h"
#include "suite.h"

#define DESK_REAL_S INT64_C(1700000000)
#define DESK_LOOPS 2

struct desk {
    struct store base;    /* first: a gate before the memory store */
    struct store *memory; /* what does the work */
    bool closed;          /* commits wait for `leave` */
    sem_t entered, leave, done;
    struct config config;
    struct oid_issuer oid;
    struct leader leader;
    struct dispatch_server_state state; /* as the server tells it */
    struct metrics_loop loops[DESK_LOOPS];
    struct resources resources;
    struct dispatch dispatch;
};

static inline struct clock_now desk_now(void)
{
    struct timespec boot;
    clock_gettime(CLOCK_BOOTTIME, &boot);
    return (struct clock_now){.real_ms = DESK_REAL_S * 1000,
                              .boot_ms = (int64_t)boot.tv_sec * 1000 + boot.tv_nsec / 1000000};
}

static inline void desk_commit(struct store *store, struct store_op **ops, size_t count)
{
    struct desk *desk = (struct desk *)store;
    if (desk->closed) {
        sem_post(&desk->entered);
        sem_wait(&desk->leave);
    }
    store_commit(desk->memory, ops, count);
}

static const struct store_backend desk_backend = {.scheme = "desk", .commit = desk_commit};

static inline void desk_look(void *context, struct dispatch_server_state *state)
{
    *state = ((struct desk *)context)->state;
}

static inline const struct metrics_loop *desk_metrics(void *context, unsigned index)
{
    return index < DESK_LOOPS ? &((struct desk *)context)->loops[index] : NULL;
}

static inline void desk_start_allocators(struct desk *desk)
{
    static const uint8_t random[OBJECTID_RANDOM_BYTES + 3] = {1, 2, 3, 4, 5, 6, 7, 8};
    const struct oid_settings oid = {
        .lead_ms = 2000, .forward_ms = 3600000, .settle_ms = 60000, .window_s = 3};
    const struct leader_settings leader = {
        .lease = {.length_ms = 20000, .margin_ms = 1000, .owner = "me"}, .now = desk_now};
    struct counters_settings counters = {.auto_create = true, .in_memory = 1000, .now = desk_now};
    struct dispatch *dispatch = &desk->dispatch;
    config_counter_create(&desk->config, NULL, &counters.create);
    ck_assert_int_eq(store_worker_create(&desk->base, 100, &dispatch->worker), 0);
    oid_init(&desk->oid, &oid, random, desk_now(), -1);
    leader_init(&desk->leader, &leader, desk->base.shared, &desk->oid, dispatch->worker);
    dispatch->counters = counters_create(&counters, false, 1, dispatch->worker);
    ck_assert_ptr_nonnull(dispatch->counters);
}

static inline struct desk *desk_create(bool shared)
{
    char why[128];
    struct desk *desk = aligned_alloc(_Alignof(struct desk), sizeof *desk);
    ck_assert_ptr_nonnull(desk);
    memset(desk, 0, sizeof *desk);
    ck_assert_int_eq(store_memory_backend.open(NULL, "", &desk->memory, why, sizeof why), 0);
    desk->base.backend = &desk_backend;
    desk->base.workers = desk->base.flights = 1;
    desk->base.shared = shared;
    desk->base.facts = desk->memory->facts;
    sem_init(&desk->entered, 0, 0);
    sem_init(&desk->leave, 0, 0);
    sem_init(&desk->done, 0, 0);
    config_init(&desk->config);
    desk_start_allocators(desk);
    struct dispatch *dispatch = &desk->dispatch;
    dispatch->oid = &desk->oid;
    dispatch->leader = &desk->leader;
    dispatch->store = &desk->base;
    dispatch->now = desk_now;
    resources_open(&desk->resources);
    dispatch->resources = &desk->resources;
    dispatch->server =
        (struct dispatch_server){.context = desk, .look = desk_look, .metrics = desk_metrics};
    atomic_store(&dispatch->config, &desk->config);
    dispatch_init(dispatch);
    return desk;
}

static inline void desk_destroy(struct desk *desk)
{
    store_worker_destroy(desk->dispatch.worker);
    counters_destroy(desk->dispatch.counters);
    leader_finish(&desk->leader);
    config_finish(&desk->config);
    store_close(desk->memory);
    resources_close(&desk->resources);
    sem_destroy(&desk->entered);
    sem_destroy(&desk->leave);
    sem_destroy(&desk->done);
    free(desk);
}

struct desk_take {
    struct counter_take take;
    struct desk *desk;
};

static inline void desk_take_done(struct counter_take *take)
{
    sem_post(&((struct desk_take *)take)->desk->done);
}

/* Ask for one value; desk->done tells when it has come, or failed. */
static inline void desk_ask(struct desk *desk, struct desk_take *take, const char *name)
{
    *take = (struct desk_take){.take = {.count = 1, .repeat = 1, .done = desk_take_done}};
    take->desk = desk;
    ck_assert_int_eq(
        counter_take(desk->dispatch.counters, desk_now(), name, strlen(name), &take->take),
        COUNTER_WAITS);
}

/* One value and its outcome. */
static inline enum error_word desk_next(struct desk *desk, const char *name)
{
    struct desk_take take;
    desk_ask(desk, &take, name);
    sem_wait(&desk->done);
    free(take.take.text);
    return take.take.error;
}

static inline void desk_script(struct desk *desk, const char *script)
{
    ck_assert_int_eq(store_memory_script(desk->memory, script), 0);
}

#endif
