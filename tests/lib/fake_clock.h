/* A clock that tests move by hand. */
#ifndef IDMINT_FAKE_CLOCK_H
#define IDMINT_FAKE_CLOCK_H

#include "clock.h"

/* Time passes: both clocks move. */
static inline void fake_clock_pass(struct clock_now *clock, int64_t ms)
{
    clock->real_ms += ms;
    clock->boot_ms += ms;
}

/* Someone sets the clock: real time alone moves, either way. */
static inline void fake_clock_step(struct clock_now *clock, int64_t ms)
{
    clock->real_ms += ms;
}

#endif
