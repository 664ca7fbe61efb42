/* The shared store, `mongodb://...` and `mongodb+srv://...`. */
#ifndef IDMINT_STORE_MONGO_H
#define IDMINT_STORE_MONGO_H

#include "store.h"

extern const struct store_backend store_mongo_backend;
extern const struct store_backend store_mongo_srv_backend;

#endif
