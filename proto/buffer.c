#include "buffer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 256

void buffer_init(struct buffer *buffer, size_t max_bytes)
{
    *buffer = (struct buffer){.max_bytes = max_bytes};
}

void buffer_finish(struct buffer *buffer)
{
    free(buffer->data);
    buffer_init(buffer, buffer->max_bytes);
}

/* Doubling keeps appending linear; the limit is on what is allocated, not only on what is used. */
static bool grow(struct buffer *buffer, size_t needed)
{
    size_t capacity = buffer->capacity < FIRST_BYTES / 2 ? FIRST_BYTES : buffer->capacity * 2;
    if (capacity < needed) {
        capacity = needed;
    }
    if (buffer->max_bytes != 0 && capacity > buffer->max_bytes) {
        capacity = buffer->max_bytes;
    }
    char *data = realloc(buffer->data, capacity);
    if (data == NULL) {
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

char *buffer_reserve(struct buffer *buffer, size_t extra)
{
    if (buffer->failed) {
        return NULL;
    }
    if (buffer->data == NULL || extra > buffer->capacity - buffer->len) {
        size_t most = buffer->max_bytes != 0 ? buffer->max_bytes : PTRDIFF_MAX;
        if (extra > most - buffer->len || !grow(buffer, buffer->len + extra)) {
            buffer->failed = true;
            return NULL;
        }
    }
    return buffer->data + buffer->len;
}

void buffer_append(struct buffer *buffer, const void *bytes, size_t len)
{
    char *end = buffer_reserve(buffer, len);
    if (end != NULL && len > 0) {
        memcpy(end, bytes, len);
        buffer->len += len;
    }
}

void buffer_consume(struct buffer *buffer, size_t len)
{
    if (len >= buffer->len) {
        buffer->len = 0;
    } else if (len > 0) {
        buffer->len -= len;
        memmove(buffer->data, buffer->data + len, buffer->len);
    }
}
