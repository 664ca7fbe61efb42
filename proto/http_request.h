/* HTTP/1.1 requests (RFC 9112): bytes -> one request. Knows no socket and keeps no state, as
 * resp.h: each call looks at the bytes it is given. The grammar is http-parser's, which
 * Debian builds to be lenient; so http_scan.h stands in front of it, for what that library lets
 * pass and this daemon does not: bare LF, NUL and other control bytes, obs-fold, a space before a
 * colon, loose chunks; and behind it the rules on more than one Host, Content-Length or
 * Transfer-Encoding, a length beside chunked, an absolute target of another host. Both must find
 * the same end of a request. */
#ifndef IDMINT_HTTP_REQUEST_H
#define IDMINT_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

enum http_method {
    HTTP_METHOD_GET,
    HTTP_METHOD_HEAD,
    HTTP_METHOD_POST,
    HTTP_METHOD_PUT,
    HTTP_METHOD_PATCH,
    HTTP_METHOD_DELETE,
    HTTP_METHOD_OPTIONS,
};

struct http_text {
    const char *data; /* into the caller's bytes; not NUL-terminated; NULL: not there */
    size_t len;
};

/* What stands around the data of a chunked body: sizes, extensions, line ends and trailer, which
 * are read over. With it a body's chunks are bounded, and so is the work of reading them again
 * when they come in drips. */
#define HTTP_CHUNK_FRAMING_BYTES 8192

struct http_limits {
    size_t head_bytes; /* request line and headers, with the empty line that ends them */
    size_t target_bytes;
    size_t headers;    /* how many */
    size_t body_bytes; /* decoded; on the wire HTTP_CHUNK_FRAMING_BYTES more */
};

/* A method that is not served, CONNECT and TRACE too, is HTTP_BAD with 501; "Upgrade" is ignored.
 * Headers that mean something here. One that stands twice is HTTP_BAD: its
 * meaning would not be clear. */
struct http_request {
    enum http_method method;
    bool keep_alive; /* HTTP/1.1 without Connection: close; HTTP/1.0 with keep-alive */
    bool http_1_0;
    bool expects_continue;  /* Expect: 100-continue */
    struct http_text path;  /* of the target, still percent-encoded; begins with "/", or is "*"
                             * (OPTIONS) */
    struct http_text query; /* behind "?"; NULL where there is none */
    struct http_text host, origin, authorization, content_type, if_match, if_none_match,
        last_event_id, idempotency_key, sec_fetch_site, sec_fetch_mode, sec_fetch_dest;
    struct http_text body; /* Content-Length: into the caller's bytes; chunked: into `decoded`;
                            * NULL where it is empty */
};

enum http_read {
    HTTP_OK = 0,
    HTTP_MORE = -1, /* the bytes end before the request does */
    HTTP_BAD = -2,  /* answer with *status, then close */
};

/* Read one request from the start of buf.
 * HTTP_OK: *request and *used bytes consumed. `decoded` is emptied, and takes a chunked body.
 * HTTP_MORE: *used is how long the bytes must be before another try can decide, > len, and at most
 *   2 + head_bytes + body_bytes + HTTP_CHUNK_FRAMING_BYTES. *head is the length of the head once it
 *   is whole, else 0. As soon as it is whole, *request has what it says: with `expects_continue`
 *   the client waits for "100 Continue" before it sends the rest.
 * HTTP_BAD: *status is 400, 413, 414, 417, 431, 501, 503 (no memory for a chunked body) or 505,
 *   *why text for a person, without a full stop; told at the first byte that is wrong where that
 *   can be, and before a body that is too long is read.
 * Empty lines before a request (RFC 9112 2.2) are skipped, at most one. */
int http_read_request(const char *buf, size_t len, const struct http_limits *limits,
                      struct buffer *decoded, struct http_request *request, size_t *used,
                      size_t *head, int *status, const char **why)
    __attribute__((warn_unused_result));

#endif
