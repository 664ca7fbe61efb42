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

void counter_gather(struct counter_flush *flush)
{
    const struct counter *counter = flush->counter;
    if (!gathers(flush))
        return;
    while (flush->takes < counter->gather && !flush->shard->closing &&
           flush->counters->settings.gather_clock_us() < counter->gather_until_us) {
        struct timespec until = {.tv_sec = counter->gather_until_us / 1000000,
                                 .tv_nsec = counter->gather_until_us % 1000000 * 1000};
        pthread_cond_timedwait(&flush->shard->gathered, &flush->shard->lock, &until);
    }
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
    if (now_us >= counter->gather_until_us) /* else others are expected still */
        counter->gather = counter->open != NULL ? counter->open->takes : 0;
    counter->gather += takes;
    counter->gather_until_us = now_us + patience_us;
}
