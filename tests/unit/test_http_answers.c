/* Replies -> status and JSON. */
#include <check.h>
#include <string.h>

#include "http_case.h"
#include "suite.h"

#define JSON "application/json"
#define ID1 "6553f1003f2a91c8d4ffffff"
#define ID2 "6553f1013f2a91c8d4000000" /* the next one: the counter carries into the seconds */
#define ID3 "6553f1013f2a91c8d4000001"

static void answer(struct http_case *self, const char *reply, size_t len)
{
    char *copy;
    struct http_text text = exactly(&copy, reply, len);
    ck_assert_msg(self->plan.kind == HTTP_PLAN_COMMAND, "%s", case_text(self));
    http_answer(&self->plan, text.data, text.len, &self->response);
    free(copy);
}

/* --- Good replies --- */

static const struct {
    const char *method, *target, *body, *reply;
    int status;
    const char *json;
} answers[] = {
    {"POST", "/v1/counters/a%22%5C%C3%A9/next", NULL, ":7\r\n", 200,
     "{\"name\":\"a\\\"\\\\\xC3\xA9\",\"first\":7,\"last\":7,\"count\":1,\"first_str\":\"7\","
     "\"last_str\":\"7\"}"},
    {"POST", "/v1/next", "{\"name\":\"b\",\"count\":3}",
     "*2\r\n:9223372036854775801\r\n:9223372036854775807\r\n", 200,
     "{\"name\":\"b\",\"first\":9223372036854775801,\"last\":9223372036854775807,\"count\":3,"
     "\"first_str\":\"9223372036854775801\",\"last_str\":\"9223372036854775807\"}"},
    {"POST", "/v1/next", "{\"name\":\"b\"}", ":-9223372036854775808\r\n", 200,
     "{\"name\":\"b\",\"first\":-9223372036854775808,\"last\":-9223372036854775808,\"count\":1,"
     "\"first_str\":\"-9223372036854775808\",\"last_str\":\"-9223372036854775808\"}"},
    {"POST", "/v1/oids", NULL, "+" ID1 "\r\n", 200,
     "{\"ids\":[\"" ID1 "\"],\"first\":\"" ID1 "\",\"last\":\"" ID1 "\",\"count\":1}"},
    {"POST", "/v1/oids", "{\"count\":3}", "$74\r\n" ID1 " " ID2 " " ID3 "\r\n", 200,
     "{\"ids\":[\"" ID1 "\",\"" ID2 "\",\"" ID3 "\"],\"first\":\"" ID1 "\",\"last\":\"" ID3
     "\",\"count\":3}"},
    {"POST", "/v1/oids", "{\"count\":3,\"range\":true}", "*2\r\n+" ID1 "\r\n$1\r\n3\r\n", 200,
     "{\"first\":\"" ID1 "\",\"last\":\"" ID3 "\",\"count\":3}"},
    {"GET", "/v1/oids?at=1", NULL, "+000000010000000000000000\r\n", 200,
     "{\"id\":\"000000010000000000000000\"}"},
    {"GET", "/v1/oids/507F1F77BCF86CD799439011", NULL,
     "%6\r\n$7\r\nseconds\r\n$10\r\n1350508407\r\n$4\r\ntime\r\n$20\r\n2012-10-17T21:13:27Z\r\n"
     "$6\r\nrandom\r\n$10\r\nbcf86cd799\r\n$7\r\ncounter\r\n$7\r\n4427793\r\n"
     "$14\r\nlegacy_machine\r\n$6\r\nbcf86c\r\n$10\r\nlegacy_pid\r\n$5\r\n55193\r\n",
     200,
     "{\"id\":\"507f1f77bcf86cd799439011\",\"time\":\"2012-10-17T21:13:27Z\",\"seconds\":"
     "1350508407,"
     "\"random\":\"bcf86cd799\",\"counter\":4427793,\"legacy\":{\"machine\":\"bcf86c\","
     "\"pid\":55193}}"},
    {"POST", "/v1/uuids", NULL, "$36\r\n550e8400-e29b-41d4-a716-446655440000\r\n", 200,
     "{\"uuids\":[\"550e8400-e29b-41d4-a716-446655440000\"],\"count\":1}"},
    {"POST", "/v1/uuids", "{\"count\":2,\"plain\":true}",
     "$65\r\n550e8400e29b41d4a716446655440000 650e8400e29b41d4a716446655440000\r\n", 200,
     "{\"uuids\":[\"550e8400e29b41d4a716446655440000\",\"650e8400e29b41d4a716446655440000\"],"
     "\"count\":2}"},
    {"GET", "/v1/counters", NULL, "*2\r\n$0\r\n\r\n*0\r\n", 200, "{\"counters\":[],\"next\":null}"},
    {"GET", "/v1/counters", NULL,
     "*2\r\n$1\r\n\"\r\n*2\r\n*6\r\n$1\r\na\r\n$1\r\n7\r\n$1\r\n1\r\n$1\r\n1\r\n$16\r\n"
     "9007199254740991\r\n$1\r\n1\r\n*6\r\n$1\r\n\"\r\n$2\r\n-1\r\n$1\r\n0\r\n$1\r\n5\r\n$"
     "1\r\n9\r\n"
     "$2\r\n10\r\n",
     200,
     "{\"counters\":[{\"name\":\"a\",\"value\":7,\"value_str\":\"7\",\"start\":1,\"start_str\":"
     "\"1\",\"step\":1,\"step_str\":\"1\","
     "\"max\":9007199254740991,\"max_str\":\"9007199254740991\",\"cache\":1},"
     "{\"name\":\"\\\"\",\"value\":-1,\"value_str\":\"-1\",\"start\":0,\"start_str\":\"0\","
     "\"step\":5,\"step_str\":\"5\","
     "\"max\":9,\"max_str\":\"9\",\"cache\":10}],\"next\":\"\\\"\"}"},
    {"GET", "/v1/counters/a", NULL,
     "%7\r\n$4\r\nname\r\n$1\r\na\r\n$5\r\nvalue\r\n$1\r\n7\r\n$5\r\nstart\r\n$1\r\n1\r\n$4\r\n"
     "step\r\n$1\r\n2\r\n$3\r\nmax\r\n$19\r\n9223372036854775807\r\n$5\r\ncache\r\n$1\r\n3\r\n"
     "$10\r\ngeneration\r\n$1\r\n4\r\n",
     200,
     "{\"name\":\"a\",\"value\":7,\"value_str\":\"7\",\"start\":1,\"start_str\":\"1\",\"step\":2,"
     "\"step_str\":\"2\","
     "\"max\":9223372036854775807,\"max_str\":\"9223372036854775807\",\"cache\":3}"},
    {"PUT", "/v1/counters/a", NULL, "+OK\r\n", 201, "{\"name\":\"a\",\"created\":true}"},
    {"PUT", "/v1/counters/a", NULL, "-ERR the counter exists\r\n", 200,
     "{\"name\":\"a\",\"created\":false}"},
    {"PATCH", "/v1/counters/a", "{\"raise\":5}", "$1\r\n7\r\n", 200,
     "{\"name\":\"a\",\"value\":7,\"value_str\":\"7\"}"},
    {"PATCH", "/v1/counters/a", "{\"reset\":-5,\"force\":true}", "+OK\r\n", 200,
     "{\"name\":\"a\",\"value\":-5,\"value_str\":\"-5\"}"},
    {"PATCH", "/v1/counters/a", "{\"sync\":{\"collection\":\"a.b\",\"field\":\"c\"}}",
     "$19\r\n9223372036854775807\r\n", 200,
     "{\"name\":\"a\",\"value\":9223372036854775807,\"value_str\":\"9223372036854775807\"}"},
    {"DELETE", "/v1/counters/a?force=true", NULL, "+OK\r\n", 204, ""},
    {"GET", "/v1/info", NULL,
     "$71\r\n# Server\r\nredis_version:7.0.0\r\nio_threads:3\r\n\r\n# "
     "Oid\r\nx:\r\nodd\r\ny:a:\xff\t\r"
     "\n\r\n",
     200,
     "{\"server\":{\"redis_version\":\"7.0.0\",\"io_threads\":3},\"oid\":{\"x\":\"\","
     "\"y\":\"a:\xEF\xBF\xBD\\u0009\"}}"},
    {"GET", "/v1/info", NULL, "$0\r\n\r\n", 200, "{}"},
};

START_TEST(is_answered)
{
    struct http_case *self =
        case_plan(answers[_i].method, answers[_i].target, answers[_i].body, JSON);
    answer(self, answers[_i].reply, strlen(answers[_i].reply));
    ck_assert_str_eq(case_text(self), answers[_i].json);
    ck_assert_int_eq(self->response.status, answers[_i].status);
    if (answers[_i].json[0] != '\0')
        ck_assert_str_eq(self->response.content_type, JSON);
    else
        ck_assert_ptr_null(self->response.content_type);
    ck_assert(self->response.no_store);
    case_finish(self);
}
END_TEST

/* Cut short, or with something behind it, no reply is taken for whole: 500, and nothing of what
 * was written before it was seen. */
START_TEST(broken_reply_is_an_error)
{
    const char *reply = answers[_i].reply;
    size_t len = strlen(reply);
    for (size_t cut = 0; cut <= len; cut++) {
        struct http_case *self =
            case_plan(answers[_i].method, answers[_i].target, answers[_i].body, JSON);
        char longer[512];
        snprintf(longer, sizeof longer, "%s:1\r\n", reply);
        if (reply[0] == '-' && cut == len) {
            case_finish(self);
            break; /* a whole error; what would follow is no part of it */
        }
        answer(self, cut < len ? reply : longer, cut < len ? cut : len + 4);
        ck_assert_msg(self->response.status == 500, "%zu bytes", cut);
        ck_assert_int_eq(strncmp(case_text(self), "{\"type\":\"about:blank\"", 21), 0);
        ck_assert_str_eq(self->response.etag, "");
        ck_assert_str_eq(self->response.location, "");
        case_finish(self);
    }
}
END_TEST

static const struct {
    const char *method, *target, *body, *reply;
} strange[] = {
    {"POST", "/v1/counters/a/next", NULL, "+OK\r\n"},
    {"POST", "/v1/counters/a/next", "{\"count\":2}", ":1\r\n"},
    {"POST", "/v1/counters/a/next", "{\"count\":2}", "*3\r\n:1\r\n:2\r\n:3\r\n"},
    {"POST", "/v1/oids", NULL, "+" ID1 "0\r\n"},
    {"POST", "/v1/oids", NULL, "+zz53f1003f2a91c8d4000000\r\n"},
    {"POST", "/v1/oids", "{\"count\":2}", "$74\r\n" ID1 " " ID2 " " ID3 "\r\n"},
    {"POST", "/v1/oids", NULL, "_\r\n"},
    {"POST", "/v1/uuids", NULL, "$0\r\n\r\n"},
    {"POST", "/v1/uuids", "{\"count\":3}", "$4\r\nabcd\r\n"},
    {"GET", "/v1/counters", NULL, "*2\r\n$0\r\n\r\n*1\r\n*1\r\n$1\r\na\r\n"},
    {"GET", "/v1/counters/a", NULL, "%1\r\n$5\r\nvalue\r\n$1\r\nx\r\n"},
    {"GET", "/v1/counters/a", NULL, "_\r\n"},
    {"PATCH", "/v1/counters/a", "{\"raise\":5}", "$1\r\nx\r\n"},
    {"GET", "/v1/oids/507f1f77bcf86cd799439011", NULL, "%0\r\n"},
};

START_TEST(strange_reply_is_an_error)
{
    struct http_case *self =
        case_plan(strange[_i].method, strange[_i].target, strange[_i].body, JSON);
    answer(self, strange[_i].reply, strlen(strange[_i].reply));
    ck_assert_int_eq(self->response.status, 500);
    case_finish(self);
}
END_TEST

/* --- Problems --- */

#define URN "urn:idmint:error:"

static const struct {
    const char *reply;
    int status, retry_after_s;
    const char *begins; /* up to the hint */
} problems[] = {
    {"-ERR count must be 1 to 9", 400, 0,
     "{\"type\":\"" URN "err\",\"title\":\"The request is wrong\",\"status\":400,"
     "\"detail\":\"count must be 1 to 9\",\"error\":\"ERR\",\"hint\":\""},
    {"-ERR no such counter", 404, 0,
     "{\"type\":\"" URN "unknown-counter\",\"title\":\"No such counter\",\"status\":404,"
     "\"detail\":\"no such counter\",\"error\":\"ERR\",\"hint\":\""},
    {"-ERR the counter exists with other options", 409, 0,
     "{\"type\":\"" URN "counter-exists\",\"title\":\"The counter exists\",\"status\":409,"
     "\"detail\":\"the counter exists with other options\",\"error\":\"ERR\",\"hint\":\""},
    {"-NOAUTH Authentication required.", 401, 0, "{\"type\":\"" URN "noauth\","},
    {"-WRONGPASS no", 401, 0, "{\"type\":\"" URN "wrongpass\","},
    {"-NOPERM no", 403, 0, "{\"type\":\"" URN "noperm\","},
    {"-NOPROTO no", 400, 0, "{\"type\":\"" URN "noproto\","},
    {"-EXECABORT no", 400, 0, "{\"type\":\"" URN "execabort\","},
    {"-WRONGTYPE the stored value is a string", 409, 0, "{\"type\":\"" URN "wrongtype\","},
    {"-BACKWARD x", 409, 0, "{\"type\":\"" URN "backward\","},
    {"-EXHAUSTED x", 409, 0, "{\"type\":\"" URN "exhausted\","},
    {"-TRYAGAIN x", 503, 1,
     "{\"type\":\"" URN "tryagain\",\"title\":\"Not done: try again\",\"status\":503,"
     "\"detail\":\"x\",\"error\":\"TRYAGAIN\",\"hint\":\"Nothing was taken"},
    {"-TRYAGAIN", 503, 1,
     "{\"type\":\"" URN "tryagain\",\"title\":\"Not done: try again\",\"status\":503,"
     "\"error\":\"TRYAGAIN\",\"hint\":\""},
    {"-UNCERTAIN x", 504, 0, "{\"type\":\"" URN "uncertain\",\"title\":\"Perhaps done\","},
    {"-NOTLEADER [::1]:7377", 503, 1,
     "{\"type\":\"" URN "notleader\",\"title\":\"Another daemon issues these\",\"status\":503,"
     "\"detail\":\"another daemon issues these\",\"leader\":\"[::1]:7377\","
     "\"error\":\"NOTLEADER\",\"hint\":\""},
    {"-NOTLEADER ", 503, 1,
     "{\"type\":\"" URN "notleader\",\"title\":\"Another daemon issues these\",\"status\":503,"
     "\"detail\":\"another daemon issues these\",\"leader\":null,"},
    {"-ERR say \"\xC3\xA9\xC3\"", 400, 0,
     "{\"type\":\"" URN "err\",\"title\":\"The request is wrong\",\"status\":400,"
     "\"detail\":\"say \\\"\xC3\xA9\xEF\xBF\xBD\\\"\","},
    {"-STRANGE x", 500, 0,
     "{\"type\":\"about:blank\",\"title\":\"Internal Server Error\",\"status\":500,"
     "\"detail\":\"STRANGE x\",\"hint\":\""},
    {"-OK x", 500, 0, "{\"type\":\"about:blank\","},
};

START_TEST(is_a_problem)
{
    struct http_case *self = case_plan("POST", "/v1/counters/a/next", NULL, NULL);
    char reply[128];
    int len = snprintf(reply, sizeof reply, "%s\r\n", problems[_i].reply);
    answer(self, reply, (size_t)len);
    const char *text = case_text(self);
    ck_assert_msg(strncmp(text, problems[_i].begins, strlen(problems[_i].begins)) == 0, "%s", text);
    ck_assert_int_eq(text[strlen(text) - 1], '}');
    ck_assert_int_eq(self->response.status, problems[_i].status);
    ck_assert_int_eq(self->response.retry_after_s, problems[_i].retry_after_s);
    ck_assert_str_eq(self->response.content_type, "application/problem+json");
    ck_assert(self->response.no_store);
    case_finish(self);
}
END_TEST

/* Every word of the protocol has a row of its own. */
START_TEST(every_word_has_a_row)
{
    struct http_response response;
    char type[64];
    http_response_init(&response);
    http_problem(&response, 0, (enum error_word)_i, "x", 1);
    const char *word = error_word_text((enum error_word)_i);
    int len = snprintf(type, sizeof type, "{\"type\":\"" URN "%s\"", word);
    for (char *c = type + strlen("{\"type\":\"" URN); *c != '\0'; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    ck_assert_uint_ge(response.body.len, (size_t)len);
    ck_assert_int_eq(memcmp(response.body.data, type, (size_t)len), 0);
    http_response_finish(&response);
}
END_TEST

static const struct {
    int status;
    const char *title;
} statuses[] = {
    {200, "OK"},
    {403, "Forbidden"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {421, "Misdirected Request"},
    {431, "Request Header Fields Too Large"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

START_TEST(status_speaks_for_itself)
{
    struct http_response response;
    char begins[128];
    http_response_init(&response);
    ck_assert_str_eq(http_status_title(statuses[_i].status), statuses[_i].title);
    http_problem(&response, statuses[_i].status, ERROR_NONE, "why", 3);
    int len =
        snprintf(begins, sizeof begins,
                 "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"detail\":\"why\"",
                 statuses[_i].title, statuses[_i].status);
    ck_assert_int_eq(response.status, statuses[_i].status);
    ck_assert_int_eq(memcmp(response.body.data, begins, (size_t)len), 0);
    /* A hint that names a header comes with that header. */
    buffer_append(&response.body, "", 1);
    bool hinted = strstr(response.body.data, "Retry-After") != NULL;
    ck_assert_int_eq(hinted, statuses[_i].status == 429 || statuses[_i].status == 503);
    ck_assert_int_eq(response.retry_after_s, hinted ? 1 : 0);
    http_response_finish(&response);
}
END_TEST

/* --- ETag and Location --- */

static struct http_case *get_counter(const char *if_none_match, const char *value)
{
    struct http_case *self = case_plan("GET", "/v1/counters/a", NULL, NULL);
    char reply[64];
    /* As if the request had had it: case_plan has no headers. */
    snprintf(self->plan.if_none_match, sizeof self->plan.if_none_match, "%s", if_none_match);
    int len = snprintf(reply, sizeof reply, "%%1\r\n$5\r\nvalue\r\n$1\r\n%s\r\n", value);
    answer(self, reply, (size_t)len);
    return self;
}

START_TEST(tag_changes_with_the_counter)
{
    struct http_case *one = get_counter("", "1"), *again = get_counter("", "1"),
                     *two = get_counter("", "2");
    ck_assert_int_eq(one->response.status, 200);
    ck_assert_uint_eq(strlen(one->response.etag), 18);
    ck_assert_str_eq(one->response.etag, again->response.etag);
    ck_assert_str_ne(one->response.etag, two->response.etag);
    case_finish(one);
    case_finish(again);
    case_finish(two);
}
END_TEST

static const struct {
    const char *format; /* %s: the tag */
    int status;
} tags[] = {
    {"%s", 304},
    {"W/%s", 304},
    {"\"x\", %s", 304},
    {"\"x\",W/%s , \"y\"", 304},
    {" * ", 200},
    {"*", 304},
    {"\"0000000000000000\"", 200},
    {"x%s", 200},
    {"", 200},
    {",,", 200},
};

START_TEST(tag_that_is_known_saves_the_body)
{
    struct http_case *first = get_counter("", "1");
    char header[128], *at = header;
    const char *mark = strstr(tags[_i].format, "%s");
    size_t before = mark != NULL ? (size_t)(mark - tags[_i].format) : strlen(tags[_i].format);
    at += snprintf(at, 64, "%.*s", (int)before, tags[_i].format);
    if (mark != NULL)
        snprintf(at, 64, "%s%s", first->response.etag, mark + 2);
    struct http_case *second = get_counter(header, "1");
    ck_assert_int_eq(second->response.status, tags[_i].status);
    ck_assert_str_eq(second->response.etag, first->response.etag);
    ck_assert((second->response.body.len == 0) == (tags[_i].status == 304));
    ck_assert((second->response.content_type == NULL) == (tags[_i].status == 304));
    case_finish(first);
    case_finish(second);
}
END_TEST

START_TEST(tags_are_taken_from_the_request)
{
    struct http_request request = {.method = HTTP_METHOD_GET, .path = {"/v1/counters/a", 14}};
    struct http_plan plan;
    struct http_response response;
    char text[200];
    memset(text, '"', sizeof text);
    http_response_init(&response);
    request.if_none_match = (struct http_text){text, sizeof plan.if_none_match - 1};
    http_plan(&request, &plan, &response);
    ck_assert_uint_eq(strlen(plan.if_none_match), sizeof plan.if_none_match - 1);
    request.if_none_match.len++; /* too long: as if there were none */
    http_plan(&request, &plan, &response);
    ck_assert_str_eq(plan.if_none_match, "");
    http_response_finish(&response);
}
END_TEST

START_TEST(location_is_encoded)
{
    struct http_case *self = case_plan("PUT", "/v1/counters/a-._~Z9%2F%25%C3%A9%22", NULL, NULL);
    answer(self, "+OK\r\n", 5);
    ck_assert_str_eq(self->response.location, "/v1/counters/a-._~Z9%2F%25%C3%A9%22");
    case_finish(self);
}
END_TEST

START_TEST(location_of_the_longest_name_fits)
{
    char target[1024];
    size_t at = (size_t)snprintf(target, sizeof target, "/v1/counters/");
    for (size_t i = 0; i < LIMIT_NAME_BYTES; i++)
        at += (size_t)snprintf(target + at, sizeof target - at, "%%2F");
    struct http_case *self = case_plan("PUT", target, NULL, NULL);
    answer(self, "+OK\r\n", 5);
    ck_assert_str_eq(self->response.location, target);
    case_finish(self);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof(table)[0])

int main(void)
{
    Suite *suite = suite_create("http_answers");
    TCase *cases = tcase_create("answers");
    tcase_add_loop_test(cases, is_answered, 0, ROWS(answers));
    tcase_add_loop_test(cases, broken_reply_is_an_error, 0, ROWS(answers));
    tcase_add_loop_test(cases, strange_reply_is_an_error, 0, ROWS(strange));
    tcase_add_loop_test(cases, is_a_problem, 0, ROWS(problems));
    tcase_add_loop_test(cases, every_word_has_a_row, ERROR_NONE + 1, ERROR_WORDS);
    tcase_add_loop_test(cases, status_speaks_for_itself, 0, ROWS(statuses));
    tcase_add_test(cases, tag_changes_with_the_counter);
    tcase_add_loop_test(cases, tag_that_is_known_saves_the_body, 0, ROWS(tags));
    tcase_add_test(cases, tags_are_taken_from_the_request);
    tcase_add_test(cases, location_is_encoded);
    tcase_add_test(cases, location_of_the_longest_name_fits);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
