#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp.h"
#include "suite.h"

/* A string literal that may hold NULs, with its length. */
#define TEXT(literal) literal, sizeof(literal) - 1

#define MAX_ARGS 4
static const struct resp_limits LIMITS = {
    .inline_bytes = 30, .bulk_bytes = 20, .args = MAX_ARGS, .request_bytes = 60};

#define MULTIBULK "Protocol error: invalid multibulk length"
#define BULK "Protocol error: invalid bulk length"
#define QUOTES "Protocol error: unbalanced quotes in request"
#define INLINE "Protocol error: too big inline request"
#define REQUEST "Protocol error: too big request"
#define END_OF_BULK "Protocol error: expected CRLF at the end of a bulk string"
#define DIGITS_30 "111111111111111111111111111111"

static const struct command_row {
    const char *input;
    size_t len;
    int status;
    const char *args; /* RESP_OK: each argument in brackets; RESP_BAD: why */
    size_t args_len;
    size_t unread; /* RESP_OK: bytes of input that are left */
} COMMANDS[] = {
    /* arrays */
    {TEXT("*1\r\n$4\r\nPING\r\n"), RESP_OK, TEXT("[PING]"), 0},
    {TEXT("*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*1\r\n"), RESP_OK, TEXT("[INCR][n]"), 4},
    {TEXT("*1\r\n$0\r\n\r\n"), RESP_OK, TEXT("[]"), 0},
    {TEXT("*1\r\n$4\r\n\0\r\n*\r\n"), RESP_OK, TEXT("[\0\r\n*]"), 0},
    {TEXT("*4\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n"), RESP_OK, TEXT("[a][b][c][d]"), 0},
    {TEXT("*1\r\n$20\r\n12345678901234567890\r\n"), RESP_OK, TEXT("[12345678901234567890]"), 0},
    {TEXT("*0\r\nx"), RESP_OK, TEXT(""), 1},
    {TEXT("*-1\r\nx"), RESP_OK, TEXT(""), 1},
    {TEXT("*-10\r\n"), RESP_OK, TEXT(""), 0},
    {TEXT(""), RESP_MORE, TEXT(""), 0},
    {TEXT("*"), RESP_MORE, TEXT(""), 0},
    {TEXT("*-"), RESP_MORE, TEXT(""), 0},
    {TEXT("*2\r\n$4\r\nINCR\r\n"), RESP_MORE, TEXT(""), 0},
    {TEXT("*1\r\n$4\r\nPING\r"), RESP_MORE, TEXT(""), 0},
    /* the number of arguments */
    {TEXT("*5\r\n"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("*3000000000\r\n"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("*4294967297\r\n"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("*18446744073709551617\r\n"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("*-18446744073709551617\r\n"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("*" DIGITS_30 "\r\n"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("*1" DIGITS_30), RESP_BAD, TEXT("Protocol error: too big mbulk count string"), 0},
    {TEXT("*\r\n"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("*-\r\n"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("*-0\r\n"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("*--1\r\n"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("*+1\r\n"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("* 1\r\n"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("*01\r\n"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("*1 \r\n"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("*1\n$4\r\nPING\r\n"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("*1\rx"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("*\0"), RESP_BAD, TEXT(MULTIBULK), 0},
    {TEXT("*abc"), RESP_BAD, TEXT(MULTIBULK), 0},
    /* bulk strings */
    {TEXT("*1\r\n:4\r\n"), RESP_BAD, TEXT("Protocol error: expected '$', got ':'"), 0},
    {TEXT("*1\r\n "), RESP_BAD, TEXT("Protocol error: expected '$', got ' '"), 0},
    {TEXT("*1\r\nx"), RESP_BAD, TEXT("Protocol error: expected '$', got 'x'"), 0},
    {TEXT("*1\r\n~"), RESP_BAD, TEXT("Protocol error: expected '$', got '~'"), 0},
    {TEXT("*1\r\n\r"), RESP_BAD, TEXT("Protocol error: expected '$', got an unprintable byte"), 0},
    {TEXT("*1\r\n\xff"), RESP_BAD, TEXT("Protocol error: expected '$', got an unprintable byte"),
     0},
    {TEXT("*1\r\n\x7f"), RESP_BAD, TEXT("Protocol error: expected '$', got an unprintable byte"),
     0},
    {TEXT("*2\r\n$4\r\nINCR\r\nn"), RESP_BAD, TEXT("Protocol error: expected '$', got 'n'"), 0},
    {TEXT("*1\r\n$-1\r\n"), RESP_BAD, TEXT(BULK), 0},
    {TEXT("*1\r\n$+4\r\nPING\r\n"), RESP_BAD, TEXT(BULK), 0},
    {TEXT("*1\r\n$04\r\nPING\r\n"), RESP_BAD, TEXT(BULK), 0},
    {TEXT("*1\r\n$\r\n"), RESP_BAD, TEXT(BULK), 0},
    {TEXT("*1\r\n$4\nPING\r\n"), RESP_BAD, TEXT(BULK), 0},
    {TEXT("*1\r\n$4\r\rPING\r\n"), RESP_BAD, TEXT(BULK), 0},
    {TEXT("*1\r\n$x"), RESP_BAD, TEXT(BULK), 0},
    {TEXT("*1\r\n$21\r\n"), RESP_BAD, TEXT(BULK), 0},
    {TEXT("*1\r\n$4294967300\r\n"), RESP_BAD, TEXT(BULK), 0},
    {TEXT("*1\r\n$9223372036854775807\r\n"), RESP_BAD, TEXT(BULK), 0},
    {TEXT("*1\r\n$18446744073709551620\r\nPING\r\n"), RESP_BAD, TEXT(BULK), 0},
    {TEXT("*1\r\n$" DIGITS_30 "1"), RESP_BAD, TEXT("Protocol error: too big bulk count string"), 0},
    {TEXT("*1\r\n$4\r\nPINGPONG"), RESP_BAD, TEXT(END_OF_BULK), 0},
    {TEXT("*1\r\n$4\r\nPING\n"), RESP_BAD, TEXT(END_OF_BULK), 0},
    {TEXT("*1\r\n$4\r\nPING\rx"), RESP_BAD, TEXT(END_OF_BULK), 0},
    {TEXT("*1\r\n$3\r\nPING\r\n"), RESP_BAD, TEXT(END_OF_BULK), 0},
    {TEXT("*2\r\n$20\r\n12345678901234567890\r\n$20\r\n123456789012345678901"), RESP_BAD,
     TEXT(END_OF_BULK), 0},
    /* 60 bytes, and 61, which is known when the last length is read */
    {TEXT("*3\r\n$20\r\n12345678901234567890\r\n$11\r\n12345678901\r\n$5\r\n12345\r\n"), RESP_OK,
     TEXT("[12345678901234567890][12345678901][12345]"), 0},
    {TEXT("*3\r\n$20\r\n12345678901234567890\r\n$11\r\n12345678901\r\n$6\r\n"), RESP_BAD,
     TEXT(REQUEST), 0},
    /* plain lines */
    {TEXT("PING\r\n"), RESP_OK, TEXT("[PING]"), 0},
    {TEXT("PING\nPONG"), RESP_OK, TEXT("[PING]"), 4},
    {TEXT("  OID\t 10  LINE \r\n"), RESP_OK, TEXT("[OID][10][LINE]"), 0},
    {TEXT("\n"), RESP_OK, TEXT(""), 0},
    {TEXT("\r\n"), RESP_OK, TEXT(""), 0},
    {TEXT(" \t \r\n"), RESP_OK, TEXT(""), 0},
    {TEXT("a\r\r\n"), RESP_OK, TEXT("[a\r]"), 0},
    {TEXT("a\0b \0\n"), RESP_OK, TEXT("[a\0b][\0]"), 0},
    {TEXT("$4\r\n"), RESP_OK, TEXT("[$4]"), 0},
    {TEXT("ECHO \"a b\" 'c\"d'\r\n"), RESP_OK, TEXT("[ECHO][a b][c\"d]"), 0},
    {TEXT("ECHO \"\" ''\n"), RESP_OK, TEXT("[ECHO][][]"), 0},
    {TEXT("\"\\n\"\n"), RESP_OK, TEXT("[\\n]"), 0},
    {TEXT("\"a\"b\n"), RESP_BAD, TEXT(QUOTES), 0},
    {TEXT("\"a\n"), RESP_BAD, TEXT(QUOTES), 0},
    {TEXT("'\n"), RESP_BAD, TEXT(QUOTES), 0},
    {TEXT("it's\n"), RESP_BAD, TEXT(QUOTES), 0},
    {TEXT("a\"b\"\n"), RESP_BAD, TEXT(QUOTES), 0},
    {TEXT("a b c d\n"), RESP_OK, TEXT("[a][b][c][d]"), 0},
    {TEXT("a b c d e\n"), RESP_BAD, TEXT(INLINE), 0},
    {TEXT("12345678901234567890\n"), RESP_OK, TEXT("[12345678901234567890]"), 0},
    {TEXT("123456789012345678901\n"), RESP_BAD, TEXT(INLINE), 0},
    {TEXT("PING"), RESP_MORE, TEXT(""), 0},
    /* 30 bytes and 31 */
    {TEXT("12345678901234567890 123456789"), RESP_MORE, TEXT(""), 0},
    {TEXT("12345678901234567890 123456789\n"), RESP_OK, TEXT("[12345678901234567890][123456789]"),
     0},
    {TEXT("12345678901234567890 123456789\r\n"), RESP_OK, TEXT("[12345678901234567890][123456789]"),
     0},
    {TEXT("12345678901234567890 1234567890"), RESP_BAD, TEXT(INLINE), 0},
    {TEXT("12345678901234567890 1234567890\n"), RESP_BAD, TEXT(INLINE), 0},
    {TEXT("12345678901234567890 123456789\r\r\n"), RESP_BAD, TEXT(INLINE), 0},
};

struct command_result {
    int status;
    size_t argc, used;
    const char *why;
    char args[256]; /* as in struct command_row */
    size_t args_len;
};

/* From bytes that end where their memory ends, so that the sanitizer sees a read past them. */
static void read_command(const char *input, size_t len, struct command_result *result)
{
    struct resp_arg args[MAX_ARGS];
    char *exact = malloc(len + 1);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact + 1, input, len);
    *result = (struct command_result){.argc = 99};
    result->status = resp_read_command(exact + 1, len, &LIMITS, args, &result->argc, &result->used,
                                       &result->why);
    for (size_t i = 0; result->status == RESP_OK && i < result->argc; i++) {
        result->args[result->args_len++] = '[';
        memcpy(result->args + result->args_len, args[i].data, args[i].len);
        result->args_len += args[i].len;
        result->args[result->args_len++] = ']';
    }
    free(exact);
}

START_TEST(commands)
{
    const struct command_row *row = &COMMANDS[_i];
    struct command_result result;
    read_command(row->input, row->len, &result);
    ck_assert_msg(result.status == row->status, "%s: %d", row->input, result.status);
    if (row->status == RESP_BAD) {
        ck_assert_str_eq(result.why, row->args);
        ck_assert_uint_eq(result.argc, 99);
    } else if (row->status == RESP_OK) {
        ck_assert_uint_eq(result.used, row->len - row->unread);
        ck_assert_uint_eq(result.args_len, row->args_len);
        ck_assert_mem_eq(result.args, row->args, row->args_len);
    }
}
END_TEST

/* Fed byte by byte: RESP_MORE until the outcome, which then stays; never asking for more than it
 * takes. */
START_TEST(commands_grow_to_the_same)
{
    const struct command_row *row = &COMMANDS[_i];
    struct command_result whole, part;
    read_command(row->input, row->len, &whole);
    size_t wanted = 0;
    for (size_t len = 0; len <= row->len; len++) {
        read_command(row->input, len, &part);
        if (part.status == RESP_MORE) {
            ck_assert_uint_gt(part.used, len);
            wanted = part.used > wanted ? part.used : wanted;
            continue;
        }
        ck_assert_msg(len >= wanted, "%s: decided at %zu, asked for %zu", row->input, len, wanted);
        ck_assert_int_eq(part.status, whole.status);
        ck_assert_ptr_eq(part.why, whole.why);
        ck_assert_uint_eq(part.used, whole.used);
        ck_assert_uint_eq(part.args_len, whole.args_len);
        ck_assert_mem_eq(part.args, whole.args, part.args_len);
    }
}
END_TEST

START_TEST(more_asks_for_the_whole_bulk_string)
{
    struct command_result result;
    read_command(TEXT("*1\r\n$20\r\nab"), &result);
    ck_assert_int_eq(result.status, RESP_MORE);
    ck_assert_uint_eq(result.used, 9 + 20 + 1);
    read_command(TEXT("*1\r\n$4\r\nPING\r"), &result);
    ck_assert_uint_eq(result.used, 14);
    read_command(TEXT("PING"), &result);
    ck_assert_uint_eq(result.used, 5);
}
END_TEST

#define MAX_VALUE_BYTES 20

static const struct value_row {
    const char *input;
    size_t len;
    int status;
    enum resp_type type;
    int64_t integer;
    const char *data;
    size_t data_len;
    size_t unread;
} VALUES[] = {
    {TEXT("+OK\r\n+"), RESP_OK, RESP_SIMPLE, 0, TEXT("OK"), 1},
    {TEXT("+\r\n"), RESP_OK, RESP_SIMPLE, 0, TEXT(""), 0},
    {TEXT("-ERR no\0pe\r\n"), RESP_OK, RESP_ERROR, 0, TEXT("ERR no\0pe"), 0},
    {TEXT("+12345678901234567890\r\n"), RESP_OK, RESP_SIMPLE, 0, TEXT("12345678901234567890"), 0},
    {TEXT("+123456789012345678901\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("+1234567890123456789012"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("+OK\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("+\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("+O\rK\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("+OK\r\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT(":0\r\n"), RESP_OK, RESP_INTEGER, 0, TEXT(""), 0},
    {TEXT(":42\r\n:"), RESP_OK, RESP_INTEGER, 42, TEXT(""), 1},
    {TEXT(":+42\r\n"), RESP_OK, RESP_INTEGER, 42, TEXT(""), 0},
    {TEXT(":-42\r\n"), RESP_OK, RESP_INTEGER, -42, TEXT(""), 0},
    {TEXT(":9223372036854775807\r\n"), RESP_OK, RESP_INTEGER, INT64_MAX, TEXT(""), 0},
    {TEXT(":-9223372036854775808\r\n"), RESP_OK, RESP_INTEGER, INT64_MIN, TEXT(""), 0},
    {TEXT(":9223372036854775808\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT(":-9223372036854775809\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT(":18446744073709551617\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT(":00000000000000000000"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT(":\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT(":-\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT(":1x\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT(":1\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT(":1\rx"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("$5\r\na\r\n\0b\r\n"), RESP_OK, RESP_BULK, 0, TEXT("a\r\n\0b"), 0},
    {TEXT("$0\r\n\r\n"), RESP_OK, RESP_BULK, 0, TEXT(""), 0},
    {TEXT("$20\r\n12345678901234567890\r\n"), RESP_OK, RESP_BULK, 0, TEXT("12345678901234567890"),
     0},
    {TEXT("$21\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("$18446744073709551616\r\n\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("$2\r\nabc"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("$-1\r\n"), RESP_OK, RESP_NULL, 0, TEXT(""), 0},
    {TEXT("$-2\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("$-12\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("$?\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("=8\r\ntxt:text\r\n"), RESP_OK, RESP_BULK, 0, TEXT("text"), 0},
    {TEXT("=4\r\ntxt:\r\n"), RESP_OK, RESP_BULK, 0, TEXT(""), 0},
    {TEXT("=4\r\ntext\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("=3\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("=-1\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("!6\r\nERR no\r\n"), RESP_OK, RESP_ERROR, 0, TEXT("ERR no"), 0},
    {TEXT("*-1\r\n"), RESP_OK, RESP_NULL, 0, TEXT(""), 0},
    {TEXT("_\r\n"), RESP_OK, RESP_NULL, 0, TEXT(""), 0},
    {TEXT("_x"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("*0\r\n"), RESP_OK, RESP_ARRAY, 0, TEXT(""), 0},
    {TEXT("*2\r\n:1\r\n:2\r\n"), RESP_OK, RESP_ARRAY, 2, TEXT(""), 8},
    {TEXT("~3\r\n"), RESP_OK, RESP_ARRAY, 3, TEXT(""), 0},
    {TEXT(">3\r\n"), RESP_OK, RESP_ARRAY, 3, TEXT(""), 0},
    {TEXT("%3\r\n"), RESP_OK, RESP_MAP, 3, TEXT(""), 0},
    {TEXT("*4294967295\r\n"), RESP_OK, RESP_ARRAY, UINT32_MAX, TEXT(""), 0},
    {TEXT("*4294967296\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("%-1\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("~-1\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("*1\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT(",3.25\r\n"), RESP_OK, RESP_DOUBLE, 0, TEXT("3.25"), 0},
    {TEXT("#t\r\n"), RESP_OK, RESP_BOOLEAN, 1, TEXT(""), 0},
    {TEXT("#f\r\n"), RESP_OK, RESP_BOOLEAN, 0, TEXT(""), 0},
    {TEXT("#x\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("#tt\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("OK\r\n"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT("\0"), RESP_BAD, 0, 0, TEXT(""), 0},
    {TEXT(""), RESP_MORE, 0, 0, TEXT(""), 0},
    {TEXT("+OK\r"), RESP_MORE, 0, 0, TEXT(""), 0},
    {TEXT("$-"), RESP_MORE, 0, 0, TEXT(""), 0},
};

static int read_value(const char *input, size_t len, char **exact, struct resp_value *value,
                      size_t *used)
{
    *exact = malloc(len + 1);
    ck_assert_ptr_nonnull(*exact);
    memcpy(*exact + 1, input, len);
    return resp_read_value(*exact + 1, len, MAX_VALUE_BYTES, value, used);
}

START_TEST(values)
{
    const struct value_row *row = &VALUES[_i];
    struct resp_value value = {.integer = 99};
    size_t used = 0, wanted = 0;
    for (size_t len = 0; len <= row->len; len++) {
        char *exact;
        int status = read_value(row->input, len, &exact, &value, &used);
        if (status == RESP_MORE) {
            ck_assert_uint_gt(used, len);
            wanted = used > wanted ? used : wanted;
            ck_assert(len < row->len || row->status == RESP_MORE);
        } else {
            ck_assert_msg(status == row->status, "%s: %d at %zu", row->input, status, len);
            ck_assert_uint_ge(len, wanted);
        }
        if (status == RESP_OK) {
            ck_assert_uint_eq(used, row->len - row->unread);
            ck_assert_int_eq(value.type, row->type);
            ck_assert_int_eq(value.integer, row->integer);
            ck_assert_uint_eq(value.len, row->data_len);
            ck_assert(value.len == 0 || memcmp(value.data, row->data, value.len) == 0);
        } else {
            ck_assert_int_eq(value.integer, 99);
        }
        free(exact);
    }
}
END_TEST

static void expect_written(struct buffer *out, const char *text, size_t len)
{
    ck_assert(!out->failed);
    ck_assert_uint_eq(out->len, len);
    ck_assert_mem_eq(out->data, text, len);
    buffer_finish(out);
}

START_TEST(writers)
{
    struct buffer out;
    buffer_init(&out, 0);
    resp_write_simple(&out, "OK");
    resp_write_integer(&out, -7);
    resp_write_bulk(&out, "a\0b", 3);
    resp_write_bulk(&out, NULL, 0);
    resp_write_bulk_text(&out, "text");
    resp_write_bulk_integer(&out, INT64_MIN);
    expect_written(
        &out,
        TEXT(
            "+OK\r\n:-7\r\n$3\r\na\0b\r\n$0\r\n\r\n$4\r\ntext\r\n$20\r\n-9223372036854775808\r\n"));

    resp_write_null(&out, false);
    resp_write_null(&out, true);
    resp_write_array(&out, 100000);
    resp_write_map(&out, 3, false);
    resp_write_map(&out, 3, true);
    expect_written(&out, TEXT("$-1\r\n_\r\n*100000\r\n*6\r\n%3\r\n"));
}
END_TEST

START_TEST(error_is_one_line)
{
    struct buffer out;
    buffer_init(&out, 0);
    resp_write_error(&out, ERROR_ERR, "unknown command '%s', %d", "a\r\n+OK\tb\x7f", 5);
    resp_write_error(&out, ERROR_TRYAGAIN, "%s", "");
    expect_written(&out, TEXT("-ERR unknown command 'a  +OK b ', 5\r\n-TRYAGAIN \r\n"));

    char text[3001];
    memset(text, 'x', 3000);
    text[3000] = '\0';
    resp_write_error(&out, ERROR_NOAUTH, "%s", text);
    ck_assert_uint_eq(out.len, 8 + 3000 + 2);
    ck_assert_mem_eq(out.data + out.len - 3, "x\r\n", 3);
    buffer_finish(&out);
}
END_TEST

START_TEST(writers_that_do_not_fit_leave_nothing_half_written)
{
    struct buffer out;
    buffer_init(&out, 10);
    resp_write_simple(&out, "OK");
    resp_write_error(&out, ERROR_ERR, "too long");
    ck_assert(out.failed);
    ck_assert_uint_eq(out.len, 5);
    resp_write_bulk_text(&out, "");
    resp_write_integer(&out, 1);
    ck_assert_uint_eq(out.len, 5);
    buffer_finish(&out);
}
END_TEST

START_TEST(written_command_is_read_back)
{
    const struct resp_arg args[] = {{TEXT("NEXT")}, {TEXT("a\0\r\n")}, {TEXT("")}};
    struct buffer out;
    buffer_init(&out, 0);
    resp_write_command(&out, args, 3);
    struct command_result result;
    read_command(out.data, out.len, &result);
    ck_assert_int_eq(result.status, RESP_OK);
    ck_assert_uint_eq(result.used, out.len);
    ck_assert_mem_eq(result.args, "[NEXT][a\0\r\n][]", 15);
    buffer_finish(&out);
}
END_TEST

START_TEST(integers_are_written_and_parsed_alike)
{
    /* both sides of every power of ten, and of two */
    int64_t ten = 1;
    for (int i = 0; i < 19 + 63; i++) {
        int64_t middle = i < 19 ? ten : INT64_C(1) << (i - 19);
        ten = i < 18 ? ten * 10 : ten;
        for (int64_t near = middle - 1; near <= middle + 1; near++) {
            for (int sign = -1; sign <= 1; sign += 2) {
                char text[20], expected[24];
                int64_t back;
                size_t len = resp_format_integer(text, sign * near);
                int expected_len = snprintf(expected, sizeof expected, "%" PRId64, sign * near);
                ck_assert_int_eq((int)len, expected_len);
                ck_assert_mem_eq(text, expected, len);
                ck_assert(resp_parse_integer(text, len, &back));
                ck_assert_int_eq(back, sign * near);
            }
        }
    }
}
END_TEST

START_TEST(integers_in_other_forms_are_refused)
{
    static const char *const REFUSED[] = {"",    "-",    "+1",    "-0",   "00",
                                          "01",  "-01",  " 1",    "1 ",   "1.0",
                                          "1e3", "0x10", "--1",   "1-",   "9223372036854775808",
                                          "abc", "1a",   "12\n3", "1\r",  "-9223372036854775809",
                                          "/",   ":",    "\xb1",  "1,00", "18446744073709551617"};
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        int64_t value = 77;
        ck_assert_msg(!resp_parse_integer(REFUSED[i], strlen(REFUSED[i]), &value), "\"%s\"",
                      REFUSED[i]);
        ck_assert_int_eq(value, 77);
    }
    int64_t value = 77;
    ck_assert(!resp_parse_integer("1\0", 2, &value));
    ck_assert(resp_parse_integer("0", 1, &value));
    ck_assert_int_eq(value, 0);
    ck_assert(resp_parse_integer("-9223372036854775808", 20, &value));
    ck_assert_int_eq(value, INT64_MIN);
    ck_assert(resp_parse_integer("9223372036854775807", 19, &value));
    ck_assert_int_eq(value, INT64_MAX);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("resp");
    const int commands_end = sizeof COMMANDS / sizeof *COMMANDS;
    tcase_add_loop_test(cases, commands, 0, commands_end);
    tcase_add_loop_test(cases, commands_grow_to_the_same, 0, commands_end);
    tcase_add_test(cases, more_asks_for_the_whole_bulk_string);
    tcase_add_loop_test(cases, values, 0, sizeof VALUES / sizeof *VALUES);
    tcase_add_test(cases, writers);
    tcase_add_test(cases, error_is_one_line);
    tcase_add_test(cases, writers_that_do_not_fit_leave_nothing_half_written);
    tcase_add_test(cases, written_command_is_read_back);
    tcase_add_test(cases, integers_are_written_and_parsed_alike);
    tcase_add_test(cases, integers_in_other_forms_are_refused);
    Suite *suite = suite_create("resp");
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
