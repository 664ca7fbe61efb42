/* An issuer of ObjectIds: its high water, and the lease of the daemon that leads. One document:
 *   {_id: "issuer/NAME", high_water, writer, epoch, renewals, length, given, owner, address}
 *
 * The lease is changed as store.h says, on the condition that its record stands. The high water by
 * itself (HIGH_WATER) is set only by the daemon that has set it before, or that read it at its
 * start as it still stands; who had it before can then not set it any more. */
#ifndef IDMINT_MONGO_ISSUER_H
#define IDMINT_MONGO_ISSUER_H

#include "mongo_link.h"

#define MONGO_ISSUER_WRITER 32

struct mongo_issuer {
    const struct config *config;
    char writer[MONGO_ISSUER_WRITER + 1]; /* random, of this start */
    int64_t read_s;                       /* as it stood at the start; -1: there was none */
};

/* Reads the high water. */
int mongo_issuer_init(struct mongo_issuer *issuer, struct mongo_call *call,
                      const struct config *config, struct mongo_fault *fault)
    __attribute__((warn_unused_result));
void mongo_issuer_save(const struct mongo_issuer *issuer, struct mongo_call *call,
                       struct store_op *op);
/* The verbs LEASE_*. */
void mongo_issuer_lease(const struct mongo_issuer *issuer, struct mongo_call *call,
                        struct store_op *op);

#endif
