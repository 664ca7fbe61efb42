#include "counter_flush.h"

#include <stdlib.h>
#include <string.h>

static bool close_flush(struct store_op *op);
static void done_flush(struct store_op *op);

/* --- Opening --- */

int64_t counter_block_left(const struct counter *counter, const struct counter_block *block)
{
    if (block->next > block->last)
        return 0;
    /* Unsigned: a block may reach across zero. At least 1; the sum can not overflow, since a block
     * was one commit's count or a chain of them. */
    uint64_t span = (uint64_t)block->last - (uint64_t)block->next;
    return (int64_t)(span / (uint64_t)counter->step) + 1;
}

struct counter_flush *counter_flush_open(struct counters *counters, struct counter_shard *shard,
                                         struct counter *counter)
{
    struct counter_flush *flush = calloc(1, sizeof *flush);
    if (flush == NULL)
        return NULL;
    flush->op.verb = STORE_TAKE;
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

struct counter_flush *counter_flush_due(struct counters *counters, struct counter *counter)
{
    struct counter_flush *flush = counter->open;
    if (flush == NULL || flush->submitted || counter->flights >= counters->flights)
        return NULL;
    flush->submitted = true;
    return flush;
}

void counter_flush_submit(struct counters *counters, struct counter_flush *flush)
{
    if (flush != NULL)
        store_worker_submit(counters->worker, &flush->op);
}

static bool wants_prefetch(const struct counter *counter)
{
    if (counter->cache <= 1 || counter->open != NULL || counter->flights > 0 || counter->stopped ||
        counter->full)
        return false;
    int64_t left = 0;
    for (const struct counter_block *b = counter->blocks; b != NULL; b = b->newer)
        left += counter_block_left(counter, b);
    return left < (counter->cache + 1) / 2;
}

void counter_flush_prefetch(struct counters *counters, struct counter_shard *shard,
                            struct counter *counter)
{
    if (!wants_prefetch(counter))
        return;
    struct counter_flush *flush = counter_flush_open(counters, shard, counter);
    if (flush != NULL)
        flush->prefetch = true;
}

/* --- Closing and dealing out, on worker threads --- */

/* The takes leave their flush; from here on they can not be cancelled, and `done` is due. */
static void release(struct counter *counter, struct counter_take *take)
{
    take->flush = NULL;
    counter->waiting--;
}

static void call_done(struct counter_take *list)
{
    while (list != NULL) {
        struct counter_take *take = list;
        list = take->next;
        take->done(take);
    }
}

/* Split the flush's takes: those that `error` does not concern stay; the others are released with
 * it and appended to *failed. */
static void fail_takes(struct counter_flush *flush, bool (*concerns)(const struct counter_take *),
                       enum error_word error, const char *text, struct counter_take **failed)
{
    struct counter_take **link = &flush->head;
    while (*failed != NULL)
        failed = &(*failed)->next;
    while (*link != NULL) {
        struct counter_take *take = *link;
        if (!concerns(take)) {
            link = &take->next;
            continue;
        }
        *link = take->next;
        release(flush->counter, take);
        take->next = NULL;
        take->served = 0;
        take->error = error;
        take->text = text != NULL && text[0] != '\0' ? strdup(text) : NULL;
        *failed = take;
        failed = &take->next;
    }
    flush->tail = link;
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

/* Decide what the op asks for. false: nothing, the flush has served its purpose. */
static bool prepare(struct counter_flush *flush, struct counter_take **failed)
{
    struct counters *counters = flush->counters;
    struct counter *counter = flush->counter;
    bool unit_step = false;
    for (const struct counter_take *take = flush->head; take != NULL; take = take->next)
        unit_step = unit_step || take->unit_step;
    if (unit_step && counter->loaded && counter->step != 1)
        fail_takes(flush, unit_step_take, ERROR_ERR,
                   "this counter's STEP is not 1: use NEXT name count", failed);
    if (counter->stopped)
        fail_takes(flush, every_take, ERROR_BACKWARD,
                   "the stored value went back; COUNTER RAISE or COUNTER RESET ... FORCE it",
                   failed);
    if (flush->head == NULL && (!flush->prefetch || counter->stopped))
        return false;
    struct store_op *op = &flush->op;
    /* Where a take depends on the step, and it is not known, it is read first. */
    op->verb = unit_step && !counter->loaded ? STORE_READ : STORE_TAKE;
    op->count = flush->head == NULL && flush->allotted ? flush->left : flush_total(flush);
    if (counter->cache > 1 && !flush->allotted &&
        __builtin_add_overflow(op->count, (int64_t)counter->cache, &op->count))
        op->count = INT64_MAX;
    op->create = counters->settings.auto_create && op->verb == STORE_TAKE;
    op->created = false;
    op->text[0] = '\0';
    counters_how_created(counters, counter->name, counter->name_len, &op->counter);
    flush->sent_ms = counters->settings.now().boot_ms;
    return true;
}

void counter_settle(struct counters *counters, struct counter_shard *shard, struct counter *counter)
{
    if (!counter->loaded && counter_is_idle(counter))
        counter_remove(shard, counters->settings.seed, counter);
}

static bool close_flush(struct store_op *op)
{
    struct counter_flush *flush = (struct counter_flush *)op;
    struct counters *counters = flush->counters;
    struct counter_shard *shard = flush->shard;
    struct counter *counter = flush->counter;
    struct counter_take *failed = NULL;

    pthread_mutex_lock(&shard->lock);
    bool again = flush->closed; /* a second round: it was under way already */
    if (!again) {
        flush->closed = true;
        counter->open = NULL;
        counter->flights++;
    }
    bool useful = prepare(flush, &failed);
    if (!useful) {
        counter->flights--;
        counter_settle(counters, shard, counter);
    }
    shard->flushes += useful;
    pthread_mutex_unlock(&shard->lock);
    call_done(failed);
    if (!useful)
        free(flush);
    return useful;
}

bool counter_learn(struct counter *counter, const struct store_counter *stored, int64_t first,
                   bool taken)
{
    bool known = counter->loaded && counter->generation == stored->generation;
    if (counter->loaded && stored->generation < counter->generation)
        return true; /* from before an order that overtook it */
    if (taken && known && first <= counter->floor) {
        counter->stopped = true;
        counter_blocks_drop(counter);
        return false;
    }
    if (!known)
        counter_blocks_drop(counter);
    if (!known || stored->value > counter->floor)
        counter->floor = stored->value;
    counter->step = stored->step;
    counter->cache = (uint32_t)stored->cache;
    counter->generation = stored->generation;
    counter->full = false;
    counter->loaded = true;
    return true;
}

/* Deal the values first .. last to the flush's takes, in order; what is left becomes, or lengthens,
 * a block. All takes of the flush are released. */
static void deal(struct counter_flush *flush, int64_t first, int64_t last)
{
    struct counter *counter = flush->counter;
    /* Values that an order has made stale may still be dealt, but not be kept. */
    bool current = counter->generation == flush->op.counter.generation;
    int64_t step = flush->op.counter.step;
    int64_t next = first;
    if (current && counter->blocks != NULL && flush->head != NULL) {
        while (counter->blocks->newer != NULL)
            counter_blocks_drop_oldest(counter);
        if (counter->blocks->last == first - step)
            next = counter->blocks->next;
        counter_blocks_drop(counter);
    }
    bool used_up = false;
    for (struct counter_take *take = flush->head; take != NULL; take = take->next) {
        uint32_t replies = flush->allotted ? take->served : take->repeat;
        release(counter, take);
        take->served = replies;
        take->error = replies < take->repeat ? ERROR_EXHAUSTED : ERROR_NONE;
        take->first = next;
        take->step = step;
        flush->shard->from_store += replies;
        used_up = __builtin_add_overflow(next, (int64_t)(replies * take->count) * step, &next) ||
                  next > last;
    }
    if (current && !used_up && counter->cache > 1) {
        int64_t until_ms = flush->counters->shared
                               ? flush->sent_ms + flush->counters->settings.block_ms
                               : INT64_MAX;
        (void)counter_blocks_add(counter, next, last, until_ms);
    }
}

/* MAX is near: allot what is left to the takes in the order they came. Those that get nothing are
 * released; true: some got something, and the flush is to be committed again with just that. */
static bool allot(struct counter_flush *flush, struct counter_take **failed)
{
    int64_t left = store_counter_left(&flush->op.counter);
    flush->counter->full = left == 0;
    for (struct counter_take *take = flush->head; take != NULL; take = take->next) {
        int64_t fits = left / take->count;
        take->served = fits < take->repeat ? (uint32_t)fits : take->repeat;
        left -= take->count * take->served;
    }
    fail_takes(flush, unserved_take, ERROR_EXHAUSTED, "the counter's MAX is reached", failed);
    flush->allotted = true;
    flush->left = left;
    return flush->head != NULL || (flush->prefetch && left > 0);
}

static void fail_all(struct counter_flush *flush, struct counter_take **failed)
{
    static const struct {
        enum error_word word;
        const char *text;
    } errors[] = {
        [-STORE_NOT_DONE] = {ERROR_TRYAGAIN, "the store did not answer; nothing was taken"},
        [-STORE_UNKNOWN] = {ERROR_UNCERTAIN,
                            "the store's answer is not known; values that were taken are lost"},
        [-STORE_ABSENT] = {ERROR_ERR, "no such counter"},
        [-STORE_WRONGTYPE] = {ERROR_WRONGTYPE, "the stored value is no integer"},
        [-STORE_REFUSED] = {ERROR_ERR, "the store refused this"},
    };
    size_t at = (size_t)-flush->op.result;
    if (at >= sizeof errors / sizeof errors[0] || errors[at].text == NULL)
        at = -STORE_UNKNOWN;
    const char *text = flush->op.text[0] != '\0' ? flush->op.text : errors[at].text;
    fail_takes(flush, every_take, errors[at].word, text, failed);
}

/* What a commit's result means for the takes. true: the flush goes round once more. */
static bool settle_flush(struct counter_flush *flush, struct counter_take **finished,
                         bool *backward)
{
    struct store_op *op = &flush->op;
    struct counter *counter = flush->counter;
    if (op->result == STORE_EXHAUSTED) {
        (void)counter_learn(counter, &op->counter, 0, false);
        return allot(flush, finished);
    }
    if (op->verb == STORE_READ && op->result == STORE_DONE) {
        (void)counter_learn(counter, &op->counter, 0, false);
        return true;
    }
    if (op->verb == STORE_READ && op->result == STORE_ABSENT &&
        flush->counters->settings.auto_create) {
        /* It will be created with a step that is known. */
        struct store_counter create;
        counters_how_created(flush->counters, counter->name, counter->name_len, &create);
        if (create.step != 1)
            fail_takes(flush, unit_step_take, ERROR_ERR,
                       "this counter's STEP is not 1: use NEXT name count", finished);
        for (struct counter_take *take = flush->head; take != NULL; take = take->next)
            take->unit_step = false;
        return flush->head != NULL;
    }
    if (op->result != STORE_DONE) {
        fail_all(flush, finished);
        return false;
    }
    int64_t first = op->counter.value - (op->count - 1) * op->counter.step;
    if (!counter_learn(counter, &op->counter, first, true)) {
        *backward = true;
        fail_takes(flush, every_take, ERROR_BACKWARD, "the stored value went back", finished);
        return false;
    }
    deal(flush, first, op->counter.value);
    *finished = flush->head;
    return false;
}

static bool near_max(struct counter *counter, const struct store_counter *stored)
{
    if (counter->near_max || stored->max <= stored->start)
        return false;
    uint64_t span = (uint64_t)stored->max - (uint64_t)stored->start;
    uint64_t left = (uint64_t)stored->max - (uint64_t)stored->value;
    counter->near_max = stored->value >= stored->start && left < span / 10;
    return counter->near_max;
}

static void tell(const struct counters *counters, enum counter_event event, bool happened,
                 const struct counter *counter)
{
    if (happened && counters->settings.event != NULL)
        counters->settings.event(counters->settings.context, event, counter->name,
                                 counter->name_len);
}

static void done_flush(struct store_op *op)
{
    struct counter_flush *flush = (struct counter_flush *)op;
    struct counters *counters = flush->counters;
    struct counter_shard *shard = flush->shard;
    struct counter *counter = flush->counter;
    struct counter_take *finished = NULL;
    struct counter_flush *next = NULL;
    bool backward = false;

    pthread_mutex_lock(&shard->lock);
    bool again = settle_flush(flush, &finished, &backward);
    tell(counters, COUNTER_WENT_BACK, backward, counter);
    tell(counters, COUNTER_NEAR_MAX, op->result == STORE_DONE && near_max(counter, &op->counter),
         counter);
    if (!again) {
        counter->flights--;
        if (op->result == STORE_DONE && !flush->prefetch)
            counter_flush_prefetch(counters, shard, counter);
        next = counter_flush_due(counters, counter);
        if (next == NULL)
            counter_settle(counters, shard, counter);
    }
    pthread_mutex_unlock(&shard->lock);
    call_done(finished);
    if (again)
        store_worker_submit(counters->worker, op);
    else
        free(flush);
    counter_flush_submit(counters, next);
}
