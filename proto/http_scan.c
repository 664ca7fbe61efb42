#include "http_scan.h"

#include <stdbool.h>
#include <string.h>

#define METHOD_BYTES 7 /* OPTIONS */
#define BARE_LF "a line ends without CR"
#define TOO_MUCH_FRAMING "too much around the chunks of the body"

static const struct method_row {
    const char *name;
    enum http_method method;
} METHODS[] = {
    {"GET", HTTP_METHOD_GET},         {"HEAD", HTTP_METHOD_HEAD},   {"POST", HTTP_METHOD_POST},
    {"PUT", HTTP_METHOD_PUT},         {"PATCH", HTTP_METHOD_PATCH}, {"DELETE", HTTP_METHOD_DELETE},
    {"OPTIONS", HTTP_METHOD_OPTIONS},
};

int http_scan_bad(struct http_scan *scan, int status, const char *why)
{
    scan->status = status;
    scan->why = why;
    return HTTP_BAD;
}

/* tchar of RFC 9110 5.6.2: a bit for each byte. */
static bool is_token(unsigned char c)
{
    static const uint32_t BITS[4] = {0, 0x03ff6cfa, 0xc7fffffe, 0x57ffffff};
    return c < 0x80 && (BITS[c / 32] >> (c % 32) & 1) != 0;
}

static bool is_target(unsigned char c)
{
    return c > ' ' && c < 0x7f && c != '#';
}

static bool is_value(unsigned char c)
{
    return c == '\t' || (c >= ' ' && c != 0x7f);
}

/* CRLF at p and nothing else. */
static int scan_line_end(struct http_scan *scan, const char *p)
{
    if (p == scan->end) {
        return HTTP_MORE;
    }
    if (*p == '\n') {
        return http_scan_bad(scan, 400, BARE_LF);
    }
    if (*p != '\r') {
        return http_scan_bad(scan, 400, "a byte that may not stand there");
    }
    if (p + 1 == scan->end) {
        return HTTP_MORE;
    }
    if (p[1] != '\n') {
        return http_scan_bad(scan, 400, "CR without LF");
    }
    scan->p = p + 2;
    return HTTP_OK;
}

/* The end of what may be looked at, with `most` bytes from p on. */
static const char *end_within(const struct http_scan *scan, const char *p, size_t most)
{
    return (size_t)(scan->end - p) > most ? p + most : scan->end;
}

static int scan_method(struct http_scan *scan, enum http_method *method)
{
    const char *p = scan->p, *end = end_within(scan, p, METHOD_BYTES + 1);
    while (p < end && is_token((unsigned char)*p)) {
        p++;
    }
    const size_t len = (size_t)(p - scan->p);
    if (len > METHOD_BYTES) {
        return http_scan_bad(scan, 501, "this method is not served");
    }
    if (p == scan->end) {
        return HTTP_MORE;
    }
    if (len == 0 || *p != ' ') {
        return http_scan_bad(scan, 400, "no request line of HTTP");
    }
    for (size_t i = 0; i < sizeof(METHODS) / sizeof(METHODS[0]); i++) {
        if (strlen(METHODS[i].name) == len && memcmp(METHODS[i].name, scan->p, len) == 0) {
            *method = METHODS[i].method;
            scan->p = p + 1;
            return HTTP_OK;
        }
    }
    if (len == 3 && memcmp(scan->p, "PRI", 3) == 0) { /* RFC 9113 3.4: how HTTP/2 begins */
        return http_scan_bad(scan, 505, "HTTP/1.1 is spoken here, not HTTP/2");
    }
    return http_scan_bad(scan, 501, "this method is not served");
}

static int scan_target(struct http_scan *scan, size_t target_bytes)
{
    const char *p = scan->p, *end = end_within(scan, p, target_bytes + 1);
    while (p < end && is_target((unsigned char)*p)) {
        p++;
    }
    const size_t len = (size_t)(p - scan->p);
    if (len > target_bytes) {
        return http_scan_bad(scan, 414, "the request's target is too long");
    }
    if (p == scan->end) {
        return HTTP_MORE;
    }
    if (len == 0 || *p != ' ') {
        return http_scan_bad(scan, 400,
                             *p == '\r' ? "the request line names no version"
                                        : "a byte in the request's target that must be encoded");
    }
    scan->p = p + 1;
    return HTTP_OK;
}

/* "HTTP/1." and a digit. */
static int scan_version(struct http_scan *scan)
{
    static const char FORM[] = "HTTP/1.0";
    const char *p = scan->p, *end = end_within(scan, p, sizeof(FORM) - 1);
    for (size_t i = 0; p < end; p++, i++) {
        const bool digit = *p >= '0' && *p <= '9';
        if (FORM[i] == '1' && digit && *p != '1') {
            return http_scan_bad(scan, 505, "HTTP/1.1 is spoken here, and no other version");
        }
        if (FORM[i] == '0' ? !digit : *p != FORM[i]) {
            return http_scan_bad(scan, 400, "no version of HTTP ends the request line");
        }
    }
    return p == scan->end ? HTTP_MORE : scan_line_end(scan, p);
}

/* A header's line, or a trailer's. */
static int scan_field(struct http_scan *scan)
{
    const char *p = scan->p, *end = scan->end;
    while (p < end && is_token((unsigned char)*p)) {
        p++;
    }
    if (p == end) {
        return HTTP_MORE;
    }
    if (*p == ' ' || *p == '\t') {
        return http_scan_bad(
            scan, 400, p == scan->p ? "a header is folded" : "a space before a header's colon");
    }
    if (*p == '\n') {
        return http_scan_bad(scan, 400, BARE_LF);
    }
    if (*p != ':' || p == scan->p) {
        return http_scan_bad(scan, 400, "a byte that no header's name has");
    }
    p++;
    while (p < end && is_value((unsigned char)*p)) {
        p++;
    }
    return scan_line_end(scan, p);
}

/* Header lines up to the empty line, at most `most`. */
static int scan_fields(struct http_scan *scan, size_t most)
{
    for (size_t count = 0; scan->p < scan->end; count++) {
        if (*scan->p == '\r') {
            return scan_line_end(scan, scan->p);
        }
        if (count == most) {
            return http_scan_bad(scan, 431, "too many headers");
        }
        int result = scan_field(scan);
        if (result != HTTP_OK) {
            return result;
        }
    }
    return HTTP_MORE;
}

static int scan_lines(struct http_scan *scan, const struct http_limits *limits,
                      enum http_method *method)
{
    int result = scan_method(scan, method);
    if (result == HTTP_OK) {
        result = scan_target(scan, limits->target_bytes);
    }
    if (result == HTTP_OK) {
        result = scan_version(scan);
    }
    return result == HTTP_OK ? scan_fields(scan, limits->headers) : result;
}

int http_scan_head(struct http_scan *scan, const struct http_limits *limits, const char **first,
                   enum http_method *method)
{
    if (scan->p < scan->end && *scan->p == '\r') {
        int result = scan_line_end(scan, scan->p);
        if (result != HTTP_OK) {
            return result;
        }
    }
    const bool full = (size_t)(scan->end - scan->p) >= limits->head_bytes;
    scan->end = end_within(scan, scan->p, limits->head_bytes);
    *first = scan->p;
    int result = scan_lines(scan, limits, method);
    return result == HTTP_MORE && full ? http_scan_bad(scan, 431, "the headers are too long")
                                       : result;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* A chunk's size, at most `most`, its extensions and CRLF. */
static int scan_chunk_size(struct http_scan *scan, size_t most, size_t *size)
{
    const char *p = scan->p;
    size_t value = 0;
    for (; p < scan->end && hex_digit(*p) >= 0; p++) {
        const size_t digit = (size_t)hex_digit(*p);
        if (digit > most || value > (most - digit) / 16) {
            return http_scan_bad(scan, 413, "the body is too long");
        }
        value = value * 16 + digit;
    }
    if (p == scan->end) {
        return HTTP_MORE;
    }
    if (p == scan->p) {
        return http_scan_bad(scan, 400, "no chunk size where one must stand");
    }
    if (*p == ';') {
        while (p < scan->end && is_value((unsigned char)*p)) {
            p++;
        }
    }
    *size = value;
    return scan_line_end(scan, p);
}

/* A chunk's bytes and their CRLF. */
static int scan_chunk_data(struct http_scan *scan, size_t size, size_t *missing)
{
    const size_t left = (size_t)(scan->end - scan->p);
    if (left <= size) {
        *missing = size + 1 - left;
        return HTTP_MORE;
    }
    return scan_line_end(scan, scan->p + size);
}

/* scan_chunk_size, or with `size` NULL the trailer, within what is left of the framing's bytes. */
static int scan_framing(struct http_scan *scan, size_t *framing, size_t most, size_t *size)
{
    const char *from = scan->p, *end = scan->end;
    const bool full = (size_t)(end - from) >= *framing;
    scan->end = end_within(scan, from, *framing);
    int result = size != NULL ? scan_chunk_size(scan, most, size) : scan_fields(scan, SIZE_MAX);
    scan->end = end;
    if (result == HTTP_MORE && full) {
        return http_scan_bad(scan, 413, TOO_MUCH_FRAMING);
    }
    *framing -= (size_t)(scan->p - from);
    return result;
}

int http_scan_chunks(struct http_scan *scan, size_t body_bytes, size_t *missing)
{
    size_t framing = HTTP_CHUNK_FRAMING_BYTES, size;
    do {
        *missing = 1;
        int result = scan_framing(scan, &framing, body_bytes, &size);
        if (result == HTTP_OK && size > 0) {
            if (framing < 2) {
                return http_scan_bad(scan, 413, TOO_MUCH_FRAMING);
            }
            framing -= 2;
            body_bytes -= size;
            result = scan_chunk_data(scan, size, missing);
        }
        if (result != HTTP_OK) {
            return result;
        }
    } while (size > 0);
    return scan_framing(scan, &framing, 0, NULL);
}
