#include "http_request.h"

#include <string.h>
#include <strings.h>

#include "http_scan.h"

/* The library has an enum of that name, too. */
#define http_method http_parser_method
#include <http_parser.h>
#undef http_method

#define HOST_BYTES 255
#define NO_END "it is not clear where the request ends"

/* What the library's callbacks gather. It is given each part of a request whole, so that each of
 * them is called once for a name, a value or the target. */
struct reading {
    http_parser parser;
    const struct http_limits *limits;
    struct buffer *decoded;
    struct http_request request;
    struct http_text target, name, content_length, transfer_encoding, expect;
    size_t length; /* Content-Length */
    bool head_done, message_done;
    int status;
    const char *why; /* NULL: nothing is wrong */
};

static const struct header_row {
    const char *name;
    size_t offset;
} HEADERS[] = {
    {"Host", offsetof(struct reading, request.host)},
    {"Origin", offsetof(struct reading, request.origin)},
    {"Authorization", offsetof(struct reading, request.authorization)},
    {"Content-Type", offsetof(struct reading, request.content_type)},
    {"If-Match", offsetof(struct reading, request.if_match)},
    {"If-None-Match", offsetof(struct reading, request.if_none_match)},
    {"Last-Event-ID", offsetof(struct reading, request.last_event_id)},
    {"Idempotency-Key", offsetof(struct reading, request.idempotency_key)},
    {"Sec-Fetch-Site", offsetof(struct reading, request.sec_fetch_site)},
    {"Sec-Fetch-Mode", offsetof(struct reading, request.sec_fetch_mode)},
    {"Sec-Fetch-Dest", offsetof(struct reading, request.sec_fetch_dest)},
    {"Content-Length", offsetof(struct reading, content_length)},
    {"Transfer-Encoding", offsetof(struct reading, transfer_encoding)},
    {"Expect", offsetof(struct reading, expect)},
};

static bool text_is(const struct http_text *text, const char *word)
{
    return text->len == strlen(word) && strncasecmp(text->data, word, text->len) == 0;
}

/* Returns nonzero, which halts the library. */
static int refuse(struct reading *reading, int status, const char *why)
{
    reading->status = status;
    reading->why = why;
    return 1;
}

static int on_url_cb(http_parser *parser, const char *at, size_t len)
{
    struct reading *reading = parser->data;
    reading->target = (struct http_text){at, len};
    return 0;
}

static int on_header_field_cb(http_parser *parser, const char *at, size_t len)
{
    struct reading *reading = parser->data;
    reading->name = (struct http_text){at, len};
    return 0;
}

static int on_header_value_cb(http_parser *parser, const char *at, size_t len)
{
    struct reading *reading = parser->data;
    while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t')) {
        len--;
    }
    /* A trailer says nothing. */
    for (size_t i = 0; i < sizeof(HEADERS) / sizeof(HEADERS[0]) && !reading->head_done; i++) {
        if (!text_is(&reading->name, HEADERS[i].name)) {
            continue;
        }
        struct http_text *value = (struct http_text *)((char *)reading + HEADERS[i].offset);
        if (value->data == NULL) {
            *value = (struct http_text){at, len};
        } else {
            return refuse(reading, 400, "a header that may stand once stands twice");
        }
        break;
    }
    return 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* An address in brackets or a name, with a port or without: what http URLs have in practice, less
 * than RFC 3986 allows. */
static bool is_host(const struct http_text *host)
{
    static const char NAME[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    static const char ADDRESS[] = "0123456789abcdefABCDEF:.";
    const char *p = host->data, *end = p + host->len;
    const bool brackets = p < end && *p == '[';
    const char *const first = p += brackets;
    const char *const bytes = brackets ? ADDRESS : NAME;
    while (p < end && *p != '\0' && strchr(bytes, *p) != NULL) {
        p++;
    }
    if (p == first || host->len > HOST_BYTES) {
        return false;
    }
    if (brackets) {
        if (p == end || *p != ']') {
            return false;
        }
        p++;
    }
    if (p == end) {
        return true;
    }
    unsigned int port = 0;
    const char *const digits = ++p;
    if (p[-1] != ':') {
        return false;
    }
    for (; p < end && is_digit(*p) && port <= UINT16_MAX; p++) {
        port = port * 10 + (unsigned int)(*p - '0');
    }
    return p == end && p > digits && port <= UINT16_MAX;
}

static int check_host(struct reading *reading)
{
    const struct http_text *host = &reading->request.host;
    if (host->data == NULL) {
        return reading->request.http_1_0 ? 0 : refuse(reading, 400, "the Host header is missing");
    }
    return is_host(host) ? 0 : refuse(reading, 400, "the Host header names no host");
}

/* Path and query; of a target in absolute form, behind its authority. */
static int split_target(struct reading *reading)
{
    static const char SCHEME[] = "http://";
    struct http_request *request = &reading->request;
    const char *p = reading->target.data, *end = p + reading->target.len;
    if (text_is(&reading->target, "*")) {
        request->path = reading->target;
        return request->method == HTTP_METHOD_OPTIONS
                   ? 0
                   : refuse(reading, 400, "the request's target is no path");
    }
    if (reading->target.len >= sizeof(SCHEME) && strncasecmp(p, SCHEME, sizeof(SCHEME) - 1) == 0) {
        p += sizeof(SCHEME) - 1;
        const size_t left = (size_t)(end - p), len = request->host.len;
        if (len == 0 || left < len || strncasecmp(p, request->host.data, len) != 0 ||
            (left > len && p[len] != '/' && p[len] != '?')) {
            return refuse(reading, 400, "the request's target names another host than Host");
        }
        p += len;
    } else if (*p != '/') {
        return refuse(reading, 400, "the request's target is no path");
    }
    const char *mark = memchr(p, '?', (size_t)(end - p));
    const char *path_end = mark != NULL ? mark : end;
    request->path =
        p == path_end ? (struct http_text){"/", 1} : (struct http_text){p, (size_t)(path_end - p)};
    if (mark != NULL) {
        request->query = (struct http_text){mark + 1, (size_t)(end - mark - 1)};
    }
    return 0;
}

static int check_length(struct reading *reading)
{
    const struct http_text *text = &reading->content_length;
    uint64_t value = 0;
    for (size_t i = 0; i < text->len; i++) {
        const uint64_t digit = (uint64_t)(text->data[i] - '0');
        if (!is_digit(text->data[i]) || value > (UINT64_MAX - digit) / 10) {
            return refuse(reading, 400, "Content-Length is no number");
        }
        value = value * 10 + digit;
    }
    if (text->len == 0 || value != reading->parser.content_length) {
        return refuse(reading, 400, "Content-Length is no number");
    }
    if (value > reading->limits->body_bytes) {
        return refuse(reading, 413, "the body is too long");
    }
    reading->length = (size_t)value;
    return 0;
}

/* How the body ends: RFC 9112 6.3, but with no way to say it twice. */
static int check_framing(struct reading *reading)
{
    const struct http_text *encoding = &reading->transfer_encoding;
    const bool chunked = encoding->data != NULL, sized = reading->content_length.data != NULL;
    if (chunked && sized) {
        return refuse(reading, 400, "Content-Length beside Transfer-Encoding");
    }
    if (chunked && reading->request.http_1_0) {
        return refuse(reading, 400, "Transfer-Encoding in HTTP/1.0");
    }
    if (chunked && !text_is(encoding, "chunked")) {
        return refuse(reading, 501, "Transfer-Encoding other than chunked");
    }
    if (chunked != ((reading->parser.flags & F_CHUNKED) != 0) ||
        sized != ((reading->parser.flags & F_CONTENTLENGTH) != 0)) {
        return refuse(reading, 400, NO_END);
    }
    return sized ? check_length(reading) : 0;
}

static int check_expect(struct reading *reading)
{
    const struct http_text *expect = &reading->expect;
    if (expect->data == NULL || reading->request.http_1_0) {
        return 0;
    }
    if (!text_is(expect, "100-continue")) {
        return refuse(reading, 417, "Expect other than 100-continue");
    }
    reading->request.expects_continue =
        reading->length > 0 || reading->transfer_encoding.data != NULL;
    return 0;
}

static int on_headers_complete_cb(http_parser *parser)
{
    struct reading *reading = parser->data;
    reading->head_done = true;
    reading->request.http_1_0 = parser->http_minor == 0;
    reading->request.keep_alive =
        http_should_keep_alive(parser) && (parser->flags & F_CONNECTION_CLOSE) == 0;
    int wrong = check_host(reading);
    if (wrong == 0) {
        wrong = split_target(reading);
    }
    if (wrong == 0) {
        wrong = check_framing(reading);
    }
    if (wrong == 0) {
        wrong = check_expect(reading);
    }
    parser->upgrade = 0;
    return wrong != 0 ? -1 : 0; /* 1 and 2 mean other things in this callback */
}

static int on_body_cb(http_parser *parser, const char *at, size_t len)
{
    struct reading *reading = parser->data;
    if (reading->transfer_encoding.data == NULL) {
        struct http_text *body = &reading->request.body;
        *body = (struct http_text){body->data != NULL ? body->data : at, body->len + len};
        return 0;
    }
    buffer_append(reading->decoded, at, len);
    return reading->decoded->failed ? refuse(reading, 503, "no memory for the body") : 0;
}

static int on_message_complete_cb(http_parser *parser)
{
    struct reading *reading = parser->data;
    reading->message_done = true;
    return 0;
}

static int parse(struct reading *reading, const char *bytes, size_t len)
{
    static const http_parser_settings SETTINGS = {
        .on_url = on_url_cb,
        .on_header_field = on_header_field_cb,
        .on_header_value = on_header_value_cb,
        .on_headers_complete = on_headers_complete_cb,
        .on_body = on_body_cb,
        .on_message_complete = on_message_complete_cb,
    };
    const size_t done = http_parser_execute(&reading->parser, &SETTINGS, bytes, len);
    const enum http_errno error = HTTP_PARSER_ERRNO(&reading->parser);
    if (reading->why != NULL) {
        return HTTP_BAD;
    }
    if (error != HPE_OK) {
        refuse(reading, error == HPE_HEADER_OVERFLOW ? 431 : 400, http_errno_description(error));
        return HTTP_BAD;
    }
    return done == len ? HTTP_OK : (refuse(reading, 400, NO_END), HTTP_BAD);
}

/* Bytes with whose last one the library must find head or message `complete`. */
static int parse_to_end(struct reading *reading, const char *bytes, size_t len,
                        const bool *complete)
{
    int result = len > 1 ? parse(reading, bytes, len - 1) : HTTP_OK; /* 0 would mean the end */
    if (result == HTTP_OK && !*complete) {
        result = parse(reading, bytes + len - 1, 1);
        if (result != HTTP_OK || *complete) {
            return result;
        }
    }
    if (result == HTTP_OK) {
        refuse(reading, 400, NO_END);
    }
    return HTTP_BAD;
}

static int read_head(struct reading *reading, const char *first, const char *end)
{
    http_parser_init(&reading->parser, HTTP_REQUEST);
    reading->parser.data = reading;
    return parse_to_end(reading, first, (size_t)(end - first), &reading->head_done);
}

/* The body behind the head, which ends at scan->p; moves that to the body's end. */
static int read_body(struct reading *reading, struct http_scan *scan, size_t *missing)
{
    const char *first = scan->p;
    const size_t left = (size_t)(scan->end - first);
    int result = HTTP_OK;
    if (reading->transfer_encoding.data != NULL) {
        result = http_scan_chunks(scan, reading->limits->body_bytes, missing);
    } else if (left < reading->length) {
        *missing = reading->length - left;
        result = HTTP_MORE;
    } else {
        scan->p = first + reading->length;
    }
    if (result == HTTP_BAD) {
        refuse(reading, scan->status, scan->why);
    }
    if (result != HTTP_OK) {
        return result;
    }
    if (scan->p > first) {
        result = parse_to_end(reading, first, (size_t)(scan->p - first), &reading->message_done);
        if (reading->decoded->len > 0) {
            reading->request.body =
                (struct http_text){reading->decoded->data, reading->decoded->len};
        }
        return result;
    }
    return reading->message_done ? HTTP_OK : (refuse(reading, 400, NO_END), HTTP_BAD);
}

int http_read_request(const char *buf, size_t len, const struct http_limits *limits,
                      struct buffer *decoded, struct http_request *request, size_t *used,
                      size_t *head, int *status, const char **why)
{
    struct reading reading = {.limits = limits, .decoded = decoded};
    struct http_scan scan = {.p = buf, .end = buf + len};
    const char *first;
    size_t missing = 1;
    *head = 0;
    int result = http_scan_head(&scan, limits, &first, &reading.request.method);
    if (result == HTTP_BAD) {
        refuse(&reading, scan.status, scan.why);
    }
    if (result == HTTP_OK) {
        result = read_head(&reading, first, scan.p);
    }
    if (result == HTTP_OK) {
        *head = (size_t)(scan.p - buf);
        scan.end = buf + len;
        decoded->len = 0;
        decoded->failed = false;
        result = read_body(&reading, &scan, &missing);
    }
    if (result == HTTP_BAD) {
        *status = reading.status;
        *why = reading.why;
        return HTTP_BAD;
    }
    if (*head > 0) {
        *request = reading.request;
    }
    *used = result == HTTP_MORE ? len + missing : (size_t)(scan.p - buf);
    return result;
}
