/* The rows of a store file that were used of late, so that a counter in use is not looked up anew
 * in each commit. Bounded: a row takes the place of the one that was in its slot. One thread. */
#ifndef IDMINT_ROW_CACHE_H
#define IDMINT_ROW_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store.h"

struct row {
    int64_t id; /* the rowid in the file */
    struct store_counter counter;
    struct row *next_dirty; /* the owner's list of rows whose value is not in the file yet */
    bool dirty;
    size_t name_len;
    char name[];
};

struct row_cache {
    struct row **slots;
};

int row_cache_init(struct row_cache *cache) __attribute__((warn_unused_result));
void row_cache_finish(struct row_cache *cache);

/* The row in the slot where this name belongs, and whether it is the one; NULL: none is there. */
struct row *row_cache_look(const struct row_cache *cache, const char *name, size_t name_len,
                           bool *hit);
/* Puts a row in, in place of the one in its slot, which must not be dirty. NULL: out of memory. */
struct row *row_cache_put(struct row_cache *cache, const char *name, size_t name_len, int64_t id,
                          const struct store_counter *counter);
void row_cache_remove(struct row_cache *cache, struct row *row);
void row_cache_clear(struct row_cache *cache);

#endif
