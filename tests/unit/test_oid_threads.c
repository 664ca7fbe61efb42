/* Many threads draw from one issuer. The clock they share is an atomic that some of them push. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "oid_fixture.h"
#include "suite.h"

#define THREADS 8
#define TAKES 4000

struct taken {
    uint64_t first;
    uint32_t count;
    uint32_t before; /* drawn from `stamp` before and after the take */
    uint32_t after;
};

struct contest {
    struct oid_issuer issuer;
    pthread_barrier_t start;
    _Atomic int64_t time_ms;
    _Atomic uint32_t stamp;
    _Atomic bool closed; /* set once oid_close has returned */
};

struct contestant {
    struct contest *contest;
    pthread_t thread;
    uint32_t number;
    uint32_t taken_count;
    int last_status;
    bool after_close; /* a take that began after oid_close had returned was served */
    struct taken taken[TAKES];
};

static struct contestant *start_contest(struct contest *contest, void *(*run)(void *))
{
    struct contestant *all = calloc(THREADS, sizeof(*all));

    ck_assert_ptr_nonnull(all);
    init_open(&contest->issuer, 0xfff000);
    atomic_init(&contest->time_ms, 0);
    atomic_init(&contest->stamp, 0);
    atomic_init(&contest->closed, false);
    ck_assert_int_eq(pthread_barrier_init(&contest->start, NULL, THREADS + 1), 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        all[i].contest = contest;
        all[i].number = i;
        ck_assert_int_eq(pthread_create(&all[i].thread, NULL, run, &all[i]), 0);
    }
    pthread_barrier_wait(&contest->start);
    return all;
}

static void end_contest(struct contest *contest, struct contestant *all)
{
    for (size_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(all[i].thread, NULL), 0);
    pthread_barrier_destroy(&contest->start);
}

static struct clock_now contest_clock(struct contest *contest)
{
    struct clock_now now = clock_at(START_S);

    fake_clock_pass(&now, atomic_load(&contest->time_ms));
    return now;
}

static void *run_takes(void *argument)
{
    struct contestant *self = argument;
    struct contest *contest = self->contest;

    pthread_barrier_wait(&contest->start);
    for (uint32_t i = 0; i < TAKES; i++) {
        struct taken *taken = &self->taken[i];

        taken->count = i % 5 == 0 ? 1000 : 1;
        do {
            struct clock_now now = contest_clock(contest);

            if ((i + self->number) % 64 == 0)
                fake_clock_step(&now, self->number % 2 ? -HOUR_MS : HOUR_MS / 2);
            taken->before = atomic_fetch_add(&contest->stamp, 1);
            self->last_status = oid_take(&contest->issuer, now, taken->count, &taken->first);
            taken->after = atomic_fetch_add(&contest->stamp, 1);
        } while (self->last_status == OID_LEAD); /* others pushed the clock in between */
        if (self->last_status != OID_OK)
            break;
        self->taken_count++;
        if (i % 16 == 0)
            atomic_fetch_add(&contest->time_ms, 5);
    }
    return NULL;
}

static int compare_taken(const void *a, const void *b)
{
    const struct taken *left = a, *right = b;

    return (left->first > right->first) - (left->first < right->first);
}

/* All that was taken, in the order of ticks. */
static struct taken *gather(const struct contestant *all, size_t *count)
{
    struct taken *list = calloc((size_t)THREADS * TAKES, sizeof(*list));

    ck_assert_ptr_nonnull(list);
    *count = 0;
    for (size_t i = 0; i < THREADS; i++)
        for (size_t j = 0; j < all[i].taken_count; j++)
            list[(*count)++] = all[i].taken[j];
    qsort(list, *count, sizeof(*list), compare_taken);
    return list;
}

START_TEST(threads_share_one_order)
{
    struct contest contest;
    struct contestant *all = start_contest(&contest, run_takes);
    struct taken *list;
    uint32_t latest_before = 0;
    size_t count;

    end_contest(&contest, all);
    list = gather(all, &count);
    ck_assert_uint_eq(count, (size_t)THREADS * TAKES);
    for (size_t i = 1; i < count; i++) {
        ck_assert_uint_gt(list[i].first, list[i - 1].first + list[i - 1].count - 1);
        /* None that ended before a lesser one began: order of ticks is order in time. */
        if (list[i - 1].before > latest_before)
            latest_before = list[i - 1].before;
        ck_assert_uint_gt(list[i].after, latest_before);
    }
    for (size_t i = 0; i < THREADS; i++)
        for (size_t j = 1; j < TAKES; j++)
            ck_assert_uint_gt(all[i].taken[j].first, all[i].taken[j - 1].first);
    ck_assert_int_eq(oid_close(&contest.issuer),
                     (int64_t)((list[count - 1].first + list[count - 1].count - 1) >> 24));
    free(list);
    free(all);
}
END_TEST

/* Takes until it is told CLOSED; remembers only the last, in taken[0]. */
static void *run_until_closed(void *argument)
{
    struct contestant *self = argument;
    struct contest *contest = self->contest;
    bool closed;

    pthread_barrier_wait(&contest->start);
    do {
        closed = atomic_load(&contest->closed);
        self->last_status =
            oid_take(&contest->issuer, contest_clock(contest), 1000, &self->taken[0].first);
        if (self->last_status == OID_OK)
            self->after_close |= closed;
        else if (self->last_status == OID_LEAD)
            atomic_fetch_add(&contest->time_ms, 1000);
        atomic_fetch_add(&contest->stamp, 1);
    } while (self->last_status != OID_CLOSED);
    return NULL;
}

START_TEST(close_stops_all_threads)
{
    struct contest contest;
    struct contestant *all = start_contest(&contest, run_until_closed);
    int64_t closed_s, last_s = 0;
    struct oid_state state;

    while (atomic_load(&contest.stamp) < 500)
        sched_yield();
    closed_s = oid_close(&contest.issuer);
    atomic_store(&contest.closed, true);
    oid_look(&contest.issuer, contest_clock(&contest), &state);
    end_contest(&contest, all);
    for (size_t i = 0; i < THREADS; i++) {
        uint64_t first = all[i].taken[0].first; /* 0: it came too late for any */

        ck_assert_int_eq(all[i].last_status, OID_CLOSED);
        ck_assert(!all[i].after_close);
        if (first != 0) {
            int64_t second = (int64_t)((first + 999) >> 24);

            ck_assert_uint_le(first + 999, state.tick);
            last_s = second > last_s ? second : last_s;
        }
    }
    ck_assert_int_eq(closed_s, last_s);
    free(all);
}
END_TEST

/* Takes and renews the window, all threads alike: OID_WINDOW and OID_LEAD are tried again. */
static void *run_in_windows(void *argument)
{
    struct contestant *self = argument;
    struct contest *contest = self->contest;

    pthread_barrier_wait(&contest->start);
    while (self->taken_count < TAKES) {
        struct clock_now now = contest_clock(contest);
        int64_t wanted_s;

        self->last_status =
            oid_take(&contest->issuer, now, 50000, &self->taken[self->taken_count].first);
        if (self->last_status == OID_OK)
            self->taken[self->taken_count++].count = 50000;
        else if (self->last_status == OID_LEAD)
            atomic_fetch_add(&contest->time_ms, 200);
        else if (self->last_status != OID_WINDOW)
            break;
        wanted_s = oid_wanted_high_water(&contest->issuer, now);
        if (wanted_s != -1)
            oid_saved(&contest->issuer, wanted_s);
    }
    return NULL;
}

START_TEST(threads_pass_windows_and_lead)
{
    struct contest contest;
    struct contestant *all = start_contest(&contest, run_in_windows);
    struct taken *list;
    size_t count;

    end_contest(&contest, all);
    list = gather(all, &count);
    ck_assert_uint_eq(count, (size_t)THREADS * TAKES);
    for (size_t i = 1; i < count; i++)
        ck_assert_uint_ge(list[i].first, list[i - 1].first + list[i - 1].count);
    free(list);
    free(all);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("oid_threads");
    TCase *tcase = tcase_create("oid_threads");

    tcase_add_test(tcase, threads_share_one_order);
    tcase_add_loop_test(tcase, close_stops_all_threads, 0, 100);
    tcase_add_test(tcase, threads_pass_windows_and_lead);
    tcase_set_timeout(tcase, 120); /* under sanitizers, on a busy machine */
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
