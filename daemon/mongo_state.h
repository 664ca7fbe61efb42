/* What idmint keeps for itself in MongoDB, apart from the users' documents: one collection with
 *   {_id: "store", id, birth}                                   made with the first start
 *   {_id: "counter/NAME", generation, start, step, max, cache, floor}  options where CREATE stated
 *                                 them; after DROP the generation stays, so that none is used
 *                                 twice; the floor of this generation, saved lazily (mongo_floor.h)
 *   {_id: "issuer/NAME", high_water, owner}                     see mongo_issuer.h
 *
 * The options of counters in use are kept in memory for a while ([counters] block), so that a
 * strict take is one round trip. A command on another daemon that changes generation or options is
 * seen after that time; sooner where blocks are reserved, and where a value is less than the
 * greatest one seen: then the options are read anew, after the take. */
#ifndef IDMINT_MONGO_STATE_H
#define IDMINT_MONGO_STATE_H

#include <pthread.h>

#include "limit.h"
#include "mongo_floor.h"
#include "mongo_link.h"
#include "row_cache.h"

#define MONGO_STATE_COLLECTION "idmint_state"
#define MONGO_STATE_ID_BYTES (sizeof("counter/") + LIMIT_NAME_BYTES)

struct mongo_state {
    const struct config *config;
    pthread_mutex_t lock;
    struct row_cache cache; /* counter.value: the floor; id: when it was read, in ms */
    struct mongo_floors floors;
};

int mongo_state_init(struct mongo_state *state, const struct config *config)
    __attribute__((warn_unused_result));
void mongo_state_finish(struct mongo_state *state);

/* The store's id and birth, made where there are none. */
int mongo_state_identify(struct mongo_state *state, struct mongo_call *call,
                         struct store_facts *facts, struct mongo_fault *fault)
    __attribute__((warn_unused_result));

/* How the counter works: what CREATE stated, else what the configuration says; `value` is the
 * greatest value known to be issued in this generation, INT64_MIN where none is. fresh: as it
 * stands in the store now. known: it had been read before. */
int mongo_state_get(struct mongo_state *state, struct mongo_call *call, const char *name,
                    size_t name_len, bool fresh, struct store_counter *options, bool *known,
                    struct mongo_fault *fault) __attribute__((warn_unused_result));

enum mongo_state_change {
    MONGO_STATE_KEEP,
    MONGO_STATE_STATE,
    MONGO_STATE_RESTORE, /* as STATE, but what the configuration says anyway is not stated */
    MONGO_STATE_FORGET,
};

#define MONGO_STATE_ANY INT64_C(-1)

/* A new generation, which is told in options->generation, and with it options stated or forgotten.
 * Where it is not `expected` any more (or ANY), nothing is done: -1, and the fault's code is 11000.
 */
int mongo_state_bump(struct mongo_state *state, struct mongo_call *call, const char *name,
                     size_t name_len, int64_t expected, enum mongo_state_change change,
                     struct store_counter *options, struct mongo_fault *fault)
    __attribute__((warn_unused_result));

/* The value was issued in that generation: a floor from now on, saved before long. */
void mongo_state_issued(struct mongo_state *state, const char *name, size_t name_len,
                        int64_t generation, int64_t value);

/* The _id of a counter's document. */
void mongo_state_counter_id(char id[MONGO_STATE_ID_BYTES], const char *name, size_t name_len);

/* For LIST: counter NAME's options out of a document of the collection. */
void mongo_state_parse(const struct mongo_state *state, const bson_t *document, const char *name,
                       size_t name_len, struct store_counter *options);

#endif
