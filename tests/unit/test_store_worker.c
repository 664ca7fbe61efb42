/* Group commit. The store is the memory store behind a gate, so that a test decides when a commit
 * may go on, and knows what is queued meanwhile. */
#include <check.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store_memory.h"
#include "store_ops.h"
#include "store_worker.h"
#include "suite.h"

#define COMMITS_MAX 4096

struct gate {
    struct store base;
    struct store *memory;
    bool closed; /* set before anything is submitted */
    sem_t entered;
    sem_t leave;
    atomic_int commits;
    size_t sizes[COMMITS_MAX];
};

static void gate_commit(struct store *store, struct store_op **ops, size_t count)
{
    struct gate *gate = (struct gate *)store;
    int commit = atomic_fetch_add(&gate->commits, 1);
    if (commit < COMMITS_MAX)
        gate->sizes[commit] = count;
    if (gate->closed) {
        sem_post(&gate->entered);
        sem_wait(&gate->leave);
    }
    store_commit(gate->memory, ops, count);
}

static const struct store_backend gate_backend = {.scheme = "gate", .commit = gate_commit};

static void gate_init(struct gate *gate, unsigned workers, bool closed)
{
    char why[128];
    memset(gate, 0, sizeof(*gate));
    ck_assert_int_eq(store_memory_backend.open(NULL, "", &gate->memory, why, sizeof(why)), 0);
    gate->base.backend = &gate_backend;
    gate->base.workers = workers;
    gate->base.flights = 1;
    gate->closed = closed;
    sem_init(&gate->entered, 0, 0);
    sem_init(&gate->leave, 0, 0);
}

static void gate_finish(struct gate *gate)
{
    sem_destroy(&gate->entered);
    sem_destroy(&gate->leave);
    store_close(gate->memory);
}

/* An op that tells the test what became of it. */
struct probe {
    struct store_op op; /* first, so that one can be had from the other */
    atomic_int done_calls;
    atomic_int close_calls;
    bool wanted;   /* what `close` answers */
    int order;     /* the how many-th `done` it was */
    sem_t *posted; /* by `done` */
};

static atomic_int done_order;

static void done_cb(struct store_op *op)
{
    struct probe *probe = (struct probe *)op;
    probe->order = atomic_fetch_add(&done_order, 1);
    atomic_fetch_add(&probe->done_calls, 1);
    if (probe->posted != NULL)
        sem_post(probe->posted);
}

static bool close_cb(struct store_op *op)
{
    struct probe *probe = (struct probe *)op;
    atomic_fetch_add(&probe->close_calls, 1);
    return probe->wanted;
}

static void probe_init(struct probe *probe, const char *name, sem_t *posted)
{
    memset(probe, 0, sizeof(*probe));
    probe->op = ops_take(name, 1);
    probe->op.done = done_cb;
    probe->op.close = close_cb;
    probe->wanted = true;
    probe->posted = posted;
}

static struct store_worker *start(struct store *store, size_t batch)
{
    struct store_worker *worker = NULL;
    ck_assert_int_eq(store_worker_create(store, batch, &worker), 0);
    return worker;
}

/* A first op, whose commit stands in the gate: what is submitted from now on is queued. */
static void occupy(struct gate *gate, struct store_worker *worker, struct probe *first)
{
    probe_init(first, "first", NULL);
    store_worker_submit(worker, &first->op);
    sem_wait(&gate->entered);
}

static void open_gate(struct gate *gate, int commits)
{
    for (int i = 0; i < commits; i++)
        sem_post(&gate->leave);
}

START_TEST(an_op_is_committed_and_done)
{
    struct gate gate;
    struct probe probe;
    sem_t posted;
    sem_init(&posted, 0, 0);
    gate_init(&gate, 1, false);
    struct store_worker *worker = start(&gate.base, 100);
    for (int i = 1; i <= 100; i++) {
        probe_init(&probe, "a", &posted);
        store_worker_submit(worker, &probe.op);
        sem_wait(&posted);
        ck_assert_int_eq(probe.op.result, STORE_DONE);
        ck_assert_int_eq(probe.op.counter.value, i);
        ck_assert_int_eq(probe.close_calls, 1);
    }
    store_worker_destroy(worker);
    ck_assert_int_eq(gate.commits, 100);
    sem_destroy(&posted);
    gate_finish(&gate);
}
END_TEST

START_TEST(what_arrives_during_a_commit_shares_the_next)
{
    struct gate gate;
    struct probe first, probes[10];
    gate_init(&gate, 1, true);
    struct store_worker *worker = start(&gate.base, 100);
    occupy(&gate, worker, &first);
    for (int i = 0; i < 10; i++) {
        probe_init(&probes[i], "a", NULL);
        store_worker_submit(worker, &probes[i].op);
        ck_assert_int_eq(probes[i].close_calls, 0); /* still open for more */
    }
    struct store_worker_stats stats;
    store_worker_look(worker, &stats);
    ck_assert_uint_eq(stats.queued, 10);
    open_gate(&gate, 2);
    store_worker_destroy(worker);
    ck_assert_int_eq(gate.commits, 2);
    ck_assert_uint_eq(gate.sizes[1], 10);
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(probes[i].op.counter.value, i + 1);
        ck_assert_int_eq(probes[i].order, first.order + 1 + i);
        ck_assert_int_eq(probes[i].done_calls, 1);
    }
    gate_finish(&gate);
}
END_TEST

START_TEST(a_commit_holds_no_more_than_a_batch)
{
    struct gate gate;
    struct probe first, probes[25];
    gate_init(&gate, 1, true);
    struct store_worker *worker = start(&gate.base, 10);
    occupy(&gate, worker, &first);
    for (int i = 0; i < 25; i++) {
        probe_init(&probes[i], "a", NULL);
        store_worker_submit(worker, &probes[i].op);
    }
    open_gate(&gate, 4);
    store_worker_destroy(worker);
    ck_assert_int_eq(gate.commits, 4);
    ck_assert_uint_eq(gate.sizes[1], 10);
    ck_assert_uint_eq(gate.sizes[2], 10);
    ck_assert_uint_eq(gate.sizes[3], 5);
    for (int i = 0; i < 25; i++)
        ck_assert_int_eq(probes[i].op.counter.value, i + 1);
    gate_finish(&gate);
}
END_TEST

static atomic_int freed;

static bool free_and_drop_cb(struct store_op *op)
{
    free(op);
    atomic_fetch_add(&freed, 1);
    return false;
}

START_TEST(what_wants_nothing_any_more_is_dropped)
{
    struct gate gate;
    struct probe first, kept[2], dropped;
    gate_init(&gate, 1, true);
    struct store_worker *worker = start(&gate.base, 100);
    occupy(&gate, worker, &first);
    probe_init(&kept[0], "a", NULL);
    probe_init(&dropped, "a", NULL);
    dropped.wanted = false;
    probe_init(&kept[1], "a", NULL);
    kept[1].op.close = NULL; /* always final */
    struct store_op *gone = malloc(sizeof(*gone));
    ck_assert_ptr_nonnull(gone);
    *gone = ops_take("a", 1);
    gone->close = free_and_drop_cb;
    store_worker_submit(worker, gone);
    store_worker_submit(worker, &kept[0].op);
    store_worker_submit(worker, &dropped.op);
    store_worker_submit(worker, &kept[1].op);
    open_gate(&gate, 2);
    store_worker_destroy(worker);
    ck_assert_int_eq(freed, 1);
    ck_assert_uint_eq(gate.sizes[1], 2);
    ck_assert_int_eq(dropped.done_calls, 0);
    ck_assert_int_eq(dropped.close_calls, 1);
    ck_assert_int_eq(kept[0].op.counter.value, 1);
    ck_assert_int_eq(kept[1].op.counter.value, 2);
    gate_finish(&gate);
}
END_TEST

START_TEST(nothing_left_to_do_is_no_commit)
{
    struct gate gate;
    struct probe probe;
    gate_init(&gate, 1, false);
    struct store_worker *worker = start(&gate.base, 100);
    probe_init(&probe, "a", NULL);
    probe.wanted = false;
    store_worker_submit(worker, &probe.op);
    store_worker_destroy(worker);
    ck_assert_int_eq(probe.close_calls, 1);
    ck_assert_int_eq(probe.done_calls, 0);
    ck_assert_int_eq(gate.commits, 0);
    gate_finish(&gate);
}
END_TEST

/* Taking back the first, one in the middle and the last of the queue; the queue goes on. */
START_TEST(a_queued_op_can_be_taken_back)
{
    struct gate gate;
    struct probe first, probes[6];
    gate_init(&gate, 1, true);
    struct store_worker *worker = start(&gate.base, 100);
    occupy(&gate, worker, &first);
    ck_assert(!store_worker_cancel(worker, &first.op));
    for (int i = 0; i < 5; i++) {
        probe_init(&probes[i], "a", NULL);
        store_worker_submit(worker, &probes[i].op);
    }
    ck_assert(store_worker_cancel(worker, &probes[2].op));
    ck_assert(store_worker_cancel(worker, &probes[0].op));
    ck_assert(store_worker_cancel(worker, &probes[4].op));
    ck_assert(!store_worker_cancel(worker, &probes[4].op));
    probe_init(&probes[5], "a", NULL);
    store_worker_submit(worker, &probes[5].op);
    open_gate(&gate, 2);
    store_worker_destroy(worker);
    ck_assert_uint_eq(gate.sizes[1], 3);
    static const int done[] = {0, 1, 0, 1, 0, 1};
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(probes[i].done_calls, done[i]);
        ck_assert_int_eq(probes[i].close_calls, done[i]);
    }
    ck_assert_int_eq(probes[5].op.counter.value, 3);
    gate_finish(&gate);
}
END_TEST

#define VERY_MANY 200000

/* The newest first, as connections come to their end in any order: with a search from either end
 * this would take minutes. */
START_TEST(very_many_can_be_taken_back)
{
    struct gate gate;
    struct probe first;
    struct probe *probes = calloc(VERY_MANY, sizeof(*probes));
    ck_assert_ptr_nonnull(probes);
    gate_init(&gate, 1, true);
    struct store_worker *worker = start(&gate.base, 100);
    occupy(&gate, worker, &first);
    for (int i = 0; i < VERY_MANY; i++) {
        probe_init(&probes[i], "a", NULL);
        store_worker_submit(worker, &probes[i].op);
    }
    for (int i = VERY_MANY / 2 - 1; i >= 0; i--)
        ck_assert(store_worker_cancel(worker, &probes[i].op));
    for (int i = VERY_MANY / 2; i < VERY_MANY; i++)
        ck_assert(store_worker_cancel(worker, &probes[VERY_MANY * 3 / 2 - 1 - i].op));
    open_gate(&gate, 1);
    store_worker_destroy(worker);
    ck_assert_int_eq(gate.commits, 1);
    free(probes);
    gate_finish(&gate);
}
END_TEST

START_TEST(the_only_queued_op_can_be_taken_back)
{
    struct gate gate;
    struct probe first, probe, next;
    gate_init(&gate, 1, true);
    struct store_worker *worker = start(&gate.base, 100);
    occupy(&gate, worker, &first);
    probe_init(&probe, "a", NULL);
    probe_init(&next, "a", NULL);
    store_worker_submit(worker, &probe.op);
    ck_assert(store_worker_cancel(worker, &probe.op));
    store_worker_submit(worker, &next.op);
    open_gate(&gate, 2);
    store_worker_destroy(worker);
    ck_assert_int_eq(next.op.counter.value, 1);
    ck_assert_int_eq(probe.done_calls, 0);
    gate_finish(&gate);
}
END_TEST

struct chain {
    struct store_op op;
    struct store_worker *worker;
    int left;
};

static void submit_more_cb(struct store_op *op)
{
    struct chain *chain = (struct chain *)op;
    if (chain->left-- > 0)
        store_worker_submit(chain->worker, op);
}

START_TEST(destroy_waits_for_what_callbacks_submit)
{
    struct gate gate;
    struct chain chains[8];
    gate_init(&gate, (unsigned)_i, true);
    struct store_worker *worker = start(&gate.base, 3);
    for (int i = 0; i < 8; i++) {
        chains[i] = (struct chain){.op = ops_take("a", 1), .worker = worker, .left = 50};
        chains[i].op.done = submit_more_cb;
        store_worker_submit(worker, &chains[i].op);
    }
    open_gate(&gate, 8 * 51);
    store_worker_destroy(worker);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(chains[i].left, -1);
    ck_assert_int_eq(ops_read(gate.memory, "a"), INT64_C(8) * 51);
    gate_finish(&gate);
}
END_TEST

START_TEST(as_many_commits_at_once_as_the_store_allows)
{
    struct gate gate;
    struct probe probes[3];
    gate_init(&gate, 3, true);
    struct store_worker *worker = start(&gate.base, 1);
    for (int i = 0; i < 3; i++) {
        probe_init(&probes[i], "a", NULL);
        store_worker_submit(worker, &probes[i].op);
    }
    for (int i = 0; i < 3; i++)
        sem_wait(&gate.entered); /* none has left yet */
    open_gate(&gate, 3);
    store_worker_destroy(worker);
    ck_assert_int_eq(ops_read(gate.memory, "a"), 3);
    gate_finish(&gate);
}
END_TEST

enum {
    SUBMITTERS = 4,
    EACH = 2000,
};

struct submitter {
    struct store_worker *worker;
    struct probe *probes;
    bool cancels; /* takes each second one back, if it still can */
    int cancelled;
};

static void *submitter_run(void *arg)
{
    struct submitter *self = arg;
    for (int i = 0; i < EACH; i++) {
        struct probe *probe = &self->probes[i];
        probe_init(probe, "a", NULL);
        store_worker_submit(self->worker, &probe->op);
        if (self->cancels && i % 2 == 1 && store_worker_cancel(self->worker, &probe->op)) {
            self->cancelled++;
            probe->order = -1;
        }
    }
    return NULL;
}

/* Each op ends exactly once, and the values are 1 .. n without gap or repetition. */
static void race(unsigned workers, bool cancels)
{
    struct gate gate;
    struct submitter submitters[SUBMITTERS];
    pthread_t threads[SUBMITTERS];
    gate_init(&gate, workers, false);
    struct store_worker *worker = start(&gate.base, 64);
    for (int i = 0; i < SUBMITTERS; i++) {
        struct probe *probes = calloc(EACH, sizeof(*probes));
        submitters[i] = (struct submitter){worker, probes, cancels, 0};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, submitter_run, &submitters[i]), 0);
    }
    int total = SUBMITTERS * EACH;
    for (int i = 0; i < SUBMITTERS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        total -= submitters[i].cancelled;
    }
    store_worker_destroy(worker);

    char *seen = calloc((size_t)total + 1, 1);
    for (int i = 0; i < SUBMITTERS * EACH; i++) {
        struct probe *probe = &submitters[i / EACH].probes[i % EACH];
        ck_assert_int_eq(probe->done_calls, probe->order == -1 ? 0 : 1);
        if (probe->order == -1)
            continue;
        ck_assert_int_eq(probe->op.result, STORE_DONE);
        ck_assert_int_le(probe->op.counter.value, total);
        ck_assert_int_eq(seen[probe->op.counter.value]++, 0);
    }
    for (int i = 0; i < SUBMITTERS; i++)
        free(submitters[i].probes);
    free(seen);
    gate_finish(&gate);
}

START_TEST(many_threads_submit)
{
    race((unsigned)_i, false);
}
END_TEST

START_TEST(many_threads_submit_and_take_back)
{
    race((unsigned)_i, true);
}
END_TEST

START_TEST(stats_tell_what_happened)
{
    struct gate gate;
    struct probe probe;
    struct store_worker_stats stats;
    sem_t posted;
    sem_init(&posted, 0, 0);
    gate_init(&gate, 1, false);
    ck_assert_int_eq(store_memory_script(gate.memory, "ok,not_done,unknown_lost,ok"), 0);
    struct store_worker *worker = start(&gate.base, 10);
    store_worker_look(worker, &stats);
    ck_assert_int_eq(stats.last_done_ms, 0);
    for (int i = 0; i < 4; i++) {
        probe_init(&probe, "a", &posted);
        store_worker_submit(worker, &probe.op);
        sem_wait(&posted);
    }
    probe_init(&probe, "absent", &posted);
    probe.op.verb = STORE_READ;
    store_worker_submit(worker, &probe.op);
    sem_wait(&posted);
    store_worker_look(worker, &stats);
    ck_assert_uint_eq(metrics_histogram_count(&stats.commit_us), 5);
    ck_assert_uint_eq(stats.commit_ops.sum, 5);
    ck_assert_uint_eq(stats.queued, 0);
    ck_assert_uint_eq(stats.ops_by_result[0], 2);
    ck_assert_uint_eq(stats.ops_by_result[-STORE_NOT_DONE], 1);
    ck_assert_uint_eq(stats.ops_by_result[-STORE_UNKNOWN], 1);
    ck_assert_uint_eq(stats.ops_by_result[-STORE_ABSENT], 1);
    ck_assert_int_gt(stats.last_done_ms, 0);
    store_worker_destroy(worker);
    sem_destroy(&posted);
    gate_finish(&gate);
}
END_TEST

/* One line when the store begins to fail, one when it answers again. */
START_TEST(only_changes_are_logged)
{
    char log_path[] = "/tmp/idmint-log-XXXXXX", text[4096];
    int fd = mkstemp(log_path);
    ck_assert_int_ge(fd, 0);
    unlink(log_path);
    int before = dup(STDERR_FILENO);
    ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);

    struct gate gate;
    struct probe probes[6];
    gate_init(&gate, 1, false);
    ck_assert_int_eq(store_memory_script(gate.memory, "ok,not_done*2,unknown_lost,ok*2"), 0);
    struct store_worker *worker = start(&gate.base, 1); /* a commit each */
    for (int i = 0; i < 6; i++) {
        probe_init(&probes[i], "a", NULL);
        store_worker_submit(worker, &probes[i].op);
    }
    store_worker_destroy(worker);
    gate_finish(&gate);

    dup2(before, STDERR_FILENO);
    ssize_t len = pread(fd, text, sizeof(text) - 1, 0);
    ck_assert_int_gt(len, 0);
    text[len] = '\0';
    int lines = 0;
    for (ssize_t i = 0; i < len; i++)
        lines += text[i] == '\n';
    ck_assert_msg(lines == 2, "%s", text);
    const char *failing = strstr(text, "not done: a fault by script");
    ck_assert_ptr_nonnull(failing);
    ck_assert_ptr_nonnull(strstr(failing, "answers again"));
    close(before);
    close(fd);
}
END_TEST

static void thread_cb(struct store_op *op)
{
    struct probe *probe = (struct probe *)op;
    sigset_t blocked;
    char name[16] = "";
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    pthread_getname_np(pthread_self(), name, sizeof(name));
    probe->wanted = sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGINT) == 1 &&
                    sigismember(&blocked, SIGHUP) == 1 && strncmp(name, "store-", 6) == 0;
    sem_post(probe->posted);
}

START_TEST(threads_have_a_name_and_take_no_signals)
{
    struct gate gate;
    struct probe probe;
    sem_t posted;
    sigset_t before, after;
    sem_init(&posted, 0, 0);
    gate_init(&gate, 1, false);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    struct store_worker *worker = start(&gate.base, 1);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    ck_assert_int_eq(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
    probe_init(&probe, "a", &posted);
    probe.op.close = NULL;
    probe.op.done = thread_cb;
    store_worker_submit(worker, &probe.op);
    sem_wait(&posted);
    ck_assert(probe.wanted);
    store_worker_destroy(worker);
    store_worker_destroy(NULL);
    sem_destroy(&posted);
    gate_finish(&gate);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_worker");
    TCase *tcase = tcase_create("store_worker");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, an_op_is_committed_and_done);
    tcase_add_test(tcase, what_arrives_during_a_commit_shares_the_next);
    tcase_add_test(tcase, a_commit_holds_no_more_than_a_batch);
    tcase_add_test(tcase, what_wants_nothing_any_more_is_dropped);
    tcase_add_test(tcase, nothing_left_to_do_is_no_commit);
    tcase_add_test(tcase, a_queued_op_can_be_taken_back);
    tcase_add_test(tcase, the_only_queued_op_can_be_taken_back);
    tcase_add_loop_test(tcase, destroy_waits_for_what_callbacks_submit, 1, 4);
    tcase_add_test(tcase, as_many_commits_at_once_as_the_store_allows);
    tcase_add_loop_test(tcase, many_threads_submit, 1, 4);
    tcase_add_loop_test(tcase, many_threads_submit_and_take_back, 1, 4);
    tcase_add_test(tcase, stats_tell_what_happened);
    tcase_add_test(tcase, only_changes_are_logged);
    tcase_add_test(tcase, threads_have_a_name_and_take_no_signals);
    suite_add_tcase(suite, tcase);
    TCase *many = tcase_create("many");
    tcase_set_timeout(many, 20);
    tcase_add_test(many, very_many_can_be_taken_back);
    suite_add_tcase(suite, many);
    return run_suite(suite);
}
