/* Whether this daemon issues ObjectIds, and how far: keeps the high water saved ahead of use and,
 * where the store is shared, the lease on the issuer's name. Asks the store through the worker, one
 * ask at a time; time is handed in. */
#ifndef IDMINT_LEADER_H
#define IDMINT_LEADER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "lease.h"
#include "oid.h"
#include "store_worker.h"

enum leader_event {
    LEADER_TOOK,    /* leads from now on */
    LEADER_LOST,    /* leads no more: another one has the lease, or it could not be renewed */
    LEADER_FOLLOWS, /* another one leads, at the address told */
};

struct leader_settings {
    struct lease_settings lease;
    struct clock_now (*now)(void); /* called on worker threads */
    /* Has the owner of that name, as lease_settings.owner tells it, ended for sure? */
    bool (*owner_ended)(const char *owner);
    /* Told on the main thread; address: the leader's. */
    void (*event)(void *context, enum leader_event event, const char *address);
    void *context;
};

struct leader {
    struct leader_settings settings;
    bool shared;
    struct oid_issuer *oid;
    struct store_worker *worker;
    pthread_mutex_t lock; /* over all below */
    struct lease lease;
    struct store_op op;
    struct store_lease record; /* the op's */
    enum lease_action action;  /* LEASE_NOTHING: the op saves the high water alone */
    bool asking;
    bool led, followed; /* what was told */
};

void leader_init(struct leader *leader, const struct leader_settings *settings, bool shared,
                 struct oid_issuer *oid, struct store_worker *worker);
void leader_finish(struct leader *leader);

/* Where clients find this daemon: before the first tick. */
void leader_advertise(struct leader *leader, const char *address);

/* Several times a second, from the main thread: ask for what is due. */
void leader_tick(struct leader *leader, struct clock_now now);

/* May ids be issued for a request that was read before boot_ms was? Any thread. */
static inline bool leader_leads(const struct leader *leader, int64_t boot_ms)
{
    return !leader->shared || lease_leads(&leader->lease, boot_ms);
}

struct leader_state {
    bool leads;
    int64_t epoch;
    int64_t lease_ms;                  /* what is left of it; 0: none */
    char address[STORE_ADDRESS_BYTES]; /* the leader's; "": not known */
};
void leader_look(struct leader *leader, int64_t boot_ms, struct leader_state *state);

/* The op that ends it: lowers the high water to the second really used and gives the lease back.
 * After the worker has been destroyed. false: there is nothing to say to the store. */
bool leader_last_op(struct leader *leader, int64_t boot_ms, struct store_op *op,
                    struct store_lease *record);

#endif
