#include "counter_table.h"

#include <stdlib.h>
#include <string.h>

#include "limit.h"

#define FIRST_BUCKETS 16
#define EVICT_PATIENCE 64 /* busy counters looked at in one search */

int counter_shard_init(struct counter_shard *shard, size_t limit)
{
    memset(shard, 0, sizeof *shard);
    shard->buckets = calloc(FIRST_BUCKETS, sizeof(struct counter *));
    if (shard->buckets == NULL)
        return -1;
    shard->mask = FIRST_BUCKETS - 1;
    shard->limit = limit;
    shard->bytes = FIRST_BUCKETS * sizeof(struct counter *);
    pthread_mutex_init(&shard->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&shard->gathered, &clock);
    pthread_condattr_destroy(&clock);
    return 0;
}

void counter_shard_finish(struct counter_shard *shard)
{
    if (shard->buckets == NULL)
        return;
    for (size_t i = 0; i <= shard->mask; i++) {
        struct counter *next;
        for (struct counter *counter = shard->buckets[i]; counter != NULL; counter = next) {
            next = counter->chain;
            counter_blocks_drop(counter);
            free(counter);
        }
    }
    free(shard->buckets);
    pthread_cond_destroy(&shard->gathered);
    pthread_mutex_destroy(&shard->lock);
}

/* The seed is random, so clients can not choose names that meet in one bucket. */
uint64_t counter_hash(uint64_t seed, const char *name, size_t len)
{
    uint64_t hash = seed ^ (len * UINT64_C(0x9e3779b97f4a7c15));
    while (len > 0) {
        uint64_t word = 0;
        size_t part = len < 8 ? len : 8;
        memcpy(&word, name, part);
        __extension__ unsigned __int128 product =
            (unsigned __int128)(hash ^ word) * UINT64_C(0xd6e8feb86659fd93);
        hash = (uint64_t)product ^ (uint64_t)(product >> 64) ^ seed;
        name += part;
        len -= part;
    }
    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return hash ^ (hash >> 29);
}

struct counter *counter_find(struct counter_shard *shard, uint64_t hash, const char *name,
                             size_t len)
{
    struct counter *counter = shard->buckets[hash & shard->mask];
    while (counter != NULL && !(counter->name_len == len && memcmp(counter->name, name, len) == 0))
        counter = counter->chain;
    return counter;
}

static size_t counter_bytes(const struct counter *counter)
{
    return sizeof *counter + counter->name_len;
}

/* More buckets as the shard fills; where there is no memory for them the chains grow instead. */
static void grow(struct counter_shard *shard, uint64_t seed)
{
    size_t wider = (shard->mask + 1) * 2;
    struct counter **buckets = calloc(wider, sizeof(struct counter *));
    if (buckets == NULL)
        return;
    for (size_t i = 0; i <= shard->mask; i++) {
        struct counter *next;
        for (struct counter *counter = shard->buckets[i]; counter != NULL; counter = next) {
            next = counter->chain;
            size_t at = counter_hash(seed, counter->name, counter->name_len) & (wider - 1);
            counter->chain = buckets[at];
            buckets[at] = counter;
        }
    }
    free(shard->buckets);
    shard->bytes += (wider - shard->mask - 1) * sizeof(struct counter *);
    shard->buckets = buckets;
    shard->mask = wider - 1;
}

bool counter_is_idle(const struct counter *counter)
{
    return counter->open == NULL && counter->flights == 0 && !counter->stopped;
}

void counter_remove(struct counter_shard *shard, uint64_t seed, struct counter *counter)
{
    uint64_t hash = counter_hash(seed, counter->name, counter->name_len);
    struct counter **link = &shard->buckets[hash & shard->mask];
    while (*link != counter)
        link = &(*link)->chain;
    *link = counter->chain;
    shard->count--;
    counter_set_headroom(shard, counter, -1);
    shard->bytes -= counter_bytes(counter);
    counter_blocks_drop(counter);
    free(counter);
}

/* Second chance: the hand goes round the buckets, spares what was used since it last came by, and
 * stops at the first idle counter. Two rounds find one if there is one; it gives up early where
 * most wait for a store that is away, so that new names do not pay for looking at them all. */
static void evict(struct counter_shard *shard, uint64_t seed,
                  void (*evicted_cb)(void *context, const struct counter *counter), void *context)
{
    unsigned patience = EVICT_PATIENCE;
    for (size_t looked = 0; looked < 2 * (shard->mask + 1) && patience > 0; looked++) {
        struct counter *counter = shard->buckets[shard->hand++ & shard->mask];
        for (; counter != NULL; counter = counter->chain) {
            bool spared = counter->recent;
            bool idle = counter_is_idle(counter);
            counter->recent = false;
            patience -= !idle && patience > 0;
            if (spared || !idle)
                continue;
            if (counter->blocks != NULL)
                evicted_cb(context, counter);
            counter_remove(shard, seed, counter);
            return;
        }
    }
}

struct counter *counter_obtain(struct counter_shard *shard, uint64_t seed, uint64_t hash,
                               const char *name, size_t len,
                               void (*evicted_cb)(void *context, const struct counter *counter),
                               void *context)
{
    /* It grew past its limit while its counters were busy; a call shrinks it by more than it adds.
     */
    for (int i = 0; i < 2 && shard->count > shard->limit; i++)
        evict(shard, seed, evicted_cb, context);
    struct counter *counter = counter_find(shard, hash, name, len);
    if (counter == NULL) {
        if (shard->count >= shard->limit)
            evict(shard, seed, evicted_cb, context);
        if (shard->count >= shard->limit + LIMIT_WAITING_COUNTERS / COUNTER_SHARDS)
            return NULL;
        if (shard->count > shard->mask)
            grow(shard, seed);
        counter = calloc(1, sizeof *counter + len);
        if (counter == NULL)
            return NULL;
        counter->name_len = (uint8_t)len;
        memcpy(counter->name, name, len);
        counter->floor = INT64_MIN;
        counter->chain = shard->buckets[hash & shard->mask];
        shard->buckets[hash & shard->mask] = counter;
        shard->count++;
        shard->bytes += counter_bytes(counter);
    }
    counter->recent = true;
    return counter;
}

/* --- Headroom --- */

void counter_set_headroom(struct counter_shard *shard, struct counter *counter, int percent)
{
    shard->headrooms[counter->headroom] -= counter->headroom != 0;
    counter->headroom = (uint8_t)(percent + 1);
    shard->headrooms[counter->headroom] += counter->headroom != 0;
}

int counter_least_headroom(const struct counter_shard *shard)
{
    int percent = 0;
    while (percent < 100 && shard->headrooms[percent + 1] == 0)
        percent++;
    return percent;
}

/* --- Values --- */

void counter_learn(struct counter_shard *shard, struct counter *counter,
                   const struct store_counter *stored, bool ours)
{
    counter_set_headroom(shard, counter, store_counter_headroom(stored));
    if (!counter->loaded || counter->generation != stored->generation) {
        counter_blocks_drop(counter);
        counter->floor = INT64_MIN;
    }
    /* What others have reserved they may give back: it makes no floor. */
    if (ours && stored->value > counter->floor)
        counter->floor = stored->value;
    counter->step = stored->step;
    counter->cache = (uint32_t)stored->cache;
    counter->generation = stored->generation;
    counter->full = false;
    counter->loaded = true;
}

int64_t counter_block_left(const struct counter *counter, const struct counter_block *block)
{
    /* Unsigned: a block may reach across zero. */
    uint64_t span = (uint64_t)block->last - (uint64_t)block->next;
    return (int64_t)(span / (uint64_t)counter->step) + 1;
}

struct counter_block *counter_block_newest(const struct counter *counter)
{
    struct counter_block *block = counter->blocks;
    while (block != NULL && block->newer != NULL)
        block = block->newer;
    return block;
}

bool counter_blocks_add(struct counter *counter, int64_t first, int64_t last, int64_t until_ms)
{
    struct counter_block *newest = counter_block_newest(counter);
    if (newest != NULL && newest->last == first - counter->step) {
        newest->last = last;
        /* That nothing came between proves that the older part was good as late as the newer. */
        newest->until_ms = until_ms;
        return true;
    }
    struct counter_block *block = malloc(sizeof *block);
    if (block == NULL)
        return false;
    *block = (struct counter_block){.next = first, .last = last, .until_ms = until_ms};
    if (newest != NULL)
        newest->newer = block;
    else
        counter->blocks = block;
    return true;
}

void counter_blocks_use(struct counter *counter, int64_t count)
{
    struct counter_block *block = counter->blocks;
    /* What lies past the last value may lie past int64's end: the block goes with its last. */
    if (count >= counter_block_left(counter, block))
        counter_blocks_drop_oldest(counter);
    else /* unsigned: the way may be longer than an int64, its end is not */
        block->next = (int64_t)((uint64_t)block->next + (uint64_t)count * (uint64_t)counter->step);
}

void counter_blocks_drop_oldest(struct counter *counter)
{
    struct counter_block *block = counter->blocks;
    counter->blocks = block->newer;
    free(block);
}

void counter_blocks_drop(struct counter *counter)
{
    while (counter->blocks != NULL)
        counter_blocks_drop_oldest(counter);
}

void counter_blocks_expire(struct counter *counter, int64_t boot_ms)
{
    while (counter->blocks != NULL && boot_ms >= counter->blocks->until_ms)
        counter_blocks_drop_oldest(counter);
}
