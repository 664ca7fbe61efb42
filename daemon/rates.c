#include "rates.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dispatch.h"
#include "health.h"
#include "leader.h"
#include "oid.h"
#include "store_worker.h"

void rates_init(struct rates *rates)
{
    memset(rates, 0, sizeof *rates);
    pthread_mutex_init(&rates->lock, NULL);
}

void rates_finish(struct rates *rates)
{
    pthread_mutex_destroy(&rates->lock);
}

static void look_at_totals(const struct dispatch *dispatch, const struct store_worker_stats *store,
                           struct rates_totals *totals)
{
    struct metrics_loop sum;
    struct metrics_histogram commands;
    memset(totals, 0, sizeof *totals);
    metrics_add_up(dispatch, &sum);
    metrics_add_commands(&sum, &commands);
    for (size_t i = 0; i < METRICS_KINDS; i++)
        totals->issued[i] = sum.issued[i];
    for (size_t i = 0; i < ERROR_WORDS; i++)
        totals->errors += sum.errors[i];
    for (size_t i = 0; i < METRICS_BUCKETS; i++)
        totals->command_buckets[i] = commands.buckets[i];
    totals->command_us = commands.sum;
    totals->commits = metrics_histogram_count(&store->commit_us);
    totals->commit_us = store->commit_us.sum;
}

/* Field by field: what came in between two samples. */
static void subtract(struct rates_totals *totals, const struct rates_totals *before)
{
    for (size_t i = 0; i < METRICS_KINDS; i++)
        totals->issued[i] -= before->issued[i];
    for (size_t i = 0; i < METRICS_BUCKETS; i++)
        totals->command_buckets[i] -= before->command_buckets[i];
    totals->errors -= before->errors;
    totals->command_us -= before->command_us;
    totals->commits -= before->commits;
    totals->commit_us -= before->commit_us;
}

/* Rounded to the nearest. */
static uint64_t per_second(uint64_t count, int64_t elapsed_ms)
{
    return (count * 1000 + (uint64_t)elapsed_ms / 2) / (uint64_t)elapsed_ms;
}

static uint64_t mean(uint64_t sum, uint64_t count)
{
    return count > 0 ? (sum + count / 2) / count : 0;
}

/* The time that 99 in 100 commands did not take longer than, evenly spread within its bucket; what
 * lies past the last bound is told as that. */
static uint64_t p99_us(const uint64_t *buckets, uint64_t count)
{
    uint64_t rank = (count * 99 + 99) / 100, below = 0;
    for (size_t i = 0; i < METRICS_BUCKETS - 1 && count > 0; i++) {
        uint64_t from = i > 0 ? metrics_us_bounds[i - 1] : 0;
        if (below + buckets[i] >= rank)
            return from + (metrics_us_bounds[i] - from) * (rank - below) / buckets[i];
        below += buckets[i];
    }
    return count > 0 ? metrics_us_bounds[METRICS_BUCKETS - 2] : 0;
}

static void number_events(struct rates *rates, struct clock_now now)
{
    pthread_mutex_lock(&rates->lock);
    rates->first_id = rates->last_id = now.real_ms > 0 ? (uint64_t)now.real_ms / 1000 : 0;
    pthread_mutex_unlock(&rates->lock);
}

/* Around the data, and the data: 12 numbers and 2 booleans. */
#define EVENT_FORMAT "id: %" PRIu64 "\nevent: rates\ndata: %s\n\n"
#define DATA_FORMAT                                                                                \
    "{\"time\":%" PRId64 ",\"oids\":%" PRIu64 ",\"values\":%" PRIu64 ",\"uuids\":%" PRIu64         \
    ",\"commands\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"connections\":%" PRIu64                    \
    ",\"waiting\":%" PRIu64 ",\"latency_us\":%" PRIu64 ",\"p99_us\":%" PRIu64                      \
    ",\"flush_us\":%" PRIu64 ",\"leads\":%s,\"store\":%s,\"lead_ms\":%" PRId64 "}"

#define NUMBER_BYTES 20
#define DATA_BYTES (RATES_EVENT_BYTES - NUMBER_BYTES - sizeof EVENT_FORMAT)
_Static_assert(DATA_BYTES >= sizeof DATA_FORMAT + 12 * NUMBER_BYTES + 2 * sizeof "false",
               "every event fits");

static void store_event(struct rates *rates, const char *data)
{
    pthread_mutex_lock(&rates->lock);
    uint64_t id = ++rates->last_id;
    int len = snprintf(rates->events[id % RATES_KEPT], RATES_EVENT_BYTES, EVENT_FORMAT, id, data);
    rates->lengths[id % RATES_KEPT] = (uint16_t)len;
    pthread_mutex_unlock(&rates->lock);
}

static void tell(struct rates *rates, const struct dispatch *dispatch, struct clock_now now,
                 const struct store_worker_stats *store, const struct rates_totals *in)
{
    struct dispatch_server_state server;
    struct leader_state leader;
    struct oid_state oid;
    char data[DATA_BYTES];
    int64_t elapsed_ms = now.boot_ms - rates->before_ms;
    uint64_t commands = 0;
    for (size_t i = 0; i < METRICS_BUCKETS; i++)
        commands += in->command_buckets[i];
    dispatch->server.look(dispatch->server.context, &server);
    leader_look(dispatch->leader, now.boot_ms, &leader);
    oid_look(dispatch->oid, now, &oid);
    bool answers = health_store(store, now, dispatch->config) == HEALTH_STORE_ANSWERS;
    snprintf(data, sizeof data, DATA_FORMAT, now.real_ms / 1000,
             per_second(in->issued[METRICS_OID], elapsed_ms),
             per_second(in->issued[METRICS_COUNTER], elapsed_ms),
             per_second(in->issued[METRICS_UUID], elapsed_ms), per_second(commands, elapsed_ms),
             per_second(in->errors, elapsed_ms), server.connections, store->queued,
             mean(in->command_us, commands), p99_us(in->command_buckets, commands),
             mean(in->commit_us, in->commits), leader.leads ? "true" : "false",
             answers ? "true" : "false", oid.lead_ms > 0 ? oid.lead_ms : 0);
    store_event(rates, data);
}

void rates_sample(struct rates *rates, const struct dispatch *dispatch, struct clock_now now)
{
    struct store_worker_stats store;
    struct rates_totals totals;
    if (rates->begun && now.boot_ms <= rates->before_ms)
        return;
    store_worker_look(dispatch->worker, &store);
    look_at_totals(dispatch, &store, &totals);
    struct rates_totals in = totals;
    subtract(&in, &rates->before);
    if (rates->begun)
        tell(rates, dispatch, now, &store, &in);
    else
        number_events(rates, now);
    rates->begun = true;
    rates->before = totals;
    rates->before_ms = now.boot_ms;
}

void rates_events(struct rates *rates, uint64_t *last_id, struct buffer *out)
{
    pthread_mutex_lock(&rates->lock);
    uint64_t last = rates->last_id, from = rates->first_id;
    if (*last_id > from && *last_id <= last)
        from = *last_id;
    if (last - from > RATES_KEPT)
        from = last - RATES_KEPT;
    for (uint64_t id = from + 1; id <= last; id++)
        buffer_append(out, rates->events[id % RATES_KEPT], rates->lengths[id % RATES_KEPT]);
    *last_id = last;
    pthread_mutex_unlock(&rates->lock);
}
