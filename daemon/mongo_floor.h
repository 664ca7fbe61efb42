/* The floors of counters: the greatest value issued of each, so that a document which someone
 * restored or set back is noticed by daemons that were started since, too. Saved lazily, by a
 * thread of its own, in idmint's own documents: no take waits for it, and after a crash the last
 * few seconds are missing. */
#ifndef IDMINT_MONGO_FLOOR_H
#define IDMINT_MONGO_FLOOR_H

#include <pthread.h>

#include "mongo_link.h"

#define MONGO_FLOOR_SLOTS 4096

struct mongo_floor;

struct mongo_floors {
    const struct mongo_link *link;
    const char *database;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* over all below */
    pthread_cond_t wake;
    bool stopping;
    size_t count;
    struct mongo_floor *slots[MONGO_FLOOR_SLOTS]; /* those not saved yet, by name */
};

/* Starts the thread. Link and database outlive it. */
int mongo_floors_start(struct mongo_floors *floors, const struct mongo_link *link,
                       const char *database) __attribute__((warn_unused_result));
/* Saves what is not saved yet, and ends the thread. Zeroed floors: nothing. */
void mongo_floors_stop(struct mongo_floors *floors);

/* `value` was issued in that generation; `changes` is how often the counter was changed by commands
 * until then, as its document tells. Any thread. */
void mongo_floors_note(struct mongo_floors *floors, const char *name, size_t name_len,
                       int64_t changes, int64_t value);

#endif
