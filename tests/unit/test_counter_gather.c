/* Flushes that wait for the takes which come back together. */
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "counter_fixture.h"
#include "counter_table.h"

#define COMMIT_US 8000
#define HOUR_US INT64_C(3600000000)

static int64_t clock_us; /* CLOCK_MONOTONIC for the counters */
static sem_t looked;     /* at it */

static int64_t read_clock(void)
{
    sem_post(&looked);
    return clock_us;
}

/* A time that does not come while the test runs: who waits for it waits until he is woken. */
static int64_t far_off(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000) + HOUR_US;
}

static struct bench *gathering(int64_t cache)
{
    struct bench *bench = bench_create(1, 1, MANY, cache);
    bench->settings.gather_clock_us = read_clock;
    clock_us = far_off();
    sem_init(&looked, 0, 0);
    return bench_restart(bench);
}

/* A commit with `count` takes that takes COMMIT_US. */
static void serve(struct bench *bench, struct wish *wishes, int count)
{
    struct batch batch;
    for (int i = 0; i < count; i++)
        ask(bench, &wishes[i], "a", 1);
    pick(bench, &batch);
    ck_assert_uint_eq(batch.count, 1);
    clock_us += COMMIT_US;
    commit(bench, &batch);
    finish(&batch);
    while (sem_trywait(&looked) == 0)
        ;
}

struct picker {
    struct bench *bench;
    struct batch batch;
    pthread_t thread;
};

static void *picker_run(void *context)
{
    struct picker *picker = context;
    pick(picker->bench, &picker->batch);
    sem_post(&looked); /* also where it has not waited */
    return NULL;
}

/* What is queued is picked up, and waits with the lock released, or has not waited. */
static void begin_pick(struct bench *bench, struct picker *picker)
{
    picker->bench = bench;
    ck_assert_int_eq(pthread_create(&picker->thread, NULL, picker_run, picker), 0);
    sem_wait(&looked);
}

/* A commit of one flush with so many takes. */
static void carry_out(struct bench *bench, struct batch *batch, int takes)
{
    ck_assert_uint_eq(batch->count, 1);
    ck_assert_int_eq(batch->ops[0]->count, takes);
    commit(bench, batch);
    finish(batch);
}

static void end_pick(struct picker *picker, int takes)
{
    pthread_join(picker->thread, NULL);
    carry_out(picker->bench, &picker->batch, takes);
}

START_TEST(those_served_together_come_back_together)
{
    struct bench *bench = gathering(1);
    struct wish wishes[3];
    struct picker picker;
    serve(bench, wishes, 3);
    ask(bench, &wishes[0], "a", 1);
    begin_pick(bench, &picker);
    ask(bench, &wishes[1], "a", 1);
    ask(bench, &wishes[2], "a", 1);
    end_pick(&picker, 3);
    for (int i = 0; i < 3; i++)
        ck_got(&wishes[i], 4 + i);
    bench_destroy(bench);
}
END_TEST

/* Those that a commit left waiting go with those that it served. */
START_TEST(who_waits_already_counts)
{
    struct bench *bench = gathering(1);
    struct wish served[2], waiting[2];
    struct batch batch;
    struct picker picker;
    ask(bench, &served[0], "a", 1);
    ask(bench, &served[1], "a", 1);
    pick(bench, &batch);
    ask(bench, &waiting[0], "a", 1);
    ask(bench, &waiting[1], "a", 1);
    clock_us += COMMIT_US;
    commit(bench, &batch);
    finish(&batch);
    while (sem_trywait(&looked) == 0)
        ;
    begin_pick(bench, &picker);
    ask(bench, &served[0], "a", 1);
    ask(bench, &served[1], "a", 1);
    end_pick(&picker, 4);
    bench_destroy(bench);
}
END_TEST

/* Nobody comes: it goes when a quarter of the commit's time is over, and the next expects none. */
START_TEST(patience_ends)
{
    struct bench *bench = gathering(1);
    struct wish wishes[3];
    struct batch batch;
    serve(bench, wishes, 3);
    clock_us += COMMIT_US / 4;
    ask(bench, &wishes[0], "a", 1);
    pick(bench, &batch);
    carry_out(bench, &batch, 1);
    ck_got(&wishes[0], 4);
    serve(bench, wishes, 1);
    bench_destroy(bench);
}
END_TEST

/* The wait itself ends in time, by the clock of the condition. */
START_TEST(patience_ends_by_itself)
{
    struct bench *bench = gathering(1);
    struct wish wishes[2];
    struct picker picker;
    clock_us = far_off() - HOUR_US;
    serve(bench, wishes, 2);
    ask(bench, &wishes[0], "a", 1);
    begin_pick(bench, &picker);
    pthread_mutex_lock(&wishes[0].take.shard->lock);
    clock_us += HOUR_US;
    pthread_mutex_unlock(&wishes[0].take.shard->lock);
    end_pick(&picker, 1);
    bench_destroy(bench);
}
END_TEST

START_TEST(who_is_alone_waits_for_nobody)
{
    struct bench *bench = gathering(1);
    struct wish wish;
    for (int i = 0; i < 3; i++) {
        serve(bench, &wish, 1);
        ck_got(&wish, 1 + i);
    }
    bench_destroy(bench);
}
END_TEST

/* One that was expected gives up while the others wait for it. */
START_TEST(a_take_is_cancelled_meanwhile)
{
    struct bench *bench = gathering(1);
    struct wish wishes[2];
    struct picker picker;
    serve(bench, wishes, 2);
    ask(bench, &wishes[0], "a", 1);
    begin_pick(bench, &picker);
    ck_assert(counter_cancel(&wishes[0].take));
    ask(bench, &wishes[1], "a", 1);
    ask(bench, &wishes[0], "a", 1);
    end_pick(&picker, 2);
    ck_got(&wishes[1], 3);
    ck_got(&wishes[0], 4);
    bench_destroy(bench);
}
END_TEST

/* Those of a flush that has left are expected no more; those of one that lands later are. */
START_TEST(each_flight_has_its_own)
{
    struct bench *bench = gathering(1);
    struct wish a[2], b[2], more[2];
    struct batch first, second, third, fourth;
    bench->flights = 2;
    bench_restart(bench);
    ask(bench, &a[0], "a", 1);
    ask(bench, &a[1], "a", 1);
    pick(bench, &first);
    ask(bench, &b[0], "a", 1);
    ask(bench, &b[1], "a", 1);
    pick(bench, &second);
    clock_us += COMMIT_US;
    carry_out(bench, &first, 2);
    ask(bench, &a[0], "a", 1);
    ask(bench, &a[1], "a", 1);
    pick(bench, &third); /* all that were expected */
    carry_out(bench, &second, 2);
    ask(bench, &b[0], "a", 1);
    ask(bench, &b[1], "a", 1);
    pick(bench, &fourth); /* these, and not those of the third once more */
    carry_out(bench, &third, 2);
    carry_out(bench, &fourth, 2);
    clock_us += COMMIT_US;
    serve(bench, more, 2);
    bench_destroy(bench);
}
END_TEST

/* The first one's flight lands while the second's takes wait: both are waited for. */
START_TEST(flights_that_land_together_are_waited_for_together)
{
    struct bench *bench = gathering(1);
    struct wish a[2], b[2];
    struct batch first, second;
    struct picker picker;
    bench->flights = 2;
    bench_restart(bench);
    ask(bench, &a[0], "a", 1);
    ask(bench, &a[1], "a", 1);
    pick(bench, &first);
    ask(bench, &b[0], "a", 1);
    ask(bench, &b[1], "a", 1);
    pick(bench, &second);
    clock_us += COMMIT_US;
    carry_out(bench, &first, 2);
    carry_out(bench, &second, 2);
    while (sem_trywait(&looked) == 0)
        ;
    ask(bench, &a[0], "a", 1);
    begin_pick(bench, &picker);
    ask(bench, &b[0], "a", 1);
    ask(bench, &b[1], "a", 1);
    ask(bench, &a[1], "a", 1);
    end_pick(&picker, 4);
    bench_destroy(bench);
}
END_TEST

/* After a commit that took very long nobody waits long. */
START_TEST(patience_has_an_end)
{
    struct bench *bench = gathering(1);
    struct wish wishes[2];
    struct batch batch;
    ask(bench, &wishes[0], "a", 1);
    ask(bench, &wishes[1], "a", 1);
    pick(bench, &batch);
    clock_us += 1000000;
    carry_out(bench, &batch, 2);
    clock_us += 20000;
    ask(bench, &wishes[0], "a", 1);
    pick(bench, &batch);
    carry_out(bench, &batch, 1);
    bench_destroy(bench);
}
END_TEST

/* Nor is anybody waited for when the daemon stops, or where all are refused. */
START_TEST(nothing_is_gathered_for_the_end)
{
    struct bench *bench = gathering(1);
    struct wish wishes[2];
    struct picker picker;
    serve(bench, wishes, 2);
    ask(bench, &wishes[0], "a", 1);
    begin_pick(bench, &picker);
    counters_give_back(bench->counters);
    end_pick(&picker, 1);
    ask(bench, &wishes[1], "a", 1);
    step(bench);
    ck_got(&wishes[1], 4);
    bench_destroy(bench);
}
END_TEST

/* More than is counted: it goes when so many have come as are. */
START_TEST(very_many_are_enough)
{
    enum { VERY_MANY = 65600 };
    struct bench *bench = gathering(1);
    struct wish *wishes = calloc(VERY_MANY, sizeof *wishes);
    ck_assert_ptr_nonnull(wishes);
    serve(bench, wishes, VERY_MANY);
    serve(bench, wishes, UINT16_MAX);
    free(wishes);
    bench_destroy(bench);
}
END_TEST

/* A failed commit's clients may come back much later; and reserved values need no gathering. */
START_TEST(nobody_is_expected)
{
    struct bench *bench = gathering(_i == 0 ? 1 : 2);
    struct wish wishes[8];
    if (_i == 0) {
        ask(bench, &wishes[0], "a", 1);
        ask(bench, &wishes[1], "a", 1);
        step_fails(bench, STORE_NOT_DONE, false);
        ck_failed(&wishes[0], ERROR_TRYAGAIN);
        ck_failed(&wishes[1], ERROR_TRYAGAIN);
    } else {
        serve(bench, wishes, 8);
    }
    for (int i = 0; i < 20; i++)
        next(bench, "a");
    bench_destroy(bench);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counter_gather");
    TCase *gather = tcase_create("gather");
    tcase_add_test(gather, those_served_together_come_back_together);
    tcase_add_test(gather, who_waits_already_counts);
    tcase_add_test(gather, patience_ends);
    tcase_add_test(gather, patience_ends_by_itself);
    tcase_add_test(gather, who_is_alone_waits_for_nobody);
    tcase_add_test(gather, a_take_is_cancelled_meanwhile);
    tcase_add_test(gather, each_flight_has_its_own);
    tcase_add_test(gather, flights_that_land_together_are_waited_for_together);
    tcase_add_test(gather, patience_has_an_end);
    tcase_add_test(gather, nothing_is_gathered_for_the_end);
    tcase_add_test(gather, very_many_are_enough);
    tcase_add_loop_test(gather, nobody_is_expected, 0, 2);
    suite_add_tcase(suite, gather);
    return run_suite(suite);
}
