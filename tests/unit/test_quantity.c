#include <check.h>
#include <inttypes.h>
#include <stdlib.h>

#include "quantity.h"
#include "suite.h"

#define NUMBER "not a whole number"
#define LARGE "the number is too large"
#define TIME "bad unit: there are ms, s, m and h"
#define SIZE "bad unit: there are B, KiB, MiB and GiB"

static const struct {
    enum quantity kind;
    const char *text;
    const char *why; /* NULL: a good one */
    int64_t value;
} rows[] = {
    {QUANTITY_COUNT, "0", NULL, 0},
    {QUANTITY_COUNT, "007", NULL, 7},
    {QUANTITY_COUNT, "9223372036854775807", NULL, INT64_MAX},
    {QUANTITY_COUNT, "-9223372036854775808", NULL, INT64_MIN},
    {QUANTITY_COUNT, "9223372036854775808", LARGE, 0},
    {QUANTITY_COUNT, "-9223372036854775809", LARGE, 0},
    {QUANTITY_COUNT, "99999999999999999999", LARGE, 0},
    {QUANTITY_COUNT, "", NUMBER, 0},
    {QUANTITY_COUNT, "-", NUMBER, 0},
    {QUANTITY_COUNT, "--1", NUMBER, 0},
    {QUANTITY_COUNT, "+1", NUMBER, 0},
    {QUANTITY_COUNT, " 1", NUMBER, 0},
    {QUANTITY_COUNT, "1 ", NUMBER, 0},
    {QUANTITY_COUNT, "1s", NUMBER, 0},
    {QUANTITY_COUNT, "0x10", NUMBER, 0},
    {QUANTITY_COUNT, "1e3", NUMBER, 0},
    {QUANTITY_DURATION, "0", NULL, 0},
    {QUANTITY_DURATION, "0s", NULL, 0},
    {QUANTITY_DURATION, "1500ms", NULL, 1500},
    {QUANTITY_DURATION, "10s", NULL, 10000},
    {QUANTITY_DURATION, "5m", NULL, 300000},
    {QUANTITY_DURATION, "1h", NULL, 3600000},
    {QUANTITY_DURATION, "1500", TIME, 0},
    {QUANTITY_DURATION, "1d", TIME, 0},
    {QUANTITY_DURATION, "1S", TIME, 0},
    {QUANTITY_DURATION, "1 s", TIME, 0},
    {QUANTITY_DURATION, "1.5s", TIME, 0},
    {QUANTITY_DURATION, "1s1", TIME, 0},
    {QUANTITY_DURATION, "0d", TIME, 0},
    {QUANTITY_DURATION, "-1s", NUMBER, 0},
    {QUANTITY_DURATION, "s", NUMBER, 0},
    {QUANTITY_DURATION, "2562047788015h", NULL, INT64_C(9223372036854000000)},
    {QUANTITY_DURATION, "2562047788016h", LARGE, 0},
    {QUANTITY_SIZE, "0", NULL, 0},
    {QUANTITY_SIZE, "512B", NULL, 512},
    {QUANTITY_SIZE, "4KiB", NULL, 4096},
    {QUANTITY_SIZE, "1MiB", NULL, 1048576},
    {QUANTITY_SIZE, "2GiB", NULL, INT64_C(2147483648)},
    {QUANTITY_SIZE, "4096", SIZE, 0},
    {QUANTITY_SIZE, "1MB", SIZE, 0},
    {QUANTITY_SIZE, "1M", SIZE, 0},
    {QUANTITY_SIZE, "8589934592GiB", LARGE, 0},
    {QUANTITY_OCTAL, "0700", NULL, 0700},
    {QUANTITY_OCTAL, "777", NULL, 0777},
    {QUANTITY_OCTAL, "0", NULL, 0},
    {QUANTITY_OCTAL, "8", "not an octal number", 0},
    {QUANTITY_OCTAL, "078", "not an octal number", 0},
    {QUANTITY_OCTAL, "0o700", "not an octal number", 0},
    {QUANTITY_OCTAL, "-7", "not an octal number", 0},
    {QUANTITY_OCTAL, "", "not an octal number", 0},
};

START_TEST(each_row)
{
    int64_t value = 4711;
    ck_assert_pstr_eq(quantity_parse(rows[_i].kind, rows[_i].text, &value), rows[_i].why);
    ck_assert_int_eq(value, rows[_i].why ? 4711 : rows[_i].value);
}
END_TEST

static const struct {
    enum quantity kind;
    int64_t value;
    const char *text;
} texts[] = {
    {QUANTITY_COUNT, INT64_MIN, "-9223372036854775808"},
    {QUANTITY_COUNT, 60000, "60000"},
    {QUANTITY_DURATION, 0, "0"},
    {QUANTITY_DURATION, 1, "1ms"},
    {QUANTITY_DURATION, 1500, "1500ms"},
    {QUANTITY_DURATION, 2000, "2s"},
    {QUANTITY_DURATION, 60000, "1m"},
    {QUANTITY_DURATION, 61000, "61s"},
    {QUANTITY_DURATION, 3600000, "1h"},
    {QUANTITY_DURATION, 86400000, "24h"},
    {QUANTITY_DURATION, INT64_MAX, "9223372036854775807ms"},
    {QUANTITY_SIZE, 1023, "1023B"},
    {QUANTITY_SIZE, 1048576, "1MiB"},
    {QUANTITY_SIZE, 268435456, "256MiB"},
    {QUANTITY_SIZE, INT64_C(1) << 40, "1024GiB"},
    {QUANTITY_OCTAL, 0700, "0700"},
    {QUANTITY_OCTAL, 0, "0"},
};

START_TEST(each_text)
{
    char text[QUANTITY_TEXT];
    int64_t value = 0;
    quantity_text(texts[_i].kind, texts[_i].value, text);
    ck_assert_str_eq(text, texts[_i].text);
    ck_assert_ptr_null(quantity_parse(texts[_i].kind, text, &value));
    ck_assert_int_eq(value, texts[_i].value);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quantity");
    TCase *tcase = tcase_create("quantity");
    tcase_add_loop_test(tcase, each_row, 0, sizeof(rows) / sizeof(rows[0]));
    tcase_add_loop_test(tcase, each_text, 0, sizeof(texts) / sizeof(texts[0]));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
