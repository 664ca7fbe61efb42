#include "server.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config.h"
#include "conn.h"
#include "limit.h"
#include "log.h"
#include "loop.h"

/* Accepted in one go before other events get their turn. */
#define ACCEPT_BURST 64
static const struct timeval accept_pause = {.tv_usec = 100000};

/* --- Accepting --- */

static void pause_accepting(struct server *server)
{
    for (size_t i = 0; i < server->port_count; i++)
        event_del(server->ports[i].accept_event);
    event_add(server->resume_event, &accept_pause);
}

static void resume_cb(evutil_socket_t fd, short what, void *context)
{
    struct server *server = context;
    for (size_t i = 0; i < server->port_count; i++)
        event_add(server->ports[i].accept_event, NULL);
}

static void refuse(struct server_port *port, int fd)
{
    const char *text = port->protocol->refusal;
    atomic_fetch_add(&port->server->connections_refused, 1);
    ssize_t sent = send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent; /* a courtesy; the close says it as well */
    close(fd);
}

static void hand_over(struct server_port *port, int fd, const struct sockaddr_storage *peer)
{
    struct server *server = port->server;
    char address[80];
    int on = 1;
    listener_peer_text(peer, address, sizeof address);
    if (peer->ss_family != AF_UNIX) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    }
    atomic_fetch_add(&server->connections_total, 1);
    atomic_fetch_add(&server->connections, 1);
    loop_adopt(&server->loops[server->next_loop++ % server->loop_count], fd, address,
               port->protocol);
}

static void accept_cb(evutil_socket_t fd, short what, void *context)
{
    struct server_port *port = context;
    struct server *server = port->server;
    for (int i = 0; i < ACCEPT_BURST; i++) {
        struct sockaddr_storage peer = {0};
        socklen_t len = sizeof peer;
        int accepted = accept4(fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (accepted >= 0) {
            if (atomic_load(&server->connections) >= (uint64_t)server->config->limits.connections)
                refuse(port, accepted);
            else
                hand_over(port, accepted, &peer);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            log_line(LOG_WARNING, "can not accept a connection: %s; trying again in 100 ms",
                     strerror(errno));
            pause_accepting(server);
            return;
        }
        if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}

/* --- The registry --- */

void server_register(struct server *server, struct conn *conn)
{
    pthread_mutex_lock(&server->lock);
    conn->session.id = ++server->next_id;
    conn->registry_next = server->registry;
    if (server->registry != NULL)
        server->registry->registry_prev = conn;
    server->registry = conn;
    pthread_mutex_unlock(&server->lock);
}

void server_unregister(struct server *server, struct conn *conn)
{
    pthread_mutex_lock(&server->lock);
    if (conn->registry_next != NULL)
        conn->registry_next->registry_prev = conn->registry_prev;
    if (conn->registry_prev != NULL)
        conn->registry_prev->registry_next = conn->registry_next;
    else
        server->registry = conn->registry_next;
    pthread_mutex_unlock(&server->lock);
    atomic_fetch_sub(&server->connections, 1);
}

static void look(void *context, struct dispatch_server_state *state)
{
    struct server *server = context;
    *state = (struct dispatch_server_state){
        .connections = atomic_load(&server->connections),
        .connections_total = atomic_load(&server->connections_total),
        .connections_refused = atomic_load(&server->connections_refused),
        .buffer_bytes = atomic_load(&server->buffer_bytes),
        .uptime_s = (clock_read().boot_ms - server->started_ms) / 1000,
        .threads = server->loop_count,
    };
    for (unsigned i = 0; i < server->loop_count; i++)
        state->commands += atomic_load_explicit(&server->loops[i].commands, memory_order_relaxed);
    for (size_t i = 0; i < server->port_count && state->tcp_port == 0; i++)
        if (server->ports[i].protocol == &conn_resp)
            state->tcp_port = server->ports[i].listener.port;
}

static void list(void *context, struct buffer *out)
{
    struct server *server = context;
    int64_t now_ms = clock_read().boot_ms;
    pthread_mutex_lock(&server->lock);
    for (struct conn *conn = server->registry; conn != NULL; conn = conn->registry_next) {
        char line[256];
        int len = snprintf(line, sizeof line, "id=%" PRIu64 " addr=%s name=%s age=%" PRId64 "\n",
                           conn->session.id, conn->address, conn->session.name,
                           (now_ms - conn->opened_ms) / 1000);
        buffer_append(out, line, (size_t)len);
    }
    pthread_mutex_unlock(&server->lock);
}

static int kill_matching(void *context, uint64_t id, const char *address, size_t address_len)
{
    struct server *server = context;
    int killed = 0;
    pthread_mutex_lock(&server->lock);
    for (struct conn *conn = server->registry; conn != NULL; conn = conn->registry_next) {
        if (id != 0 && conn->session.id != id)
            continue;
        if (address != NULL && (strlen(conn->address) != address_len ||
                                memcmp(conn->address, address, address_len) != 0))
            continue;
        atomic_store(&conn->killed, true);
        loop_wake_for_kill(conn->loop);
        killed++;
    }
    pthread_mutex_unlock(&server->lock);
    return killed;
}

static void set_name(void *context, struct session *session, const char *name, size_t name_len)
{
    struct server *server = context;
    pthread_mutex_lock(&server->lock);
    memcpy(session->name, name, name_len);
    session->name[name_len] = '\0';
    pthread_mutex_unlock(&server->lock);
}

static const struct metrics_loop *loop_metrics(void *context, unsigned index)
{
    struct server *server = context;
    return index < server->loop_count ? &server->loops[index].metrics : NULL;
}

void server_tell_ports(const struct server *server)
{
    for (size_t i = 0; i < server->port_count; i++) {
        const char *address = server->ports[i].listener.address;
        if (server->ports[i].protocol == &conn_resp)
            log_line(LOG_NOTICE, "listening on %s", address);
        else
            log_line(LOG_NOTICE, "serving http://%s/", address);
    }
}

const char *server_address(const struct server *server)
{
    return server->ports[0].listener.address;
}

/* --- Life --- */

static int open_ports(struct server *server, const char *text, const struct protocol *protocol,
                      char *why, size_t why_bytes)
{
    const struct config *config = atomic_load(&server->config);
    const struct listener_options options = {
        .backlog = (int)config->listen.backlog,
        .unix_mode = (unsigned)config->listen.unix_mode,
        .open_allowed = config->auth.allow_open || server->dispatch->auth != NULL,
    };
    while (text != NULL && *text != '\0') {
        struct listener listeners[SERVER_LISTENERS];
        text += strspn(text, " \t");
        size_t size = strcspn(text, ","), len = size;
        size_t count = SERVER_LISTENERS - server->port_count;
        while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
            len--;
        int status = listener_open(text, len, &options, listeners, &count, why, why_bytes);
        for (size_t i = 0; i < count; i++)
            server->ports[server->port_count++] = (struct server_port){
                .server = server, .listener = listeners[i], .protocol = protocol};
        if (status < 0)
            return -1;
        text += size;
        text += *text == ',';
    }
    return 0;
}

static int start_accepting(struct server *server)
{
    server->resume_event = event_new(server->base, -1, 0, resume_cb, server);
    if (server->resume_event == NULL)
        return -1;
    for (size_t i = 0; i < server->port_count; i++) {
        struct server_port *port = &server->ports[i];
        port->accept_event =
            event_new(server->base, port->listener.fd, EV_READ | EV_PERSIST, accept_cb, port);
        if (port->accept_event == NULL || event_add(port->accept_event, NULL) < 0)
            return -1;
    }
    return 0;
}

static int start_loops(struct server *server)
{
    unsigned count = (unsigned)server->config->listen.threads;
    if (count == 0) {
        /* One core is left to the store's worker and the kernel: measured, two loops on two cores
         * make smaller commits and more switches than one. */
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        count = cores > 1 ? (unsigned)cores - 1 : 1;
    }
    server->loops = aligned_alloc(_Alignof(struct loop), count * sizeof(struct loop));
    if (server->loops == NULL)
        return -1;
    memset(server->loops, 0, count * sizeof(struct loop));
    for (unsigned i = 0; i < count; i++) {
        server->loop_count = i + 1;
        if (loop_start(&server->loops[i], server) < 0)
            return -1;
    }
    return 0;
}

int server_start(struct server *server, const struct config *config, struct dispatch *dispatch,
                 struct rates *rates, struct event_base *base, char *why, size_t why_bytes)
{
    *server = (struct server){.config = config,
                              .dispatch = dispatch,
                              .rates = rates,
                              .base = base,
                              .started_ms = clock_read().boot_ms,
                              .limits = {.inline_bytes = LIMIT_INLINE_BYTES,
                                         .bulk_bytes = LIMIT_BULK_BYTES,
                                         .args = LIMIT_ARGS,
                                         .request_bytes = LIMIT_REQUEST_BYTES},
                              .open_limits = {.inline_bytes = LIMIT_OPEN_BULK_BYTES,
                                              .bulk_bytes = LIMIT_OPEN_BULK_BYTES,
                                              .args = LIMIT_OPEN_ARGS,
                                              .request_bytes = LIMIT_OPEN_REQUEST_BYTES}};
    pthread_mutex_init(&server->lock, NULL);
    dispatch->server = (struct dispatch_server){.context = server,
                                                .look = look,
                                                .list = list,
                                                .kill = kill_matching,
                                                .set_name = set_name,
                                                .metrics = loop_metrics};
    if (open_ports(server, config->listen.resp, &conn_resp, why, why_bytes) < 0 ||
        open_ports(server, config->listen.http, &conn_http, why, why_bytes) < 0)
        return -1;
    if (start_loops(server) < 0 || start_accepting(server) < 0) {
        snprintf(why, why_bytes, "can not start the loop threads: %s", strerror(errno));
        return -1;
    }
    return 0;
}

void server_reconfigure(struct server *server, const struct config *config)
{
    atomic_store(&server->config, config);
    atomic_store(&server->dispatch->config, config);
}

void server_stop(struct server *server)
{
    for (size_t i = 0; i < server->port_count; i++) {
        if (server->ports[i].accept_event != NULL)
            event_free(server->ports[i].accept_event);
        listener_close(&server->ports[i].listener);
    }
    if (server->resume_event != NULL)
        event_free(server->resume_event);
    for (unsigned i = 0; i < server->loop_count; i++)
        loop_stop(&server->loops[i]);
    for (unsigned i = 0; i < server->loop_count; i++)
        loop_join(&server->loops[i]);
    server->port_count = 0;
}

void server_finish(struct server *server)
{
    for (unsigned i = 0; i < server->loop_count; i++)
        loop_finish(&server->loops[i]);
    free(server->loops);
    pthread_mutex_destroy(&server->lock);
}
