/* Takes that come back together share a flush.
 *
 * Clients that a commit served come back at about the same time, each for its next value. The first
 * of them must not have a commit of its own, which all the others would have to wait for: where the
 * store is distant, a flush waits until as many takes have come as were served last, but for no
 * more than a part of the time that the last commit took. Who is alone waits for nobody, nor does
 * who comes later than that. For counter_flush.c alone. */
#ifndef IDMINT_COUNTER_GATHER_H
#define IDMINT_COUNTER_GATHER_H

#include "counter_flush.h"

/* On worker threads, with the shard's lock held. */

/* Waits for the takes that are expected; the lock is released meanwhile. */
void counter_gather(struct counter_flush *flush);
/* The flush leaves: its takes are expected no more. */
void counter_gather_leave(struct counter_flush *flush);
/* The flush is sent now: it is timed from here. */
void counter_gather_sent(struct counter_flush *flush);
/* The flush has served so many takes, and their clients are expected back. */
void counter_gather_more(struct counter_flush *flush, uint32_t takes);

#endif
