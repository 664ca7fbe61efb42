#include "uuid.h"

#define HIGH_MAX ((UINT64_C(1) << 12) - 1)
#define LOW_MAX ((UINT64_C(1) << 62) - 1)
#define SEED_BYTES 10
#define STEP_BYTES 4

static uint64_t read_big_endian(const uint8_t *bytes, size_t len)
{
    uint64_t value = 0;

    for (size_t i = 0; i < len; i++)
        value = value << 8 | bytes[i];
    return value;
}

static void write_big_endian(uint64_t value, uint8_t *bytes, size_t len)
{
    while (len-- > 0) {
        bytes[len] = (uint8_t)value;
        value >>= 8;
    }
}

static void begin_millisecond(struct uuid_source *source, uint64_t ms)
{
    uint8_t seed[SEED_BYTES];

    source->random(source->context, seed, sizeof(seed));
    source->last_ms = ms;
    source->high = read_big_endian(seed, 2) & HIGH_MAX;
    source->low = read_big_endian(seed + 2, 8) & LOW_MAX;
}

static void grow(struct uuid_source *source, uint64_t step)
{
    source->low += step;
    if (source->low <= LOW_MAX)
        return;
    source->low &= LOW_MAX;
    source->high++;
    if (source->high > HIGH_MAX)
        begin_millisecond(source, source->last_ms + 1);
}

void uuid_init(struct uuid_source *source, uuid_random *random, void *context)
{
    pthread_mutex_init(&source->lock, NULL);
    source->random = random;
    source->context = context;
    begin_millisecond(source, 0); /* for a clock that stands at 1970 */
}

void uuid_finish(struct uuid_source *source)
{
    pthread_mutex_destroy(&source->lock);
}

void uuid_take_v4(struct uuid_source *source, size_t count, uint8_t *out)
{
    source->random(source->context, out, count * UUID_BYTES);
    for (; count > 0; count--, out += UUID_BYTES) {
        out[6] = (uint8_t)(0x40 | (out[6] & 0x0f));
        out[8] = (uint8_t)(0x80 | (out[8] & 0x3f));
    }
}

void uuid_take_v7(struct uuid_source *source, int64_t real_ms, size_t count, uint8_t *out)
{
    /* One call for all steps of the batch, drawn into the end of the caller's own room: the UUIDs
     * written from its front reach a step only after it has been read. */
    const uint8_t *step = out + count * (UUID_BYTES - STEP_BYTES);

    source->random(source->context, out + count * (UUID_BYTES - STEP_BYTES), count * STEP_BYTES);
    pthread_mutex_lock(&source->lock);
    for (size_t i = 0; i < count; i++, step += STEP_BYTES, out += UUID_BYTES) {
        if (real_ms > (int64_t)source->last_ms)
            begin_millisecond(source, (uint64_t)real_ms);
        else
            grow(source, read_big_endian(step, STEP_BYTES) + 1);
        write_big_endian(source->last_ms, out, 6);
        write_big_endian(0x7000 | source->high, out + 6, 2);
        write_big_endian(UINT64_C(1) << 63 | source->low, out + 8, 8);
    }
    pthread_mutex_unlock(&source->lock);
}

static char *write_hex(const uint8_t *bytes, size_t len, char *text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 0x0f];
    }
    return text;
}

void uuid_text(const uint8_t uuid[UUID_BYTES], char text[UUID_TEXT])
{
    static const size_t ends[] = {4, 6, 8, 10, UUID_BYTES};
    size_t begin = 0;

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); begin = ends[i++]) {
        if (begin > 0)
            *text++ = '-';
        text = write_hex(uuid + begin, ends[i] - begin, text);
    }
}

void uuid_plain(const uint8_t uuid[UUID_BYTES], char text[UUID_PLAIN])
{
    write_hex(uuid, UUID_BYTES, text);
}
