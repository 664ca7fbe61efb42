#include "oid.h"

#include <stdatomic.h>
#include <string.h>

#define COUNTER_BITS 24
#define COUNTER_MASK ((UINT64_C(1) << COUNTER_BITS) - 1)
#define CLOSED (UINT64_C(1) << 63)

/* The first second that does not fit the format. */
#define SECOND_END (INT64_C(1) << 32)

/* All fields but the tick are bounds that only move forward, or are hints: an old value read of
 * them refuses what it might have granted, and never the reverse. So their order against the tick
 * does not matter, and relaxed access will do. */
static int64_t peek(const _Atomic int64_t *field)
{
    return atomic_load_explicit(field, memory_order_relaxed);
}

static void raise_to(_Atomic int64_t *field, int64_t value)
{
    int64_t seen = peek(field);

    while (seen < value && !atomic_compare_exchange_weak_explicit(
                               field, &seen, value, memory_order_relaxed, memory_order_relaxed))
        continue;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t greatest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t tick_second(uint64_t tick)
{
    return (int64_t)((tick & ~CLOSED) >> COUNTER_BITS);
}

/* Real time is ahead of what was followed so far, or a forward step was being waited out: settle
 * which. Returns the offset followed from now on. */
static __attribute__((noinline)) int64_t follow_step(struct oid_issuer *issuer,
                                                     struct clock_now now)
{
    int64_t offset_ms = peek(&issuer->offset_ms);
    int64_t ahead_ms = now.real_ms - now.boot_ms - offset_ms;
    int64_t since_ms = peek(&issuer->forward_since_ms);

    if (ahead_ms > issuer->settings.forward_ms) {
        /* Where another thread notes it first, since_ms becomes what that one noted. */
        if (since_ms == 0 && atomic_compare_exchange_strong_explicit(
                                 &issuer->forward_since_ms, &since_ms, now.boot_ms,
                                 memory_order_relaxed, memory_order_relaxed))
            since_ms = now.boot_ms;
        if (now.boot_ms - since_ms < issuer->settings.settle_ms)
            return offset_ms;
    }
    if (ahead_ms > 0) {
        offset_ms += ahead_ms;
        raise_to(&issuer->offset_ms, offset_ms);
    }
    if (since_ms != 0)
        atomic_store_explicit(&issuer->forward_since_ms, 0, memory_order_relaxed);
    return offset_ms;
}

/* The time that BOOTTIME carries on from the highest real time followed, this one included. Writes
 * only when real time has stepped. */
static inline int64_t carried_ms(struct oid_issuer *issuer, struct clock_now now)
{
    int64_t offset_ms = peek(&issuer->offset_ms);

    if (now.real_ms - now.boot_ms > offset_ms || peek(&issuer->forward_since_ms) != 0)
        offset_ms = follow_step(issuer, now);
    return now.boot_ms + offset_ms;
}

/* The lowest second to issue. Carried time is below real time only while a long forward step is
 * waited out; where the clock fell back real time counts, so that ids come back to it. */
static inline int64_t floor_second(const struct oid_issuer *issuer, struct clock_now now,
                                   int64_t carried)
{
    return least(greatest(least(now.real_ms, carried) / 1000, issuer->start_s), SECOND_END);
}

void oid_init(struct oid_issuer *issuer, const struct oid_settings *settings,
              const uint8_t random[OBJECTID_RANDOM_BYTES + 3], struct clock_now now,
              int64_t saved_s)
{
    const uint8_t *counter = random + OBJECTID_RANDOM_BYTES;
    int64_t start_ms;

    saved_s = least(greatest(saved_s, -1), SECOND_END - 1);
    issuer->settings = *settings;
    memcpy(issuer->random, random, OBJECTID_RANDOM_BYTES);
    issuer->start_s = saved_s + 1;
    /* Stands in a second that is not issued from, so that closing at once finds the second that was
     * used by the start before. */
    atomic_init(&issuer->tick, (uint64_t)greatest(saved_s, 0) << COUNTER_BITS |
                                   (uint64_t)counter[0] << 16 | (uint64_t)counter[1] << 8 |
                                   counter[2]);
    atomic_init(&issuer->window_s, saved_s);
    /* Time is counted from the start second, so that one ahead of real time is no lead. */
    start_ms = greatest(now.real_ms, issuer->start_s * 1000);
    atomic_init(&issuer->offset_ms, start_ms - now.boot_ms);
    atomic_init(&issuer->forward_since_ms, 0);
}

void oid_resume(struct oid_issuer *issuer, struct clock_now now, int64_t saved_s)
{
    uint64_t tick = atomic_load_explicit(&issuer->tick, memory_order_relaxed);
    uint64_t next;

    saved_s = least(greatest(saved_s, -1), SECOND_END - 2);
    do {
        if (tick_second(tick) > saved_s)
            break;
        next = (tick & CLOSED) | (uint64_t)(saved_s + 1) << COUNTER_BITS | (tick & COUNTER_MASK);
    } while (!atomic_compare_exchange_weak_explicit(&issuer->tick, &tick, next,
                                                    memory_order_acq_rel, memory_order_relaxed));
    /* As at a start: a high water ahead of real time is no lead. */
    raise_to(&issuer->offset_ms, (saved_s + 1) * 1000 - now.boot_ms);
}

/* The hottest function of the daemon: without contention one write to shared memory, that of the
 * tick. */
int oid_take(struct oid_issuer *issuer, struct clock_now now, uint32_t count, uint64_t *first)
{
    int64_t carried = carried_ms(issuer, now);
    uint64_t floor = (uint64_t)floor_second(issuer, now, carried);
    int64_t window_s = peek(&issuer->window_s);
    uint64_t tick = atomic_load_explicit(&issuer->tick, memory_order_relaxed);
    uint64_t next, last;

    do {
        if (tick & CLOSED)
            return OID_CLOSED;
        next = tick + 1;
        if (next >> COUNTER_BITS < floor)
            next = floor << COUNTER_BITS | (next & COUNTER_MASK);
        last = next + count - 1;
        if (last > OBJECTID_TICK_MAX)
            return OID_EXHAUSTED;
        if (tick_second(last) > window_s)
            return OID_WINDOW;
        if (tick_second(last) * 1000 - carried > issuer->settings.lead_ms)
            return OID_LEAD;
    } while (!atomic_compare_exchange_weak_explicit(&issuer->tick, &tick, last,
                                                    memory_order_acq_rel, memory_order_relaxed));
    *first = next;
    return OID_OK;
}

int64_t oid_wanted_high_water(struct oid_issuer *issuer, struct clock_now now)
{
    int64_t floor_s = floor_second(issuer, now, carried_ms(issuer, now));
    uint64_t tick = atomic_load_explicit(&issuer->tick, memory_order_relaxed);
    int64_t from_s = greatest(floor_s, tick_second(tick));
    int64_t saved_s = peek(&issuer->window_s);
    int64_t wanted_s = least(from_s + issuer->settings.window_s, SECOND_END - 1);

    if (tick & CLOSED || wanted_s <= saved_s ||
        (saved_s - from_s) * 3 >= issuer->settings.window_s * 2)
        return -1;
    return wanted_s;
}

void oid_saved(struct oid_issuer *issuer, int64_t second)
{
    raise_to(&issuer->window_s, second);
}

int64_t oid_close(struct oid_issuer *issuer)
{
    return tick_second(atomic_fetch_or_explicit(&issuer->tick, CLOSED, memory_order_acq_rel));
}

void oid_look(const struct oid_issuer *issuer, struct clock_now now, struct oid_state *state)
{
    uint64_t tick = atomic_load_explicit(&issuer->tick, memory_order_relaxed) & ~CLOSED;
    int64_t carried = now.boot_ms + peek(&issuer->offset_ms);
    int64_t tick_ms = tick_second(tick) * 1000;
    int64_t clock_ms;

    state->forward_step = now.real_ms - carried > issuer->settings.forward_ms;
    clock_ms = state->forward_step ? carried : now.real_ms;
    state->tick = tick;
    state->lead_ms = tick_ms - clock_ms;
    state->window_size_ms = issuer->settings.window_s * 1000;
    state->window_ms = (peek(&issuer->window_s) + 1) * 1000 - greatest(clock_ms, tick_ms);
}
