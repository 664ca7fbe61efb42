#include "name.h"

#include <stdbool.h>
#include <stdint.h>

#include "limit.h"
#include "utf8.h"

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
        size_t size = utf8_read_wide(name + i, len - i, &point);
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
