#include "counter_table.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 16

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
    shard->bytes -= counter_bytes(counter);
    counter_blocks_drop(counter);
    free(counter);
}

/* Second chance: the hand goes round the buckets, spares what was used since it last came by, and
 * stops at the first idle counter. Two rounds find one if there is one. */
static void evict(struct counter_shard *shard, uint64_t seed,
                  void (*evicted_cb)(void *context, const struct counter *counter), void *context)
{
    for (size_t looked = 0; looked < 2 * (shard->mask + 1); looked++) {
        struct counter *counter = shard->buckets[shard->hand++ & shard->mask];
        for (; counter != NULL; counter = counter->chain) {
            bool spared = counter->recent;
            counter->recent = false;
            if (spared || !counter_is_idle(counter))
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
    struct counter *counter = counter_find(shard, hash, name, len);
    if (counter == NULL) {
        if (shard->count >= shard->limit)
            evict(shard, seed, evicted_cb, context);
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

bool counter_blocks_add(struct counter *counter, int64_t first, int64_t last, int64_t until_ms)
{
    struct counter_block **link = &counter->blocks;
    struct counter_block *newest = NULL;
    for (; *link != NULL; link = &(*link)->newer)
        newest = *link;
    if (newest != NULL && newest->last == first - counter->step) {
        newest->last = last;
        /* The older part's time counts: it was asked for first. */
        return true;
    }
    struct counter_block *block = malloc(sizeof *block);
    if (block == NULL)
        return false;
    *block = (struct counter_block){.next = first, .last = last, .until_ms = until_ms};
    *link = block;
    return true;
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
