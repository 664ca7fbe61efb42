/* The verbs that look at a counter or set it. Those that change it first take a new generation, so
 * that whoever sees the change also sees that. */
#include <stdio.h>

#include "mongo_take.h"

/* A counter as it was found, for store_counter_apply. */
static struct store_counter standing(const struct mongo_work *work, const struct mongo_value *value)
{
    struct store_counter counter = work->options;
    counter.value = mongo_value_of(work->place, counter.step, value->number);
    return counter;
}

static bool is_there(const struct mongo_value *value)
{
    return value->kind != MONGO_NO_DOCUMENT && value->kind != MONGO_NO_FIELD;
}

static void finish(struct mongo_work *work, int64_t number)
{
    struct store_op *op = work->op;
    op->counter = work->options;
    op->counter.value = mongo_value_of(work->place, work->options.step, number);
    op->result = STORE_DONE;
    op->text[0] = '\0';
}

static enum mongo_step order_read(struct mongo_work *work, const struct mongo_value *value)
{
    struct store_counter counter = standing(work, value);
    int64_t generation = counter.generation;
    store_counter_apply(work->op, is_there(value), &counter, &generation);
    return MONGO_STEP_DONE;
}

static enum mongo_step bump(struct mongo_work *work, int64_t expected,
                            enum mongo_state_change change)
{
    struct store_op *op = work->op;
    if (mongo_state_bump(work->state, work->call, op->name, op->name_len, expected, change,
                         &work->options, &work->fault) == 0)
        return MONGO_STEP_DONE;
    if (work->fault.code == 11000)
        return MONGO_STEP_AGAIN;
    /* A generation more harms nobody, and the counter itself was not touched. */
    work->fault.result = STORE_NOT_DONE;
    return MONGO_STEP_FAILED;
}

/* After a value that goes back: what others have issued since the first generation may be greater.
 */
static enum mongo_step bump_again(struct mongo_work *work)
{
    enum mongo_step step = bump(work, MONGO_STATE_ANY, MONGO_STATE_KEEP);
    work->fault.result = STORE_UNKNOWN;
    return step;
}

/* The options are stated before the document is there: until then they wait for its first use, and
 * whoever meets the document meets them too. Where another one made it meanwhile, what he, or
 * nobody, had stated is put back. */
static enum mongo_step order_create(struct mongo_work *work, const struct mongo_value *value)
{
    struct store_op *op = work->op;
    const struct store_counter before = work->options;
    if (is_there(value))
        return order_read(work, value); /* EXISTS */
    const char *wrong = store_counter_check(&op->counter);
    if (wrong != NULL || op->counter.value > op->counter.max)
        return mongo_create(work, value); /* REFUSED, before anything is stated */
    work->options = op->counter;
    enum mongo_step step = bump(work, before.generation, MONGO_STATE_STATE);
    if (step != MONGO_STEP_DONE)
        return step;
    step = mongo_create(work, value);
    if (step == MONGO_STEP_AGAIN) {
        int64_t ours = work->options.generation;
        work->options = before;
        if (bump(work, ours, MONGO_STATE_RESTORE) == MONGO_STEP_FAILED)
            return MONGO_STEP_FAILED;
    }
    return step;
}

static enum mongo_step set_number(struct mongo_work *work, const struct mongo_value *value,
                                  const char *operator, int64_t number)
{
    const struct mongo_place *place = work->place;
    struct mongo_value after;
    bson_t filter, *update = bson_new(), inner;
    mongo_place_filter(place, work->op->name, work->op->name_len, &filter);
    mongo_place_guard(place, INT64_MAX, &filter);
    bson_append_document_begin(update, operator, - 1, &inner);
    mongo_append_number(&inner, place->field, number, place->wide || value->kind == MONGO_INT64);
    bson_append_document_end(update, &inner);
    if (mongo_modify(work, &filter, update, &after) < 0)
        return MONGO_STEP_FAILED;
    if (after.kind == MONGO_NO_DOCUMENT)
        return MONGO_STEP_AGAIN;
    if (work->op->verb == STORE_RESET && bump_again(work) != MONGO_STEP_DONE)
        return MONGO_STEP_FAILED;
    finish(work, after.number);
    mongo_work_issued(work, work->op->counter.value);
    return MONGO_STEP_DONE;
}

/* RAISE and RESET. */
static enum mongo_step order_set(struct mongo_work *work, const struct mongo_value *value)
{
    struct store_op *op = work->op;
    struct store_counter counter = standing(work, value);
    int64_t number, generation = counter.generation;
    if (!is_there(value) && !(op->verb == STORE_RAISE && op->create)) {
        op->result = STORE_ABSENT;
        return MONGO_STEP_DONE;
    }
    if (!is_there(value))
        return bump(work, MONGO_STATE_ANY, MONGO_STATE_KEEP) == MONGO_STEP_DONE
                   ? mongo_create(work, value)
                   : MONGO_STEP_FAILED;
    if (store_counter_apply(op, true, &counter, &generation) != STORE_WHOLE)
        return MONGO_STEP_DONE;
    if (!mongo_number_of(work->place, work->options.step, op->value, &number)) {
        mongo_fault_set(&work->fault, STORE_REFUSED, "the next value would be no int64");
        return MONGO_STEP_FAILED;
    }
    if (bump(work, MONGO_STATE_ANY, MONGO_STATE_KEEP) != MONGO_STEP_DONE)
        return MONGO_STEP_FAILED;
    return set_number(work, value, op->verb == STORE_RAISE ? "$max" : "$set", number);
}

static enum mongo_step order_drop(struct mongo_work *work, const struct mongo_value *value)
{
    struct mongo_value gone;
    bson_t filter;
    if (value->kind == MONGO_NO_DOCUMENT) {
        work->op->result = STORE_ABSENT;
        return MONGO_STEP_DONE;
    }
    if (bump(work, MONGO_STATE_ANY, MONGO_STATE_FORGET) != MONGO_STEP_DONE)
        return MONGO_STEP_FAILED;
    mongo_place_filter(work->place, work->op->name, work->op->name_len, &filter);
    if (mongo_modify(work, &filter, NULL, &gone) < 0)
        return MONGO_STEP_FAILED;
    if (gone.kind == MONGO_NO_DOCUMENT)
        return MONGO_STEP_AGAIN;
    if (bump_again(work) != MONGO_STEP_DONE)
        return MONGO_STEP_FAILED;
    finish(work, gone.number);
    return MONGO_STEP_DONE;
}

static enum mongo_step order_give_back(struct mongo_work *work, const struct mongo_value *value)
{
    struct store_op *op = work->op;
    const struct mongo_place *place = work->place;
    struct store_counter counter = standing(work, value);
    struct mongo_value after;
    int64_t number, generation = counter.generation;
    bson_t filter, *update, inner;
    if (store_counter_apply(op, is_there(value), &counter, &generation) != STORE_VALUE)
        return MONGO_STEP_DONE;
    mongo_place_filter(place, op->name, op->name_len, &filter);
    bson_append_document_begin(&filter, place->field, -1, &inner);
    BSON_APPEND_INT64(&inner, "$eq", value->number);
    bson_append_document_end(&filter, &inner);
    update = bson_new();
    if (!mongo_number_of(place, work->options.step, op->value, &number))
        number = value->number;
    bson_append_document_begin(update, "$set", -1, &inner);
    mongo_append_number(&inner, place->field, number, place->wide || value->kind == MONGO_INT64);
    bson_append_document_end(update, &inner);
    if (mongo_modify(work, &filter, update, &after) < 0)
        return MONGO_STEP_FAILED;
    if (after.kind == MONGO_NO_DOCUMENT)
        op->result = STORE_CHANGED;
    else
        mongo_work_issued(work, op->value);
    return MONGO_STEP_DONE;
}

static enum mongo_step order_once(struct mongo_work *work)
{
    struct store_op *op = work->op;
    struct mongo_value value;
    if (mongo_look(work, !store_verb_writes(op->verb), &value) < 0)
        return MONGO_STEP_FAILED;
    if (value.kind == MONGO_OTHER) {
        mongo_work_wrong_type(work, &value);
        return MONGO_STEP_DONE;
    }
    if (value.kind == MONGO_WHOLE && (op->verb == STORE_RAISE || op->verb == STORE_RESET))
        return mongo_convert(work);
    switch (op->verb) {
    case STORE_READ:
        return order_read(work, &value);
    case STORE_CREATE:
        return order_create(work, &value);
    case STORE_RAISE:
    case STORE_RESET:
        return order_set(work, &value);
    case STORE_DROP:
        return order_drop(work, &value);
    case STORE_GIVE_BACK:
        return order_give_back(work, &value);
    case STORE_SYNC:
    case STORE_TAKE:
    case STORE_LIST:
    case STORE_HIGH_WATER:
    case STORE_LEASE_READ:
    case STORE_LEASE_TAKE:
    case STORE_LEASE_RENEW:
    case STORE_LEASE_GIVE:
        break;
    }
    return MONGO_STEP_DONE;
}

void mongo_order(struct mongo_work *work)
{
    work->op->created = false;
    work->op->text[0] = '\0';
    for (int tries = 0; tries < MONGO_TRIES; tries++) {
        if (mongo_work_options(work, true) < 0)
            return;
        switch (order_once(work)) {
        case MONGO_STEP_DONE:
            return;
        case MONGO_STEP_FAILED:
            mongo_work_fail(work);
            return;
        case MONGO_STEP_AGAIN:
            break;
        }
    }
    mongo_work_give_up(work);
}
