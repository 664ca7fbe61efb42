#include "mongo_index.h"

#include <stdio.h>
#include <string.h>

#define NAMESPACE_NOT_FOUND 26

static bool place_names(const struct mongo_place *place, const char *field)
{
    bson_iter_t at;
    return place->match == NULL ? strcmp(field, place->key) == 0
                                : bson_iter_init_find(&at, place->match, field);
}

/* Unique over a part of what the filter names is unique over all of it. */
static bool covers(const bson_t *index, const struct mongo_place *place)
{
    bson_iter_t at;
    bson_t key;
    if (!bson_iter_init_find(&at, index, "unique") || !bson_iter_as_bool(&at) ||
        bson_iter_init_find(&at, index, "partialFilterExpression") ||
        !mongo_find_document(index, "key", &key) || !bson_iter_init(&at, &key))
        return false;
    while (bson_iter_next(&at))
        if (!place_names(place, bson_iter_key(&at)))
            return false;
    return true;
}

static int is_covered(struct mongo_call *call, const struct mongo_place *place, bool *covered,
                      struct mongo_fault *fault)
{
    bson_t reply, batch, index;
    bson_iter_t at;
    uint32_t len;
    const uint8_t *bytes;
    *covered = false;
    if (mongo_read(call, place->database,
                   BCON_NEW("listIndexes", BCON_UTF8(place->collection), "cursor", "{", "batchSize",
                            BCON_INT32(1000), "}"),
                   &reply, fault) < 0)
        return fault->code == NAMESPACE_NOT_FOUND ? 0 : -1;
    if (mongo_find_document(&reply, "cursor.firstBatch", &batch) && bson_iter_init(&at, &batch)) {
        while (bson_iter_next(&at) && !*covered) {
            bson_iter_document(&at, &len, &bytes);
            *covered =
                bytes != NULL && bson_init_static(&index, bytes, len) && covers(&index, place);
        }
    }
    bson_destroy(&reply);
    return 0;
}

static void append_keys(const struct mongo_place *place, bson_t *keys)
{
    bson_iter_t at;
    if (place->match == NULL) {
        BSON_APPEND_INT32(keys, place->key, 1);
        return;
    }
    bson_iter_init(&at, place->match);
    while (bson_iter_next(&at))
        BSON_APPEND_INT32(keys, bson_iter_key(&at), 1);
}

static int make(struct mongo_call *call, const struct mongo_place *place, const bson_t *keys,
                struct mongo_fault *fault)
{
    bson_t reply;
    if (mongo_write(call, place->database,
                    BCON_NEW("createIndexes", BCON_UTF8(place->collection), "indexes", "[", "{",
                             "key", BCON_DOCUMENT(keys), "name", "idmint_key", "unique",
                             BCON_BOOL(true), "}", "]"),
                    &reply, fault) < 0)
        return -1;
    bson_destroy(&reply);
    return 0;
}

int mongo_index_require(struct mongo_call *call, const struct mongo_place *place,
                        struct mongo_fault *fault)
{
    bool covered;
    bson_t keys;
    if (is_covered(call, place, &covered, fault) < 0)
        return -1;
    if (covered)
        return 0;
    bson_init(&keys);
    append_keys(place, &keys);
    int result = -1;
    if (place->index) {
        result = make(call, place, &keys, fault);
    } else {
        char *json = bson_as_relaxed_extended_json(&keys, NULL);
        mongo_fault_set(fault, STORE_REFUSED,
                        "no unique index: db.%s.createIndex(%s,{unique:true})", place->collection,
                        json != NULL ? json : "");
        bson_free(json);
    }
    bson_destroy(&keys);
    return result;
}
