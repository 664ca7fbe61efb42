#include "row_cache.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 16384 /* a power of two; with names of 20 bytes about 2 MB when full */

/* FNV-1a. One row a slot: names that collide cost a look-up each, never a chain. */
static size_t slot_of(const char *name, size_t name_len)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < name_len; i++)
        hash = (hash ^ (unsigned char)name[i]) * UINT64_C(1099511628211);
    return (hash ^ hash >> 32) & (SLOTS - 1);
}

int row_cache_init(struct row_cache *cache)
{
    cache->slots = calloc(SLOTS, sizeof(struct row *));
    return cache->slots == NULL ? -1 : 0;
}

void row_cache_clear(struct row_cache *cache)
{
    for (size_t i = 0; i < SLOTS; i++) {
        free(cache->slots[i]);
        cache->slots[i] = NULL;
    }
}

void row_cache_finish(struct row_cache *cache)
{
    if (cache->slots != NULL)
        row_cache_clear(cache);
    free(cache->slots);
    cache->slots = NULL;
}

struct row *row_cache_look(const struct row_cache *cache, const char *name, size_t name_len,
                           bool *hit)
{
    struct row *row = cache->slots[slot_of(name, name_len)];
    *hit = row != NULL && row->name_len == name_len && memcmp(row->name, name, name_len) == 0;
    return row;
}

struct row *row_cache_put(struct row_cache *cache, const char *name, size_t name_len, int64_t id,
                          const struct store_counter *counter)
{
    struct row *row = malloc(sizeof(*row) + name_len);
    if (row == NULL)
        return NULL;
    row->id = id;
    row->counter = *counter;
    row->next_dirty = NULL;
    row->dirty = false;
    row->name_len = name_len;
    memcpy(row->name, name, name_len);
    struct row **slot = &cache->slots[slot_of(name, name_len)];
    free(*slot);
    *slot = row;
    return row;
}

void row_cache_remove(struct row_cache *cache, struct row *row)
{
    cache->slots[slot_of(row->name, row->name_len)] = NULL;
    free(row);
}
