/* Order, borrowed seconds and the clock. */
#include "oid_fixture.h"
#include "suite.h"

START_TEST(same_second_adds_one)
{
    struct oid_issuer issuer;
    struct clock_now now = init_open(&issuer, 12344);

    ck_assert_mem_eq(issuer.random, "\1\2\3\4\5", 5);
    assert_takes(&issuer, now, 1, START_S, 12345);
    fake_clock_pass(&now, 999);
    assert_takes(&issuer, now, 1, START_S, 12346);
}
END_TEST

START_TEST(next_second_continues_the_counter)
{
    struct oid_issuer issuer;
    struct clock_now now = init_open(&issuer, 0xabcdee);

    assert_takes(&issuer, now, 1, START_S, 0xabcdef);
    fake_clock_pass(&now, 1000);
    assert_takes(&issuer, now, 1, START_S + 1, 0xabcdf0);
    fake_clock_pass(&now, 86400000);
    assert_takes(&issuer, now, 1, START_S + 86401, 0xabcdf1);
}
END_TEST

START_TEST(next_second_at_the_counters_end_needs_no_carry)
{
    struct oid_issuer issuer;
    struct clock_now now = init_open(&issuer, 0xfffffe);

    assert_takes(&issuer, now, 1, START_S, 0xffffff);
    fake_clock_pass(&now, 1000);
    assert_takes(&issuer, now, 1, START_S + 1, 0);
}
END_TEST

START_TEST(wrap_borrows_the_next_second)
{
    struct oid_issuer issuer;
    struct clock_now now = init_open(&issuer, 0xfffffe);

    assert_takes(&issuer, now, 1, START_S, 0xffffff);
    assert_takes(&issuer, now, 1, START_S + 1, 0);
    fake_clock_pass(&now, 1000);
    assert_takes(&issuer, now, 1, START_S + 1, 1);
    fake_clock_pass(&now, 1000);
    assert_takes(&issuer, now, 1, START_S + 2, 2);
}
END_TEST

START_TEST(a_batch_is_contiguous_over_the_wrap)
{
    struct oid_issuer issuer;
    struct clock_now now = init_open(&issuer, 0xfffff0 - 1);

    assert_takes(&issuer, now, 0x20, START_S, 0xfffff0);
    assert_takes(&issuer, now, 1, START_S + 1, 0x10);
    assert_takes(&issuer, now, 100, START_S + 1, 0x11);
    assert_takes(&issuer, now, 1, START_S + 1, 0x11 + 100);
}
END_TEST

START_TEST(lead_bounds_the_last_tick_of_a_batch)
{
    struct oid_issuer issuer;
    struct clock_now now = init_open(&issuer, 99);

    assert_takes(&issuer, now, WRAP, START_S, 100);
    assert_takes(&issuer, now, WRAP, START_S + 1, 100); /* its last is in START_S + 2: 2000 ms */
    assert_refuses(&issuer, now, WRAP, OID_LEAD);
    assert_refuses(&issuer, now, WRAP - 99, OID_LEAD); /* one past what is left of START_S + 2 */
    fake_clock_pass(&now, 999);
    assert_refuses(&issuer, now, WRAP, OID_LEAD);
    assert_takes(&issuer, now, 1, START_S + 2, 100);
    fake_clock_pass(&now, 1);
    assert_takes(&issuer, now, WRAP, START_S + 2, 101);
    assert_refuses(&issuer, now, WRAP, OID_LEAD);
}
END_TEST

START_TEST(the_whole_lead_can_be_used_and_no_more)
{
    struct oid_issuer issuer;
    struct clock_now now = init_open(&issuer, 0xffffff);

    assert_takes(&issuer, now, WRAP, START_S, 0);
    assert_takes(&issuer, now, WRAP, START_S + 1, 0);
    assert_takes(&issuer, now, WRAP, START_S + 2, 0);
    assert_refuses(&issuer, now, 1, OID_LEAD);
    fake_clock_pass(&now, 999);
    assert_refuses(&issuer, now, 1, OID_LEAD);
    fake_clock_pass(&now, 1);
    assert_takes(&issuer, now, 1, START_S + 3, 0);
}
END_TEST

START_TEST(fallback_of_the_clock_stops_nothing)
{
    struct oid_issuer issuer;
    struct clock_now now = init_open(&issuer, 0);
    uint64_t last;

    take(&issuer, now, 1);
    fake_clock_pass(&now, 10000);
    last = take(&issuer, now, 1);
    ck_assert_uint_eq(last, tick_of(START_S + 10, 2));
    fake_clock_step(&now, -HOUR_MS);
    for (int i = 0; i < 3600; i++) {
        uint64_t next = take(&issuer, now, WRAP / 2);

        ck_assert_uint_eq(next, i == 0 ? last + 1 : last + WRAP / 2);
        last = next;
        fake_clock_pass(&now, 1000);
    }
    /* Half the format's rate over an hour borrowed half an hour. Real time is back where it was. */
    ck_assert_int_eq(last >> 24, START_S + 10 + 1799);
    fake_clock_pass(&now, 1799000);
    ck_assert_int_eq(take(&issuer, now, 1) >> 24, START_S + 10 + 1800);
    fake_clock_pass(&now, 2000); /* real time is past what was borrowed, and counts again */
    ck_assert_int_eq(take(&issuer, now, 1) >> 24, START_S + 10 + 1801);
}
END_TEST

START_TEST(lead_counts_from_boot_time_after_a_fallback)
{
    struct oid_issuer issuer;
    struct clock_now now = init_open(&issuer, 99);

    assert_takes(&issuer, now, WRAP, START_S, 100);
    fake_clock_step(&now, -HOUR_MS);
    assert_takes(&issuer, now, WRAP, START_S + 1, 100);
    assert_refuses(&issuer, now, WRAP, OID_LEAD);
    fake_clock_pass(&now, 999);
    assert_refuses(&issuer, now, WRAP, OID_LEAD);
    fake_clock_pass(&now, 1);
    assert_takes(&issuer, now, WRAP, START_S + 2, 100);
    fake_clock_step(&now, HOUR_MS);
    assert_refuses(&issuer, now, WRAP, OID_LEAD);
}
END_TEST

START_TEST(small_forward_steps_are_followed_at_once)
{
    struct oid_issuer issuer;
    struct clock_now now = init_open(&issuer, 0);
    struct oid_state state;

    assert_takes(&issuer, now, 1, START_S, 1);
    fake_clock_step(&now, HOUR_MS);
    oid_look(&issuer, now, &state);
    ck_assert(!state.forward_step);
    assert_takes(&issuer, now, 1, START_S + 3600, 2);
    fake_clock_step(&now, HOUR_MS);
    assert_takes(&issuer, now, 1, START_S + 7200, 3);
    fake_clock_step(&now, -HOUR_MS); /* followed once, so it counts for the lead from then on */
    assert_takes(&issuer, now, WRAP, START_S + 7200, 4);
    assert_takes(&issuer, now, WRAP, START_S + 7201, 4);
    assert_refuses(&issuer, now, WRAP, OID_LEAD);
}
END_TEST

START_TEST(long_forward_step_is_followed_when_it_has_lasted)
{
    struct oid_issuer issuer;
    struct clock_now now = init_open(&issuer, 0);
    struct oid_state state;

    fake_clock_step(&now, HOUR_MS + 1);
    assert_takes(&issuer, now, 1, START_S, 1);
    oid_look(&issuer, now, &state);
    ck_assert(state.forward_step);
    fake_clock_pass(&now, 30000);
    assert_takes(&issuer, now, 1, START_S + 30, 2); /* BOOTTIME carries on */
    fake_clock_pass(&now, 29999);
    assert_takes(&issuer, now, 1, START_S + 59, 3);
    oid_look(&issuer, now, &state);
    ck_assert(state.forward_step);
    fake_clock_pass(&now, 1);
    assert_takes(&issuer, now, 1, START_S + 3660, 4);
    oid_look(&issuer, now, &state);
    ck_assert(!state.forward_step);
}
END_TEST

START_TEST(forward_glitch_is_forgotten)
{
    struct oid_issuer issuer;
    struct clock_now now = init_open(&issuer, 0);

    for (uint32_t i = 0; i < 3; i++) {
        fake_clock_step(&now, 100 * 365 * 24 * HOUR_MS); /* past 2106 */
        ck_assert_int_eq(take(&issuer, now, 1) >> 24, START_S + 40 * i);
        fake_clock_pass(&now, 40000);
        ck_assert_int_eq(take(&issuer, now, 1) >> 24, START_S + 40 * (i + 1));
        fake_clock_step(&now, -100 * 365 * 24 * HOUR_MS);
        ck_assert_int_eq(take(&issuer, now, 1) >> 24, START_S + 40 * (i + 1));
    }
    assert_takes(&issuer, now, WRAP, START_S + 120, 10); /* nor did it widen the lead */
    assert_takes(&issuer, now, WRAP, START_S + 121, 10);
    assert_refuses(&issuer, now, WRAP, OID_LEAD);
}
END_TEST

START_TEST(the_format_ends_in_2106)
{
    struct oid_issuer issuer;
    struct clock_now now = clock_at(LAST_SECOND - 1);

    init(&issuer, now, 0xfffffd, -1);
    oid_saved(&issuer, LAST_SECOND + 10);
    assert_takes(&issuer, now, 1, LAST_SECOND - 1, 0xfffffe);
    fake_clock_pass(&now, 1000);
    assert_takes(&issuer, now, 1, LAST_SECOND, 0xffffff);
    assert_refuses(&issuer, now, 1, OID_EXHAUSTED);
    fake_clock_pass(&now, 1000);
    assert_refuses(&issuer, now, 1, OID_EXHAUSTED);
    fake_clock_pass(&now, 100 * 365 * 24 * HOUR_MS);
    assert_refuses(&issuer, now, WRAP, OID_EXHAUSTED);
    now.real_ms = (INT64_C(1) << 40) * 1000; /* shifted by 24 bits this is 0 */
    assert_refuses(&issuer, now, 1, OID_EXHAUSTED);
    fake_clock_pass(&now, 60000);
    now.real_ms = (INT64_C(1) << 40) * 1000;
    assert_refuses(&issuer, now, 1, OID_EXHAUSTED);
    now.real_ms = INT64_MAX;
    assert_refuses(&issuer, now, 1, OID_EXHAUSTED);
    ck_assert_int_eq(oid_close(&issuer), LAST_SECOND);
}
END_TEST

START_TEST(a_batch_that_would_pass_the_end_is_refused_whole)
{
    struct oid_issuer issuer;
    struct clock_now now = clock_at(LAST_SECOND);

    init(&issuer, now, 0xffff00 - 1, -1);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), LAST_SECOND);
    oid_saved(&issuer, LAST_SECOND);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), -1);
    assert_refuses(&issuer, now, 0x101, OID_EXHAUSTED);
    assert_takes(&issuer, now, 0x100, LAST_SECOND, 0xffff00);
    assert_refuses(&issuer, now, 1, OID_EXHAUSTED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("oid");
    TCase *tcase = tcase_create("oid");

    tcase_add_test(tcase, same_second_adds_one);
    tcase_add_test(tcase, next_second_continues_the_counter);
    tcase_add_test(tcase, next_second_at_the_counters_end_needs_no_carry);
    tcase_add_test(tcase, wrap_borrows_the_next_second);
    tcase_add_test(tcase, a_batch_is_contiguous_over_the_wrap);
    tcase_add_test(tcase, lead_bounds_the_last_tick_of_a_batch);
    tcase_add_test(tcase, the_whole_lead_can_be_used_and_no_more);
    tcase_add_test(tcase, fallback_of_the_clock_stops_nothing);
    tcase_add_test(tcase, lead_counts_from_boot_time_after_a_fallback);
    tcase_add_test(tcase, small_forward_steps_are_followed_at_once);
    tcase_add_test(tcase, long_forward_step_is_followed_when_it_has_lasted);
    tcase_add_test(tcase, forward_glitch_is_forgotten);
    tcase_add_test(tcase, the_format_ends_in_2106);
    tcase_add_test(tcase, a_batch_that_would_pass_the_end_is_refused_whole);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
