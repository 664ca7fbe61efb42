#include "connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "reply.h"
#include "resp.h"

#define READ_MOST_BYTES (256 * 1024)

static bool again(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

void connection_close(struct idmint *handle, bool drop, const char *why)
{
    if (handle->fd >= 0) {
        close(handle->fd);
    }
    handle->fd = -1;
    handle->state = CONNECTION_CLOSED;
    handle->moving = false;
    handle->out_sent = 0;
    failure_set(&handle->lost, IDMINT_UNKNOWN, "%s", why);
    if (drop) {
        handle->in.len = 0;
        handle->in_start = 0;
        reply_reset(handle);
    }
}

/* No address is left to try: everything queued ends as the last one failed. */
static void give_up(struct idmint *handle)
{
    if (handle->doom.outcome == IDMINT_OK) {
        failure_set(&handle->doom, IDMINT_NOT_DONE, "%s", handle->lost.why);
    }
    handle->doomed = handle->queue_count;
}

/* Take the next address. False: there is none, or its name has no place to connect to. */
static bool next_address(struct idmint *handle)
{
    const char *why = "";
    char text[ADDRESS_HOST_BYTES + 16];

    if (handle->leader_known) {
        handle->leader_known = false;
        handle->target = handle->leader;
    } else {
        handle->target = handle->addresses[handle->address_at];
        handle->address_at = (handle->address_at + 1) % handle->address_count;
    }
    handle->attempts_left--;
    handle->endpoint_at = 0;
    handle->endpoint_count = address_resolve(&handle->target, handle->endpoints, &why);
    if (handle->endpoint_count == 0) {
        address_text(&handle->target, text, sizeof(text));
        failure_set(&handle->doom, IDMINT_NOT_DONE, "can not connect to %s: %s", text, why);
    }
    return handle->endpoint_count > 0;
}

static void attempt_failed(struct idmint *handle, const char *what, int error)
{
    char text[ADDRESS_HOST_BYTES + 16], reason[128];

    address_text(&handle->target, text, sizeof(text));
    failure_set(&handle->doom, IDMINT_NOT_DONE, "can not connect to %s: %s%s", text, what,
                error ? strerror_r(error, reason, sizeof(reason)) : "");
    connection_close(handle, true, handle->doom.why);
}

/* Connected: the greeting names the protocol and carries the credential. Requests wait for its
 * reply, so that nothing is sent to what is no idmintd or refuses us. */
static void greet(struct idmint *handle)
{
    struct resp_arg args[5] = {{"HELLO", 5}, {"2", 1}};
    size_t argc = 2;
    const int on = 1;

    if (!handle->target.local) {
        /* Failure costs only delay. */
        (void)setsockopt(handle->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    if (handle->password) {
        const char *user = handle->user ? handle->user : "default";

        args[argc++] = (struct resp_arg){"AUTH", 4};
        args[argc++] = (struct resp_arg){user, strlen(user)};
        args[argc++] = (struct resp_arg){handle->password, strlen(handle->password)};
    }
    handle->hello.len = 0;
    handle->hello.failed = false;
    resp_write_command(&handle->hello, args, argc);
    if (handle->hello.failed) {
        attempt_failed(handle, "", ENOMEM);
        return;
    }
    handle->state = CONNECTION_GREETING;
}

/* From CLOSED: begin a connection to the next place. */
static bool begin(struct idmint *handle)
{
    const struct address_endpoint *endpoint;

    /* Requests of the old connection must be settled first: `in` still belongs to it. */
    if (handle->sent > 0 || handle->doomed > 0 || handle->queue_count == 0) {
        return false;
    }
    if (handle->endpoint_at == handle->endpoint_count) {
        if (handle->attempts_left == 0) {
            give_up(handle);
            return true;
        }
        if (!next_address(handle)) {
            return true;
        }
    }
    endpoint = &handle->endpoints[handle->endpoint_at++];
    handle->in.len = 0;
    handle->in_start = 0;
    reply_reset(handle);
    handle->connect_deadline_ms = handle_now_ms() + handle->connect_timeout_ms;
    handle->fd = socket(endpoint->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (handle->fd >= 0 &&
        connect(handle->fd, (const struct sockaddr *)&endpoint->address, endpoint->len) == 0) {
        greet(handle);
    } else if (handle->fd >= 0 && (errno == EINPROGRESS || errno == EINTR)) {
        handle->state = CONNECTION_CONNECTING;
    } else {
        attempt_failed(handle, "", errno);
    }
    return true;
}

static bool overdue(struct idmint *handle)
{
    if (handle_now_ms() < handle->connect_deadline_ms) {
        return false;
    }
    attempt_failed(handle, "timed out", 0);
    return true;
}

static bool finish_connect(struct idmint *handle)
{
    struct pollfd poll_fd = {.fd = handle->fd, .events = POLLOUT};
    int error = 0;
    socklen_t len = sizeof(error);

    if (poll(&poll_fd, 1, 0) <= 0) {
        return overdue(handle);
    }
    if (getsockopt(handle->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) {
        error = errno;
    }
    if (error) {
        attempt_failed(handle, "", error);
    } else {
        greet(handle);
    }
    return true;
}

/* One recv. False: nothing came. A lost connection is closed. */
static bool fill(struct idmint *handle)
{
    struct buffer *in = &handle->in;
    char text[128];
    ssize_t got;
    char *room;

    if (handle->in_start == in->len) {
        in->len = 0;
        handle->in_start = 0;
    } else if (handle->in_start > 0 && in->capacity - in->len < handle->read_bytes) {
        buffer_consume(in, handle->in_start);
        handle->in_start = 0;
    }
    room = buffer_reserve(in, handle->read_bytes);
    if (!room) {
        in->failed = false;
        connection_close(handle, true, "the reply does not fit into memory");
        return true;
    }
    got = recv(handle->fd, room, handle->read_bytes, 0);
    if (got > 0) {
        in->len += (size_t)got;
        handle->reply_partial = false;
        if ((size_t)got == handle->read_bytes && handle->read_bytes < READ_MOST_BYTES) {
            handle->read_bytes *= 2;
        }
        return true;
    }
    if (got < 0 && again(errno)) {
        return false;
    }
    connection_close(handle, false,
                     got == 0 ? "the server closed the connection"
                              : strerror_r(errno, text, sizeof(text)));
    return true;
}

/* Bytes are moved only when half of them are done with, so that the cost stays linear. */
void connection_drop_output(struct idmint *handle, size_t bytes)
{
    handle->out_start += bytes;
    if (handle->out_start >= handle->out.len / 2) {
        buffer_consume(&handle->out, handle->out_start);
        handle->out_start = 0;
    }
}

/* Let go of the requests whose last byte the kernel has taken. */
static void mark_sent(struct idmint *handle)
{
    size_t done = 0;

    while (handle->sent < handle->queue_count) {
        const size_t at = (handle->queue_head + handle->sent) & (handle->queue_capacity - 1);
        const size_t bytes = handle->queue[at].bytes;

        if (handle->out_sent < bytes) {
            break;
        }
        handle->out_sent -= bytes;
        done += bytes;
        handle->sent++;
    }
    connection_drop_output(handle, done);
}

static bool may_write(const struct idmint *handle)
{
    return handle->out.len > handle->out_start + handle->out_sent && !handle->moving &&
           handle->doomed == 0;
}

static bool flush(struct idmint *handle)
{
    char text[128];
    size_t from;
    ssize_t put;

    if (!may_write(handle)) {
        return false;
    }
    from = handle->out_start + handle->out_sent;
    put = send(handle->fd, handle->out.data + from, handle->out.len - from, MSG_NOSIGNAL);
    if (put >= 0) {
        handle->out_sent += (size_t)put;
        mark_sent(handle);
        return put > 0;
    }
    if (again(errno)) {
        return false;
    }
    connection_close(handle, false, strerror_r(errno, text, sizeof(text)));
    return true;
}

/* The greeting was refused: a credential is wrong everywhere, all else may be better elsewhere. */
static void greeting_refused(struct idmint *handle)
{
    const bool full = strncmp(handle->doom.why, "ERR max number of clients", 25) == 0;

    if (full) {
        handle->doom.outcome = IDMINT_NOT_DONE;
    }
    connection_close(handle, true, handle->doom.why);
    if (handle->doom.outcome == IDMINT_REFUSED) {
        give_up(handle);
    }
}

static bool send_greeting(struct idmint *handle)
{
    struct buffer *hello = &handle->hello;
    ssize_t put = send(handle->fd, hello->data, hello->len, MSG_NOSIGNAL);

    if (put >= 0) {
        buffer_consume(hello, (size_t)put);
        if (hello->len == 0 && handle->password) {
            explicit_bzero(hello->data, hello->capacity);
        }
        return true;
    }
    if (again(errno)) {
        return overdue(handle);
    }
    attempt_failed(handle, "", errno);
    return true;
}

static bool finish_greeting(struct idmint *handle)
{
    if (handle->hello.len > 0) {
        return send_greeting(handle);
    }
    switch (reply_skip(handle, &handle->doom)) {
    case RESP_OK:
        if (handle->doom.outcome == IDMINT_OK) {
            handle->state = CONNECTION_READY;
        } else {
            greeting_refused(handle);
        }
        return true;
    case RESP_MORE:
        if (!fill(handle)) {
            return overdue(handle);
        }
        if (handle->state == CONNECTION_CLOSED) {
            attempt_failed(handle, handle->lost.why, 0);
        }
        return true;
    default:
        attempt_failed(handle, "this is no RESP server", 0);
        return true;
    }
}

/* Read on unless replies wait to be taken already: what the caller does not take must not pile up.
 */
static bool may_read(const struct idmint *handle)
{
    return handle->sent > 0 &&
           (handle->reply_partial || handle->in.len - handle->in_start < READ_MOST_BYTES);
}

bool connection_step(struct idmint *handle)
{
    switch (handle->state) {
    case CONNECTION_CLOSED:
        return begin(handle);
    case CONNECTION_CONNECTING:
        return finish_connect(handle);
    case CONNECTION_GREETING:
        return finish_greeting(handle);
    case CONNECTION_READY:
        break;
    }
    if (flush(handle)) {
        return true;
    }
    return may_read(handle) && fill(handle);
}

short connection_events(const struct idmint *handle)
{
    int events = 0;

    switch (handle->state) {
    case CONNECTION_CLOSED:
        break;
    case CONNECTION_CONNECTING:
        events = POLLOUT;
        break;
    case CONNECTION_GREETING:
        events = handle->hello.len > 0 ? POLLOUT : POLLIN;
        break;
    case CONNECTION_READY:
        events = (may_read(handle) ? POLLIN : 0) | (may_write(handle) ? POLLOUT : 0);
        break;
    }
    return (short)events;
}

void connection_refresh(struct idmint *handle)
{
    char byte;

    /* A new request: every address may be tried once. */
    handle->attempts_left = handle->address_count + (handle->leader_known ? 1 : 0);
    if (handle->state == CONNECTION_CLOSED) {
        handle->endpoint_at = handle->endpoint_count;
        return;
    }
    if (handle->state == CONNECTION_READY &&
        (handle->in_start < handle->in.len ||
         recv(handle->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || !again(errno))) {
        connection_close(handle, true, "");
        handle->endpoint_at = handle->endpoint_count;
    }
}
