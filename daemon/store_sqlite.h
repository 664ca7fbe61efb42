/* The embedded store, `sqlite:PATH`: one file that one process holds for itself. */
#ifndef IDMINT_STORE_SQLITE_H
#define IDMINT_STORE_SQLITE_H

#include "store.h"

extern const struct store_backend store_sqlite_backend;

#endif
