/* Replies: from the bytes in a handle's `in` to results. All return enum resp_status; RESP_BAD
 * means that the stream makes no sense from here on. */
#ifndef IDMINT_REPLY_H
#define IDMINT_REPLY_H

#include "handle.h"

/* Take the whole reply to `request` from `in`: result->outcome and what belongs to its kind; where
 * that is an error, handle->last. Ids of an array are taken as they arrive (request->got). */
int reply_take(struct idmint *handle, struct request *request, struct idmint_result *result)
    __attribute__((warn_unused_result));

/* Take a whole reply and look only whether it is an error: *failure gets outcome and text. */
int reply_skip(struct idmint *handle, struct failure *failure) __attribute__((warn_unused_result));

/* Forget how far the present reply was scanned. */
void reply_reset(struct idmint *handle);

/* Digits as the server writes an int64. False: they are none. */
bool reply_integer(const struct idmint_value *value, int64_t *integer);

bool reply_oid(const struct idmint_value *value, struct idmint_oid *id);

#endif
