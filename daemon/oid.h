/* Issues ObjectIds in strict order from any number of threads.
 *
 * Seconds and counter are one 56-bit number, the tick, in one 64-bit atomic; each issue moves it
 * forward by compare-and-swap, so order needs no lock. Two bounds are checked against the last
 * tick of a batch before it is taken:
 *   window: the high-water second that is saved in the store. Nothing past it is ever issued, so a
 *           start that begins at the saved second + 1 can not repeat a tick.
 *   lead:   how far the seconds may run ahead of the clock when more than 2^24 ids are drawn in a
 *           second. The clock here is max(real time, highest real time followed + BOOTTIME elapsed
 *           since), so a real-time clock that falls back stops nothing.
 * A forward step of real time beyond `forward_ms` against BOOTTIME is not followed until it has
 * lasted `settle_ms`: until then BOOTTIME carries the time on.
 * Knows no clock, store or randomness: all are handed in. */
#ifndef IDMINT_OID_H
#define IDMINT_OID_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "objectid.h"

struct oid_settings {
    int64_t lead_ms;    /* how far ahead of the clock seconds may be borrowed; default 2000; below
                           1000 a batch of 2^24 may never fit */
    int64_t forward_ms; /* the longest forward step that is followed at once; default 3600000 */
    int64_t settle_ms;  /* how long a longer step must last to be followed; default 60000 */
    int64_t window_s;   /* how far ahead the high water is saved; >= 1; default 3 */
};

enum oid_status {
    OID_OK = 0,
    OID_LEAD = -1,      /* too far ahead of the clock: wait, nothing was taken */
    OID_WINDOW = -2,    /* the saved window is used up: wait for the store, nothing was taken */
    OID_EXHAUSTED = -3, /* past 2^56 - 1, in the year 2106 */
    OID_CLOSED = -4,    /* the issuer was closed for good */
};

/* Fields are for oid.c alone; the struct is here so that its owner can embed it. */
struct oid_issuer {
    struct oid_settings settings;
    uint8_t random[OBJECTID_RANDOM_BYTES];
    int64_t start_s;                       /* no id has a second below this */
    _Alignas(64) _Atomic uint64_t tick;    /* the last tick issued; bit 63: CLOSED */
    _Alignas(64) _Atomic int64_t window_s; /* the greatest second that may be issued */
    _Atomic int64_t offset_ms;             /* real time followed - boot time, at its highest */
    _Atomic int64_t
        forward_since_ms; /* boot time when a long forward step was first seen; 0: none */
};

/* saved_s: the high-water second in the store, -1 where there is none. Issuing begins at
 * max(real time, saved_s + 1), after oid_saved has opened a window. `random` comes from getrandom:
 * 5 bytes random value, 3 bytes where the counter starts. */
void oid_init(struct oid_issuer *issuer, const struct oid_settings *settings,
              const uint8_t random[OBJECTID_RANDOM_BYTES + 3], struct clock_now now,
              int64_t saved_s);

/* This daemon issues from now on, where another one did before: all that comes is past the saved
 * second, and waits for oid_saved. Any thread, while nobody is allowed to take. */
void oid_resume(struct oid_issuer *issuer, struct clock_now now, int64_t saved_s);

/* Take the `count` (1 .. 2^24) contiguous ticks *first .. *first + count - 1. Any thread. `now` is
 * to be fresh: by a clock that was read long ago others seem far ahead, which gives OID_LEAD. */
int oid_take(struct oid_issuer *issuer, struct clock_now now, uint32_t count, uint64_t *first)
    __attribute__((warn_unused_result));

/* The second to save now, or -1 while the saved window is long enough, or once closed. Any thread.
 * Watches the clock as oid_take does: called on a timer, a forward step is seen through though
 * nobody takes ids. */
int64_t oid_wanted_high_water(struct oid_issuer *issuer, struct clock_now now);

/* The store has acknowledged (durably) that the high water is `second`: the window opens up to it.
 * Never moves back. Any thread. */
void oid_saved(struct oid_issuer *issuer, int64_t second);

/* Set CLOSED: after this returns no thread issues again. Returns the last second really used, to
 * which the high water may be lowered; where nothing was issued since oid_init that is saved_s (0
 * where there was none). */
int64_t oid_close(struct oid_issuer *issuer);

struct oid_state {
    uint64_t tick;     /* the last tick issued */
    int64_t lead_ms;   /* how far its second is ahead of real time, whatever the cause; <= 0: not */
    int64_t window_ms; /* what is left of the saved window, from real time or the last tick's second
                          on, whichever is later; < 0: none */
    int64_t window_size_ms; /* the window as it is when just saved */
    bool forward_step;      /* a long forward step is being waited out; real time above is then what
                               BOOTTIME makes of it */
};
void oid_look(const struct oid_issuer *issuer, struct clock_now now, struct oid_state *state);

#endif
