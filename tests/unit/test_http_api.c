/* Requests -> plans: every route, method and field. */
#include <check.h>
#include <string.h>

#include "http_case.h"
#include "suite.h"

#define JSON "application/json"
#define N50 "12345678901234567890123456789012345678901234567890"
#define N255 N50 N50 N50 N50 N50 "12345"

/* --- What becomes a command --- */

static const struct {
    const char *method, *target, *body, *command;
} commands[] = {
    {"POST", "/v1/counters/orders/next", NULL, "NEXT orders"},
    {"POST", "/v1/counters/orders/next", "{}", "NEXT orders"},
    {"POST", "/v1/counters/orders/next", "{\"count\": 1}", "NEXT orders"},
    {"POST", "/v1/counters/orders/next", " {\"count\":\"25\"} ", "NEXT orders 25"},
    {"POST", "/v1/counters/orders/next", "{\"count\":1000000000}", "NEXT orders 1000000000"},
    {"POST", "/v1/counters/a%2Fb%2f%C3%A9/next", NULL, "NEXT a/b/\xC3\xA9"},
    {"POST", "/v1/counters/a+b/next", NULL, "NEXT a+b"},
    {"POST", "/v1/counters/.../next", NULL, "NEXT ..."},
    {"POST", "/v1/%63ounters/%6e/%6Eext", NULL, "NEXT n"},
    {"POST", "/v1/counters/" N255 "/next", NULL, "NEXT " N255},
    {"POST", "/v1/counters/next/next", NULL, "NEXT next"},
    {"POST", "/v1/next", "{\"name\":\"a/\\u00e9\\\"\",\"count\":2}", "NEXT a/\xC3\xA9\" 2"},
    {"POST", "/v1/next", "{\"name\":\"" N255 "\"}", "NEXT " N255},
    {"POST", "/v1/oids", NULL, "OID"},
    {"POST", "/v1/oids", "{\"count\":1,\"range\":false}", "OID"},
    {"POST", "/v1/oids", "{\"count\":100000}", "OID 100000 LINE"},
    {"POST", "/v1/oids", "{\"range\":true}", "OID RANGE 1"},
    {"POST", "/v1/oids", "{\"range\":true,\"count\":16777216}", "OID RANGE 16777216"},
    {"POST", "/v1/oids?", "", "OID"},
    {"GET", "/v1/oids/507F1f77bcf86cd799439011", NULL, "OID DECODE 507F1f77bcf86cd799439011"},
    {"GET", "/v1/oids/zzzzzzzzzzzzzzzzzzzzzzzz", NULL, "OID DECODE zzzzzzzzzzzzzzzzzzzzzzzz"},
    {"GET", "/v1/oids?at=1700000000", NULL, "OID AT 1700000000"},
    {"GET", "/v1/oids?at=2024-01-01T00%3a00:00+02:00", NULL, "OID AT 2024-01-01T00:00:00+02:00"},
    {"GET", "/v1/oids?at=2024-01-01T00:00:00%2B02:00", NULL, "OID AT 2024-01-01T00:00:00+02:00"},
    {"POST", "/v1/uuids", NULL, "UUID V4 1 LINE"},
    {"POST", "/v1/uuids", "{\"version\":7,\"count\":3,\"plain\":true}", "UUID V7 3 PLAIN LINE"},
    {"GET", "/v1/counters", NULL, "COUNTER LIST"},
    {"GET", "/v1/counters?prefix=&after=", NULL, "COUNTER LIST"},
    {"GET", "/v1/counters?limit=1000&after=b%26&prefix=a", NULL,
     "COUNTER LIST PREFIX a AFTER b& COUNT 1000"},
    {"GET", "/v1/counters?prefix=..", NULL, "COUNTER LIST PREFIX .."},
    {"GET", "/v1/counters?prefix=" N255 "&after=" N255 "&limit=1000", NULL,
     "COUNTER LIST PREFIX " N255 " AFTER " N255 " COUNT 1000"},
    {"GET", "/v1/counters/orders", NULL, "COUNTER INFO orders"},
    {"PUT", "/v1/counters/orders", NULL, "COUNTER CREATE orders"},
    {"PUT", "/v1/counters/orders",
     "{\"value\":-9223372036854775808,\"max\":\"9223372036854775807\",\"step\":5,\"start\":-0,"
     "\"cache\":100}",
     "COUNTER CREATE orders START 0 STEP 5 MAX 9223372036854775807 CACHE 100 VALUE "
     "-9223372036854775808"},
    {"PATCH", "/v1/counters/orders", "{\"raise\":41}", "COUNTER RAISE orders 41"},
    {"PATCH", "/v1/counters/orders", "{\"reset\":\"-3\",\"force\":true}",
     "COUNTER RESET orders -3 FORCE"},
    {"PATCH", "/v1/counters/orders", "{\"sync\":{\"field\":\"f.g\",\"collection\":\"db.coll\"}}",
     "COUNTER SYNC orders db.coll f.g"},
    {"PATCH", "/v1/counters/" N255,
     "{\"sync\":{\"field\":\"" N255 "\",\"collection\":\"" N255 "\"}}",
     "COUNTER SYNC " N255 " " N255 " " N255},
    {"DELETE", "/v1/counters/orders?force=true", NULL, "COUNTER DROP orders FORCE"},
    {"GET", "/v1/info", NULL, "INFO"},
};

START_TEST(is_a_command)
{
    struct http_case *self =
        case_plan(commands[_i].method, commands[_i].target, commands[_i].body, JSON);
    ck_assert_str_eq(case_text(self), commands[_i].command);
    ck_assert_int_eq(self->plan.kind, HTTP_PLAN_COMMAND);
    ck_assert(!self->plan.head_only);
    case_finish(self);
}
END_TEST

/* --- What is a page --- */

static const struct {
    const char *target;
    enum http_page page;
} pages[] = {
    {"/healthz", HTTP_PAGE_HEALTHZ},
    {"/readyz", HTTP_PAGE_READYZ},
    {"/leaderz", HTTP_PAGE_LEADERZ},
    {"/metrics", HTTP_PAGE_METRICS},
    {"/", HTTP_PAGE_STATUS},
    {"/openapi.yaml", HTTP_PAGE_OPENAPI},
    {"/v1/warnings", HTTP_PAGE_WARNINGS},
    {"/v1/events", HTTP_PAGE_EVENTS},
    {"/?", HTTP_PAGE_STATUS},
    {"/%68ealthz", HTTP_PAGE_HEALTHZ},
};

START_TEST(is_a_page)
{
    struct http_case *self = case_plan("GET", pages[_i].target, NULL, NULL);
    ck_assert_int_eq(self->plan.kind, HTTP_PLAN_PAGE);
    ck_assert_int_eq(self->plan.page, pages[_i].page);
    ck_assert(!self->plan.head_only);
    case_finish(self);
    self = case_plan("HEAD", pages[_i].target, NULL, NULL);
    ck_assert_int_eq(self->plan.kind, HTTP_PLAN_PAGE);
    ck_assert(self->plan.head_only);
    case_finish(self);
}
END_TEST

/* --- Methods --- */

static bool lists(const char *allow, const char *method)
{
    size_t len = strlen(method);
    for (const char *at = allow; (at = strstr(at, method)) != NULL; at += len)
        if ((at == allow || at[-1] == ' ') && (at[len] == '\0' || at[len] == ','))
            return true;
    return false;
}

/* A method is known to a path exactly if Allow lists it; no other is taken. */
START_TEST(methods_are_those_of_allow)
{
    static const char *const methods[] = {"GET",   "HEAD",   "POST",   "PUT",
                                          "PATCH", "DELETE", "OPTIONS"};
    const char *allow, *pattern = http_path_at((size_t)_i, &allow);
    char target[64];
    ck_assert_ptr_nonnull(pattern);
    const char *brace = strchr(pattern, '{');
    snprintf(target, sizeof target, "%.*s%s%s", (int)(brace ? brace - pattern : 64), pattern,
             brace ? "507f1f77bcf86cd799439011" : "", brace ? strchr(pattern, '}') + 1 : "");
    for (size_t i = 0; i < 7; i++) {
        struct http_case *self = case_plan(methods[i], target, NULL, NULL);
        bool refused = self->plan.kind == HTTP_PLAN_ANSWER && self->response.status == 405;
        ck_assert_msg(refused != lists(allow, methods[i]), "%s %s", methods[i], target);
        if (refused)
            ck_assert_str_eq(self->response.allow, allow);
        ck_assert_int_ne(self->response.status, 404);
        case_finish(self);
    }
}
END_TEST

#define PATHS 16

START_TEST(paths_are_counted)
{
    const char *allow;
    ck_assert_ptr_null(http_path_at(PATHS, &allow));
}
END_TEST

START_TEST(head_is_get_without_body)
{
    struct http_case *self = case_plan("HEAD", "/v1/counters/orders", NULL, NULL);
    ck_assert_str_eq(case_text(self), "COUNTER INFO orders");
    ck_assert(self->plan.head_only);
    case_finish(self);
}
END_TEST

/* --- What is refused --- */

static const struct {
    const char *method, *target, *body, *type;
    int status;
    const char *says;
} refusals[] = {
    {"GET", "/v2/oids", NULL, NULL, 404, "no such path"},
    {"GET", "", NULL, NULL, 404, "no such path"},
    {"OPTIONS", "*", NULL, NULL, 404, "no such path"},
    {"GET", "//", NULL, NULL, 404, "no such path"},
    {"GET", "/v1", NULL, NULL, 404, "no such path"},
    {"GET", "/v1/", NULL, NULL, 404, "no such path"},
    {"GET", "/v1/oids/", NULL, NULL, 404, "no such path"},
    {"POST", "/v1/oids/", NULL, NULL, 404, "no such path"},
    {"GET", "/V1/info", NULL, NULL, 404, "no such path"},
    {"GET", "/v1%2finfo", NULL, NULL, 404, "no such path"},
    {"GET", "/./healthz", NULL, NULL, 404, "no such path"},
    {"GET", "/v1/../healthz", NULL, NULL, 404, "no such path"},
    {"GET", "/v1/counters/a/b", NULL, NULL, 404, "no such path"},
    {"POST", "/v1/counters//next", NULL, NULL, 404, "no such path"},
    {"POST", "/v1/counters/a/next/", NULL, NULL, 404, "no such path"},
    {"POST", "/v1/counters/a%2/next", NULL, NULL, 400, "the path is not percent-encoded"},
    {"POST", "/v1/counters/a%/next", NULL, NULL, 400, "the path is not percent-encoded"},
    {"POST", "/v1/counters/a/next%", NULL, NULL, 400, "the path is not percent-encoded"},
    {"POST", "/v1/counters/%zz/next", NULL, NULL, 400, "the path is not percent-encoded"},
    {"POST", "/v1/counters/%00/next", NULL, NULL, 400, "spaces or control characters"},
    {"POST", "/v1/counters/%20/next", NULL, NULL, 400, "spaces or control characters"},
    {"POST", "/v1/counters/./next", NULL, NULL, 400, "must not be \\\".\\\""},
    {"POST", "/v1/counters/%2e%2E/next", NULL, NULL, 400, "must not be \\\".\\\""},
    {"POST", "/v1/counters/%ff/next", NULL, NULL, 400, "must be valid UTF-8"},
    {"POST", "/v1/counters/" N255 "6/next", NULL, NULL, 400, "at most 255 bytes"},
    {"POST", "/v1/counters/" N255 N255 "/next", NULL, NULL, 400, "at most 255 bytes"},
    {"POST", "/v1/next", NULL, NULL, 400, "name is missing"},
    {"POST", "/v1/next", "{\"name\":\"\"}", JSON, 400, "name must not be empty"},
    {"POST", "/v1/next", "{\"name\":\"a b\"}", JSON, 400, "spaces or control"},
    {"POST", "/v1/next", "{\"name\":\"" N255 "6\"}", JSON, 400, "name has at most 255 bytes"},
    {"POST", "/v1/next", "{\"name\":7}", JSON, 400, "name must be a string"},
    {"POST", "/v1/next", "{\"name\":\"a\\u0000b\"}", JSON, 400, "invalid JSON: \\\\u0000"},
    {"GET", "/v1/oids", NULL, NULL, 400, "at is missing"},
    {"GET", "/v1/oids?at=", NULL, NULL, 400, "at must not be empty"},
    {"GET", "/v1/oids?at=" N50 N50, NULL, NULL, 400, "at has at most 64 bytes"},
    {"GET", "/v1/oids?at=1&at=2", NULL, NULL, 400, "at stands twice"},
    {"GET", "/v1/oids?at=1&%61t=2", NULL, NULL, 400, "at stands twice"},
    {"GET", "/v1/oids?at=1&by=2", NULL, NULL, 400, "unknown parameter 'by'; there are: at"},
    {"GET", "/v1/oids?at=1&", NULL, NULL, 0, "OID AT 1"},
    {"GET", "/v1/oids?at=1&&", NULL, NULL, 400, "unknown parameter ''"},
    {"GET", "/v1/oids?at=%4", NULL, NULL, 400, "the query is not percent-encoded"},
    {"GET", "/v1/oids?" N50 "=1", NULL, NULL, 400, "unknown parameter '1234"},
    {"GET", "/v1/oids/507f1f77bcf86cd79943901", NULL, NULL, 400, "24 hex digits"},
    {"GET", "/v1/oids/" N255 "6", NULL, NULL, 400, "24 hex digits"},
    {"GET", "/v1/info?x", NULL, NULL, 400, "unknown parameter 'x'; there are: none"},
    {"POST", "/v1/oids?count=2", NULL, NULL, 400, "unknown parameter 'count'; there are: none"},
    {"GET", "/v1/info", "{}", JSON, 400, "takes no body"},
    {"DELETE", "/v1/counters/a?force=true", "{}", JSON, 400, "takes no body"},
    {"DELETE", "/v1/counters/a", NULL, NULL, 400, "?force=true"},
    {"DELETE", "/v1/counters/a?force=false", NULL, NULL, 400, "?force=true"},
    {"DELETE", "/v1/counters/a?force", NULL, NULL, 400, "force must be true or false"},
    {"DELETE", "/v1/counters/a?force=yes", NULL, NULL, 400, "force must be true or false"},
    {"GET", "/v1/counters?limit=0", NULL, NULL, 400, "limit must be 1 to 1000"},
    {"GET", "/v1/counters?limit=1001", NULL, NULL, 400, "limit must be 1 to 1000"},
    {"GET", "/v1/counters?limit=1e2", NULL, NULL, 400, "limit must be an integer"},
    {"GET", "/v1/counters?limit", NULL, NULL, 400, "limit must be an integer"},
    {"GET", "/v1/counters?prefix=a%20", NULL, NULL, 400, "invalid prefix"},
    {"GET", "/v1/counters?after=%ff", NULL, NULL, 400, "invalid after"},
    {"GET", "/v1/counters?after=" N255 "6", NULL, NULL, 400, "after has at most 255 bytes"},
    {"POST", "/v1/oids", "{}", "text/plain", 415, "must be application/json"},
    {"POST", "/v1/oids", "a=b", "application/x-www-form-urlencoded", 415, "application/json"},
    {"POST", "/v1/oids", "{}", "application/jsonp", 415, "application/json"},
    {"POST", "/v1/oids", "{}", "Application/JSON ;charset=utf-8", 0, "OID"},
    {"POST", "/v1/oids", "{}", NULL, 0, "OID"},
    {"POST", "/v1/oids", "{\"count\":0}", JSON, 400, "count must be 1 to 16777216"},
    {"POST", "/v1/oids", "{\"count\":100001}", JSON, 400, "count must be 1 to 100000"},
    {"POST", "/v1/oids", "{\"count\":16777217,\"range\":true}", JSON, 400, "1 to 16777216"},
    {"POST", "/v1/oids", "{\"count\":1.0}", JSON, 400, "count must be an integer"},
    {"POST", "/v1/oids", "{\"count\":1e3}", JSON, 400, "count must be an integer"},
    {"POST", "/v1/oids", "{\"count\":true}", JSON, 400, "count must be an integer"},
    {"POST", "/v1/oids", "{\"count\":null}", JSON, 400, "count must be an integer"},
    {"POST", "/v1/oids", "{\"count\":[1]}", JSON, 400, "count must be an integer"},
    {"POST", "/v1/oids", "{\"count\":\"\"}", JSON, 400, "count must be an integer"},
    {"POST", "/v1/oids", "{\"count\":\"07\"}", JSON, 400, "count must be an integer"},
    {"POST", "/v1/oids", "{\"count\":\" 7\"}", JSON, 400, "count must be an integer"},
    {"POST", "/v1/oids", "{\"count\":\"9223372036854775808\"}", JSON, 400, "an integer of 64 bits"},
    {"POST", "/v1/oids", "{\"count\":9223372036854775808}", JSON, 400, "a number is out of range"},
    {"POST", "/v1/oids", "{\"count\":1e999}", JSON, 400, "a number is out of range"},
    {"POST", "/v1/oids", "{\"range\":\"true\"}", JSON, 400, "range must be true or false"},
    {"POST", "/v1/oids", "{\"n\":1}", JSON, 400, "unknown member 'n'; there are: count, range"},
    {"POST", "/v1/oids", "{\"count\\u0000\":1}", JSON, 400, "invalid JSON: \\\\u0000"},
    {"POST", "/v1/oids", "{\"count\":1,\"count\":1}", JSON, 400, "duplicate object key"},
    {"POST", "/v1/oids", "{\"count\":1} {}", JSON, 400, "invalid JSON"},
    {"POST", "/v1/oids", "{'count':1}", JSON, 400, "invalid JSON"},
    {"POST", "/v1/oids", "{\"count\":1,}", JSON, 400, "invalid JSON"},
    {"POST", "/v1/oids", "{\"\xff\":1}", JSON, 400, "invalid JSON"},
    {"POST", "/v1/oids", " ", JSON, 400, "invalid JSON"},
    {"POST", "/v1/oids", "[]", JSON, 400, "the body must be a JSON object"},
    {"POST", "/v1/oids", "7", JSON, 400, "invalid JSON"},
    {"POST", "/v1/oids", "{\"a\":[[[[]]]]}", JSON, 400, "more than 4 levels"},
    {"POST", "/v1/oids", "{\"a\":\"\\\"[[[[[[\"}", JSON, 400, "unknown member 'a'"},
    {"POST", "/v1/uuids", "{\"version\":5}", JSON, 400, "version must be 4 or 7"},
    {"POST", "/v1/uuids", "{\"version\":1}", JSON, 400, "version must be 4 to 7"},
    {"POST", "/v1/uuids", "{\"count\":100001}", JSON, 400, "count must be 1 to 100000"},
    {"POST", "/v1/counters/a/next", "{\"count\":1000000001}", JSON, 400, "1 to 1000000000"},
    {"PUT", "/v1/counters/a", "{\"name\":\"a\"}", JSON, 400, "unknown member 'name'"},
    {"PATCH", "/v1/counters/a", NULL, NULL, 400, "exactly one of raise, reset and sync"},
    {"PATCH", "/v1/counters/a", "{}", JSON, 400, "exactly one of raise, reset and sync"},
    {"PATCH", "/v1/counters/a", "{\"raise\":1,\"reset\":1}", JSON, 400, "exactly one of"},
    {"PATCH", "/v1/counters/a", "{\"reset\":1}", JSON, 400, "add \\\"force\\\": true"},
    {"PATCH", "/v1/counters/a", "{\"reset\":1,\"force\":false}", JSON, 400, "add \\\"force\\\""},
    {"PATCH", "/v1/counters/a", "{\"raise\":1,\"force\":true}", JSON, 400, "force goes with reset"},
    {"PATCH", "/v1/counters/a", "{\"sync\":\"db.coll\"}", JSON, 400, "sync must be an object"},
    {"PATCH", "/v1/counters/a", "{\"sync\":{}}", JSON, 400, "sync takes"},
    {"PATCH", "/v1/counters/a", "{\"sync\":{\"field\":\"f\"}}", JSON, 400, "sync takes"},
    {"PATCH", "/v1/counters/a", "{\"sync\":{\"field\":\"f\",\"x\":1}}", JSON, 400, "'x'"},
};

START_TEST(is_refused)
{
    struct http_case *self =
        case_plan(refusals[_i].method, refusals[_i].target, refusals[_i].body, refusals[_i].type);
    const char *text = case_text(self);
    ck_assert_int_eq(self->response.status, refusals[_i].status);
    ck_assert_msg(strstr(text, refusals[_i].says) != NULL, "%s", text);
    if (refusals[_i].status == 0) { /* near a refusal, but none */
        ck_assert_int_eq(self->plan.kind, HTTP_PLAN_COMMAND);
    } else {
        ck_assert_int_eq(self->plan.kind, HTTP_PLAN_ANSWER);
        ck_assert_str_eq(self->response.content_type, "application/problem+json");
        ck_assert(self->response.no_store);
    }
    case_finish(self);
}
END_TEST

START_TEST(idempotency_key_is_refused)
{
    struct http_request request = {
        .method = HTTP_METHOD_POST, .path = {"/v1/oids", 8}, .idempotency_key = {"x", 1}};
    struct http_plan plan;
    struct http_response response;
    http_response_init(&response);
    http_plan(&request, &plan, &response);
    ck_assert_int_eq(plan.kind, HTTP_PLAN_ANSWER);
    ck_assert_int_eq(response.status, 400);
    ck_assert_ptr_nonnull(memmem(response.body.data, response.body.len, "not supported yet", 17));
    http_response_finish(&response);
}
END_TEST

/* Half of what the body's limit allows is deep: no deep recursion comes of it. */
START_TEST(depth_is_bounded)
{
    size_t len = 32768;
    char *body = malloc(len + 1);
    ck_assert_ptr_nonnull(body);
    memset(body, '[', len);
    body[len] = '\0';
    struct http_case *self = case_plan("POST", "/v1/oids", body, JSON);
    ck_assert_int_eq(self->response.status, 400);
    ck_assert_ptr_nonnull(strstr(case_text(self), "more than 4 levels"));
    case_finish(self);
    free(body);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof(table)[0])

int main(void)
{
    Suite *suite = suite_create("http_api");
    TCase *cases = tcase_create("plans");
    tcase_add_loop_test(cases, is_a_command, 0, ROWS(commands));
    tcase_add_loop_test(cases, is_a_page, 0, ROWS(pages));
    tcase_add_loop_test(cases, methods_are_those_of_allow, 0, PATHS);
    tcase_add_test(cases, paths_are_counted);
    tcase_add_test(cases, head_is_get_without_body);
    tcase_add_loop_test(cases, is_refused, 0, ROWS(refusals));
    tcase_add_test(cases, idempotency_key_is_refused);
    tcase_add_test(cases, depth_is_bounded);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
