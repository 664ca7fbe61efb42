/* The way to MongoDB: a pool of connections on which every wait is bounded, and what became of a
 * command. */
#ifndef IDMINT_MONGO_LINK_H
#define IDMINT_MONGO_LINK_H

#include <mongoc/mongoc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "store.h"

/* How long the steps of one commit may take. */
struct mongo_bounds {
    int64_t commit_ms;
    int64_t select_ms;  /* to find a server that takes writes */
    int64_t connect_ms; /* to connect to it */
    int64_t command_ms; /* from sending a command to its reply */
    int64_t server_ms;  /* that the server may spend on it: maxTimeMS, wtimeout */
};

struct mongo_link {
    mongoc_client_pool_t *pool;
    struct mongo_bounds bounds;
    bool standalone; /* the server is no replica set: it knows no read concern */
};

/* One thread's use of a connection, for one commit. */
struct mongo_call {
    const struct mongo_link *link;
    mongoc_client_t *client;
    int64_t end_ms; /* CLOCK_MONOTONIC */
};

#define MONGO_UNAUTHORIZED 13
#define MONGO_AUTHENTICATION_FAILED 18

/* Why a command did not do what it should. */
struct mongo_fault {
    enum store_result result;
    int32_t code; /* the server's; 0: it said none */
    char text[128];
};

/* commit_ms: for all that one commit does. */
int mongo_link_open(struct mongo_link *link, const struct config *config, int64_t commit_ms,
                    char *why, size_t why_bytes) __attribute__((warn_unused_result));
void mongo_link_close(struct mongo_link *link);

/* Any thread. 0, or -1: no connection became free in time. */
int mongo_call_begin(const struct mongo_link *link, struct mongo_call *call)
    __attribute__((warn_unused_result));
void mongo_call_end(struct mongo_call *call);

/* Send a command to the primary and wait for its reply. The command is used up. 0: it was done, and
 * the caller destroys `reply`; -1: `fault`. What mongo_write has done is with a majority. */
int mongo_read(struct mongo_call *call, const char *database, bson_t *command, bson_t *reply,
               struct mongo_fault *fault) __attribute__((warn_unused_result));
int mongo_write(struct mongo_call *call, const char *database, bson_t *command, bson_t *reply,
                struct mongo_fault *fault) __attribute__((warn_unused_result));

/* How sure a read is to be: "majority", "linearizable". */
void mongo_read_concern(const struct mongo_call *call, bson_t *command, const char *level);

void mongo_fault_set(struct mongo_fault *fault, enum store_result result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What became of a write to which the server, or the driver, gave this answer. 0: done. */
int mongo_judge(bool ok, const bson_t *reply, const bson_error_t *error, struct mongo_fault *fault)
    __attribute__((warn_unused_result));

/* The element at a dotted path. */
bool mongo_find(const bson_t *document, const char *path, bson_iter_t *found);
/* The document or array at a dotted path, borrowed; `inner` needs no destroy. */
bool mongo_find_document(const bson_t *document, const char *path, bson_t *inner);

#endif
