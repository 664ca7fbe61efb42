#include "counter_flush.h"

#include <stdlib.h>
#include <string.h>

#include "counter_gather.h"
#include "limit.h"
#include "outcome.h"

/* What is to be done once the lock is released. */
struct due {
    struct counter_take *finished, **tail;
    struct counter_flush *flush; /* to be submitted */
    struct store_op *give_back;
    bool went_back, near_max;
    size_t name_len;
    char name[LIMIT_NAME_BYTES]; /* the counter itself may be gone by then */
};

static bool close_flush(struct store_op *op);
static void done_flush(struct store_op *op);

/* --- Opening --- */

struct counter_flush *counter_flush_open(struct counters *counters, struct counter_shard *shard,
                                         struct counter *counter)
{
    struct counter_flush *flush = calloc(1, sizeof *flush);
    if (flush == NULL)
        return NULL;
    flush->op.name = counter->name;
    flush->op.name_len = counter->name_len;
    flush->op.close = close_flush;
    flush->op.done = done_flush;
    flush->counters = counters;
    flush->shard = shard;
    flush->counter = counter;
    flush->tail = &flush->head;
    counter->open = flush;
    return flush;
}

void counter_flush_add(struct counter_flush *flush, struct counter_take *take)
{
    take->flush = flush;
    take->next = NULL;
    take->link = flush->tail;
    *flush->tail = take;
    flush->tail = &take->next;
    flush->ordered = flush->ordered || take->behind;
    flush->counter->waiting++;
    if (++flush->takes == flush->counter->gather)
        pthread_cond_broadcast(&flush->shard->gathered);
}

/* Without a search: very many may wait, and all be cancelled when their time is over. */
void counter_flush_remove(struct counter_flush *flush, struct counter_take *take)
{
    *take->link = take->next;
    if (take->next != NULL)
        take->next->link = take->link;
    else
        flush->tail = take->link;
    take->flush = NULL;
    take->next = NULL;
    flush->counter->waiting--;
    flush->takes--;
}

struct counter_flush *counter_flush_due(struct counters *counters, struct counter *counter)
{
    struct counter_flush *flush = counter->open;
    if (flush == NULL || flush->submitted || counter->flights >= counters->flights ||
        (flush->ordered && counter->flights > 0))
        return NULL;
    flush->submitted = true;
    return flush;
}

void counter_flush_submit(struct counters *counters, struct counter_flush *flush)
{
    if (flush != NULL)
        store_worker_submit(counters->worker, &flush->op);
}

/* Values to reserve beyond those that wait. */
static int64_t reserve_of(const struct counter *counter)
{
    return counter->cache > 1 ? (int64_t)counter->cache << counter->ahead : 0;
}

/* Takes that must wait while a reservation is under way have outrun it: the next is twice as great,
 * until demand is slow again. */
#define AHEAD_MOST 4
#define AHEAD_FORGET_S 2

void counter_flush_outrun(struct counter *counter)
{
    if (counter->cache > 1 && counter->flights > 0 && counter->ahead < AHEAD_MOST)
        counter->ahead++;
}

static void pace_reserve(struct counter *counter, int64_t now_ms)
{
    uint32_t now_s = (uint32_t)(now_ms / 1000);
    if (counter->cache <= 1)
        return;
    if (now_s - counter->reserved_s >= AHEAD_FORGET_S)
        counter->ahead = 0;
    counter->reserved_s = now_s;
}

static bool wants_prefetch(const struct counter *counter)
{
    if (counter->cache <= 1 || counter->open != NULL || counter->flights > 0 || !counter->loaded ||
        counter->stopped || counter->full)
        return false;
    int64_t left = 0;
    for (const struct counter_block *b = counter->blocks; b != NULL; b = b->newer)
        left += counter_block_left(counter, b);
    return left < (reserve_of(counter) + 1) / 2;
}

void counter_flush_prefetch(struct counters *counters, struct counter_shard *shard,
                            struct counter *counter)
{
    if (shard->closing || !wants_prefetch(counter))
        return;
    struct counter_flush *flush = counter_flush_open(counters, shard, counter);
    if (flush != NULL)
        flush->prefetch = true;
}

/* --- What happens to takes --- */

/* The take leaves its flush; from here on it can not be cancelled, and `done` is due. */
static void release(struct counter_flush *flush, struct counter_take *take, struct due *due)
{
    counter_flush_remove(flush, take);
    *due->tail = take;
    due->tail = &take->next;
}

/* Release the takes that `concerns` picks, with an error; the others stay. */
static void fail_takes(struct counter_flush *flush, bool (*concerns)(const struct counter_take *),
                       enum error_word error, const char *text, struct due *due)
{
    struct counter_take *next;
    for (struct counter_take *take = flush->head; take != NULL; take = next) {
        next = take->next;
        if (!concerns(take))
            continue;
        take->served = 0;
        take->error = error;
        take->text = strdup(text);
        release(flush, take, due);
    }
}

static bool every_take(const struct counter_take *take)
{
    return true;
}

static bool unit_step_take(const struct counter_take *take)
{
    return take->unit_step;
}

static bool unserved_take(const struct counter_take *take)
{
    return take->served == 0;
}

/* Serve those that wait for the next commit from a block that the last one left. */
static void serve_open(struct counter *counter, struct due *due)
{
    struct counter_flush *flush = counter->open;
    if (flush == NULL || counter->flights > 0 || counter->blocks == NULL)
        return;
    counter_blocks_expire(counter, flush->counters->settings.now().boot_ms);
    struct counter_take *take;
    while ((take = flush->head) != NULL && !(take->unit_step && counter->step != 1) &&
           counter_serve(flush->shard, counter, take, take->repeat))
        release(flush, flush->head, due);
    if (flush->head == NULL && !flush->submitted) {
        counter->open = NULL;
        free(flush);
    }
}

/* --- What is known of a counter --- */

/* Whether the op's result tells of the counter as it is now, and not of how it was before an order,
 * or another flush, that was done in between. */
static bool is_current(const struct counter_flush *flush)
{
    const struct counter *counter = flush->counter;
    if (counter->stopped || flush->op.counter.generation == 0) /* 0: it does not exist */
        return false;
    if (counter->loaded)
        return flush->op.counter.generation >= counter->generation;
    return flush->orders == counter->orders;
}

/* The store handed out what it had handed out before the flush was sent: it was restored, or set
 * back behind our back. (Compared with how the counter stood when the flush was sent, since several
 * may be under way and be done in another order than they were committed in.) */
static bool went_back(const struct counter_flush *flush, int64_t before)
{
    const struct store_counter *stored = &flush->op.counter;
    if (before < flush->op.floor)
        return true;
    if (!flush->loaded || stored->generation > flush->generation)
        return false;
    return stored->generation < flush->generation || before < flush->floor;
}

static bool near_max(struct counter *counter, const struct store_counter *stored)
{
    if (counter->near_max || stored->max <= stored->start || stored->value < stored->start)
        return false;
    uint64_t span = (uint64_t)stored->max - (uint64_t)stored->start;
    uint64_t left =
        stored->value < stored->max ? (uint64_t)stored->max - (uint64_t)stored->value : 0;
    counter->near_max = left <= span / 10;
    return counter->near_max;
}

void counter_settle(struct counters *counters, struct counter_shard *shard, struct counter *counter)
{
    if (!counter->loaded && counter_is_idle(counter))
        counter_remove(shard, counters->settings.seed, counter);
}

/* --- The end of a round, and what follows from it --- */

static void due_event(struct due *due, const struct counter *counter)
{
    due->name_len = counter->name_len;
    memcpy(due->name, counter->name, counter->name_len);
}

/* The flush has come to its end. The counter may be gone afterwards. */
static void land(struct counter_flush *flush, bool prefetch, struct due *due)
{
    struct counters *counters = flush->counters;
    struct counter_shard *shard = flush->shard;
    struct counter *counter = flush->counter;
    counter->flights--;
    serve_open(counter, due);
    if (prefetch)
        counter_flush_prefetch(counters, shard, counter);
    if (shard->closing && counter_is_idle(counter)) {
        due->give_back = counter_give_back(counter);
        counter_blocks_drop(counter);
    }
    due->flush = counter_flush_due(counters, counter);
    counter_settle(counters, shard, counter);
}

/* Without the lock. */
static void carry_out(struct counters *counters, struct due *due)
{
    const struct counters_settings *settings = &counters->settings;
    if (due->went_back && settings->event != NULL)
        settings->event(settings->context, COUNTER_WENT_BACK, due->name, due->name_len);
    if (due->near_max && settings->event != NULL)
        settings->event(settings->context, COUNTER_NEAR_MAX, due->name, due->name_len);
    struct counter_take *next;
    for (struct counter_take *take = due->finished; take != NULL; take = next) {
        next = take->next;
        take->done(take);
    }
    if (due->give_back != NULL)
        store_worker_submit(counters->worker, due->give_back);
    counter_flush_submit(counters, due->flush);
}

/* --- Closing, on worker threads --- */

/* Values that the flush's takes want; capped, so that sums can not overflow. */
static int64_t flush_total(const struct counter_flush *flush)
{
    int64_t total = 0;
    for (const struct counter_take *take = flush->head; take != NULL; take = take->next) {
        int64_t wanted = take->count * (flush->allotted ? take->served : take->repeat);
        if (__builtin_add_overflow(total, wanted, &total))
            return INT64_MAX;
    }
    return total;
}

static int64_t add_capped(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* What a crash can not make unissued: blocks may be handed back. */
static int64_t issued_of(const struct counter *counter)
{
    if (!counter->loaded)
        return INT64_MIN;
    return counter->blocks != NULL ? counter->blocks->next - counter->step : counter->floor;
}

/* Decide what the op asks for. false: nothing, the flush has served its purpose. */
static bool prepare(struct counter_flush *flush, struct due *due)
{
    struct counters *counters = flush->counters;
    struct counter *counter = flush->counter;
    struct store_op *op = &flush->op;
    if (counter->stopped)
        fail_takes(flush, every_take, ERROR_BACKWARD, COUNTER_TEXT_BACKWARD, due);
    if (counter->loaded && counter->step != 1)
        fail_takes(flush, unit_step_take, ERROR_ERR, COUNTER_TEXT_STEP, due);
    if (flush->head == NULL && (!flush->prefetch || counter->stopped || flush->shard->closing))
        return false;
    /* Where a take depends on the step, and it is not known, it is read first. */
    bool read = false;
    if (!counter->loaded && !flush->read)
        for (const struct counter_take *take = flush->head; take != NULL; take = take->next)
            read = read || take->unit_step;
    flush->read = flush->read || read;
    op->verb = read ? STORE_READ : STORE_TAKE;
    counter_gather_sent(flush);
    flush->sent_ms = counters->settings.now().boot_ms;
    pace_reserve(counter, flush->sent_ms);
    op->count = flush->allotted ? flush->want : add_capped(flush_total(flush), reserve_of(counter));
    /* What a prefetch finds dropped stays so. */
    op->create = counters->settings.auto_create && !read && flush->head != NULL;
    op->created = false;
    op->text[0] = '\0';
    counters_how_created(counters, counter->name, counter->name_len, &op->counter);
    op->reserves = counter->cache > 1;
    op->issued = issued_of(counter);
    op->issued_generation = counter->generation;
    op->floor = INT64_MIN;
    flush->floor = counter->floor;
    flush->generation = counter->generation;
    flush->orders = counter->orders;
    flush->loaded = counter->loaded;
    return op->count > 0;
}

static bool close_flush(struct store_op *op)
{
    struct counter_flush *flush = (struct counter_flush *)op;
    struct counters *counters = flush->counters;
    struct counter_shard *shard = flush->shard;
    struct counter *counter = flush->counter;
    struct due due = {.tail = &due.finished};

    pthread_mutex_lock(&shard->lock);
    if (!flush->closed && (!flush->ordered || counter->flights == 0))
        counter_gather(flush);
    if (!flush->closed && flush->ordered && counter->flights > 0) {
        /* It was submitted before it came to be ordered: the flight that lands submits it again. */
        flush->submitted = false;
        pthread_mutex_unlock(&shard->lock);
        return false;
    }
    if (!flush->closed) { /* else it goes round once more: it was under way already */
        flush->closed = true;
        counter_gather_leave(flush);
        counter->open = NULL;
        counter->flights++;
    }
    bool useful = prepare(flush, &due);
    shard->flushes += useful;
    if (!useful)
        land(flush, false, &due);
    pthread_mutex_unlock(&shard->lock);
    carry_out(counters, &due);
    if (!useful)
        free(flush);
    return useful;
}

/* --- Dealing out, on worker threads. Each returns whether the flush goes round once more. --- */

/* Deal the `count` values behind `before` to the flush's takes, in order. keep: they lie above all
 * that the counter issued or holds, so blocks that they adjoin come first, and what is left becomes
 * a block, or lengthens one. */
static bool deal(struct counter_flush *flush, int64_t before, int64_t count, bool keep,
                 struct due *due)
{
    struct counter *counter = flush->counter;
    int64_t last = flush->op.counter.value;
    uint64_t step = (uint64_t)flush->op.counter.step;
    /* Unsigned: what lies past the last value may lie past int64's end. */
    uint64_t next = (uint64_t)before + step;
    struct counter_block *newest = keep ? counter_block_newest(counter) : NULL;
    if (newest != NULL && flush->head != NULL) {
        if (newest->last == before) {
            next = (uint64_t)newest->next;
            count = add_capped(count, counter_block_left(counter, newest));
        }
        counter_blocks_drop(counter);
    }
    while (flush->head != NULL) {
        struct counter_take *take = flush->head;
        uint32_t replies = flush->allotted ? take->served : take->repeat;
        int64_t values = take->count * replies;
        if (values > count)
            break;
        take->served = replies;
        take->error = replies < take->repeat ? ERROR_EXHAUSTED : ERROR_NONE;
        take->text = replies < take->repeat ? strdup(OUTCOME_MAX) : NULL;
        take->first = (int64_t)next;
        take->step = (int64_t)step;
        flush->shard->from_store += replies;
        release(flush, flush->head, due);
        next += (uint64_t)values * step;
        count -= values;
    }
    if (keep && count > 0 && counter->cache > 1) {
        int64_t until_ms = flush->counters->shared
                               ? flush->sent_ms + flush->counters->settings.block_ms
                               : INT64_MAX;
        (void)counter_blocks_add(counter, (int64_t)next, last, until_ms);
    }
    /* Some are left where a block was counted on that an order has made stale since. */
    flush->allotted = false;
    return flush->head != NULL;
}

/* MAX is near: allot what is left to the takes in the order they came. Those that get nothing are
 * released; for the others just that much is committed. */
static bool settle_exhausted(struct counter_flush *flush, struct due *due)
{
    struct counter *counter = flush->counter;
    const struct store_counter *stored = &flush->op.counter;
    bool current = is_current(flush);
    int64_t left = store_counter_left(stored);
    int64_t rest = 0; /* of a block that ends where what is left begins */
    if (current) {
        counter_learn(flush->shard, counter, stored, false);
        counter->full = left == 0;
        const struct counter_block *newest = counter_block_newest(counter);
        if (newest != NULL && newest->last == stored->value && flush->head != NULL)
            rest = counter_block_left(counter, newest);
    }
    int64_t fit = add_capped(left, rest);
    for (struct counter_take *take = flush->head; take != NULL; take = take->next) {
        take->served =
            fit / take->count < take->repeat ? (uint32_t)(fit / take->count) : take->repeat;
        fit -= take->count * take->served;
    }
    fail_takes(flush, unserved_take, ERROR_EXHAUSTED, OUTCOME_MAX, due);
    flush->allotted = true;
    int64_t total = flush_total(flush);
    if (total > 0 && total <= rest)
        return deal(flush, stored->value, 0, true, due);
    int64_t want = add_capped(total > rest ? total - rest : 0, reserve_of(counter));
    flush->want = want < left ? want : left;
    return flush->head != NULL || (flush->prefetch && flush->want > 0);
}

/* The step that a take depends on is known now. */
static bool settle_read(struct counter_flush *flush, struct due *due)
{
    struct counter *counter = flush->counter;
    struct store_counter found = flush->op.counter;
    if (flush->op.result == STORE_ABSENT)
        counters_how_created(flush->counters, counter->name, counter->name_len, &found);
    else if (is_current(flush))
        counter_learn(flush->shard, counter, &found, false);
    if (found.step != 1)
        fail_takes(flush, unit_step_take, ERROR_ERR, COUNTER_TEXT_STEP, due);
    return flush->head != NULL;
}

static bool settle_taken(struct counter_flush *flush, struct due *due)
{
    struct counter *counter = flush->counter;
    const struct store_counter *stored = &flush->op.counter;
    int64_t count = flush->op.count;
    /* Unsigned: the way may be longer than an int64. */
    uint64_t way = (uint64_t)count * (uint64_t)stored->step;
    int64_t before = (int64_t)((uint64_t)stored->value - way);
    if (went_back(flush, before)) {
        /* Where an order was done since, it has set the counter right. */
        if (flush->orders == counter->orders && !counter->stopped) {
            counter->stopped = true;
            counter_blocks_drop(counter);
            due->went_back = true;
            due_event(due, counter);
        }
        fail_takes(flush, every_take, ERROR_BACKWARD, COUNTER_TEXT_BACKWARD, due);
        return false;
    }
    bool keep = is_current(flush);
    if (keep) {
        bool known = counter->loaded && counter->generation == stored->generation;
        keep = !known || before >= counter->floor;
        counter_learn(flush->shard, counter, stored, true);
    }
    due->near_max = near_max(counter, stored);
    if (due->near_max)
        due_event(due, counter);
    /* It was dropped and made anew since its step was looked at. */
    if (stored->step != 1)
        fail_takes(flush, unit_step_take, ERROR_UNCERTAIN, COUNTER_TEXT_STEP, due);
    return deal(flush, before, count, keep, due);
}

static bool settle_failed(struct counter_flush *flush, struct due *due)
{
    const struct store_op *op = &flush->op;
    const char *text;
    enum error_word word = outcome_error(op, &text);
    fail_takes(flush, every_take, word, text, due);
    if (op->result == STORE_ABSENT && flush->orders == flush->counter->orders) {
        counter_blocks_drop(flush->counter);
        flush->counter->loaded = false;
    }
    return false;
}

static bool settle_flush(struct counter_flush *flush, struct due *due)
{
    const struct store_op *op = &flush->op;
    if (op->verb == STORE_READ &&
        (op->result == STORE_DONE ||
         (op->result == STORE_ABSENT && flush->counters->settings.auto_create)))
        return settle_read(flush, due);
    if (op->result == STORE_EXHAUSTED)
        return settle_exhausted(flush, due);
    if (op->result == STORE_DONE)
        return settle_taken(flush, due);
    return settle_failed(flush, due);
}

static void done_flush(struct store_op *op)
{
    struct counter_flush *flush = (struct counter_flush *)op;
    struct counters *counters = flush->counters;
    struct counter_shard *shard = flush->shard;
    struct due due = {.tail = &due.finished};

    pthread_mutex_lock(&shard->lock);
    uint32_t takes = flush->takes;
    bool again = settle_flush(flush, &due);
    if (!again && op->result == STORE_DONE)
        counter_gather_more(flush, takes);
    if (!again) /* a prefetch that left no block is not repeated at once: it would be in vain too */
        land(flush,
             op->result == STORE_DONE && (!flush->prefetch || flush->counter->blocks != NULL),
             &due);
    pthread_mutex_unlock(&shard->lock);
    carry_out(counters, &due);
    if (again)
        store_worker_submit(counters->worker, op);
    else
        free(flush);
}
