/* What a server must be able to do, tried at start: a server on which one of the store's promises
 * would not hold is refused by the name of what it lacks. */
#ifndef IDMINT_MONGO_CHECK_H
#define IDMINT_MONGO_CHECK_H

#include "mongo_place.h"

/* The server's version, and whether it is fit; store->notice: what the operator should know. */
int mongo_check_server(struct mongo_call *call, struct store *store, bool *standalone, char *why,
                       size_t why_bytes) __attribute__((warn_unused_result));
/* findAndModify takes each value once, though several threads ask at the same time. */
int mongo_check_atomic(const struct mongo_link *link, const char *database, char *why,
                       size_t why_bytes) __attribute__((warn_unused_result));
/* The user may do what is needed on each place. No document is touched. */
int mongo_check_rights(struct mongo_call *call, const struct mongo_places *places, bool creates,
                       char *why, size_t why_bytes) __attribute__((warn_unused_result));

#endif
