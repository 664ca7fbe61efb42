#include "name.h"

#include <stdbool.h>
#include <stdint.h>

#include "limit.h"

/* Read one character of more than one byte at bytes[0..len). Returns how many bytes it has, or 0
 * where it is not well-formed (Unicode 15, table 3-7). */
static size_t read_wide(const uint8_t *bytes, size_t len, uint32_t *point)
{
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

/* C1 controls and the spaces beyond ASCII. */
static bool is_control_or_space(uint32_t point)
{
    return (point >= 0x80 && point <= 0xA0) || point == 0x1680 ||
           (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
           point == 0x202F || point == 0x205F || point == 0x3000;
}

const char *name_check(const char *name, size_t len)
{
    static const char unfit[] = "a name must not contain spaces or control characters";
    const uint8_t *bytes = (const uint8_t *)name;
    if (len == 0)
        return "a name must not be empty";
    if (len > LIMIT_NAME_BYTES)
        return "a name has at most 255 bytes";
    for (size_t i = 0; i < len;) {
        if (bytes[i] > 0x20 && bytes[i] < 0x7F) {
            i++;
            continue;
        }
        if (bytes[i] < 0x80)
            return unfit;
        uint32_t point;
        size_t size = read_wide(bytes + i, len - i, &point);
        if (size == 0)
            return "a name must be valid UTF-8";
        if (is_control_or_space(point))
            return unfit;
        i += size;
    }
    if (bytes[0] == '.' && (len == 1 || (len == 2 && bytes[1] == '.')))
        return "a name must not be \".\" or \"..\"";
    return NULL;
}
