#include "quantity.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct unit {
    const char *name;
    int64_t factor;
};

/* From small to large, since quantity_text takes the last that divides. */
static const struct unit durations[] = {
    {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {NULL, 0}};
static const struct unit sizes[] = {
    {"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {NULL, 0}};

static const struct unit *units_of(enum quantity kind)
{
    return kind == QUANTITY_DURATION ? durations : kind == QUANTITY_SIZE ? sizes : NULL;
}

/* Read digits at *text and move it past them. */
static const char *read_digits(const char **text, unsigned base, bool negative, int64_t *value)
{
    const char *at = *text;
    int64_t sum = 0;
    for (; *at >= '0' && *at < (char)('0' + base); at++) {
        int digit = *at - '0';
        if (__builtin_mul_overflow(sum, (int64_t)base, &sum) ||
            __builtin_sub_overflow(sum, digit, &sum))
            return "the number is too large";
    }
    if (at == *text)
        return base == 8 ? "not an octal number" : "not a whole number";
    /* Summed up below zero, where the least int64 has its place. */
    if (!negative && __builtin_sub_overflow(0, sum, &sum))
        return "the number is too large";
    *text = at;
    *value = sum;
    return NULL;
}

const char *quantity_parse(enum quantity kind, const char *text, int64_t *value)
{
    const struct unit *unit = units_of(kind);
    const char *bad_unit = kind == QUANTITY_DURATION ? "bad unit: there are ms, s, m and h"
                                                     : "bad unit: there are B, KiB, MiB and GiB";
    bool negative = kind == QUANTITY_COUNT && *text == '-';
    text += negative;

    int64_t number;
    const char *why = read_digits(&text, kind == QUANTITY_OCTAL ? 8 : 10, negative, &number);
    if (why)
        return why;
    if (unit && (*text != '\0' || number != 0)) {
        while (unit->name && strcmp(unit->name, text) != 0)
            unit++;
        if (!unit->name)
            return bad_unit;
        if (__builtin_mul_overflow(number, unit->factor, &number))
            return "the number is too large";
    } else if (*text != '\0') {
        return kind == QUANTITY_OCTAL ? "not an octal number" : "not a whole number";
    }
    *value = number;
    return NULL;
}

void quantity_text(enum quantity kind, int64_t value, char text[QUANTITY_TEXT])
{
    const struct unit *unit = units_of(kind);
    if (kind == QUANTITY_OCTAL) {
        snprintf(text, QUANTITY_TEXT, "%#" PRIo64, (uint64_t)value);
    } else if (!unit || value == 0) {
        snprintf(text, QUANTITY_TEXT, "%" PRId64, value);
    } else {
        while (unit[1].name && value % unit[1].factor == 0)
            unit++;
        snprintf(text, QUANTITY_TEXT, "%" PRId64 "%s", value / unit->factor, unit->name);
    }
}
