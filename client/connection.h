/* A handle's connection: a state machine that never waits. */
#ifndef IDMINT_CONNECTION_H
#define IDMINT_CONNECTION_H

#include <stdbool.h>

#include "handle.h"

/* Go on as far as goes at once with one thing: connect, greet, write or read. False: nothing can be
 * done before connection_events happen on the descriptor, or connection_deadline_ms. */
bool connection_step(struct idmint *handle);

/* POLLIN, POLLOUT. */
short connection_events(const struct idmint *handle);

/* Close the descriptor, without a word to the server. Replies in `in` stay; requests whose last
 * byte was sent are settled by request_receive. `drop` forgets the replies as well. `why` is for
 * them. */
void connection_close(struct idmint *handle, bool drop, const char *why);

/* Forget the first `bytes` of `out` from out_start on. */
void connection_drop_output(struct idmint *handle, size_t bytes);

/* Right before a request is queued on a handle with nothing outstanding: close the connection if
 * the server has hung up since, or sent what nobody asked for. Then nothing of the request can get
 * lost on a connection that was dead before. */
void connection_refresh(struct idmint *handle);

#endif
