/* What a counter's name may be: 1 to 255 bytes of well-formed UTF-8 (RFC 3629: no surrogates, no
 * overlong forms), without control characters (C0, DEL, C1) and without spaces of any script
 * (Unicode White_Space), and neither "." nor "..". */
#ifndef IDMINT_NAME_H
#define IDMINT_NAME_H

#include <stddef.h>

/* NULL where the name is good, else why not: static text in English, fit for an ERR reply. */
const char *name_check(const char *name, size_t len);

#endif
