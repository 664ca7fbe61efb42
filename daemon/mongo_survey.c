#include "mongo_survey.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mongo_index.h"
#include "name.h"

struct survey {
    const struct mongo_places *places;
    struct mongo_state *state;
    struct mongo_call *call;
    void (*line)(const char *text);
    struct mongo_fault *fault;
};

static void say(const struct survey *survey, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(const struct survey *survey, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    survey->line(text);
}

/* "shop.counters orders: int32 41: " and what becomes of it. */
static int tell_counter(const struct survey *survey, const struct mongo_place *place,
                        const char *name, size_t name_len, const struct mongo_value *value)
{
    static const char *const kinds[] = {[MONGO_INT32] = "int32",
                                        [MONGO_INT64] = "int64",
                                        [MONGO_WHOLE] = "double, converted at its first use"};
    struct store_counter options;
    bool known;
    char head[700];
    snprintf(head, sizeof(head), "%s.%s %.*s", place->database, place->collection, (int)name_len,
             name);
    if (mongo_state_get(survey->state, survey->call, name, name_len, false, &options, &known,
                        survey->fault) < 0)
        return -1;
    int64_t last = mongo_value_of(place, options.step, value->number);
    int64_t next;
    if (value->kind == MONGO_OTHER)
        say(survey, "%s: REFUSED, its %s is %s", head, place->field, value->type);
    else if (value->kind == MONGO_NO_FIELD)
        say(survey, "%s: has no %s; set at its first use, which gets %" PRId64, head, place->field,
            options.start);
    else if (__builtin_add_overflow(last, options.step, &next) || next > options.max)
        say(survey, "%s: %" PRId64 " (%s), EXHAUSTED", head, value->number, kinds[value->kind]);
    else
        say(survey, "%s: %" PRId64 " (%s), the next value is %" PRId64, head, value->number,
            kinds[value->kind], next);
    return 0;
}

static int tell_document(const struct survey *survey, const bson_t *document)
{
    const struct mongo_place *place = &survey->places->fallback;
    struct mongo_value value;
    bson_iter_t key;
    uint32_t len;
    if (!mongo_find(document, place->key, &key) || !BSON_ITER_HOLDS_UTF8(&key)) {
        say(survey,
            "%s.%s: a document whose %s is no string: no name reaches it (see [counter "
            "NAME] match)",
            place->database, place->collection, place->key);
        return 0;
    }
    const char *name = bson_iter_utf8(&key, &len);
    const char *wrong = name_check(name, len);
    if (mongo_place_of(survey->places, name, len) != place)
        return 0; /* told as a counter of its own */
    if (wrong != NULL) {
        say(survey, "%s.%s '%.*s': no name reaches it: %s (see [counter NAME] match)",
            place->database, place->collection, (int)(len < 255 ? len : 255), name, wrong);
        return 0;
    }
    mongo_value_read(document, place->field, &value);
    return tell_counter(survey, place, name, len, &value);
}

static int tell_all(const struct survey *survey)
{
    const struct mongo_place *place = &survey->places->fallback;
    mongoc_collection_t *collection =
        mongoc_client_get_collection(survey->call->client, place->database, place->collection);
    bson_t filter = BSON_INITIALIZER;
    bson_t *options = BCON_NEW("projection", "{", place->key, BCON_INT32(1), place->field,
                               BCON_INT32(1), "}", "sort", "{", "_id", BCON_INT32(1), "}");
    mongoc_cursor_t *cursor = mongoc_collection_find_with_opts(collection, &filter, options, NULL);
    const bson_t *document;
    bson_error_t error;
    int result = 0;
    while (result == 0 && mongoc_cursor_next(cursor, &document))
        result = tell_document(survey, document);
    if (result == 0 && mongoc_cursor_error(cursor, &error)) {
        mongo_fault_set(survey->fault, STORE_NOT_DONE, "%s", error.message);
        result = -1;
    }
    mongoc_cursor_destroy(cursor);
    bson_destroy(options);
    bson_destroy(&filter);
    mongoc_collection_destroy(collection);
    return result;
}

/* The counters that have a section, and so perhaps a place, of their own. */
static int tell_own(const struct survey *survey, const struct mongo_place *place)
{
    struct store_op op = {.name = place->counter, .name_len = strlen(place->counter)};
    struct mongo_work work = {
        .state = survey->state, .call = survey->call, .place = place, .op = &op};
    struct mongo_value value;
    if (mongo_look(&work, true, &value) < 0) {
        say(survey, "%s.%s %s: REFUSED, %s", place->database, place->collection, place->counter,
            work.fault.text);
        return 0;
    }
    if (value.kind == MONGO_NO_DOCUMENT) {
        say(survey, "%s.%s %s: no document yet", place->database, place->collection,
            place->counter);
        return 0;
    }
    return tell_counter(survey, place, op.name, op.name_len, &value);
}

int mongo_survey(const struct mongo_places *places, struct mongo_state *state,
                 struct mongo_call *call, void (*line)(const char *text), struct mongo_fault *fault)
{
    const struct survey survey = {places, state, call, line, fault};
    struct mongo_place looked = places->fallback;
    looked.index = false; /* nothing is made */
    if (!looked.by_id && mongo_index_require(call, &looked, fault) < 0) {
        if (fault->result != STORE_REFUSED)
            return -1;
        say(&survey, "%s.%s: new counters can not be made: %s", looked.database, looked.collection,
            fault->text);
    }
    for (size_t i = 0; i < places->own_count; i++)
        if (tell_own(&survey, &places->own[i]) < 0)
            return -1;
    return tell_all(&survey);
}
