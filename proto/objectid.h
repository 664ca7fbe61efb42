/* An ObjectId as bytes and as text. Twelve bytes: 4 bytes seconds since 1970 (unsigned, big
 * endian), 5 bytes random value, 3 bytes counter (big endian), as in the MongoDB ObjectId
 * specification. Seconds and counter together are the 56-bit tick by which idmint orders ids:
 * tick = seconds << 24 | counter. Pure functions; used by the daemon and by the client. */
#ifndef IDMINT_OBJECTID_H
#define IDMINT_OBJECTID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OBJECTID_BYTES 12
#define OBJECTID_RANDOM_BYTES 5
#define OBJECTID_HEX 24
#define OBJECTID_TICK_MAX ((UINT64_C(1) << 56) - 1)

struct objectid_parts {
    uint32_t seconds;
    uint8_t random[OBJECTID_RANDOM_BYTES];
    uint32_t counter;        /* 0 .. 2^24 - 1 */
    uint32_t legacy_machine; /* the legacy reading of the random value: 3 bytes machine */
    uint16_t legacy_pid;     /* and 2 bytes process id, big endian */
};

void objectid_build(uint64_t tick, const uint8_t random[OBJECTID_RANDOM_BYTES],
                    uint8_t id[OBJECTID_BYTES]);
void objectid_split(const uint8_t id[OBJECTID_BYTES], struct objectid_parts *parts);
uint64_t objectid_tick(const uint8_t id[OBJECTID_BYTES]);

/* Lower-case hex; no NUL. */
void objectid_hex(const uint8_t id[OBJECTID_BYTES], char hex[OBJECTID_HEX]);

/* `count` consecutive ids from `tick` on as hex, each written `stride` bytes (at least 24) after
 * the one before; the bytes between are left alone. tick + count - 1 <= OBJECTID_TICK_MAX. */
void objectid_hex_run(uint64_t tick, const uint8_t random[OBJECTID_RANDOM_BYTES], size_t count,
                      char *hex, size_t stride);

/* 24 hex digits, either case; false (and id untouched) for anything else. */
bool objectid_parse(const char *hex, size_t len, uint8_t id[OBJECTID_BYTES]);

/* "2012-10-17T21:13:27Z" and a NUL, for the whole range of uint32 (up to 2106). */
#define OBJECTID_TIME_TEXT 21
void objectid_time_text(uint32_t seconds, char text[OBJECTID_TIME_TEXT]);

/* Unix seconds without leading zeros, or an RFC 3339 time ("2012-10-17T21:13:27Z", an offset
 * instead of Z, a fraction that is cut off); false outside 0 .. 2^32 - 1 and for what is neither. A
 * second of 60 is read as the next minute's first. */
bool objectid_parse_time(const char *text, size_t len, uint32_t *seconds);

#endif
