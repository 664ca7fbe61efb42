/* How takes share commits, what happens at MAX, and taking back. */
#include "counter_fixture.h"

/* --- First values and shared flushes --- */

START_TEST(first_value_is_start)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    ck_assert_int_eq(next(bench, "a"), 1);
    ck_assert_int_eq(next(bench, "a"), 2);
    ck_assert_int_eq(next(bench, "b"), 1);
    ck_assert_int_eq(stored(bench, "a")->value, 2);
    bench_destroy(bench);
}
END_TEST

START_TEST(start_and_step)
{
    struct bench *bench = bench_create(-10, 5, MANY, 1);
    struct wish wish;
    ck_assert_int_eq(next(bench, "a"), -10);
    ck_assert_int_eq(next(bench, "a"), -5);
    ask(bench, &wish, "a", 3);
    step(bench);
    ck_got(&wish, 0);
    ck_assert_int_eq(wish.take.step, 5);
    ck_assert_int_eq(next(bench, "a"), 15);
    bench_destroy(bench);
}
END_TEST

START_TEST(one_name_may_be_created_otherwise)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct store_counter create = {.start = 70, .step = 7, .max = 80, .cache = 1}, how;
    ck_assert_int_eq(counters_override(bench->counters, "odd", 3, &create), 0);
    counters_how_created(bench->counters, "odd", 3, &how);
    ck_assert_int_eq(how.value, 63);
    counters_how_created(bench->counters, "odder", 5, &how);
    ck_assert_int_eq(how.value, 0);
    ck_assert_int_eq(next(bench, "odd"), 70);
    ck_assert_int_eq(next(bench, "odd"), 77);
    ck_assert_int_eq(next_error(bench, "odd"), ERROR_EXHAUSTED);
    ck_assert_int_eq(next(bench, "odder"), 1);
    bench_destroy(bench);
}
END_TEST

START_TEST(takes_share_a_flush)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish wishes[3];
    ask(bench, &wishes[0], "a", 1);
    ask(bench, &wishes[1], "a", 3);
    ask(bench, &wishes[2], "a", 1);
    ck_assert_uint_eq(queued(bench), 1);
    step(bench);
    ck_got(&wishes[0], 1);
    ck_got(&wishes[1], 2);
    ck_got(&wishes[2], 5);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(wishes[i].nth, i + 1);
    ck_assert_uint_eq(look(bench).flushes, 1);
    ck_assert_uint_eq(look(bench).from_store, 3);
    ck_assert_uint_eq(look(bench).from_block, 0);
    bench_destroy(bench);
}
END_TEST

START_TEST(many_names_share_a_commit)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish wishes[3];
    ask(bench, &wishes[0], "a", 1);
    ask(bench, &wishes[1], "b", 1);
    ask(bench, &wishes[2], "c", 1);
    step(bench);
    for (int i = 0; i < 3; i++)
        ck_got(&wishes[i], 1);
    ck_assert_uint_eq(bench->worker.commits, 1);
    bench_destroy(bench);
}
END_TEST

START_TEST(closed_flush_takes_no_more)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish early, late, later;
    struct batch batch;
    ask(bench, &early, "a", 1);
    pick(bench, &batch);
    ask(bench, &late, "a", 1);
    ask(bench, &later, "a", 1);
    ck_assert_uint_eq(queued(bench), 0); /* one flight a counter */
    commit(bench, &batch);
    ck_assert_int_eq(stored(bench, "a")->value, 1);
    finish(&batch);
    ck_got(&early, 1);
    ck_assert(!late.done);
    ck_assert_uint_eq(queued(bench), 1);
    step(bench);
    ck_got(&late, 2);
    ck_got(&later, 3);
    bench_destroy(bench);
}
END_TEST

START_TEST(run_is_served_as_one)
{
    struct bench *bench = bench_create(1, 2, MANY, 1);
    struct wish run_of_3;
    ck_assert_int_eq(wish_for(bench, &run_of_3, "a", 2, 3, false), COUNTER_WAITS);
    step(bench);
    ck_got(&run_of_3, 1);
    ck_assert_int_eq(run_of_3.take.step, 2);
    ck_assert_int_eq(next(bench, "a"), 13);
    ck_assert_uint_eq(look(bench).from_store, 4);
    bench_destroy(bench);
}
END_TEST

/* --- MAX and int64's end --- */

START_TEST(waiters_that_fit_are_served)
{
    struct bench *bench = bench_create(1, 1, 5, 1);
    struct wish wishes[4];
    ask(bench, &wishes[0], "a", 3);
    ask(bench, &wishes[1], "a", 3);
    ask(bench, &wishes[2], "a", 2);
    ask(bench, &wishes[3], "a", 1);
    run(bench);
    ck_got(&wishes[0], 1);
    ck_failed(&wishes[1], ERROR_EXHAUSTED);
    ck_got(&wishes[2], 4);
    ck_failed(&wishes[3], ERROR_EXHAUSTED);
    ck_assert_int_eq(stored(bench, "a")->value, 5);
    ck_assert_int_eq(next_error(bench, "a"), ERROR_EXHAUSTED);
    ck_assert_int_eq(stored(bench, "a")->value, 5);
    bench_destroy(bench);
}
END_TEST

START_TEST(run_is_served_in_part)
{
    struct bench *bench = bench_create(1, 1, 5, 1);
    struct wish run_of_4;
    ck_assert_int_eq(wish_for(bench, &run_of_4, "a", 2, 4, false), COUNTER_WAITS);
    run(bench);
    ck_assert(run_of_4.done);
    ck_assert_uint_eq(run_of_4.take.served, 2);
    ck_assert_int_eq(run_of_4.take.first, 1);
    ck_assert_int_eq(run_of_4.take.error, ERROR_EXHAUSTED);
    free(run_of_4.take.text);
    ck_assert_int_eq(stored(bench, "a")->value, 4);
    ck_assert_int_eq(next(bench, "a"), 5);
    bench_destroy(bench);
}
END_TEST

START_TEST(name_that_would_exhaust_at_once_is_not_kept)
{
    struct bench *bench = bench_create(1, 1, 5, 1);
    struct wish wish;
    ask(bench, &wish, "a", 6);
    run(bench);
    ck_failed(&wish, ERROR_EXHAUSTED);
    ck_assert(!is_stored(bench, "a"));
    ck_assert_uint_eq(look(bench).in_memory, 0);
    bench_destroy(bench);
}
END_TEST

static const int64_t caches[] = {1, 2, 3, 10};

START_TEST(int64_end)
{
    struct bench *bench = bench_create(INT64_MAX - 2, 1, INT64_MAX, caches[_i]);
    struct wish wish;
    ck_assert_int_eq(next(bench, "a"), INT64_MAX - 2);
    ask(bench, &wish, "a", 3);
    run(bench);
    ck_failed(&wish, ERROR_EXHAUSTED);
    ck_assert_int_eq(next(bench, "a"), INT64_MAX - 1);
    ck_assert_int_eq(next(bench, "a"), INT64_MAX);
    ck_assert_int_eq(next_error(bench, "a"), ERROR_EXHAUSTED);
    ck_assert_int_eq(stored(bench, "a")->value, INT64_MAX);
    bench_destroy(bench);
}
END_TEST

/* One flush whose values span more than an int64. */
START_TEST(step_wider_than_int64)
{
    const int64_t by = INT64_C(1000000000000000000);
    struct bench *bench = bench_create(-8 * by, by, INT64_MAX, caches[_i]);
    struct wish wish;
    ck_assert_int_eq(next(bench, "a"), -8 * by);
    ck_assert_int_eq(wish_for(bench, &wish, "a", 5, 3, false), COUNTER_WAITS);
    run(bench);
    ck_got(&wish, -7 * by);
    ck_assert_int_eq(next(bench, "a"), 8 * by);
    ck_assert_int_eq(next(bench, "a"), 9 * by);
    ck_assert_int_eq(next_error(bench, "a"), ERROR_EXHAUSTED);
    bench_destroy(bench);
}
END_TEST

START_TEST(block_wider_than_int64)
{
    const int64_t by = INT64_C(1000000000000000000);
    struct bench *bench = bench_create(-8 * by, by, INT64_MAX, 17);
    struct wish wish;
    ck_assert_int_eq(next(bench, "a"), -8 * by);
    run(bench); /* the prefetch */
    ck_assert_int_eq(wish_for(bench, &wish, "a", 15, 1, false), COUNTER_DONE);
    ck_got(&wish, -7 * by);
    run(bench);
    ck_assert_int_eq(next_cached(bench, "a"), 8 * by);
    ck_assert_int_eq(next_cached(bench, "a"), 9 * by);
    ck_assert_int_eq(next_error(bench, "a"), ERROR_EXHAUSTED);
    bench_destroy(bench);
}
END_TEST

START_TEST(near_max_is_told_once)
{
    struct bench *bench = bench_create(1, 1, 10, 1);
    for (int64_t i = 1; i <= 10; i++) {
        ck_assert_uint_eq(bench->near_max, 0);
        ck_assert_int_eq(next(bench, "near"), i);
    }
    ck_assert_uint_eq(bench->near_max, 1);
    ck_assert_str_eq(bench->event_name, "near");
    ck_assert_int_eq(next_error(bench, "near"), ERROR_EXHAUSTED);
    ck_assert_uint_eq(bench->near_max, 1);
    bench_destroy(bench);
}
END_TEST

/* --- Cancelling --- */

START_TEST(cancel_open)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish wishes[4];
    for (int i = 0; i < 3; i++)
        ask(bench, &wishes[i], "a", 1);
    ck_assert(counter_cancel(&wishes[2].take)); /* the last: the list's end moves */
    ck_assert(counter_cancel(&wishes[0].take));
    ask(bench, &wishes[3], "a", 1);
    run(bench);
    ck_assert(!wishes[0].done && !wishes[2].done);
    ck_got(&wishes[1], 1);
    ck_got(&wishes[3], 2);
    ck_assert_int_eq(stored(bench, "a")->value, 2);
    bench_destroy(bench);
}
END_TEST

START_TEST(cancel_closed_and_done)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish wish;
    struct batch batch;
    ask(bench, &wish, "a", 1);
    pick(bench, &batch);
    ck_assert(!counter_cancel(&wish.take));
    commit(bench, &batch);
    ck_assert(!counter_cancel(&wish.take));
    finish(&batch);
    ck_got(&wish, 1);
    ck_assert(!counter_cancel(&wish.take));
    bench_destroy(bench);
}
END_TEST

/* Nothing is left to do: the name is neither created nor remembered. */
START_TEST(cancel_all)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish wish;
    ask(bench, &wish, "a", 1);
    ck_assert(counter_cancel(&wish.take));
    run(bench);
    ck_assert(!is_stored(bench, "a"));
    ck_assert_uint_eq(look(bench).in_memory, 0);
    ck_assert_int_eq(next(bench, "a"), 1);
    bench_destroy(bench);
}
END_TEST

/* While the store hangs, nothing is left of what was given up. */
START_TEST(cancel_leaves_nothing)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish one, other;
    ask(bench, &one, "a", 1);
    ask(bench, &other, "a", 1);
    ck_assert(counter_cancel(&one.take));
    ck_assert_ptr_nonnull(bench->worker.first);
    ck_assert(counter_cancel(&other.take));
    ck_assert_ptr_null(bench->worker.first);
    ck_assert_uint_eq(look(bench).in_memory, 0);
    ck_assert_int_eq(next(bench, "a"), 1);
    bench_destroy(bench);
}
END_TEST

/* Once the waiter has gone, the block serves again. */
START_TEST(cancel_frees_the_block)
{
    struct bench *bench = with_block(MANY, 10);
    struct wish big;
    ask(bench, &big, "a", 100);
    ck_assert(counter_cancel(&big.take));
    ck_assert_int_eq(next_cached(bench, "a"), 2);
    run(bench);
    ck_assert_int_eq(stored(bench, "a")->value, 11);
    ck_assert_int_eq(next_cached(bench, "a"), 3);
    bench_destroy(bench);
}
END_TEST

#define VERY_MANY 200000

/* The newest first, as connections come to their end in any order: with a search through those that
 * wait this would take minutes. */
START_TEST(cancel_very_many)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish *wishes = calloc(VERY_MANY, sizeof *wishes);
    ck_assert_ptr_nonnull(wishes);
    for (int i = 0; i < VERY_MANY; i++)
        ask(bench, &wishes[i], "a", 1);
    for (int i = VERY_MANY - 1; i > 0; i--)
        ck_assert(counter_cancel(&wishes[i].take));
    run(bench);
    ck_got(&wishes[0], 1);
    ck_assert_int_eq(stored(bench, "a")->value, 1);
    free(wishes);
    bench_destroy(bench);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counter");
    TCase *flushes = tcase_create("flushes");
    tcase_add_test(flushes, first_value_is_start);
    tcase_add_test(flushes, start_and_step);
    tcase_add_test(flushes, one_name_may_be_created_otherwise);
    tcase_add_test(flushes, takes_share_a_flush);
    tcase_add_test(flushes, many_names_share_a_commit);
    tcase_add_test(flushes, closed_flush_takes_no_more);
    tcase_add_test(flushes, run_is_served_as_one);
    suite_add_tcase(suite, flushes);
    TCase *max = tcase_create("max");
    tcase_add_test(max, waiters_that_fit_are_served);
    tcase_add_test(max, run_is_served_in_part);
    tcase_add_test(max, name_that_would_exhaust_at_once_is_not_kept);
    tcase_add_loop_test(max, int64_end, 0, 4);
    tcase_add_loop_test(max, step_wider_than_int64, 0, 4);
    tcase_add_test(max, block_wider_than_int64);
    tcase_add_test(max, near_max_is_told_once);
    suite_add_tcase(suite, max);
    TCase *cancelling = tcase_create("cancelling");
    tcase_add_test(cancelling, cancel_open);
    tcase_add_test(cancelling, cancel_closed_and_done);
    tcase_add_test(cancelling, cancel_all);
    tcase_add_test(cancelling, cancel_frees_the_block);
    tcase_add_test(cancelling, cancel_very_many);
    tcase_add_test(cancelling, cancel_leaves_nothing);
    suite_add_tcase(suite, cancelling);
    return run_suite(suite);
}
