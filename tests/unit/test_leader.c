/* The lease and the high water together: what must be settled before ids are issued. The store is a
 * record here, and answers when the test says so. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "leader.h"
#include "suite.h"

#define REAL_S INT64_C(1700000000)
#define LENGTH_MS 20000
#define MARGIN_MS 1000
#define WINDOW_S 20

/* Stands in for store_worker.c. */
struct store_worker {
    struct store_op *asked;
};

void store_worker_submit(struct store_worker *worker, struct store_op *op)
{
    ck_assert_ptr_null(worker->asked); /* one ask at a time */
    worker->asked = op;
}

static struct clock_now now;
static struct store_worker worker;
static struct store_lease record; /* as the store has it */
static struct oid_issuer oid;
static struct leader leader;
static bool ended; /* what is known of the owner before */
static int told[LEADER_FOLLOWS + 1];

static struct clock_now get_now(void)
{
    return now;
}

static bool owner_ended(const char *owner)
{
    return ended && strcmp(owner, "other") == 0;
}

static void count_event(void *context, enum leader_event event, const char *address)
{
    told[event]++;
}

static void start(void)
{
    static const uint8_t random[OBJECTID_RANDOM_BYTES + 3] = {1, 2, 3, 4, 5, 6, 7, 8};
    const struct oid_settings oid_settings = {
        .lead_ms = 2000, .forward_ms = 3600000, .settle_ms = 60000, .window_s = WINDOW_S};
    struct leader_settings settings = {
        .lease = {.length_ms = LENGTH_MS, .margin_ms = MARGIN_MS, .owner = "me"},
        .now = get_now,
        .owner_ended = owner_ended,
        .event = count_event};
    now = (struct clock_now){.real_ms = REAL_S * 1000, .boot_ms = 500000};
    worker.asked = NULL;
    record = (struct store_lease){.high_water_s = -1};
    ended = false;
    memset(told, 0, sizeof told);
    oid_init(&oid, &oid_settings, random, now, -1);
    leader_init(&leader, &settings, true, &oid, &worker);
    leader_advertise(&leader, "127.0.0.1:1");
}

static void finish(void)
{
    leader_finish(&leader);
}

static void pass(int64_t ms)
{
    now.real_ms += ms;
    now.boot_ms += ms;
}

/* Tick until something is asked. */
static enum store_verb ask(void)
{
    for (int i = 0; worker.asked == NULL; i++) {
        ck_assert_int_lt(i, 1000);
        leader_tick(&leader, now);
        if (worker.asked == NULL)
            pass(100);
    }
    return worker.asked->verb;
}

/* The store does what it was asked. */
static void answer(void)
{
    struct store_op *op = worker.asked;
    worker.asked = NULL;
    (void)store_lease_apply(op, &record);
    op->done(op);
}

/* It may have done it or not: that is not known. */
static void answer_unknown(bool applied)
{
    struct store_op *op = worker.asked;
    worker.asked = NULL;
    if (applied)
        (void)store_lease_apply(op, &record);
    op->result = STORE_UNKNOWN;
    op->done(op);
}

static int take(uint64_t *tick)
{
    if (!leader_leads(&leader, now.boot_ms))
        return 1; /* no enum oid_status */
    return oid_take(&oid, now, 1, tick);
}

static void lead(void)
{
    ck_assert_int_eq(ask(), STORE_LEASE_READ);
    answer();
    ck_assert_int_eq(ask(), STORE_LEASE_TAKE);
    answer();
    ck_assert_int_eq(ask(), STORE_LEASE_RENEW);
    answer();
    ck_assert(leader_leads(&leader, now.boot_ms));
}

/* The record as another daemon leaves it that leads. */
static void other_leads(int64_t high_water_s)
{
    record.epoch++;
    record.renewals = 3;
    record.length_ms = LENGTH_MS;
    record.given = false;
    record.high_water_s = high_water_s;
    memset(record.owner, 0, sizeof record.owner);
    memcpy(record.owner, "other", sizeof "other");
}

START_TEST(no_id_before_the_high_water_is_saved)
{
    uint64_t tick;
    ck_assert_int_eq(ask(), STORE_LEASE_READ);
    answer();
    ck_assert_int_eq(take(&tick), 1);
    ck_assert_int_eq(ask(), STORE_LEASE_TAKE);
    ck_assert_int_eq(take(&tick), 1);
    answer();
    ck_assert_int_eq(take(&tick), OID_WINDOW);
    ck_assert_int_eq(ask(), STORE_LEASE_RENEW);
    ck_assert_int_eq(take(&tick), OID_WINDOW);
    answer();
    ck_assert_int_eq(take(&tick), OID_OK);
    ck_assert_int_ge(record.high_water_s, (int64_t)(tick >> 24));
}
END_TEST

START_TEST(renewal_of_unknown_outcome_opens_nothing)
{
    uint64_t tick;
    ck_assert_int_eq(ask(), STORE_LEASE_READ);
    answer();
    ck_assert_int_eq(ask(), STORE_LEASE_TAKE);
    answer();
    ck_assert_int_eq(ask(), STORE_LEASE_RENEW);
    answer_unknown(_i == 1);
    ck_assert_int_eq(take(&tick), OID_WINDOW);
    ck_assert_int_eq(ask(), STORE_LEASE_READ);
    answer();
    ck_assert_int_eq(take(&tick), OID_WINDOW);
    ck_assert_int_eq(ask(), STORE_LEASE_RENEW);
    answer();
    ck_assert_int_eq(take(&tick), OID_OK);
    ck_assert_int_ge(record.high_water_s, (int64_t)(tick >> 24));
}
END_TEST

/* Whoever led before may have issued up to what it saved, ahead of this clock. */
START_TEST(successor_goes_on_past_what_was_saved)
{
    const int64_t saved_s = REAL_S + 500;
    uint64_t tick;
    other_leads(saved_s);
    record.given = _i == 1;
    ended = _i == 2;
    ck_assert_int_eq(ask(), STORE_LEASE_READ);
    answer();
    int64_t seen_ms = now.boot_ms;
    while (ask() == STORE_LEASE_READ)
        answer();
    ck_assert_int_eq(worker.asked->verb, STORE_LEASE_TAKE);
    ck_assert(_i > 0 || now.boot_ms - seen_ms >= LENGTH_MS);
    answer();
    ck_assert_int_eq(ask(), STORE_LEASE_RENEW);
    answer();
    ck_assert_int_eq(take(&tick), OID_OK);
    ck_assert_int_gt((int64_t)(tick >> 24), saved_s);
    ck_assert_int_ge(record.high_water_s, (int64_t)(tick >> 24));
}
END_TEST

/* The lease ran out, another one led meanwhile, and it comes back to this daemon. */
START_TEST(leads_again)
{
    uint64_t first, second;
    lead();
    ck_assert_int_eq(take(&first), OID_OK);
    pass(LENGTH_MS);
    ck_assert_int_eq(take(&second), 1);
    other_leads(record.high_water_s + 1000);
    const int64_t saved_s = record.high_water_s;
    while (ask() != STORE_LEASE_TAKE)
        answer();
    answer();
    ck_assert_int_eq(take(&second), OID_WINDOW);
    ck_assert_int_eq(ask(), STORE_LEASE_RENEW);
    answer();
    ck_assert_int_eq(take(&second), OID_OK);
    ck_assert_int_gt((int64_t)(second >> 24), saved_s);
}
END_TEST

/* It has lost the lease, but in the store the record is still its own. */
START_TEST(follows_nobody_but_another)
{
    struct leader_state state;
    lead();
    pass(LENGTH_MS);
    ck_assert_int_eq(ask(), STORE_LEASE_RENEW);
    answer_unknown(false);
    ck_assert_int_eq(ask(), STORE_LEASE_READ);
    answer();
    leader_tick(&leader, now);
    leader_look(&leader, now.boot_ms, &state);
    ck_assert_str_eq(state.address, "");
    ck_assert_int_eq(told[LEADER_LOST], 1);
    ck_assert_int_eq(told[LEADER_FOLLOWS], 0);
    other_leads(record.high_water_s + 1000);
    memcpy(record.address, "127.0.0.1:2", sizeof "127.0.0.1:2");
    answer();
    leader_tick(&leader, now);
    leader_look(&leader, now.boot_ms, &state);
    ck_assert_str_eq(state.address, "127.0.0.1:2");
    ck_assert_int_eq(told[LEADER_FOLLOWS], 1);
}
END_TEST

/* Counted from before the renewal was sent, however late its answer comes, less the margin. */
START_TEST(lease_ends_in_time)
{
    lead();
    while (ask() != STORE_LEASE_RENEW)
        answer();
    int64_t asked_ms = now.boot_ms;
    pass(7000);
    answer();
    ck_assert(leader_leads(&leader, asked_ms + LENGTH_MS - MARGIN_MS - 1));
    ck_assert(!leader_leads(&leader, asked_ms + LENGTH_MS - MARGIN_MS));
}
END_TEST

START_TEST(clean_stop_gives_it_back)
{
    struct store_op last;
    struct store_lease given;
    uint64_t tick;
    lead();
    ck_assert_int_eq(take(&tick), OID_OK);
    ck_assert(leader_last_op(&leader, now.boot_ms, &last, &given));
    ck_assert_int_eq(last.verb, STORE_LEASE_GIVE);
    ck_assert(store_lease_apply(&last, &record));
    ck_assert(record.given);
    ck_assert_int_eq(record.high_water_s, (int64_t)(tick >> 24));
    ck_assert_int_eq(take(&tick), OID_CLOSED);
}
END_TEST

/* What it used is past doubt for itself alone: who was succeeded lowers nothing. */
START_TEST(clean_stop_of_one_that_was_succeeded)
{
    struct store_op last;
    struct store_lease given;
    lead();
    other_leads(record.high_water_s + 1000);
    const struct store_lease before = record;
    if (_i == 1)
        pass(LENGTH_MS);
    if (leader_last_op(&leader, now.boot_ms, &last, &given))
        (void)store_lease_apply(&last, &record);
    ck_assert_mem_eq(&record, &before, sizeof before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("leader");
    TCase *tcase = tcase_create("leader");
    tcase_add_checked_fixture(tcase, start, finish);
    tcase_add_test(tcase, no_id_before_the_high_water_is_saved);
    tcase_add_loop_test(tcase, renewal_of_unknown_outcome_opens_nothing, 0, 2);
    tcase_add_loop_test(tcase, successor_goes_on_past_what_was_saved, 0, 3);
    tcase_add_test(tcase, leads_again);
    tcase_add_test(tcase, follows_nobody_but_another);
    tcase_add_test(tcase, lease_ends_in_time);
    tcase_add_test(tcase, clean_stop_gives_it_back);
    tcase_add_loop_test(tcase, clean_stop_of_one_that_was_succeeded, 0, 2);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
