/* conf/idmintd.conf, whose path is the argument, states every row of the configuration at its
 * default, with summary, unit and range above it, in the order of the table, and nothing else. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "suite.h"

static const char *path;

/* The next line that is neither empty nor a comment; the two lines before it in `above`. */
static bool next_line(FILE *file, char above[2][256], char line[256])
{
    line[0] = '\0';
    above[0][0] = above[1][0] = '\0';
    while (fgets(line, 256, file)) {
        size_t len = strcspn(line, "\n");
        ck_assert_msg(line[len] == '\n', "too long, or without an end: %s", line);
        line[len] = '\0';
        if (len > 0 && line[0] != '#')
            return true;
        memcpy(above[0], above[1], 256);
        snprintf(above[1], 256, "%s", line);
    }
    return false;
}

START_TEST(states_the_table)
{
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s", path);
    char above[2][256], line[256], expected[256];
    const char *section = "";
    struct config_row_text row;
    for (size_t i = 0; config_row(i, &row); i++) {
        ck_assert_msg(next_line(file, above, line), "[%s] %s is missing", row.section, row.key);
        if (strcmp(section, row.section) != 0) {
            section = row.section;
            snprintf(expected, sizeof(expected), "[%s]", section);
            ck_assert_str_eq(line, expected);
            ck_assert_msg(next_line(file, above, line), "[%s] %s is missing", section, row.key);
        }
        snprintf(expected, sizeof(expected), "%s =%s%s", row.key, *row.fallback ? " " : "",
                 row.fallback);
        ck_assert_str_eq(line, expected);
        snprintf(expected, sizeof(expected), "# %s.", row.summary);
        ck_assert_str_eq(above[0], expected);
        snprintf(expected, sizeof(expected), "# unit: %s%s%s%s", row.unit,
                 *row.range ? "; range: " : "", row.range,
                 row.reloadable ? "; reloaded by SIGHUP" : "");
        ck_assert_str_eq(above[1], expected);
    }
    ck_assert_msg(!next_line(file, above, line), "more than the table: %s", line);
    fclose(file);
}
END_TEST

START_TEST(loads_as_the_defaults)
{
    struct config config;
    struct config_row_text row;
    char why[256] = "", value[256];
    config_init(&config);
    ck_assert_msg(config_read_file(&config, path, why, sizeof(why)) == 0, "%s", why);
    ck_assert_msg(config_check(&config, why, sizeof(why)) == 0, "%s", why);
    for (size_t i = 0; config_row(i, &row); i++) {
        ck_assert_int_eq(config_get(&config, i, value, sizeof(value)), 0);
        ck_assert_str_eq(value, row.fallback);
    }
    ck_assert_ptr_null(config.counter);
    config_finish(&config);
}
END_TEST

int main(int argc, char **argv)
{
    path = argc > 1 ? argv[1] : "conf/idmintd.conf";
    Suite *suite = suite_create("conf");
    TCase *tcase = tcase_create("conf");
    tcase_add_test(tcase, states_the_table);
    tcase_add_test(tcase, loads_as_the_defaults);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
