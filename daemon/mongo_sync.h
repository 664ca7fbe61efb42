/* COUNTER SYNC: the greatest value of a field, so that a counter can go on after what is there. */
#ifndef IDMINT_MONGO_SYNC_H
#define IDMINT_MONGO_SYNC_H

#include "mongo_counter.h"

/* Makes the SYNC op a RAISE to the greatest value of its field in its collection. -1: the op has
 * its result. */
int mongo_sync(struct mongo_work *work) __attribute__((warn_unused_result));

#endif
