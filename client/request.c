#include "request.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "limit.h"
#include "reply.h"

#define QUEUE_FIRST 16

static struct request *queue_at(const struct idmint *handle, size_t index)
{
    return &handle->queue[(handle->queue_head + index) & (handle->queue_capacity - 1)];
}

static bool queue_grow(struct idmint *handle)
{
    size_t capacity = handle->queue_capacity ? handle->queue_capacity * 2 : QUEUE_FIRST;
    struct request *queue;

    if (handle->queue_count < handle->queue_capacity) {
        return true;
    }
    queue = malloc(capacity * sizeof(*queue));
    if (!queue) {
        return false;
    }
    for (size_t i = 0; i < handle->queue_count; i++) {
        queue[i] = *queue_at(handle, i);
    }
    free(handle->queue);
    handle->queue = queue;
    handle->queue_capacity = capacity;
    handle->queue_head = 0;
    return true;
}

static bool within_limits(const struct resp_arg *args, size_t argc)
{
    size_t bytes = 0;

    if (argc < 1 || argc > LIMIT_ARGS) {
        return false;
    }
    for (size_t i = 0; i < argc; i++) {
        if (args[i].len > LIMIT_BULK_BYTES) {
            return false;
        }
        bytes += args[i].len + 32; /* at most: the length's line and the line's end */
    }
    return bytes <= LIMIT_REQUEST_BYTES;
}

int request_submit(struct idmint *handle, const struct request *model, const struct resp_arg *args,
                   size_t argc)
{
    const size_t before = handle->out.len;
    struct request *request;

    if (!within_limits(args, argc)) {
        return handle_fail(handle, IDMINT_ARGUMENT, "the command is too long");
    }
    if (handle->queue_count >= IDMINT_OUTSTANDING_MAX) {
        return handle_fail(handle, IDMINT_NOT_DONE, "too many requests are outstanding");
    }
    if (!queue_grow(handle)) {
        return handle_fail(handle, IDMINT_NO_MEMORY, "no memory");
    }
    resp_write_command(&handle->out, args, argc);
    if (handle->out.failed) {
        handle->out.failed = false;
        handle->out.len = before;
        return handle_fail(handle, IDMINT_NO_MEMORY, "no memory");
    }
    if (handle->queue_count == 0) {
        connection_refresh(handle);
    }
    request = queue_at(handle, handle->queue_count);
    *request = *model;
    request->bytes = handle->out.len - before;
    request->in_array = false;
    request->got = 0;
    handle->queue_count++;
    return IDMINT_OK;
}

/* NOTLEADER HOST:PORT: the next connection goes there, when this one has answered all it was sent.
 */
static void note_leader(struct idmint *handle)
{
    const size_t word_len = sizeof("NOTLEADER") - 1;
    const char *text = handle->last.why + word_len + 1;

    if (strcmp(handle->last.word, "NOTLEADER") != 0 || handle->last.why[word_len] != ' ' ||
        !address_parse(text, strcspn(text, " "), &handle->leader) || handle->leader.local) {
        return;
    }
    handle->leader_known = true;
    handle->moving = true;
    handle->attempts_left++;
}

/* The head's last byte was sent, but its reply will not come. */
static void fail_sent(struct idmint *handle, const struct request *head,
                      struct idmint_result *result)
{
    result->outcome = head->reads ? IDMINT_NOT_DONE : IDMINT_UNKNOWN;
    failure_set(&handle->last, result->outcome, "%s", handle->lost.why);
}

static bool receive_sent(struct idmint *handle, struct request *head, struct idmint_result *result)
{
    switch (reply_take(handle, head, result)) {
    case RESP_OK:
        handle->attempts_left = handle->address_count;
        note_leader(handle);
        return true;
    case RESP_MORE:
        if (handle->state != CONNECTION_CLOSED) {
            if (handle_now_ms() < head->deadline_ms) {
                return false;
            }
            connection_close(handle, true, "timed out waiting for the reply");
        }
        break;
    default:
        connection_close(handle, true, "the reply makes no sense; the connection was closed");
        break;
    }
    fail_sent(handle, head, result);
    return true;
}

static bool receive_unsent(struct idmint *handle, struct request *head,
                           struct idmint_result *result)
{
    if (handle->doomed > 0) {
        handle->doomed--;
        handle->last = handle->doom;
        result->outcome = handle->last.outcome;
    } else if (handle_now_ms() < head->deadline_ms) {
        return false;
    } else {
        /* A part of it may be under way: that stream is of no use any more. */
        if (handle->state != CONNECTION_READY || handle->out_sent > 0) {
            connection_close(handle, true, "timed out");
        }
        result->outcome = IDMINT_NOT_DONE;
        failure_set(&handle->last, result->outcome, "timed out before the request was sent");
    }
    connection_drop_output(handle, head->bytes);
    return true;
}

bool request_receive(struct idmint *handle, struct idmint_result *result)
{
    struct request *head;
    struct idmint_result ended = {0};

    if (handle->queue_count == 0) {
        return false;
    }
    head = queue_at(handle, 0);
    ended.token = head->token;
    failure_set(&handle->last, IDMINT_OK, "%s", "");
    if (handle->sent > 0) {
        if (!receive_sent(handle, head, &ended)) {
            return false;
        }
        handle->sent--;
    } else if (!receive_unsent(handle, head, &ended)) {
        return false;
    }
    if (head->kind == REQUEST_OIDS) {
        ended.count = head->got;
    }
    handle->queue_head = (handle->queue_head + 1) & (handle->queue_capacity - 1);
    handle->queue_count--;
    if (handle->moving && handle->sent == 0) {
        connection_close(handle, false, "");
        handle->endpoint_at = handle->endpoint_count;
    }
    *result = ended;
    return true;
}

int request_wait_ms(const struct idmint *handle)
{
    int64_t due, now;

    if (handle->queue_count == 0) {
        return -1;
    }
    if (handle->doomed > 0 || (handle->state == CONNECTION_CLOSED && handle->sent > 0)) {
        return 0;
    }
    due = queue_at(handle, 0)->deadline_ms;
    if ((handle->state == CONNECTION_CONNECTING || handle->state == CONNECTION_GREETING) &&
        handle->connect_deadline_ms < due) {
        due = handle->connect_deadline_ms;
    }
    now = handle_now_ms();
    if (due <= now) {
        return 0;
    }
    return (int)(due - now); /* timeouts are an hour at most */
}

int request_wait(struct idmint *handle, struct idmint_result *result)
{
    while (!request_receive(handle, result)) {
        if (!connection_step(handle)) {
            struct pollfd poll_fd = {.fd = handle->fd, .events = connection_events(handle)};

            /* Whatever it returns, the next turn looks for itself. */
            (void)poll(&poll_fd, 1, request_wait_ms(handle));
        }
    }
    return result->outcome;
}

void request_forget(struct idmint *handle)
{
    connection_close(handle, true, "");
    handle->out.len = 0;
    handle->out_start = 0;
    handle->queue_count = 0;
    handle->sent = 0;
    handle->doomed = 0;
}
