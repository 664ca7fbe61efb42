/* Which counters are held in memory, and what that takes. */
#include <malloc.h>
#include <stdio.h>

#include "counter_fixture.h"
#include "counter_table.h"
#include "limit.h"

static const char *numbered(char name[32], int number)
{
    snprintf(name, 32, "name-%d", number);
    return name;
}

START_TEST(eviction_gives_blocks_back)
{
    char name[32];
    struct bench *bench = bench_create(1, 1, MANY, 10);
    bench->settings.in_memory = 64;
    bench_restart(bench);
    for (int i = 0; i < 500; i++) {
        ck_assert_int_eq(next(bench, numbered(name, i)), 1);
        run(bench);
        ck_assert_uint_le(look(bench).in_memory, 64);
    }
    ck_assert_uint_eq(bench->worker.give_backs, 500 - look(bench).in_memory);
    for (int i = 0; i < 500; i++)
        ck_assert_int_eq(next(bench, numbered(name, i)), 2);
    bench_destroy(bench);
}
END_TEST

/* Those with takes waiting come on top, and only for as long as they wait. */
START_TEST(waiting_counters_are_not_evicted)
{
    enum { COUNT = 1000 };
    char name[32];
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish *wishes = calloc(COUNT, sizeof *wishes);
    ck_assert_ptr_nonnull(wishes);
    bench->settings.in_memory = 64;
    bench_restart(bench);
    for (int i = 0; i < COUNT; i++)
        ask(bench, &wishes[i], numbered(name, i), 1);
    ck_assert_uint_eq(look(bench).in_memory, COUNT);
    run(bench);
    for (int i = 0; i < COUNT; i++)
        ck_got(&wishes[i], 1);
    for (int i = 0; i < 2 * COUNT; i++)
        (void)next(bench, numbered(name, i % COUNT));
    ck_assert_uint_le(look(bench).in_memory, 64);
    free(wishes);
    bench_destroy(bench);
}
END_TEST

/* A store that hangs, and clients that ask for ever new names: their counters can not be evicted
 * until the takes are cancelled. */
START_TEST(waiting_counters_are_bounded)
{
    enum { COUNT = LIMIT_WAITING_COUNTERS + LIMIT_WAITING_COUNTERS / 4 };
    char name[32];
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish *wishes = calloc(COUNT, sizeof *wishes), more;
    size_t waiting = 0, refused = 0;
    ck_assert_ptr_nonnull(wishes);
    bench->settings.in_memory = 64;
    bench_restart(bench);
    for (int i = 0; i < COUNT; i++) {
        struct counter_take *take = &wishes[i].take;
        if (wish_for(bench, &wishes[i], numbered(name, i), 1, 1, false) == COUNTER_WAITS)
            waiting++;
        else
            refused += take->served == 0 && take->error == ERROR_TRYAGAIN;
        free(take->text);
    }
    ck_assert_uint_eq(waiting + refused, COUNT);
    ck_assert_uint_eq(look(bench).in_memory, waiting);
    ck_assert_uint_le(waiting, LIMIT_WAITING_COUNTERS + 64);
    ck_assert_uint_gt(waiting, LIMIT_WAITING_COUNTERS / 2);
    ask(bench, &more, "name-0", 1); /* what waits already takes no more room */
    for (int i = 0; i < COUNT; i++)
        if (wishes[i].waits)
            ck_assert(counter_cancel(&wishes[i].take));
    ck_assert_uint_eq(look(bench).in_memory, 1);
    run(bench);
    ck_got(&more, 1);
    ck_assert_int_eq(next(bench, "new"), 1);
    ck_assert_uint_le(look(bench).in_memory, 64);
    free(wishes);
    bench_destroy(bench);
}
END_TEST

START_TEST(used_counters_are_spared)
{
    char name[32];
    struct bench *bench = bench_create(1, 1, MANY, 10);
    bench->settings.in_memory = 64 * 4;
    bench_restart(bench);
    int64_t value = next(bench, "hot");
    for (int i = 0; i < 1500; i++) {
        (void)next(bench, numbered(name, i));
        run(bench);
        ck_assert_int_eq(next_cached(bench, "hot"), ++value);
        run(bench);
    }
    bench_destroy(bench);
}
END_TEST

/* Commit without rows, which would take memory themselves: each counter is new. */
static void step_without_rows(struct bench *bench)
{
    struct batch batch;
    pick(bench, &batch);
    for (size_t i = 0; i < batch.count; i++) {
        struct store_op *op = batch.ops[i];
        op->counter.generation = 1;
        op->counter.value += op->count > 1; /* a prefetch: behind the first value */
        op->result = store_counter_take(&op->counter, op->count);
    }
    finish(&batch);
}

#define MILLION 1000000

/* A million counters take at most 150 bytes each, and their names: strict ones, and such that hold
 * a block. By what the table says and by what malloc says (which says nothing under a sanitizer).
 */
START_TEST(memory_of_a_counter)
{
    char name[32];
    size_t name_bytes = 0;
    struct bench *bench = bench_create(1, 1, MANY, _i == 0 ? 1 : 10);
    bench->settings.in_memory = 2 * MILLION;
    bench_restart(bench);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    int dealt = 0; /* each assertion writes to a file: none in a loop as long as this */
    for (int i = 0; i < MILLION; i++) {
        struct wish wish;
        name_bytes += strlen(numbered(name, i));
        dealt += wish_for(bench, &wish, name, 1, 1, false) == COUNTER_WAITS;
        step_without_rows(bench);
        if (_i == 1)
            step_without_rows(bench); /* the prefetch */
    }
    ck_assert_int_eq(dealt, MILLION);
    size_t taken = mallinfo2().uordblks + mallinfo2().hblkhd - before;
    struct counters_state state = look(bench);
    ck_assert_uint_eq(state.in_memory, MILLION);
    ck_assert_uint_eq(state.from_store, MILLION);
    printf("a counter takes %.1f bytes and its name, by malloc %.1f\n",
           (double)(state.bytes - name_bytes) / MILLION,
           ((double)taken - (double)name_bytes) / MILLION);
    ck_assert_uint_le(state.bytes, name_bytes + 150 * (size_t)MILLION);
    ck_assert_uint_le(taken, name_bytes + 150 * (size_t)MILLION);
    bench_destroy(bench);
}
END_TEST

/* Names as people choose them spread over shards and buckets, under any seed. */
START_TEST(names_spread)
{
    enum { NAMES = 64 * 256 };
    unsigned in_shard[64] = {0}, in_bucket[256] = {0};
    char name[32];
    for (int i = 0; i < NAMES; i++) {
        uint64_t hash = counter_hash((uint64_t)_i * 77, numbered(name, i), strlen(name));
        in_shard[hash >> 58]++;
        in_bucket[hash & 255]++;
    }
    for (int i = 0; i < 64; i++) /* 256 expected, and a deviation of 16 */
        ck_assert(in_shard[i] > 256 - 96 && in_shard[i] < 256 + 96);
    for (int i = 0; i < 256; i++) /* 64 expected, and a deviation of 8 */
        ck_assert(in_bucket[i] > 64 - 48 && in_bucket[i] < 64 + 48);
}
END_TEST

/* --- The least headroom --- */

START_TEST(headroom_of_a_counter)
{
    static const struct {
        struct store_counter counter;
        int percent;
    } rows[] = {
        {{.value = 0, .start = 1, .step = 1, .max = 100}, 100},
        {{.value = 1, .start = 1, .step = 1, .max = 101}, 100},
        {{.value = 2, .start = 1, .step = 1, .max = 101}, 99},
        {{.value = 3, .start = 1, .step = 1, .max = 1001}, 99}, /* 99.8 */
        {{.value = 1000, .start = 1, .step = 1, .max = 1001}, 0},
        {{.value = 101, .start = 1, .step = 1, .max = 101}, 0},
        {{.value = 500, .start = 1, .step = 1, .max = 101}, 0},
        {{.value = 7, .start = 7, .step = 1, .max = 7}, 0},
        {{.value = 6, .start = 7, .step = 1, .max = 7}, 100},
        {{.value = INT64_MIN, .start = INT64_MIN + 1, .step = 1, .max = INT64_MAX}, 100},
        {{.value = 0, .start = INT64_MIN, .step = 1, .max = INT64_MAX}, 49},
        {{.value = 1, .start = 1, .step = 1, .max = MANY}, 100},
        {{.value = 2, .start = 1, .step = 1, .max = MANY}, 99},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(store_counter_headroom(&rows[i].counter) == rows[i].percent, "row %zu: %d", i,
                      store_counter_headroom(&rows[i].counter));
}
END_TEST

START_TEST(the_least_headroom_is_told)
{
    struct bench *bench = bench_create(1, 1, 101, 1);
    ck_assert_int_eq(look(bench).headroom_percent, 100);
    for (int i = 0; i < 41; i++)
        (void)next(bench, "a");
    ck_assert_int_eq(look(bench).headroom_percent, 60);
    for (int i = 0; i < 101; i++)
        (void)next(bench, "b");
    ck_assert_int_eq(look(bench).headroom_percent, 0);
    ck_assert_int_eq(next_error(bench, "b"), ERROR_EXHAUSTED);
    ck_assert_int_eq(look(bench).headroom_percent, 0);
    order_now(bench, STORE_RESET, "b", 91);
    ck_assert_int_eq(look(bench).headroom_percent, 10);
    order_now(bench, STORE_RAISE, "b", 96);
    ck_assert_int_eq(look(bench).headroom_percent, 5);
    order_now(bench, STORE_DROP, "b", 0);
    ck_assert_int_eq(look(bench).headroom_percent, 60);
    order_now(bench, STORE_DROP, "a", 0);
    ck_assert_int_eq(look(bench).headroom_percent, 100);
    bench_destroy(bench);
}
END_TEST

/* A take waits, so the dropped counter stays in memory. */
START_TEST(headroom_of_a_dropped_counter_is_not_known)
{
    struct bench *bench = bench_create(1, 1, 101, 1);
    struct wanted_order drop;
    struct batch batch;
    struct wish wish;
    for (int i = 0; i < 100; i++)
        (void)next(bench, "a");
    ck_assert_int_eq(look(bench).headroom_percent, 1);
    order(bench, &drop, STORE_DROP, "a", 0);
    pick(bench, &batch);
    commit(bench, &batch);
    ask(bench, &wish, "a", 1);
    finish(&batch);
    ck_assert_uint_eq(look(bench).in_memory, 1);
    ck_assert_int_eq(look(bench).headroom_percent, 100);
    run(bench);
    ck_got(&wish, 1);
    bench_destroy(bench);
}
END_TEST

/* As counters come and go the shards' sums stay right. */
START_TEST(headroom_leaves_with_its_counter)
{
    char name[32];
    struct bench *bench = bench_create(1, 1, 101, 1);
    bench->settings.in_memory = 64;
    bench_restart(bench);
    for (int i = 0; i < 50; i++)
        (void)next(bench, "a");
    ck_assert_int_eq(look(bench).headroom_percent, 51);
    for (int i = 0; i < 2000; i++)
        (void)next(bench, numbered(name, i));
    ck_assert_int_eq(look(bench).headroom_percent, 100);
    for (int i = 0; i < 10; i++)
        (void)next(bench, "a");
    ck_assert_int_eq(look(bench).headroom_percent, 41);
    bench_destroy(bench);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counter_table");
    TCase *table = tcase_create("table");
    tcase_add_test(table, eviction_gives_blocks_back);
    tcase_add_test(table, waiting_counters_are_not_evicted);
    tcase_add_test(table, used_counters_are_spared);
    tcase_add_loop_test(table, names_spread, 0, 20);
    suite_add_tcase(suite, table);
    TCase *memory = tcase_create("memory");
    tcase_set_timeout(memory, 120);
    tcase_add_test(memory, waiting_counters_are_bounded);
    tcase_add_loop_test(memory, memory_of_a_counter, 0, 2);
    suite_add_tcase(suite, memory);
    TCase *headroom = tcase_create("headroom");
    tcase_add_test(headroom, headroom_of_a_counter);
    tcase_add_test(headroom, the_least_headroom_is_told);
    tcase_add_test(headroom, headroom_of_a_dropped_counter_is_not_known);
    tcase_add_test(headroom, headroom_leaves_with_its_counter);
    suite_add_tcase(suite, headroom);
    return run_suite(suite);
}
