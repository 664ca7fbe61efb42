#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "suite.h"

static int stderr_copy, pipe_ends[2];
static char out[4096];

/* stderr into a pipe. */
static void start(void)
{
    unsetenv("JOURNAL_STREAM");
    log_set_level(LOG_INFO);
    ck_assert_int_eq(pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK), 0);
    stderr_copy = dup(STDERR_FILENO);
    ck_assert_int_eq(dup2(pipe_ends[1], STDERR_FILENO), STDERR_FILENO);
}

static void finish(void)
{
    dup2(stderr_copy, STDERR_FILENO);
    close(stderr_copy);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

/* What was logged since the last call. */
static const char *logged(void)
{
    ssize_t got = read(pipe_ends[0], out, sizeof(out) - 1);
    out[got > 0 ? got : 0] = '\0';
    return out;
}

static void pretend_journal(void)
{
    struct stat status;
    char stream[64];
    ck_assert_int_eq(fstat(STDERR_FILENO, &status), 0);
    snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
}

/* "2001-02-03T04:05:06.789Z level: text" */
static void is_line(const char *line, const char *rest)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ ";
    ck_assert_int_ge(strlen(line), sizeof(form) - 1);
    for (size_t i = 0; i < sizeof(form) - 1; i++) {
        if (form[i] == 'd')
            ck_assert_msg(line[i] >= '0' && line[i] <= '9', "%s", line);
        else
            ck_assert_msg(line[i] == form[i], "%s", line);
    }
    ck_assert_str_eq(line + sizeof(form) - 1, rest);
}

START_TEST(plain)
{
    log_line(LOG_ERROR, "store: %s (%d)", "gone", 7);
    is_line(logged(), "error: store: gone (7)\n");
    log_line(LOG_WARNING, "w");
    is_line(logged(), "warning: w\n");
    log_line(LOG_NOTICE, "n");
    is_line(logged(), "notice: n\n");
    log_line(LOG_INFO, "i");
    is_line(logged(), "info: i\n");
}
END_TEST

START_TEST(journal)
{
    pretend_journal();
    log_line(LOG_WARNING, "a %s", "b");
    ck_assert_str_eq(logged(), "<4>a b\n");
    setenv("JOURNAL_STREAM", "1:1", 1);
    log_line(LOG_WARNING, "a");
    is_line(logged(), "warning: a\n");
}
END_TEST

START_TEST(levels)
{
    pretend_journal();
    log_line(LOG_DEBUG, "x");
    ck_assert_str_eq(logged(), "");
    log_set_level(LOG_DEBUG);
    log_line(LOG_DEBUG, "x");
    ck_assert_str_eq(logged(), "<7>x\n");
    log_set_level(LOG_ERROR);
    log_line(LOG_WARNING, "x");
    ck_assert_str_eq(logged(), "");
    log_line(LOG_ERROR, "x");
    ck_assert_str_eq(logged(), "<3>x\n");
}
END_TEST

START_TEST(controls_are_escaped)
{
    pretend_journal();
    log_line(LOG_INFO, "a\n<0>b\r\t\x1B[31m\x7F\xC2\x9B\xC3\x9C\xC2\xA1 ~");
    ck_assert_str_eq(logged(),
                     "<6>a\\x0a<0>b\\x0d\\x09\\x1b[31m\\x7f\\xc2\\x9b\xC3\x9C\xC2\xA1 ~\n");
    log_line(LOG_INFO, "\xC2");
    ck_assert_str_eq(logged(), "<6>\xC2\n");
    log_line(LOG_INFO, "%s", "");
    ck_assert_str_eq(logged(), "<6>\n");
}
END_TEST

START_TEST(long_line_is_cut)
{
    pretend_journal();
    static char text[3000];
    memset(text, 'x', sizeof(text) - 1);
    log_line(LOG_INFO, "%s", text);
    const char *line = logged();
    ck_assert_uint_eq(strlen(line), 2048);
    ck_assert_str_eq(line + 2046, "x\n");
    memset(text, '\n', sizeof(text) - 1);
    log_line(LOG_INFO, "%s", text);
    line = logged();
    ck_assert_uint_eq(strlen(line), 2048);
    ck_assert_str_eq(line + 2043, "\\x0a\n");
}
END_TEST

START_TEST(errno_survives)
{
    close(STDERR_FILENO);
    errno = EDOM;
    log_line(LOG_ERROR, "into nothing");
    ck_assert_int_eq(errno, EDOM);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *tcase = tcase_create("log");
    tcase_add_checked_fixture(tcase, start, finish);
    tcase_add_test(tcase, plain);
    tcase_add_test(tcase, journal);
    tcase_add_test(tcase, levels);
    tcase_add_test(tcase, controls_are_escaped);
    tcase_add_test(tcase, long_line_is_cut);
    tcase_add_test(tcase, errno_survives);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
