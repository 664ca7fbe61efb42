/* How the daemon is, for those that watch it: alive, ready, leading. JSON text, and yes or no.
 *
 * Readiness comes and goes by itself though no client asks for anything: while ids are issued the
 * high water is renewed several times a window, and where the store is shared the lease, or a look
 * at it, several times its length. How old the last answer is stands in the text. */
#ifndef IDMINT_HEALTH_H
#define IDMINT_HEALTH_H

#include <stdbool.h>

#include "buffer.h"
#include "clock.h"
#include "dispatch.h"

struct store_worker_stats;

enum health_store {
    HEALTH_STORE_ANSWERS,
    HEALTH_STORE_FAILS, /* its last commit failed */
    HEALTH_STORE_HANGS, /* a commit takes longer than a request may (limits.request) */
};
/* How old the last answer is. The worker's clock may be ahead of a loop's, read a turn ago. */
int64_t health_answer_age(const struct store_worker_stats *stats, struct clock_now now);
enum health_store health_store(const struct store_worker_stats *stats, struct clock_now now,
                               const struct config *config);

/* Any thread. The JSON is an object, appended; what each returns stands in it too. */
bool health_alive(const struct dispatch *dispatch, struct clock_now now, struct buffer *json);
/* The store answers. */
bool health_ready(const struct dispatch *dispatch, struct clock_now now, struct buffer *json);
/* This daemon issues ObjectIds. */
bool health_leads(const struct dispatch *dispatch, struct clock_now now, struct buffer *json);

#endif
