/* The faults that the memory store plays, since other tests rest on them. */
#include <check.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store_memory.h"
#include "store_ops.h"
#include "suite.h"

static struct store *open_with(const char *options)
{
    struct store *store = NULL;
    char why[256];
    int result = store_memory_backend.open(NULL, options, &store, why, sizeof(why));
    ck_assert_msg(result == 0, "%s", why);
    return store;
}

static void assert_take(struct store *store, enum store_result result, int64_t value)
{
    struct store_op op = ops_take("a", 1);
    ck_assert_int_eq(ops_commit(store, &op), result);
    if (result == STORE_DONE)
        ck_assert_int_eq(op.counter.value, value);
    else
        ck_assert_str_ne(op.text, "");
}

START_TEST(the_script_is_played_in_order)
{
    struct store *store = open_with("?faults=ok*2,not_done,unknown_applied,ok,unknown_lost*2,ok");
    assert_take(store, STORE_DONE, 1);
    ck_assert_int_eq(ops_read(store, "a"), 1); /* looking is no step */
    assert_take(store, STORE_DONE, 2);
    assert_take(store, STORE_NOT_DONE, 0);
    assert_take(store, STORE_UNKNOWN, 0);
    ck_assert_int_eq(ops_read(store, "a"), 3);
    assert_take(store, STORE_DONE, 4);
    assert_take(store, STORE_UNKNOWN, 0);
    assert_take(store, STORE_UNKNOWN, 0);
    for (int i = 5; i < 20; i++)
        assert_take(store, STORE_DONE, i);
    store_close(store);
}
END_TEST

START_TEST(a_fault_is_one_of_the_whole_commit)
{
    struct store *store = open_with("?faults=ok,unknown_applied");
    assert_take(store, STORE_DONE, 1);
    struct store_op a = ops_take("a", 1), b = ops_take("b", 1), read = ops_make(STORE_READ, "a");
    struct store_op *ops[] = {&a, &read, &b};
    store_commit(store, ops, 3);
    ck_assert_int_eq(a.result, STORE_UNKNOWN);
    ck_assert_int_eq(b.result, STORE_UNKNOWN);
    ck_assert(!b.created);
    ck_assert_int_eq(read.result, STORE_NOT_DONE);
    ck_assert_int_eq(ops_read(store, "a"), 2);
    ck_assert_int_eq(ops_read(store, "b"), 1);
    store_close(store);
}
END_TEST

START_TEST(stop_is_for_good)
{
    struct store *store = open_with("?faults=ok,stop");
    assert_take(store, STORE_DONE, 1);
    for (int i = 0; i < 10; i++) {
        struct store_op read = ops_make(STORE_READ, "a");
        ck_assert_int_eq(ops_commit(store, &read), STORE_NOT_DONE);
        assert_take(store, STORE_NOT_DONE, 0);
    }
    ck_assert_int_eq(store_memory_script(store, ""), 0);
    assert_take(store, STORE_DONE, 2);
    store_close(store);
}
END_TEST

START_TEST(a_script_can_be_set_at_run_time)
{
    struct store *store = open_with("");
    assert_take(store, STORE_DONE, 1);
    ck_assert_int_eq(store_memory_script(store, "not_done"), 0);
    ck_assert_int_eq(store_memory_script(store, "no_such"), -1);
    assert_take(store, STORE_NOT_DONE, 0);
    assert_take(store, STORE_DONE, 2);
    store_close(store);
}
END_TEST

START_TEST(high_water_follows_the_outcome)
{
    struct store *store = open_with("?faults=ok,not_done,unknown_lost,unknown_applied");
    static const struct {
        enum store_result result;
        int64_t high_water_s;
    } rows[] = {
        {STORE_DONE, 100}, {STORE_NOT_DONE, 100}, {STORE_UNKNOWN, 100}, {STORE_UNKNOWN, 103}};
    ck_assert_int_eq(store_memory_high_water(store), -1);
    for (int i = 0; i < 4; i++) {
        struct store_op op = ops_value(STORE_HIGH_WATER, NULL, 100 + i);
        ck_assert_int_eq(ops_commit(store, &op), rows[i].result);
        ck_assert_int_eq(store_memory_high_water(store), rows[i].high_water_s);
    }
    store_close(store);
}
END_TEST

START_TEST(options_are_read)
{
    struct store *store = open_with("?shared=yes&workers=4&flights=3");
    ck_assert(store->shared);
    ck_assert_uint_eq(store->workers, 4);
    ck_assert_uint_eq(store->flights, 3);
    store_close(store);
    static const char *const bad[] = {
        "x",
        "?x",
        "?x=1",
        "?workers",
        "?workers=",
        "?workers=0",
        "?workers=65",
        "?workers=1x",
        "?flights=-1",
        "?shared=maybe",
        "?faults=oops",
        "?faults=ok*",
        "?faults=ok*0",
        "?faults=ok*x",
        "?faults=ok,,ok",
        "?faults=hang",
        "?faults=ok&faults=ok",
        "?fault_file=",
        "?workers=2&&flights=2",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char why[256] = "";
        store = NULL;
        ck_assert_msg(store_memory_backend.open(NULL, bad[i], &store, why, sizeof(why)) == -1, "%s",
                      bad[i]);
        ck_assert_ptr_null(store);
        ck_assert_str_ne(why, "");
    }
}
END_TEST

static char fault_path[32];

static void write_fault(const char *word)
{
    char other[40];
    snprintf(other, sizeof(other), "%s.new", fault_path);
    FILE *file = fopen(other, "w");
    ck_assert_ptr_nonnull(file);
    fputs(word, file);
    int closed = fclose(file);
    ck_assert_int_eq(closed, 0);
    ck_assert_int_eq(rename(other, fault_path), 0);
}

static struct store *open_with_file(void)
{
    char options[80];
    snprintf(fault_path, sizeof(fault_path), "/tmp/idmint-fault-XXXXXX");
    int fd = mkstemp(fault_path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    unlink(fault_path);
    snprintf(options, sizeof(options), "?fault_file=%s&faults=ok*2,not_done", fault_path);
    return open_with(options);
}

START_TEST(the_fault_file_decides_first)
{
    struct store *store = open_with_file();
    assert_take(store, STORE_DONE, 1); /* no file: by the script */
    write_fault("not_done\n");
    assert_take(store, STORE_NOT_DONE, 0);
    struct store_op read = ops_make(STORE_READ, "a");
    ck_assert_int_eq(ops_commit(store, &read), STORE_NOT_DONE);
    write_fault("unknown_applied");
    assert_take(store, STORE_UNKNOWN, 0);
    write_fault("unknown_lost");
    assert_take(store, STORE_UNKNOWN, 0);
    write_fault("nonsense");
    assert_take(store, STORE_NOT_DONE, 0);
    write_fault("ok");
    assert_take(store, STORE_DONE, 3);
    write_fault("");
    assert_take(store, STORE_DONE, 4); /* the script again: its second ok */
    assert_take(store, STORE_NOT_DONE, 0);
    unlink(fault_path);
    assert_take(store, STORE_DONE, 5);
    store_close(store);
}
END_TEST

static void *take_thread(void *store)
{
    assert_take(store, STORE_DONE, 1);
    return NULL;
}

START_TEST(a_hanging_commit_ends_with_its_word)
{
    struct store *store = open_with_file();
    write_fault("hang");
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, take_thread, store), 0);
    ck_assert_int_eq(pthread_tryjoin_np(thread, NULL) == 0, 0);
    write_fault("ok");
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    unlink(fault_path);
    store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_memory");
    TCase *tcase = tcase_create("store_memory");
    tcase_add_test(tcase, the_script_is_played_in_order);
    tcase_add_test(tcase, a_fault_is_one_of_the_whole_commit);
    tcase_add_test(tcase, stop_is_for_good);
    tcase_add_test(tcase, a_script_can_be_set_at_run_time);
    tcase_add_test(tcase, high_water_follows_the_outcome);
    tcase_add_test(tcase, options_are_read);
    tcase_add_test(tcase, the_fault_file_decides_first);
    tcase_add_test(tcase, a_hanging_commit_ends_with_its_word);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
