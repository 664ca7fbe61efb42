/* Where counters' documents stand, and what numbers they hold: existing collections are taken as
 * they are.
 *
 * A document holds a number. With `returns = after` that is the value issued last, with `before`
 * the one to be issued next, which is a step more. */
#ifndef IDMINT_MONGO_PLACE_H
#define IDMINT_MONGO_PLACE_H

#include "mongo_link.h"

struct mongo_place {
    const char *counter; /* the one counter that stands here; NULL: all others */
    const char *database, *collection, *key, *field;
    bool before;   /* documents hold the next value */
    bool wide;     /* numbers are stored as int64 */
    bool index;    /* a unique index that is missing is made */
    bson_t *match; /* what finds the document; NULL: key and name do */
    bool alone;    /* match is {}: the only document of its collection, until it is pinned */
    bool by_id;    /* at most one document can match */
};

struct mongo_places {
    struct mongo_place fallback;
    struct mongo_place *own; /* in byte order of their counters' names */
    size_t own_count;
};

int mongo_places_init(struct mongo_places *places, const struct config *config, char *why,
                      size_t why_bytes) __attribute__((warn_unused_result));
void mongo_places_finish(struct mongo_places *places);
/* `match = {}`: pin each such place to the one document there is. */
int mongo_places_pin(struct mongo_places *places, struct mongo_call *call, char *why,
                     size_t why_bytes) __attribute__((warn_unused_result));
const struct mongo_place *mongo_place_of(const struct mongo_places *places, const char *name,
                                         size_t name_len);

enum mongo_kind {
    MONGO_NO_DOCUMENT,
    MONGO_NO_FIELD,
    MONGO_INT32,
    MONGO_INT64,
    MONGO_WHOLE, /* a double that is an integer less than 2^53 */
    MONGO_OTHER,
};

struct mongo_value {
    enum mongo_kind kind;
    int64_t number;
    const char *type; /* OTHER: what it is, for people */
};

/* The document's number. */
void mongo_value_read(const bson_t *document, const char *field, struct mongo_value *value);
bool mongo_value_is_integer(const struct mongo_value *value);

/* Begins `filter` with what finds the counter's document; more may be appended. */
void mongo_place_filter(const struct mongo_place *place, const char *name, size_t name_len,
                        bson_t *filter);
/* Appends the condition that the number is int32 or int64, and at most `most`. */
void mongo_place_guard(const struct mongo_place *place, int64_t most, bson_t *filter);
/* Makes the document of a new counter. -1: `fault`, such a document can not be made. */
int mongo_place_document(const struct mongo_place *place, const char *name, size_t name_len,
                         int64_t number, bson_t *document, struct mongo_fault *fault)
    __attribute__((warn_unused_result));
/* As the place's type asks: int32 where it fits, unless int64 is wanted, or was there. */
void mongo_append_number(bson_t *document, const char *key, int64_t number, bool wide);

/* Number and value; false: the number is none of an int64. */
bool mongo_number_of(const struct mongo_place *place, int64_t step, int64_t value, int64_t *number);
int64_t mongo_value_of(const struct mongo_place *place, int64_t step, int64_t number);

#endif
