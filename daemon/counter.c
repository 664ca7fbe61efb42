#include "counter.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "counter_flush.h"

/* --- The table's life --- */

struct counters *counters_create(const struct counters_settings *settings, bool shared,
                                 unsigned flights, struct store_worker *worker)
{
    struct counters *counters = aligned_alloc(_Alignof(struct counters), sizeof *counters);
    if (counters == NULL)
        return NULL;
    memset(counters, 0, sizeof *counters);
    counters->settings = *settings;
    counters->shared = shared;
    counters->flights = flights < UINT8_MAX ? flights : UINT8_MAX;
    counters->worker = worker;
    size_t limit = settings->in_memory / COUNTER_SHARDS;
    for (size_t i = 0; i < COUNTER_SHARDS; i++) {
        if (counter_shard_init(&counters->shards[i], limit > 0 ? limit : 1) < 0) {
            counters_destroy(counters);
            return NULL;
        }
    }
    return counters;
}

void counters_destroy(struct counters *counters)
{
    if (counters == NULL)
        return;
    for (size_t i = 0; i < COUNTER_SHARDS; i++)
        counter_shard_finish(&counters->shards[i]);
    while (counters->overrides != NULL) {
        struct override *override = counters->overrides;
        counters->overrides = override->next;
        free(override);
    }
    free(counters);
}

int counters_override(struct counters *counters, const char *name, size_t name_len,
                      const struct store_counter *create)
{
    struct override *override = malloc(sizeof *override + name_len);
    if (override == NULL)
        return -1;
    override->create = *create;
    override->name_len = name_len;
    memcpy(override->name, name, name_len);
    override->next = counters->overrides;
    counters->overrides = override;
    return 0;
}

void counters_how_created(const struct counters *counters, const char *name, size_t name_len,
                          struct store_counter *create)
{
    const struct override *o = counters->overrides;
    while (o != NULL && !(o->name_len == name_len && memcmp(o->name, name, name_len) == 0))
        o = o->next;
    *create = o != NULL ? o->create : counters->settings.create;
    create->value = create->start - create->step;
}

void counters_look(struct counters *counters, struct counters_state *state)
{
    struct counters_state sum = {.headroom_percent = 100};
    for (size_t i = 0; i < COUNTER_SHARDS; i++) {
        struct counter_shard *shard = &counters->shards[i];
        pthread_mutex_lock(&shard->lock);
        sum.in_memory += shard->count;
        sum.bytes += shard->bytes;
        sum.from_block += shard->from_block;
        sum.from_store += shard->from_store;
        sum.flushes += shard->flushes;
        int headroom = counter_least_headroom(shard);
        if (headroom < sum.headroom_percent)
            sum.headroom_percent = headroom;
        pthread_mutex_unlock(&shard->lock);
    }
    *state = sum;
}

/* --- Giving back --- */

struct give_back {
    struct store_op op; /* first */
    char name[];
};

static void done_give_back(struct store_op *op)
{
    free(op);
}

/* Only the newest block can be the one that ends at the stored value; the store looks whether it
 * still does. */
struct store_op *counter_give_back(const struct counter *counter)
{
    const struct counter_block *block = counter_block_newest(counter);
    if (block == NULL)
        return NULL;
    struct give_back *give_back = calloc(1, sizeof *give_back + counter->name_len);
    if (give_back == NULL)
        return NULL;
    memcpy(give_back->name, counter->name, counter->name_len);
    give_back->op.verb = STORE_GIVE_BACK;
    give_back->op.name = give_back->name;
    give_back->op.name_len = counter->name_len;
    give_back->op.counter.value = block->last;
    give_back->op.counter.generation = counter->generation;
    give_back->op.value = block->next - counter->step;
    give_back->op.done = done_give_back;
    return &give_back->op;
}

static void submit_all(struct counters *counters, struct store_op *list)
{
    while (list != NULL) {
        struct store_op *op = list;
        list = op->next;
        store_worker_submit(counters->worker, op);
    }
}

/* For counter_obtain: an evicted counter's rest, put on the list that context points to. */
static void give_back_cb(void *context, const struct counter *counter)
{
    struct store_op **list = context;
    struct store_op *op = counter_give_back(counter);
    if (op == NULL)
        return;
    op->next = *list;
    *list = op;
}

void counters_give_back(struct counters *counters)
{
    for (size_t i = 0; i < COUNTER_SHARDS; i++) {
        struct counter_shard *shard = &counters->shards[i];
        struct store_op *list = NULL;
        pthread_mutex_lock(&shard->lock);
        shard->closing = true;
        pthread_cond_broadcast(&shard->gathered);
        for (size_t bucket = 0; bucket <= shard->mask; bucket++) {
            for (struct counter *c = shard->buckets[bucket]; c != NULL; c = c->chain) {
                if (!counter_is_idle(c))
                    continue; /* its last flush gives back what it leaves */
                give_back_cb(&list, c);
                counter_blocks_drop(c);
            }
        }
        pthread_mutex_unlock(&shard->lock);
        submit_all(counters, list);
    }
}

/* --- Takes --- */

bool counter_serve(struct counter_shard *shard, struct counter *counter, struct counter_take *take,
                   uint32_t least)
{
    struct counter_block *block;
    while ((block = counter->blocks) != NULL) {
        int64_t fits = counter_block_left(counter, block) / take->count;
        uint32_t replies = fits < take->repeat ? (uint32_t)fits : take->repeat;
        if (replies >= least) {
            take->served = replies;
            take->error = ERROR_NONE;
            take->first = block->next;
            take->step = counter->step;
            shard->from_block += replies;
#ifdef SABOTAGE_NO_LOCK
            if (take->flush == NULL) {
                pthread_mutex_unlock(&shard->lock);
                sched_yield();
                pthread_mutex_lock(&shard->lock);
                if (counter->blocks != block)
                    return true;
            }
#endif
            counter_blocks_use(counter, replies * take->count);
            return true;
        }
        if (block->newer == NULL)
            return false;
        counter_blocks_drop_oldest(counter);
    }
    return false;
}

static enum counter_status fail(struct counter_take *take, enum error_word error, const char *text)
{
    take->served = 0;
    take->error = error;
    take->text = strdup(text);
    return COUNTER_DONE;
}

/* With the lock held: from a block, into the open flush, or an error. */
static enum counter_status take_locked(struct counters *counters, struct clock_now now,
                                       struct counter *counter, struct counter_take *take)
{
    struct counter_shard *shard = take->shard;
    if (counter->stopped)
        return fail(take, ERROR_BACKWARD, COUNTER_TEXT_BACKWARD);
    if (counter->loaded && take->unit_step && counter->step != 1)
        return fail(take, ERROR_ERR, COUNTER_TEXT_STEP);
    counter_blocks_expire(counter, now.boot_ms);
    if (counter->waiting == 0 && counter_serve(shard, counter, take, 1)) {
        counter_flush_prefetch(counters, shard, counter);
        return COUNTER_DONE;
    }
    struct counter_flush *flush = counter->open;
    if (flush == NULL)
        counter_flush_outrun(counter);
    if (flush == NULL)
        flush = counter_flush_open(counters, shard, counter);
    if (flush == NULL)
        return fail(take, ERROR_TRYAGAIN, "out of memory");
    counter_flush_add(flush, take);
    return COUNTER_WAITS;
}

enum counter_status counter_take(struct counters *counters, struct clock_now now, const char *name,
                                 size_t name_len, struct counter_take *take)
{
    uint64_t seed = counters->settings.seed;
    uint64_t hash = counter_hash(seed, name, name_len);
    struct counter_shard *shard = counter_shard_of(counters->shards, hash);
    struct counter_flush *flush = NULL;
    struct store_op *evicted = NULL;
    take->flush = NULL;
    take->shard = shard;
    take->text = NULL;
    pthread_mutex_lock(&shard->lock);
    struct counter *counter =
        counter_obtain(shard, seed, hash, name, name_len, give_back_cb, &evicted);
    enum counter_status status =
        counter != NULL ? take_locked(counters, now, counter, take)
                        : fail(take, ERROR_TRYAGAIN, "no room for one more counter that waits");
    if (counter != NULL)
        flush = counter_flush_due(counters, counter);
    pthread_mutex_unlock(&shard->lock);
    submit_all(counters, evicted);
    if (take->batch != NULL && flush != NULL)
        store_batch_add(take->batch, &flush->op);
    else
        counter_flush_submit(counters, flush);
    return status;
}

/* While the store hangs, flushes that nobody waits for any more must not pile up. One that the
 * worker has picked up, or does not have yet, finds out when it is closed. */
static void drop_if_empty(struct counter_flush *flush)
{
    struct counter *counter = flush->counter;
    if (flush->head != NULL || flush->prefetch || !flush->submitted ||
        !store_worker_cancel(flush->counters->worker, &flush->op))
        return;
    counter->open = NULL;
    counter_settle(flush->counters, flush->shard, counter);
    free(flush);
}

bool counter_cancel(struct counter_take *take)
{
    struct counter_shard *shard = take->shard;
    bool taken_back = false;
    pthread_mutex_lock(&shard->lock);
    struct counter_flush *flush = take->flush;
    if (flush != NULL && !flush->closed) {
        counter_flush_remove(flush, take);
        drop_if_empty(flush);
        taken_back = true;
    }
    pthread_mutex_unlock(&shard->lock);
    return taken_back;
}

/* --- Orders --- */

/* The order changed the counter, or may have: every block reserved before it is stale. */
static void order_changed(struct counters *counters, struct counter_shard *shard,
                          struct counter *counter, const struct store_op *op)
{
    counter->orders++;
    counter_blocks_drop(counter);
    if (op->result == STORE_DONE && op->verb != STORE_DROP) {
        /* In a store that was restored even the new generation may be less than the known one. */
        if (counter->stopped || !counter->loaded || op->counter.generation >= counter->generation) {
            counter->loaded = false;
            counter->stopped = false;
            counter_learn(shard, counter, &op->counter, true);
        }
        return;
    }
    counter->loaded = false;
    counter_set_headroom(shard, counter, -1);
    if (op->result != STORE_UNKNOWN)
        counter->stopped = false;
    counter_settle(counters, shard, counter);
}

static void done_order(struct store_op *op)
{
    struct counter_order *order = (struct counter_order *)op;
    struct counters *counters = order->counters;
    if (op->verb != STORE_READ && op->verb != STORE_LIST &&
        (op->result == STORE_DONE || op->result == STORE_UNKNOWN || op->result == STORE_ABSENT)) {
        uint64_t hash = counter_hash(counters->settings.seed, op->name, op->name_len);
        struct counter_shard *shard = counter_shard_of(counters->shards, hash);
        pthread_mutex_lock(&shard->lock);
        struct counter *counter = counter_find(shard, hash, op->name, op->name_len);
        if (counter != NULL)
            order_changed(counters, shard, counter, op);
        pthread_mutex_unlock(&shard->lock);
    }
    order->done(order);
}

void counter_submit(struct counters *counters, struct counter_order *order)
{
    order->counters = counters;
    order->op.close = NULL;
    order->op.done = done_order;
    store_worker_submit(counters->worker, &order->op);
}

bool counter_withdraw(struct counter_order *order)
{
    return store_worker_cancel(order->counters->worker, &order->op);
}
