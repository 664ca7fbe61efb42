#include "counter.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "counter_flush.h"

/* A block's unused rest on its way back to the store. */
struct give_back {
    struct store_op op; /* first */
    char name[];
};

static void give_back_block(void *context, const struct counter *counter);

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
    counters->flights = flights;
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
    *create = counters->settings.create;
    for (const struct override *o = counters->overrides; o != NULL; o = o->next)
        if (o->name_len == name_len && memcmp(o->name, name, name_len) == 0)
            *create = o->create;
    create->value = create->start - create->step;
}

void counters_give_back(struct counters *counters)
{
    for (size_t i = 0; i < COUNTER_SHARDS; i++) {
        struct counter_shard *shard = &counters->shards[i];
        pthread_mutex_lock(&shard->lock);
        for (size_t bucket = 0; bucket <= shard->mask; bucket++) {
            for (struct counter *c = shard->buckets[bucket]; c != NULL; c = c->chain) {
                if (c->blocks != NULL)
                    give_back_block(counters, c);
                counter_blocks_drop(c);
            }
        }
        pthread_mutex_unlock(&shard->lock);
    }
}

void counters_look(struct counters *counters, struct counters_state *state)
{
    struct counters_state sum = {0};
    for (size_t i = 0; i < COUNTER_SHARDS; i++) {
        struct counter_shard *shard = &counters->shards[i];
        pthread_mutex_lock(&shard->lock);
        sum.in_memory += shard->count;
        sum.bytes += shard->bytes;
        sum.from_block += shard->from_block;
        sum.from_store += shard->from_store;
        sum.flushes += shard->flushes;
        pthread_mutex_unlock(&shard->lock);
    }
    *state = sum;
}

/* --- Giving back --- */

static void done_give_back(struct store_op *op)
{
    free(op);
}

/* Only the newest block can be the one that ends at the stored value; the store looks whether it
 * still does. Where there is no memory for this the values are lost, as in a crash. */
static void give_back_block(void *context, const struct counter *counter)
{
    struct counters *counters = context;
    const struct counter_block *block = counter->blocks;
    while (block->newer != NULL)
        block = block->newer;
    struct give_back *give_back = calloc(1, sizeof *give_back + counter->name_len);
    if (give_back == NULL)
        return;
    memcpy(give_back->name, counter->name, counter->name_len);
    give_back->op.verb = STORE_GIVE_BACK;
    give_back->op.name = give_back->name;
    give_back->op.name_len = counter->name_len;
    give_back->op.counter.value = block->last;
    give_back->op.counter.generation = counter->generation;
    give_back->op.value = block->next - counter->step;
    give_back->op.done = done_give_back;
    store_worker_submit(counters->worker, &give_back->op);
}

/* --- Takes --- */

static void block_advance(struct counter *counter, struct counter_block *block, int64_t count)
{
    /* The step past int64's end only happens with the block's last value: it is dropped then. */
    if (count == counter_block_left(counter, block))
        counter_blocks_drop_oldest(counter);
    else
        block->next += count * counter->step;
}

/* Serve as many of the take's replies as the oldest block holds. */
static uint32_t serve(struct counter *counter, struct counter_take *take, uint32_t wanted)
{
    struct counter_block *block = counter->blocks;
    int64_t fits = counter_block_left(counter, block) / take->count;
    uint32_t replies = fits < wanted ? (uint32_t)fits : wanted;
    if (replies == 0)
        return 0;
    take->first = block->next;
    take->step = counter->step;
#ifdef SABOTAGE_NO_LOCK
    pthread_mutex_unlock(&take->shard->lock);
    sched_yield();
    pthread_mutex_lock(&take->shard->lock);
    if (counter->blocks != block)
        return replies;
#endif
    block_advance(counter, block, replies * take->count);
    return replies;
}

static void drop_expired_blocks(struct counter *counter, struct clock_now now)
{
    while (counter->blocks != NULL && now.boot_ms >= counter->blocks->until_ms)
        counter_blocks_drop_oldest(counter);
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
                                       struct counter_shard *shard, struct counter *counter,
                                       struct counter_take *take)
{
    if (counter->stopped)
        return fail(take, ERROR_BACKWARD,
                    "the stored value went back; COUNTER RAISE or COUNTER RESET ... FORCE it");
    if (counter->loaded && take->unit_step && counter->step != 1)
        return fail(take, ERROR_ERR, "this counter's STEP is not 1: use NEXT name count");
    drop_expired_blocks(counter, now);
    while (counter->waiting == 0 && counter->blocks != NULL) {
        take->served = serve(counter, take, take->repeat);
        if (take->served > 0) {
            shard->from_block += take->served;
            take->error = ERROR_NONE;
            return COUNTER_DONE;
        }
        if (counter->blocks->newer == NULL)
            break; /* the rest stays: the next block may adjoin it */
        counter_blocks_drop_oldest(counter);
    }
    struct counter_flush *flush = counter->open;
    if (flush == NULL)
        flush = counter_flush_open(counters, shard, counter);
    if (flush == NULL)
        return fail(take, ERROR_TRYAGAIN, "out of memory");
    take->next = NULL;
    take->flush = flush;
    *flush->tail = take;
    flush->tail = &take->next;
    counter->waiting++;
    return COUNTER_WAITS;
}

enum counter_status counter_take(struct counters *counters, struct clock_now now, const char *name,
                                 size_t name_len, struct counter_take *take)
{
    uint64_t seed = counters->settings.seed;
    uint64_t hash = counter_hash(seed, name, name_len);
    struct counter_shard *shard = counter_shard_of(counters->shards, hash);
    take->shard = shard;
    take->text = NULL;
    take->served = 0;
    pthread_mutex_lock(&shard->lock);
    struct counter *counter =
        counter_obtain(shard, seed, hash, name, name_len, give_back_block, counters);
    if (counter == NULL) {
        pthread_mutex_unlock(&shard->lock);
        return fail(take, ERROR_TRYAGAIN, "out of memory");
    }
    enum counter_status status = take_locked(counters, now, shard, counter, take);
    if (status == COUNTER_DONE && take->served > 0)
        counter_flush_prefetch(counters, shard, counter);
    struct counter_flush *flush = counter_flush_due(counters, counter);
    pthread_mutex_unlock(&shard->lock);
    counter_flush_submit(counters, flush);
    return status;
}

bool counter_cancel(struct counter_take *take)
{
    struct counter_shard *shard = take->shard;
    bool taken_back = false;
    pthread_mutex_lock(&shard->lock);
    struct counter_flush *flush = take->flush;
    if (flush != NULL && !flush->closed) {
        struct counter_take **link = &flush->head;
        while (*link != take)
            link = &(*link)->next;
        *link = take->next;
        if (flush->tail == &take->next)
            flush->tail = link;
        take->flush = NULL;
        flush->counter->waiting--;
        taken_back = true;
    }
    pthread_mutex_unlock(&shard->lock);
    return taken_back;
}

/* --- Orders --- */

/* An order that may have moved the value makes every block reserved before it stale. */
static void done_order(struct store_op *op)
{
    struct counter_order *order = (struct counter_order *)op;
    struct counters *counters = order->counters;
    bool changes = op->verb != STORE_READ && op->verb != STORE_LIST;
    if (changes && (op->result == STORE_DONE || op->result == STORE_UNKNOWN)) {
        uint64_t hash = counter_hash(counters->settings.seed, op->name, op->name_len);
        struct counter_shard *shard = counter_shard_of(counters->shards, hash);
        pthread_mutex_lock(&shard->lock);
        struct counter *counter = counter_find(shard, hash, op->name, op->name_len);
        if (counter != NULL) {
            counter_blocks_drop(counter);
            if (op->result == STORE_DONE && op->verb != STORE_DROP) {
                counter->stopped = false;
                (void)counter_learn(counter, &op->counter, 0, false);
            }
            if (op->verb == STORE_DROP) {
                counter->loaded = false;
                counter->stopped = false;
                counter_settle(counters, shard, counter);
            }
        }
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
