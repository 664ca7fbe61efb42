/* Well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms). */
#ifndef IDMINT_UTF8_H
#define IDMINT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Read one character of more than one byte at text[0 .. len), len >= 1. Returns how many bytes it
 * has, or 0 where it is not well-formed. */
size_t utf8_read_wide(const char *text, size_t len, uint32_t *point);

#endif
