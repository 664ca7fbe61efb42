#include "conn.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config.h"
#include "limit.h"
#include "log.h"
#include "outcome.h"
#include "server.h"

/* A connection that holds no more than this is not dropped when the budget of all is used up. */
#define BUDGET_FREE_BYTES 16384

const struct config *conn_config(const struct conn *conn)
{
    return atomic_load_explicit(&conn->loop->server->config, memory_order_acquire);
}

/* A connection that reads as fast as its replies are made ends its turn after so many bytes. */
#define TURN_BYTES 1048576
/* How long a client may take to end its side after its last reply. */
#define LINGER_MS 2000

/* --- Where replies go --- */

/* What is to be sent next: behind what could not be sent yet, if there is any. */
static struct buffer *conn_out(struct conn *conn)
{
    return conn->out.len > 0 ? &conn->out : &conn->loop->out;
}

static struct request *line_last(struct conn *conn)
{
    return (struct request *)((char *)conn->line_tail - offsetof(struct request, next));
}

static bool has_completed(const struct conn *conn)
{
    return conn->line != NULL && conn->line->completed;
}

struct buffer *conn_sink(struct conn *conn)
{
    return conn->line == NULL ? conn_out(conn) : &line_last(conn)->after;
}

static size_t unsent(const struct conn *conn)
{
    return conn->out.len + conn->after_bytes + conn->loop->out.len;
}

/* --- Events --- */

static void set_reading(struct conn *conn, bool on)
{
    if (conn->reading == on)
        return;
    conn->reading = on;
    if ((on ? event_add(&conn->read_event, NULL) : event_del(&conn->read_event)) < 0)
        conn->dead = true;
}

static void set_writing(struct conn *conn, bool on)
{
    if (conn->writing == on)
        return;
    conn->writing = on;
    if ((on ? event_add(&conn->write_event, NULL) : event_del(&conn->write_event)) < 0)
        conn->dead = true;
}

static void set_waits(struct conn *conn, bool on)
{
    struct loop *loop = conn->loop;
    if (conn->waits == on)
        return;
    conn->waits = on;
    if (on) {
        conn->waiting_prev = NULL;
        conn->waiting_next = loop->waiting;
        if (loop->waiting != NULL)
            loop->waiting->waiting_prev = conn;
        loop->waiting = conn;
        loop_need_tick(loop);
        return;
    }
    if (conn->waiting_next != NULL)
        conn->waiting_next->waiting_prev = conn->waiting_prev;
    if (conn->waiting_prev != NULL)
        conn->waiting_prev->waiting_next = conn->waiting_next;
    else
        loop->waiting = conn->waiting_next;
}

/* --- Sending --- */

/* Send what is there; keep what the socket does not take. */
static void conn_send(struct conn *conn)
{
    struct buffer *fresh = &conn->loop->out;
    struct buffer *from = conn_out(conn);
    if (from->failed) {
        log_line(LOG_WARNING, "connection %" PRIu64 ": out of memory for replies; closing",
                 conn->session.id);
        conn->dead = true;
    }
    size_t sent = 0;
    while (!conn->dead && sent < from->len) {
        ssize_t n = send(conn->fd, from->data + sent, from->len - sent, MSG_NOSIGNAL);
        if (n >= 0)
            sent += (size_t)n;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            break;
        else if (errno != EINTR)
            conn->dead = true;
    }
    conn->loop->sent += sent;
    conn->sent += (int64_t)sent;
    if (conn->dead) {
        fresh->len = 0;
        fresh->failed = false;
        return;
    }
    if (from == fresh) {
        if (sent < from->len)
            buffer_append(&conn->out, from->data + sent, from->len - sent);
        conn->dead = conn->out.failed;
        fresh->len = 0;
    } else {
        buffer_consume(from, sent);
    }
    if (conn->out.len == 0)
        buffer_finish(&conn->out);
    set_writing(conn, conn->out.len > 0);
}

/* The memory of all connections' buffers and requests is bounded; who needs more when it is used up
 * must go. */
static void keep_budget(struct conn *conn)
{
    struct server *server = conn->loop->server;
    size_t held = conn->in.capacity + conn->out.capacity + conn->after_bytes + conn->line_bytes +
                  conn->session.multi.capacity;
    if (held == conn->counted)
        return;
    bool grew = held > conn->counted;
    uint64_t all =
        atomic_fetch_add(&server->buffer_bytes, held - conn->counted) + (held - conn->counted);
    conn->counted = held;
    if (grew && held > BUDGET_FREE_BYTES &&
        all > (uint64_t)conn_config(conn)->limits.buffer_bytes) {
        log_line(LOG_WARNING,
                 "connection %" PRIu64 ": all buffers together reach limits.buffers; closing it "
                 "for the %zu bytes it holds",
                 conn->session.id, held);
        conn->dead = true;
    }
}

/* --- Carrying out --- */

static void enqueue(struct conn *conn, struct request *request)
{
    request->session = &conn->session;
    request->next = NULL;
    request->completed = false;
    request->deadline_ms = conn->loop->now.boot_ms + conn_config(conn)->limits.request_ms;
    buffer_init(&request->after, 0);
    *conn->line_tail = request;
    conn->line_tail = &request->next;
    conn->session.pending++;
    conn->line_bytes += request->bytes;
    if (request->by_time)
        loop_park(conn->loop, request);
    set_waits(conn, true);
}

void conn_count_sink(struct conn *conn, size_t grown)
{
    if (conn->line != NULL)
        conn->after_bytes += grown;
}

/* From when its bytes were read until now. */
static void count_time(struct conn *conn, const struct command *command, int64_t since_us,
                       uint32_t times)
{
    int64_t took_us = clock_monotonic_us() - since_us;
    metrics_observe(&conn->loop->metrics.command_us[command - command_table], metrics_us_bounds,
                    took_us > 0 ? (uint64_t)took_us : 0, times);
}

enum dispatch_status conn_call(struct conn *conn, struct call *call)
{
    call->now = conn->loop->now;
    enum dispatch_status outcome = dispatch_call(call);
    if (outcome == DISPATCH_LATER) {
        conn->held = true;
        return outcome;
    }
    if (outcome == DISPATCH_WAITS) {
        uint32_t served = call->repeat - call->request->replies; /* of a run, at once */
        if (served > 0)
            count_time(conn, call->command, conn->loop->read_us, served);
        call->request->command = call->command;
        call->request->read_us = conn->loop->read_us;
        enqueue(conn, call->request);
    } else if (call->command != NULL) {
        count_time(conn, call->command, conn->loop->read_us, call->repeat);
    }
    atomic_store_explicit(&conn->loop->commands, conn->loop->commands + call->repeat,
                          memory_order_relaxed);
    return outcome;
}

/* May the next command be carried out, as far as memory and the others' turns are concerned? */
static bool has_room(struct conn *conn)
{
    if (conn->session.pending >= LIMIT_PENDING)
        return false;
    size_t most = (size_t)conn_config(conn)->limits.output_bytes;
    size_t len = conn_out(conn)->len;
    if (conn->line == NULL && (len >= LOOP_READ_BYTES || len >= most))
        conn_send(conn);
    return unsent(conn) < most && conn->loop->sent < TURN_BYTES;
}

/* The commands of an EXEC, then those at data. Returns the bytes of data used. */
static size_t process(struct conn *conn, const char *data, size_t len)
{
    struct session *session = &conn->session;
    size_t at = 0;
    conn->held = false;
    conn->in_need = 0;
    while (!conn->closing && !conn->dead && !conn->held) {
        /* What held it back is no matter once nothing is left: else nobody would read on. */
        if (at == len && !session->replaying)
            break;
        if (!has_room(conn)) {
            conn->held = true;
            break;
        }
        if (session->replaying) {
            if (conn->replay_at < session->multi.len) {
                conn->replay_at +=
                    conn->protocol->carry_out(conn, session->multi.data + conn->replay_at,
                                              session->multi.len - conn->replay_at);
                continue;
            }
            session->replaying = false;
            buffer_finish(&session->multi);
            continue;
        }
        size_t used = conn->protocol->carry_out(conn, data + at, len - at);
        if (used == 0)
            break;
        at += used;
    }
    return conn->closing ? len : at;
}

/* Carry out what was read before and had to wait. */
static void resume(struct conn *conn)
{
    conn->held = false;
    if (conn->in.len == 0 && !conn->session.replaying)
        return;
    buffer_consume(&conn->in, process(conn, conn->in.data, conn->in.len));
    if (conn->in.len == 0)
        buffer_finish(&conn->in);
}

/* Closing a socket with bytes in it that nobody read resets the connection, and the client may
 * never see the last reply (RFC 9112, 9.6). So: end our side, and read on until the client ends its
 * own. false: close at once. */
static bool conn_linger(struct conn *conn)
{
    if (!conn->protocol->lingers || conn->eof || conn->loop->stopping)
        return false;
    if (conn->linger_ms != 0)
        return true;
    conn->linger_ms = conn->loop->now.boot_ms;
    return shutdown(conn->fd, SHUT_WR) == 0;
}

/* Read what is of no interest any more. */
static void linger_on(struct conn *conn)
{
    ssize_t n = recv(conn->fd, conn->loop->in, LOOP_READ_BYTES, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        conn_destroy(conn);
}

/* Send, set the events by the state that came out of this turn, or close. The connection may be
 * gone afterwards. */
static void end_turn(struct conn *conn)
{
    conn_send(conn);
    conn->loop->sent = 0;
    loop_submit_soon(conn->loop);
    keep_budget(conn);
    bool idle = conn->line == NULL && conn->out.len == 0 && !conn->session.replaying;
    bool over = conn->closing || (conn->eof && !conn->held) || conn->loop->stopping;
    if (conn->dead || (over && idle && !conn_linger(conn))) {
        conn_destroy(conn);
        return;
    }
    set_waits(conn, conn->line != NULL);
    if (conn->linger_ms != 0) {
        set_reading(conn, true);
        return;
    }
    set_reading(conn, !conn->eof && !conn->closing && !conn->held && !conn->loop->stopping);
    /* What is held back though nothing is waited for goes on when the others have had their turns.
     */
    set_writing(conn,
                conn->out.len > 0 || has_completed(conn) || (conn->held && conn->line == NULL));
}

static void read_cb(evutil_socket_t fd, short what, void *context)
{
    struct conn *conn = context;
    struct loop *loop = conn->loop;
    if (conn->linger_ms != 0) {
        linger_on(conn);
        return;
    }
    bool kept = conn->in.len > 0;
    char *room = kept ? buffer_reserve(&conn->in, LOOP_READ_BYTES / 4) : loop->in;
    size_t room_bytes = kept ? LOOP_READ_BYTES / 4 : LOOP_READ_BYTES;
    if (room == NULL) {
        conn->dead = true;
        end_turn(conn);
        return;
    }
    ssize_t n = recv(fd, room, room_bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    /* After the read: what a lease allows is judged by a time that is no older than the request. */
    loop->now = clock_read();
    loop->read_us = clock_monotonic_us();
    conn->active_ms = loop->now.boot_ms;
    if (n < 0)
        conn->dead = true;
    conn->eof = conn->eof || n == 0;
    if (n > 0 && kept) {
        conn->in.len += (size_t)n;
        if (conn->in.len >= conn->in_need)
            resume(conn);
    } else if (n > 0) {
        size_t used = process(conn, loop->in, (size_t)n);
        if (used < (size_t)n)
            buffer_append(&conn->in, loop->in + used, (size_t)n - used);
        conn->dead = conn->dead || conn->in.failed;
    }
    end_turn(conn);
}

/* --- Completions and time --- */

static struct request *line_pop(struct conn *conn)
{
    struct request *request = conn->line;
    conn->line = request->next;
    if (conn->line == NULL)
        conn->line_tail = &conn->line;
    conn->session.pending--;
    conn->line_bytes -= request->bytes;
    return request;
}

static void append_after(struct conn *conn, struct request *request)
{
    struct buffer *out = conn_out(conn);
    buffer_append(out, request->after.data, request->after.len);
    out->failed = out->failed || request->after.failed;
    conn->after_bytes -= request->after.capacity;
    buffer_finish(&request->after);
}

/* May the next reply of the line be written, as far as memory is concerned? Completed requests hold
 * far less than their replies. */
static bool can_write(struct conn *conn)
{
    size_t most = (size_t)conn_config(conn)->limits.output_bytes;
    size_t len = conn_out(conn)->len;
    if (len >= LOOP_READ_BYTES || len >= most)
        conn_send(conn);
    return !conn->dead && conn_out(conn)->len < most;
}

void conn_deliver(struct conn *conn)
{
    while (has_completed(conn) && can_write(conn)) {
        struct request *request = line_pop(conn);
        conn->protocol->write(conn, request, conn_out(conn));
        count_time(conn, request->command, request->read_us, request->replies);
        append_after(conn, request);
        request->kind->destroy(request);
    }
    if (!conn->dead && conn->held)
        resume(conn);
    end_turn(conn);
}

static void write_cb(evutil_socket_t fd, short what, void *context)
{
    struct conn *conn = context;
    conn->loop->now = clock_read();
    conn_send(conn);
    conn_deliver(conn);
}

/* Take a request out of flight; it is freed now, or when it completes. */
static enum error_word give_up(struct conn *conn, struct request *request)
{
    if (request->by_time)
        loop_unpark(conn->loop, request);
    enum request_cancel cancelled =
        request->completed ? REQUEST_TAKEN_BACK : request->kind->cancel(request);
    enum error_word word =
        cancelled == REQUEST_TAKEN_BACK || request->reads ? ERROR_TRYAGAIN : ERROR_UNCERTAIN;
    if (cancelled == REQUEST_TAKEN_BACK)
        request->kind->destroy(request);
    else
        request->session = NULL;
    return word;
}

void conn_expire(struct conn *conn)
{
    bool expired = false;
    while (conn->line != NULL && !conn->line->completed &&
           conn->line->deadline_ms <= conn->loop->now.boot_ms && can_write(conn)) {
        struct request *request = line_pop(conn);
        count_time(conn, request->command, request->read_us, request->replies);
        uint32_t replies = request->replies;
        struct buffer after = request->after;
        buffer_init(&request->after, 0);
        enum error_word word = give_up(conn, request);
        struct buffer *out = conn_out(conn);
        conn->protocol->write_late(
            conn, replies, word,
            word == ERROR_TRYAGAIN ? OUTCOME_LATE_TRYAGAIN : OUTCOME_LATE_UNCERTAIN, out);
        buffer_append(out, after.data, after.len);
        conn->after_bytes -= after.capacity;
        buffer_finish(&after);
        expired = true;
    }
    if (expired)
        conn_deliver(conn);
}

/* Does the client take what it was sent? What the kernel still holds of it says so: a socket that
 * takes more from us tells only now and then, since its buffer is large. (Of a Unix socket it holds
 * all that was not read, and counts its own use of memory: there only a change tells something.) */
static void look_at_client(struct conn *conn)
{
    int64_t now_ms = conn->loop->now.boot_ms;
    int held = 0;
    if (conn->taken == conn->sent && conn->out.len == 0)
        return;
    if (ioctl(conn->fd, SIOCOUTQ, &held) < 0)
        held = 0;
    int64_t taken = conn->sent - held;
    bool moves = taken > conn->taken;
    if (moves)
        conn->active_ms = now_ms;
    if (conn->out.len == 0 && (held == 0 || !conn->streams))
        conn->stalled_ms = 0;
    else if (moves || conn->stalled_ms == 0)
        conn->stalled_ms = now_ms;
    conn->taken = taken;
}

void conn_sweep(struct conn *conn)
{
    const struct config *config = conn_config(conn);
    int64_t now_ms = conn->loop->now.boot_ms;
    const char *why = NULL;
    if (conn->linger_ms != 0) {
        if (now_ms - conn->linger_ms >= LINGER_MS)
            conn_destroy(conn);
        return;
    }
    look_at_client(conn);
    if (conn->stalled_ms != 0 && now_ms - conn->stalled_ms >= config->limits.write_ms)
        why = "reads none of its replies (limits.write)";
    else
        why = conn->protocol->sweep(conn, config);
    if (why == NULL) {
        if (conn->closing || conn->loop->out.len > 0 || conn->loop->out.failed)
            end_turn(conn);
        return;
    }
    log_line(LOG_INFO, "connection %" PRIu64 " from %s %s; closed", conn->session.id, conn->address,
             why);
    conn_destroy(conn);
}

void conn_drain(struct conn *conn)
{
    end_turn(conn);
}

/* --- Life --- */

struct conn *conn_open(struct loop *loop, int fd, const char *address,
                       const struct protocol *protocol)
{
    struct conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL) {
        close(fd);
        atomic_fetch_sub(&loop->server->connections, 1);
        return NULL;
    }
    conn->loop = loop;
    conn->protocol = protocol;
    conn->fd = fd;
    conn->line_tail = &conn->line;
    conn->opened_ms = conn->active_ms = loop->now.boot_ms;
    snprintf(conn->address, sizeof conn->address, "%s", address);
    buffer_init(&conn->in, 0);
    buffer_init(&conn->out, 0);
    session_init(&conn->session, loop->server->dispatch, &loop->host, 0);
    event_assign(&conn->read_event, loop->base, fd, EV_READ | EV_PERSIST, read_cb, conn);
    event_assign(&conn->write_event, loop->base, fd, EV_WRITE | EV_PERSIST, write_cb, conn);
    conn->next = loop->conns;
    if (loop->conns != NULL)
        loop->conns->prev = conn;
    loop->conns = conn;
    server_register(loop->server, conn);
    log_line(LOG_DEBUG, "connection %" PRIu64 " from %s", conn->session.id, conn->address);
    set_reading(conn, true);
    if (conn->dead) {
        conn_destroy(conn);
        return NULL;
    }
    return conn;
}

void conn_destroy(struct conn *conn)
{
    struct loop *loop = conn->loop;
    server_unregister(loop->server, conn);
    set_reading(conn, false);
    set_writing(conn, false);
    set_waits(conn, false);
    /* What is only gathered can not be taken back. */
    if (conn->line != NULL)
        store_worker_submit_batch(loop->server->dispatch->worker, &loop->host.batch);
    while (conn->line != NULL) {
        struct request *request = line_pop(conn);
        buffer_finish(&request->after);
        (void)give_up(conn, request);
    }
    if (conn->next != NULL)
        conn->next->prev = conn->prev;
    if (conn->prev != NULL)
        conn->prev->next = conn->next;
    else
        loop->conns = conn->next;
    atomic_fetch_sub(&loop->server->buffer_bytes, conn->counted);
    if (conn->protocol->destroy != NULL)
        conn->protocol->destroy(conn);
    buffer_finish(&conn->in);
    buffer_finish(&conn->out);
    session_finish(&conn->session);
    loop_bury_soon(loop, conn);
    loop_end_if_done(loop);
}

void conn_bury(struct conn *conn)
{
    close(conn->fd);
    free(conn);
}
