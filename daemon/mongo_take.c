/* A take is one findAndModify that adds to an integer, or misses; what it missed is looked at and
 * mended, and then it is tried again. */
#include "mongo_take.h"

#include <stdio.h>

/* The number that may be there at most before the take. false: none. */
static bool most_before(const struct mongo_work *work, int64_t *most)
{
    const struct store_counter *options = &work->options;
    int64_t end;
    if (!mongo_number_of(work->place, options->step, options->max, &end))
        end = INT64_MAX;
    __extension__ typedef __int128 wide;
    wide room = (wide)end - (wide)work->op->count * options->step;
    if (room < INT64_MIN)
        return false;
    *most = (int64_t)room;
    return true;
}

/* What a take adds; false: more than an int64. */
static bool way_of(const struct mongo_work *work, int64_t *way)
{
    return !__builtin_mul_overflow(work->op->count, work->options.step, way);
}

static int increment(struct mongo_work *work, struct mongo_value *value)
{
    const struct mongo_place *place = work->place;
    int64_t most, way;
    *value = (struct mongo_value){.kind = MONGO_NO_DOCUMENT};
    if (!most_before(work, &most) || !way_of(work, &way))
        return 0;
    bson_t filter, *update = bson_new(), inner;
    mongo_place_filter(place, work->op->name, work->op->name_len, &filter);
    mongo_place_guard(place, most, &filter);
    bson_append_document_begin(update, "$inc", -1, &inner);
    mongo_append_number(&inner, place->field, way, place->wide);
    bson_append_document_end(update, &inner);
    if (mongo_modify(work, &filter, update, value) == 0)
        return 0;
    /* An array with an integer in it matches, but can not be added to. */
    return work->fault.code == 14 && work->fault.result == STORE_NOT_DONE ? 0 : -1;
}

static void finish(struct mongo_work *work, int64_t number)
{
    struct store_op *op = work->op;
    const struct store_counter before = work->options;
    const int64_t step = before.step;
    int64_t value = mongo_value_of(work->place, step, number);
    if (before.cache > 1 || value - op->count * step < before.value) {
        /* A block must not outlive a RAISE, RESET or DROP, nor may one of these elsewhere be taken
         * for a value that went back: read after the take, the generation is not older than it. */
        if (mongo_work_options(work, true) < 0 || work->options.step != step) {
            store_op_fail(op, STORE_UNKNOWN,
                          "the counter's options changed; values that were taken are lost");
            return;
        }
    }
    op->counter = work->options;
    op->counter.value = value;
    op->created = false;
    op->text[0] = '\0';
    op->result = STORE_DONE;
    /* What was issued before this take: others may have issued more meanwhile. */
    if (work->options.generation == before.generation)
        op->floor = before.value;
    mongo_work_taken(work, value);
}

/* It is an integer: was there too little room below MAX? */
static enum mongo_step exhausted(struct mongo_work *work, const struct mongo_value *value)
{
    struct store_op *op = work->op;
    struct store_counter counter = work->options;
    counter.value = mongo_value_of(work->place, counter.step, value->number);
    int64_t way;
    bool fits = op->count <= store_counter_left(&counter);
    if (fits && !way_of(work, &way)) {
        mongo_fault_set(&work->fault, STORE_REFUSED, "count times STEP is more than can be added");
        return MONGO_STEP_FAILED;
    }
    if (fits)
        return MONGO_STEP_AGAIN;
    op->counter = counter;
    op->created = false;
    op->result = STORE_EXHAUSTED;
    return MONGO_STEP_DONE;
}

static enum mongo_step mend(struct mongo_work *work)
{
    struct mongo_value value;
    if (mongo_look(work, false, &value) < 0)
        return MONGO_STEP_FAILED;
    switch (value.kind) {
    case MONGO_NO_DOCUMENT:
    case MONGO_NO_FIELD:
        /* It may have been dropped elsewhere: the next one has another generation. */
        return mongo_work_options(work, true) < 0 ? MONGO_STEP_DONE : mongo_create(work, &value);
    case MONGO_INT32:
    case MONGO_INT64:
        return exhausted(work, &value);
    case MONGO_WHOLE:
        return mongo_convert(work);
    case MONGO_OTHER:
        break;
    }
    mongo_work_wrong_type(work, &value);
    return MONGO_STEP_DONE;
}

void mongo_take(struct mongo_work *work)
{
    struct mongo_value value;
    if (mongo_work_options(work, false) < 0)
        return;
    for (int tries = 0; tries < MONGO_TRIES; tries++) {
        if (increment(work, &value) < 0) {
            mongo_work_fail(work);
            return;
        }
        if (value.kind != MONGO_NO_DOCUMENT) {
            finish(work, value.number);
            return;
        }
        switch (mend(work)) {
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
