#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "limit.h"
#include "name.h"
#include "suite.h"

#define UTF8 "a name must be valid UTF-8"
#define UNFIT "a name must not contain spaces or control characters"

struct row {
    const char *name;
    const char *why; /* NULL: a good name */
};

static const struct row rows[] = {
    {"a", NULL},
    {"orders.2024:eu/1-_~!", NULL},
    {"...", NULL},
    {".a", NULL},
    {"a.", NULL},
    {"..a", NULL},
    {"", "a name must not be empty"},
    {".", "a name must not be \".\" or \"..\""},
    {"..", "a name must not be \".\" or \"..\""},
    {"a b", UNFIT},
    {" a", UNFIT},
    {"a ", UNFIT},
    {"a\tb", UNFIT},
    {"a\r\n", UNFIT},
    {"\x01", UNFIT},
    {"a\x1F", UNFIT},
    {"a\x7F", UNFIT},
    {"a~", NULL},
    {"Z\xC3\xBCrich", NULL},
    {"\xE6\x97\xA5\xE6\x9C\xAC", NULL},
    {"\xF0\x9F\x98\x80", NULL},
    {"\xC2\x80", UNFIT},     /* U+0080 */
    {"a\xC2\x85", UNFIT},    /* U+0085 */
    {"a\xC2\x9F", UNFIT},    /* U+009F */
    {"a\xC2\xA0", UNFIT},    /* U+00A0 */
    {"a\xC2\xA1", NULL},     /* U+00A1 */
    {"\xE1\x9A\x80", UNFIT}, /* U+1680 */
    {"\xE1\xBF\xBE", NULL},  /* U+1FFE */
    {"\xE2\x80\x80", UNFIT}, /* U+2000 */
    {"\xE2\x80\x8A", UNFIT}, /* U+200A */
    {"\xE2\x80\x8B", NULL},  /* U+200B: no white space */
    {"\xE2\x80\xA8", UNFIT}, /* U+2028 */
    {"\xE2\x80\xA9", UNFIT}, /* U+2029 */
    {"\xE2\x80\xAF", UNFIT}, /* U+202F */
    {"\xE2\x81\x9F", UNFIT}, /* U+205F */
    {"\xE3\x80\x80", UNFIT}, /* U+3000 */
    {"\xE3\x80\x81", NULL},  /* U+3001 */
    /* at the edges of what is well-formed */
    {"\xDF\xBF", NULL},         /* U+07FF */
    {"\xE0\xA0\x80", NULL},     /* U+0800 */
    {"\xED\x9F\xBF", NULL},     /* U+D7FF */
    {"\xEE\x80\x80", NULL},     /* U+E000 */
    {"\xEF\xBF\xBF", NULL},     /* U+FFFF */
    {"\xF0\x90\x80\x80", NULL}, /* U+10000 */
    {"\xF4\x8F\xBF\xBF", NULL}, /* U+10FFFF */
    {"\xC0\xAF", UTF8},         /* overlong */
    {"\xC1\xBF", UTF8},
    {"\xE0\x9F\xBF", UTF8},
    {"\xF0\x8F\xBF\xBF", UTF8},
    {"\xED\xA0\x80", UTF8}, /* surrogates */
    {"\xED\xBF\xBF", UTF8},
    {"\xF4\x90\x80\x80", UTF8}, /* past U+10FFFF */
    {"\xF5\x80\x80\x80", UTF8},
    {"\xFF", UTF8},
    {"\x80", UTF8}, /* out of place */
    {"a\xBF", UTF8},
    {"\xC3", UTF8}, /* cut short */
    {"\xE6\x97", UTF8},
    {"\xF0\x9F\x98", UTF8},
    {"\xC3(", UTF8}, /* no continuation */
    {"\xE6(\xA5", UTF8},
    {"\xF0\x9F(\x80", UTF8},
};

START_TEST(each_row)
{
    /* A buffer of exactly the name's size, so that a read past it is seen. */
    size_t len = strlen(rows[_i].name);
    char *name = malloc(len + (len == 0));
    memcpy(name, rows[_i].name, len);
    const char *why = name_check(name, len);
    free(name);
    ck_assert_pstr_eq(why, rows[_i].why);
}
END_TEST

START_TEST(nul_is_refused)
{
    ck_assert_pstr_eq(name_check("a\0b", 3), UNFIT);
    ck_assert_pstr_eq(name_check("\0", 1), UNFIT);
}
END_TEST

START_TEST(longest)
{
    char name[LIMIT_NAME_BYTES + 1];
    memset(name, 'x', sizeof(name));
    ck_assert_ptr_null(name_check(name, LIMIT_NAME_BYTES));
    ck_assert_pstr_eq(name_check(name, LIMIT_NAME_BYTES + 1), "a name has at most 255 bytes");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("name");
    TCase *tcase = tcase_create("name");
    tcase_add_loop_test(tcase, each_row, 0, sizeof(rows) / sizeof(rows[0]));
    tcase_add_test(tcase, nul_is_refused);
    tcase_add_test(tcase, longest);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
