/* UUIDs of version 4 and 7 (RFC 9562). Version 7 strictly increases in issue order within the
 * daemon: 48 bits of milliseconds, then 74 bits that start at random each millisecond and grow by
 * a random step (RFC 9562 section 6.2, method 2), kept under one mutex. When the clock falls back,
 * or the 74 bits overflow, the milliseconds carry on from the last issued.
 * Randomness and time are handed in. */
#ifndef IDMINT_UUID_H
#define IDMINT_UUID_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define UUID_BYTES 16
#define UUID_TEXT 36  /* with dashes; no NUL */
#define UUID_PLAIN 32 /* hex digits alone; no NUL */

/* Fill `bytes` with `len` unpredictable bytes. Does not fail: what can not get randomness ends the
 * process. */
typedef void uuid_random(void *context, void *bytes, size_t len);

struct uuid_source {
    pthread_mutex_t lock;
    uuid_random *random; /* called from any thread, for version 7 also under the lock */
    void *context;
    uint64_t last_ms;
    uint64_t high; /* upper 12 of the 74 bits */
    uint64_t low;  /* lower 62 */
};

void uuid_init(struct uuid_source *source, uuid_random *random, void *context);
void uuid_finish(struct uuid_source *source);

/* Write `count` UUIDs, 16 bytes each, at out. Any thread; a batch of version 7 is contiguous in
 * issue order. */
void uuid_take_v4(struct uuid_source *source, size_t count, uint8_t *out);
void uuid_take_v7(struct uuid_source *source, int64_t real_ms, size_t count, uint8_t *out);

void uuid_text(const uint8_t uuid[UUID_BYTES], char text[UUID_TEXT]);
void uuid_plain(const uint8_t uuid[UUID_BYTES], char text[UUID_PLAIN]);

#endif
