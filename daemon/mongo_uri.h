/* The URI a MongoDB store is opened with: the operator's, with the bounds and habits that the store
 * relies on. */
#ifndef IDMINT_MONGO_URI_H
#define IDMINT_MONGO_URI_H

#include "mongo_link.h"

/* Neither the URI nor the password is repeated in `why`. NULL: `why`. */
mongoc_uri_t *mongo_uri_make(const struct config *config, const struct mongo_bounds *bounds,
                             char *why, size_t why_bytes);

#endif
