/* Two daemons and one record: who leads when. Time is a number; the store is the record itself,
 * with answers that can get lost. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lease.h"
#include "suite.h"

#define LENGTH_MS 20000
#define MARGIN_MS 1000

static struct store_lease record;
static struct lease a, b;

static void init(struct lease *lease, const char *owner)
{
    struct lease_settings settings = {.length_ms = LENGTH_MS, .margin_ms = MARGIN_MS};
    memcpy(settings.owner, owner, strlen(owner) + 1);
    memcpy(settings.address, owner, strlen(owner) + 1);
    lease_init(lease, &settings);
}

static void setup(void)
{
    record = (struct store_lease){.high_water_s = -1};
    init(&a, "a:1");
    init(&b, "b:2");
}

enum loss {
    NOTHING_LOST,
    ASK_LOST,    /* the store never sees it, and the daemon does not know that */
    ANSWER_LOST, /* the store does it, and the daemon does not know that */
};

/* Let one daemon ask and be answered, `flight_ms` later. What it asked is returned. */
static enum lease_action ask(struct lease *lease, int64_t now_ms, int64_t flight_ms, enum loss loss)
{
    struct store_lease wish;
    enum lease_action action = lease_next(lease, now_ms, &wish);
    if (action == LEASE_NOTHING)
        return action;
    struct store_op op = {.verb = action == LEASE_READ   ? STORE_LEASE_READ
                                  : action == LEASE_TAKE ? STORE_LEASE_TAKE
                                                         : STORE_LEASE_RENEW,
                          .lease = &wish};
    if (loss != ASK_LOST)
        (void)store_lease_apply(&op, &record);
    lease_answer(lease, action, loss == NOTHING_LOST ? op.result : STORE_UNKNOWN, &wish,
                 now_ms + flight_ms);
    return action;
}

/* Ask until nothing is left to ask at this time. */
static void settle(struct lease *lease, int64_t now_ms)
{
    for (int i = 0; i < 4 && ask(lease, now_ms, 0, NOTHING_LOST) != LEASE_NOTHING; i++)
        ;
}

START_TEST(first_takes_a_record_that_is_not_there)
{
    settle(&a, 100);
    ck_assert(lease_leads(&a, 100));
    ck_assert_int_eq(record.epoch, 1);
    ck_assert_str_eq(record.owner, "a:1");
    settle(&b, 100);
    ck_assert(!lease_leads(&b, 100));
    ck_assert_str_eq(b.seen.address, "a:1");
}
END_TEST

START_TEST(one_of_two_that_take_at_once_leads)
{
    struct store_lease wish_a, wish_b;
    ask(&a, 0, 0, NOTHING_LOST);
    ask(&b, 0, 0, NOTHING_LOST);
    ck_assert_int_eq(lease_next(&a, 0, &wish_a), LEASE_TAKE);
    ck_assert_int_eq(lease_next(&b, 0, &wish_b), LEASE_TAKE);
    struct store_op op_a = {.verb = STORE_LEASE_TAKE, .lease = &wish_a};
    struct store_op op_b = {.verb = STORE_LEASE_TAKE, .lease = &wish_b};
    ck_assert(store_lease_apply(&op_b, &record));
    ck_assert(!store_lease_apply(&op_a, &record));
    lease_answer(&a, LEASE_TAKE, op_a.result, &wish_a, 1);
    lease_answer(&b, LEASE_TAKE, op_b.result, &wish_b, 1);
    ck_assert(!lease_leads(&a, 1));
    ck_assert(lease_leads(&b, 1));
}
END_TEST

START_TEST(counts_from_before_it_was_sent_and_stops_a_margin_early)
{
    settle(&a, 0);
    /* A renewal that takes long counts from its beginning. */
    ck_assert_int_eq(ask(&a, 5000, 9000, NOTHING_LOST), LEASE_RENEW);
    ck_assert(lease_leads(&a, 5000 + LENGTH_MS - MARGIN_MS - 1));
    ck_assert(!lease_leads(&a, 5000 + LENGTH_MS - MARGIN_MS));
}
END_TEST

START_TEST(a_renewal_that_is_not_known_to_be_done_extends_nothing)
{
    settle(&a, 0);
    ck_assert_int_eq(ask(&a, 5000, 0, ANSWER_LOST), LEASE_RENEW);
    ck_assert_int_eq(record.renewals, 1);
    ck_assert(lease_leads(&a, LENGTH_MS - MARGIN_MS - 1));
    ck_assert(!lease_leads(&a, LENGTH_MS - MARGIN_MS));
    /* It finds out that the record is its own, and renews by what stands there. */
    settle(&a, 7000);
    ck_assert_int_eq(record.renewals, 2);
    ck_assert(lease_leads(&a, 7000 + LENGTH_MS - MARGIN_MS - 1));
}
END_TEST

START_TEST(a_take_whose_answer_was_lost_is_found_out)
{
    ask(&a, 0, 0, NOTHING_LOST);
    ck_assert_int_eq(ask(&a, 0, 0, ANSWER_LOST), LEASE_TAKE);
    ck_assert(!lease_leads(&a, 0));
    settle(&a, 2000);
    ck_assert(lease_leads(&a, 2000));
    ck_assert_int_eq(record.epoch, 1);
}
END_TEST

/* Over many seeds of random delays and losses: at no time do both lead. */
START_TEST(never_two_leaders)
{
    unsigned seed = (unsigned)_i + 1;
    struct lease *both[] = {&a, &b};
    int64_t dead_until_ms[2] = {0, 0};
    int takeovers = 0;
    int64_t epoch = 0;
    for (int64_t now_ms = 0; now_ms < 600000; now_ms += 100) {
        for (int i = 0; i < 2; i++) {
            /* Now and then one of them is paused, or cut off, for longer than a lease. */
            if (now_ms >= dead_until_ms[i] && rand_r(&seed) % 300 == 0)
                dead_until_ms[i] = now_ms + 5000 + rand_r(&seed) % 40000;
            if (now_ms < dead_until_ms[i])
                continue;
            enum loss loss = rand_r(&seed) % 5 != 0 ? NOTHING_LOST
                             : rand_r(&seed) % 2    ? ASK_LOST
                                                    : ANSWER_LOST;
            ask(both[i], now_ms, 0, loss);
        }
        ck_assert_msg(!(lease_leads(&a, now_ms) && lease_leads(&b, now_ms)),
                      "seed %d: both lead at %lld", _i + 1, (long long)now_ms);
        takeovers += record.epoch != epoch;
        epoch = record.epoch;
    }
    ck_assert_int_ge(takeovers, 1);
}
END_TEST

START_TEST(a_successor_waits_for_a_whole_length_without_a_change)
{
    settle(&a, 0);
    settle(&b, 1000);
    int64_t now_ms = 1000;
    while (!lease_leads(&b, now_ms) && now_ms < 100000) {
        now_ms += 100;
        settle(&b, now_ms);
    }
    ck_assert_int_ge(now_ms, 1000 + LENGTH_MS);
    ck_assert_int_eq(record.epoch, 2);
    ck_assert(!lease_leads(&a, now_ms));
    /* The one before finds out when it comes back. */
    settle(&a, now_ms);
    ck_assert(!lease_leads(&a, now_ms));
    ck_assert_str_eq(a.seen.address, "b:2");
}
END_TEST

START_TEST(a_renewal_starts_the_wait_anew)
{
    settle(&a, 0);
    settle(&b, 1000);
    ck_assert_int_eq(ask(&a, 15000, 0, NOTHING_LOST), LEASE_RENEW);
    for (int64_t now_ms = 15100; now_ms < 15000 + LENGTH_MS; now_ms += 100) {
        settle(&b, now_ms);
        ck_assert(!lease_leads(&b, now_ms));
    }
}
END_TEST

START_TEST(what_was_given_back_is_taken_at_once)
{
    settle(&a, 0);
    struct store_lease wish = a.seen;
    wish.high_water_s = 77;
    struct store_op op = {.verb = STORE_LEASE_GIVE, .lease = &wish};
    ck_assert(store_lease_apply(&op, &record));
    settle(&b, 100);
    ck_assert(lease_leads(&b, 100));
    ck_assert_int_eq(b.seen.high_water_s, 77);
}
END_TEST

START_TEST(an_owner_that_is_proven_dead_is_succeeded_at_once)
{
    settle(&a, 0);
    settle(&b, 100);
    ck_assert(!lease_leads(&b, 100));
    lease_owner_died(&b);
    settle(&b, 200);
    ck_assert(lease_leads(&b, 200));
    ck_assert_int_eq(record.epoch, 2);
}
END_TEST

START_TEST(the_longer_of_two_lengths_is_waited_for)
{
    struct lease_settings longer = {
        .length_ms = 3 * LENGTH_MS, .margin_ms = MARGIN_MS, .owner = "c:3", .address = "c:3"};
    struct lease c;
    lease_init(&c, &longer);
    settle(&c, 0);
    ck_assert(lease_leads(&c, 0));
    settle(&b, 0);
    for (int64_t now_ms = 0; now_ms < 3 * LENGTH_MS; now_ms += 1000) {
        settle(&b, now_ms);
        ck_assert(!lease_leads(&b, now_ms));
    }
    settle(&b, 3 * LENGTH_MS);
    settle(&b, 4 * LENGTH_MS);
    ck_assert(lease_leads(&b, 4 * LENGTH_MS));
}
END_TEST

START_TEST(a_deposed_leader_changes_nothing)
{
    settle(&a, 0);
    struct store_lease wish = a.seen;
    settle(&b, 0);
    lease_owner_died(&b);
    settle(&b, 100);
    struct store_lease before = record;
    wish.high_water_s = 1234;
    struct store_op renew = {.verb = STORE_LEASE_RENEW, .lease = &wish};
    ck_assert(!store_lease_apply(&renew, &record));
    ck_assert_int_eq(renew.result, STORE_CHANGED);
    ck_assert_int_eq(record.high_water_s, before.high_water_s);
    ck_assert_int_eq(record.renewals, before.renewals);
    ck_assert_int_eq(wish.epoch, 2);
}
END_TEST

START_TEST(the_high_water_only_rises_but_for_giving_back)
{
    settle(&a, 0);
    struct store_lease wish = a.seen;
    wish.high_water_s = 500;
    struct store_op renew = {.verb = STORE_LEASE_RENEW, .lease = &wish};
    ck_assert(store_lease_apply(&renew, &record));
    wish.high_water_s = 400;
    ck_assert(store_lease_apply(&renew, &record));
    ck_assert_int_eq(record.high_water_s, 500);
    /* A successor gets it as it stood. */
    settle(&b, 0);
    lease_owner_died(&b);
    settle(&b, 100);
    ck_assert_int_eq(b.seen.high_water_s, 500);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lease");
    TCase *tests = tcase_create("lease");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, first_takes_a_record_that_is_not_there);
    tcase_add_test(tests, one_of_two_that_take_at_once_leads);
    tcase_add_test(tests, counts_from_before_it_was_sent_and_stops_a_margin_early);
    tcase_add_test(tests, a_renewal_that_is_not_known_to_be_done_extends_nothing);
    tcase_add_test(tests, a_take_whose_answer_was_lost_is_found_out);
    tcase_add_loop_test(tests, never_two_leaders, 0, 50);
    tcase_add_test(tests, a_successor_waits_for_a_whole_length_without_a_change);
    tcase_add_test(tests, a_renewal_starts_the_wait_anew);
    tcase_add_test(tests, what_was_given_back_is_taken_at_once);
    tcase_add_test(tests, an_owner_that_is_proven_dead_is_succeeded_at_once);
    tcase_add_test(tests, the_longer_of_two_lengths_is_waited_for);
    tcase_add_test(tests, a_deposed_leader_changes_nothing);
    tcase_add_test(tests, the_high_water_only_rises_but_for_giving_back);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
