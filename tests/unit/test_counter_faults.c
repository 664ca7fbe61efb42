/* A store that fails, loses what it knew, or does not have the counter; and takes that depend on
 * the STEP. */
#include "counter_fixture.h"

/* --- Outcomes --- */

START_TEST(not_done_means_try_again)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish wishes[3];
    for (int i = 0; i < 3; i++)
        ask(bench, &wishes[i], "a", 1);
    step_fails(bench, STORE_NOT_DONE, false);
    for (int i = 0; i < 3; i++)
        ck_failed(&wishes[i], ERROR_TRYAGAIN);
    ck_assert_uint_eq(look(bench).in_memory, 0);
    ck_assert_int_eq(next(bench, "a"), 1);
    bench_destroy(bench);
}
END_TEST

/* Those that came meanwhile are not lost with those that failed. */
START_TEST(next_flush_follows_a_failed_one)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish early, late;
    struct batch batch;
    ask(bench, &early, "a", 1);
    pick(bench, &batch);
    ask(bench, &late, "a", 1);
    commit_fails(bench, &batch, STORE_NOT_DONE, false);
    finish(&batch);
    ck_failed(&early, ERROR_TRYAGAIN);
    step(bench);
    ck_got(&late, 1);
    bench_destroy(bench);
}
END_TEST

/* Values of an unknown outcome are lost, never issued. */
START_TEST(unknown_means_uncertain)
{
    bool applied = _i & 1;
    int64_t cache = _i & 2 ? 10 : 1;
    struct bench *bench = bench_create(1, 1, MANY, cache);
    struct wish wishes[2];
    ck_assert_int_eq(next(bench, "a"), 1);
    run(bench);
    int64_t saved = stored(bench, "a")->value;
    ask(bench, &wishes[0], "a", 12);
    ask(bench, &wishes[1], "a", 1);
    step_fails(bench, STORE_UNKNOWN, applied);
    ck_failed(&wishes[0], ERROR_UNCERTAIN);
    ck_failed(&wishes[1], ERROR_UNCERTAIN);
    if (cache > 1) /* the block was not part of it */
        ck_assert_int_eq(next_cached(bench, "a"), 2);
    else
        ck_assert_int_eq(next(bench, "a"), applied ? saved + 14 : 2);
    bench_destroy(bench);
}
END_TEST

START_TEST(other_errors_are_passed_on)
{
    static const struct {
        enum store_result result;
        enum error_word word;
    } rows[] = {
        {STORE_WRONGTYPE, ERROR_WRONGTYPE},
        {STORE_REFUSED, ERROR_ERR},
        {STORE_CHANGED, ERROR_UNCERTAIN}, /* no answer to a take: who knows */
    };
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish wish;
    ask(bench, &wish, "a", 1);
    step_fails(bench, rows[_i].result, false);
    ck_assert_str_eq(wish.take.text, "by script");
    ck_failed(&wish, rows[_i].word);
    bench_destroy(bench);
}
END_TEST

/* An outage takes nothing from a block, and the prefetch is tried again. */
START_TEST(block_outlives_an_outage)
{
    struct bench *bench = with_block(MANY, 10);
    for (int64_t value = 2; value <= 11; value++) {
        ck_assert_int_eq(next_cached(bench, "a"), value);
        ck_assert_uint_le(queued(bench), 1);
        step_fails(bench, STORE_NOT_DONE, false);
    }
    struct wish wish;
    ask(bench, &wish, "a", 1);
    step_fails(bench, STORE_NOT_DONE, false);
    ck_failed(&wish, ERROR_TRYAGAIN);
    ck_assert_int_eq(next(bench, "a"), 12);
    bench_destroy(bench);
}
END_TEST

/* --- BACKWARD --- */

static void ck_stopped(struct bench *bench)
{
    struct wish wish;
    ck_assert_int_eq(wish_for(bench, &wish, "a", 1, 1, false), COUNTER_DONE);
    ck_failed(&wish, ERROR_BACKWARD);
}

/* The counter stands at 20; then someone sets it back, and a take finds out. */
static struct bench *set_back(int64_t cache, int64_t value, int64_t generations)
{
    struct bench *bench = bench_create(1, 1, MANY, cache);
    struct wish wishes[2];
    while (next(bench, "a") < 20)
        run(bench);
    order_now(bench, STORE_RAISE, "a", 20);
    while (next(bench, "a") < 40)
        run(bench);
    stored(bench, "a")->value = value;
    stored(bench, "a")->generation -= generations;
    bench->worker.generation -= generations;
    ask(bench, &wishes[0], "a", 100);
    ask(bench, &wishes[1], "a", 1);
    run(bench);
    ck_failed(&wishes[0], ERROR_BACKWARD);
    ck_failed(&wishes[1], ERROR_BACKWARD);
    ck_assert_uint_eq(bench->went_back, 1);
    ck_assert_str_eq(bench->event_name, "a");
    ck_stopped(bench);
    ck_assert_uint_eq(queued(bench), 0);
    return bench;
}

static const struct {
    int64_t cache, value, generations;
    enum store_verb mend;
    int64_t to, next;
} backs[] = {
    {1, 39, 0, STORE_RAISE, 1000, 1001},  {1, 5, 0, STORE_RAISE, 1000, 1001},
    {1, 5, 0, STORE_RESET, 70, 71},       {1, 5, 0, STORE_RESET, 2, 3},
    {1, 5, 0, STORE_DROP, 0, 1},          {10, 5, 0, STORE_RAISE, 1000, 1001},
    {10, 5, 0, STORE_RESET, 70, 71},      {1, 10, 1, STORE_RAISE, 1000, 1001},
    {1, 900, 1, STORE_RAISE, 2000, 2001}, /* restored to before a RAISE, by its generation */
    {10, 10, 1, STORE_RESET, 70, 71},
};

START_TEST(backward_stops_until_it_is_mended)
{
    struct bench *bench = set_back(backs[_i].cache, backs[_i].value, backs[_i].generations);
    order_now(bench, backs[_i].mend, "a", backs[_i].to);
    for (int64_t i = 0; i < 30; i++) {
        ck_assert_int_eq(next(bench, "a"), backs[_i].next + i);
        run(bench);
    }
    ck_assert_uint_eq(bench->went_back, 1);
    bench_destroy(bench);
}
END_TEST

/* Counters that were just started know nothing; the store knows what was issued. */
START_TEST(floor_of_the_store_counts)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish wish;
    struct batch batch;
    while (next(bench, "a") < 20)
        run(bench);
    bench_restart(bench);
    ask(bench, &wish, "a", 1);
    pick(bench, &batch);
    ck_assert_uint_eq(batch.count, 1);
    commit(bench, &batch);
    batch.ops[0]->floor = 20 + _i;
    finish(&batch);
    if (_i == 0) {
        ck_got(&wish, 21);
    } else {
        ck_failed(&wish, ERROR_BACKWARD);
        ck_assert_uint_eq(bench->went_back, 1);
        ck_stopped(bench);
        order_now(bench, STORE_RAISE, "a", 1000);
    }
    ck_assert_int_eq(next(bench, "a"), _i == 0 ? 22 : 1001);
    bench_destroy(bench);
}
END_TEST

/* The store is told what is past handing back. */
START_TEST(what_is_issued_is_told)
{
    struct bench *bench = with_block(MANY, 10);
    struct wish wish;
    struct batch batch;
    ck_assert_int_eq(next_cached(bench, "a"), 2);
    ask(bench, &wish, "a", 100);
    pick(bench, &batch);
    ck_assert_uint_eq(batch.count, 1);
    ck_assert(batch.ops[0]->reserves);
    ck_assert_int_eq(batch.ops[0]->issued, 2);
    ck_assert_int_eq(batch.ops[0]->issued_generation, stored(bench, "a")->generation);
    ck_assert_int_eq(batch.ops[0]->floor, INT64_MIN);
    commit(bench, &batch);
    finish(&batch);
    bench_destroy(bench);
}
END_TEST

START_TEST(failed_mending_leaves_it_stopped)
{
    struct bench *bench = set_back(1, 5, 0);
    struct wanted_order raise;
    order(bench, &raise, STORE_RAISE, "a", 1000);
    step_fails(bench, _i == 0 ? STORE_NOT_DONE : STORE_UNKNOWN, false);
    ck_stopped(bench);
    order_now(bench, STORE_READ, "a", 0);
    ck_stopped(bench);
    order_now(bench, STORE_RAISE, "a", 1000);
    ck_assert_int_eq(next(bench, "a"), 1001);
    bench_destroy(bench);
}
END_TEST

START_TEST(backward_fails_those_that_wait_behind)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish early, late;
    struct batch batch;
    for (int i = 0; i < 5; i++)
        (void)next(bench, "a");
    stored(bench, "a")->value = 1;
    ask(bench, &early, "a", 1);
    pick(bench, &batch);
    ask(bench, &late, "a", 1);
    commit(bench, &batch);
    finish(&batch);
    run(bench);
    ck_failed(&early, ERROR_BACKWARD);
    ck_failed(&late, ERROR_BACKWARD);
    ck_assert_int_eq(stored(bench, "a")->value, 2);
    bench_destroy(bench);
}
END_TEST

/* A stopped counter is remembered however many others come. */
START_TEST(stopped_counter_is_not_evicted)
{
    char name[] = "name-000";
    struct bench *bench = bench_create(1, 1, MANY, 1);
    bench->settings.in_memory = 64;
    bench_restart(bench);
    for (int i = 0; i < 5; i++)
        (void)next(bench, "a");
    stored(bench, "a")->value = 1;
    ck_assert_int_eq(next_error(bench, "a"), ERROR_BACKWARD);
    for (int i = 0; i < 1000; i++) {
        name[5] = (char)('0' + i / 100);
        name[6] = (char)('0' + i / 10 % 10);
        name[7] = (char)('0' + i % 10);
        ck_assert_int_eq(next(bench, name), 1);
    }
    ck_stopped(bench);
    bench_destroy(bench);
}
END_TEST

/* Another daemon reserved values and gave them back: nothing went back that we had issued. */
START_TEST(what_others_give_back_is_not_backward)
{
    struct bench *bench = bench_create(1, 1, 100, 1);
    ck_assert_int_eq(next(bench, "a"), 1);
    stored(bench, "a")->value = 100;
    ck_assert_int_eq(next_error(bench, "a"), ERROR_EXHAUSTED);
    stored(bench, "a")->value = 50;
    ck_assert_int_eq(next(bench, "a"), 51);
    bench_destroy(bench);
}
END_TEST

/* Several flushes of a counter under way, done in another order than they were committed in. */
START_TEST(several_flights)
{
    struct bench *bench = bench_create(1, 1, MANY, _i == 0 ? 1 : 10);
    struct wish wishes[3];
    struct batch first, second;
    bench->flights = 3;
    bench_restart(bench);
    ck_assert_int_eq(next(bench, "a"), 1);
    run(bench);
    ask(bench, &wishes[0], "a", 20);
    pick(bench, &first);
    ask(bench, &wishes[1], "a", 20);
    pick(bench, &second);
    commit(bench, &first);
    commit(bench, &second);
    finish(&second);
    ask(bench, &wishes[2], "a", 1); /* does not pass those that wait */
    finish(&first);
    ck_assert(wishes[0].done && wishes[1].done);
    ck_assert_int_eq(wishes[0].take.error, ERROR_NONE);
    ck_assert_int_eq(wishes[1].take.error, ERROR_NONE);
    ck_assert_int_ge(wishes[1].take.first, wishes[0].take.first + 20);
    run(bench);
    ck_got(&wishes[2], wishes[2].take.first);
    int64_t last = wishes[2].take.first;
    ck_assert_int_ge(last, wishes[1].take.first + 20);
    for (int i = 0; i < 50; i++) {
        int64_t value = next(bench, "a");
        ck_assert_int_gt(value, last);
        last = value;
        run(bench);
    }
    ck_assert_uint_eq(bench->went_back, 0);
    bench_destroy(bench);
}
END_TEST

/* A client's second take is not under way beside its first, whether the flush that it joins has
 * been submitted already (loop 1) or not: flights may land in any order. */
START_TEST(a_take_behind_another_waits_for_it)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish mine[2], other;
    struct batch first, second;
    bench->flights = 3;
    bench_restart(bench);
    ask(bench, &mine[0], "a", 1);
    pick(bench, &first);
    if (_i == 1)
        ask(bench, &other, "a", 1);
    mine[1] = (struct wish){.take = {.count = 1, .repeat = 1, .behind = true, .done = wish_done},
                            .bench = bench,
                            .waits = true};
    ck_assert_int_eq(counter_take(bench->counters, bench_clock, "a", 1, &mine[1].take),
                     COUNTER_WAITS);
    pick(bench, &second);
    ck_assert_uint_eq(second.count, 0);
    ck_assert(!mine[1].done);
    commit(bench, &first);
    finish(&first);
    run(bench);
    ck_got(&mine[0], 1);
    if (_i == 1)
        ck_got(&other, 2);
    ck_got(&mine[1], _i == 1 ? 3 : 2);
    /* The next one, behind nothing, flies beside others again. */
    ask(bench, &mine[0], "a", 1);
    pick(bench, &first);
    ask(bench, &mine[1], "a", 1);
    pick(bench, &second);
    ck_assert_uint_eq(second.count, 1);
    commit(bench, &first);
    commit(bench, &second);
    finish(&first);
    finish(&second);
    bench_destroy(bench);
}
END_TEST

/* --- Counters that do not exist --- */

START_TEST(absent_name_is_an_error_and_takes_no_memory)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish plain, unit;
    bench->settings.auto_create = false;
    bench_restart(bench);
    uint64_t bytes = look(bench).bytes;
    ask(bench, &plain, "a", 1);
    ck_assert_int_eq(wish_for(bench, &unit, "b", 3, 1, true), COUNTER_WAITS);
    run(bench);
    ck_assert_str_eq(plain.take.text, "no such counter");
    ck_failed(&plain, ERROR_ERR);
    ck_failed(&unit, ERROR_ERR);
    ck_assert(!is_stored(bench, "a") && !is_stored(bench, "b"));
    ck_assert_uint_eq(look(bench).in_memory, 0);
    ck_assert_uint_eq(look(bench).bytes, bytes);
    order_now(bench, STORE_CREATE, "a", 0);
    ck_assert_int_eq(next(bench, "a"), 1);
    bench_destroy(bench);
}
END_TEST

/* Dropped by another daemon: once that is known the block is not used any more. */
START_TEST(counter_that_vanished_is_forgotten)
{
    struct bench *bench = bench_create(1, 1, MANY, 10);
    struct wish wish;
    bench->settings.auto_create = false;
    bench_restart(bench);
    order_now(bench, STORE_CREATE, "a", 0);
    ck_assert_int_eq(next(bench, "a"), 1);
    run(bench);
    row_of(bench, "a", 1)->exists = false;
    ask(bench, &wish, "a", 50);
    run(bench);
    ck_failed(&wish, ERROR_ERR);
    ck_assert_int_eq(next_error(bench, "a"), ERROR_ERR);
    ck_assert_uint_eq(look(bench).in_memory, 0);
    bench_destroy(bench);
}
END_TEST

/* --- Takes that depend on the STEP --- */

START_TEST(unit_step_is_looked_at_first)
{
    struct bench *bench = bench_create(1, _i == 0 ? 1 : 5, MANY, 1);
    bool exists = _i < 2;
    if (exists)
        ck_assert_int_eq(next(bench, "a"), 1);
    bench_restart(bench); /* the step is not known any more */
    struct wish unit, plain;
    ck_assert_int_eq(wish_for(bench, &unit, "a", 3, 1, true), COUNTER_WAITS);
    ask(bench, &plain, "a", 2);
    run(bench);
    if (_i == 0) {
        ck_got(&unit, 2);
        ck_got(&plain, 5);
    } else {
        ck_failed(&unit, ERROR_ERR);
        ck_got(&plain, exists ? 6 : 1); /* nothing was taken for the other */
    }
    ck_assert_int_eq(wish_for(bench, &unit, "a", 3, 1, true),
                     _i == 0 ? COUNTER_WAITS : COUNTER_DONE);
    run(bench);
    if (_i == 0)
        ck_got(&unit, 7);
    else
        ck_failed(&unit, ERROR_ERR);
    bench_destroy(bench);
}
END_TEST

/* Where all of it was refused, those that came meanwhile are sent on. */
START_TEST(refused_flush_leaves_nobody_waiting)
{
    struct bench *bench = bench_create(1, 5, MANY, 1);
    struct wish unit, late;
    struct batch batch;
    ck_assert_int_eq(next(bench, "a"), 1);
    bench_restart(bench);
    ck_assert_int_eq(wish_for(bench, &unit, "a", 3, 1, true), COUNTER_WAITS);
    pick(bench, &batch);
    ask(bench, &late, "a", 1);
    commit(bench, &batch);
    finish(&batch);
    run(bench);
    ck_failed(&unit, ERROR_ERR);
    ck_got(&late, 6);
    bench_destroy(bench);
}
END_TEST

/* As above, but known only when the second round closes. */
START_TEST(refused_second_round_leaves_nobody_waiting)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish unit, late;
    struct batch batch;
    ck_assert_int_eq(wish_for(bench, &unit, "a", 3, 1, true), COUNTER_WAITS);
    step(bench); /* looked: it is absent, and will be created with STEP 1 */
    ck_assert(!unit.done);
    struct store_op *flush = bench->worker.first;
    ck_assert(store_worker_cancel(&bench->worker, flush));
    bench->settings.create.step = 5;
    order_now(bench, STORE_CREATE, "a", 0);
    ask(bench, &late, "a", 1);
    store_worker_submit(&bench->worker, flush);
    pick(bench, &batch);
    ck_failed(&unit, ERROR_ERR);
    commit(bench, &batch);
    finish(&batch);
    run(bench);
    ck_got(&late, 1);
    bench_destroy(bench);
}
END_TEST

START_TEST(unit_step_name_is_created)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wish unit;
    ck_assert_int_eq(wish_for(bench, &unit, "a", 3, 2, true), COUNTER_WAITS);
    run(bench);
    ck_got(&unit, 1);
    ck_assert(unit.take.unit_step);
    ck_assert_int_eq(stored(bench, "a")->value, 6);
    bench_destroy(bench);
}
END_TEST

/* Dropped and made anew with another STEP in the very commit that takes. */
START_TEST(step_changes_under_a_take)
{
    struct bench *bench = bench_create(1, 1, MANY, 1);
    struct wanted_order drop, create;
    struct wish unit, plain;
    ck_assert_int_eq(next(bench, "a"), 1);
    order(bench, &drop, STORE_DROP, "a", 0);
    bench->settings.create.step = 5;
    order(bench, &create, STORE_CREATE, "a", 0);
    ck_assert_int_eq(wish_for(bench, &unit, "a", 3, 1, true), COUNTER_WAITS);
    ask(bench, &plain, "a", 1);
    run(bench);
    ck_failed(&unit, ERROR_UNCERTAIN);
    ck_got(&plain, plain.take.first);
    ck_assert_int_eq(plain.take.step, 5);
    bench_destroy(bench);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counter_faults");
    TCase *outcomes = tcase_create("outcomes");
    tcase_add_test(outcomes, not_done_means_try_again);
    tcase_add_test(outcomes, next_flush_follows_a_failed_one);
    tcase_add_loop_test(outcomes, unknown_means_uncertain, 0, 4);
    tcase_add_loop_test(outcomes, other_errors_are_passed_on, 0, 3);
    tcase_add_test(outcomes, block_outlives_an_outage);
    suite_add_tcase(suite, outcomes);
    TCase *backward = tcase_create("backward");
    tcase_add_loop_test(backward, backward_stops_until_it_is_mended, 0,
                        (int)(sizeof backs / sizeof backs[0]));
    tcase_add_loop_test(backward, floor_of_the_store_counts, 0, 2);
    tcase_add_test(backward, what_is_issued_is_told);
    tcase_add_loop_test(backward, failed_mending_leaves_it_stopped, 0, 2);
    tcase_add_test(backward, backward_fails_those_that_wait_behind);
    tcase_add_test(backward, stopped_counter_is_not_evicted);
    tcase_add_test(backward, what_others_give_back_is_not_backward);
    tcase_add_loop_test(backward, several_flights, 0, 2);
    tcase_add_loop_test(backward, a_take_behind_another_waits_for_it, 0, 2);
    suite_add_tcase(suite, backward);
    TCase *absent = tcase_create("absent");
    tcase_add_test(absent, absent_name_is_an_error_and_takes_no_memory);
    tcase_add_test(absent, counter_that_vanished_is_forgotten);
    suite_add_tcase(suite, absent);
    TCase *unit_step = tcase_create("STEP");
    tcase_add_loop_test(unit_step, unit_step_is_looked_at_first, 0, 3);
    tcase_add_test(unit_step, refused_flush_leaves_nobody_waiting);
    tcase_add_test(unit_step, refused_second_round_leaves_nobody_waiting);
    tcase_add_test(unit_step, unit_step_name_is_created);
    tcase_add_test(unit_step, step_changes_under_a_take);
    suite_add_tcase(suite, unit_step);
    return run_suite(suite);
}
