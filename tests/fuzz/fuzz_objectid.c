/* ObjectIds and times as text: what is read is written back the same. */
#include <ctype.h>
#include <stdint.h>

#include "fuzz_check.h"
#include "objectid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_id(const uint8_t id[OBJECTID_BYTES])
{
    struct objectid_parts parts;
    uint8_t again[OBJECTID_BYTES];
    char hex[OBJECTID_HEX], run[2 * OBJECTID_HEX];
    uint64_t tick = objectid_tick(id);
    objectid_split(id, &parts);
    FUZZ_CHECK(tick == ((uint64_t)parts.seconds << 24 | parts.counter));
    FUZZ_CHECK((parts.legacy_machine >> 16) == parts.random[0]);
    FUZZ_CHECK((parts.legacy_pid & 0xff) == parts.random[4]);
    objectid_build(tick, parts.random, again);
    FUZZ_CHECK(memcmp(again, id, OBJECTID_BYTES) == 0);

    objectid_hex(id, hex);
    memset(again, 0, sizeof again);
    FUZZ_CHECK(objectid_parse(hex, OBJECTID_HEX, again));
    FUZZ_CHECK(memcmp(again, id, OBJECTID_BYTES) == 0);

    size_t count = tick < OBJECTID_TICK_MAX ? 2 : 1;
    objectid_hex_run(tick, parts.random, count, run, OBJECTID_HEX);
    FUZZ_CHECK(memcmp(run, hex, OBJECTID_HEX) == 0);
    FUZZ_CHECK(objectid_parse(run + (count - 1) * OBJECTID_HEX, OBJECTID_HEX, again));
    FUZZ_CHECK(objectid_tick(again) == tick + count - 1);
    FUZZ_CHECK(memcmp(again + 4, parts.random, OBJECTID_RANDOM_BYTES) == 0);
}

static void check_hex(const char *text, size_t len)
{
    uint8_t id[OBJECTID_BYTES];
    char hex[OBJECTID_HEX];
    if (!objectid_parse(text, len, id)) {
        return;
    }
    FUZZ_CHECK(len == OBJECTID_HEX);
    objectid_hex(id, hex);
    for (size_t i = 0; i < OBJECTID_HEX; i++) {
        FUZZ_CHECK(hex[i] == tolower((unsigned char)text[i]));
    }
    check_id(id);
}

static void check_time(const char *text, size_t len)
{
    uint32_t seconds, again;
    char written[OBJECTID_TIME_TEXT];
    if (!objectid_parse_time(text, len, &seconds)) {
        return;
    }
    objectid_time_text(seconds, written);
    FUZZ_CHECK(strlen(written) == OBJECTID_TIME_TEXT - 1);
    FUZZ_CHECK(objectid_parse_time(written, OBJECTID_TIME_TEXT - 1, &again) && again == seconds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size);
    check_hex(text, size);
    check_time(text, size);
    if (size >= OBJECTID_BYTES) {
        check_id(data);
    }
    free(text);
    return 0;
}
