/* The lease on an issuer's name: of the daemons that share a store and an issuer, one leads; the
 * others refer clients to it and take over when it dies. A state machine: it is told the time and
 * what the store answered, and says what to ask the store next. Knows no clock and no store.
 *
 * The record in the store is only changed on the condition that it still is what this daemon last
 * saw (epoch and renewals), so a leader that was succeeded can not extend anything. A leader counts
 * its lease from before the renewal was sent, and only a renewal that is known to be done counts;
 * it stops a drift margin early. A successor takes the lease when it has seen the record unchanged
 * for the lease's whole length by its own clock; at once where it was given back, or where its
 * owner is proven dead. Both clocks are CLOCK_BOOTTIME. */
#ifndef IDMINT_LEASE_H
#define IDMINT_LEASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "store.h"

struct lease_settings {
    int64_t length_ms; /* default 20000: longer than MongoDB takes to elect a primary */
    int64_t
        margin_ms; /* how much earlier a leader stops, for clocks that run at different speeds */
    char owner[STORE_OWNER_BYTES];     /* who this process is, unlike any other ever */
    char address[STORE_ADDRESS_BYTES]; /* where its clients find it */
};

enum lease_action {
    LEASE_NOTHING,
    LEASE_READ,  /* look at the record */
    LEASE_TAKE,  /* take it, if it is still as in `wish` */
    LEASE_RENEW, /* extend it, if it is still as in `wish` */
};

struct lease {
    struct lease_settings settings;
    _Atomic int64_t until_ms; /* leads until then; 0: does not lead. Read by any thread */
    struct store_lease seen;  /* the record as last seen */
    int64_t seen_ms;          /* since when it has been like that; -1: never seen */
    int64_t asked_ms;         /* when the ask that is under way was begun */
    int64_t next_ms;          /* nothing to ask before then */
    bool asking;
    bool owner_dead; /* the record's owner is known to have ended */
};

void lease_init(struct lease *lease, const struct lease_settings *settings);

/* What to ask the store now. But for LEASE_NOTHING, the store must be asked, with *wish, and
 * lease_answer called with what it said, before the next call says anything else. One thread. */
enum lease_action lease_next(struct lease *lease, int64_t boot_ms, struct store_lease *wish);

/* result: STORE_DONE: done, and `record` is how it stands now. STORE_CHANGED: it was not as wished,
 * `record` is how it stands. Others: not known. The thread of lease_next, or its stand-in. */
void lease_answer(struct lease *lease, enum lease_action action, enum store_result result,
                  const struct store_lease *record, int64_t boot_ms);

/* The owner of the record last seen is proven to have ended. */
void lease_owner_died(struct lease *lease);

/* Any thread. */
static inline bool lease_leads(const struct lease *lease, int64_t boot_ms)
{
#ifdef SABOTAGE_NO_FENCE
    (void)boot_ms; /* whoever has led goes on until it hears that another does */
    return atomic_load_explicit(&lease->until_ms, memory_order_acquire) > 0;
#else
    return boot_ms < atomic_load_explicit(&lease->until_ms, memory_order_acquire);
#endif
}

#endif
