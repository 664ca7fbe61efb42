/* What is counted, and how it is told: Prometheus text format 0.0.4 and the rates of the status
 * page. Each thread that counts has a struct of its own, written by it alone (relaxed atomics) and
 * added up by whoever reads: counting costs no lock and no shared cache line. */
#ifndef IDMINT_METRICS_H
#define IDMINT_METRICS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "clock.h"
#include "commands.h"
#include "errors.h"

struct dispatch;

/* Upper bounds in metrics.c: microseconds of a request's time, ops of a flush. The last bucket is
 * +Inf. */
#define METRICS_BUCKETS 16

struct metrics_histogram {
    atomic_uint_least64_t buckets[METRICS_BUCKETS]; /* not cumulative */
    atomic_uint_least64_t sum;
};

enum metrics_kind { METRICS_OID, METRICS_COUNTER, METRICS_UUID, METRICS_KINDS };

/* Of one loop thread. Handlers of commands count what they issue and the errors they reply, through
 * their session's host; the connection counts the rest. */
struct metrics_loop {
    struct metrics_histogram command_us[COMMAND_IDS]; /* from read to reply written */
    atomic_uint_least64_t errors[ERROR_WORDS];        /* error replies by word */
    atomic_uint_least64_t http_requests[6];           /* by status / 100 */
    atomic_uint_least64_t issued[METRICS_KINDS];      /* ids and counter values */
};

/* By the owner of the struct alone. `times`: so many alike. */
void metrics_count(atomic_uint_least64_t *counter, uint64_t times);
/* The same for a thread of which nothing may be counted (NULL), as in tests. */
void metrics_issued(struct metrics_loop *loop, enum metrics_kind kind, uint64_t times);
void metrics_error(struct metrics_loop *loop, enum error_word word, uint64_t times);
/* One whole reply of the line protocol, at reply[0 .. len): counted if it is an error. */
void metrics_reply(struct metrics_loop *loop, const char *reply, size_t len);
uint64_t metrics_histogram_count(const struct metrics_histogram *histogram);
void metrics_observe(struct metrics_histogram *histogram, const uint64_t *bounds, uint64_t value,
                     uint64_t times);
extern const uint64_t metrics_us_bounds[METRICS_BUCKETS - 1];
extern const uint64_t metrics_ops_bounds[METRICS_BUCKETS - 1];

/* Any thread. What all loops have counted; and of that, the times of all commands. */
void metrics_add_up(const struct dispatch *dispatch, struct metrics_loop *sum);
void metrics_add_commands(const struct metrics_loop *loop, struct metrics_histogram *sum);

/* Any thread. The whole of /metrics; in metrics_write.c. */
void metrics_write(const struct dispatch *dispatch, struct clock_now now, struct buffer *out);

#endif
