/* RESP, the REdis Serialization Protocol: bytes <-> commands and replies. Knows no socket and
 * keeps no state: each call looks at the bytes it is given. Used by the daemon and by the client.
 * The rules are those of https://redis.io/docs/latest/develop/reference/protocol-spec/ */
#ifndef IDMINT_RESP_H
#define IDMINT_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "errors.h"

struct resp_arg {
    const char *data; /* into the caller's bytes; not NUL-terminated */
    size_t len;
};

/* Each below SIZE_MAX / 2. */
struct resp_limits {
    size_t inline_bytes;
    size_t bulk_bytes;
    size_t args;
    size_t request_bytes;
};

enum resp_status {
    RESP_OK = 0,
    RESP_MORE = -1, /* the bytes end before the command or value does */
    RESP_BAD = -2,  /* they can not be the start of one */
};

/* Read one command, an array of bulk strings or a plain line, from the start of buf.
 * RESP_OK: args[0..*argc) and *used bytes consumed; an empty line or array gives *argc = 0.
 * RESP_MORE: *used tells how long the bytes must be before another try can decide: > len, and at
 * most request_bytes + inline_bytes + 4.
 * RESP_BAD: *why is the text of the error as Redis words it, without the word ERR
 * ("Protocol error: invalid bulk length"); told at the first byte that is wrong.
 * `args` has room for limits->args entries; whatever the outcome, they may be written to.
 * Any negative number of arguments is an empty array, as in Redis.
 * A plain line is split at spaces and tabs; an argument may be put in double or single quotes,
 * without escapes. It ends with LF; a CR before it is dropped. */
int resp_read_command(const char *buf, size_t len, const struct resp_limits *limits,
                      struct resp_arg *args, size_t *argc, size_t *used, const char **why)
    __attribute__((warn_unused_result));

enum resp_type {
    RESP_SIMPLE,  /* +  data, len */
    RESP_ERROR,   /* - and RESP3's !  data, len */
    RESP_INTEGER, /* :  integer */
    RESP_BULK,    /* $ and RESP3's = (without its format)  data, len */
    RESP_NULL,    /* $-1, *-1, _ */
    RESP_ARRAY,   /* *, ~ and >  integer elements follow */
    RESP_MAP,     /* %  integer pairs follow */
    RESP_DOUBLE,  /* ,  data, len: as text */
    RESP_BOOLEAN, /* #  integer 0 or 1 */
};

struct resp_value {
    enum resp_type type;
    int64_t integer;
    const char *data;
    size_t len;
};

/* Read one value from the start of buf: a scalar whole, or the head of an array or map, whose
 * elements the caller reads with further calls. Returns as resp_read_command; lines and bulk
 * strings above max_bytes (below SIZE_MAX / 2) and more than 2^32 - 1 elements are RESP_BAD. */
int resp_read_value(const char *buf, size_t len, size_t max_bytes, struct resp_value *value,
                    size_t *used) __attribute__((warn_unused_result));

/* Writers. `resp3` says which version the connection speaks. */
void resp_write_simple(struct buffer *out, const char *text);
void resp_write_integer(struct buffer *out, int64_t value);
void resp_write_bulk(struct buffer *out, const void *data, size_t len);
void resp_write_bulk_text(struct buffer *out, const char *text);
void resp_write_bulk_integer(struct buffer *out, int64_t value);
void resp_write_null(struct buffer *out, bool resp3);
void resp_write_array(struct buffer *out, size_t count);
/* In RESP2 an array of 2 * pairs. */
void resp_write_map(struct buffer *out, size_t pairs, bool resp3);
/* "-WORD text"; control characters in the text become spaces, so a reply stays one line. */
void resp_write_error(struct buffer *out, enum error_word word, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A command: an array of bulk strings. */
void resp_write_command(struct buffer *out, const struct resp_arg *args, size_t argc);

/* Digits with an optional minus, no plus sign, spaces or leading zeros, within int64: false for
 * all else. The form that Redis takes an integer in. */
bool resp_parse_integer(const char *data, size_t len, int64_t *value);

/* Decimal digits of value at out (at most 20 bytes, no NUL); returns how many. */
size_t resp_format_integer(char *out, int64_t value);

#endif
