/* The queue of a handle's requests, from submission to result. */
#ifndef IDMINT_REQUEST_H
#define IDMINT_REQUEST_H

#include "handle.h"
#include "resp.h"

/* Queue a request that looks like *model (bytes, in_array and got are set here). IDMINT_OK,
 * IDMINT_NOT_DONE (too many), IDMINT_ARGUMENT (past limit.h) or IDMINT_NO_MEMORY; handle->last is
 * set. */
int request_submit(struct idmint *handle, const struct request *model, const struct resp_arg *args,
                   size_t argc) __attribute__((warn_unused_result));

/* The oldest request's result, if it has one now; handle->last tells of it. */
bool request_receive(struct idmint *handle, struct idmint_result *result);

/* Wait for the oldest request's result; its deadline bounds that. Returns its outcome. */
int request_wait(struct idmint *handle, struct idmint_result *result);

/* Milliseconds until something is due; -1: nothing is. */
int request_wait_ms(const struct idmint *handle);

/* Forget all requests and close the connection. */
void request_forget(struct idmint *handle);

#endif
