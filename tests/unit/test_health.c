/* Alive, ready, leading: yes or no, and why. */
#include "dispatch_fixture.h"

#include <stdio.h>

#include "health.h"

static struct desk *desk;
static char text[1024]; /* the JSON that was told last */

static void setup(void)
{
    desk = desk_create(false);
}

static void teardown(void)
{
    desk_destroy(desk);
}

static bool ask(bool (*what)(const struct dispatch *, struct clock_now, struct buffer *),
                struct clock_now now)
{
    struct buffer json;
    buffer_init(&json, 0);
    bool answer = what(&desk->dispatch, now, &json);
    ck_assert_uint_lt(json.len, sizeof text);
    memcpy(text, json.data, json.len);
    text[json.len] = '\0';
    buffer_finish(&json);
    return answer;
}

static struct clock_now later(int64_t ms)
{
    struct clock_now now = desk_now();
    now.real_ms += ms;
    now.boot_ms += ms;
    return now;
}

static struct store_worker_stats look(void)
{
    struct store_worker_stats stats;
    store_worker_look(desk->dispatch.worker, &stats);
    return stats;
}

#define ck_says(part) ck_assert_msg(strstr(text, (part)) != NULL, "no %s in %s", (part), text)
#define ck_says_not(part) ck_assert_msg(strstr(text, (part)) == NULL, "%s in %s", (part), text)

START_TEST(alive)
{
    desk->state.uptime_s = 42;
    ck_assert(ask(health_alive, desk_now()));
    ck_assert_str_eq(text, "{\"alive\":true,\"version\":\"" IDMINT_VERSION "\",\"uptime_s\":42}");
}
END_TEST

START_TEST(ready_before_anything_was_asked)
{
    ck_assert(ask(health_ready, desk_now()));
    ck_says("{\"ready\":true,\"store\":\"desk\",\"answered_ms_ago\":");
    ck_says_not("why");
}
END_TEST

START_TEST(not_ready_while_commits_fail)
{
    desk_script(desk, "ok,not_done,unknown_lost,ok");
    ck_assert_int_eq(desk_next(desk, "n"), ERROR_NONE);
    ck_assert(ask(health_ready, desk_now()));
    for (int i = 0; i < 2; i++) {
        ck_assert(desk_next(desk, "n") != ERROR_NONE);
        ck_assert(!ask(health_ready, later(9000)));
        ck_says("{\"ready\":false,\"store\":\"desk\",\"why\":\"a fault by script\",");
        ck_says("\"since\":\"2023-11-14T22:13:"); /* 9 s before it was asked */
        ck_says("\"for_ms\":90");
        ck_says("\"answered_ms_ago\":90");
    }
    ck_assert_int_eq(desk_next(desk, "n"), ERROR_NONE);
    ck_assert(ask(health_ready, desk_now()));
    ck_says_not("why");
}
END_TEST

static void wait_past(int64_t boot_ms)
{
    while (desk_now().boot_ms <= boot_ms)
        continue;
}

START_TEST(since_when)
{
    int64_t began_ms = look().answered_ms;
    ck_assert_int_gt(began_ms, 0);
    wait_past(began_ms);
    ck_assert_int_eq(desk_next(desk, "n"), ERROR_NONE);
    int64_t answered_ms = look().answered_ms;
    ck_assert_int_gt(answered_ms, began_ms);
    desk_script(desk, "not_done*2");
    ck_assert_int_eq(desk_next(desk, "n"), ERROR_TRYAGAIN);
    int64_t failing_ms = look().failing_ms;
    ck_assert_int_ge(failing_ms, answered_ms);
    wait_past(failing_ms);
    ck_assert_int_eq(desk_next(desk, "n"), ERROR_TRYAGAIN);
    ck_assert_int_eq(look().failing_ms, failing_ms);
    ck_assert_int_eq(look().answered_ms, answered_ms);
}
END_TEST

struct read_order {
    struct counter_order order;
    struct desk *desk;
};

static void read_done(struct counter_order *order)
{
    sem_post(&((struct read_order *)order)->desk->done);
}

static enum store_result read_counter(const char *name)
{
    struct read_order read = {.desk = desk, .order = {.done = read_done}};
    read.order.op.verb = STORE_READ;
    read.order.op.name = name;
    read.order.op.name_len = strlen(name);
    counter_submit(desk->dispatch.counters, &read.order);
    sem_wait(&desk->done);
    return read.order.op.result;
}

/* A full disk can still be read. Where nothing is tried for long, the next ones may. */
START_TEST(reads_do_not_show_that_it_can_be_written)
{
    ck_assert_int_eq(desk_next(desk, "n"), ERROR_NONE);
    desk_script(desk, "not_done*1");
    ck_assert_int_eq(desk_next(desk, "n"), ERROR_TRYAGAIN);
    ck_assert_int_eq(read_counter("n"), STORE_DONE);
    ck_assert(!ask(health_ready, desk_now()));
    ck_assert(!ask(health_ready, later(9000)));
    ck_assert(ask(health_ready, later(10001)));
    ck_assert_int_eq(desk_next(desk, "n"), ERROR_NONE);
    ck_assert(ask(health_ready, desk_now()));
}
END_TEST

/* An op that the store refuses is an answer. */
START_TEST(refusals_are_answers)
{
    struct store_counter full = {.value = 1, .start = 1, .step = 1, .max = 1, .cache = 1};
    ck_assert_int_eq(counters_override(desk->dispatch.counters, "full", 4, &full), 0);
    ck_assert_int_eq(desk_next(desk, "full"), ERROR_NONE);
    ck_assert_int_eq(desk_next(desk, "full"), ERROR_EXHAUSTED);
    ck_assert(ask(health_ready, desk_now()));
}
END_TEST

START_TEST(not_ready_while_a_commit_hangs)
{
    struct desk_take take;
    desk->closed = true;
    desk_ask(desk, &take, "n");
    sem_wait(&desk->entered);
    int64_t most_ms = desk->config.limits.request_ms;
    struct clock_now now = desk_now();
    now.boot_ms = look().busy_ms + most_ms;
    ck_assert(ask(health_ready, now));
    now.boot_ms++;
    ck_assert(!ask(health_ready, now));
    ck_says(
        "\"ready\":false,\"store\":\"desk\",\"why\":\"the store does not answer\",\"since\":\"");
    sem_post(&desk->leave);
    sem_wait(&desk->done);
    ck_assert_int_eq(take.take.error, ERROR_NONE);
    ck_assert(ask(health_ready, later(most_ms + 1)));
}
END_TEST

START_TEST(leads_where_the_store_is_its_own)
{
    ck_assert(ask(health_leads, desk_now()));
    ck_assert_str_eq(text, "{\"leads\":true,\"leader\":null,\"lease\":false}");
}
END_TEST

START_TEST(leads_by_the_lease_where_it_is_shared)
{
    desk_destroy(desk);
    desk = desk_create(true);
    leader_advertise(&desk->leader, "a\"b:1");
    ck_assert(!ask(health_leads, desk_now()));
    ck_says("{\"leads\":false,\"leader\":null,\"lease\":true,\"epoch\":0,\"lease_left_ms\":0}");
    /* Look, then take. The worker answers on a thread of its own, by a clock that goes on. */
    struct clock_now now = desk_now();
    for (; !leader_leads(&desk->leader, now.boot_ms); now = desk_now())
        leader_tick(&desk->leader, now);
    ck_assert(ask(health_leads, now));
    ck_says("{\"leads\":true,\"leader\":\"a\\\"b:1\",\"lease\":true,\"epoch\":1,"
            "\"lease_left_ms\":1");
    now.boot_ms += 20000;
    ck_assert(!ask(health_leads, now));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("health");
    TCase *tcase = tcase_create("health");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, alive);
    tcase_add_test(tcase, ready_before_anything_was_asked);
    tcase_add_test(tcase, not_ready_while_commits_fail);
    tcase_add_test(tcase, since_when);
    tcase_add_test(tcase, refusals_are_answers);
    tcase_add_test(tcase, reads_do_not_show_that_it_can_be_written);
    tcase_add_test(tcase, not_ready_while_a_commit_hangs);
    tcase_add_test(tcase, leads_where_the_store_is_its_own);
    tcase_add_test(tcase, leads_by_the_lease_where_it_is_shared);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
