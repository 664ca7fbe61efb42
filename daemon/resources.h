/* What the process takes of the machine (proc(5)). */
#ifndef IDMINT_RESOURCES_H
#define IDMINT_RESOURCES_H

#include <dirent.h>
#include <stdatomic.h>
#include <stdint.h>

/* Kept open: they tell also when no descriptor is left. */
struct resources {
    DIR *fds;  /* NULL, and -1: there is no /proc */
    int statm; /* pages */
    int64_t start_ms;
    _Atomic int64_t other_fds; /* open when they were counted last, connections left out */
};

/* What can not be told is -1. */
struct resources_state {
    int64_t resident_bytes;
    int64_t cpu_us;    /* user and system */
    int64_t other_fds; /* open descriptors, connections left out */
    int64_t max_fds;
    int64_t start_ms; /* unix time */
};

void resources_open(struct resources *resources);
void resources_close(struct resources *resources);
/* Count the open descriptors, of which so many are connections. Takes the longer the more there
 * are: for the main thread, now and then. */
void resources_count(struct resources *resources, int64_t connections);
/* Any thread; takes microseconds. */
void resources_look(const struct resources *resources, struct resources_state *state);

#endif
