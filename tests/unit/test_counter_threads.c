/* Many threads on few and on many names, over the worker's own threads and a store that fails now
 * and then: no value twice, none lower than one that was there before. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter.h"
#include "log.h"
#include "store_memory.h"
#include "suite.h"

#define THREADS 4
#define ROUNDS 8000
#define NAMES 160
#define HOT 4 /* names that half of the takes are of */

struct wish {
    struct counter_take take;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool done;
};

struct range {
    int name;
    int64_t first, last;
};

struct hammer {
    struct counters *counters;
    bool in_order; /* takes sent one after the other are served so */
};

struct hand {
    struct hammer *hammer;
    unsigned random;
    int64_t seen[NAMES]; /* the greatest value got */
    struct range *ranges;
    size_t count;
    const char *fault; /* what went wrong: asserts are for the main thread */
};

static struct clock_now no_time(void)
{
    return (struct clock_now){.real_ms = 1700000000000, .boot_ms = 1};
}

static void wish_done(struct counter_take *take)
{
    struct wish *wish = (struct wish *)take;
    pthread_mutex_lock(&wish->lock);
    wish->done = true;
    pthread_cond_signal(&wish->wake);
    pthread_mutex_unlock(&wish->lock);
}

static size_t name_text(char text[16], int name)
{
    return (size_t)snprintf(text, 16, "%s-%d", name % 2 == 0 ? "strict" : "cached", name);
}

static void wish_send(struct hand *hand, struct wish *wish, int name, int64_t count,
                      uint32_t repeat)
{
    char text[16];
    size_t len = name_text(text, name);
    *wish = (struct wish){.take = {.count = count, .repeat = repeat, .done = wish_done}};
    pthread_mutex_init(&wish->lock, NULL);
    pthread_cond_init(&wish->wake, NULL);
    if (counter_take(hand->hammer->counters, no_time(), text, len, &wish->take) == COUNTER_DONE)
        wish->done = true;
}

/* A greatest value so far, of those that an answer may not fall behind. */
static void wish_wait(struct hand *hand, struct wish *wish, int name, int64_t above)
{
    pthread_mutex_lock(&wish->lock);
    while (!wish->done)
        pthread_cond_wait(&wish->wake, &wish->lock);
    pthread_mutex_unlock(&wish->lock);
    pthread_mutex_destroy(&wish->lock);
    pthread_cond_destroy(&wish->wake);
    const struct counter_take *take = &wish->take;
    if (take->error != ERROR_NONE && take->error != ERROR_TRYAGAIN &&
        take->error != ERROR_UNCERTAIN)
        hand->fault = "an error that does not belong here";
    free(take->text);
    if (take->served == 0)
        return;
    struct range *range = &hand->ranges[hand->count++];
    *range = (struct range){name, take->first, take->first + take->served * take->count - 1};
    if (range->first <= above)
        hand->fault = "a value that is not above one that was there before";
    if (range->last > hand->seen[name])
        hand->seen[name] = range->last;
}

static void order_done(struct counter_order *order)
{
    free(order);
}

static void raise_counter(struct hand *hand, int name)
{
    struct raise {
        struct counter_order order;
        char text[16];
    } *raise = calloc(1, sizeof *raise);
    if (raise == NULL)
        return;
    raise->order.op.verb = STORE_RAISE;
    raise->order.op.name = raise->text;
    raise->order.op.name_len = name_text(raise->text, name);
    raise->order.op.value = hand->seen[name] + 5;
    raise->order.done = order_done;
    counter_submit(hand->hammer->counters, &raise->order);
    /* cppcheck-suppress memleak ; order_done frees it */
}

static void *hand_run(void *arg)
{
    struct hand *hand = arg;
    for (int i = 0; i < ROUNDS && hand->fault == NULL; i++) {
        unsigned random = (unsigned)rand_r(&hand->random);
        int name = (int)(random & 1 ? (random >> 1) % HOT : (random >> 1) % NAMES);
        struct wish first, second;
        int64_t above = hand->seen[name];
        wish_send(hand, &first, name, 1 + random % 3, 1);
        if (random % 16 == 3 && counter_cancel(&first.take)) {
            pthread_mutex_destroy(&first.lock);
            pthread_cond_destroy(&first.wake);
            continue;
        }
        if (random % 4 == 0) {
            wish_send(hand, &second, name, 2, 1 + random % 5);
            wish_wait(hand, &first, name, above);
            wish_wait(hand, &second, name, hand->hammer->in_order ? hand->seen[name] : above);
        } else {
            wish_wait(hand, &first, name, above);
        }
        if (random % 64 == 5)
            raise_counter(hand, name);
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    const struct range *left = a, *right = b;
    if (left->name != right->name)
        return left->name < right->name ? -1 : 1;
    return (left->first > right->first) - (left->first < right->first);
}

static void check_unique(const struct hand *hands)
{
    struct range *all = calloc(THREADS * 2 * ROUNDS, sizeof *all);
    size_t count = 0;
    ck_assert_ptr_nonnull(all);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_msg(hands[i].fault == NULL, "%s", hands[i].fault);
        memcpy(&all[count], hands[i].ranges, hands[i].count * sizeof *all);
        count += hands[i].count;
    }
    qsort(all, count, sizeof *all, compare);
    size_t twice = 0;
    for (size_t i = 1; i < count; i++)
        twice += all[i].name == all[i - 1].name && all[i].first <= all[i - 1].last;
    ck_assert_uint_eq(twice, 0);
    ck_assert_uint_gt(count, THREADS * ROUNDS / 2);
    free(all);
}

/* What is stored covers what was issued, also after blocks were given back. */
static void check_stored(struct store *store, const struct hand *hands)
{
    for (int name = 0; name < NAMES; name++) {
        char text[16];
        struct store_op op = {.verb = STORE_READ, .name = text}, *ops[] = {&op};
        op.name_len = name_text(text, name);
        store_commit(store, ops, 1);
        ck_assert_int_eq(op.result, STORE_DONE);
        for (int i = 0; i < THREADS; i++)
            ck_assert_int_ge(op.counter.value, hands[i].seen[name]);
    }
}

static const struct {
    const char *store;
    bool in_order;
    size_t in_memory;
} stores[] = {
    {"", true, 10000},
    {"", true, 64}, /* counters come and go */
    {"?workers=3", true, 64},
    {"?workers=4&flights=4", false, 10000},
    {"?workers=4&flights=4&shared=yes", false, 64},
};

static void run_hands(struct hand *hands)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, hand_run, &hands[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

START_TEST(no_value_twice)
{
    char why[256];
    struct store *store;
    struct store_worker *worker;
    static const char script[] = "ok*200,not_done,ok*50,unknown_applied,ok*50,unknown_lost*2,"
                                 "not_done*5,ok*300,unknown_applied*3,ok*500,not_done*20";
    ck_assert_int_eq(store_memory_backend.open(NULL, stores[_i].store, &store, why, sizeof why), 0);
    ck_assert_int_eq(store_memory_script(store, script), 0);
    ck_assert_int_eq(store_worker_create(store, 64, &worker), 0);
    struct counters_settings settings = {
        .create = {.start = 1, .step = 1, .max = INT64_MAX, .cache = 1},
        .auto_create = true,
        .seed = 99,
        .in_memory = stores[_i].in_memory,
        .block_ms = 10000,
        .now = no_time,
    };
    struct hammer hammer = {.counters =
                                counters_create(&settings, store->shared, store->flights, worker),
                            .in_order = stores[_i].in_order};
    ck_assert_ptr_nonnull(hammer.counters);
    settings.create.cache = 20;
    for (int name = 1; name < NAMES; name += 2) {
        char text[16];
        size_t len = name_text(text, name);
        ck_assert_int_eq(counters_override(hammer.counters, text, len, &settings.create), 0);
    }
    struct hand hands[THREADS] = {0};
    for (int i = 0; i < THREADS; i++) {
        hands[i].hammer = &hammer;
        hands[i].random = 1000u * (unsigned)_i + (unsigned)i;
        hands[i].ranges = calloc(2 * ROUNDS, sizeof(struct range));
        ck_assert_ptr_nonnull(hands[i].ranges);
    }
    run_hands(hands);
    counters_give_back(hammer.counters);
    store_worker_destroy(worker);
    check_unique(hands);
    check_stored(store, hands);
    counters_destroy(hammer.counters);
    store_close(store);
    for (int i = 0; i < THREADS; i++)
        free(hands[i].ranges);
}
END_TEST

int main(void)
{
    log_set_level(LOG_ERROR);
    Suite *suite = suite_create("counter_threads");
    TCase *tcase = tcase_create("hammer");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, no_value_twice, 0, (int)(sizeof stores / sizeof stores[0]));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
