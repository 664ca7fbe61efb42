/* Runs of ObjectIds as a server writes them in one array: the same head and tail around every 24
 * hex digits. This shape is decoded without the general parser, which is several times slower. */
#ifndef IDMINT_OID_RUN_H
#define IDMINT_OID_RUN_H

#include <stddef.h>

#include "idmint.h"

/* Decode whole elements "$24\r\n<24 hex>\r\n" or "+<24 hex>\r\n" at the start of text, at most
 * `max` of them; stops at the first that looks otherwise. Returns how many; *used: their bytes. */
size_t oid_run_decode(const char *text, size_t len, struct idmint_oid *ids, size_t max,
                      size_t *used);

#endif
