/* Numbers as people write them in the configuration: bare ("4096"), durations ("1500ms", "10s",
 * "5m", "1h"), sizes ("512B", "4KiB", "1MiB", "2GiB"; powers of 1024) and octal modes ("0700").
 * A duration or size without a unit is refused, except 0. */
#ifndef IDMINT_QUANTITY_H
#define IDMINT_QUANTITY_H

#include <stddef.h>
#include <stdint.h>

enum quantity {
    QUANTITY_COUNT,    /* may be negative */
    QUANTITY_DURATION, /* in ms */
    QUANTITY_SIZE,     /* in bytes */
    QUANTITY_OCTAL,
};

#define QUANTITY_TEXT 32 /* bytes that hold any of them as text */

/* NULL and *value, or why not: static text that names the units there are. */
const char *quantity_parse(enum quantity kind, const char *text, int64_t *value);

/* The shortest text that parses to `value`: "1m", not "60s". */
void quantity_text(enum quantity kind, int64_t value, char text[QUANTITY_TEXT]);

#endif
