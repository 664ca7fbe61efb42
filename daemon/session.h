/* What the daemon knows of one client while it is connected: the protocol's state, not the
 * socket's. Used by the thread that owns the connection alone, but for `name` (see dispatch.h). */
#ifndef IDMINT_SESSION_H
#define IDMINT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "request.h"

struct session {
    uint64_t id;
    struct request_host *host;
    bool resp3;
    bool authenticated;
    bool in_multi;
    bool multi_failed;     /* a command between MULTI and EXEC was wrong: EXEC will refuse */
    bool replaying;        /* the commands of an EXEC are being carried out */
    uint32_t pending;      /* requests in the connection's line */
    bool order_waits;      /* one of them is an order on a counter: takes come after it */
    uint32_t waiting_oids; /* of them ObjectId requests that wait for the clock or the window */
    uint32_t multi_count;
    struct buffer
        multi;     /* the commands since MULTI, as they came; EXEC hands them to the connection */
    char name[64]; /* CLIENT SETNAME; "" if none */
};

#endif
