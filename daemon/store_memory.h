/* The store without a disk, `memory:`, for tests and measurements: every outcome that a real store
 * can have, by script.
 *
 * memory:?faults=SCRIPT&fault_file=PATH&shared=yes&workers=N&flights=N
 * SCRIPT: what becomes of the commits that write, in turn: ok, not_done, unknown_applied,
 * unknown_lost, each perhaps with *N, by comma; past the end all are ok. `stop`: from there on
 * every commit, also one that only reads, is NOT_DONE. PATH: a file whose one word, read before
 * each commit, decides about that commit instead: ok, not_done, unknown_applied, unknown_lost, or
 * hang: the commit waits until the word is another one. No file, or an empty one: as the script
 * says. */
#ifndef IDMINT_STORE_MEMORY_H
#define IDMINT_STORE_MEMORY_H

#include <stdint.h>

#include "store.h"

extern const struct store_backend store_memory_backend;

/* Replace what is left of the script. Any thread. 0, or -1 where it is no script: then the old one
 * stands. */
int store_memory_script(struct store *store, const char *script)
    __attribute__((warn_unused_result));

/* The high-water second as it stands now; -1: none. Any thread. */
int64_t store_memory_high_water(struct store *store);

#endif
