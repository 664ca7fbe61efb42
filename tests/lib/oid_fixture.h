/* What the tests of the ObjectId issuer share. */
#ifndef IDMINT_OID_FIXTURE_H
#define IDMINT_OID_FIXTURE_H

#include <check.h>

#include "fake_clock.h"
#include "oid.h"

#define START_S INT64_C(1700000000)
#define HOUR_MS INT64_C(3600000)
#define WRAP (UINT32_C(1) << 24)
#define LAST_SECOND INT64_C(4294967295)

static const struct oid_settings oid_defaults = {
    .lead_ms = 2000, .forward_ms = HOUR_MS, .settle_ms = 60000, .window_s = 3};

static inline struct clock_now clock_at(int64_t second)
{
    return (struct clock_now){.real_ms = second * 1000, .boot_ms = 500000};
}

static inline void init(struct oid_issuer *issuer, struct clock_now now, uint32_t counter,
                        int64_t saved_s)
{
    uint8_t random[OBJECTID_RANDOM_BYTES + 3] = {1, 2, 3, 4, 5};

    for (int i = 0; i < 3; i++)
        random[OBJECTID_RANDOM_BYTES + i] = (uint8_t)(counter >> (16 - 8 * i));
    oid_init(issuer, &oid_defaults, random, now, saved_s);
}

/* An issuer at START_S whose counter stands at `counter`; its window is never in the way. */
static inline struct clock_now init_open(struct oid_issuer *issuer, uint32_t counter)
{
    struct clock_now now = clock_at(START_S);

    init(issuer, now, counter, -1);
    oid_saved(issuer, LAST_SECOND);
    return now;
}

static inline uint64_t tick_of(int64_t second, uint32_t counter)
{
    return (uint64_t)second << 24 | counter;
}

static inline uint64_t take(struct oid_issuer *issuer, struct clock_now now, uint32_t count)
{
    uint64_t first = 0;

    ck_assert_int_eq(oid_take(issuer, now, count, &first), OID_OK);
    return first;
}

#define assert_takes(issuer, now, count, second, counter)                                          \
    ck_assert_uint_eq(take(issuer, now, count), tick_of(second, counter))

/* Refused with `status`, and nothing changed by it. */
static inline void assert_refuses(struct oid_issuer *issuer, struct clock_now now, uint32_t count,
                                  int status)
{
    struct oid_state before, after;
    uint64_t first = 77;

    oid_look(issuer, now, &before);
    ck_assert_int_eq(oid_take(issuer, now, count, &first), status);
    ck_assert_uint_eq(first, 77);
    oid_look(issuer, now, &after);
    ck_assert_uint_eq(before.tick, after.tick);
}

#endif
