#include "http_api.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "http_route.h"

#define PAGE(what) .page = HTTP_PAGE_##what
#define READ "GET, HEAD"
#define COUNTER_ALLOW "GET, HEAD, PUT, PATCH, DELETE"

/* The first path that fits counts; those in a hurry come first. */
static const struct http_route routes[] = {
    {.method = HTTP_METHOD_POST,
     .path = "/v1/counters/{name}/next",
     .allow = "POST",
     .fields = http_fields_count,
     .plan = http_plan_next,
     .answer = http_answer_next},
    {.method = HTTP_METHOD_POST,
     .path = "/v1/oids",
     .allow = "GET, HEAD, POST",
     .fields = http_fields_oids,
     .plan = http_plan_oids,
     .answer = http_answer_oids},
    {.method = HTTP_METHOD_GET,
     .path = "/v1/oids",
     .allow = "GET, HEAD, POST",
     .in_query = true,
     .fields = http_fields_oid_at,
     .plan = http_plan_oid_at,
     .answer = http_answer_oid},
    {.method = HTTP_METHOD_POST,
     .path = "/v1/next",
     .allow = "POST",
     .fields = http_fields_next_named,
     .plan = http_plan_next_named,
     .answer = http_answer_next},
    {.method = HTTP_METHOD_GET,
     .path = "/v1/oids/{id}",
     .allow = READ,
     .plan = http_plan_oid_decode,
     .answer = http_answer_oid_decoded},
    {.method = HTTP_METHOD_GET,
     .path = "/v1/counters/{name}",
     .allow = COUNTER_ALLOW,
     .plan = http_plan_counter,
     .answer = http_answer_counter},
    {.method = HTTP_METHOD_PUT,
     .path = "/v1/counters/{name}",
     .allow = COUNTER_ALLOW,
     .fields = http_fields_create,
     .plan = http_plan_counter_create,
     .is_done = http_is_created,
     .answer = http_answer_created},
    {.method = HTTP_METHOD_PATCH,
     .path = "/v1/counters/{name}",
     .allow = COUNTER_ALLOW,
     .fields = http_fields_move,
     .plan = http_plan_counter_move,
     .answer = http_answer_moved},
    {.method = HTTP_METHOD_DELETE,
     .path = "/v1/counters/{name}",
     .allow = COUNTER_ALLOW,
     .in_query = true,
     .fields = http_fields_drop,
     .plan = http_plan_counter_drop,
     .answer = http_answer_dropped},
    {.method = HTTP_METHOD_GET,
     .path = "/v1/counters",
     .allow = READ,
     .in_query = true,
     .fields = http_fields_counters,
     .plan = http_plan_counters,
     .answer = http_answer_counters},
    {.method = HTTP_METHOD_POST,
     .path = "/v1/uuids",
     .allow = "POST",
     .fields = http_fields_uuids,
     .plan = http_plan_uuids,
     .answer = http_answer_uuids},
    {.method = HTTP_METHOD_GET,
     .path = "/v1/info",
     .allow = READ,
     .plan = http_plan_info,
     .answer = http_answer_info},
    {.method = HTTP_METHOD_GET, .path = "/v1/events", .allow = READ, PAGE(EVENTS)},
    {.method = HTTP_METHOD_GET, .path = "/v1/warnings", .allow = READ, PAGE(WARNINGS)},
    {.method = HTTP_METHOD_GET, .path = "/healthz", .allow = READ, PAGE(HEALTHZ)},
    {.method = HTTP_METHOD_GET, .path = "/readyz", .allow = READ, PAGE(READYZ)},
    {.method = HTTP_METHOD_GET, .path = "/leaderz", .allow = READ, PAGE(LEADERZ)},
    {.method = HTTP_METHOD_GET, .path = "/metrics", .allow = READ, PAGE(METRICS)},
    {.method = HTTP_METHOD_GET, .path = "/openapi.yaml", .allow = READ, PAGE(OPENAPI)},
    {.method = HTTP_METHOD_GET, .path = "/", .allow = READ, PAGE(STATUS)},
};
#define ROUTES (sizeof routes / sizeof routes[0])

const char *http_path_at(size_t index, const char **allow)
{
    for (size_t i = 0; i < ROUTES; i++) {
        if (i > 0 && strcmp(routes[i].path, routes[i - 1].path) == 0)
            continue;
        *allow = routes[i].allow;
        if (index-- == 0)
            return routes[i].path;
    }
    return NULL;
}

/* --- Responses --- */

void http_response_init(struct http_response *response)
{
    *response = (struct http_response){.status = 0};
    buffer_init(&response->body, 0);
}

void http_response_finish(struct http_response *response)
{
    buffer_finish(&response->body);
}

bool http_refuse(struct http_response *response, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    int len = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (len >= (int)sizeof text)
        len = sizeof text - 1;
    http_problem(response, 0, ERROR_ERR, text, (size_t)len);
    return false;
}

static void fail(struct http_response *response, int status, const char *detail)
{
    http_problem(response, status, ERROR_NONE, detail, strlen(detail));
}

/* --- Paths --- */

/* Does the path fit, its escapes known to be right? *segment: what stands in the braces' place,
 * still encoded. An encoded slash is no slash. */
static bool path_fits(const char *pattern, struct http_text path, struct http_text *segment)
{
    const char *at = path.data, *end = path.data + path.len;
    while (*pattern != '\0') {
        if (*pattern == '{') {
            const char *stop = memchr(at, '/', (size_t)(end - at));
            segment->data = at;
            at = stop != NULL ? stop : end;
            segment->len = (size_t)(at - segment->data);
            pattern = strchr(pattern, '}') + 1;
            if (segment->len == 0)
                return false;
            continue;
        }
        if (at == end || (*pattern == '/' && *at != '/'))
            return false;
        char c = *at;
        size_t len = c == '%' ? 3 : 1;
        if (c == '%')
            (void)http_decode((struct http_text){at, len}, &c, 1);
        if (c != *pattern++)
            return false;
        at += len;
    }
    return at == end;
}

/* NULL: the response says why. */
static const struct http_route *find_route(const struct http_request *request,
                                           enum http_method method, struct http_text *segment,
                                           struct http_response *response)
{
    const char *allow = NULL;
    if (!http_escapes_ok(request->path)) {
        (void)http_refuse(response, "the path is not percent-encoded as it should be");
        return NULL;
    }
    for (size_t i = 0; i < ROUTES; i++) {
        if (allow != NULL && routes[i].method != method)
            continue;
        if (!path_fits(routes[i].path, request->path, segment))
            continue;
        if (routes[i].method == method)
            return &routes[i];
        allow = routes[i].allow;
    }
    if (allow == NULL) {
        fail(response, 404, "there is no such path");
        return NULL;
    }
    fail(response, 405, "this path does not take this method");
    response->allow = allow;
    return NULL;
}

/* --- Both directions --- */

static void keep_if_none_match(struct http_plan *plan, struct http_text tags)
{
    /* One that is too long is as good as none: the answer is whole, then. */
    size_t len = tags.len < sizeof plan->if_none_match ? tags.len : 0;
    if (len > 0)
        memcpy(plan->if_none_match, tags.data, len);
    plan->if_none_match[len] = '\0';
}

/* Headers under which a request must not be carried out as if they were not there. */
static bool may_be_ignored(const struct http_request *request, enum http_method method,
                           struct http_response *response)
{
    if (method == HTTP_METHOD_GET)
        return true;
    if (request->idempotency_key.data != NULL)
        return http_refuse(response, "Idempotency-Key is not supported yet: a repeat of a POST "
                                     "takes new values, which costs a gap, never a duplicate");
    /* RFC 9110, 13.1. */
    if (request->if_match.data != NULL || request->if_none_match.data != NULL)
        return http_refuse(response, "If-Match and If-None-Match are not supported where something "
                                     "is changed");
    return true;
}

static bool plan_route(const struct http_request *request, struct http_plan *plan,
                       struct http_response *response)
{
    struct http_input input;
    struct http_text segment = {NULL, 0};
    plan->head_only = request->method == HTTP_METHOD_HEAD;
    enum http_method method = plan->head_only ? HTTP_METHOD_GET : request->method;
    const struct http_route *route = find_route(request, method, &segment, response);
    if (route == NULL || !may_be_ignored(request, method, response))
        return false;
    plan->route = route;
    plan->argc = 0;
    plan->count = 1;
    plan->text_len = 0;
    plan->name_len = http_decode(segment, plan->name, sizeof plan->name);
    bool ok = http_input_read(route, request, &input, response);
    if (ok && route->plan != NULL)
        ok = route->plan(plan, &input, response);
    http_input_finish(&input);
    return ok;
}

void http_plan(const struct http_request *request, struct http_plan *plan,
               struct http_response *response)
{
    if (!plan_route(request, plan, response)) {
        plan->kind = HTTP_PLAN_ANSWER;
        return;
    }
    keep_if_none_match(plan, request->if_none_match);
    plan->kind = plan->route->plan != NULL ? HTTP_PLAN_COMMAND : HTTP_PLAN_PAGE;
    plan->page = plan->route->page;
}

/* "WORD text" */
static void answer_error(const char *text, size_t len, struct http_response *response)
{
    const char *space = memchr(text, ' ', len);
    size_t word_len = space != NULL ? (size_t)(space - text) : len;
    size_t skip = space != NULL ? word_len + 1 : len;
    for (int word = ERROR_NONE + 1; word < ERROR_WORDS; word++) {
        const char *name = error_word_text((enum error_word)word);
        if (strlen(name) == word_len && memcmp(name, text, word_len) == 0) {
            http_problem(response, 0, (enum error_word)word, text + skip, len - skip);
            return;
        }
    }
    http_problem(response, 500, ERROR_NONE, text, len);
}

bool http_reply_next(struct http_reply *reply, struct resp_value *value)
{
    size_t used;
    if (resp_read_value(reply->at, reply->len, reply->len, value, &used) != RESP_OK)
        return false;
    reply->at += used;
    reply->len -= used;
    return true;
}

void http_answer(const struct http_plan *plan, const char *reply, size_t len,
                 struct http_response *response)
{
    struct http_reply rest = {reply, len};
    struct resp_value value;
    bool is_error = http_reply_next(&rest, &value) && value.type == RESP_ERROR;
    if (is_error && !(plan->route->is_done != NULL && plan->route->is_done(&value))) {
        answer_error(value.data, value.len, response);
        return;
    }
    rest = (struct http_reply){reply, len};
    response->status = 200;
    response->content_type = "application/json";
    response->no_store = true;
    if (plan->route->answer(plan, &rest, response) && rest.len == 0 && !response->body.failed)
        return;
    buffer_finish(&response->body);
    response->error = ERROR_NONE;
    response->etag[0] = response->location[0] = '\0';
    fail(response, 500, "the answer could not be written; values that were taken are lost");
}
