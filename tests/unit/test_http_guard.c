/* Who may ask over HTTP: by the head of a request, row by row. */
#include <stdio.h>
#include <unistd.h>

#include "auth.h"
#include "config.h"
#include "http_fixture.h"
#include "http_guard.h"
#include "suite.h"

#define HOST "Host: 127.0.0.1:7378\r\n"
#define CROSS "Sec-Fetch-Site: cross-site\r\n"

static struct config config;
static struct auth *auth;

static void set(const char *key, const char *value)
{
    char why[128];
    ck_assert_int_eq(config_set(&config, "http", key, value, "test", why, sizeof why), 0);
}

/* The one file of credentials that is asked for: a name's, and a password alone. */
static void load_credentials(void)
{
    char path[] = "/tmp/idmint-test-guard-XXXXXX", why[128];
    static const char text[] = "ann:pass:word\nsecret\n";
    int file = mkstemp(path); /* for its owner alone */
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(auth_load(path, &auth, why, sizeof why), 0);
    close(file);
    unlink(path);
}

static void setup(void)
{
    config_init(&config);
    set("hosts", "ids.example, other.example");
    set("origins", "https://shop.example");
    set("open_paths", "/healthz, /v1/counters/public/next");
    load_credentials();
}

static void teardown(void)
{
    auth_destroy(auth);
    config_finish(&config);
}

static int status_of(const char *head, const struct auth *asked)
{
    static const struct http_limits limits = {
        .head_bytes = 16384, .target_bytes = 8192, .headers = 100, .body_bytes = 1024};
    struct outcome outcome;
    struct http_response response;
    char text[1024];
    int len = snprintf(text, sizeof text, "%s\r\n", head);
    read_request(text, (size_t)len, &limits, &outcome);
    ck_assert_msg(outcome.result == HTTP_OK, "%s: %s", head, outcome.why);
    http_response_init(&response);
    bool in = http_guard(&outcome.request, &config, asked, &response);
    int status = in ? 200 : response.status;
    http_response_finish(&response);
    buffer_finish(&outcome.decoded);
    return status;
}

static const struct {
    const char *head;
    int status;
} pages[] = {
    {"GET / HTTP/1.1\r\n" HOST, 200},
    {"GET / HTTP/1.0\r\n", 200},
    {"GET / HTTP/1.1\r\nHost: LOCALHOST\r\n", 200},
    {"GET / HTTP/1.1\r\nHost: [::1]:80\r\n", 200},
    {"GET / HTTP/1.1\r\nHost: Ids.Example:8080\r\n", 200},
    {"GET / HTTP/1.1\r\nHost: 192.0.2.7:7378\r\n", 200},
    {"GET / HTTP/1.1\r\nHost: [2001:db8::7]\r\n", 200},
    {"GET / HTTP/1.1\r\nHost: evil.example\r\n", 421},
    {"GET / HTTP/1.1\r\nHost: 192.0.2.7.evil.example\r\n", 421},
    {"GET / HTTP/1.1\r\nHost: ids.example.evil.example\r\n", 421},
    /* the daemon's own pages, and those of a listed site */
    {"POST /v1/next HTTP/1.1\r\n" HOST "Origin: http://127.0.0.1:7378\r\n", 200},
    {"POST /v1/next HTTP/1.1\r\n" HOST "Origin: http://127.0.0.1:7379\r\n", 403},
    {"POST /v1/next HTTP/1.1\r\n" HOST "Origin: https://shop.example\r\n", 200},
    {"POST /v1/next HTTP/1.1\r\n" HOST "Origin: http://shop.example\r\n", 403},
    {"POST /v1/next HTTP/1.1\r\n" HOST "Origin: null\r\n", 403},
    {"POST /v1/next HTTP/1.1\r\n" HOST "Origin: https://shop.example\r\n" CROSS, 200},
    /* no Origin: what the browser says of the page that asks */
    {"GET / HTTP/1.1\r\n" HOST "Sec-Fetch-Site: none\r\n", 200},
    {"GET / HTTP/1.1\r\n" HOST "Sec-Fetch-Site: same-origin\r\n", 200},
    {"GET / HTTP/1.1\r\n" HOST "Sec-Fetch-Site: same-site\r\n", 403},
    {"GET / HTTP/1.1\r\n" HOST CROSS, 403},
    /* a link that is followed */
    {"GET / HTTP/1.1\r\n" HOST CROSS "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n",
     200},
    {"HEAD / HTTP/1.1\r\n" HOST CROSS "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n",
     200},
    {"POST / HTTP/1.1\r\n" HOST CROSS "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n",
     403},
    {"GET / HTTP/1.1\r\n" HOST CROSS "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n", 403},
    {"GET / HTTP/1.1\r\n" HOST CROSS "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n", 403},
    {"GET / HTTP/1.1\r\n" HOST CROSS "Sec-Fetch-Mode: cors\r\nSec-Fetch-Dest: document\r\n", 403},
};

START_TEST(pages_of_other_sites)
{
    ck_assert_msg(status_of(pages[_i].head, NULL) == pages[_i].status, "%s", pages[_i].head);
}
END_TEST

#define NEXT(name) "POST /v1/counters/" name "/next HTTP/1.1\r\n" HOST
#define WITH(credential) "GET /v1/info HTTP/1.1\r\n" HOST "Authorization: " credential "\r\n"

static const struct {
    const char *head;
    int status;
} asked[] = {
    {"GET /v1/info HTTP/1.1\r\n" HOST, 401},
    {WITH("Bearer secret"), 200},
    {WITH("bearer  secret"), 200},
    {WITH("Bearer ann:pass:word"), 200},
    {WITH("Bearer Secret"), 401},
    {WITH("Bearer secret "), 200}, /* the space is not the value's (RFC 9110, 5.5) */
    {WITH("Bearer"), 401},
    {WITH("Bearer pass:word"), 401},
    {WITH("Secret secret"), 401},
    {WITH("Basic YW5uOnBhc3M6d29yZA=="), 200}, /* ann:pass:word */
    {WITH("Basic OnNlY3JldA=="), 200},         /* :secret */
    {WITH("Basic ZGVmYXVsdDpzZWNyZXQ="), 200}, /* default:secret */
    {WITH("Basic YW5uOnNlY3JldA=="), 401},     /* ann:secret */
    {WITH("Basic c2VjcmV0"), 401},             /* secret, without a colon */
    {WITH("Basic YW5uOnBhc3M6d29yZA="), 401},
    {WITH("Basic YW5uOnBhc3M6d29yZA==="), 401},
    {WITH("Basic =W5uOnBhc3M6d29yZA=="), 401},
    {WITH("Basic ===="), 401},
    {WITH("Basic \xc3\xa4\xc3\xa4"), 401},
    /* paths that are open */
    {"GET /healthz HTTP/1.1\r\n" HOST, 200},
    {"GET /HEALTHZ HTTP/1.1\r\n" HOST, 401},
    {"GET /healthz/ HTTP/1.1\r\n" HOST, 401},
    {"GET /healthz?a=b HTTP/1.1\r\n" HOST, 200},
    {NEXT("public"), 200},
    {NEXT("PUBLIC"), 401}, /* another counter */
    {NEXT("%70ublic"), 401},
    {NEXT("public/../private"), 401},
    /* what another site's page asks first */
    {"OPTIONS /v1/next HTTP/1.1\r\n" HOST "Origin: https://shop.example\r\n", 200},
    {"OPTIONS /v1/next HTTP/1.1\r\n" HOST, 401},
    {"GET /healthz HTTP/1.1\r\n" HOST CROSS, 403},
};

START_TEST(credentials)
{
    ck_assert_msg(status_of(asked[_i].head, auth) == asked[_i].status, "%s", asked[_i].head);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_guard");
    TCase *guard = tcase_create("guard");
    tcase_add_checked_fixture(guard, setup, teardown);
    tcase_add_loop_test(guard, pages_of_other_sites, 0, sizeof pages / sizeof pages[0]);
    tcase_add_loop_test(guard, credentials, 0, sizeof asked / sizeof asked[0]);
    suite_add_tcase(suite, guard);
    return run_suite(suite);
}
