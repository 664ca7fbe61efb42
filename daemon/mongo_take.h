/* Taking values, and the verbs that are about one counter. */
#ifndef IDMINT_MONGO_TAKE_H
#define IDMINT_MONGO_TAKE_H

#include "mongo_counter.h"

/* Each sets the op's result. */
void mongo_take(struct mongo_work *work);
void mongo_order(struct mongo_work *work);

#endif
