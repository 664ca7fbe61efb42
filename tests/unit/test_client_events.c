/* The client library in event loops, pools and forked children. */
#include <check.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_server.h"
#include "idmint.h"
#include "suite.h"

#define OID "*1\r\n$3\r\nOID\r\n"
#define PING "*1\r\n$4\r\nPING\r\n"
#define NEXT_A "*2\r\n$4\r\nNEXT\r\n$1\r\na\r\n"
#define NEXT_A_5 "*3\r\n$4\r\nNEXT\r\n$1\r\na\r\n$1\r\n5\r\n"
#define GET_A "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
#define OID_2 "*2\r\n$3\r\nOID\r\n$1\r\n2\r\n"
#define RANGE_9 "*3\r\n$3\r\nOID\r\n$5\r\nRANGE\r\n$1\r\n9\r\n"
#define ID_A "6553f1003f2a91c8d4003039"

static struct idmint *open_handle(const char *addresses, uint32_t timeout_ms)
{
    const struct idmint_options options = {
        .addresses = addresses, .timeout_ms = timeout_ms, .connect_timeout_ms = timeout_ms};
    struct idmint *handle = NULL;

    ck_assert_int_eq(idmint_create(&options, &handle), IDMINT_OK);
    return handle;
}

/* As an event loop would. */
static void wait_result(struct idmint *handle, struct idmint_result *result)
{
    for (;;) {
        struct pollfd poll_fd;

        ck_assert_int_eq(idmint_process(handle), IDMINT_OK);
        if (idmint_receive(handle, result)) {
            return;
        }
        ck_assert_int_ge(idmint_wait_ms(handle), 0);
        poll_fd = (struct pollfd){.fd = idmint_fd(handle), .events = idmint_events(handle)};
        ck_assert_int_ge(poll(&poll_fd, 1, idmint_wait_ms(handle)), 0);
    }
}

START_TEST(every_kind_in_order)
{
    const struct fake_step script[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_HELLO, NULL},
        {FAKE_EXPECT, OID NEXT_A NEXT_A_5 GET_A OID_2 RANGE_9 PING},
        {FAKE_PIECES, "+" ID_A "\r\n:3\r\n*2\r\n:4\r\n:8\r\n$1\r\n8\r\n"
                      "*2\r\n+" ID_A "\r\n+" ID_A "\r\n*2\r\n+" ID_A "\r\n$1\r\n9\r\n+PONG\r\n"},
        {FAKE_END, NULL}};
    const char *const ping[] = {"PING"};
    struct fake_server server;
    struct idmint_result result;
    struct idmint_oid ids[2];
    char tokens[7];

    fake_start(&server, script);
    struct idmint *handle = open_handle(server.address, 9000);
    ck_assert_int_eq(idmint_wait_ms(handle), -1);
    ck_assert_int_eq(idmint_submit_oid(handle, &tokens[0]), IDMINT_OK);
    ck_assert_int_eq(idmint_submit_next(handle, "a", 1, &tokens[1]), IDMINT_OK);
    ck_assert_int_eq(idmint_submit_next(handle, "a", 5, &tokens[2]), IDMINT_OK);
    ck_assert_int_eq(idmint_submit_get(handle, "a", &tokens[3]), IDMINT_OK);
    ck_assert_int_eq(idmint_submit_oids(handle, 2, ids, &tokens[4]), IDMINT_OK);
    ck_assert_int_eq(idmint_submit_range(handle, 9, &tokens[5]), IDMINT_OK);
    ck_assert_int_eq(idmint_submit_command(handle, 1, ping, NULL, &tokens[6]), IDMINT_OK);
    ck_assert_uint_eq(idmint_outstanding(handle), 7);
    ck_assert_int_eq(idmint_ping(handle), IDMINT_ARGUMENT);
    for (size_t i = 0; i < 7; i++) {
        wait_result(handle, &result);
        ck_assert_int_eq(result.outcome, IDMINT_OK);
        ck_assert_ptr_eq(result.token, &tokens[i]);
        ck_assert_int_eq(i == 1 ? result.first : 3, 3);
        ck_assert_int_eq(i == 2 ? result.last - result.first : 4, 4);
        ck_assert(i != 3 || (result.present && result.last == 8));
        ck_assert_uint_eq(i == 4 ? result.count : 2, 2);
        ck_assert_uint_eq(i == 5 ? result.count : 9, 9);
        ck_assert(i != 6 || (result.value_count == 1 && result.values[0].len == 4));
    }
    ck_assert(!idmint_receive(handle, &result));
    ck_assert_uint_eq(idmint_outstanding(handle), 0);
    idmint_destroy(handle);
    fake_finish(&server);
}
END_TEST

/* What was answered before the hang-up counts; what was sent is unknown, the read is not; what was
 * submitted after it goes out on a new connection. */
START_TEST(lost_in_the_middle)
{
    const struct fake_step script[] = {
        {FAKE_ACCEPT, NULL},   {FAKE_HELLO, NULL},    {FAKE_EXPECT, NEXT_A NEXT_A GET_A},
        {FAKE_SEND, ":1\r\n"}, {FAKE_CLOSE, NULL},    {FAKE_ACCEPT, NULL},
        {FAKE_HELLO, NULL},    {FAKE_EXPECT, NEXT_A}, {FAKE_SEND, ":3\r\n"},
        {FAKE_END, NULL}};
    const int expected[] = {IDMINT_OK, IDMINT_UNKNOWN, IDMINT_NOT_DONE, IDMINT_OK};
    struct fake_server server;
    struct idmint_result result;

    fake_start(&server, script);
    struct idmint *handle = open_handle(server.address, 9000);
    ck_assert_int_eq(idmint_submit_next(handle, "a", 1, NULL), IDMINT_OK);
    ck_assert_int_eq(idmint_submit_next(handle, "a", 1, NULL), IDMINT_OK);
    ck_assert_int_eq(idmint_submit_get(handle, "a", NULL), IDMINT_OK);
    for (size_t i = 0; i < 4; i++) {
        wait_result(handle, &result);
        ck_assert_int_eq(result.outcome, expected[i]);
        if (i == 0) {
            /* The server may be gone already: then this is not sent to it. */
            while (idmint_fd(handle) >= 0) {
                struct pollfd poll_fd = {.fd = idmint_fd(handle), .events = POLLIN};
                ck_assert_int_eq(poll(&poll_fd, 1, -1), 1);
                ck_assert_int_eq(idmint_process(handle), IDMINT_OK);
            }
            ck_assert_int_eq(idmint_submit_next(handle, "a", 1, NULL), IDMINT_OK);
        }
    }
    ck_assert_int_eq(result.first, 3);
    idmint_destroy(handle);
    fake_finish(&server);
}
END_TEST

START_TEST(silence_ends_each)
{
    const struct fake_step script[] = {{FAKE_ACCEPT, NULL},
                                       {FAKE_HELLO, NULL},
                                       {FAKE_EXPECT, NEXT_A NEXT_A},
                                       {FAKE_SILENT, NULL},
                                       {FAKE_END, NULL}};
    struct fake_server server;
    struct idmint_result result;

    fake_start(&server, script);
    struct idmint *handle = open_handle(server.address, 50);
    ck_assert_int_eq(idmint_submit_next(handle, "a", 1, NULL), IDMINT_OK);
    ck_assert_int_eq(idmint_submit_next(handle, "a", 1, NULL), IDMINT_OK);
    for (size_t i = 0; i < 2; i++) {
        wait_result(handle, &result);
        ck_assert_int_eq(result.outcome, IDMINT_UNKNOWN);
    }
    ck_assert_int_eq(idmint_fd(handle), -1);
    idmint_destroy(handle);
    fake_finish(&server);
}
END_TEST

START_TEST(nobody_there_ends_each)
{
    struct idmint_result result;
    char address[64];

    fake_closed_address(address);
    struct idmint *handle = open_handle(address, 9000);
    for (size_t i = 0; i < 40; i++) {
        ck_assert_int_eq(idmint_submit_oid(handle, NULL), IDMINT_OK);
    }
    for (size_t i = 0; i < 40; i++) {
        wait_result(handle, &result);
        ck_assert_int_eq(result.outcome, IDMINT_NOT_DONE);
        ck_assert_ptr_nonnull(strstr(idmint_error(handle), address));
    }
    ck_assert_uint_eq(idmint_outstanding(handle), 0);
    idmint_destroy(handle);
}
END_TEST

/* A request that was not written whole was not done: it ends on the next connection. */
START_TEST(partly_written_goes_elsewhere)
{
    const size_t count = 4000, arg_bytes = 4000;
    const struct fake_step first[] = {{FAKE_ACCEPT, NULL},
                                      {FAKE_HELLO, NULL},
                                      {FAKE_EXPECT, "*2\r\n$4\r\nECHO\r\n$4000\r\n"},
                                      {FAKE_RESET, NULL},
                                      {FAKE_END, NULL}};
    const struct fake_step second[] = {{FAKE_ACCEPT, NULL},
                                       {FAKE_HELLO, NULL},
                                       {FAKE_EXPECT, "*2\r\n$4\r\nECHO\r\n$4000\r\n"},
                                       {FAKE_RESET, NULL},
                                       {FAKE_END, NULL}};
    struct fake_server bad, good;
    struct idmint_result result;
    char list[140];
    char *arg = malloc(arg_bytes + 1);
    size_t unknown = 0, not_done = 0;

    ck_assert_ptr_nonnull(arg);
    memset(arg, 'x', arg_bytes);
    arg[arg_bytes] = '\0';
    const char *const args[] = {"ECHO", arg};
    fake_start(&bad, first);
    fake_start(&good, second);
    snprintf(list, sizeof(list), "%s,%s", bad.address, good.address);
    struct idmint *handle = open_handle(list, 9000);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(idmint_submit_command(handle, 2, args, NULL, NULL), IDMINT_OK);
    }
    for (size_t i = 0; i < count; i++) {
        wait_result(handle, &result);
        unknown += result.outcome == IDMINT_UNKNOWN;
        not_done += result.outcome == IDMINT_NOT_DONE;
    }
    /* 16 MB do not fit into the sockets' buffers, so both kinds are there, and nothing else. */
    ck_assert_uint_gt(unknown, 0);
    ck_assert_uint_gt(not_done, 0);
    ck_assert_uint_eq(unknown + not_done, count);
    idmint_destroy(handle);
    fake_finish(&bad);
    fake_finish(&good);
    free(arg);
}
END_TEST

START_TEST(outstanding_bounded)
{
    char address[64];

    fake_closed_address(address);
    struct idmint *handle = open_handle(address, 9000);
    for (size_t i = 0; i < IDMINT_OUTSTANDING_MAX; i++) {
        ck_assert_int_eq(idmint_submit_oid(handle, NULL), IDMINT_OK);
    }
    ck_assert_int_eq(idmint_submit_oid(handle, NULL), IDMINT_NOT_DONE);
    idmint_disconnect(handle);
    ck_assert_uint_eq(idmint_outstanding(handle), 0);
    idmint_destroy(handle);
}
END_TEST

START_TEST(forked)
{
    const struct fake_step script[] = {
        {FAKE_ACCEPT, NULL},   {FAKE_HELLO, NULL},    {FAKE_EXPECT, PING}, {FAKE_SEND, "+PONG\r\n"},
        {FAKE_EXPECT, NEXT_A}, {FAKE_SEND, ":7\r\n"}, {FAKE_END, NULL}};
    struct fake_server server;
    struct idmint_pool *pool;
    int64_t value = -1;
    int status;

    fake_start(&server, script);
    struct idmint *handle = open_handle(server.address, 9000);
    ck_assert_int_eq(idmint_pool_create(NULL, 1, &pool), IDMINT_OK);
    ck_assert_int_eq(idmint_ping(handle), IDMINT_OK);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct idmint_result result;
        struct idmint *other;
        bool refused = idmint_next(handle, "a", &value) == IDMINT_FORKED &&
                       idmint_submit_oid(handle, NULL) == IDMINT_FORKED &&
                       idmint_process(handle) == IDMINT_FORKED &&
                       !idmint_receive(handle, &result) &&
                       idmint_pool_take(pool, &other) == IDMINT_FORKED;

        idmint_destroy(handle);
        idmint_pool_destroy(pool);
        _exit(refused ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(idmint_next(handle, "a", &value), IDMINT_OK);
    ck_assert_int_eq(value, 7);
    idmint_pool_destroy(pool);
    idmint_destroy(handle);
    fake_finish(&server);
}
END_TEST

#define POOL_THREADS 4
#define POOL_TURNS 2000

struct pool_work {
    struct idmint_pool *pool;
    pthread_mutex_t lock;
    struct idmint *held[POOL_THREADS];
    bool shared; /* two threads had one handle */
    bool starved;
};

static void note(struct pool_work *work, struct idmint *handle, bool take)
{
    pthread_mutex_lock(&work->lock);
    for (size_t i = 0; i < POOL_THREADS; i++) {
        if (take && work->held[i] == handle) {
            work->shared = true;
        }
    }
    for (size_t i = 0; i < POOL_THREADS; i++) {
        if (work->held[i] == (take ? NULL : handle)) {
            work->held[i] = take ? handle : NULL;
            break;
        }
    }
    pthread_mutex_unlock(&work->lock);
}

static void *use_pool(void *context)
{
    struct pool_work *work = context;
    struct idmint *handle;

    for (size_t i = 0; i < POOL_TURNS; i++) {
        if (idmint_pool_take(work->pool, &handle) != IDMINT_OK) {
            pthread_mutex_lock(&work->lock);
            work->starved = true;
            pthread_mutex_unlock(&work->lock);
            return NULL;
        }
        note(work, handle, true);
        note(work, handle, false);
        idmint_pool_give(work->pool, handle);
    }
    return NULL;
}

START_TEST(pool_lends_to_one_at_a_time)
{
    const struct idmint_options options = {.timeout_ms = 60000};
    struct pool_work work = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[POOL_THREADS];
    ck_assert_int_eq(idmint_pool_create(&options, 2, &work.pool), IDMINT_OK);
    for (size_t i = 0; i < POOL_THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use_pool, &work), 0);
    }
    for (size_t i = 0; i < POOL_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert(!work.shared && !work.starved);
    idmint_pool_destroy(work.pool);
}
END_TEST

START_TEST(pool_is_bounded)
{
    const struct idmint_options options = {.timeout_ms = 10}, wrong = {.addresses = "x:0"};
    struct idmint *one, *two, *none = NULL;
    struct idmint_pool *pool;

    ck_assert_int_eq(idmint_pool_create(&wrong, 2, &pool), IDMINT_ARGUMENT);
    ck_assert_int_eq(idmint_pool_create(&options, 0, &pool), IDMINT_ARGUMENT);
    ck_assert_int_eq(idmint_pool_create(&options, 2, &pool), IDMINT_OK);
    ck_assert_int_eq(idmint_pool_take(pool, &one), IDMINT_OK);
    ck_assert_int_eq(idmint_pool_take(pool, &two), IDMINT_OK);
    ck_assert_int_eq(idmint_pool_take(pool, &none), IDMINT_NOT_DONE);
    ck_assert_ptr_null(none);
    /* What is outstanding does not reach the next user. */
    ck_assert_int_eq(idmint_submit_oid(one, NULL), IDMINT_OK);
    idmint_pool_give(pool, one);
    ck_assert_int_eq(idmint_pool_take(pool, &none), IDMINT_OK);
    ck_assert_ptr_eq(none, one);
    ck_assert_uint_eq(idmint_outstanding(none), 0);
    idmint_pool_give(pool, none);
    idmint_pool_give(pool, two);
    idmint_pool_destroy(pool);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("client_events");
    TCase *tcase = tcase_create("events");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, every_kind_in_order);
    tcase_add_test(tcase, lost_in_the_middle);
    tcase_add_test(tcase, silence_ends_each);
    tcase_add_test(tcase, nobody_there_ends_each);
    tcase_add_test(tcase, partly_written_goes_elsewhere);
    tcase_add_test(tcase, outstanding_bounded);
    tcase_add_test(tcase, forked);
    tcase_add_test(tcase, pool_lends_to_one_at_a_time);
    tcase_add_test(tcase, pool_is_bounded);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
