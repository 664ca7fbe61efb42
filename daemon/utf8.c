#include "utf8.h"

#include <stdbool.h>

/* By Unicode 15, table 3-7. */
size_t utf8_read_wide(const char *text, size_t len, uint32_t *point)
{
    const uint8_t *bytes = (const uint8_t *)text;
    uint8_t lead = bytes[0];
    size_t size = lead >= 0xC2 && lead <= 0xDF   ? 2
                  : lead >= 0xE0 && lead <= 0xEF ? 3
                  : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                 : 0;
    if (size == 0 || size > len)
        return 0;
    uint32_t value = lead & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xC0) != 0x80)
            return 0;
        value = value << 6 | (bytes[i] & 0x3F);
    }
    bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
    bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (overlong || surrogate || value > 0x10FFFF)
        return 0;
    *point = value;
    return size;
}
