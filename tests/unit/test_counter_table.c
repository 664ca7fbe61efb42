/* Which counters are held in memory, and what that takes. */
#include <stdio.h>

#include "counter_fixture.h"

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

int main(void)
{
    Suite *suite = suite_create("counter_table");
    TCase *table = tcase_create("table");
    tcase_add_test(table, eviction_gives_blocks_back);
    tcase_add_test(table, waiting_counters_are_not_evicted);
    tcase_add_test(table, used_counters_are_spared);
    suite_add_tcase(suite, table);
    return run_suite(suite);
}
