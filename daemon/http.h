/* An HTTP connection: conn_http of conn.h. Requests are carried out one after the other, each when
 * the one before is answered; what comes meanwhile waits in the socket. */
#ifndef IDMINT_HTTP_H
#define IDMINT_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "http_api.h"

/* What is between a request's first byte and its answer's last. Made with its first request. */
struct http {
    struct http_plan plan; /* of the request that is being carried out */
    struct buffer reply;   /* its command's reply, as the line protocol tells it */
    bool keep_alive;       /* of that request */
    bool http_1_0;
    bool head_only;
    char shared_with[128]; /* the origin of another site whose page may read the answer; "": none */
    bool continued;        /* "100 Continue" has been sent for the request that is coming in */
    bool let_in;           /* a request had the credential it needs */
    bool streaming;        /* events, until the client goes */
    uint64_t last_event;   /* the last one sent */
    int64_t begun_ms;      /* when the request that is coming in began; 0: none */
};

#endif
