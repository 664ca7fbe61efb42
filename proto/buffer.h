/* A growing run of bytes. Appending never fails halfway: when memory runs out, or the buffer's
 * limit would be passed, the buffer is marked failed, keeps what it had and takes nothing more;
 * its owner looks at `failed` once, when it is about to use the bytes. One thread at a time. */
#ifndef IDMINT_BUFFER_H
#define IDMINT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct buffer {
    char *data;
    size_t len;
    size_t capacity;
    size_t max_bytes; /* 0: no limit */
    bool failed;
};

/* Empty, without memory of its own; buffer_finish gives back what it grew to and leaves it empty.
 */
void buffer_init(struct buffer *buffer, size_t max_bytes);
void buffer_finish(struct buffer *buffer);

/* Room for `extra` more bytes at data + len; NULL (and failed) where there is none. The caller
 * writes there and adds to len what it wrote. */
char *buffer_reserve(struct buffer *buffer, size_t extra);
void buffer_append(struct buffer *buffer, const void *bytes, size_t len);

/* Drop the first `len` bytes (at most buffer->len). */
void buffer_consume(struct buffer *buffer, size_t len);

#endif
