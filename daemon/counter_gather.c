#include "counter_gather.h"

#include <time.h>

/* So much of a commit's time is waited at most. */
#define PATIENCE_PARTS 4
#define PATIENCE_MOST_US 20000

/* Takes that find reserved values do not come back to the store. */
static bool gathers(const struct counter_flush *flush)
{
    return flush->counters->settings.gather_clock_us != NULL && flush->counter->cache <= 1;
}

/* How long the next flush still waits; not positive: no more. What is left of a time long past is
 * short too, whatever it looks like modulo 2^32. */
static int64_t patience_left_us(const struct counter *counter, int64_t now_us)
{
    int32_t left_us = (int32_t)(counter->gather_us - (uint32_t)now_us);
    return left_us <= PATIENCE_MOST_US ? left_us : 0;
}

void counter_gather(struct counter_flush *flush)
{
    const struct counter *counter = flush->counter;
    while (gathers(flush) && flush->takes > 0 && flush->takes < counter->gather &&
           !counter->stopped && !flush->shard->closing) {
        int64_t now_us = flush->counters->settings.gather_clock_us();
        int64_t until_us = now_us + patience_left_us(counter, now_us);
        struct timespec until = {.tv_sec = until_us / 1000000,
                                 .tv_nsec = until_us % 1000000 * 1000};
        if (until_us <= now_us)
            break;
        pthread_cond_timedwait(&flush->shard->gathered, &flush->shard->lock, &until);
    }
}

void counter_gather_leave(struct counter_flush *flush)
{
    struct counter *counter = flush->counter;
    counter->gather =
        counter->gather > flush->takes ? (uint16_t)(counter->gather - flush->takes) : 0;
}

void counter_gather_sent(struct counter_flush *flush)
{
    if (gathers(flush))
        flush->sent_us = flush->counters->settings.gather_clock_us();
}

void counter_gather_more(struct counter_flush *flush, uint32_t takes)
{
    struct counter *counter = flush->counter;
    if (!gathers(flush) || flush->sent_us == 0) /* 0: its CACHE was changed meanwhile */
        return;
    int64_t now_us = flush->counters->settings.gather_clock_us();
    int64_t patience_us = (now_us - flush->sent_us) / PATIENCE_PARTS;
    if (patience_us > PATIENCE_MOST_US)
        patience_us = PATIENCE_MOST_US;
    uint64_t expected = takes;
    if (patience_left_us(counter, now_us) > 0) /* others are expected still */
        expected += counter->gather;
    else if (counter->open != NULL)
        expected += counter->open->takes;
    counter->gather = expected < UINT16_MAX ? (uint16_t)expected : UINT16_MAX;
    counter->gather_us = (uint32_t)(now_us + patience_us);
}
