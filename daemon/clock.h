/* Time as it is handed to the allocators, which read no clock themselves, so that tests can drive
 * them through rollbacks, glitches and the end of the format. */
#ifndef IDMINT_CLOCK_H
#define IDMINT_CLOCK_H

#include <stdint.h>

struct clock_now {
    int64_t real_ms; /* CLOCK_REALTIME: may step either way */
    int64_t boot_ms; /* CLOCK_BOOTTIME: only rises, also while the machine is suspended */
};

/* Read both clocks. In clock.c, outside the core. Any thread. */
struct clock_now clock_read(void);
/* CLOCK_MONOTONIC in microseconds, to tell how long something took. Any thread. */
int64_t clock_monotonic_us(void);

#endif
