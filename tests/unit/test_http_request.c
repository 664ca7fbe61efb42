#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "http_fixture.h"
#include "suite.h"

/* A string literal that may hold NULs, with its length. */
#define TEXT(literal) literal, sizeof(literal) - 1

#define HEAD_BYTES 200
static const struct http_limits LIMITS = {
    .head_bytes = HEAD_BYTES, .target_bytes = 30, .headers = 6, .body_bytes = 40};

#define GET "GET / HTTP/1.1\r\n"
#define POST "POST / HTTP/1.1\r\n"
#define HOST "Host: a\r\n"
#define CHUNKED POST HOST "Transfer-Encoding: chunked\r\n\r\n"
#define X10 "xxxxxxxxxx"
#define X50 X10 X10 X10 X10 X10

/* Every input ends with the byte that decides: before it, more is asked for; what comes behind it
 * changes nothing. */
static const struct good_row {
    const char *input;
    size_t len;
    const char *request; /* as describe() writes it */
} GOOD[] = {
    {TEXT(GET HOST "\r\n"), "GET / keep host=a"},
    {TEXT("\r\n" GET HOST "\r\n"), "GET / keep host=a"},
    {TEXT("HEAD / HTTP/1.1\r\n" HOST "\r\n"), "HEAD / keep host=a"},
    {TEXT("PUT / HTTP/1.1\r\n" HOST "\r\n"), "PUT / keep host=a"},
    {TEXT("PATCH / HTTP/1.1\r\n" HOST "\r\n"), "PATCH / keep host=a"},
    {TEXT("DELETE / HTTP/1.1\r\n" HOST "\r\n"), "DELETE / keep host=a"},
    {TEXT("OPTIONS * HTTP/1.1\r\n" HOST "\r\n"), "OPTIONS * keep host=a"},
    {TEXT("GET / HTTP/1.9\r\n" HOST "\r\n"), "GET / keep host=a"},
    /* targets */
    {TEXT("GET /v1/a%20b/%00?x=1&y=?2 HTTP/1.1\r\n" HOST "\r\n"),
     "GET /v1/a%20b/%00 ?x=1&y=?2 keep host=a"},
    {TEXT("GET /? HTTP/1.1\r\n" HOST "\r\n"), "GET / ? keep host=a"},
    {TEXT("GET //a/../{|}\\^`\"<> HTTP/1.1\r\n" HOST "\r\n"), "GET //a/../{|}\\^`\"<> keep host=a"},
    {TEXT("GET /xxxxxxxxx" X10 X10 " HTTP/1.1\r\n" HOST "\r\n"),
     "GET /xxxxxxxxx" X10 X10 " keep host=a"},
    {TEXT("GET http://A/b?c HTTP/1.1\r\n" HOST "\r\n"), "GET /b ?c keep host=a"},
    {TEXT("GET HTTP://a:80?c HTTP/1.1\r\nHost: a:80\r\n\r\n"), "GET / ?c keep host=a:80"},
    {TEXT("GET http://a HTTP/1.1\r\n" HOST "\r\n"), "GET / keep host=a"},
    /* hosts */
    {TEXT(GET "Host:a-b_c.example.:65535\r\n\r\n"), "GET / keep host=a-b_c.example.:65535"},
    {TEXT(GET "host: \t [::1]:7378 \t \r\n\r\n"), "GET / keep host=[::1]:7378"},
    {TEXT(GET "HOST: 127.0.0.1\r\n\r\n"), "GET / keep host=127.0.0.1"},
    /* whether the connection stays */
    {TEXT(GET HOST "Connection: close\r\n\r\n"), "GET / host=a"},
    {TEXT(GET HOST "Connection: x, Close \r\n\r\n"), "GET / host=a"},
    {TEXT(GET HOST "Connection: closed\r\n\r\n"), "GET / keep host=a"},
    {TEXT(GET HOST "Connection: keep-alive\r\nConnection: close\r\n\r\n"), "GET / host=a"},
    {TEXT("GET / HTTP/1.0\r\n\r\n"), "GET / 1.0"},
    {TEXT("GET / HTTP/1.0\r\n" HOST "Connection: Keep-Alive\r\n\r\n"), "GET / keep 1.0 host=a"},
    {TEXT("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n"), "GET / 1.0"},
    /* Upgrade is ignored */
    {TEXT(GET HOST "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n"
                   "\r\n"),
     "GET / keep host=a"},
    {TEXT(POST HOST "Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\n{}"),
     "POST / keep host=a body={}"},
    /* headers */
    {TEXT(GET HOST "!#$%&'*+-.^_`|~09azAZ: \x80\xff\t\"\r\nX:\r\n\r\n"), "GET / keep host=a"},
    {TEXT(GET HOST "Origin: http://b\r\nAuthorization: Bearer x y\r\nIf-Match: \"d\"\r\n\r\n"),
     "GET / keep host=a origin=http://b authorization=Bearer x y if_match=\"d\""},
    {TEXT(GET HOST "Content-Type: t\r\nLast-Event-ID: 7\r\nIF-NONE-MATCH:\"e\"\r\n\r\n"),
     "GET / keep host=a content_type=t if_none_match=\"e\" last_event_id=7"},
    {TEXT(GET HOST "idempotency-key: k\r\nsec-fetch-site: none\r\n\r\n"),
     "GET / keep host=a idempotency_key=k sec_fetch_site=none"},
    {TEXT(GET HOST "Sec-Fetch-Mode: m\r\nSec-Fetch-Dest: d\r\n\r\n"),
     "GET / keep host=a sec_fetch_mode=m sec_fetch_dest=d"},
    {TEXT(GET HOST "Origin:\r\n\r\n"), "GET / keep host=a origin="},
    /* bodies with a length */
    {TEXT(POST HOST "Content-Length: 0\r\n\r\n"), "POST / keep host=a"},
    {TEXT(POST HOST "Content-Length: 5 \r\n\r\n\r\n\0{}"), "POST / keep host=a body=\r\n\\0{}"},
    {TEXT(POST HOST "Content-Length: 0000000000000000000000000000001\r\n\r\nx"),
     "POST / keep host=a body=x"},
    {TEXT(POST HOST "Content-Length: 40\r\n\r\n" X10 X10 X10 X10),
     "POST / keep host=a body=" X10 X10 X10 X10},
    {TEXT("GET / HTTP/1.0\r\nContent-Length: 9\r\n\r\n123456789"), "GET / 1.0 body=123456789"},
    {TEXT(POST HOST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\nx"),
     "POST / keep expects host=a body=x"},
    {TEXT(POST HOST "Expect: 100-continue\r\n\r\n"), "POST / keep host=a"},
    {TEXT("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx"),
     "POST / 1.0 body=x"},
    /* chunked bodies */
    {TEXT(CHUNKED "0\r\n\r\n"), "POST / keep host=a"},
    {TEXT(POST HOST "transfer-encoding:CHUNKED\r\n\r\n1\r\nx\r\n0\r\n\r\n"),
     "POST / keep host=a body=x"},
    {TEXT(CHUNKED "a\r\n" X10 "\r\nA\r\n" X10 "\r\n0014\r\n" X10 X10 "\r\n000\r\n\r\n"),
     "POST / keep host=a body=" X10 X10 X10 X10},
    {TEXT(CHUNKED "f\r\n12345" X10 "\r\n0\r\n\r\n"), "POST / keep host=a body=12345" X10},
    {TEXT(CHUNKED "4\r\n\r\n\0\n\r\n0\r\n\r\n"), "POST / keep host=a body=\r\n\\0\n"},
    {TEXT(CHUNKED "1;a=\"\x80\" ;b\r\nx\r\n0;\r\n\r\n"), "POST / keep host=a body=x"},
    /* a trailer says nothing */
    {TEXT(CHUNKED "0\r\nHost: b\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n"
                  "Connection: close\r\nOrigin: x\r\nA:\r\nB:\r\nC:\r\n\r\n"),
     "POST / keep host=a"},
};

static const struct bad_row {
    const char *input;
    size_t len;
    int status;
} BAD[] = {
    /* no HTTP */
    {TEXT("\n"), 400},
    {TEXT("\rG"), 400},
    {TEXT("\r\n\r"), 400},
    {TEXT(" "), 400},
    {TEXT("\x16"), 400}, /* TLS */
    {TEXT("\0"), 400},
    {TEXT("*1\r"), 400}, /* RESP */
    {TEXT("get "), 501},
    {TEXT("GET\t"), 400},
    {TEXT("GET\r"), 400},
    {TEXT("GE("), 400},
    {TEXT("FOO "), 501},
    {TEXT("TRACE "), 501},
    {TEXT("CONNECT "), 501},
    {TEXT("PROPFIND"), 501},
    {TEXT("XXXXXXXX"), 501},
    {TEXT("PRI "), 505},
    /* targets */
    {TEXT("GET  "), 400},
    {TEXT("GET /\t"), 400},
    {TEXT("GET /#"), 400},
    {TEXT("GET /\x7f"), 400},
    {TEXT("GET /\x80"), 400},
    {TEXT("GET /\0"), 400},
    {TEXT("GET /\n"), 400},
    {TEXT("GET /\r"), 400}, /* HTTP/0.9 */
    {TEXT("GET /xxxxxxxxx" X10 X10 "x"), 414},
    {TEXT("GET * HTTP/1.1\r\n" HOST "\r\n"), 400},
    {TEXT("OPTIONS ** HTTP/1.1\r\n" HOST "\r\n"), 400},
    {TEXT("GET a HTTP/1.1\r\n" HOST "\r\n"), 400},
    {TEXT("GET a:80 HTTP/1.1\r\n" HOST "\r\n"), 400},
    {TEXT("GET ?a HTTP/1.1\r\n" HOST "\r\n"), 400},
    {TEXT("GET http://b/ HTTP/1.1\r\n" HOST "\r\n"), 400},
    {TEXT("GET http://ab/ HTTP/1.1\r\n" HOST "\r\n"), 400},
    {TEXT("GET http://a:80/ HTTP/1.1\r\n" HOST "\r\n"), 400},
    {TEXT("GET http://a@a/ HTTP/1.1\r\n" HOST "\r\n"), 400},
    {TEXT("GET http:///a HTTP/1.1\r\n" HOST "\r\n"), 400},
    {TEXT("GET https://a/ HTTP/1.1\r\n" HOST "\r\n"), 400},
    {TEXT("GET http://a/ HTTP/1.0\r\n\r\n"), 400},
    {TEXT("GET http:/// HTTP/1.0\r\n\r\n"), 400},
    {TEXT("GET http:///a HTTP/1.0\r\n\r\n"), 400},
    /* versions */
    {TEXT("GET / HTTP/2"), 505},
    {TEXT("GET / HTTP/0"), 505},
    {TEXT("GET / h"), 400},
    {TEXT("GET / HTTX"), 400},
    {TEXT("GET /  "), 400},
    {TEXT("GET / HTTP/x"), 400},
    {TEXT("GET / HTTP/11"), 400},
    {TEXT("GET / HTTP/1.x"), 400},
    {TEXT("GET / HTTP/1.11"), 400},
    {TEXT("GET / HTTP/1.1 "), 400},
    {TEXT("GET / HTTP/1.1\n"), 400},
    {TEXT("GET / HTTP/1.1\rH"), 400},
    /* header lines */
    {TEXT(GET " "), 400},
    {TEXT(GET "\t"), 400},
    {TEXT(GET "\n"), 400},
    {TEXT(GET ":"), 400},
    {TEXT(GET HOST " "), 400},
    {TEXT(GET HOST "A: b\r\n\t"), 400},
    {TEXT(GET HOST "\n"), 400},
    {TEXT(GET HOST "\rx"), 400},
    {TEXT(GET "Host "), 400},
    {TEXT(GET "Host\t"), 400},
    {TEXT(GET "Host\r"), 400},
    {TEXT(GET "Host\n"), 400},
    {TEXT(GET "Ho\x80"), 400},
    {TEXT(GET "Ho\0"), 400},
    {TEXT(GET "Ho("), 400},
    {TEXT(GET "Host: a\n"), 400},
    {TEXT(GET "Host: a\r\r"), 400},
    {TEXT(GET "Host: a\0"), 400},
    {TEXT(GET "Host: a\x7f"), 400},
    {TEXT(GET "Host: a\x0b"), 400},
    {TEXT(GET "Host: a\r "), 400},
    {TEXT(GET "a:\r\nb:\r\nc:\r\nd:\r\ne:\r\nf:\r\ng"), 431},
    /* Host */
    {TEXT(GET "\r\n"), 400},
    {TEXT(GET "Host:\r\n\r\n"), 400},
    {TEXT(GET HOST HOST "\r\n"), 400},
    {TEXT(GET "Host: a, b\r\n\r\n"), 400},
    {TEXT(GET "Host: a b\r\n\r\n"), 400},
    {TEXT(GET "Host: a/b\r\n\r\n"), 400},
    {TEXT(GET "Host: u@a\r\n\r\n"), 400},
    {TEXT(GET "Host: a:\r\n\r\n"), 400},
    {TEXT(GET "Host: a:65536\r\n\r\n"), 400},
    {TEXT(GET "Host: a:99999999999999999999\r\n\r\n"), 400},
    {TEXT(GET "Host: a:+1\r\n\r\n"), 400},
    {TEXT(GET "Host: :80\r\n\r\n"), 400},
    {TEXT(GET "Host: ::1\r\n\r\n"), 400},
    {TEXT(GET "Host: [::1\r\n\r\n"), 400},
    {TEXT(GET "Host: []\r\n\r\n"), 400},
    {TEXT(GET "Host: [::1]80\r\n\r\n"), 400},
    {TEXT(GET "Host: \xc3\xa9\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.0\r\nHost: a b\r\n\r\n"), 400},
    /* what may stand once */
    {TEXT(GET HOST "Origin: b\r\norigin: b\r\n\r\n"), 400},
    {TEXT(GET HOST "Authorization: b\r\nAuthorization:\r\n\r\n"), 400},
    {TEXT(GET HOST "Idempotency-Key:\r\nIdempotency-Key:\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Type: a\r\nContent-Type: b\r\n\r\n"), 400},
    {TEXT(GET HOST "If-None-Match: a\r\nIf-None-Match: a\r\n\r\n"), 400},
    {TEXT(GET HOST "Last-Event-ID: 1\r\nLast-Event-ID: 2\r\n\r\n"), 400},
    {TEXT(GET HOST "Sec-Fetch-Site: a\r\nSec-Fetch-Site: b\r\n\r\n"), 400},
    {TEXT(GET HOST "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n"), 400},
    /* Content-Length; where the library sees it in the head, it may tell before the head's end */
    {TEXT(POST HOST "Content-Length: 41\r\n\r\n"), 413},
    {TEXT(POST HOST "Content-Length: 18446744073709551614\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: 18446744073709551616\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: 99999999999999999999999999\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: 1000000000000000000\r\n\r\n"), 413},
    {TEXT(POST HOST "Content-Length:\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: +1\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: -1\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: 0x1\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: 1a\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: 1 1\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: 1,1\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: 1, 1\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: \"1\"\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: 1\r\ncontent-length: 2\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: \r\nContent-Length: 2\r\n\r\n"), 400},
    /* Transfer-Encoding */
    {TEXT(POST HOST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: 1\r\nTransfer-Encoding: x\r\n\r\n"), 400},
    {TEXT(POST HOST "Content-Length: 1\r\nTransfer-Encoding:\r\n\r\n"), 400},
    {TEXT(POST HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), 400},
    {TEXT(POST HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"), 400},
    {TEXT(POST HOST "Transfer-Encoding: identity\r\n\r\n"), 501},
    {TEXT(POST HOST "Transfer-Encoding: gzip, chunked\r\n\r\n"), 501},
    {TEXT(POST HOST "Transfer-Encoding: chunked, chunked\r\n\r\n"), 501},
    {TEXT(POST HOST "Transfer-Encoding: chunked;a=b\r\n\r\n"), 501},
    {TEXT(POST HOST "Transfer-Encoding: xchunked\r\n\r\n"), 501},
    {TEXT(POST HOST "Transfer-Encoding: ,chunked\r\n\r\n"), 501},
    {TEXT(POST HOST "Transfer-Encoding: \"chunked\"\r\n\r\n"), 501},
    {TEXT(POST HOST "Transfer-Encoding:\r\n\r\n"), 501},
    {TEXT("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400},
    /* Expect */
    {TEXT(POST HOST "Expect: 200-ok\r\n\r\n"), 417},
    {TEXT(POST HOST "Expect: 100-continue\r\nContent-Length: 41\r\n\r\n"), 413},
    /* chunks */
    {TEXT(CHUNKED "\r"), 400},
    {TEXT(CHUNKED "\n"), 400},
    {TEXT(CHUNKED ";"), 400},
    {TEXT(CHUNKED "x"), 400},
    {TEXT(CHUNKED " "), 400},
    {TEXT(CHUNKED "-"), 400},
    {TEXT(CHUNKED "+"), 400},
    {TEXT(CHUNKED "0x"), 400},
    {TEXT(CHUNKED "1 "), 400},
    {TEXT(CHUNKED "1\t"), 400},
    {TEXT(CHUNKED "1\n"), 400},
    {TEXT(CHUNKED "1\rx"), 400},
    {TEXT(CHUNKED "1\0"), 400},
    {TEXT(CHUNKED "1;a\n"), 400},
    {TEXT(CHUNKED "1;a\0"), 400},
    {TEXT(CHUNKED "1;a\rx"), 400},
    {TEXT(CHUNKED "1\r\nxx"), 400},
    {TEXT(CHUNKED "1\r\nx\n"), 400},
    {TEXT(CHUNKED "1\r\nx\rx"), 400},
    {TEXT(CHUNKED "1\r\nx\r\n\r"), 400},
    {TEXT(CHUNKED "29"), 413},
    {TEXT(CHUNKED "00029"), 413},
    {TEXT(CHUNKED "1\r\nx\r\n28"), 413},
    {TEXT(CHUNKED "28\r\n" X10 X10 X10 X10 "\r\n1"), 413},
    {TEXT(CHUNKED "0\r\n\n"), 400},
    {TEXT(CHUNKED "0\r\n\rx"), 400},
    {TEXT(CHUNKED "0\r\n "), 400},
    {TEXT(CHUNKED "0\r\nA "), 400},
    {TEXT(CHUNKED "0\r\nA: b\n"), 400},
    {TEXT(CHUNKED "0\r\nA: b\r\n "), 400},
    {TEXT(CHUNKED "0\r\nGET "), 400},
};

static const struct {
    const char *bytes;
    size_t len;
} BEHIND[] = {
    {TEXT("")},
    {TEXT("\0")},
    {TEXT("\n")},
    {TEXT("\r\n\r\n")},
    {TEXT(GET HOST "\r\n")},
    {TEXT(" : \r\n0\r\n\r\n")},
    {TEXT(X50 X50 X50 X50 X50)},
};
#define BEHIND_ROWS ((int)(sizeof(BEHIND) / sizeof(BEHIND[0])))

START_TEST(test_good)
{
    const struct good_row *row = &GOOD[_i];
    expect_more_before(row->input, row->len, &LIMITS);
    for (int i = 0; i < BEHIND_ROWS; i++) {
        const size_t len = row->len + BEHIND[i].len;
        char *copy = exact(row->input, row->len, BEHIND[i].bytes, BEHIND[i].len);
        struct outcome outcome;
        struct buffer text;
        read_request(copy, len, &LIMITS, &outcome);
        ck_assert_msg(outcome.result == HTTP_OK, "%s: %d %s", row->request, outcome.status,
                      outcome.why);
        describe(&outcome.request, &text);
        ck_assert_str_eq(text.data, row->request);
        ck_assert_uint_eq(outcome.used, row->len);
        ck_assert_uint_le(outcome.head, outcome.used);
        buffer_finish(&text);
        buffer_finish(&outcome.decoded);
        free(copy);
    }
}
END_TEST

START_TEST(test_bad)
{
    const struct bad_row *row = &BAD[_i];
    struct outcome outcome;
    const char *why = NULL;
    expect_more_before(row->input, row->len, &LIMITS);
    for (int i = 0; i < BEHIND_ROWS; i++) {
        const size_t len = row->len + BEHIND[i].len;
        char *copy = exact(row->input, row->len, BEHIND[i].bytes, BEHIND[i].len);
        read_request(copy, len, &LIMITS, &outcome);
        ck_assert_msg(outcome.result == HTTP_BAD, "row %d: %d", _i, outcome.result);
        ck_assert_msg(outcome.status == row->status, "row %d: %d %s", _i, outcome.status,
                      outcome.why);
        ck_assert_ptr_nonnull(outcome.why);
        ck_assert(why == NULL || why == outcome.why);
        why = outcome.why;
        buffer_finish(&outcome.decoded);
        free(copy);
    }
}
END_TEST

/* An input whose last byte is the one too many. */
static void expect_limit(const char *input, size_t len, int status)
{
    struct outcome outcome;
    read_request(input, len, &LIMITS, &outcome);
    ck_assert_int_eq(outcome.result, HTTP_BAD);
    ck_assert_int_eq(outcome.status, status);
    buffer_finish(&outcome.decoded);
    expect_more_before(input, len, &LIMITS);
}

START_TEST(test_head_of_the_greatest_length)
{
    static const char START[] = GET HOST "A: ";
    char input[HEAD_BYTES + 1];
    struct outcome outcome;
    memset(input, 'x', sizeof(input));
    memcpy(input, START, sizeof(START) - 1);
    memcpy(input + HEAD_BYTES - 4, "\r\n\r\n", 4);
    expect_more_before(input, HEAD_BYTES, &LIMITS);
    read_request(input, sizeof(input), &LIMITS, &outcome);
    ck_assert_int_eq(outcome.result, HTTP_OK);
    ck_assert_uint_eq(outcome.used, HEAD_BYTES);
    ck_assert_uint_eq(outcome.head, HEAD_BYTES);

    memcpy(input + HEAD_BYTES - 4, "x\r\n\r", 4);
    expect_limit(input, HEAD_BYTES, 431);
    memset(input + HEAD_BYTES - 4, 'x', 4);
    expect_limit(input, HEAD_BYTES, 431);
}
END_TEST

/* What stands around the data is bounded, of whatever it is made. */
START_TEST(test_framing_of_the_greatest_length)
{
    static const struct {
        const char *start, *again, *end;
    } ROWS[] = {
        {"0;", "x", "\r\n\r\n"},
        {"", "000000", "\r\n\r\n"},
        {"0\r\n", "A:b\r\n", "\r\n"},
        {"1\r\nx\r\n0\r\nA: ", "bc", "\r\n\r\n"},
    };
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        const char *again = ROWS[i].again;
        const size_t data = ROWS[i].start[0] == '1', most = HTTP_CHUNK_FRAMING_BYTES + data;
        struct buffer input;
        struct outcome outcome;
        buffer_init(&input, 0);
        buffer_append(&input, TEXT(CHUNKED));
        const size_t head = input.len;
        buffer_append(&input, ROWS[i].start, strlen(ROWS[i].start));
        while (input.len - head + strlen(again) + strlen(ROWS[i].end) <= most) {
            buffer_append(&input, again, strlen(again));
        }
        const size_t before_end = input.len;
        buffer_append(&input, ROWS[i].end, strlen(ROWS[i].end));
        read_request(input.data, input.len, &LIMITS, &outcome);
        ck_assert_msg(outcome.result == HTTP_OK, "row %zu: %d %s", i, outcome.status, outcome.why);
        ck_assert_uint_eq(outcome.used, input.len);
        buffer_finish(&outcome.decoded);

        input.len = before_end;
        while (input.len - head < most) {
            buffer_append(&input, again, strlen(again));
        }
        read_request(input.data, head + most - 1, &LIMITS, &outcome);
        ck_assert_int_eq(outcome.result, HTTP_MORE);
        ck_assert_uint_eq(outcome.used, head + most);
        read_request(input.data, head + most, &LIMITS, &outcome);
        ck_assert_int_eq(outcome.result, HTTP_BAD);
        ck_assert_int_eq(outcome.status, 413);
        buffer_finish(&input);
    }
}
END_TEST

/* Chunks of one byte: their number is bounded, where the length of the body would allow more. */
START_TEST(test_many_chunks)
{
    const struct http_limits limits = {200, 30, 6, 1 << 20};
    const size_t most = HTTP_CHUNK_FRAMING_BYTES / 5;
    struct buffer input;
    struct outcome outcome;
    buffer_init(&input, 0);
    buffer_append(&input, TEXT(CHUNKED));
    for (size_t i = 0; i < most - 1; i++) {
        buffer_append(&input, TEXT("1\r\nx\r\n"));
    }
    const size_t before_end = input.len;
    buffer_append(&input, TEXT("0\r\n\r\n"));
    read_request(input.data, input.len, &limits, &outcome);
    ck_assert_int_eq(outcome.result, HTTP_OK);
    ck_assert_uint_eq(outcome.request.body.len, most - 1);
    buffer_finish(&outcome.decoded);

    input.len = before_end;
    buffer_append(&input, TEXT("1\r\nx\r\n1\r\n"));
    read_request(input.data, input.len, &limits, &outcome);
    ck_assert_int_eq(outcome.result, HTTP_BAD);
    ck_assert_int_eq(outcome.status, 413);
    buffer_finish(&input);
}
END_TEST

/* A chunk whose size takes all that may stand around it, but for `left` bytes. */
static int read_long_extension(size_t left, size_t *unread)
{
    struct buffer input;
    struct outcome outcome;
    buffer_init(&input, 0);
    buffer_append(&input, TEXT(CHUNKED "1;"));
    for (size_t i = 0; i < HTTP_CHUNK_FRAMING_BYTES - 4 - left; i++) {
        buffer_append(&input, "x", 1);
    }
    buffer_append(&input, TEXT("\r\nx\r\n"));
    size_t len = sizeof(CHUNKED) - 1;
    do {
        read_request(input.data, ++len, &LIMITS, &outcome);
    } while (outcome.result == HTTP_MORE && len < input.len);
    *unread = input.len - len;
    buffer_finish(&input);
    ck_assert(outcome.result == HTTP_MORE || outcome.status == 413);
    return outcome.result;
}

START_TEST(test_no_room_behind_a_chunk)
{
    size_t unread;
    ck_assert_int_eq(read_long_extension(1, &unread), HTTP_BAD);
    ck_assert_uint_eq(unread, 3); /* told before the chunk's data */
    ck_assert_int_eq(read_long_extension(2, &unread), HTTP_BAD);
    ck_assert_uint_eq(unread, 0); /* no room for a last chunk */
    ck_assert_int_eq(read_long_extension(3, &unread), HTTP_MORE);
}
END_TEST

/* With the head whole, the request is known but for its body; what is missing is told. */
START_TEST(test_body_that_is_missing)
{
    static const struct {
        const char *input;
        size_t missing;
    } ROWS[] = {
        {POST HOST "Expect: 100-continue\r\nContent-Length: 40\r\n\r\n", 40},
        {POST HOST "Expect: 100-continue\r\nContent-Length: 40\r\n\r\n" X10, 30},
        {POST HOST "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n", 1},
        {POST HOST "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\na\r\n", 11},
        {POST HOST "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\na\r\n" X10, 1},
    };
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        const size_t len = strlen(ROWS[i].input);
        struct outcome outcome;
        read_request(ROWS[i].input, len, &LIMITS, &outcome);
        ck_assert_int_eq(outcome.result, HTTP_MORE);
        ck_assert_uint_eq(outcome.used, len + ROWS[i].missing);
        ck_assert_uint_eq(outcome.head,
                          (size_t)(strstr(ROWS[i].input, "\r\n\r\n") + 4 - ROWS[i].input));
        ck_assert(outcome.request.expects_continue);
        ck_assert_int_eq(outcome.request.method, HTTP_METHOD_POST);
    }
}
END_TEST

/* Each with its own bytes, one behind the other, as a client sends them that does not wait. */
START_TEST(test_pipelined)
{
    static const struct {
        const char *input, *request;
    } ROWS[] = {
        {GET HOST "\r\n", "GET / keep host=a"},
        {POST HOST "Content-Length: 18\r\n\r\nGET /b HTTP/1.1\r\n\r", NULL},
        {CHUNKED "12\r\nGET /b HTTP/1.1\r\n\r\r\n0\r\n\r\n", NULL},
        {"\r\nPUT /c HTTP/1.1\r\n" HOST "Upgrade: x\r\nConnection: upgrade\r\n\r\n",
         "PUT /c keep host=a"},
        {CHUNKED "1\r\nx\r\n1\r\ny\r\n0\r\nA: b\r\n\r\n", "POST / keep host=a body=xy"},
        {POST HOST "Content-Length: 2\r\n\r\n{}", "POST / keep host=a body={}"},
        {"DELETE / HTTP/1.0\r\n\r\n", "DELETE / 1.0"},
    };
    static const char IN_BODY[] = "POST / keep host=a body=GET /b HTTP/1.1\r\n\r";
    struct buffer input, text;
    struct outcome outcome;
    buffer_init(&input, 0);
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        buffer_append(&input, ROWS[i].input, strlen(ROWS[i].input));
    }
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        read_request(input.data, input.len, &LIMITS, &outcome);
        ck_assert_int_eq(outcome.result, HTTP_OK);
        ck_assert_uint_eq(outcome.used, strlen(ROWS[i].input));
        describe(&outcome.request, &text);
        ck_assert_str_eq(text.data, ROWS[i].request != NULL ? ROWS[i].request : IN_BODY);
        buffer_consume(&input, outcome.used);
        buffer_finish(&text);
        buffer_finish(&outcome.decoded);
    }
    ck_assert_uint_eq(input.len, 0);
    buffer_finish(&input);
}
END_TEST

/* A buffer of the caller's that is full, and one that was and is used again. */
START_TEST(test_no_memory_for_the_body)
{
    static const char INPUT[] = CHUNKED "a\r\n" X10 "\r\n0\r\n\r\n";
    struct outcome outcome;
    struct buffer decoded;
    buffer_init(&decoded, 9);
    for (int i = 0; i < 2; i++) {
        int result =
            http_read_request(INPUT, sizeof(INPUT) - 1, &LIMITS, &decoded, &outcome.request,
                              &outcome.used, &outcome.head, &outcome.status, &outcome.why);
        ck_assert_int_eq(result, i == 0 ? HTTP_BAD : HTTP_OK);
        ck_assert(i == 1 || outcome.status == 503);
        decoded.max_bytes = 10;
    }
    ck_assert_uint_eq(outcome.request.body.len, 10);
    ck_assert_ptr_eq(outcome.request.body.data, decoded.data);
    buffer_finish(&decoded);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_request");
    TCase *rows = tcase_create("rows");
    tcase_add_loop_test(rows, test_good, 0, (int)(sizeof(GOOD) / sizeof(GOOD[0])));
    tcase_add_loop_test(rows, test_bad, 0, (int)(sizeof(BAD) / sizeof(BAD[0])));
    suite_add_tcase(suite, rows);
    TCase *limits = tcase_create("limits");
    tcase_add_test(limits, test_head_of_the_greatest_length);
    tcase_add_test(limits, test_framing_of_the_greatest_length);
    tcase_add_test(limits, test_many_chunks);
    tcase_add_test(limits, test_no_room_behind_a_chunk);
    tcase_add_test(limits, test_body_that_is_missing);
    tcase_add_test(limits, test_pipelined);
    tcase_add_test(limits, test_no_memory_for_the_body);
    suite_add_tcase(suite, limits);
    return run_suite(suite);
}
