/* The saved window, starts and stops. */
#include "oid_fixture.h"
#include "suite.h"

START_TEST(init_opens_no_window)
{
    struct oid_issuer issuer;
    struct clock_now now = clock_at(START_S);

    init(&issuer, now, 0, -1);
    assert_refuses(&issuer, now, 1, OID_WINDOW);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), START_S + 3);
    assert_refuses(&issuer, now, 1, OID_WINDOW);
    oid_saved(&issuer, START_S + 3);
    assert_takes(&issuer, now, 1, START_S, 1);

    init(&issuer, now, 0, START_S + 50);
    assert_refuses(&issuer, now, 1, OID_WINDOW);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), START_S + 54);
    assert_refuses(&issuer, now, 1, OID_WINDOW);
}
END_TEST

START_TEST(nothing_is_issued_past_the_window)
{
    struct oid_issuer issuer;
    struct clock_now now = clock_at(START_S);

    init(&issuer, now, 0xffff00 - 1, -1);
    oid_saved(&issuer, START_S);
    assert_takes(&issuer, now, 1, START_S, 0xffff00);
    assert_refuses(&issuer, now, 0x100, OID_WINDOW); /* its last tick would borrow START_S + 1 */
    assert_takes(&issuer, now, 0xff, START_S, 0xffff01);
    assert_refuses(&issuer, now, 1, OID_WINDOW);
    fake_clock_pass(&now, 1000);
    assert_refuses(&issuer, now, 1, OID_WINDOW);
    oid_saved(&issuer, START_S + 1);
    assert_takes(&issuer, now, 1, START_S + 1, 0);
    fake_clock_pass(&now, 1000);
    assert_refuses(&issuer, now, 1, OID_WINDOW);
    fake_clock_step(&now, -HOUR_MS); /* within what is saved */
    assert_takes(&issuer, now, 1, START_S + 1, 1);
}
END_TEST

START_TEST(saved_never_moves_back)
{
    struct oid_issuer issuer;
    struct clock_now now = clock_at(START_S);

    init(&issuer, now, 0, -1);
    oid_saved(&issuer, START_S + 5);
    oid_saved(&issuer, START_S - 1);
    oid_saved(&issuer, -1);
    fake_clock_pass(&now, 5000);
    assert_takes(&issuer, now, 1, START_S + 5, 1);
    fake_clock_pass(&now, 1000);
    assert_refuses(&issuer, now, 1, OID_WINDOW);
}
END_TEST

START_TEST(window_is_renewed_before_it_runs_out)
{
    struct oid_issuer issuer;
    struct clock_now now = clock_at(START_S);

    init(&issuer, now, 0, -1);
    oid_saved(&issuer, START_S + 3);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), -1);
    fake_clock_pass(&now, 1999);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), -1); /* two of three are left */
    fake_clock_pass(&now, 1);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), START_S + 5);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), START_S + 5);
    oid_saved(&issuer, START_S + 5);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), -1);
}
END_TEST

START_TEST(window_counts_from_borrowed_seconds)
{
    struct oid_issuer issuer;
    struct clock_now now = clock_at(START_S);

    init(&issuer, now, 99, -1);
    oid_saved(&issuer, START_S + 3);
    assert_takes(&issuer, now, WRAP, START_S, 100);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), -1);
    assert_takes(&issuer, now, WRAP, START_S + 1, 100);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), START_S + 5);
    fake_clock_step(&now, -HOUR_MS);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), START_S + 5);
}
END_TEST

/* Whatever the clock does, what is wanted is enough to go on with. */
START_TEST(a_window_of_one_second_never_gets_stuck)
{
    static const int64_t steps_ms[] = {0, 700, -HOUR_MS, 999, HOUR_MS, 2 * HOUR_MS, 61000, 1};
    struct oid_settings settings = oid_defaults;
    struct oid_issuer issuer;
    struct clock_now now = clock_at(START_S);
    const uint8_t random[OBJECTID_RANDOM_BYTES + 3] = {0};
    int64_t saved_s = START_S + 7;
    uint64_t first = 0;

    settings.window_s = 1;
    oid_init(&issuer, &settings, random, now, saved_s);
    for (size_t i = 0; i < 8000; i++) {
        int status = oid_take(&issuer, now, 1 + (uint32_t)(i * 7919) % WRAP, &first);

        ck_assert_int_le((int64_t)(first >> 24), saved_s);
        if (status == OID_WINDOW) {
            int64_t wanted_s = oid_wanted_high_water(&issuer, now);

            ck_assert_int_gt(wanted_s, saved_s);
            saved_s = wanted_s;
            oid_saved(&issuer, saved_s);
            status = oid_take(&issuer, now, 1 + (uint32_t)(i * 7919) % WRAP, &first);
        }
        ck_assert(status == OID_OK || status == OID_LEAD);
        fake_clock_pass(&now, 500);
        if (i % 10 == 0)
            fake_clock_step(&now, steps_ms[i / 10 % 8]);
    }
}
END_TEST

START_TEST(high_water_does_not_follow_a_glitch_but_sees_it_through)
{
    struct oid_issuer issuer;
    struct clock_now now = clock_at(START_S);

    init(&issuer, now, 0, -1);
    fake_clock_step(&now, 24 * HOUR_MS);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), START_S + 3);
    fake_clock_pass(&now, 59000);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), START_S + 62);
    fake_clock_pass(&now, 1000); /* nothing was taken all the while */
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), START_S + 86400 + 63);
}
END_TEST

START_TEST(a_start_is_above_the_saved_second)
{
    struct oid_issuer issuer;
    struct clock_now now = clock_at(START_S);

    /* A crash in this very second, with the window ahead of the clock. */
    init(&issuer, now, 4, START_S + 3);
    oid_saved(&issuer, START_S + 20);
    assert_takes(&issuer, now, 1, START_S + 4, 5);
    fake_clock_pass(&now, 4999);
    assert_takes(&issuer, now, 1, START_S + 4, 6);
    fake_clock_pass(&now, 1);
    assert_takes(&issuer, now, 1, START_S + 5, 7);

    /* The clock has long passed the saved second. */
    init(&issuer, now, 4, START_S - 100);
    oid_saved(&issuer, START_S + 20);
    assert_takes(&issuer, now, 1, START_S + 5, 5);
}
END_TEST

START_TEST(a_start_in_the_far_future_serves_at_once)
{
    struct oid_issuer issuer;
    struct clock_now now = clock_at(START_S);
    int64_t far_s = START_S + 10 * 365 * 86400;
    struct oid_state state;

    init(&issuer, now, 99, far_s);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), far_s + 4);
    oid_saved(&issuer, far_s + 4);
    assert_takes(&issuer, now, WRAP, far_s + 1, 100);
    oid_look(&issuer, now, &state);
    ck_assert_int_eq(state.lead_ms, (far_s + 2 - START_S) * 1000);
    ck_assert_int_eq(state.window_ms, 3000);
    assert_takes(&issuer, now, WRAP, far_s + 2, 100);
    assert_refuses(&issuer, now, WRAP, OID_LEAD); /* 2 s from far_s + 1 */
    fake_clock_pass(&now, 1000);
    assert_takes(&issuer, now, WRAP, far_s + 3, 100);
}
END_TEST

START_TEST(a_start_with_a_clock_at_zero_serves)
{
    struct oid_issuer issuer;
    struct clock_now now = {0, 0};

    init(&issuer, now, 0, -1);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), 3);
    oid_saved(&issuer, 3);
    assert_takes(&issuer, now, 1, 0, 1);
    fake_clock_step(&now, -HOUR_MS); /* before 1970 */
    assert_takes(&issuer, now, 1, 0, 2);
    fake_clock_step(&now, START_S * 1000); /* seen at boot time 0 */
    assert_takes(&issuer, now, 1, 0, 3);
    fake_clock_pass(&now, 1000);
    assert_takes(&issuer, now, 1, 1, 4);
}
END_TEST

START_TEST(a_start_past_the_end_is_exhausted)
{
    static const int64_t saved_s[] = {LAST_SECOND, LAST_SECOND + 1, INT64_MAX};

    for (size_t i = 0; i < 3; i++) {
        struct oid_issuer issuer;
        struct clock_now now = clock_at(START_S);

        init(&issuer, now, 0xffffff, saved_s[i]);
        assert_refuses(&issuer, now, 1, OID_EXHAUSTED);
        ck_assert_int_eq(oid_wanted_high_water(&issuer, now), -1);
        ck_assert_int_eq(oid_close(&issuer), LAST_SECOND);
    }
}
END_TEST

START_TEST(close_returns_the_second_really_used)
{
    struct oid_issuer issuer;
    struct clock_now now = init_open(&issuer, 0);
    struct oid_state state;

    take(&issuer, now, 1);
    fake_clock_pass(&now, 10000); /* the clock has moved on, but no id was taken since */
    ck_assert_int_eq(oid_close(&issuer), START_S);
    assert_refuses(&issuer, now, 1, OID_CLOSED);
    ck_assert_int_eq(oid_close(&issuer), START_S);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), -1);
    oid_saved(&issuer, LAST_SECOND);
    assert_refuses(&issuer, now, WRAP, OID_CLOSED);
    oid_look(&issuer, now, &state);
    ck_assert_uint_eq(state.tick, tick_of(START_S, 1));

    now = init_open(&issuer, 0xffffff - 1);
    take(&issuer, now, 2); /* the second id is borrowed */
    ck_assert_int_eq(oid_close(&issuer), START_S + 1);
}
END_TEST

START_TEST(close_before_the_first_id_keeps_the_saved_second)
{
    struct oid_issuer issuer;
    struct clock_now now = clock_at(START_S);

    init(&issuer, now, 0xffffff, START_S + 9);
    oid_saved(&issuer, START_S + 13);
    ck_assert_int_eq(oid_close(&issuer), START_S + 9);
    fake_clock_pass(&now, 100000);
    ck_assert_int_eq(oid_wanted_high_water(&issuer, now), -1);

    init(&issuer, now, 0xffffff, START_S - 9);
    assert_refuses(&issuer, now, 1, OID_WINDOW);
    ck_assert_int_eq(oid_close(&issuer), START_S - 9);

    init(&issuer, now, 0xffffff, -1);
    ck_assert_int_eq(oid_close(&issuer), 0);
}
END_TEST

START_TEST(look_tells_lead_and_window)
{
    struct oid_issuer issuer;
    struct clock_now now = clock_at(START_S);
    struct oid_state state;

    init(&issuer, now, 99, -1);
    oid_look(&issuer, now, &state);
    ck_assert_int_lt(state.window_ms, 0);
    oid_saved(&issuer, START_S + 3);
    take(&issuer, now, WRAP);
    fake_clock_pass(&now, 300);
    oid_look(&issuer, now, &state);
    ck_assert_uint_eq(state.tick, tick_of(START_S + 1, 99));
    ck_assert_int_eq(state.lead_ms, 700);
    ck_assert_int_eq(state.window_ms, 3000);
    fake_clock_pass(&now, 1000);
    oid_look(&issuer, now, &state);
    ck_assert_int_eq(state.lead_ms, -300);
    ck_assert_int_eq(state.window_ms, 2700);
    fake_clock_step(&now, -HOUR_MS);
    oid_look(&issuer, now, &state);
    ck_assert_int_eq(state.lead_ms, HOUR_MS - 300);
    ck_assert_int_eq(state.window_ms, 3000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("oid_window");
    TCase *tcase = tcase_create("oid_window");

    tcase_add_test(tcase, init_opens_no_window);
    tcase_add_test(tcase, nothing_is_issued_past_the_window);
    tcase_add_test(tcase, saved_never_moves_back);
    tcase_add_test(tcase, window_is_renewed_before_it_runs_out);
    tcase_add_test(tcase, window_counts_from_borrowed_seconds);
    tcase_add_test(tcase, a_window_of_one_second_never_gets_stuck);
    tcase_add_test(tcase, high_water_does_not_follow_a_glitch_but_sees_it_through);
    tcase_add_test(tcase, a_start_is_above_the_saved_second);
    tcase_add_test(tcase, a_start_in_the_far_future_serves_at_once);
    tcase_add_test(tcase, a_start_with_a_clock_at_zero_serves);
    tcase_add_test(tcase, a_start_past_the_end_is_exhausted);
    tcase_add_test(tcase, close_returns_the_second_really_used);
    tcase_add_test(tcase, close_before_the_first_id_keeps_the_saved_second);
    tcase_add_test(tcase, look_tells_lead_and_window);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
