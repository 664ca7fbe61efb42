#include "mongo_counter.h"

#include <stdio.h>
#include <string.h>

#include "mongo_index.h"

/* --- Results --- */

void mongo_work_fail(struct mongo_work *work)
{
    store_op_fail(work->op, work->fault.result, work->fault.text);
}

void mongo_work_wrong_type(struct mongo_work *work, const struct mongo_value *value)
{
    work->op->result = STORE_WRONGTYPE;
    snprintf(work->op->text, sizeof(work->op->text), "the stored value is %s", value->type);
}

void mongo_work_give_up(struct mongo_work *work)
{
    if (work->fault.text[0] == '\0')
        mongo_fault_set(&work->fault, STORE_NOT_DONE, "the document changes all the time");
    work->fault.result = STORE_NOT_DONE;
    mongo_work_fail(work);
}

void mongo_work_issued(struct mongo_work *work, int64_t value)
{
    mongo_state_issued(work->state, work->op->name, work->op->name_len, work->options.generation,
                       value);
}

void mongo_work_taken(struct mongo_work *work, int64_t value)
{
    const struct store_op *op = work->op;
    if (!op->reserves)
        mongo_work_issued(work, value);
    else if (op->issued > INT64_MIN && op->issued_generation == work->options.generation)
        mongo_work_issued(work, op->issued);
}

/* --- Looking --- */

static void read_first(const bson_t *reply, const struct mongo_place *place,
                       struct mongo_value *value)
{
    bson_t document;
    if (mongo_find_document(reply, "cursor.firstBatch.0", &document))
        mongo_value_read(&document, place->field, value);
    else
        *value = (struct mongo_value){.kind = MONGO_NO_DOCUMENT};
}

int mongo_look(struct mongo_work *work, bool majority, struct mongo_value *value)
{
    const struct mongo_place *place = work->place;
    bson_t filter, second, reply;
    mongo_place_filter(place, work->op->name, work->op->name_len, &filter);
    bson_t *command = BCON_NEW(
        "find", BCON_UTF8(place->collection), "filter", BCON_DOCUMENT(&filter), "projection", "{",
        place->field, BCON_INT32(1), "}", "limit", BCON_INT32(2), "singleBatch", BCON_BOOL(true));
    bson_destroy(&filter);
    if (majority)
        mongo_read_concern(work->call, command, "majority");
    if (mongo_read(work->call, place->database, command, &reply, &work->fault) < 0)
        return -1;
    bool several = mongo_find_document(&reply, "cursor.firstBatch.1", &second);
    read_first(&reply, place, value);
    bson_destroy(&reply);
    if (several)
        mongo_fault_set(&work->fault, STORE_REFUSED,
                        "several documents of %s.%s are this counter's: keep one", place->database,
                        place->collection);
    return several ? -1 : 0;
}

/* The number after the last value must fit an int64, too. */
static void clamp_max(struct mongo_work *work)
{
    struct store_counter *options = &work->options;
    if (work->place->before && options->max > INT64_MAX - options->step)
        options->max = INT64_MAX - options->step;
}

int mongo_work_options(struct mongo_work *work, bool fresh)
{
    struct store_op *op = work->op;
    struct mongo_value value;
    bool known;
    if (mongo_state_get(work->state, work->call, op->name, op->name_len, fresh, &work->options,
                        &known, &work->fault) == 0 &&
        /* Which of two documents the server would take is its choice, each time. */
        (known || work->place->by_id || mongo_look(work, false, &value) == 0)) {
        clamp_max(work);
        return 0;
    }
    mongo_work_fail(work);
    return -1;
}

/* --- Changing --- */

int mongo_modify(struct mongo_work *work, bson_t *filter, bson_t *update, struct mongo_value *value)
{
    const struct mongo_place *place = work->place;
    bson_t reply, document;
    bson_t *command =
        BCON_NEW("findAndModify", BCON_UTF8(place->collection), "query", BCON_DOCUMENT(filter),
                 "fields", "{", place->field, BCON_INT32(1), "}");
    if (update == NULL) {
        BSON_APPEND_BOOL(command, "remove", true);
    } else {
        BSON_APPEND_DOCUMENT(command, "update", update);
        BSON_APPEND_BOOL(command, "new", true);
        bson_destroy(update);
    }
    bson_destroy(filter);
    if (mongo_write(work->call, place->database, command, &reply, &work->fault) < 0)
        return -1;
    *value = (struct mongo_value){.kind = MONGO_NO_DOCUMENT};
    if (mongo_find_document(&reply, "value", &document))
        mongo_value_read(&document, place->field, value);
    bson_destroy(&reply);
    return 0;
}

enum mongo_step mongo_convert(struct mongo_work *work)
{
    const struct mongo_place *place = work->place;
    char path[512];
    bson_t filter, reply;
    snprintf(path, sizeof(path), "$%s", place->field);
    mongo_place_filter(place, work->op->name, work->op->name_len, &filter);
    bson_t *guard = BCON_NEW(
        place->field, "{", "$type", "double", "$gt", BCON_DOUBLE(-9007199254740992.0), "$lt",
        BCON_DOUBLE(9007199254740992.0), "}", "$expr", "{", "$cond", "[", "{", "$eq", "[", "{",
        "$type", BCON_UTF8(path), "}", "double", "]", "}", "{", "$eq", "[", BCON_UTF8(path), "{",
        "$trunc", BCON_UTF8(path), "}", "]", "}", BCON_BOOL(false), "]", "}");
    bson_concat(&filter, guard);
    bson_destroy(guard);
    bson_t *command = BCON_NEW("update", BCON_UTF8(place->collection), "updates", "[", "{", "q",
                               BCON_DOCUMENT(&filter), "u", "[", "{", "$set", "{", place->field,
                               "{", "$toLong", BCON_UTF8(path), "}", "}", "}", "]", "}", "]");
    bson_destroy(&filter);
    if (mongo_write(work->call, place->database, command, &reply, &work->fault) < 0) {
        work->fault.result = STORE_NOT_DONE; /* whatever became of it, no value was taken */
        return MONGO_STEP_FAILED;
    }
    bson_destroy(&reply);
    return MONGO_STEP_AGAIN;
}

static enum mongo_step insert(struct mongo_work *work, int64_t number)
{
    const struct mongo_place *place = work->place;
    bson_t document, reply;
    if (!place->by_id && mongo_index_require(work->call, place, &work->fault) < 0)
        return MONGO_STEP_FAILED;
    if (mongo_place_document(place, work->op->name, work->op->name_len, number, &document,
                             &work->fault) < 0)
        return MONGO_STEP_FAILED;
    bson_t *command = BCON_NEW("insert", BCON_UTF8(place->collection), "documents", "[",
                               BCON_DOCUMENT(&document), "]");
    bson_destroy(&document);
    if (mongo_write(work->call, place->database, command, &reply, &work->fault) < 0)
        /* Another one was first. */
        return work->fault.code == 11000 && work->fault.result == STORE_NOT_DONE
                   ? MONGO_STEP_AGAIN
                   : MONGO_STEP_FAILED;
    bson_destroy(&reply);
    return MONGO_STEP_DONE;
}

static enum mongo_step fill_in(struct mongo_work *work, int64_t number)
{
    const struct mongo_place *place = work->place;
    struct mongo_value value;
    bson_t filter, *update = bson_new(), inner;
    mongo_place_filter(place, work->op->name, work->op->name_len, &filter);
    bson_append_document_begin(&filter, place->field, -1, &inner);
    BSON_APPEND_BOOL(&inner, "$exists", false);
    bson_append_document_end(&filter, &inner);
    bson_append_document_begin(update, "$set", -1, &inner);
    mongo_append_number(&inner, place->field, number, place->wide);
    bson_append_document_end(update, &inner);
    if (mongo_modify(work, &filter, update, &value) < 0)
        return MONGO_STEP_FAILED;
    return value.kind == MONGO_NO_DOCUMENT ? MONGO_STEP_AGAIN : MONGO_STEP_DONE;
}

enum mongo_step mongo_create(struct mongo_work *work, const struct mongo_value *found)
{
    struct store_op *op = work->op;
    struct store_counter fresh;
    int64_t number, generation = work->options.generation;
    if (op->verb != STORE_CREATE)
        op->counter = work->options; /* those of CREATE, where its document was deleted */
    if (store_counter_apply(op, false, &fresh, &generation) != STORE_NEW)
        return MONGO_STEP_DONE;
    if (!mongo_number_of(work->place, fresh.step, fresh.value, &number)) {
        op->created = false;
        op->result = STORE_EXHAUSTED;
        return MONGO_STEP_DONE;
    }
    enum mongo_step step =
        found->kind == MONGO_NO_FIELD ? fill_in(work, number) : insert(work, number);
    op->created = step == MONGO_STEP_DONE;
    op->counter.generation = work->options.generation;
    if (op->verb == STORE_TAKE)
        op->floor = work->options.value;
    if (step == MONGO_STEP_DONE && op->verb == STORE_TAKE)
        mongo_work_taken(work, op->counter.value);
    else if (step == MONGO_STEP_DONE && op->verb == STORE_RAISE)
        mongo_work_issued(work, op->counter.value);
    return step;
}
