#include "http.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "conn.h"
#include "document.h"
#include "health.h"
#include "http_guard.h"
#include "json_write.h"
#include "log.h"
#include "metrics.h"
#include "page_policy.h"
#include "rates.h"
#include "server.h"

/* A reader of events that has left so much unread is dropped. */
#define EVENTS_UNREAD_BYTES 8192
/* A connection that is idle keeps so much for its next reply. */
#define REPLY_KEPT_BYTES 1024

/* --- Answers --- */

static void put(struct buffer *out, const char *text)
{
    buffer_append(out, text, strlen(text));
}

static void put_header(struct buffer *out, const char *name, const char *value)
{
    put(out, name);
    put(out, ": ");
    put(out, value);
    put(out, "\r\n");
}

/* Made anew once a second (RFC 9110, 5.6.7). */
static void put_date(struct buffer *out, struct loop *loop)
{
    time_t second = (time_t)(loop->now.real_ms / 1000);
    if (loop->date_s != second) {
        struct tm parts;
        gmtime_r(&second, &parts);
        strftime(loop->date, sizeof loop->date, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
        loop->date_s = second;
    }
    put(out, loop->date);
}

static void put_head(struct conn *conn, const struct http_response *response, struct buffer *out)
{
    const struct http *http = conn->http;
    char line[64];
    int len = snprintf(line, sizeof line, "HTTP/1.1 %d ", response->status);
    buffer_append(out, line, (size_t)len);
    put(out, http_status_title(response->status));
    put(out, "\r\n");
    put_date(out, conn->loop);
    if (response->content_type != NULL)
        put_header(out, "Content-Type", response->content_type);
    if (response->allow != NULL)
        put_header(out, "Allow", response->allow);
    if (response->etag[0] != '\0')
        put_header(out, "ETag", response->etag);
    if (response->location[0] != '\0')
        put_header(out, "Location", response->location);
    if (response->retry_after_s > 0) {
        len = snprintf(line, sizeof line, "Retry-After: %d\r\n", response->retry_after_s);
        buffer_append(out, line, (size_t)len);
    }
    if (response->status == 401) {
        put(out, "WWW-Authenticate: Bearer realm=\"idmint\"\r\n");
        put(out, "WWW-Authenticate: Basic realm=\"idmint\", charset=\"UTF-8\"\r\n");
    }
    /* What has a tag, or is the same until the daemon is replaced, may be kept, and is asked after.
     */
    put_header(out, "Cache-Control",
               response->no_store && response->etag[0] == '\0' ? "no-store" : "no-cache");
    put(out, "X-Content-Type-Options: nosniff\r\n");
    if (response->more_head != NULL)
        put(out, response->more_head);
    if (http->shared_with[0] != '\0') {
        put_header(out, "Access-Control-Allow-Origin", http->shared_with);
        put(out, "Access-Control-Expose-Headers: ETag, Location, Retry-After\r\nVary: Origin\r\n");
    }
    if (conn->closing || http->streaming)
        put(out, "Connection: close\r\n");
    else if (http->http_1_0)
        put(out, "Connection: keep-alive\r\n");
}

static void count_answer(struct conn *conn, int status)
{
    metrics_count(&conn->loop->metrics.http_requests[status / 100], 1);
    conn->http->begun_ms = 0;
    conn->http->continued = false;
}

/* An error that no command has told: those that one told are counted where it ended. */
static void count_error(struct conn *conn, const struct http_response *response)
{
    if (response->error != ERROR_NONE)
        metrics_error(&conn->loop->metrics, response->error, 1);
}

/* The whole answer goes to `out`. The connection closes behind it unless the client keeps it. */
static void put_response(struct conn *conn, const struct http_response *response,
                         struct buffer *out)
{
    struct http *http = conn->http;
    struct http_text body = {response->body.data, response->body.len};
    if (response->fixed.data != NULL)
        body = response->fixed;
    if (response->body.failed)
        out->failed = true;
    conn->closing = conn->closing || !http->keep_alive || conn->loop->stopping;
    put_head(conn, response, out);
    /* RFC 9110, 8.6: none of these has a body. */
    if (response->status != 204 && response->status != 304) {
        char line[48];
        int len = snprintf(line, sizeof line, "Content-Length: %zu\r\n", body.len);
        buffer_append(out, line, (size_t)len);
    } else {
        body.len = 0;
    }
    put(out, "\r\n");
    if (!http->head_only)
        buffer_append(out, body.data, body.len);
    else
        conn->loop->sent += body.len; /* it was work all the same: turns are bounded by bytes */
    count_answer(conn, response->status);
}

/* A request that can not be carried out, nor read past. */
static void refuse(struct conn *conn, int status, const char *why)
{
    struct http_response response;
    http_response_init(&response);
    http_problem(&response, status, ERROR_NONE, why, strlen(why));
    conn->http->keep_alive = false;
    put_response(conn, &response, conn_sink(conn));
    http_response_finish(&response);
}

/* Room for a command's reply; also after one that found no memory. */
static struct buffer *fresh_reply(struct http *http)
{
    http->reply.len = 0;
    http->reply.failed = false;
    return &http->reply;
}

/* The reply in http->reply, by the plan. */
static void put_reply(struct conn *conn, struct buffer *out)
{
    struct http *http = conn->http;
    struct http_response response;
    http_response_init(&response);
    http_answer(&http->plan, http->reply.data, http->reply.len, &response);
    response.body.failed = response.body.failed || http->reply.failed;
    put_response(conn, &response, out);
    http_response_finish(&response);
    if (http->reply.capacity > REPLY_KEPT_BYTES)
        buffer_finish(&http->reply);
}

/* --- Events --- */

static void put_events(struct conn *conn)
{
    struct http *http = conn->http;
    uint64_t before = http->last_event;
    struct buffer *out = conn_sink(conn);
    rates_events(conn->loop->server->rates, &http->last_event, out);
    if (http->last_event == before)
        put(out, ": nothing new\n\n"); /* a heartbeat: who is gone is found out */
}

/* The number in Last-Event-ID; 0: none, or none that was ever told. */
static uint64_t last_event(const struct http_request *request)
{
    int64_t last = 0;
    if (request->last_event_id.data != NULL &&
        (!resp_parse_integer(request->last_event_id.data, request->last_event_id.len, &last) ||
         last < 0))
        last = 0;
    return (uint64_t)last;
}

/* An answer without an end, and without a length: it ends with the connection. */
static void start_events(struct conn *conn, const struct http_request *request)
{
    struct http *http = conn->http;
    struct buffer *out = conn_sink(conn);
    struct http_response response;
    http_response_init(&response);
    response.status = 200;
    response.content_type = "text/event-stream";
    response.no_store = true;
    response.more_head = "X-Accel-Buffering: no\r\n"; /* for proxies that gather answers */
    http->streaming = !http->head_only;
    conn->closing = http->head_only;
    put_head(conn, &response, out);
    put(out, "\r\n");
    count_answer(conn, response.status);
    if (!http->streaming)
        return;
    conn->streams = true;
    http->last_event = last_event(request);
    put(out, "retry: 2000\n\n");
    put_events(conn);
}

/* --- Pages --- */

static void answer_health(struct conn *conn, enum http_page page, struct http_response *response)
{
    static bool (*const looks[])(const struct dispatch *, struct clock_now, struct buffer *) = {
        [HTTP_PAGE_HEALTHZ] = health_alive,
        [HTTP_PAGE_READYZ] = health_ready,
        [HTTP_PAGE_LEADERZ] = health_leads,
    };
    bool well = looks[page](conn->loop->server->dispatch, conn->loop->now, &response->body);
    response->status = well ? 200 : 503;
    response->retry_after_s = well ? 0 : 1;
    response->content_type = "application/json";
    response->no_store = true;
}

static void answer_warnings(struct http_response *response)
{
    struct log_event events[LOG_KEPT];
    struct json json = {&response->body, false};
    size_t count = log_recent(events);
    json_open(&json, '{');
    json_put_key(&json, "warnings");
    json_open(&json, '[');
    for (size_t i = 0; i < count; i++) {
        json_open(&json, '{');
        json_put_key(&json, "time");
        json_put_integer(&json, events[i].real_ms);
        json_put_key(&json, "level");
        json_put_text(&json, events[i].level == LOG_ERROR ? "error" : "warning");
        json_put_key(&json, "text");
        json_put_text(&json, events[i].text);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

static void answer_page(struct conn *conn, enum http_page page, struct http_response *response)
{
    response->status = 200;
    switch (page) {
    case HTTP_PAGE_METRICS:
        metrics_write(conn->loop->server->dispatch, conn->loop->now, &response->body);
        response->content_type = "text/plain; version=0.0.4; charset=utf-8";
        response->no_store = true;
        break;
    case HTTP_PAGE_STATUS:
        response->fixed = document_page;
        response->more_head = "Content-Security-Policy: " PAGE_POLICY "\r\n"
                              "X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n";
        response->content_type = "text/html; charset=utf-8";
        break;
    case HTTP_PAGE_OPENAPI:
        response->fixed = document_openapi;
        response->content_type = "application/yaml";
        break;
    case HTTP_PAGE_WARNINGS:
        answer_warnings(response);
        response->content_type = "application/json";
        response->no_store = true;
        break;
    case HTTP_PAGE_HEALTHZ:
    case HTTP_PAGE_READYZ:
    case HTTP_PAGE_LEADERZ:
        answer_health(conn, page, response);
        break;
    case HTTP_PAGE_EVENTS: /* start_events */
        break;
    }
}

/* --- Requests --- */

/* May a page of a listed site ask what it is about to ask? (A preflight request.) */
static void answer_preflight(struct conn *conn)
{
    struct http_response response;
    http_response_init(&response);
    response.status = 204;
    response.more_head =
        "Access-Control-Allow-Methods: GET, HEAD, POST, PUT, PATCH, DELETE\r\n"
        "Access-Control-Allow-Headers: Authorization, Content-Type, If-None-Match\r\n"
        "Access-Control-Max-Age: 600\r\n";
    put_response(conn, &response, conn_sink(conn));
    http_response_finish(&response);
}

static void call_command(struct conn *conn)
{
    struct http *http = conn->http;
    struct call call = {.dispatch = conn->loop->server->dispatch,
                        .session = &conn->session,
                        .args = http->plan.args,
                        .argc = http->plan.argc,
                        .out = fresh_reply(http)};
    switch (conn_call(conn, &call)) {
    case DISPATCH_REPLIED:
        put_reply(conn, conn_sink(conn));
        break;
    case DISPATCH_WAITS:
        break;
    case DISPATCH_LATER:
    case DISPATCH_REPLAY:
    case DISPATCH_CLOSE:
    case DISPATCH_DROP:
        /* No route leads to a command that asks for this. */
        refuse(conn, 500, "the command asks of its connection what HTTP has not");
        break;
    }
}

static void carry_out_request(struct conn *conn, const struct http_request *request)
{
    struct http *http = conn->http;
    struct http_response response;
    http_response_init(&response);
    http_plan(request, &http->plan, &response);
    http->head_only = http->plan.head_only;
    if (http->plan.kind == HTTP_PLAN_COMMAND) {
        call_command(conn);
    } else if (http->plan.kind == HTTP_PLAN_PAGE && http->plan.page == HTTP_PAGE_EVENTS) {
        start_events(conn, request);
    } else {
        if (http->plan.kind == HTTP_PLAN_PAGE)
            answer_page(conn, http->plan.page, &response);
        count_error(conn, &response);
        put_response(conn, &response, conn_sink(conn));
    }
    http_response_finish(&response);
}

/* By the head alone; where it may not be, the body is not waited for. */
static bool is_let_in(struct conn *conn, const struct http_request *request, bool whole)
{
    struct http *http = conn->http;
    struct http_response response;
    http_response_init(&response);
    http->shared_with[0] = '\0';
    if (http_guard_shares(request, conn_config(conn)) &&
        request->origin.len < sizeof http->shared_with) {
        memcpy(http->shared_with, request->origin.data, request->origin.len);
        http->shared_with[request->origin.len] = '\0';
    }
    bool in = http_guard(request, conn_config(conn), conn->loop->server->dispatch->auth, &response);
    if (!in) {
        count_error(conn, &response);
        http->head_only = request->method == HTTP_METHOD_HEAD;
        http->keep_alive = http->keep_alive && whole;
        put_response(conn, &response, conn_sink(conn));
    }
    http->let_in = http->let_in || in;
    http_response_finish(&response);
    return in;
}

/* The rest of the request is still on its way. */
static void wait_for_more(struct conn *conn, const char *data, size_t len,
                          const struct http_request *request, size_t head, size_t need)
{
    struct http *http = conn->http;
    /* An empty line that some clients send behind a body (RFC 9112, 2.2) begins nothing. */
    if (http->begun_ms == 0 && (len > 2 || data[0] != '\r'))
        http->begun_ms = conn->loop->now.boot_ms;
    if (head > 0 && !is_let_in(conn, request, false))
        return;
    conn->in_need = need;
    if (head > 0 && request->expects_continue && !request->http_1_0 && !http->continued) {
        http->continued = true;
        put(conn_sink(conn), "HTTP/1.1 100 Continue\r\n\r\n");
    }
}

static bool has_state(struct conn *conn)
{
    if (conn->http == NULL) {
        conn->http = calloc(1, sizeof *conn->http);
        if (conn->http == NULL)
            conn->dead = true;
        /* Who asks is looked at request by request. */
        conn->session.authenticated = true;
        conn->session.resp3 = true;
    }
    return conn->http != NULL;
}

static size_t carry_out(struct conn *conn, const char *data, size_t len)
{
    if (!has_state(conn))
        return 0;
    struct http *http = conn->http;
    if (conn->line != NULL) {
        conn->held = true;
        return 0;
    }
    if (http->streaming)
        return len; /* an event stream is asked nothing more */
    const struct http_limits limits = {.head_bytes = LIMIT_HTTP_HEAD_BYTES,
                                       .target_bytes = LIMIT_HTTP_TARGET_BYTES,
                                       .headers = LIMIT_HTTP_HEADERS,
                                       .body_bytes = (size_t)conn_config(conn)->http.body_bytes};
    struct http_request request = {0};
    struct buffer decoded;
    size_t used = 0, head = 0;
    int bad_status = 400;
    const char *why = "";
    buffer_init(&decoded, 0);
    int status =
        http_read_request(data, len, &limits, &decoded, &request, &used, &head, &bad_status, &why);
    if (status == HTTP_OK)
        http->begun_ms = 0;
    http->head_only = false;
    http->http_1_0 = status != HTTP_BAD && request.http_1_0;
    http->keep_alive = status != HTTP_BAD && request.keep_alive;
    if (status == HTTP_BAD) {
        http->shared_with[0] = '\0';
        refuse(conn, bad_status, why);
        used = 0;
    } else if (status == HTTP_MORE) {
        wait_for_more(conn, data, len, &request, head, used);
        used = 0;
    } else if (is_let_in(conn, &request, true)) {
        if (request.method == HTTP_METHOD_OPTIONS && http->shared_with[0] != '\0')
            answer_preflight(conn);
        else
            carry_out_request(conn, &request);
    }
    buffer_finish(&decoded);
    return used;
}

static void write_reply(struct conn *conn, struct request *request, struct buffer *out)
{
    request->kind->write(request, fresh_reply(conn->http), true);
    put_reply(conn, out);
}

static void write_late(struct conn *conn, uint32_t replies, enum error_word word, const char *text,
                       struct buffer *out)
{
    resp_write_error(fresh_reply(conn->http), word, "%s", text);
    metrics_error(&conn->loop->metrics, word, replies);
    put_reply(conn, out);
}

static const char *sweep(struct conn *conn, const struct config *config)
{
    struct http *http = conn->http;
    int64_t now_ms = conn->loop->now.boot_ms;
    if (http != NULL && http->streaming) {
        if (conn->out.len > EVENTS_UNREAD_BYTES)
            return "does not read its events";
        put_events(conn);
        return NULL;
    }
    if (http != NULL && http->begun_ms != 0) {
        if (now_ms - http->begun_ms >= config->http.request_ms && !conn->closing) {
            http->head_only = false;
            refuse(conn, 408, "the request did not come in whole in time (http.request)");
        }
        return NULL;
    }
    if ((http == NULL || !http->let_in) && conn->loop->server->dispatch->auth != NULL &&
        now_ms - conn->opened_ms >= config->limits.open_ms)
        return "has not authenticated (limits.open)";
    if (conn->line == NULL && conn->out.len == 0 &&
        now_ms - conn->active_ms >= config->http.idle_ms)
        return "is idle (http.idle)";
    return NULL;
}

static void destroy(struct conn *conn)
{
    if (conn->http == NULL)
        return;
    buffer_finish(&conn->http->reply);
    free(conn->http);
    conn->http = NULL;
}

#define REFUSAL_BODY                                                                               \
    "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,"                  \
    "\"detail\":\"as many connections as there may be (limits.connections)\"}"
_Static_assert(sizeof REFUSAL_BODY - 1 == 133, "as Content-Length says");

const struct protocol conn_http = {
    .carry_out = carry_out,
    .write = write_reply,
    .write_late = write_late,
    .sweep = sweep,
    .destroy = destroy,
    .refusal = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"
               "Content-Length: 133\r\nRetry-After: 1\r\nConnection: close\r\n\r\n" REFUSAL_BODY,
    .lingers = true};
