/* The bytes of an HTTP/1.1 request (RFC 9112), checked one by one before a parser sees them: line
 * ends, header names, control bytes, sizes, and the framing of a chunked body. What is wrong is
 * told at the first byte that is wrong, so that more bytes never change a verdict. */
#ifndef IDMINT_HTTP_SCAN_H
#define IDMINT_HTTP_SCAN_H

#include <stddef.h>

#include "http_request.h"

struct http_scan {
    const char *p, *end; /* moves past what was found good */
    int status;          /* as http_read_request's, where a call gives HTTP_BAD */
    const char *why;
};

/* The request line and the header lines up to the empty line; an empty line in front of them is
 * skipped, *first is behind it. HTTP_OK: *method is set. Else HTTP_MORE or HTTP_BAD. */
int http_scan_head(struct http_scan *scan, const struct http_limits *limits, const char **first,
                   enum http_method *method) __attribute__((warn_unused_result));

/* A chunked body, its last chunk and trailer. HTTP_MORE: *missing more bytes can decide. */
int http_scan_chunks(struct http_scan *scan, size_t body_bytes, size_t *missing)
    __attribute__((warn_unused_result));

/* Note what is wrong; returns HTTP_BAD. */
int http_scan_bad(struct http_scan *scan, int status, const char *why);

#endif
