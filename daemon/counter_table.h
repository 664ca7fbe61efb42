/* The counters held in memory: a hash table in shards, and each counter's blocks of reserved
 * values. For counter.c alone, which holds the shard's lock in every call here but create and
 * destroy. */
#ifndef IDMINT_COUNTER_TABLE_H
#define IDMINT_COUNTER_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store.h"

#define COUNTER_SHARDS 64

/* Reserved values not yet issued: next, next + step, .., last. */
struct counter_block {
    struct counter_block *newer;
    int64_t next;
    int64_t last;
    int64_t until_ms; /* BOOTTIME from which it may not be used; INT64_MAX: for ever */
};

/* Kept small: a million of them may be held. */
struct counter {
    struct counter *chain;
    struct counter_flush *open;   /* takes that wait for a commit which is not closed yet */
    struct counter_block *blocks; /* oldest first */
    int64_t floor;                /* the greatest value known to be issued or reserved here */
    int64_t step;
    int64_t generation;
    uint32_t waiting; /* takes in the open flush and in those under way */
    uint32_t cache;
    union {
        uint32_t reserved_s; /* cache > 1: when values were last reserved, in s of BOOTTIME */
        uint32_t gather_us;  /* else: until when the next flush gathers, in us, modulo 2^32 */
    };
    uint32_t orders;   /* orders done that changed it, or may have */
    uint16_t gather;   /* the takes that the next flush waits for */
    uint8_t flights;   /* flushes under way */
    bool loaded : 1;   /* step, generation and cache are known, and floor as far as it goes */
    bool stopped : 1;  /* the store's value went back */
    bool recent : 1;   /* used since the eviction hand last passed */
    bool full : 1;     /* nothing is left below MAX: no prefetch */
    bool near_max : 1; /* past 90 % of MAX was told */
    uint8_t headroom;  /* percent left below MAX, plus one; 0: not known */
    uint8_t ahead;     /* CACHE values are reserved 2^ahead times over */
    uint8_t name_len;
    char name[];
};

struct counter_shard {
    _Alignas(64) pthread_mutex_t lock;
    pthread_cond_t gathered; /* an open flush has all the takes it waits for */
    struct counter **buckets;
    size_t mask; /* number of buckets - 1 */
    size_t count;
    size_t limit; /* counters held at most, as far as idle ones can be dropped */
    size_t hand;  /* the bucket where the next eviction looks */
    bool closing; /* blocks are being given back: no prefetch any more */
    uint64_t bytes;
    uint64_t from_block, from_store, flushes;
    uint32_t headrooms[102]; /* how many counters have each; index: as counter.headroom */
};

int counter_shard_init(struct counter_shard *shard, size_t limit)
    __attribute__((warn_unused_result));
void counter_shard_finish(struct counter_shard *shard);

uint64_t counter_hash(uint64_t seed, const char *name, size_t len);
static inline struct counter_shard *counter_shard_of(struct counter_shard *shards, uint64_t hash)
{
    return &shards[hash >> 58];
}

/* NULL where it is not held. */
struct counter *counter_find(struct counter_shard *shard, uint64_t hash, const char *name,
                             size_t len);
/* Adds it where it is not held; where the shard is full idle ones make room, each handed to
 * evicted_cb first, if it has blocks to give back. NULL: too many wait for the store, or no memory.
 */
struct counter *counter_obtain(struct counter_shard *shard, uint64_t seed, uint64_t hash,
                               const char *name, size_t len,
                               void (*evicted_cb)(void *context, const struct counter *counter),
                               void *context);
/* Nothing of it is under way or worth keeping: it may be forgotten. */
bool counter_is_idle(const struct counter *counter);
/* Forget an idle counter. */
void counter_remove(struct counter_shard *shard, uint64_t seed, struct counter *counter);

/* percent: left below MAX; -1: not known. */
void counter_set_headroom(struct counter_shard *shard, struct counter *counter, int percent);
/* The least of the shard's counters; 100 where there is none. */
int counter_least_headroom(const struct counter_shard *shard);

/* The store told how the counter stands; blocks of another generation are dropped. ours: its value
 * was reserved, or set, by us. */
void counter_learn(struct counter_shard *shard, struct counter *counter,
                   const struct store_counter *stored, bool ours);

/* Add the values first .. last behind the counter's blocks: to the newest where they adjoin it,
 * else as a block of their own. false: no memory, the values are lost. */
bool counter_blocks_add(struct counter *counter, int64_t first, int64_t last, int64_t until_ms);
/* Take `count` values off the oldest block, which has so many. */
void counter_blocks_use(struct counter *counter, int64_t count);
/* Values left in one block: at least 1. */
int64_t counter_block_left(const struct counter *counter, const struct counter_block *block);
/* NULL: there is none. */
struct counter_block *counter_block_newest(const struct counter *counter);
void counter_blocks_drop(struct counter *counter);
void counter_blocks_drop_oldest(struct counter *counter);
/* Drop those that may not be used any more. */
void counter_blocks_expire(struct counter *counter, int64_t boot_ms);

#endif
