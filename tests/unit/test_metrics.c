/* Counting, adding up, and the text that Prometheus reads. */
#include "dispatch_fixture.h"

#include <fcntl.h>
#include <stdio.h>

#include "metrics_rows.h"

static struct desk *desk;
static struct buffer out;

static void setup(void)
{
    desk = desk_create(false);
    buffer_init(&out, 0);
}

static void teardown(void)
{
    buffer_finish(&out);
    desk_destroy(desk);
}

static const char *write_all(void)
{
    buffer_finish(&out);
    metrics_write(&desk->dispatch, desk_now(), &out);
    buffer_append(&out, "", 1);
    ck_assert(!out.failed);
    return out.data;
}

/* What stands behind "SERIES " at the start of a line; NULL: no such line. */
static const char *find(const char *text, const char *series)
{
    static char value[64];
    size_t len = strlen(series);
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, series, len) == 0 && line[len] == ' ') {
            snprintf(value, sizeof value, "%.*s", (int)strcspn(line + len + 1, "\n"),
                     line + len + 1);
            return value;
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return NULL;
}

#define ck_sample(text, series, value)                                                             \
    do {                                                                                           \
        const char *found = find((text), (series));                                                \
        ck_assert_msg(found != NULL, "no %s", (series));                                           \
        ck_assert_str_eq(found, (value));                                                          \
    } while (0)

/* --- Counting --- */

START_TEST(a_bound_belongs_to_its_bucket)
{
    struct metrics_histogram histogram = {0};
    metrics_observe(&histogram, metrics_us_bounds, 0, 1);
    metrics_observe(&histogram, metrics_us_bounds, metrics_us_bounds[0], 2);
    metrics_observe(&histogram, metrics_us_bounds, metrics_us_bounds[0] + 1, 4);
    metrics_observe(&histogram, metrics_us_bounds, metrics_us_bounds[METRICS_BUCKETS - 2], 8);
    metrics_observe(&histogram, metrics_us_bounds, metrics_us_bounds[METRICS_BUCKETS - 2] + 1, 16);
    metrics_observe(&histogram, metrics_us_bounds, UINT64_C(1) << 40, 32);
    ck_assert_uint_eq(histogram.buckets[0], 3);
    ck_assert_uint_eq(histogram.buckets[1], 4);
    ck_assert_uint_eq(histogram.buckets[METRICS_BUCKETS - 2], 8);
    ck_assert_uint_eq(histogram.buckets[METRICS_BUCKETS - 1], 48);
    ck_assert_uint_eq(metrics_histogram_count(&histogram), 63);
    ck_assert_uint_eq(histogram.sum,
                      2 * 50 + 4 * 51 + 8 * 2500000 + 16 * 2500001 + 32 * (UINT64_C(1) << 40));
}
END_TEST

START_TEST(bounds_rise)
{
    for (size_t i = 1; i < METRICS_BUCKETS - 1; i++) {
        ck_assert_uint_lt(metrics_us_bounds[i - 1], metrics_us_bounds[i]);
        ck_assert_uint_lt(metrics_ops_bounds[i - 1], metrics_ops_bounds[i]);
    }
}
END_TEST

START_TEST(errors_are_told_by_their_replies)
{
    static const struct {
        const char *reply;
        enum error_word word; /* NONE: is none, or is not known */
    } rows[] = {
        {"-ERR unknown command\r\n", ERROR_ERR},
        {"-TRYAGAIN the store did not take it\r\n", ERROR_TRYAGAIN},
        {"-NOAUTH Authentication required.\r\n", ERROR_NOAUTH},
        {"-NOPERM x\r\n", ERROR_NOPERM},
        {"-UNCERTAIN\r\n", ERROR_UNCERTAIN},
        {"-ERRATA x\r\n", ERROR_NONE},
        {"-ERR", ERROR_NONE},
        {"-", ERROR_NONE},
        {"", ERROR_NONE},
        {"+ERR x\r\n", ERROR_NONE},
        {":ERR x\r\n", ERROR_NONE},
        {"$9\r\n-ERR what\r\n", ERROR_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct metrics_loop loop = {0};
        metrics_reply(&loop, rows[i].reply, strlen(rows[i].reply));
        for (int word = 0; word < ERROR_WORDS; word++)
            ck_assert_msg(loop.errors[word] ==
                              (rows[i].word != ERROR_NONE && word == (int)rows[i].word),
                          "%s", rows[i].reply);
    }
    metrics_reply(NULL, rows[0].reply, strlen(rows[0].reply));
    metrics_issued(NULL, METRICS_OID, 1);
}
END_TEST

/* --- The text --- */

static unsigned occurrences(const char *text, const char *what)
{
    unsigned count = 0;
    for (; (text = strstr(text, what)) != NULL; text++)
        count++;
    return count;
}

START_TEST(each_row_is_told_once)
{
    static const char *const rows[][2] = {
#define METRIC_ROW(id, name, type, unit, help)                                                     \
    {"# HELP " name " " help "\n# TYPE " name " " #type "\n", name},
        METRIC_ROWS
#undef METRIC_ROW
    };
    const char *text = write_all();
    for (size_t i = 0; i < METRIC_IDS; i++)
        ck_assert_msg(occurrences(text, rows[i][0]) == 1, "%s", rows[i][1]);
    ck_assert_uint_eq(occurrences(text, "# TYPE"), METRIC_IDS);
    ck_assert_uint_eq(occurrences(text, "# HELP"), METRIC_IDS);
    ck_assert_uint_eq(occurrences(text, "\n\n"), 0);
    ck_assert_int_eq(text[strlen(text) - 1], '\n');
}
END_TEST

START_TEST(loops_are_added_up)
{
    for (size_t i = 0; i < DESK_LOOPS; i++) {
        metrics_error(&desk->loops[i], ERROR_TRYAGAIN, 3 + i);
        metrics_issued(&desk->loops[i], METRICS_UUID, 100);
        metrics_count(&desk->loops[i].http_requests[4], 1);
        metrics_observe(&desk->loops[i].command_us[COMMAND_ID_oid_range], metrics_us_bounds,
                        i == 0 ? 60 : 3000000, 5);
    }
    const char *text = write_all();
    ck_sample(text, "idmint_errors_total{word=\"TRYAGAIN\"}", "7");
    ck_sample(text, "idmint_errors_total{word=\"ERR\"}", "0");
    ck_sample(text, "idmint_issued_total{kind=\"uuid\"}", "200");
    ck_sample(text, "idmint_issued_total{kind=\"oid\"}", "0");
    ck_sample(text, "idmint_http_requests_total{status=\"4xx\"}", "2");
    ck_sample(text, "idmint_http_requests_total{status=\"2xx\"}", "0");
#define OF(part) "idmint_command_duration_seconds_" part "{command=\"OID RANGE\""
    ck_sample(text, OF("bucket") ",le=\"0.00005\"}", "0");
    ck_sample(text, OF("bucket") ",le=\"0.0001\"}", "5");
    ck_sample(text, OF("bucket") ",le=\"2.5\"}", "5");
    ck_sample(text, OF("bucket") ",le=\"+Inf\"}", "10");
    ck_sample(text, OF("count") "}", "10");
    ck_sample(text, OF("sum") "}", "15.0003");
#undef OF
    /* What was not used is left out: a line for each command and bucket would be too many. */
    ck_assert_ptr_null(strstr(text, "command=\"PING\""));
    ck_assert_ptr_null(strstr(text, "word=\"OK\""));
}
END_TEST

START_TEST(the_server_and_its_limits)
{
    desk->state = (struct dispatch_server_state){
        .connections = 2, .connections_total = 7, .connections_refused = 1, .buffer_bytes = 4096};
    desk->config.limits.connections = 50;
    desk->config.limits.buffer_bytes = 1 << 20;
    const char *text = write_all();
    ck_sample(text, "idmint_connections", "2");
    ck_sample(text, "idmint_connections_limit", "50");
    ck_sample(text, "idmint_connections_opened_total", "7");
    ck_sample(text, "idmint_connections_refused_total", "1");
    ck_sample(text, "idmint_buffer_bytes", "4096");
    ck_sample(text, "idmint_buffer_limit_bytes", "1048576");
}
END_TEST

START_TEST(the_store_and_its_outcomes)
{
    desk_script(desk, "ok*3,not_done,unknown_lost,unknown_applied");
    for (int i = 0; i < 6; i++)
        (void)desk_next(desk, "n");
    const char *text = write_all();
    ck_sample(text, "idmint_store_ops_total{outcome=\"done\"}", "3");
    ck_sample(text, "idmint_store_ops_total{outcome=\"not_done\"}", "1");
    ck_sample(text, "idmint_store_ops_total{outcome=\"unknown\"}", "2");
    ck_sample(text, "idmint_store_ops_total{outcome=\"refused\"}", "0");
    ck_sample(text, "idmint_store_commit_ops_bucket{le=\"1\"}", "6");
    ck_sample(text, "idmint_store_commit_ops_bucket{le=\"+Inf\"}", "6");
    ck_sample(text, "idmint_store_commit_ops_sum", "6");
    ck_sample(text, "idmint_store_commit_duration_seconds_count", "6");
    ck_sample(text, "idmint_store_up", "0");
    ck_assert_int_eq(desk_next(desk, "n"), ERROR_NONE);
    text = write_all();
    ck_sample(text, "idmint_store_up", "1");
    ck_sample(text, "idmint_counters_replies_total{source=\"store\"}", "4");
    ck_sample(text, "idmint_counters_replies_total{source=\"block\"}", "0");
    ck_sample(text, "idmint_counters_flushes_total", "7");
    ck_sample(text, "idmint_counters_in_memory", "1");
    ck_sample(text, "idmint_counters_headroom_ratio", "0.99");
}
END_TEST

START_TEST(the_age_of_the_last_answer)
{
    struct store_worker_stats stats;
    struct clock_now now = desk_now();
    store_worker_look(desk->dispatch.worker, &stats);
    now.boot_ms = stats.answered_ms + 1500;
    metrics_write(&desk->dispatch, now, &out);
    buffer_append(&out, "", 1);
    ck_sample(out.data, "idmint_store_answer_age_seconds", "1.5");
    buffer_finish(&out);
    now.boot_ms = stats.answered_ms - 1;
    metrics_write(&desk->dispatch, now, &out);
    buffer_append(&out, "", 1);
    ck_sample(out.data, "idmint_store_answer_age_seconds", "0");
}
END_TEST

/* By a clock of its own: what the issuer makes of time is exact. */
START_TEST(the_issuer)
{
    struct clock_now now = desk_now();
    uint64_t first;
    metrics_write(&desk->dispatch, now, &out);
    buffer_append(&out, "", 1);
    ck_sample(out.data, "idmint_oid_window_seconds", "-1700000000");
    ck_sample(out.data, "idmint_oid_lead_seconds", "0");
    ck_sample(out.data, "idmint_leads", "1");
    ck_sample(out.data, "idmint_lease_left_seconds", "0");
    buffer_finish(&out);

    oid_saved(&desk->oid, DESK_REAL_S + 3);
    ck_assert_int_eq(oid_take(&desk->oid, now, 1 << 24, &first), OID_OK);
    now.real_ms += 250;
    now.boot_ms += 250;
    metrics_write(&desk->dispatch, now, &out);
    buffer_append(&out, "", 1);
    ck_sample(out.data, "idmint_oid_lead_seconds", "0.75");
    ck_sample(out.data, "idmint_oid_window_seconds", "3");
    ck_sample(out.data, "idmint_oid_window_size_seconds", "3");
    ck_sample(out.data, "idmint_clock_step_waited_out", "0");
}
END_TEST

START_TEST(labels_are_escaped)
{
    snprintf(desk->base.facts.version, sizeof desk->base.facts.version, "a\"b\\c\nd");
    const char *text = write_all();
    ck_sample(text,
              "idmint_build_info{version=\"" IDMINT_VERSION
              "\",store=\"desk\",engine=\"a\\\"b\\\\c\\nd\"}",
              "1");
}
END_TEST

START_TEST(the_process)
{
    static const char *const series[] = {"idmint_process_resident_memory_bytes",
                                         "idmint_process_cpu_seconds_total",
                                         "idmint_process_open_fds", "idmint_process_max_fds"};
    const char *text = write_all();
    ck_assert_ptr_null(find(text, "idmint_process_open_fds")); /* not counted yet */
    resources_count(&desk->resources, (int64_t)desk->state.connections);
    text = write_all();
    for (size_t i = 0; i < sizeof series / sizeof series[0]; i++) {
        const char *value = find(text, series[i]);
        ck_assert_ptr_nonnull(value);
        ck_assert_msg(strtod(value, NULL) > 0, "%s", series[i]);
    }
    double start = strtod(find(text, "idmint_process_start_time_seconds"), NULL);
    double now = (double)time(NULL);
    ck_assert_msg(start > now - 3600 && start < now + 2, "%f", start);

    long open = 0;
    for (int fd = 0; fd < 65536; fd++)
        open += fcntl(fd, F_GETFD) >= 0;
    ck_assert_int_eq(strtol(find(text, "idmint_process_open_fds"), NULL, 10), open);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *counting = tcase_create("counting");
    tcase_add_test(counting, a_bound_belongs_to_its_bucket);
    tcase_add_test(counting, bounds_rise);
    tcase_add_test(counting, errors_are_told_by_their_replies);
    suite_add_tcase(suite, counting);
    TCase *text = tcase_create("text");
    tcase_add_checked_fixture(text, setup, teardown);
    tcase_add_test(text, each_row_is_told_once);
    tcase_add_test(text, loops_are_added_up);
    tcase_add_test(text, the_server_and_its_limits);
    tcase_add_test(text, the_store_and_its_outcomes);
    tcase_add_test(text, the_age_of_the_last_answer);
    tcase_add_test(text, the_issuer);
    tcase_add_test(text, labels_are_escaped);
    tcase_add_test(text, the_process);
    suite_add_tcase(suite, text);
    return run_suite(suite);
}
