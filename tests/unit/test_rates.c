/* Live rates: what a second brought, and which events a reader gets. */
#include "dispatch_fixture.h"

#include <inttypes.h>
#include <stdio.h>

#include "rates.h"

static struct desk *desk;
static struct rates *rates;
static struct clock_now now;
static uint64_t base; /* events' ids begin behind it */

static void setup(void)
{
    desk = desk_create(false);
    rates = malloc(sizeof *rates);
    rates_init(rates);
    now = desk_now();
    base = (uint64_t)now.real_ms / 1000;
}

static void teardown(void)
{
    rates_finish(rates);
    free(rates);
    desk_destroy(desk);
}

static void sample_after(int64_t ms)
{
    now.real_ms += ms;
    now.boot_ms += ms;
    rates_sample(rates, &desk->dispatch, now);
}

static void sample_times(unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        sample_after(1000);
}

/* The events after last_id, as text. */
static char *events(uint64_t *last_id)
{
    struct buffer out;
    buffer_init(&out, 0);
    rates_events(rates, last_id, &out);
    buffer_append(&out, "", 1);
    return out.data;
}

static bool says(const char *text, const char *pair)
{
    return strstr(text, pair) != NULL;
}

static unsigned event_count(const char *text)
{
    unsigned count = 0;
    for (; (text = strstr(text, "event: rates\n")) != NULL; text++)
        count++;
    return count;
}

START_TEST(the_first_call_only_notes_where_counting_begins)
{
    uint64_t last = 0;
    metrics_issued(&desk->loops[0], METRICS_OID, 1000);
    sample_after(0);
    char *text = events(&last);
    ck_assert_str_eq(text, "");
    ck_assert_uint_eq(last, base);
    free(text);
    sample_after(1000);
    text = events(&last);
    ck_assert(says(text, "\"oids\":0,"));
    ck_assert_uint_eq(last, base + 1);
    free(text);
}
END_TEST

START_TEST(an_event_has_the_form_of_server_sent_events)
{
    uint64_t last = 0;
    char head[128];
    sample_after(0);
    sample_after(1000);
    char *text = events(&last);
    snprintf(head, sizeof head, "id: %" PRIu64 "\nevent: rates\ndata: {\"time\":%" PRId64 ",",
             base + 1, now.real_ms / 1000);
    ck_assert(strncmp(text, head, strlen(head)) == 0);
    ck_assert_str_eq(text + strlen(text) - 3, "}\n\n");
    free(text);
}
END_TEST

static void count_some(void)
{
    metrics_issued(&desk->loops[0], METRICS_OID, 3000);
    metrics_issued(&desk->loops[1], METRICS_OID, 1000);
    metrics_issued(&desk->loops[1], METRICS_COUNTER, 50);
    metrics_issued(&desk->loops[0], METRICS_UUID, 8);
    metrics_error(&desk->loops[0], ERROR_ERR, 2);
    metrics_error(&desk->loops[1], ERROR_TRYAGAIN, 4);
    metrics_observe(&desk->loops[0].command_us[COMMAND_ID_oid], metrics_us_bounds, 40, 150);
    metrics_observe(&desk->loops[1].command_us[COMMAND_ID_next], metrics_us_bounds, 640, 50);
}

START_TEST(what_came_in_between_by_the_time_in_between)
{
    uint64_t last = 0;
    count_some(); /* before the first call: none of it is told */
    sample_after(0);
    count_some();
    desk->state.connections = 3;
    sample_after(2000);
    char *text = events(&last);
    ck_assert(says(text, "\"oids\":2000,\"values\":25,\"uuids\":4,\"commands\":100,\"errors\":3,"
                         "\"connections\":3,\"waiting\":0,\"latency_us\":190,"));
    ck_assert(says(text, "\"leads\":true,\"store\":true,\"lead_ms\":0}"));
    free(text);
    sample_after(1000);
    text = events(&last);
    ck_assert(says(text, "\"oids\":0,\"values\":0,\"uuids\":0,\"commands\":0,\"errors\":0,"));
    ck_assert(says(text, "\"latency_us\":0,\"p99_us\":0,\"flush_us\":0,"));
    free(text);
}
END_TEST

START_TEST(p99)
{
    static const struct {
        unsigned fast, slow; /* of 40 us, of 640 us */
        const char *told;
    } rows[] = {
        {100, 0, "\"p99_us\":49,"}, /* the 99th of 100 in 0 .. 50 */
        {99, 1, "\"p99_us\":50,"},  /* the last of 99 in 0 .. 50 */
        {98, 2, "\"p99_us\":750,"}, /* the 1st of 2 in 500 .. 1000 */
        {0, 1, "\"p99_us\":1000,"}, /* the only one */
        {1, 0, "\"p99_us\":50,"},
    };
    uint64_t last = 0;
    sample_after(0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        metrics_observe(&desk->loops[0].command_us[0], metrics_us_bounds, 40, rows[i].fast);
        metrics_observe(&desk->loops[1].command_us[1], metrics_us_bounds, 640, rows[i].slow);
        sample_after(1000);
        char *text = events(&last);
        ck_assert_msg(says(text, rows[i].told), "%s in %s", rows[i].told, text);
        free(text);
    }
    metrics_observe(&desk->loops[0].command_us[0], metrics_us_bounds, 9000000, 1);
    sample_after(1000);
    char *text = events(&last);
    ck_assert(says(text, "\"p99_us\":2500000,"));
    free(text);
}
END_TEST

START_TEST(an_outage_is_told)
{
    uint64_t last = 0;
    sample_after(0);
    desk_script(desk, "not_done");
    ck_assert_int_eq(desk_next(desk, "n"), ERROR_TRYAGAIN);
    sample_after(1000);
    char *text = events(&last);
    ck_assert(says(text, "\"store\":false,"));
    free(text);
    ck_assert_int_eq(desk_next(desk, "n"), ERROR_NONE);
    sample_after(1000);
    text = events(&last);
    ck_assert(says(text, "\"store\":true,"));
    free(text);
}
END_TEST

START_TEST(two_calls_at_one_time_are_one)
{
    uint64_t last = 0;
    sample_after(0);
    sample_after(0);
    sample_after(1000);
    sample_after(0);
    free(events(&last));
    ck_assert_uint_eq(last, base + 1);
}
END_TEST

START_TEST(a_reader_gets_what_it_missed)
{
    const struct {
        uint64_t last;
        unsigned got;
        uint64_t first; /* of those it got; behind base */
    } rows[] = {
        {0, 120, 81},          {base - 1, 120, 81},   {base, 120, 81},      {base + 80, 120, 81},
        {base + 81, 119, 82},  {base + 198, 2, 199},  {base + 199, 1, 200}, {base + 200, 0, 0},
        {base + 201, 120, 81}, {UINT64_MAX, 120, 81},
    };
    sample_after(0);
    sample_times(200);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t last = rows[i].last;
        char head[64];
        char *text = events(&last);
        ck_assert_uint_eq(last, base + 200);
        ck_assert_uint_eq(event_count(text), rows[i].got);
        snprintf(head, sizeof head, "id: %" PRIu64 "\n", base + rows[i].first);
        if (rows[i].got > 0)
            ck_assert(strncmp(text, head, strlen(head)) == 0);
        free(text);
    }
}
END_TEST

/* Whatever the one before had told: also fewer events than this one has. */
START_TEST(a_reader_of_a_start_before_gets_all)
{
    for (unsigned times = 1; times < 4; times++) {
        uint64_t last = 0;
        sample_after(0);
        sample_times(times);
        free(events(&last));
        rates_finish(rates);
        rates_init(rates);
        sample_after(10);
        sample_times(3);
        char *text = events(&last);
        ck_assert_uint_eq(event_count(text), 3);
        free(text);
        rates_finish(rates);
        rates_init(rates);
    }
}
END_TEST

START_TEST(the_greatest_numbers_fit)
{
    uint64_t last = 0;
    sample_after(0);
    for (int kind = 0; kind < METRICS_KINDS; kind++)
        desk->loops[0].issued[kind] = UINT64_MAX / 1000 - 1;
    desk->loops[0].errors[ERROR_ERR] = UINT64_MAX / 1000 - 1;
    desk->loops[0].command_us[0].buckets[0] = 1;
    desk->loops[0].command_us[0].sum = UINT64_MAX;
    desk->state.connections = UINT64_MAX;
    sample_after(1);
    char *text = events(&last);
    ck_assert_uint_lt(strlen(text), RATES_EVENT_BYTES);
    ck_assert_str_eq(text + strlen(text) - 3, "}\n\n");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rates");
    TCase *tcase = tcase_create("rates");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, the_first_call_only_notes_where_counting_begins);
    tcase_add_test(tcase, an_event_has_the_form_of_server_sent_events);
    tcase_add_test(tcase, what_came_in_between_by_the_time_in_between);
    tcase_add_test(tcase, p99);
    tcase_add_test(tcase, an_outage_is_told);
    tcase_add_test(tcase, two_calls_at_one_time_are_one);
    tcase_add_test(tcase, a_reader_gets_what_it_missed);
    tcase_add_test(tcase, a_reader_of_a_start_before_gets_all);
    tcase_add_test(tcase, the_greatest_numbers_fit);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
