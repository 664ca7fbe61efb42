/* Values reserved ahead. */
#include "counter_fixture.h"

START_TEST(block_serves_from_memory)
{
    struct bench *bench = with_block(MANY, 10);
    struct wish run_of_2;
    ck_assert_int_eq(stored(bench, "a")->value, 11);
    ck_assert_int_eq(next_cached(bench, "a"), 2);
    ck_assert_int_eq(wish_for(bench, &run_of_2, "a", 2, 2, false), COUNTER_DONE);
    ck_got(&run_of_2, 3);
    ck_assert_uint_eq(look(bench).from_block, 3);
    ck_assert_uint_eq(queued(bench), 0);
    ck_assert_uint_eq(bench->worker.commits, 2);
    bench_destroy(bench);
}
END_TEST

/* A run gets what the block holds, and asks again for the rest. */
START_TEST(block_serves_a_run_in_part)
{
    struct bench *bench = with_block(MANY, 10);
    struct wish run_of_4, rest;
    ck_assert_int_eq(wish_for(bench, &run_of_4, "a", 3, 4, false), COUNTER_DONE);
    ck_assert_uint_eq(run_of_4.take.served, 3);
    ck_assert_int_eq(run_of_4.take.first, 2);
    ck_assert_int_eq(run_of_4.take.error, ERROR_NONE);
    ck_assert_int_eq(wish_for(bench, &rest, "a", 3, 1, false), COUNTER_WAITS);
    run(bench);
    ck_got(&rest, 11);
    bench_destroy(bench);
}
END_TEST

START_TEST(next_block_is_fetched_ahead)
{
    struct bench *bench = with_block(MANY, 10);
    int64_t value = 1;
    while (queued(bench) == 0)
        ck_assert_int_eq(next_cached(bench, "a"), ++value);
    ck_assert_int_lt(value, 11);
    struct batch batch;
    pick(bench, &batch);
    ck_assert_int_eq(next_cached(bench, "a"), ++value); /* none stalls meanwhile */
    commit(bench, &batch);
    ck_assert_int_eq(next_cached(bench, "a"), ++value);
    finish(&batch);
    while (value < 1000) {
        ck_assert_int_eq(next_cached(bench, "a"), ++value);
        run(bench);
    }
    bench_destroy(bench);
}
END_TEST

START_TEST(rest_is_kept_where_the_next_block_adjoins)
{
    struct bench *bench = with_block(MANY, 10);
    struct wish wish;
    ask(bench, &wish, "a", 15);
    run(bench);
    ck_got(&wish, 2);
    ck_assert_int_eq(next_cached(bench, "a"), 17);
    bench_destroy(bench);
}
END_TEST

START_TEST(rest_is_dropped_where_another_came_between)
{
    struct bench *bench = with_block(MANY, 10);
    struct wish wish;
    stored(bench, "a")->value = 50; /* another daemon's values */
    ask(bench, &wish, "a", 15);
    run(bench);
    ck_got(&wish, 51);
    ck_assert_int_eq(next_cached(bench, "a"), 66);
    bench_destroy(bench);
}
END_TEST

START_TEST(what_does_not_fit_goes_to_the_next_block)
{
    struct bench *bench = with_block(MANY, 10);
    struct wish wish;
    for (int64_t value = 2; value <= 7; value++)
        ck_assert_int_eq(next_cached(bench, "a"), value);
    stored(bench, "a")->value = 50;
    run(bench); /* the prefetch: 8 .. 11 and 51 .. 60 */
    ck_assert_int_eq(next_cached(bench, "a"), 8);
    ck_assert_int_eq(wish_for(bench, &wish, "a", 5, 1, false), COUNTER_DONE);
    ck_got(&wish, 51);
    ck_assert_int_eq(next_cached(bench, "a"), 56);
    bench_destroy(bench);
}
END_TEST

START_TEST(nobody_overtakes_a_waiter)
{
    struct bench *bench = with_block(MANY, 10);
    struct wish big, small;
    struct batch batch;
    ask(bench, &big, "a", 15);
    ask(bench, &small, "a", 1);
    pick(bench, &batch);
    struct wish late;
    ask(bench, &late, "a", 1);
    commit(bench, &batch);
    finish(&batch);
    ck_got(&big, 2);
    ck_got(&small, 17);
    ck_got(&late, 18); /* from what the flush left, without a commit of its own */
    ck_assert_uint_lt(small.nth, late.nth);
    ck_assert_int_eq(next_cached(bench, "a"), 19);
    bench_destroy(bench);
}
END_TEST

START_TEST(prefetch_serves_those_that_wait)
{
    struct bench *bench = with_block(MANY, 10);
    struct wish wishes[3];
    struct batch batch;
    for (int64_t value = 2; value <= 7; value++)
        ck_assert_int_eq(next_cached(bench, "a"), value);
    pick(bench, &batch); /* the prefetch: 12 .. 21 */
    for (int64_t value = 8; value <= 11; value++)
        ck_assert_int_eq(next_cached(bench, "a"), value);
    ask(bench, &wishes[0], "a", 1);
    ck_assert_int_eq(wish_for(bench, &wishes[1], "a", 2, 2, false), COUNTER_WAITS);
    ask(bench, &wishes[2], "a", 8);
    commit(bench, &batch);
    finish(&batch);
    ck_got(&wishes[0], 12);
    ck_got(&wishes[1], 13);
    ck_assert(!wishes[2].done);
    run(bench);
    ck_got(&wishes[2], 17);
    bench_destroy(bench);
}
END_TEST

/* Near MAX the rest of a block counts: what fits is served, without a gap. */
START_TEST(block_and_max)
{
    struct bench *bench = with_block(14, 10);
    struct wish wishes[3];
    ck_assert_int_eq(stored(bench, "a")->value, 11);
    ask(bench, &wishes[0], "a", 14); /* 13 are left: 2 .. 11 in the block, 12 .. 14 in the store */
    ask(bench, &wishes[1], "a", 11);
    run(bench);
    ck_failed(&wishes[0], ERROR_EXHAUSTED);
    ck_got(&wishes[1], 2);
    run(bench);
    ck_assert_int_eq(stored(bench, "a")->value, 14);
    ask(bench, &wishes[0], "a", 3);
    ask(bench, &wishes[1], "a", 1); /* may not be told EXHAUSTED: two are left */
    ask(bench, &wishes[2], "a", 1);
    unsigned commits = bench->worker.commits;
    step(bench);
    ck_failed(&wishes[0], ERROR_EXHAUSTED);
    ck_got(&wishes[1], 13);
    ck_got(&wishes[2], 14);
    ck_assert_uint_eq(bench->worker.commits, commits + 1);
    ck_assert_int_eq(next_error(bench, "a"), ERROR_EXHAUSTED);
    bench_destroy(bench);
}
END_TEST

START_TEST(cache_larger_than_what_is_left)
{
    struct bench *bench = bench_create(1, 1, 20, 1000);
    for (int64_t i = 1; i <= 20; i++) {
        ck_assert_int_eq(next(bench, "a"), i);
        run(bench);
    }
    ck_assert_int_eq(next_error(bench, "a"), ERROR_EXHAUSTED);
    ck_assert_uint_le(bench->worker.commits, 6);
    bench_destroy(bench);
}
END_TEST

START_TEST(shared_blocks_expire)
{
    struct bench *bench = bench_create(1, 1, MANY, 10);
    struct batch batch;
    bench->shared = true;
    bench_restart(bench);
    ck_assert_int_eq(next(bench, "a"), 1);
    pick(bench, &batch); /* sent now: the time counts from here */
    fake_clock_pass(&bench_clock, 4000);
    commit(bench, &batch);
    finish(&batch);
    fake_clock_pass(&bench_clock, 5999);
    fake_clock_step(&bench_clock, -86400000);
    ck_assert_int_eq(next_cached(bench, "a"), 2);
    fake_clock_pass(&bench_clock, 1);
    stored(bench, "a")->value = 100; /* as another daemon may by now: by RAISE, or by taking */
    struct wish wish;
    ask(bench, &wish, "a", 1);
    run(bench);
    ck_got(&wish, 101);
    bench_destroy(bench);
}
END_TEST

START_TEST(unshared_blocks_do_not_expire)
{
    struct bench *bench = with_block(MANY, 10);
    fake_clock_pass(&bench_clock, INT64_C(365) * 86400000);
    ck_assert_int_eq(next_cached(bench, "a"), 2);
    bench_destroy(bench);
}
END_TEST

/* Draw until a prefetch is under way, and on until a take has to wait for it; then let it land. */
static void outrun(struct bench *bench)
{
    struct batch batch;
    struct wish wish;
    while (queued(bench) == 0)
        next_cached(bench, "a");
    pick(bench, &batch);
    while (wish_for(bench, &wish, "a", 1, 1, false) == COUNTER_DONE)
        ck_got(&wish, wish.take.first);
    commit(bench, &batch);
    finish(&batch);
    run(bench);
    ck_got(&wish, wish.take.first);
}

/* How many values the next prefetch reserves. */
static int64_t reserves(struct bench *bench)
{
    int64_t before = stored(bench, "a")->value;
    while (queued(bench) == 0)
        next_cached(bench, "a");
    step(bench);
    return stored(bench, "a")->value - before;
}

START_TEST(demand_that_outruns_reserves_more_until_it_is_slow)
{
    struct bench *bench = with_block(MANY, 10);
    ck_assert_int_eq(reserves(bench), 10);
    outrun(bench);
    ck_assert_int_eq(reserves(bench), 20);
    for (int i = 0; i < 10; i++)
        outrun(bench);
    ck_assert_int_eq(reserves(bench), 160);
    fake_clock_pass(&bench_clock, 3000);
    ck_assert_int_eq(reserves(bench), 10);
    bench_destroy(bench);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counter_blocks");
    TCase *blocks = tcase_create("blocks");
    tcase_add_test(blocks, block_serves_from_memory);
    tcase_add_test(blocks, block_serves_a_run_in_part);
    tcase_add_test(blocks, next_block_is_fetched_ahead);
    tcase_add_test(blocks, rest_is_kept_where_the_next_block_adjoins);
    tcase_add_test(blocks, rest_is_dropped_where_another_came_between);
    tcase_add_test(blocks, what_does_not_fit_goes_to_the_next_block);
    tcase_add_test(blocks, nobody_overtakes_a_waiter);
    tcase_add_test(blocks, prefetch_serves_those_that_wait);
    tcase_add_test(blocks, block_and_max);
    tcase_add_test(blocks, cache_larger_than_what_is_left);
    tcase_add_test(blocks, shared_blocks_expire);
    tcase_add_test(blocks, unshared_blocks_do_not_expire);
    tcase_add_test(blocks, demand_that_outruns_reserves_more_until_it_is_slow);
    suite_add_tcase(suite, blocks);
    return run_suite(suite);
}
