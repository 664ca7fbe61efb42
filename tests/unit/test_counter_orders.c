/* Orders (RAISE, RESET, DROP) beside takes and blocks, and handing blocks back. */
#include "counter_fixture.h"

/* --- Orders --- */

START_TEST(orders_drop_blocks)
{
    static const struct {
        enum store_verb verb;
        int64_t value, next;
    } rows[] = {
        {STORE_RAISE, 500, 501}, {STORE_RAISE, 5, 12}, /* moves nothing, but values up to 5 may have
                                                          come by another way */
        {STORE_RESET, 4, 5},     {STORE_RESET, 600, 601}, {STORE_DROP, 0, 1},
    };
    struct bench *bench = with_block(MANY, 10);
    int64_t generation = stored(bench, "a")->generation;
    order_now(bench, rows[_i].verb, "a", rows[_i].value);
    ck_assert_int_eq(next(bench, "a"), rows[_i].next);
    ck_assert_int_gt(stored(bench, "a")->generation, generation);
    run(bench);
    ck_assert_int_eq(next_cached(bench, "a"), rows[_i].next + 1);
    bench_destroy(bench);
}
END_TEST

/* The block is dropped before the order's reply can be sent. */
START_TEST(block_serves_until_the_order_is_done)
{
    struct bench *bench = with_block(MANY, 10);
    struct wanted_order raise;
    struct batch batch;
    order(bench, &raise, STORE_RAISE, "a", 500);
    ck_assert_int_eq(next_cached(bench, "a"), 2);
    pick(bench, &batch);
    commit(bench, &batch);
    ck_assert_int_eq(next_cached(bench, "a"), 3);
    finish(&batch);
    ck_assert(raise.done);
    ck_assert_int_eq(next(bench, "a"), 501);
    bench_destroy(bench);
}
END_TEST

/* Use the block up until a prefetch has been submitted. */
static int64_t use_until_prefetch(struct bench *bench)
{
    int64_t value = 1;
    while (queued(bench) == 0)
        value = next_cached(bench, "a");
    return value;
}

enum when { BEFORE, AFTER };

static const struct {
    enum when prefetch; /* submitted before the order, or after it */
    bool reversed;      /* done in the other order than committed in, as by two worker threads */
    enum store_verb verb;
    int64_t value, next;
} races[] = {
    {BEFORE, false, STORE_RAISE, 500, 501}, {BEFORE, true, STORE_RAISE, 500, 501},
    {AFTER, false, STORE_RAISE, 500, 501},  {AFTER, true, STORE_RAISE, 500, 0},
    {BEFORE, false, STORE_RESET, 3, 4},     {BEFORE, true, STORE_RESET, 3, 4},
    {AFTER, false, STORE_RESET, 3, 4},      {AFTER, true, STORE_RESET, 3, 0},
    {BEFORE, false, STORE_DROP, 0, 1},      {BEFORE, true, STORE_DROP, 0, 1},
    {AFTER, false, STORE_DROP, 0, 1},       {AFTER, true, STORE_DROP, 0, 1},
};

/* A prefetch in the same batch as an order. next 0: the prefetched block is of the new generation,
 * but was there first and is dropped: a gap, and never a value below it. */
START_TEST(order_beside_a_prefetch)
{
    struct bench *bench = with_block(MANY, 10);
    struct wanted_order wanted;
    struct batch batch;
    if (races[_i].prefetch == BEFORE)
        (void)use_until_prefetch(bench);
    order(bench, &wanted, races[_i].verb, "a", races[_i].value);
    while (queued(bench) < 2)
        (void)next_cached(bench, "a");
    pick(bench, &batch);
    commit(bench, &batch);
    ck_assert_uint_eq(batch.count, 2);
    if (races[_i].verb == STORE_DROP)
        ck_assert(!is_stored(bench, "a")); /* a prefetch creates nothing */
    if (races[_i].reversed) {
        struct store_op *first = batch.ops[0];
        batch.ops[0] = batch.ops[1];
        batch.ops[1] = first;
    }
    finish(&batch);
    int64_t gap = races[_i].value + 11;
    ck_assert_int_eq(next(bench, "a"), races[_i].next != 0 ? races[_i].next : gap);
    ck_assert_uint_eq(bench->went_back, 0);
    bench_destroy(bench);
}
END_TEST

/* A prefetch that is under way keeps the counter in memory; its block goes all the same. */
START_TEST(order_while_a_prefetch_is_under_way)
{
    static const struct {
        enum store_verb verb;
        enum store_result result;
    } rows[] = {{STORE_DROP, STORE_DONE}, {STORE_RESET, STORE_UNKNOWN}};
    struct bench *bench = with_block(MANY, 10);
    struct wanted_order wanted;
    struct wish wish;
    struct batch prefetch;
    (void)use_until_prefetch(bench);
    pick(bench, &prefetch);
    order(bench, &wanted, rows[_i].verb, "a", 3);
    if (rows[_i].result == STORE_DONE)
        step(bench);
    else
        step_fails(bench, rows[_i].result, true);
    ck_assert(wanted.done);
    ask(bench, &wish, "a", 1);
    commit(bench, &prefetch);
    finish(&prefetch);
    run(bench);
    ck_assert(wish.done);
    bench_destroy(bench);
}
END_TEST

/* A flush with takes in the same batch: they are served, but the block it leaves is stale. */
START_TEST(order_beside_takes)
{
    struct bench *bench = with_block(MANY, 10);
    struct wanted_order raise;
    struct wish wish;
    struct batch batch;
    ask(bench, &wish, "a", 20);
    order(bench, &raise, STORE_RAISE, "a", 500);
    pick(bench, &batch);
    commit(bench, &batch);
    struct store_op *first = batch.ops[0];
    batch.ops[0] = batch.ops[1];
    batch.ops[1] = first;
    finish(&batch); /* the order first */
    ck_got(&wish, 12);
    ck_assert_int_eq(next(bench, "a"), 501);
    bench_destroy(bench);
}
END_TEST

START_TEST(takes_behind_a_drop_create_anew)
{
    struct bench *bench = with_block(MANY, 10);
    struct wanted_order drop;
    struct wish wish;
    order(bench, &drop, STORE_DROP, "a", 0);
    ask(bench, &wish, "a", 20);
    step(bench);
    ck_got(&wish, 1);
    ck_assert_int_eq(next(bench, "a"), 31); /* the rest may have been from before */
    ck_assert_uint_eq(bench->went_back, 0);
    bench_destroy(bench);
}
END_TEST

/* Whether the order was applied is not known: the block goes, no value comes twice. */
START_TEST(order_of_unknown_outcome)
{
    bool applied = _i == 1;
    struct bench *bench = with_block(MANY, 10);
    struct wanted_order raise;
    order(bench, &raise, STORE_RAISE, "a", 500);
    step_fails(bench, STORE_UNKNOWN, applied);
    ck_assert_int_eq(raise.order.op.result, STORE_UNKNOWN);
    ck_assert_int_eq(next(bench, "a"), applied ? 501 : 12);
    bench_destroy(bench);
}
END_TEST

START_TEST(order_that_was_not_done_keeps_the_block)
{
    struct bench *bench = with_block(MANY, 10);
    struct wanted_order raise;
    order(bench, &raise, STORE_RAISE, "a", 500);
    step_fails(bench, STORE_NOT_DONE, false);
    ck_assert_int_eq(next_cached(bench, "a"), 2);
    bench_destroy(bench);
}
END_TEST

START_TEST(reading_changes_nothing)
{
    struct bench *bench = with_block(MANY, 10);
    order_now(bench, STORE_READ, "a", 0);
    ck_assert_int_eq(next_cached(bench, "a"), 2);
    bench_destroy(bench);
}
END_TEST

START_TEST(order_withdrawn)
{
    struct bench *bench = with_block(MANY, 10);
    struct wanted_order raise;
    struct batch batch;
    order(bench, &raise, STORE_RAISE, "a", 500);
    ck_assert(counter_withdraw(&raise.order));
    run(bench);
    ck_assert(!raise.done);
    ck_assert_int_eq(stored(bench, "a")->value, 11);
    order(bench, &raise, STORE_RAISE, "a", 500);
    pick(bench, &batch);
    ck_assert(!counter_withdraw(&raise.order));
    commit(bench, &batch);
    finish(&batch);
    ck_assert(raise.done);
    bench_destroy(bench);
}
END_TEST

/* Takes near MAX that count on a block's rest, which a RAISE makes stale before they are dealt. */
START_TEST(order_between_two_rounds_of_a_flush)
{
    struct bench *bench = with_block(14, 10);
    struct wish wishes[2];
    struct wanted_order reset;
    ask(bench, &wishes[0], "a", 11);
    ask(bench, &wishes[1], "a", 2); /* 2 .. 12 and 13, 14, of which 12 .. 14 are in the store */
    step(bench);
    ck_assert_uint_eq(queued(bench), 1);
    order(bench, &reset, STORE_RESET, "a", 7);
    struct batch batch;
    struct store_op *flush = bench->worker.first;
    bench->worker.first = flush->next;
    bench->worker.last = &reset.order.op.next;
    flush->next = NULL;
    step(bench); /* the reset */
    store_worker_submit(&bench->worker, flush);
    pick(bench, &batch);
    commit(bench, &batch);
    finish(&batch);
    run(bench);
    ck_failed(&wishes[0], ERROR_EXHAUSTED);
    ck_assert(wishes[1].done);
    free(wishes[1].take.text);
    ck_assert_int_le(stored(bench, "a")->value, 14);
    bench_destroy(bench);
}
END_TEST

/* --- Handing blocks back --- */

START_TEST(clean_stop_gives_back)
{
    struct bench *bench = with_block(MANY, 10);
    ck_assert_int_eq(next_cached(bench, "a"), 2);
    counters_give_back(bench->counters);
    run(bench);
    ck_assert_int_eq(stored(bench, "a")->value, 2);
    bench_restart(bench);
    ck_assert_int_eq(next(bench, "a"), 3);
    bench_destroy(bench);
}
END_TEST

START_TEST(nothing_is_given_back_where_the_counter_moved)
{
    struct bench *bench = with_block(MANY, 10);
    stored(bench, "a")->value = _i == 0 ? 100 : 11;
    stored(bench, "a")->generation += _i;
    counters_give_back(bench->counters);
    run(bench);
    ck_assert_int_eq(stored(bench, "a")->value, _i == 0 ? 100 : 11);
    ck_assert_uint_eq(bench->worker.give_backs, 0);
    bench_destroy(bench);
}
END_TEST

/* What is under way at a clean stop is given back when it comes. */
START_TEST(clean_stop_beside_a_prefetch)
{
    struct bench *bench = with_block(MANY, 10);
    struct batch batch;
    int64_t value = use_until_prefetch(bench);
    if (_i == 1)
        pick(bench, &batch);
    counters_give_back(bench->counters);
    if (_i == 1) {
        commit(bench, &batch);
        finish(&batch);
    }
    run(bench);
    ck_assert_int_eq(stored(bench, "a")->value, value);
    bench_destroy(bench);
}
END_TEST

START_TEST(clean_stop_beside_takes)
{
    struct bench *bench = with_block(MANY, 10);
    struct wish wish;
    ask(bench, &wish, "a", 20);
    counters_give_back(bench->counters);
    run(bench);
    ck_got(&wish, 2);
    ck_assert_int_eq(stored(bench, "a")->value, 21);
    bench_destroy(bench);
}
END_TEST

START_TEST(failed_give_back_costs_a_gap)
{
    struct bench *bench = with_block(MANY, 10);
    counters_give_back(bench->counters);
    step_fails(bench, _i == 0 ? STORE_NOT_DONE : STORE_UNKNOWN, _i == 2);
    bench_restart(bench);
    ck_assert_int_eq(next(bench, "a"), _i == 2 ? 2 : 12);
    bench_destroy(bench);
}
END_TEST

START_TEST(crash_skips_at_most_what_was_reserved)
{
    struct bench *bench = with_block(MANY, 10);
    int64_t last = 1;
    for (int i = 0; i < 50; i++) {
        for (int j = 0; j < i % 13; j++) {
            last = next(bench, "a");
            run(bench);
        }
        int64_t reserved = stored(bench, "a")->value;
        ck_assert_int_le(reserved - last, 10 + 10 / 2);
        crash(bench);
        ck_assert_int_eq(next(bench, "a"), reserved + 1);
        last = reserved + 1;
        run(bench);
    }
    bench_destroy(bench);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counter_orders");
    TCase *orders = tcase_create("orders");
    tcase_add_loop_test(orders, orders_drop_blocks, 0, 5);
    tcase_add_test(orders, block_serves_until_the_order_is_done);
    tcase_add_loop_test(orders, order_beside_a_prefetch, 0, (int)(sizeof races / sizeof races[0]));
    tcase_add_loop_test(orders, order_while_a_prefetch_is_under_way, 0, 2);
    tcase_add_test(orders, order_beside_takes);
    tcase_add_test(orders, takes_behind_a_drop_create_anew);
    tcase_add_loop_test(orders, order_of_unknown_outcome, 0, 2);
    tcase_add_test(orders, order_that_was_not_done_keeps_the_block);
    tcase_add_test(orders, reading_changes_nothing);
    tcase_add_test(orders, order_withdrawn);
    tcase_add_test(orders, order_between_two_rounds_of_a_flush);
    suite_add_tcase(suite, orders);
    TCase *handing = tcase_create("handing back");
    tcase_add_test(handing, clean_stop_gives_back);
    tcase_add_loop_test(handing, nothing_is_given_back_where_the_counter_moved, 0, 2);
    tcase_add_loop_test(handing, clean_stop_beside_a_prefetch, 0, 2);
    tcase_add_test(handing, clean_stop_beside_takes);
    tcase_add_loop_test(handing, failed_give_back_costs_a_gap, 0, 3);
    tcase_add_test(handing, crash_skips_at_most_what_was_reserved);
    suite_add_tcase(suite, handing);
    return run_suite(suite);
}
