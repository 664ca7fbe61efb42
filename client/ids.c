/* What needs no server: ObjectIds taken apart and put together. */
#include <string.h>

#include "idmint.h"
#include "objectid.h"

_Static_assert(IDMINT_OID_BYTES == OBJECTID_BYTES, "one size of ObjectId");
_Static_assert(IDMINT_TIME_TEXT == OBJECTID_TIME_TEXT, "one size of time");

int idmint_oid_expand(const struct idmint_oid *first, uint64_t skip, size_t count,
                      struct idmint_oid *ids)
{
    uint8_t random[OBJECTID_RANDOM_BYTES];
    uint64_t tick;

    if (!first || (!ids && count > 0)) {
        return IDMINT_ARGUMENT;
    }
    tick = objectid_tick(first->bytes);
    if (skip > OBJECTID_TICK_MAX - tick ||
        (count > 0 && count - 1 > OBJECTID_TICK_MAX - tick - skip)) {
        return IDMINT_ARGUMENT;
    }
    /* first may lie within ids. */
    memcpy(random, first->bytes + 4, sizeof(random));
    tick += skip;
    for (size_t i = 0; i < count; i++) {
        objectid_build(tick + i, random, ids[i].bytes);
    }
    return IDMINT_OK;
}

void idmint_oid_decode(const struct idmint_oid *id, struct idmint_oid_parts *parts)
{
    struct objectid_parts split;

    objectid_split(id->bytes, &split);
    parts->seconds = split.seconds;
    memcpy(parts->random, split.random, sizeof(parts->random));
    parts->counter = split.counter;
    parts->legacy_machine = split.legacy_machine;
    parts->legacy_pid = split.legacy_pid;
}

void idmint_oid_at(uint32_t seconds, struct idmint_oid *id)
{
    const uint8_t random[OBJECTID_RANDOM_BYTES] = {0};

    objectid_build((uint64_t)seconds << 24, random, id->bytes);
}

void idmint_oid_text(const struct idmint_oid *id, char text[IDMINT_OID_TEXT])
{
    objectid_hex(id->bytes, text);
    text[OBJECTID_HEX] = '\0';
}

int idmint_oid_parse(const char *text, struct idmint_oid *id)
{
    if (!text || !id || !objectid_parse(text, strlen(text), id->bytes)) {
        return IDMINT_ARGUMENT;
    }
    return IDMINT_OK;
}

void idmint_time_text(uint32_t seconds, char text[IDMINT_TIME_TEXT])
{
    objectid_time_text(seconds, text);
}

int idmint_time_parse(const char *text, uint32_t *seconds)
{
    if (!text || !seconds || !objectid_parse_time(text, strlen(text), seconds)) {
        return IDMINT_ARGUMENT;
    }
    return IDMINT_OK;
}

void idmint_uuid_text(const struct idmint_uuid *uuid, char text[IDMINT_UUID_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;

    for (size_t i = 0; i < IDMINT_UUID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            text[at++] = '-';
        }
        text[at++] = digits[uuid->bytes[i] >> 4];
        text[at++] = digits[uuid->bytes[i] & 15];
    }
    text[at] = '\0';
}
