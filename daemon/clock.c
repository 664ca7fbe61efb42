#include "clock.h"

#include <time.h>

static int64_t read_ms(clockid_t id)
{
    struct timespec time;

    clock_gettime(id, &time);
    return time.tv_sec * INT64_C(1000) + time.tv_nsec / 1000000;
}

/* Real time first: a thread that loses the processor between the two reads then sees real time
 * fall back a little against BOOTTIME, which nobody follows. The other way round it would see a
 * forward step. Both are read in the vdso, without a system call. */
struct clock_now clock_read(void)
{
    struct clock_now now;

    now.real_ms = read_ms(CLOCK_REALTIME);
    now.boot_ms = read_ms(CLOCK_BOOTTIME);
    return now;
}

int64_t clock_monotonic_us(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000) + time.tv_nsec / 1000;
}
