/* Listeners, the acceptor, and the loops; what all connections share. */
#ifndef IDMINT_SERVER_H
#define IDMINT_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <event2/event.h>

#include "dispatch.h"
#include "listener.h"
#include "resp.h"

struct conn;
struct loop;
struct protocol;
struct rates;
struct server;

#define SERVER_LISTENERS 16

struct server_port {
    struct server *server;
    struct listener listener;
    const struct protocol *protocol;
    struct event *accept_event;
};

struct server {
    _Atomic(const struct config *) config; /* replaced when it is read again; old ones live on */
    struct dispatch *dispatch;
    struct event_base *base; /* the main thread's */
    struct server_port ports[SERVER_LISTENERS];
    size_t port_count;
    struct rates *rates;        /* the status page's; lives as long as the server */
    struct event *resume_event; /* accepting pauses when descriptors run out */
    struct loop *loops;
    unsigned loop_count, next_loop;
    int64_t started_ms;                     /* BOOTTIME */
    struct resp_limits limits, open_limits; /* after and before authentication */

    pthread_mutex_t lock; /* guards the registry: CLIENT LIST and KILL, names */
    struct conn *registry;
    uint64_t next_id;

    atomic_uint_least64_t connections, connections_total, connections_refused;
    atomic_uint_least64_t buffer_bytes;
};

/* Bind and listen, start the loops; `rates` are what event streams tell. Refuses an address beyond
 * loopback where nobody would have to authenticate, unless the configuration allows it. 0, or -1
 * with `why`. The main thread then runs `base`. */
int server_start(struct server *server, const struct config *config, struct dispatch *dispatch,
                 struct rates *rates, struct event_base *base, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));
/* From now on as this one says, as far as it can be changed while running. It, and the one before,
 * live until server_finish. */
void server_reconfigure(struct server *server, const struct config *config);
/* Stop accepting, finish what is in flight, end the loops. Also after a failed start. */
void server_stop(struct server *server);
/* Free the loops. After the store worker has ended: requests that were given up come back to them
 * until then. */
void server_finish(struct server *server);

/* One line in the log for each address. */
void server_tell_ports(const struct server *server);
/* Where others find it: the first address of the line protocol. */
const char *server_address(const struct server *server);

/* For conn.c. */
void server_register(struct server *server, struct conn *conn); /* also gives it its id */
void server_unregister(struct server *server, struct conn *conn);

#endif
