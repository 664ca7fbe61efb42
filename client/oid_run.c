#include "oid_run.h"

#include <stdbool.h>
#include <string.h>

#include "objectid.h"

#define BULK_HEAD "$24\r\n"
#define SIMPLE_HEAD "+"
#define BULK_HEAD_BYTES (sizeof(BULK_HEAD) - 1)
#define SIMPLE_HEAD_BYTES (sizeof(SIMPLE_HEAD) - 1)
#define TAIL_BYTES 2

/* With the head's length a constant at each call the compiler turns the comparisons into loads. */
static inline __attribute__((always_inline)) size_t run(const char *text, size_t len,
                                                        const char *head, size_t head_bytes,
                                                        struct idmint_oid *ids, size_t max)
{
    const size_t stride = head_bytes + OBJECTID_HEX + TAIL_BYTES;
    size_t count = 0;

    if (max > len / stride) {
        max = len / stride;
    }
    while (count < max) {
        const char *hex = text + head_bytes;

        if (memcmp(text, head, head_bytes) != 0 ||
            memcmp(hex + OBJECTID_HEX, "\r\n", TAIL_BYTES) != 0 ||
            !objectid_parse(hex, OBJECTID_HEX, ids[count].bytes)) {
            break;
        }
        count++;
        text += stride;
    }
    return count;
}

size_t oid_run_decode(const char *text, size_t len, struct idmint_oid *ids, size_t max,
                      size_t *used)
{
    size_t count = 0;

    if (len > 0 && text[0] == '$') {
        count = run(text, len, BULK_HEAD, BULK_HEAD_BYTES, ids, max);
        *used = count * (BULK_HEAD_BYTES + OBJECTID_HEX + TAIL_BYTES);
    } else {
        count = run(text, len, SIMPLE_HEAD, SIMPLE_HEAD_BYTES, ids, max);
        *used = count * (SIMPLE_HEAD_BYTES + OBJECTID_HEX + TAIL_BYTES);
    }
    return count;
}
