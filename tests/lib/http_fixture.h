/* Reads requests from memory that ends where they end, and writes them as text. */
#ifndef IDMINT_HTTP_FIXTURE_H
#define IDMINT_HTTP_FIXTURE_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "http_request.h"

struct outcome {
    int result, status;
    size_t used, head;
    const char *why;
    struct http_request request;
    struct buffer decoded;
};

/* The bytes, copied to where they end with their memory. */
static inline char *exact(const char *bytes, size_t len, const char *more, size_t more_len)
{
    char *copy = malloc(len + more_len > 0 ? len + more_len : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, len);
    memcpy(copy + len, more, more_len);
    return copy;
}

static inline void read_request(const char *bytes, size_t len, const struct http_limits *limits,
                                struct outcome *outcome)
{
    *outcome = (struct outcome){0};
    buffer_init(&outcome->decoded, 0);
    outcome->result =
        http_read_request(bytes, len, limits, &outcome->decoded, &outcome->request, &outcome->used,
                          &outcome->head, &outcome->status, &outcome->why);
}

static inline void put(struct buffer *out, const char *name, const struct http_text *text)
{
    if (text->data != NULL) {
        buffer_append(out, name, strlen(name));
        for (size_t i = 0; i < text->len; i++) {
            const char *byte = text->data[i] == '\0' ? "\\0" : &text->data[i];
            buffer_append(out, byte, text->data[i] == '\0' ? 2 : 1);
        }
    }
}

static inline void put_flag(struct buffer *out, const char *name, bool is_set)
{
    buffer_append(out, name, is_set ? strlen(name) : 0);
}

static inline void describe(const struct http_request *request, struct buffer *out)
{
    static const char *const METHODS[] = {"GET",   "HEAD",   "POST",   "PUT",
                                          "PATCH", "DELETE", "OPTIONS"};
    const char *method = METHODS[request->method];
    buffer_init(out, 0);
    buffer_append(out, method, strlen(method));
    put(out, " ", &request->path);
    put(out, " ?", &request->query);
    put_flag(out, " keep", request->keep_alive);
    put_flag(out, " 1.0", request->http_1_0);
    put_flag(out, " expects", request->expects_continue);
    put(out, " host=", &request->host);
    put(out, " origin=", &request->origin);
    put(out, " authorization=", &request->authorization);
    put(out, " content_type=", &request->content_type);
    put(out, " if_match=", &request->if_match);
    put(out, " if_none_match=", &request->if_none_match);
    put(out, " last_event_id=", &request->last_event_id);
    put(out, " idempotency_key=", &request->idempotency_key);
    put(out, " sec_fetch_site=", &request->sec_fetch_site);
    put(out, " sec_fetch_mode=", &request->sec_fetch_mode);
    put(out, " sec_fetch_dest=", &request->sec_fetch_dest);
    put(out, " body=", &request->body);
    buffer_append(out, "", 1);
}

/* Strictly before the last byte of the input nothing is decided, and never more is asked for. */
static inline void expect_more_before(const char *input, size_t len,
                                      const struct http_limits *limits)
{
    struct outcome outcome;
    size_t wanted = 0;
    for (size_t end = 0; end < len; end++) {
        char *copy = exact(input, end, "", 0);
        read_request(copy, end, limits, &outcome);
        ck_assert_msg(outcome.result == HTTP_MORE, "told after %zu bytes of %zu: %d %s", end, len,
                      outcome.status, outcome.why);
        ck_assert_uint_gt(outcome.used, end);
        ck_assert_uint_le(outcome.used, len);
        ck_assert_uint_ge(outcome.used, wanted);
        wanted = outcome.used;
        ck_assert_uint_le(outcome.head, end);
        buffer_finish(&outcome.decoded);
        free(copy);
    }
}

#endif
