#include "resp.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define INTEGER_BYTES 20                   /* an int64 with its minus */
#define HEAD_BYTES (1 + INTEGER_BYTES + 2) /* a type byte, a number and CRLF */

/* "00" to "99", two characters each without NULs. */
#define PAIRS(tens)                                                                                \
    tens "0" tens "1" tens "2" tens "3" tens "4" tens "5" tens "6" tens "7" tens "8" tens "9"
static const char DECIMAL_PAIRS[] = PAIRS("0") PAIRS("1") PAIRS("2") PAIRS("3") PAIRS("4")
    PAIRS("5") PAIRS("6") PAIRS("7") PAIRS("8") PAIRS("9");

static size_t count_digits(uint64_t number)
{
    static const uint64_t POWERS[] = {0,
                                      UINT64_C(10),
                                      UINT64_C(100),
                                      UINT64_C(1000),
                                      UINT64_C(10000),
                                      UINT64_C(100000),
                                      UINT64_C(1000000),
                                      UINT64_C(10000000),
                                      UINT64_C(100000000),
                                      UINT64_C(1000000000),
                                      UINT64_C(10000000000),
                                      UINT64_C(100000000000),
                                      UINT64_C(1000000000000),
                                      UINT64_C(10000000000000),
                                      UINT64_C(100000000000000),
                                      UINT64_C(1000000000000000),
                                      UINT64_C(10000000000000000),
                                      UINT64_C(100000000000000000),
                                      UINT64_C(1000000000000000000),
                                      UINT64_C(10000000000000000000)};
    /* 1233 / 4096 is just above log10(2), so this is the count or one less. */
    size_t digits = (size_t)(64 - __builtin_clzll(number | 1)) * 1233 >> 12;
    return digits + (number >= POWERS[digits]);
}

static char *put_number(char *out, uint64_t number)
{
    char *end = out + count_digits(number);
    char *p = end;
    for (; number >= 100; number /= 100) {
        p -= 2;
        memcpy(p, DECIMAL_PAIRS + 2 * (number % 100), 2);
    }
    if (number >= 10) {
        memcpy(p - 2, DECIMAL_PAIRS + 2 * number, 2);
    } else {
        p[-1] = (char)('0' + number);
    }
    return end;
}

size_t resp_format_integer(char *out, int64_t value)
{
    char *p = out;
    uint64_t number = (uint64_t)value;
    if (value < 0) {
        *p++ = '-';
        number = -number;
    }
    return (size_t)(put_number(p, number) - out);
}

/* A type byte, a number and CRLF: room for HEAD_BYTES at out. */
static char *put_head(char *out, char type, int64_t number)
{
    *out = type;
    char *end = out + 1 + resp_format_integer(out + 1, number);
    memcpy(end, "\r\n", 2);
    return end + 2;
}

static void write_head(struct buffer *out, char type, int64_t number)
{
    char *p = buffer_reserve(out, HEAD_BYTES);
    if (p != NULL) {
        out->len += (size_t)(put_head(p, type, number) - p);
    }
}

void resp_write_simple(struct buffer *out, const char *text)
{
    size_t len = strlen(text);
    char *p = buffer_reserve(out, len + 3);
    if (p != NULL) {
        *p = '+';
        memcpy(p + 1, text, len);
        memcpy(p + 1 + len, "\r\n", 2);
        out->len += len + 3;
    }
}

void resp_write_integer(struct buffer *out, int64_t value)
{
    write_head(out, ':', value);
}

void resp_write_bulk(struct buffer *out, const void *data, size_t len)
{
    char *start = buffer_reserve(out, HEAD_BYTES + len + 2);
    if (start == NULL) {
        return;
    }
    char *p = put_head(start, '$', (int64_t)len);
    if (len > 0) {
        memcpy(p, data, len);
    }
    memcpy(p + len, "\r\n", 2);
    out->len += (size_t)(p + len + 2 - start);
}

void resp_write_bulk_text(struct buffer *out, const char *text)
{
    resp_write_bulk(out, text, strlen(text));
}

void resp_write_bulk_integer(struct buffer *out, int64_t value)
{
    char text[INTEGER_BYTES];
    size_t len = resp_format_integer(text, value);
    resp_write_bulk(out, text, len);
}

void resp_write_null(struct buffer *out, bool resp3)
{
    if (resp3) {
        buffer_append(out, "_\r\n", 3);
    } else {
        buffer_append(out, "$-1\r\n", 5);
    }
}

void resp_write_array(struct buffer *out, size_t count)
{
    write_head(out, '*', (int64_t)count);
}

void resp_write_map(struct buffer *out, size_t pairs, bool resp3)
{
    write_head(out, resp3 ? '%' : '*', (int64_t)(resp3 ? pairs : 2 * pairs));
}

void resp_write_error(struct buffer *out, enum error_word word, const char *format, ...)
{
    const char *name = error_word_text(word);
    size_t name_len = strlen(name);
    va_list arguments;
    va_start(arguments, format);
    int measured = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    size_t text_len = measured > 0 ? (size_t)measured : 0;
    size_t len = 1 + name_len + 1 + text_len + 2;
    char *p = buffer_reserve(out, len);
    if (p != NULL) {
        *p = '-';
        memcpy(p + 1, name, name_len);
        char *text = p + 1 + name_len;
        *text++ = ' ';
        va_start(arguments, format);
        (void)vsnprintf(text, text_len + 1, format, arguments);
        va_end(arguments);
        for (size_t i = 0; i < text_len; i++) {
            if ((unsigned char)text[i] < ' ' || text[i] == '\x7f') {
                text[i] = ' ';
            }
        }
        memcpy(text + text_len, "\r\n", 2);
        out->len += len;
    }
}

void resp_write_command(struct buffer *out, const struct resp_arg *args, size_t argc)
{
    resp_write_array(out, argc);
    for (size_t i = 0; i < argc; i++) {
        resp_write_bulk(out, args[i].data, args[i].len);
    }
}
