/* HTTP requests: read from the whole input and from each of its prefixes. A prefix must ask for
 * more or give what the whole gives, and must not ask for more than what decides. A request that
 * was read, written out plainly, is the same request. Who may not ask is told so. It becomes an
 * answer or a command of the line protocol that is one, and what stands behind it is taken for the
 * command's reply. */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "auth.h"
#include "commands.h"
#include "config.h"
#include "fuzz_check.h"
#include "http_api.h"
#include "http_guard.h"

/* The prefixes of one input cost the square of its length. */
#define MAX_PREFIX 500

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct http_limits LIMITS[] = {
    {.head_bytes = 16384, .target_bytes = 4096, .headers = 64, .body_bytes = 65536},
    {.head_bytes = 120, .target_bytes = 24, .headers = 4, .body_bytes = 20},
};

struct outcome {
    int result, status;
    size_t used, head;
    const char *why;
    struct http_request request;
    struct buffer decoded;
};

static void check_text(const struct http_text *text)
{
    for (size_t i = 0; i < text->len; i++) {
        const unsigned char c = (unsigned char)text->data[i];
        FUZZ_CHECK((c >= ' ' && c != 0x7f) || c == '\t');
    }
}

static void check_request(const struct outcome *outcome)
{
    const struct http_request *request = &outcome->request;
    FUZZ_CHECK(request->path.len > 0 && (request->path.data[0] == '/' || request->path.len == 1));
    FUZZ_CHECK(request->http_1_0 || request->host.len > 0);
    check_text(&request->path);
    check_text(&request->query);
    check_text(&request->host);
    check_text(&request->origin);
    check_text(&request->authorization);
    check_text(&request->content_type);
    check_text(&request->if_match);
    check_text(&request->if_none_match);
    check_text(&request->last_event_id);
    check_text(&request->idempotency_key);
    check_text(&request->sec_fetch_site);
    check_text(&request->sec_fetch_mode);
    check_text(&request->sec_fetch_dest);
}

static void read_request(const char *bytes, size_t len, const struct http_limits *limits,
                         struct outcome *outcome)
{
    const size_t most =
        2 + limits->head_bytes + limits->body_bytes + (size_t)HTTP_CHUNK_FRAMING_BYTES;
    *outcome = (struct outcome){.head = 1};
    buffer_init(&outcome->decoded, 0);
    outcome->result =
        http_read_request(bytes, len, limits, &outcome->decoded, &outcome->request, &outcome->used,
                          &outcome->head, &outcome->status, &outcome->why);
    switch (outcome->result) {
    case HTTP_OK:
        FUZZ_CHECK(outcome->used <= len && outcome->head > 0 && outcome->head <= outcome->used);
        FUZZ_CHECK(outcome->used <= most && outcome->request.body.len <= limits->body_bytes);
        check_request(outcome);
        break;
    case HTTP_MORE:
        FUZZ_CHECK(outcome->used > len && outcome->used <= most && outcome->head <= len);
        break;
    default:
        FUZZ_CHECK(outcome->result == HTTP_BAD && outcome->why != NULL);
        FUZZ_CHECK(outcome->status >= 400 && outcome->status <= 505);
    }
}

static void expect_same_text(const struct http_text *one, const struct http_text *other)
{
    FUZZ_CHECK(one->len == other->len && (one->data == NULL) == (other->data == NULL));
    FUZZ_CHECK(one->len == 0 || memcmp(one->data, other->data, one->len) == 0);
}

static void expect_same(const struct http_request *one, const struct http_request *other)
{
    FUZZ_CHECK(one->method == other->method && one->http_1_0 == other->http_1_0);
    FUZZ_CHECK(one->keep_alive == other->keep_alive);
    expect_same_text(&one->path, &other->path);
    expect_same_text(&one->query, &other->query);
    expect_same_text(&one->host, &other->host);
    expect_same_text(&one->body, &other->body);
}

static void check_prefixes(const char *bytes, size_t len, const struct http_limits *limits,
                           const struct outcome *whole)
{
    size_t wanted = 0;
    for (size_t end = 0; end <= len && end <= MAX_PREFIX; end++) {
        char *prefix = fuzz_copy(bytes, end);
        struct outcome part;
        read_request(prefix, end, limits, &part);
        if (part.result == HTTP_MORE) {
            wanted = part.used > wanted ? part.used : wanted;
            FUZZ_CHECK(end < len || whole->result == HTTP_MORE);
        } else {
            FUZZ_CHECK(end >= wanted && part.result == whole->result);
        }
        if (part.result == HTTP_OK) {
            FUZZ_CHECK(part.used == whole->used && part.head == whole->head);
            expect_same(&part.request, &whole->request);
        }
        if (part.result == HTTP_BAD) {
            FUZZ_CHECK(part.status == whole->status && part.why == whole->why);
        }
        buffer_finish(&part.decoded);
        free(prefix);
    }
}

static void put(struct buffer *out, const char *text)
{
    buffer_append(out, text, strlen(text));
}

static void check_written(const struct http_request *request)
{
    static const char *const METHODS[] = {"GET",   "HEAD",   "POST",   "PUT",
                                          "PATCH", "DELETE", "OPTIONS"};
    struct http_limits limits = LIMITS[0];
    struct outcome again;
    struct buffer out;
    char length[40];
    limits.head_bytes += 100;
    snprintf(length, sizeof(length), "Content-Length: %zu\r\n\r\n", request->body.len);
    buffer_init(&out, 0);
    put(&out, METHODS[request->method]);
    put(&out, " ");
    buffer_append(&out, request->path.data, request->path.len);
    put(&out, request->query.data != NULL ? "?" : "");
    buffer_append(&out, request->query.data, request->query.len);
    put(&out, request->http_1_0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
    put(&out, request->host.data != NULL ? "Host:" : "");
    buffer_append(&out, request->host.data, request->host.len);
    put(&out, request->host.data != NULL ? "\r\n" : "");
    put(&out, request->keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n");
    put(&out, length);
    buffer_append(&out, request->body.data, request->body.len);
    read_request(out.data, out.len, &limits, &again);
    FUZZ_CHECK(again.result == HTTP_OK && again.used == out.len);
    expect_same(request, &again.request);
    buffer_finish(&again.decoded);
    buffer_finish(&out);
}

static void check_response(const struct http_response *response)
{
    FUZZ_CHECK(response->status >= 200 && response->status <= 599);
    FUZZ_CHECK(response->content_type != NULL || response->body.len == 0);
    FUZZ_CHECK(strlen(response->location) < sizeof(response->location));
    for (const char *p = response->location; *p != '\0'; p++) {
        FUZZ_CHECK(*p > ' ' && *p < 0x7f);
    }
    for (const char *p = response->etag; *p != '\0'; p++) {
        FUZZ_CHECK(*p > ' ' && *p < 0x7f);
    }
    if (response->content_type != NULL && response->body.len > 0) {
        json_t *json = json_loadb(response->body.data, response->body.len, JSON_ALLOW_NUL, NULL);
        FUZZ_CHECK(strstr(response->content_type, "json") != NULL && json_is_object(json));
        json_decref(json);
    }
}

static bool arg_is(const struct http_plan *plan, size_t index, const char *word)
{
    return index < plan->argc && plan->args[index].len == strlen(word) &&
           memcmp(plan->args[index].data, word, plan->args[index].len) == 0;
}

/* The flags of the plan's command, whose arguments are as many as it takes. */
static int command_flags(const struct http_plan *plan)
{
#define COMMAND_ROW(id, name, subcommand, fewest, most, flags, syntax, summary, reply)             \
    {name, subcommand, fewest, most, flags},
    static const struct {
        const char *name, *subcommand;
        int fewest, most, flags;
    } ROWS[] = {COMMAND_ROWS};
#undef COMMAND_ROW
    for (size_t i = sizeof(ROWS) / sizeof(ROWS[0]); i-- > 0;) {
        const int words = ROWS[i].subcommand[0] == '\0' ? 1 : 2;
        const int args = (int)plan->argc - words;
        if (arg_is(plan, 0, ROWS[i].name) && (words == 1 || arg_is(plan, 1, ROWS[i].subcommand)) &&
            args >= ROWS[i].fewest && (args <= ROWS[i].most || ROWS[i].most < 0)) {
            return ROWS[i].flags;
        }
    }
    abort();
}

static void check_plan(const struct http_request *request, const char *reply, size_t len)
{
    struct http_plan plan;
    struct http_response response;
    http_response_init(&response);
    http_plan(request, &plan, &response);
    FUZZ_CHECK((response.status != 0) == (plan.kind == HTTP_PLAN_ANSWER));
    /* What must not be carried out as if it had been said without this. */
    FUZZ_CHECK(request->method == HTTP_METHOD_GET || request->method == HTTP_METHOD_HEAD ||
               (request->idempotency_key.data == NULL && request->if_match.data == NULL &&
                request->if_none_match.data == NULL) ||
               plan.kind == HTTP_PLAN_ANSWER);
    if (plan.kind == HTTP_PLAN_COMMAND) {
        FUZZ_CHECK(plan.argc > 0 && plan.argc <= HTTP_PLAN_ARGS);
        if (request->method == HTTP_METHOD_GET || request->method == HTTP_METHOD_HEAD) {
            FUZZ_CHECK((command_flags(&plan) & (COMMAND_WRITE | COMMAND_ADMIN)) == 0);
        } else {
            command_flags(&plan);
        }
        http_answer(&plan, reply, len, &response);
    }
    if (plan.kind != HTTP_PLAN_PAGE) {
        check_response(&response);
    }
    http_response_finish(&response);
}

/* Read once: a file of one credential, and a list in each place where there may be one. */
static const struct auth *get_ready(struct config *config)
{
    static const char text[] = "ann:secret\n";
    char path[] = "/tmp/idmint-fuzz-XXXXXX", why[128];
    struct auth *auth = NULL;
    config_init(config);
    FUZZ_CHECK(config_set(config, "http", "hosts", "a, b.example", "", why, sizeof why) == 0);
    FUZZ_CHECK(config_set(config, "http", "origins", "http://a", "", why, sizeof why) == 0);
    int file = mkstemp(path);
    FUZZ_CHECK(write(file, text, strlen(text)) == (ssize_t)strlen(text));
    FUZZ_CHECK(auth_load(path, &auth, why, sizeof why) == 0);
    close(file);
    unlink(path);
    return auth;
}

static void check_guard(const struct http_request *request)
{
    static struct config config;
    static const struct auth *auth = NULL;
    struct http_response response;
    if (auth == NULL) {
        auth = get_ready(&config);
    }
    http_response_init(&response);
    if (!http_guard(request, &config, auth, &response)) {
        FUZZ_CHECK(response.status == 401 || response.status == 403 || response.status == 421);
        check_response(&response);
    }
    http_response_finish(&response);
}

static void check_requests(const char *bytes, size_t len, const struct http_limits *limits)
{
    struct outcome whole;
    do {
        read_request(bytes, len, limits, &whole);
        check_prefixes(bytes, len, limits, &whole);
        if (whole.result == HTTP_OK) {
            check_written(&whole.request);
            bytes += whole.used;
            len -= whole.used;
            check_guard(&whole.request);
            check_plan(&whole.request, bytes, len);
        }
        buffer_finish(&whole.decoded);
    } while (whole.result == HTTP_OK && len > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = fuzz_copy(data, size);
    check_requests(bytes, size, &LIMITS[0]);
    check_requests(bytes, size, &LIMITS[1]);
    free(bytes);
    return 0;
}
