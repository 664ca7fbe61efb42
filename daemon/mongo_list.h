/* A page of counters. */
#ifndef IDMINT_MONGO_LIST_H
#define IDMINT_MONGO_LIST_H

#include "mongo_counter.h"

void mongo_list(const struct mongo_places *places, struct mongo_work *work);

#endif
