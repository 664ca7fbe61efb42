#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "objectid.h"
#include "suite.h"

static const struct vector {
    const char *hex;
    uint32_t seconds;
    uint8_t random[OBJECTID_RANDOM_BYTES];
    uint32_t counter;
    uint32_t machine;
    uint16_t pid;
    const char *time;
} VECTORS[] = {
    {"6553f1003f2a91c8d4003039",
     1700000000,
     {0x3f, 0x2a, 0x91, 0xc8, 0xd4},
     12345,
     0x3f2a91,
     51412,
     "2023-11-14T22:13:20Z"},
    {"507f1f77bcf86cd799439011",
     1350508407,
     {0xbc, 0xf8, 0x6c, 0xd7, 0x99},
     4427793,
     0xbcf86c,
     55193,
     "2012-10-17T21:13:27Z"},
    {"47cc67093475061e3d95369d",
     1204578057,
     {0x34, 0x75, 0x06, 0x1e, 0x3d},
     9778845,
     0x347506,
     7741,
     "2008-03-03T21:00:57Z"},
    {"4df2dcec2cdcd20936a8b817",
     1307761900,
     {0x2c, 0xdc, 0xd2, 0x09, 0x36},
     11057175,
     0x2cdcd2,
     2358,
     "2011-06-11T03:11:40Z"},
    {"617bdbff69a05c6d954d2235",
     1635507199,
     {0x69, 0xa0, 0x5c, 0x6d, 0x95},
     5055029,
     0x69a05c,
     28053,
     "2021-10-29T11:33:19Z"},
    {"000000000000000000000000", 0, {0, 0, 0, 0, 0}, 0, 0, 0, "1970-01-01T00:00:00Z"},
    {"ffffffffffffffffffffffff",
     UINT32_MAX,
     {0xff, 0xff, 0xff, 0xff, 0xff},
     16777215,
     0xffffff,
     65535,
     "2106-02-07T06:28:15Z"},
};

START_TEST(vectors_read_and_write_alike)
{
    const struct vector *vector = &VECTORS[_i];
    uint8_t id[OBJECTID_BYTES], built[OBJECTID_BYTES];
    ck_assert(objectid_parse(vector->hex, OBJECTID_HEX, id));

    struct objectid_parts parts;
    objectid_split(id, &parts);
    ck_assert_uint_eq(parts.seconds, vector->seconds);
    ck_assert_mem_eq(parts.random, vector->random, OBJECTID_RANDOM_BYTES);
    ck_assert_uint_eq(parts.counter, vector->counter);
    ck_assert_uint_eq(parts.legacy_machine, vector->machine);
    ck_assert_uint_eq(parts.legacy_pid, vector->pid);

    uint64_t tick = (uint64_t)vector->seconds << 24 | vector->counter;
    ck_assert_uint_eq(objectid_tick(id), tick);
    objectid_build(tick, vector->random, built);
    ck_assert_mem_eq(built, id, OBJECTID_BYTES);
    char hex[OBJECTID_HEX];
    objectid_hex(built, hex);
    ck_assert_mem_eq(hex, vector->hex, OBJECTID_HEX);

    char time[OBJECTID_TIME_TEXT];
    objectid_time_text(vector->seconds, time);
    ck_assert_str_eq(time, vector->time);
}
END_TEST

START_TEST(upper_case_is_read)
{
    uint8_t lower[OBJECTID_BYTES], mixed[OBJECTID_BYTES];
    ck_assert(objectid_parse("abcdef0123456789abcdef98", OBJECTID_HEX, lower));
    ck_assert(objectid_parse("ABCDEF0123456789aBcDeF98", OBJECTID_HEX, mixed));
    ck_assert_mem_eq(lower, mixed, OBJECTID_BYTES);
}
END_TEST

START_TEST(no_other_byte_is_a_digit_in_any_place)
{
    uint8_t id[OBJECTID_BYTES], untouched[OBJECTID_BYTES];
    memset(untouched, 0x5a, sizeof untouched);
    for (size_t place = 0; place < OBJECTID_HEX; place++) {
        for (int byte = 0; byte < 256; byte++) {
            char hex[OBJECTID_HEX];
            memcpy(hex, "6553f1003f2a91c8d4003039", OBJECTID_HEX);
            hex[place] = (char)byte;
            memcpy(id, untouched, sizeof id);
            bool is_digit = byte != 0 && strchr("0123456789abcdefABCDEF", byte) != NULL;
            ck_assert_msg(objectid_parse(hex, OBJECTID_HEX, id) == is_digit, "byte %d at %zu", byte,
                          place);
            ck_assert_int_eq(memcmp(id, untouched, sizeof id) == 0, !is_digit);
        }
    }
}
END_TEST

START_TEST(other_lengths_are_refused)
{
    uint8_t id[OBJECTID_BYTES] = {7};
    const char *hex = "6553f1003f2a91c8d400303900";
    ck_assert(!objectid_parse(hex, 0, id));
    ck_assert(!objectid_parse(hex, 23, id));
    ck_assert(!objectid_parse(hex, 25, id));
    ck_assert_uint_eq(id[0], 7);
}
END_TEST

/* A run gives what single ids give, over the carry of the last byte, of the counter into the
 * seconds, and up to the last tick; and leaves the bytes between alone. */
START_TEST(run_is_the_single_ids)
{
    static const uint64_t FIRSTS[] = {0, UINT64_C(0x6553f100003039), UINT64_C(0x6553f1000030ff),
                                      UINT64_C(0x6553f100ffff80), OBJECTID_TICK_MAX - 699};
    static const uint8_t RANDOM[OBJECTID_RANDOM_BYTES] = {0x3f, 0x2a, 0x91, 0xc8, 0xd4};
    enum { COUNT = 700, STRIDE = 27 };
    static char run[COUNT * STRIDE];
    for (size_t i = 0; i < sizeof FIRSTS / sizeof *FIRSTS; i++) {
        memset(run, '~', sizeof run);
        objectid_hex_run(FIRSTS[i], RANDOM, COUNT, run, STRIDE);
        for (size_t k = 0; k < COUNT; k++) {
            uint8_t id[OBJECTID_BYTES];
            char hex[STRIDE];
            memset(hex, '~', sizeof hex);
            objectid_build(FIRSTS[i] + k, RANDOM, id);
            objectid_hex(id, hex);
            ck_assert_mem_eq(run + k * STRIDE, hex, STRIDE);
        }
    }
}
END_TEST

START_TEST(run_writes_no_more_than_its_ids)
{
    static const uint8_t RANDOM[OBJECTID_RANDOM_BYTES] = {0};
    char *exact = malloc(2 * OBJECTID_HEX + 3);
    ck_assert_ptr_nonnull(exact);
    memset(exact, '~', 2 * OBJECTID_HEX + 3);
    objectid_hex_run(255, RANDOM, 0, exact, OBJECTID_HEX);
    ck_assert_int_eq(exact[0], '~');
    objectid_hex_run(255, RANDOM, 2, exact, OBJECTID_HEX);
    ck_assert_mem_eq(exact, "0000000000000000000000ff000000000000000000000100~~~", 51);
    free(exact);
}
END_TEST

/* Days across the whole range, against the C library's calendar. */
START_TEST(time_text_agrees_with_gmtime)
{
    for (uint64_t seconds = 0; seconds <= UINT32_MAX; seconds += 86400 / 2 - 1) {
        time_t time = (time_t)seconds;
        struct tm parts;
        char expected[32], text[OBJECTID_TIME_TEXT];
        ck_assert_ptr_nonnull(gmtime_r(&time, &parts));
        strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%SZ", &parts);
        objectid_time_text((uint32_t)seconds, text);
        ck_assert_str_eq(text, expected);
        uint32_t back;
        ck_assert(objectid_parse_time(text, strlen(text), &back));
        ck_assert_uint_eq(back, seconds);
    }
}
END_TEST

static const struct time_row {
    const char *text;
    int64_t seconds; /* -1: refused */
} TIMES[] = {
    {"0", 0},
    {"1", 1},
    {"1700000000", 1700000000},
    {"4294967295", UINT32_MAX},
    {"4294967296", -1},
    {"9999999999", -1},
    {"42949672950", -1},
    {"18446744073709551617", -1},
    {"00", -1},
    {"01", -1},
    {"-1", -1},
    {"+1", -1},
    {"1.5", -1},
    {" 1", -1},
    {"1 ", -1},
    {"", -1},
    {"x", -1},
    {"0x10", -1},
    {"1970-01-01T00:00:00Z", 0},
    {"2012-10-17T21:13:27Z", 1350508407},
    {"2012-10-17t21:13:27z", 1350508407},
    {"2012-10-17 21:13:27Z", 1350508407},
    {"2012-10-17T23:13:27+02:00", 1350508407},
    {"2012-10-17T15:43:27-05:30", 1350508407},
    {"2012-10-17T21:13:27-00:00", 1350508407},
    {"2012-10-17T21:13:27.999999999999Z", 1350508407},
    {"2012-10-17T21:13:27.5+00:00", 1350508407},
    {"2106-02-07T06:28:15Z", UINT32_MAX},
    {"2106-02-07T06:28:15.9Z", UINT32_MAX},
    {"2106-02-07T06:28:16Z", -1},
    {"2106-02-07T07:28:15+01:00", UINT32_MAX},
    {"2106-02-07T06:28:15-00:01", -1},
    {"1969-12-31T23:59:59Z", -1},
    {"1969-12-31T23:59:59-00:01", 59},
    {"1970-01-01T00:59:59+01:00", -1},
    {"0000-01-01T00:00:00Z", -1},
    {"9999-12-31T23:59:59Z", -1},
    {"2016-12-31T23:59:60Z", 1483228800},
    {"2016-12-31T23:59:60.7Z", 1483228800},
    {"2016-12-31T23:59:61Z", -1},
    {"2106-02-07T06:27:60Z", INT64_C(4294967280)},
    {"2000-02-29T00:00:00Z", 951782400},
    {"2024-02-29T00:00:00Z", 1709164800},
    {"2023-02-29T00:00:00Z", -1},
    {"2100-02-29T00:00:00Z", -1},
    {"2100-03-01T00:00:00Z", INT64_C(4107542400)},
    {"2023-04-31T00:00:00Z", -1},
    {"2023-00-10T00:00:00Z", -1},
    {"2023-13-10T00:00:00Z", -1},
    {"2023-01-00T00:00:00Z", -1},
    {"2023-01-32T00:00:00Z", -1},
    {"2023-01-01T24:00:00Z", -1},
    {"2023-01-01T00:60:00Z", -1},
    {"2023-01-01T00:00:00", -1},
    {"2023-01-01T00:00:00.Z", -1},
    {"2023-01-01T00:00:00,5Z", -1},
    {"2023-01-01T00:00:00Zx", -1},
    {"2023-01-01T00:00:00+1:00", -1},
    {"2023-01-01T00:00:00+0100", -1},
    {"2023-01-01T00:00:00+24:00", -1},
    {"2023-01-01T00:00:00+00:60", -1},
    {"2023-1-01T00:00:00Z", -1},
    {"2023-01-01", -1},
    {"2023-", -1},
    {"20 3-01-01T00:00:00Z", -1},
};

START_TEST(times)
{
    const struct time_row *row = &TIMES[_i];
    size_t len = strlen(row->text);
    char *exact = malloc(len + 1); /* no NUL follows: the sanitizer sees a read past the end */
    ck_assert_ptr_nonnull(exact);
    memcpy(exact + 1, row->text, len);
    uint32_t seconds = 77;
    bool read = objectid_parse_time(exact + 1, len, &seconds);
    free(exact);
    ck_assert_msg(read == (row->seconds >= 0), "\"%s\"", row->text);
    ck_assert_msg(seconds == (read ? (uint64_t)row->seconds : 77), "\"%s\" gave %u", row->text,
                  seconds);
}
END_TEST

START_TEST(time_holding_a_nul_is_refused)
{
    uint32_t seconds;
    ck_assert(!objectid_parse_time("12\0", 3, &seconds));
    ck_assert(!objectid_parse_time("2012-10-17\00021:13:27Z", 20, &seconds));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("objectid");
    tcase_add_loop_test(cases, vectors_read_and_write_alike, 0, sizeof VECTORS / sizeof *VECTORS);
    tcase_add_test(cases, upper_case_is_read);
    tcase_add_test(cases, no_other_byte_is_a_digit_in_any_place);
    tcase_add_test(cases, other_lengths_are_refused);
    tcase_add_test(cases, run_is_the_single_ids);
    tcase_add_test(cases, run_writes_no_more_than_its_ids);
    tcase_add_test(cases, time_text_agrees_with_gmtime);
    tcase_add_loop_test(cases, times, 0, sizeof TIMES / sizeof *TIMES);
    tcase_add_test(cases, time_holding_a_nul_is_refused);
    Suite *suite = suite_create("objectid");
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
