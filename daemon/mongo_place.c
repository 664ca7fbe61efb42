#include "mongo_place.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOUBLE_END 9007199254740992.0 /* 2^53: from here on doubles leave integers out */

/* --- The configuration --- */

static int read_match(struct mongo_place *place, const char *json, char *why, size_t why_bytes)
{
    bson_error_t error;
    bson_iter_t at;
    if (json == NULL)
        return 0;
    place->match = bson_new_from_json((const uint8_t *)json, -1, &error);
    const char *wrong = NULL;
    if (place->match == NULL)
        wrong = error.message;
    else if (bson_iter_init_find(&at, place->match, place->field))
        wrong = "it names the field that counts";
    if (wrong != NULL) {
        snprintf(why, why_bytes, "[counter %s] match: %s", place->counter, wrong);
        return -1;
    }
    place->alone = bson_empty(place->match);
    place->by_id = bson_iter_init_find(&at, place->match, "_id") && !BSON_ITER_HOLDS_DOCUMENT(&at);
    return 0;
}

static struct mongo_place place_from(const struct config_place *from, bool create_index)
{
    return (struct mongo_place){.database = from->database,
                                .collection = from->collection,
                                .key = from->key,
                                .field = from->field,
                                .before = from->returns == CONFIG_BEFORE,
                                .wide = from->type == CONFIG_INT64,
                                .index = create_index,
                                .by_id = strcmp(from->key, "_id") == 0};
}

static int compare_places(const void *a, const void *b)
{
    return strcmp(((const struct mongo_place *)a)->counter,
                  ((const struct mongo_place *)b)->counter);
}

int mongo_places_init(struct mongo_places *places, const struct config *config, char *why,
                      size_t why_bytes)
{
    size_t count = 0;
    for (const struct config_counter *c = config->counter; c != NULL; c = c->next)
        count++;
    *places = (struct mongo_places){
        .fallback = place_from(&config->mongo.place, config->mongo.create_index)};
    if (count == 0)
        return 0;
    places->own = calloc(count, sizeof(*places->own));
    if (places->own == NULL) {
        snprintf(why, why_bytes, "out of memory");
        return -1;
    }
    for (const struct config_counter *c = config->counter; c != NULL; c = c->next) {
        struct mongo_place *place = &places->own[places->own_count++];
        struct config_place from;
        config_counter_place(config, c, &from);
        *place = place_from(&from, config->mongo.create_index);
        place->counter = c->name;
        if (read_match(place, c->match, why, why_bytes) < 0)
            return -1;
    }
    qsort(places->own, places->own_count, sizeof(*places->own), compare_places);
    return 0;
}

void mongo_places_finish(struct mongo_places *places)
{
    for (size_t i = 0; i < places->own_count; i++)
        bson_destroy(places->own[i].match);
    free(places->own);
    *places = (struct mongo_places){0};
}

static int pin(struct mongo_place *place, struct mongo_call *call, char *why, size_t why_bytes)
{
    struct mongo_fault fault;
    bson_t reply, document;
    bson_iter_t id;
    if (mongo_read(call, place->database,
                   BCON_NEW("find", BCON_UTF8(place->collection), "projection", "{", "_id",
                            BCON_INT32(1), "}", "limit", BCON_INT32(2), "singleBatch",
                            BCON_BOOL(true)),
                   &reply, &fault) < 0) {
        snprintf(why, why_bytes, "[counter %s]: %s", place->counter, fault.text);
        return -1;
    }
    bool several = mongo_find_document(&reply, "cursor.firstBatch.1", &document);
    if (several || !mongo_find_document(&reply, "cursor.firstBatch.0", &document) ||
        !bson_iter_init_find(&id, &document, "_id")) {
        snprintf(why, why_bytes,
                 "[counter %s] match = {}: %s.%s holds %s: say by match which one it is",
                 place->counter, place->database, place->collection,
                 several ? "several documents" : "no document");
        bson_destroy(&reply);
        return -1;
    }
    bson_append_value(place->match, "_id", 3, bson_iter_value(&id));
    bson_destroy(&reply);
    place->alone = false;
    place->by_id = true;
    return 0;
}

int mongo_places_pin(struct mongo_places *places, struct mongo_call *call, char *why,
                     size_t why_bytes)
{
    for (size_t i = 0; i < places->own_count; i++)
        if (places->own[i].alone && pin(&places->own[i], call, why, why_bytes) < 0)
            return -1;
    return 0;
}

const struct mongo_place *mongo_place_of(const struct mongo_places *places, const char *name,
                                         size_t name_len)
{
    size_t low = 0, high = places->own_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *counter = places->own[middle].counter;
        int order = strncmp(counter, name, name_len);
        if (order == 0 && counter[name_len] == '\0')
            return &places->own[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return &places->fallback;
}

/* --- Numbers --- */

static const char *type_name(bson_type_t type)
{
    switch (type) {
    case BSON_TYPE_DOUBLE:
        return "a double that is no exact integer";
    case BSON_TYPE_UTF8:
        return "a string";
    case BSON_TYPE_DOCUMENT:
        return "a document";
    case BSON_TYPE_ARRAY:
        return "an array";
    case BSON_TYPE_BOOL:
        return "a boolean";
    case BSON_TYPE_DATE_TIME:
        return "a date";
    case BSON_TYPE_NULL:
        return "null";
    case BSON_TYPE_DECIMAL128:
        return "a Decimal128";
    case BSON_TYPE_OID:
        return "an ObjectId";
    default:
        return "of another type";
    }
}

void mongo_value_read(const bson_t *document, const char *field, struct mongo_value *value)
{
    bson_iter_t at;
    *value = (struct mongo_value){.kind = MONGO_NO_FIELD};
    if (!mongo_find(document, field, &at))
        return;
    if (BSON_ITER_HOLDS_INT32(&at)) {
        value->kind = MONGO_INT32;
        value->number = bson_iter_int32(&at);
    } else if (BSON_ITER_HOLDS_INT64(&at)) {
        value->kind = MONGO_INT64;
        value->number = bson_iter_int64(&at);
    } else if (BSON_ITER_HOLDS_DOUBLE(&at) && fabs(bson_iter_double(&at)) < DOUBLE_END &&
               trunc(bson_iter_double(&at)) == bson_iter_double(&at)) {
        value->kind = MONGO_WHOLE;
        value->number = (int64_t)bson_iter_double(&at);
    } else {
        value->kind = MONGO_OTHER;
        value->type = type_name(bson_iter_type(&at));
    }
}

bool mongo_value_is_integer(const struct mongo_value *value)
{
    return value->kind == MONGO_INT32 || value->kind == MONGO_INT64;
}

void mongo_append_number(bson_t *document, const char *key, int64_t number, bool wide)
{
    if (wide || number < INT32_MIN || number > INT32_MAX)
        BSON_APPEND_INT64(document, key, number);
    else
        BSON_APPEND_INT32(document, key, (int32_t)number);
}

bool mongo_number_of(const struct mongo_place *place, int64_t step, int64_t value, int64_t *number)
{
    return !__builtin_add_overflow(value, place->before ? step : 0, number);
}

int64_t mongo_value_of(const struct mongo_place *place, int64_t step, int64_t number)
{
    int64_t value;
    return __builtin_sub_overflow(number, place->before ? step : 0, &value) ? INT64_MIN : value;
}

/* --- Filters and documents --- */

void mongo_place_filter(const struct mongo_place *place, const char *name, size_t name_len,
                        bson_t *filter)
{
    if (place->match != NULL) {
        bson_copy_to(place->match, filter);
        return;
    }
    bson_init(filter);
    bson_append_utf8(filter, place->key, -1, name, (int)name_len);
}

void mongo_place_guard(const struct mongo_place *place, int64_t most, bson_t *filter)
{
    bson_t conditions, types = BSON_INITIALIZER;
    BSON_APPEND_UTF8(&types, "0", "int");
    BSON_APPEND_UTF8(&types, "1", "long");
    bson_append_document_begin(filter, place->field, -1, &conditions);
    BSON_APPEND_ARRAY(&conditions, "$type", &types);
    BSON_APPEND_INT64(&conditions, "$lte", most);
    bson_append_document_end(filter, &conditions);
    bson_destroy(&types);
}

/* Operators find documents, they do not make any. */
static bool has_operators(const bson_t *match)
{
    bson_iter_t at, inner;
    if (!bson_iter_init(&at, match))
        return true;
    while (bson_iter_next(&at)) {
        if (bson_iter_key(&at)[0] == '$' || strchr(bson_iter_key(&at), '.') != NULL)
            return true;
        if (BSON_ITER_HOLDS_DOCUMENT(&at) && bson_iter_recurse(&at, &inner) &&
            bson_iter_next(&inner) && bson_iter_key(&inner)[0] == '$')
            return true;
    }
    return false;
}

int mongo_place_document(const struct mongo_place *place, const char *name, size_t name_len,
                         int64_t number, bson_t *document, struct mongo_fault *fault)
{
    if (strchr(place->field, '.') != NULL || strchr(place->key, '.') != NULL ||
        (place->match != NULL && has_operators(place->match))) {
        mongo_fault_set(fault, STORE_REFUSED,
                        "its document is missing and can not be made from field, key and match: "
                        "insert it by hand");
        return -1;
    }
    mongo_place_filter(place, name, name_len, document);
    mongo_append_number(document, place->field, number, place->wide);
    return 0;
}
