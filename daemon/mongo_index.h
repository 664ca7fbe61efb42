/* The unique index without which first uses at the same time would make two documents. */
#ifndef IDMINT_MONGO_INDEX_H
#define IDMINT_MONGO_INDEX_H

#include "mongo_place.h"

/* 0: there is one that covers the place's key or match, or it was made; -1: `fault`, which names
 * the command that makes it. */
int mongo_index_require(struct mongo_call *call, const struct mongo_place *place,
                        struct mongo_fault *fault) __attribute__((warn_unused_result));

#endif
