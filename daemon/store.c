/* What every store has in common: the way in, and the arithmetic of a counter. */
#include "store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CACHE_MAX 1000000

void store_commit(struct store *store, struct store_op **ops, size_t count)
{
    store->backend->commit(store, ops, count);
}

void store_close(struct store *store)
{
    if (store != NULL)
        store->backend->close(store);
}

bool store_verb_writes(enum store_verb verb)
{
    return verb != STORE_READ && verb != STORE_LIST && verb != STORE_LEASE_READ;
}

int64_t store_counter_left(const struct store_counter *counter)
{
    if (counter->step < 1 || counter->value >= counter->max)
        return 0;
    /* The difference of any two int64 fits an uint64. */
    uint64_t room = (uint64_t)counter->max - (uint64_t)counter->value;
    uint64_t left = room / (uint64_t)counter->step;
    return left > INT64_MAX ? INT64_MAX : (int64_t)left;
}

int store_counter_headroom(const struct store_counter *counter)
{
    if (counter->value >= counter->max)
        return 0;
    /* The differences of any two int64 fit an uint64. */
    uint64_t left = (uint64_t)counter->max - (uint64_t)counter->value;
    uint64_t all = (uint64_t)counter->max - (uint64_t)counter->start;
    if (left >= all)
        return 100;
    __extension__ unsigned __int128 hundredfold = (unsigned __int128)left * 100;
    return (int)(hundredfold / all);
}

enum store_result store_counter_take(struct store_counter *counter, int64_t count)
{
    if (count < 1 || count > store_counter_left(counter))
        return STORE_EXHAUSTED;
    uint64_t way = (uint64_t)count * (uint64_t)counter->step;
    counter->value = (int64_t)((uint64_t)counter->value + way);
    return STORE_DONE;
}

const char *store_counter_check(const struct store_counter *counter)
{
    if (counter->step < 1)
        return "STEP must be at least 1";
    if (counter->max < counter->start)
        return "MAX must not be less than START";
    if (counter->start < INT64_MIN + counter->step)
        return "START less STEP must be at least -9223372036854775808";
    if (counter->cache < 1 || counter->cache > CACHE_MAX)
        return "CACHE must be from 1 to 1000000";
    return NULL;
}

static enum store_change refuse(struct store_op *op, const char *text)
{
    op->result = STORE_REFUSED;
    snprintf(op->text, sizeof(op->text), "%s", text);
    return STORE_SAME;
}

static enum store_change refuse_past_max(struct store_op *op, const struct store_counter *counter)
{
    op->result = STORE_REFUSED;
    snprintf(op->text, sizeof(op->text), "the value would be above MAX, which is %" PRId64,
             counter->max);
    return STORE_SAME;
}

/* The verbs that create where there is no counter. */
static enum store_change apply_absent(struct store_op *op, struct store_counter *counter,
                                      int64_t *generation)
{
    if (op->verb != STORE_CREATE &&
        !((op->verb == STORE_TAKE || op->verb == STORE_RAISE) && op->create)) {
        op->result = STORE_ABSENT;
        return STORE_SAME;
    }
    const char *wrong = store_counter_check(&op->counter);
    if (wrong != NULL)
        return refuse(op, wrong);
    struct store_counter fresh = op->counter;
    if (op->verb != STORE_CREATE)
        fresh.value = fresh.start - fresh.step;
    if (op->verb == STORE_RAISE && op->value > fresh.value)
        fresh.value = op->value;
    if (fresh.value > fresh.max)
        return refuse_past_max(op, &fresh);
    if (op->verb == STORE_TAKE && store_counter_take(&fresh, op->count) != STORE_DONE) {
        fresh.generation = 0;
        op->counter = fresh;
        op->result = STORE_EXHAUSTED;
        return STORE_SAME;
    }
    fresh.generation = ++*generation;
    *counter = fresh;
    op->counter = fresh;
    op->created = true;
    op->result = STORE_DONE;
    return STORE_NEW;
}

static enum store_change apply_present(struct store_op *op, struct store_counter *counter,
                                       int64_t *generation)
{
    switch (op->verb) {
    case STORE_TAKE:
        op->result = store_counter_take(counter, op->count);
        return op->result == STORE_DONE ? STORE_VALUE : STORE_SAME;
    case STORE_CREATE:
        op->result = STORE_EXISTS;
        return STORE_SAME;
    case STORE_RAISE:
    case STORE_RESET:
        if (op->value > counter->max)
            return refuse_past_max(op, counter);
        if (op->verb == STORE_RESET || op->value > counter->value)
            counter->value = op->value;
        /* Also where the value stays: what others hold cached may be below op->value. */
        counter->generation = ++*generation;
        return STORE_WHOLE;
    case STORE_DROP:
        counter->generation = ++*generation;
        return STORE_GONE;
    case STORE_GIVE_BACK:
        if (counter->value != op->counter.value || counter->generation != op->counter.generation ||
            op->value > counter->value) {
            op->result = STORE_CHANGED;
            return STORE_SAME;
        }
        counter->value = op->value;
        return STORE_VALUE;
    case STORE_SYNC:
    case STORE_READ:
    case STORE_LIST:
    case STORE_HIGH_WATER:
    case STORE_LEASE_READ:
    case STORE_LEASE_TAKE:
    case STORE_LEASE_RENEW:
    case STORE_LEASE_GIVE:
        break;
    }
    return STORE_SAME;
}

enum store_change store_counter_apply(struct store_op *op, bool exists,
                                      struct store_counter *counter, int64_t *generation)
{
    op->result = STORE_DONE;
    op->created = false;
    op->text[0] = '\0';
    if (op->verb == STORE_SYNC)
        return refuse(op, "this store has no collections to read: use COUNTER RAISE");
    if (!exists)
        return apply_absent(op, counter, generation);
    enum store_change change = apply_present(op, counter, generation);
    op->counter = *counter;
    return change;
}

bool store_list_wants(const struct store_op *op, const char *name, size_t name_len)
{
    return name_len >= op->name_len &&
           (op->name_len == 0 || memcmp(name, op->name, op->name_len) == 0);
}

void store_op_fail(struct store_op *op, enum store_result result, const char *text)
{
    op->result = store_verb_writes(op->verb) ? result : STORE_NOT_DONE;
    op->created = false;
    snprintf(op->text, sizeof(op->text), "%s", text);
}

bool store_lease_apply(struct store_op *op, struct store_lease *record)
{
    const struct store_lease wish = *op->lease;
    bool stands = wish.epoch == record->epoch &&
                  (op->verb != STORE_LEASE_TAKE || wish.renewals == record->renewals);
    op->text[0] = '\0';
    op->result = stands || op->verb == STORE_LEASE_READ ? STORE_DONE : STORE_CHANGED;
    bool changes = op->result == STORE_DONE && op->verb != STORE_LEASE_READ;
    if (changes && op->verb == STORE_LEASE_TAKE) {
        int64_t high_water_s = record->high_water_s;
        *record = wish;
        record->epoch++;
        record->renewals = 0;
        record->given = false;
        record->high_water_s = high_water_s;
    } else if (changes && op->verb == STORE_LEASE_RENEW) {
        record->renewals++;
        if (wish.high_water_s > record->high_water_s)
            record->high_water_s = wish.high_water_s;
    } else if (changes) {
        record->given = true;
        record->high_water_s = wish.high_water_s;
    }
    *op->lease = *record;
    return changes;
}
