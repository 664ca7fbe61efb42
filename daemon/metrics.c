#include "metrics.h"

#include <string.h>

#include "dispatch.h"

/* --- Counting --- */

const uint64_t metrics_us_bounds[METRICS_BUCKETS - 1] = {50,     100,    250,    500,     1000,
                                                         2500,   5000,   10000,  25000,   50000,
                                                         100000, 250000, 500000, 1000000, 2500000};
const uint64_t metrics_ops_bounds[METRICS_BUCKETS - 1] = {
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000};

static uint64_t peek(const atomic_uint_least64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* No read-modify-write: nobody else writes. */
void metrics_count(atomic_uint_least64_t *counter, uint64_t times)
{
    atomic_store_explicit(counter, peek(counter) + times, memory_order_relaxed);
}

void metrics_observe(struct metrics_histogram *histogram, const uint64_t *bounds, uint64_t value,
                     uint64_t times)
{
    size_t bucket = 0;
    while (bucket < METRICS_BUCKETS - 1 && value > bounds[bucket])
        bucket++;
    metrics_count(&histogram->buckets[bucket], times);
    metrics_count(&histogram->sum, value * times);
}

uint64_t metrics_histogram_count(const struct metrics_histogram *histogram)
{
    uint64_t count = 0;
    for (size_t i = 0; i < METRICS_BUCKETS; i++)
        count += peek(&histogram->buckets[i]);
    return count;
}

void metrics_issued(struct metrics_loop *loop, enum metrics_kind kind, uint64_t times)
{
    if (loop != NULL)
        metrics_count(&loop->issued[kind], times);
}

void metrics_error(struct metrics_loop *loop, enum error_word word, uint64_t times)
{
    if (loop != NULL)
        metrics_count(&loop->errors[word], times);
}

void metrics_reply(struct metrics_loop *loop, const char *reply, size_t len)
{
    if (len == 0 || reply[0] != '-')
        return;
    for (int word = 0; word < ERROR_WORDS; word++) {
        const char *text = error_word_text((enum error_word)word);
        size_t text_len = strlen(text);
        if (len > text_len + 1 && memcmp(reply + 1, text, text_len) == 0 &&
            (reply[1 + text_len] == ' ' || reply[1 + text_len] == '\r'))
            metrics_error(loop, (enum error_word)word, 1);
    }
}

/* --- Adding up --- */

static void add_histogram(struct metrics_histogram *sum, const struct metrics_histogram *part)
{
    for (size_t i = 0; i < METRICS_BUCKETS; i++)
        metrics_count(&sum->buckets[i], peek(&part->buckets[i]));
    metrics_count(&sum->sum, peek(&part->sum));
}

static void add_all(atomic_uint_least64_t *sums, const atomic_uint_least64_t *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        metrics_count(&sums[i], peek(&parts[i]));
}

void metrics_add_up(const struct dispatch *dispatch, struct metrics_loop *sum)
{
    const struct dispatch_server *server = &dispatch->server;
    const struct metrics_loop *loop;
    memset(sum, 0, sizeof *sum);
    for (unsigned i = 0; (loop = server->metrics(server->context, i)) != NULL; i++) {
        for (size_t id = 0; id < COMMAND_IDS; id++)
            add_histogram(&sum->command_us[id], &loop->command_us[id]);
        add_all(sum->errors, loop->errors, ERROR_WORDS);
        add_all(sum->http_requests, loop->http_requests,
                sizeof sum->http_requests / sizeof sum->http_requests[0]);
        add_all(sum->issued, loop->issued, METRICS_KINDS);
    }
}

void metrics_add_commands(const struct metrics_loop *loop, struct metrics_histogram *sum)
{
    memset(sum, 0, sizeof *sum);
    for (size_t id = 0; id < COMMAND_IDS; id++)
        add_histogram(sum, &loop->command_us[id]);
}
