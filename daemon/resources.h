/* What the process takes of the machine (proc(5)). */
#ifndef IDMINT_RESOURCES_H
#define IDMINT_RESOURCES_H

#include <stdint.h>

/* What can not be told is 0. */
struct resources {
    int64_t resident_bytes;
    int64_t cpu_us;   /* user and system */
    int64_t open_fds; /* the one that counts them not included */
    int64_t max_fds;
    int64_t start_ms; /* unix time; the same at each look, unless the clock is set */
};
void resources_look(struct resources *resources);

#endif
