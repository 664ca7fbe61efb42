/* JSON text (RFC 8259), appended to a buffer: no tree, no allocation but the buffer's. The caller
 * opens and closes in order; commas are set here. */
#ifndef IDMINT_JSON_WRITE_H
#define IDMINT_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

struct json {
    struct buffer *out;
    bool follows; /* something stands before: a comma is due */
};

void json_open(struct json *json, char bracket);
void json_close(struct json *json, char bracket);
/* A member's name; its value follows. */
void json_put_key(struct json *json, const char *key);
/* Any bytes: what is not well-formed UTF-8 becomes U+FFFD. */
void json_put_string(struct json *json, const char *text, size_t len);
void json_put_text(struct json *json, const char *text);
void json_put_integer(struct json *json, int64_t value);
/* The same in quotes: for readers whose numbers are doubles. */
void json_put_integer_text(struct json *json, int64_t value);
void json_put_null(struct json *json);
void json_put_boolean(struct json *json, bool value);

#endif
