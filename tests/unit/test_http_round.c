/* From request to JSON and back: plans carried out by the real commands on a memory store. What the
 * commands say and what the answers expect can not part unnoticed. */
#include "dispatch_fixture.h"

#include <stdio.h>
#include <string.h>

#include "http_case.h"
#include "uuid.h"

static struct desk *desk;
static struct uuid_source uuid;
static struct session session;
static struct request_host host;
static sem_t completed;

static void zeros(void *context, void *bytes, size_t len)
{
    memset(bytes, 0, len);
}

static void host_completed(struct request_host *self, struct request *request)
{
    sem_post(&completed);
}

static void setup(void)
{
    desk = desk_create(false);
    uuid_init(&uuid, zeros, NULL);
    desk->dispatch.uuid = &uuid;
    oid_saved(&desk->oid, DESK_REAL_S + 10);
    sem_init(&completed, 0, 0);
    host = (struct request_host){.completed = host_completed};
    session_init(&session, &desk->dispatch, &host, 1);
    session.resp3 = true;
}

static void teardown(void)
{
    session_finish(&session);
    sem_destroy(&completed);
    uuid_finish(&uuid);
    desk_destroy(desk);
}

/* The reply of the command, at once or once it has completed. */
static void carry_out(struct http_plan *plan, struct buffer *reply)
{
    struct call call = {.dispatch = &desk->dispatch,
                        .session = &session,
                        .args = plan->args,
                        .argc = plan->argc,
                        .raw = "x",
                        .raw_len = 1, /* nothing behind it: no run */
                        .now = desk_now(),
                        .out = reply};
    enum dispatch_status status = dispatch_call(&call);
    if (status == DISPATCH_WAITS) {
        call.request->session = &session;
        store_worker_submit_batch(desk->dispatch.worker, &host.batch);
        sem_wait(&completed);
        call.request->kind->write(call.request, reply, true);
        call.request->kind->destroy(call.request);
    } else {
        ck_assert_int_eq(status, DISPATCH_REPLIED);
    }
    ck_assert(!reply->failed);
}

/* Ask, and compare. `json` ends with "*": only what stands before it. */
static void asks(const char *method, const char *target, const char *body, int status,
                 const char *json)
{
    struct http_case *self = case_plan(method, target, body, "application/json");
    struct buffer reply;
    buffer_init(&reply, 0);
    ck_assert_msg(self->plan.kind == HTTP_PLAN_COMMAND, "%s", case_text(self));
    carry_out(&self->plan, &reply);
    http_answer(&self->plan, reply.data, reply.len, &self->response);
    const char *text = case_text(self);
    const char *star = strchr(json, '*');
    size_t len = star != NULL ? (size_t)(star - json) : strlen(text) + 1;
    ck_assert_msg(strncmp(text, json, len) == 0, "%s %s: %s", method, target, text);
    ck_assert_int_eq(self->response.status, status);
    buffer_finish(&reply);
    case_finish(self);
}

#define URN "{\"type\":\"urn:idmint:error:"

START_TEST(counter_lives)
{
    asks("GET", "/v1/counters/a", NULL, 404, URN "unknown-counter\"*");
    asks("GET", "/v1/counters", NULL, 200, "{\"counters\":[],\"next\":null}");
    asks("PUT", "/v1/counters/a", "{\"start\":10,\"step\":5,\"max\":50}", 201,
         "{\"name\":\"a\",\"created\":true}");
    asks("POST", "/v1/counters/a/next", NULL, 200, "{\"name\":\"a\",\"first\":10,\"last\":10,*");
    asks("POST", "/v1/next", "{\"name\":\"a\",\"count\":3}", 200,
         "{\"name\":\"a\",\"first\":15,\"last\":25,\"count\":3,*");
    asks("PUT", "/v1/counters/a", "{\"start\":10,\"step\":5,\"max\":50}", 200,
         "{\"name\":\"a\",\"created\":false}");
    asks("PUT", "/v1/counters/a", "{\"start\":10,\"step\":5,\"max\":50,\"value\":20}", 200,
         "{\"name\":\"a\",\"created\":false}");
    asks("PUT", "/v1/counters/a", "{\"start\":10,\"step\":5,\"max\":50,\"value\":30}", 409,
         URN "counter-exists\"*");
    asks("PUT", "/v1/counters/a", NULL, 409, URN "counter-exists\"*");
    asks("POST", "/v1/counters/a/next", "{\"count\":9}", 409, URN "exhausted\"*");
    asks("PATCH", "/v1/counters/a", "{\"raise\":30}", 200,
         "{\"name\":\"a\",\"value\":30,\"value_str\":\"30\"}");
    asks("PATCH", "/v1/counters/a", "{\"raise\":51}", 400, URN "err\"*");
    asks("PATCH", "/v1/counters/a", "{\"reset\":\"-3\",\"force\":true}", 200,
         "{\"name\":\"a\",\"value\":-3,\"value_str\":\"-3\"}");
    asks("PATCH", "/v1/counters/a", "{\"sync\":{\"collection\":\"a.b\",\"field\":\"c\"}}", 400,
         URN "err\"*");
    asks("GET", "/v1/counters/a", NULL, 200,
         "{\"name\":\"a\",\"value\":-3,\"value_str\":\"-3\",\"start\":10,\"start_str\":\"10\","
         "\"step\":5,\"step_str\":\"5\",\"max\":50,"
         "\"max_str\":\"50\",\"cache\":1}");
    asks("DELETE", "/v1/counters/a?force=true", NULL, 204, "");
    asks("DELETE", "/v1/counters/a?force=true", NULL, 404, URN "unknown-counter\"*");
}
END_TEST

START_TEST(counters_are_listed)
{
    char target[64];
    for (int i = 0; i < 3; i++) {
        snprintf(target, sizeof target, "/v1/counters/%d%%2F/next", i);
        asks("POST", target, NULL, 200, "{*");
    }
    asks("GET", "/v1/counters?limit=2&after=0/", NULL, 200,
         "{\"counters\":[{\"name\":\"1/\",\"value\":1,\"value_str\":\"1\",\"start\":1,"
         "\"start_str\":\"1\",\"step\":1,\"step_str\":\"1\","
         "\"max\":9007199254740991,\"max_str\":\"9007199254740991\",\"cache\":1},{\"name\":\"2/"
         "\",*");
    asks("GET", "/v1/counters?prefix=1", NULL, 200, "{\"counters\":[{\"name\":\"1/\",*");
    asks("GET", "/v1/counters?limit=1&prefix=2", NULL, 200, "{\"counters\":[{\"name\":\"2/\",*");
}
END_TEST

START_TEST(store_fails)
{
    desk_script(desk, "not_done,unknown_lost,stop");
    asks("POST", "/v1/counters/a/next", NULL, 503, URN "tryagain\"*");
    asks("POST", "/v1/counters/a/next", NULL, 504, URN "uncertain\"*");
    asks("GET", "/v1/counters/a", NULL, 503, URN "tryagain\"*");
    asks("GET", "/v1/counters", NULL, 503, URN "tryagain\"*");
}
END_TEST

/* The memory store is not asked: ids are under way in one second of the test's own. */
START_TEST(ids)
{
    asks("POST", "/v1/oids", NULL, 200, "{\"ids\":[\"6553f1000102030405060709\"],*");
    asks("POST", "/v1/oids", "{\"count\":2}", 200,
         "{\"ids\":[\"6553f100010203040506070a\",\"6553f100010203040506070b\"],"
         "\"first\":\"6553f100010203040506070a\",\"last\":\"6553f100010203040506070b\",\"count\":"
         "2}");
    asks("POST", "/v1/oids", "{\"count\":1000,\"range\":true}", 200,
         "{\"first\":\"6553f100010203040506070c\",\"last\":\"6553f1000102030405060af3\","
         "\"count\":1000}");
    asks("GET", "/v1/oids/6553f1003f2a91c8d4003039", NULL, 200,
         "{\"id\":\"6553f1003f2a91c8d4003039\",\"time\":\"2023-11-14T22:13:20Z\","
         "\"seconds\":1700000000,\"random\":\"3f2a91c8d4\",\"counter\":12345,"
         "\"legacy\":{\"machine\":\"3f2a91\",\"pid\":51412}}");
    asks("GET", "/v1/oids/x53f1003f2a91c8d400303x0", NULL, 400, URN "err\"*");
    asks("GET", "/v1/oids?at=2023-11-14T22:13:20Z", NULL, 200,
         "{\"id\":\"6553f1000000000000000000\"}");
    asks("GET", "/v1/oids?at=soon", NULL, 400, URN "err\"*");
    asks("POST", "/v1/uuids", NULL, 200,
         "{\"uuids\":[\"00000000-0000-4000-8000-000000000000\"],\"count\":1}");
    asks("POST", "/v1/uuids", "{\"count\":2,\"plain\":true}", 200,
         "{\"uuids\":[\"00000000000040008000000000000000\",\"00000000000040008000000000000000\"],"
         "\"count\":2}");
}
END_TEST

START_TEST(info)
{
    asks("GET", "/v1/info", NULL, 200, "{\"server\":{\"redis_version\":\"7.0.0\",*");
}
END_TEST

START_TEST(without_authentication_nothing_is_done)
{
    session.authenticated = false;
    asks("POST", "/v1/oids", NULL, 401, URN "noauth\"*");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_round");
    TCase *cases = tcase_create("round");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, counter_lives);
    tcase_add_test(cases, counters_are_listed);
    tcase_add_test(cases, store_fails);
    tcase_add_test(cases, ids);
    tcase_add_test(cases, info);
    tcase_add_test(cases, without_authentication_nothing_is_done);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
