/* Live rates: one sample a second, the last two minutes of them kept, told to the status page as
 * server-sent events. Event ids rise by one, so that a reader that comes back with Last-Event-ID
 * gets what it missed; and over a restart, as they begin behind the unix second of the first call
 * and rise no faster than the clock. Any thread. */
#ifndef IDMINT_RATES_H
#define IDMINT_RATES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "clock.h"
#include "metrics.h"

struct dispatch;

#define RATES_KEPT 120
#define RATES_EVENT_BYTES 512

/* What has been counted in all. */
struct rates_totals {
    uint64_t issued[METRICS_KINDS];
    uint64_t errors;
    uint64_t command_buckets[METRICS_BUCKETS], command_us;
    uint64_t commits, commit_us;
};

struct rates {
    pthread_mutex_t lock;
    uint64_t first_id, last_id;                 /* what is between is told; both 0: not begun */
    char events[RATES_KEPT][RATES_EVENT_BYTES]; /* by id modulo RATES_KEPT, as they are sent */
    uint16_t lengths[RATES_KEPT];
    /* At the last sample; of the thread that samples alone. */
    struct rates_totals before;
    int64_t before_ms;
    bool begun;
};

void rates_init(struct rates *rates);
void rates_finish(struct rates *rates);
/* Once a second, from the main thread. The first call only notes where counting begins. */
void rates_sample(struct rates *rates, const struct dispatch *dispatch, struct clock_now now);
/* Append the events after `*last_id` that are still kept, and move *last_id on. After an id that is
 * none of this start's: all that are kept. */
void rates_events(struct rates *rates, uint64_t *last_id, struct buffer *out);

#endif
