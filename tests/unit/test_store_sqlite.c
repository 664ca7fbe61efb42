/* The embedded store's file: what survives, what is refused at start, what a failing disk does. */
#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault_vfs.h"
#include "store_ops.h"
#include "suite.h"

static char directory[32];
static char path[64];
static char log_path[80];
static char uri[80];

static void make_directory(void)
{
    snprintf(directory, sizeof(directory), "/tmp/idmint-store-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/s.db", directory);
    snprintf(log_path, sizeof(log_path), "%s-wal", path);
    snprintf(uri, sizeof(uri), "sqlite:%s", path);
}

static void remove_directory(void)
{
    unlink(log_path);
    unlink(path);
    ck_assert_int_eq(rmdir(directory), 0);
}

static struct store *open_store(void)
{
    struct store *store = NULL;
    char why[256];
    ck_assert_msg(ops_open(uri, &store, why, sizeof(why)) == 0, "%s", why);
    return store;
}

static void assert_refused(const char *of, const char *word)
{
    struct store *store = NULL;
    char why[256] = "";
    ck_assert_int_eq(ops_open(of, &store, why, sizeof(why)), -1);
    ck_assert_ptr_null(store);
    ck_assert_msg(strstr(why, word) != NULL, "%s", why);
    ck_assert_msg(strstr(why, strchr(of, ':') + 1) != NULL, "%s", why);
    ck_assert_ptr_null(strchr(why, '\n'));
}

static void take(struct store *store, const char *name, int64_t last)
{
    struct store_op op = ops_take(name, 1);
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    ck_assert_int_eq(op.counter.value, last);
}

/* As an operator would, with the sqlite3 command. */
static void tamper(const char *sql)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix"),
                     SQLITE_OK);
    char *error = NULL;
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, &error) == SQLITE_OK, "%s", error);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

START_TEST(all_is_kept_over_a_clean_stop)
{
    struct store *store = open_store();
    struct store_facts facts = store->facts;
    take(store, "a", 1);
    struct store_op create = ops_make(STORE_CREATE, "b");
    create.counter = (struct store_counter){-7, -7, 3, 900, 50, 0};
    ck_assert_int_eq(ops_commit(store, &create), STORE_DONE);
    struct store_op drop = ops_make(STORE_DROP, "a");
    ck_assert_int_eq(ops_commit(store, &drop), STORE_DONE);
    struct store_op water = ops_value(STORE_HIGH_WATER, NULL, 1700000000);
    ck_assert_int_eq(ops_commit(store, &water), STORE_DONE);
    store_close(store);
    ck_assert_int_ne(access(log_path, F_OK), 0);

    store = open_store();
    ck_assert_str_eq(store->facts.id, facts.id);
    ck_assert_int_eq(store->facts.birth_s, facts.birth_s);
    ck_assert_int_eq(store->facts.high_water_s, 1700000000);
    struct store_op read = ops_make(STORE_READ, "b");
    ck_assert_int_eq(ops_commit(store, &read), STORE_DONE);
    ck_assert_mem_eq(&read.counter, &create.counter, sizeof(read.counter));
    struct store_op again = ops_take("a", 1);
    ck_assert_int_eq(ops_commit(store, &again), STORE_DONE);
    ck_assert_int_gt(again.counter.generation, drop.counter.generation);
    water.value = 1699999999;
    ck_assert_int_eq(ops_commit(store, &water), STORE_DONE);
    store_close(store);

    store = open_store();
    ck_assert_int_eq(store->facts.high_water_s, 1699999999);
    store_close(store);
}
END_TEST

START_TEST(what_was_done_survives_a_kill)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct store *store = open_store();
        for (int i = 1; i <= 50; i++)
            take(store, "k", i);
        _exit(0); /* no close, no checkpoint */
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(access(log_path, F_OK), 0);
    struct store *store = open_store();
    take(store, "k", 51);
    store_close(store);
}
END_TEST

START_TEST(only_the_owner_may_read_the_file)
{
    umask(0);
    struct store *store = open_store();
    struct stat status;
    take(store, "a", 1);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0600);
    ck_assert_int_eq(stat(log_path, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0600);
    store_close(store);
}
END_TEST

START_TEST(a_file_in_use_is_refused)
{
    struct store *store = open_store();
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        assert_refused(uri, "is in use by another process");
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    assert_refused(uri, "is in use");
    take(store, "a", 1); /* and the one who holds it is not disturbed */
    store_close(store);
    store_close(open_store());
}
END_TEST

static void write_file(const char *content, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, content, len), (ssize_t)len);
    close(fd);
}

START_TEST(what_is_no_store_is_refused_and_left_alone)
{
    static const char text[] = "[store]\nuri = sqlite:idmint.db\n... and more, to be long enough, "
                               "since SQLite looks at the first hundred bytes of a file alone\n";
    write_file(text, sizeof(text));
    assert_refused(uri, "is no SQLite database");
    char kept[sizeof(text)];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(read(fd, kept, sizeof(kept)), (ssize_t)sizeof(kept));
    close(fd);
    ck_assert_mem_eq(kept, text, sizeof(text));

    unlink(path);
    tamper("CREATE TABLE other (a)");
    assert_refused(uri, "another program's database");
    tamper("PRAGMA application_id = 17");
    assert_refused(uri, "another program's database");
}
END_TEST

START_TEST(a_newer_schema_is_refused_by_name)
{
    store_close(open_store());
    tamper("PRAGMA user_version = 2");
    assert_refused(uri, "newer idmintd (schema 2");
    tamper("PRAGMA user_version = 1");
    store_close(open_store());
}
END_TEST

START_TEST(a_damaged_file_is_refused)
{
    struct store *store = open_store();
    char names[200][16];
    for (int i = 0; i < 200; i++) {
        snprintf(names[i], sizeof(names[i]), "counter-%d", i);
        take(store, names[i], 1);
    }
    store_close(store);
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    char junk[512];
    memset(junk, 0x5a, sizeof(junk));
    /* The last page belongs to the names or to the rows. */
    ck_assert_int_eq(pwrite(fd, junk, sizeof(junk), status.st_size - 2048), (ssize_t)sizeof(junk));
    close(fd);
    assert_refused(uri, "is damaged");

    ck_assert_int_eq(truncate(path, 3000), 0);
    assert_refused(uri, "is damaged");
}
END_TEST

START_TEST(a_file_without_its_tables_is_damaged)
{
    store_close(open_store());
    tamper("DELETE FROM meta");
    assert_refused(uri, "is damaged");
    tamper("DROP TABLE counter");
    assert_refused(uri, "is damaged");
}
END_TEST

START_TEST(paths_that_can_not_be)
{
    struct store *store = NULL;
    char why[256], other[128];
    ck_assert_int_eq(ops_open("sqlite:", &store, why, sizeof(why)), -1);
    ck_assert_ptr_nonnull(strstr(why, "needs the path"));
    snprintf(other, sizeof(other), "sqlite:%s", directory);
    assert_refused(other, "is a directory");
    snprintf(other, sizeof(other), "sqlite:%s/none/s.db", directory);
    assert_refused(other, "directory does not exist");
    assert_refused("sqlite:/dev/null", "not a file");
    assert_refused("sqlite:/proc/idmint.db", "can not be made");
    if (geteuid() != 0) { /* root may write anywhere */
        write_file("", 0);
        ck_assert_int_eq(chmod(path, 0400), 0);
        assert_refused(uri, "is not writable");
    }
}
END_TEST

START_TEST(a_path_is_always_a_file)
{
    ck_assert_int_eq(chdir(directory), 0);
    snprintf(uri, sizeof(uri), "sqlite::memory:");
    struct store *store = open_store();
    take(store, "a", 1);
    store_close(store);
    ck_assert_int_eq(unlink(":memory:"), 0);
}
END_TEST

START_TEST(a_value_that_is_no_integer)
{
    struct store *store = open_store();
    take(store, "bad", 1);
    take(store, "good", 1);
    take(store, "huge", 1);
    store_close(store);
    tamper("UPDATE counter SET value = '+000000000000000000x' WHERE name = 'bad';"
           "UPDATE counter SET value = '+9223372036854775808' WHERE name = 'huge'");
    store = open_store();
    struct store_op bad = ops_take("bad", 1), good = ops_take("good", 1);
    struct store_op read = ops_make(STORE_READ, "huge");
    struct store_op *ops[] = {&bad, &read, &good};
    store_commit(store, ops, 3);
    ck_assert_int_eq(bad.result, STORE_WRONGTYPE);
    ck_assert_int_eq(read.result, STORE_WRONGTYPE);
    ck_assert_ptr_nonnull(strstr(read.text, "no integer"));
    ck_assert_int_eq(good.result, STORE_DONE);
    ck_assert_int_eq(good.counter.value, 2);
    store_close(store);
}
END_TEST

START_TEST(values_can_be_read_with_sql)
{
    struct store *store = open_store();
    take(store, "a", 1);
    take(store, "a", 2);
    store_close(store);
    sqlite3 *db;
    sqlite3_stmt *stmt;
    ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, "unix"), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_prepare_v2(db, "SELECT CAST(value AS INTEGER) FROM counter", -1, &stmt, NULL),
        SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_int64(stmt, 0), 2);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}
END_TEST

/* P2: what is called done has been synced. */
START_TEST(nothing_is_done_before_it_is_synced)
{
    struct store *store = open_store();
    for (int i = 1; i <= 20; i++) {
        int syncs = fault_vfs.syncs;
        take(store, "a", i);
        ck_assert_int_gt(fault_vfs.syncs, syncs);
        ck_assert(!fault_vfs.unsynced);
    }
    struct store_op water = ops_value(STORE_HIGH_WATER, NULL, 1700000000);
    int syncs = fault_vfs.syncs;
    ck_assert_int_eq(ops_commit(store, &water), STORE_DONE);
    ck_assert_int_gt(fault_vfs.syncs, syncs);
    ck_assert(!fault_vfs.unsynced);
    store_close(store);
}
END_TEST

static void ignore_row_cb(struct store_op *op, const char *name, size_t name_len,
                          const struct store_counter *counter)
{
    (void)op;
    (void)name;
    (void)name_len;
    (void)counter;
}

START_TEST(looking_writes_nothing)
{
    struct store *store = open_store();
    take(store, "a", 1);
    int writes = fault_vfs.writes, syncs = fault_vfs.syncs;
    struct store_op read = ops_make(STORE_READ, "a"), absent = ops_make(STORE_READ, "b");
    struct store_op list = ops_make(STORE_LIST, ""), over = ops_take("a", OPS_MAX);
    list.count = 10;
    list.row = ignore_row_cb;
    struct store_op *ops[] = {&read, &absent, &list, &over};
    store_commit(store, ops, 4);
    ck_assert_int_eq(read.result, STORE_DONE);
    ck_assert_int_eq(over.result, STORE_EXHAUSTED);
    ck_assert_int_eq(fault_vfs.writes, writes);
    ck_assert_int_eq(fault_vfs.syncs, syncs);
    store_close(store);
}
END_TEST

START_TEST(a_full_disk_takes_nothing_and_ends)
{
    struct store *store = open_store();
    take(store, "a", 1);
    struct store_op op = ops_take("a", 1), fresh = ops_take("new", 1);
    struct store_op water = ops_value(STORE_HIGH_WATER, NULL, 1700000000);
    struct store_op read = ops_make(STORE_READ, "a");
    struct store_op *ops[] = {&op, &fresh, &water, &read};
    /* Wherever in the commit the disk runs full. */
    for (int skip = 0; skip < 4; skip++) {
        fault_vfs.write_code = SQLITE_FULL;
        fault_vfs.write_skip = skip;
        store_commit(store, ops, 4);
        for (int i = 0; i < 4; i++) {
            ck_assert_int_eq(ops[i]->result, STORE_NOT_DONE);
            ck_assert_ptr_nonnull(strstr(ops[i]->text, "disk is full"));
        }
        ck_assert(!fresh.created);
        fault_vfs.write_code = 0;
        ck_assert_int_eq(ops_read(store, "a"), skip + 1);
        ck_assert_int_eq(ops_read(store, "new"), INT64_MIN);
        take(store, "a", skip + 2);
        fresh = ops_take("new", 1);
    }
    store_close(store);
    store = open_store();
    ck_assert_int_eq(store->facts.high_water_s, -1);
    take(store, "a", 6);
    store_close(store);
}
END_TEST

/* Counters that exist need no more room: the log starts over where the disk ends. */
START_TEST(a_full_disk_does_not_stop_counters_for_good)
{
    struct store *store = open_store();
    take(store, "a", 1);
    fault_vfs.log_limit = 100 * 1000;
    int failed = 0, value = 1;
    for (int i = 0; i < 500; i++) {
        struct store_op op = ops_take("a", 1);
        if (ops_commit(store, &op) == STORE_DONE)
            ck_assert_int_eq(op.counter.value, ++value);
        else
            failed++;
    }
    ck_assert_int_gt(failed, 0);
    ck_assert_int_lt(failed, 50);
    store_close(store);
}
END_TEST

static void assert_stopped(struct store *store)
{
    struct store_op op = ops_take("a", 1), read = ops_make(STORE_READ, "a");
    struct store_op *ops[] = {&op, &read};
    store_commit(store, ops, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(ops[i]->result, STORE_NOT_DONE);
        ck_assert_ptr_nonnull(strstr(ops[i]->text, "disk failed"));
        ck_assert_ptr_nonnull(strstr(ops[i]->text, "restart idmintd"));
    }
}

START_TEST(a_failed_sync_stops_the_store)
{
    struct store *store = open_store();
    take(store, "a", 1);
    struct store_op op = ops_take("a", 1), read = ops_make(STORE_READ, "a");
    struct store_op *ops[] = {&op, &read};
    fault_vfs.sync_code = SQLITE_IOERR_FSYNC;
    store_commit(store, ops, 2);
    ck_assert_int_eq(op.result, STORE_UNKNOWN);
    ck_assert_int_eq(read.result, STORE_NOT_DONE);
    /* The next sync would go through, and prove nothing. */
    fault_vfs.sync_code = 0;
    assert_stopped(store);
    store_close(store);
    ck_assert_int_eq(access(log_path, F_OK), 0);

    store = open_store();
    int64_t value = ops_read(store, "a");
    ck_assert(value == 1 || value == 2);
    store_close(store);
}
END_TEST

START_TEST(a_failed_commit_stops_the_store)
{
    struct store *store = open_store();
    take(store, "a", 1);
    struct store_op op = ops_take("a", 1);
    fault_vfs.write_code = SQLITE_IOERR_WRITE;
    ck_assert_int_eq(ops_commit(store, &op), STORE_UNKNOWN);
    fault_vfs.write_code = 0;
    assert_stopped(store);
    store_close(store);
}
END_TEST

/* Counters enough that one commit of all of them writes hundreds of pages. */
enum {
    MANY = 8000,
};
static struct store_op many[MANY];
static struct store_op *many_ops[MANY];
static char many_names[MANY][16];

static void take_many(struct store *store)
{
    for (int i = 0; i < MANY; i++) {
        snprintf(many_names[i], sizeof(many_names[i]), "many-%d", i);
        many[i] = ops_take(many_names[i], 1);
        many_ops[i] = &many[i];
    }
    store_commit(store, many_ops, MANY);
}

START_TEST(the_log_stays_bounded_and_is_not_shortened)
{
    struct store *store = open_store();
    struct stat status;
    off_t greatest = 0, last = 0;
    for (int i = 1; i <= 40; i++) {
        take_many(store);
        ck_assert_int_eq(many[MANY - 1].counter.value, i);
        ck_assert_int_eq(stat(log_path, &status), 0);
        ck_assert_int_ge(status.st_size, last);
        last = status.st_size;
        if (i == 20)
            greatest = last;
    }
    ck_assert_int_eq(last, greatest);
    ck_assert_int_lt(greatest, 20 * 1000 * 1000);
    store_close(store);
}
END_TEST

/* A sync can fail when the log is folded into the file: what was committed stays done, but nothing
 * follows. */
START_TEST(a_sync_that_fails_while_folding_stops_the_store)
{
    struct store *store = open_store();
    bool stopped = false;
    for (int i = 1; i <= 100 && !stopped; i++) {
        fault_vfs.sync_code = SQLITE_IOERR_FSYNC;
        fault_vfs.sync_skip = i == 1 ? 2 : 1; /* what the commit itself syncs, a new log twice */
        take_many(store);
        fault_vfs.sync_code = 0;
        for (int k = 0; k < MANY; k++) {
            ck_assert_msg(many[k].result == STORE_DONE, "%d: %s", i, many[k].text);
            ck_assert_int_eq(many[k].counter.value, i);
        }
        struct store_op op = ops_take("a", 1);
        stopped = ops_commit(store, &op) == STORE_NOT_DONE;
    }
    ck_assert(stopped);
    assert_stopped(store);
    store_close(store);
}
END_TEST

int main(void)
{
    fault_vfs_install();
    Suite *suite = suite_create("store_sqlite");
    TCase *tcase = tcase_create("store_sqlite");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, make_directory, remove_directory);
    tcase_add_test(tcase, all_is_kept_over_a_clean_stop);
    tcase_add_test(tcase, what_was_done_survives_a_kill);
    tcase_add_test(tcase, only_the_owner_may_read_the_file);
    tcase_add_test(tcase, a_file_in_use_is_refused);
    tcase_add_test(tcase, what_is_no_store_is_refused_and_left_alone);
    tcase_add_test(tcase, a_newer_schema_is_refused_by_name);
    tcase_add_test(tcase, a_damaged_file_is_refused);
    tcase_add_test(tcase, a_file_without_its_tables_is_damaged);
    tcase_add_test(tcase, paths_that_can_not_be);
    tcase_add_test(tcase, a_path_is_always_a_file);
    tcase_add_test(tcase, a_value_that_is_no_integer);
    tcase_add_test(tcase, values_can_be_read_with_sql);
    tcase_add_test(tcase, nothing_is_done_before_it_is_synced);
    tcase_add_test(tcase, looking_writes_nothing);
    tcase_add_test(tcase, a_full_disk_takes_nothing_and_ends);
    tcase_add_test(tcase, a_full_disk_does_not_stop_counters_for_good);
    tcase_add_test(tcase, a_failed_sync_stops_the_store);
    tcase_add_test(tcase, a_failed_commit_stops_the_store);
    tcase_add_test(tcase, the_log_stays_bounded_and_is_not_shortened);
    tcase_add_test(tcase, a_sync_that_fails_while_folding_stops_the_store);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
