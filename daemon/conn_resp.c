/* The line protocol on a connection: RESP commands, one after the other. */
#include <inttypes.h>

#include "config.h"
#include "conn.h"
#include "limit.h"
#include "log.h"
#include "metrics.h"
#include "server.h"

static void protocol_error(struct conn *conn, const char *why)
{
    struct buffer *sink = conn_sink(conn);
    size_t before = sink->capacity;
    resp_write_error(sink, ERROR_ERR, "%s", why);
    metrics_error(&conn->loop->metrics, ERROR_ERR, 1);
    conn_count_sink(conn, sink->capacity - before);
    conn->closing = true;
}

/* What a command asks of its connection. */
static void follow(struct conn *conn, enum dispatch_status outcome)
{
    switch (outcome) {
    case DISPATCH_REPLAY:
        conn->session.replaying = true;
        conn->replay_at = 0;
        break;
    case DISPATCH_CLOSE:
        conn->closing = true;
        break;
    case DISPATCH_DROP:
        log_line(LOG_WARNING,
                 "connection %" PRIu64 " from %s: speaks HTTP to the line protocol's port, as a "
                 "browser that was tricked; closed",
                 conn->session.id, conn->address);
        conn->dead = true;
        break;
    case DISPATCH_WAITS:
    case DISPATCH_REPLIED:
    case DISPATCH_LATER:
        break;
    }
}

static size_t carry_out(struct conn *conn, const char *data, size_t len)
{
    struct server *server = conn->loop->server;
    struct resp_arg args[LIMIT_ARGS];
    size_t argc, used;
    const char *why;
    const struct resp_limits *limits =
        conn->session.authenticated ? &server->limits : &server->open_limits;
    int status = resp_read_command(data, len, limits, args, &argc, &used, &why);
    if (status == RESP_MORE) {
        conn->in_need = used;
        return 0;
    }
    if (status == RESP_BAD) {
        protocol_error(conn, why);
        return 0;
    }
    if (argc == 0)
        return used;
    struct buffer *sink = conn_sink(conn);
    bool behind = conn->line != NULL;
    size_t before = sink->capacity;
    struct call call = {.dispatch = server->dispatch,
                        .session = &conn->session,
                        .args = args,
                        .argc = argc,
                        .raw = data,
                        .raw_len = used,
                        .rest_len = len - used,
                        .out = sink};
    enum dispatch_status outcome = conn_call(conn, &call);
    if (behind)
        conn_count_sink(conn, sink->capacity - before);
    if (outcome == DISPATCH_LATER)
        return 0;
    follow(conn, outcome);
    if (sink->failed)
        conn->dead = true;
    return used * call.repeat;
}

static void write_reply(struct conn *conn, struct request *request, struct buffer *out)
{
    request->kind->write(request, out, conn->session.resp3);
}

static void write_late(struct conn *conn, uint32_t replies, enum error_word word, const char *text,
                       struct buffer *out)
{
    for (uint32_t i = 0; i < replies; i++)
        resp_write_error(out, word, "%s", text);
    metrics_error(&conn->loop->metrics, word, replies);
}

static const char *sweep(struct conn *conn, const struct config *config)
{
    int64_t now_ms = conn->loop->now.boot_ms;
    if (!conn->session.authenticated && now_ms - conn->opened_ms >= config->limits.open_ms)
        return "has not authenticated (limits.open)";
    if (config->limits.idle_ms > 0 && conn->line == NULL && conn->out.len == 0 &&
        now_ms - conn->active_ms >= config->limits.idle_ms)
        return "is idle (limits.idle)";
    return NULL;
}

const struct protocol conn_resp = {.carry_out = carry_out,
                                   .write = write_reply,
                                   .write_late = write_late,
                                   .sweep = sweep,
                                   .refusal = "-ERR max number of clients reached\r\n"};
