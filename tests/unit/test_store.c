/* The contract of store.h, held against every store that needs no server, and the choice of one. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store_ops.h"
#include "suite.h"

#define BACKENDS 2

static char directory[32];
static char path[64];

/* Store number `backend`, new and empty. */
static struct store *open_new(int backend)
{
    struct store *store = NULL;
    char uri[80], why[256];
    if (backend == 0) {
        snprintf(uri, sizeof(uri), "memory:");
    } else {
        snprintf(directory, sizeof(directory), "/tmp/idmint-store-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(directory));
        snprintf(path, sizeof(path), "%s/s.db", directory);
        snprintf(uri, sizeof(uri), "sqlite:%s", path);
    }
    ck_assert_msg(ops_open(uri, &store, why, sizeof(why)) == 0, "%s", why);
    return store;
}

static void close_new(struct store *store)
{
    store_close(store);
    if (path[0] != '\0') {
        ck_assert_int_eq(unlink(path), 0);
        ck_assert_int_eq(rmdir(directory), 0); /* nothing else was left in it */
        path[0] = '\0';
    }
}

static void assert_take(struct store *store, const char *name, int64_t count, int64_t last)
{
    struct store_op op = ops_take(name, count);
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    ck_assert_int_eq(op.counter.value, last);
}

START_TEST(take_creates_and_counts)
{
    struct store *store = open_new(_i);
    struct store_op op = ops_take("orders", 1);
    op.create = false;
    ck_assert_int_eq(ops_commit(store, &op), STORE_ABSENT);
    ck_assert(!op.created);
    op = ops_take("orders", 1);
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    ck_assert(op.created);
    ck_assert_int_eq(op.counter.value, 1);
    ck_assert_int_eq(op.counter.max, OPS_MAX);
    ck_assert_int_gt(op.counter.generation, 0);
    op = ops_take("orders", 10);
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    ck_assert(!op.created);
    ck_assert_int_eq(op.counter.value, 11);
    ck_assert_int_eq(ops_read(store, "orders"), 11);
    ck_assert_int_eq(ops_read(store, "order"), INT64_MIN);
    close_new(store);
}
END_TEST

START_TEST(takes_in_one_commit_get_ranges_of_their_own)
{
    struct store *store = open_new(_i);
    struct store_op a = ops_take("a", 5), b = ops_take("b", 1), c = ops_take("a", 7);
    struct store_op absent = ops_take("none", 1), over = ops_take("a", OPS_MAX);
    struct store_op d = ops_take("a", 1);
    absent.create = false;
    struct store_op *ops[] = {&a, &absent, &b, &c, &over, &d};
    store_commit(store, ops, 6);
    ck_assert_int_eq(a.result, STORE_DONE);
    ck_assert_int_eq(a.counter.value, 5);
    ck_assert(a.created && !c.created);
    ck_assert_int_eq(b.counter.value, 1);
    ck_assert_int_eq(c.counter.value, 12);
    ck_assert_int_eq(absent.result, STORE_ABSENT);
    ck_assert_int_eq(over.result, STORE_EXHAUSTED);
    ck_assert_int_eq(over.counter.value, 12);
    ck_assert_int_eq(d.result, STORE_DONE);
    ck_assert_int_eq(d.counter.value, 13);
    ck_assert_int_eq(ops_read(store, "a"), 13);
    close_new(store);
}
END_TEST

START_TEST(start_step_and_max_hold)
{
    struct store *store = open_new(_i);
    struct store_op op = ops_take("s", 3);
    op.counter = ops_fresh(100, 10, 145);
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    ck_assert_int_eq(op.counter.value, 120);
    op = ops_take("s", 3);
    ck_assert_int_eq(ops_commit(store, &op), STORE_EXHAUSTED);
    ck_assert_int_eq(op.counter.value, 120);
    ck_assert_int_eq(op.counter.step, 10);
    assert_take(store, "s", 2, 140);
    op = ops_take("s", 1);
    ck_assert_int_eq(ops_commit(store, &op), STORE_EXHAUSTED);
    ck_assert_int_eq(ops_read(store, "s"), 140);
    close_new(store);
}
END_TEST

START_TEST(a_take_that_does_not_fit_creates_nothing)
{
    struct store *store = open_new(_i);
    struct store_op op = ops_take("s", 11);
    op.counter = ops_fresh(1, 1, 10);
    ck_assert_int_eq(ops_commit(store, &op), STORE_EXHAUSTED);
    ck_assert(!op.created);
    ck_assert_int_eq(op.counter.value, 0);
    ck_assert_int_eq(store_counter_left(&op.counter), 10);
    ck_assert_int_eq(ops_read(store, "s"), INT64_MIN);
    close_new(store);
}
END_TEST

START_TEST(the_ends_of_int64)
{
    struct store *store = open_new(_i);
    struct store_op op = ops_take("top", 1);
    op.counter = ops_fresh(INT64_MAX - 1, 1, INT64_MAX);
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    assert_take(store, "top", 1, INT64_MAX);
    op = ops_take("top", 1);
    ck_assert_int_eq(ops_commit(store, &op), STORE_EXHAUSTED);

    op = ops_make(STORE_CREATE, "bottom");
    op.counter = ops_fresh(INT64_MIN + 1, 1, INT64_MAX);
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    ck_assert_int_eq(ops_read(store, "bottom"), INT64_MIN);
    assert_take(store, "bottom", INT64_MAX, -1);
    assert_take(store, "bottom", INT64_MAX, INT64_MAX - 1);
    ck_assert_int_eq(ops_read(store, "bottom"), INT64_MAX - 1);
    close_new(store);
}
END_TEST

START_TEST(create_where_there_is_none)
{
    struct store *store = open_new(_i);
    struct store_op op = ops_make(STORE_CREATE, "c");
    op.counter = (struct store_counter){41, 1, 1, 1000, 50, 0};
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    ck_assert(op.created);
    int64_t generation = op.counter.generation;
    op = ops_make(STORE_CREATE, "c");
    ck_assert_int_eq(ops_commit(store, &op), STORE_EXISTS);
    ck_assert(!op.created);
    ck_assert_int_eq(op.counter.value, 41);
    ck_assert_int_eq(op.counter.cache, 50);
    ck_assert_int_eq(op.counter.max, 1000);
    ck_assert_int_eq(op.counter.generation, generation);
    assert_take(store, "c", 1, 42);

    op = ops_make(STORE_CREATE, "bad");
    op.counter.step = 0;
    ck_assert_int_eq(ops_commit(store, &op), STORE_REFUSED);
    ck_assert_ptr_nonnull(strstr(op.text, "STEP"));
    op = ops_make(STORE_CREATE, "bad");
    op.counter.value = OPS_MAX + 1;
    ck_assert_int_eq(ops_commit(store, &op), STORE_REFUSED);
    op = ops_take("bad", 1);
    op.counter.cache = 0;
    ck_assert_int_eq(ops_commit(store, &op), STORE_REFUSED);
    ck_assert_int_eq(ops_read(store, "bad"), INT64_MIN);
    close_new(store);
}
END_TEST

START_TEST(raise_goes_forward_only)
{
    struct store *store = open_new(_i);
    struct store_op op = ops_value(STORE_RAISE, "r", 100);
    ck_assert_int_eq(ops_commit(store, &op), STORE_ABSENT);
    op = ops_value(STORE_RAISE, "r", 100);
    op.create = true;
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    ck_assert(op.created);
    int64_t generation = op.counter.generation;
    assert_take(store, "r", 1, 101);

    /* Also a RAISE that moves nothing ends the blocks that others hold of this counter. */
    op = ops_value(STORE_RAISE, "r", 50);
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    ck_assert_int_eq(op.counter.value, 101);
    ck_assert_int_gt(op.counter.generation, generation);
    op = ops_value(STORE_RAISE, "r", OPS_MAX + 1);
    ck_assert_int_eq(ops_commit(store, &op), STORE_REFUSED);
    ck_assert_ptr_nonnull(strstr(op.text, "9007199254740991"));
    op = ops_value(STORE_RAISE, "r", 500);
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    assert_take(store, "r", 1, 501);

    op = ops_value(STORE_RAISE, "low", -5);
    op.create = true;
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    assert_take(store, "low", 1, 1);
    close_new(store);
}
END_TEST

START_TEST(reset_goes_anywhere_below_max)
{
    struct store *store = open_new(_i);
    struct store_op op = ops_value(STORE_RESET, "r", 7);
    ck_assert_int_eq(ops_commit(store, &op), STORE_ABSENT);
    assert_take(store, "r", 100, 100);
    op = ops_value(STORE_RESET, "r", 7);
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    ck_assert_int_eq(op.counter.value, 7);
    assert_take(store, "r", 1, 8);
    op = ops_value(STORE_RESET, "r", INT64_MIN);
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    assert_take(store, "r", 1, INT64_MIN + 1);
    op = ops_value(STORE_RESET, "r", OPS_MAX + 1);
    ck_assert_int_eq(ops_commit(store, &op), STORE_REFUSED);
    close_new(store);
}
END_TEST

START_TEST(a_generation_is_never_used_twice)
{
    struct store *store = open_new(_i);
    int64_t last = 0;
    for (int i = 0; i < 5; i++) {
        struct store_op take = ops_take("g", 3), reset = ops_value(STORE_RESET, "g", 0);
        struct store_op raise = ops_value(STORE_RAISE, "g", 9), drop = ops_make(STORE_DROP, "g");
        struct store_op *ops[] = {&take, &reset, &raise, &drop};
        store_commit(store, ops, 4);
        for (int k = 0; k < 4; k++) {
            ck_assert_int_eq(ops[k]->result, STORE_DONE);
            ck_assert_int_gt(ops[k]->counter.generation, last);
            last = ops[k]->counter.generation;
        }
        ck_assert_int_eq(ops_read(store, "g"), INT64_MIN);
    }
    struct store_op drop = ops_make(STORE_DROP, "g");
    ck_assert_int_eq(ops_commit(store, &drop), STORE_ABSENT);
    close_new(store);
}
END_TEST

START_TEST(give_back_needs_value_and_generation)
{
    struct store *store = open_new(_i);
    struct store_op block = ops_take("b", 1000);
    ck_assert_int_eq(ops_commit(store, &block), STORE_DONE);

    struct store_op op = ops_value(STORE_GIVE_BACK, "b", 400);
    op.counter = block.counter;
    op.counter.generation++;
    ck_assert_int_eq(ops_commit(store, &op), STORE_CHANGED);
    op.counter = block.counter;
    op.counter.value--;
    ck_assert_int_eq(ops_commit(store, &op), STORE_CHANGED);
    op.counter = block.counter;
    op.value = 1001;
    ck_assert_int_eq(ops_commit(store, &op), STORE_CHANGED);
    ck_assert_int_eq(ops_read(store, "b"), 1000);
    op.counter = block.counter;
    op.value = 400;
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    ck_assert_int_eq(op.counter.value, 400);
    ck_assert_int_eq(op.counter.generation, block.counter.generation);
    assert_take(store, "b", 1, 401);
    op = ops_value(STORE_GIVE_BACK, "none", 1);
    ck_assert_int_eq(ops_commit(store, &op), STORE_ABSENT);
    close_new(store);
}
END_TEST

/* What a commit sees of itself: each op what the ones before it left. */
START_TEST(ops_take_effect_in_order)
{
    struct store *store = open_new(_i);
    struct store_op before = ops_make(STORE_READ, "o"), take = ops_take("o", 4);
    struct store_op between = ops_make(STORE_READ, "o"), drop = ops_make(STORE_DROP, "o");
    struct store_op gone = ops_make(STORE_READ, "o"), again = ops_take("o", 1);
    struct store_op more = ops_take("o", 1);
    struct store_op *ops[] = {&before, &take, &between, &drop, &gone, &again, &more};
    store_commit(store, ops, 7);
    ck_assert_int_eq(before.result, STORE_ABSENT);
    ck_assert_int_eq(between.counter.value, 4);
    ck_assert_int_eq(drop.result, STORE_DONE);
    ck_assert_int_eq(gone.result, STORE_ABSENT);
    ck_assert(again.created);
    ck_assert_int_eq(more.counter.value, 2);
    ck_assert_int_eq(ops_read(store, "o"), 2);
    close_new(store);
}
END_TEST

static char listed[4096];

static void row_cb(struct store_op *op, const char *name, size_t name_len,
                   const struct store_counter *counter)
{
    (void)op;
    size_t at = strlen(listed);
    snprintf(listed + at, sizeof(listed) - at, "%.*s=%" PRId64 " ", (int)name_len, name,
             counter->value);
}

static const char *list(struct store *store, const char *prefix, const char *after, int64_t count)
{
    struct store_op op = ops_make(STORE_LIST, prefix);
    op.after = after;
    op.after_len = after == NULL ? 0 : strlen(after);
    op.count = count;
    op.row = row_cb;
    listed[0] = '\0';
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    return listed;
}

START_TEST(list_pages_in_byte_order)
{
    struct store *store = open_new(_i);
    ck_assert_str_eq(list(store, NULL, NULL, 10), "");
    static const char *const names[] = {"b", "a:2", "\xc3\xa9", "a:1", "B", "a", "a:10", "z"};
    for (int i = 0; i < 8; i++)
        assert_take(store, names[i], i + 1, i + 1);
    ck_assert_str_eq(list(store, NULL, NULL, 100),
                     "B=5 a=6 a:1=4 a:10=7 a:2=2 b=1 z=8 \xc3\xa9=3 ");
    ck_assert_str_eq(list(store, NULL, NULL, 3), "B=5 a=6 a:1=4 ");
    ck_assert_str_eq(list(store, NULL, "a:1", 3), "a:10=7 a:2=2 b=1 ");
    ck_assert_str_eq(list(store, "a:", NULL, 100), "a:1=4 a:10=7 a:2=2 ");
    ck_assert_str_eq(list(store, "a:", "a:1", 1), "a:10=7 ");
    ck_assert_str_eq(list(store, "a:", "B", 100), "a:1=4 a:10=7 a:2=2 ");
    ck_assert_str_eq(list(store, "a:", "a:2", 100), "");
    ck_assert_str_eq(list(store, "a:", "b", 100), "");
    ck_assert_str_eq(list(store, NULL, "a:15", 1), "a:2=2 ");
    ck_assert_str_eq(list(store, "\xc3", NULL, 100), "\xc3\xa9=3 ");
    ck_assert_str_eq(list(store, NULL, NULL, 0), "");
    close_new(store);
}
END_TEST

START_TEST(list_sees_what_its_own_commit_took)
{
    struct store *store = open_new(_i);
    assert_take(store, "x", 1, 1);
    struct store_op take = ops_take("x", 1), page = ops_make(STORE_LIST, ""), more = take;
    page.count = 10;
    page.row = row_cb;
    listed[0] = '\0';
    struct store_op *ops[] = {&take, &page, &more};
    store_commit(store, ops, 3);
    ck_assert_str_eq(listed, "x=2 ");
    ck_assert_int_eq(ops_read(store, "x"), 3);
    close_new(store);
}
END_TEST

/* More counters in one commit than any cache of rows holds, twice each. */
START_TEST(many_counters_in_one_commit)
{
    enum {
        NAMES = 20000,
    };
    struct store *store = open_new(_i);
    struct store_op *ops = calloc(2 * NAMES, sizeof(*ops));
    struct store_op **list_of = calloc(2 * NAMES, sizeof(struct store_op *));
    char(*names)[16] = calloc(NAMES, sizeof(*names));
    for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < 2 * NAMES; i++) {
            int number = i % NAMES;
            snprintf(names[number], sizeof(names[number]), "n%d", number);
            ops[i] = ops_take(names[number], 1 + number % 3);
            list_of[i] = &ops[i];
        }
        store_commit(store, list_of, 2 * NAMES);
        for (int i = 0; i < 2 * NAMES; i++) {
            int takes = 2 * (round - 1) + 1 + i / NAMES;
            ck_assert_int_eq(ops[i].result, STORE_DONE);
            ck_assert_int_eq(ops[i].counter.value, takes * (1 + i % NAMES % 3));
        }
    }
    for (int i = 0; i < NAMES; i++)
        ck_assert_int_eq(ops_read(store, names[i]), 4 * (1 + i % 3));
    free(names);
    free(list_of);
    free(ops);
    close_new(store);
}
END_TEST

struct model {
    bool exists;
    int64_t value;
};

/* What the op should do to a plain table of values, and whether it did. */
static void check_against(struct model *model, const struct store_op *op)
{
    bool existed = model->exists;
    switch (op->verb) {
    case STORE_TAKE:
        model->value = (existed ? model->value : 0) + op->count;
        model->exists = true;
        break;
    case STORE_RESET:
        model->value = existed ? op->value : 0;
        break;
    case STORE_DROP:
        model->exists = false;
        break;
    default:
        break;
    }
    ck_assert_int_eq(op->result, existed || op->verb == STORE_TAKE ? STORE_DONE : STORE_ABSENT);
    if (op->result == STORE_DONE && op->verb != STORE_DROP)
        ck_assert_int_eq(op->counter.value, model->value);
}

START_TEST(any_mixture_agrees_with_a_plain_table)
{
    enum {
        NAMES = 30,
        COMMITS = 400,
        OPS = 24,
    };
    static const enum store_verb verbs[] = {STORE_TAKE, STORE_TAKE,  STORE_TAKE,
                                            STORE_READ, STORE_RESET, STORE_DROP};
    struct store *store = open_new(_i);
    struct model models[NAMES] = {0};
    char names[NAMES][8];
    for (int i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof(names[i]), "m%d", i);
    unsigned random = 1;
    for (int commit = 0; commit < COMMITS; commit++) {
        struct store_op ops[OPS], *list_of[OPS];
        int numbers[OPS];
        for (int i = 0; i < OPS; i++) {
            random = random * 1103515245 + 12345;
            numbers[i] = (int)(random >> 8) % NAMES;
            ops[i] = ops_take(names[numbers[i]], 1 + (random >> 16) % 5);
            ops[i].verb = verbs[(random >> 20) % 6];
            ops[i].value = (random >> 4) % 1000;
            list_of[i] = &ops[i];
        }
        store_commit(store, list_of, OPS);
        for (int i = 0; i < OPS; i++)
            check_against(&models[numbers[i]], &ops[i]);
    }
    close_new(store);
}
END_TEST

START_TEST(facts_are_told)
{
    struct store *store = open_new(_i);
    ck_assert_uint_eq(strlen(store->facts.id), STORE_ID_HEX);
    ck_assert_uint_eq(strspn(store->facts.id, "0123456789abcdef"), STORE_ID_HEX);
    ck_assert_int_gt(store->facts.birth_s, 1700000000);
    ck_assert_int_eq(store->facts.high_water_s, -1);
    ck_assert_int_gt((int64_t)strlen(store->facts.version), 0);
    ck_assert_uint_eq(store->workers, 1);
    ck_assert(!store->shared);
    struct store_op op = ops_value(STORE_HIGH_WATER, NULL, 1700000000);
    ck_assert_int_eq(ops_commit(store, &op), STORE_DONE);
    close_new(store);
}
END_TEST

START_TEST(room_of_a_counter)
{
    static const struct {
        int64_t value, step, max, left;
    } rows[] = {
        {0, 1, 10, 10},
        {10, 1, 10, 0},
        {11, 1, 10, 0},
        {9, 2, 10, 0},
        {8, 2, 10, 1},
        {INT64_MIN, 1, INT64_MAX, INT64_MAX},
        {INT64_MIN, 2, INT64_MAX, INT64_MAX},
        {INT64_MIN, 3, INT64_MAX, INT64_C(6148914691236517205)},
        {INT64_MIN, INT64_MAX, INT64_MAX, 2},
        {0, 0, 10, 0},
        {0, -1, 10, 0},
        {INT64_MAX, 1, INT64_MIN, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct store_counter counter = {rows[i].value, 1, rows[i].step, rows[i].max, 1, 1};
        ck_assert_int_eq(store_counter_left(&counter), rows[i].left);
        if (rows[i].left < INT64_MAX) {
            ck_assert_int_eq(store_counter_take(&counter, rows[i].left + 1), STORE_EXHAUSTED);
            ck_assert_int_eq(counter.value, rows[i].value);
        }
        ck_assert_int_eq(store_counter_take(&counter, 0), STORE_EXHAUSTED);
        ck_assert_int_eq(store_counter_take(&counter, -1), STORE_EXHAUSTED);
        if (rows[i].left > 0) {
            ck_assert_int_eq(store_counter_take(&counter, rows[i].left), STORE_DONE);
            ck_assert_int_gt(counter.value, rows[i].value);
            ck_assert_int_le(counter.value, rows[i].max);
        }
    }
}
END_TEST

START_TEST(options_that_make_no_counter)
{
    struct store_counter good = ops_fresh(1, 1, 10);
    ck_assert_ptr_null(store_counter_check(&good));
    good = (struct store_counter){0, INT64_MIN + 5, 5, INT64_MIN + 5, 1000000, 0};
    ck_assert_ptr_null(store_counter_check(&good));
    struct store_counter bad[] = {
        {0, 1, 0, 10, 1, 0},        {0, 1, -1, 10, 1, 0}, {0, 11, 1, 10, 1, 0},
        {0, INT64_MIN, 1, 0, 1, 0}, {0, 1, 1, 10, 0, 0},  {0, 1, 1, 10, 1000001, 0},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_ptr_nonnull(store_counter_check(&bad[i]));
}
END_TEST

static void assert_refused(const char *uri, const char *word)
{
    struct store *store = NULL;
    char why[256] = "";
    ck_assert_int_eq(ops_open(uri, &store, why, sizeof(why)), -1);
    ck_assert_ptr_null(store);
    ck_assert_msg(strstr(why, word) != NULL, "%s: %s", uri, why);
    ck_assert_ptr_null(strstr(why, "secret"));
    ck_assert_ptr_null(strchr(why, '\n'));
}

START_TEST(uris_of_no_store)
{
    assert_refused("", "no scheme");
    assert_refused("/var/lib/secret.db", "no scheme");
    assert_refused(":secret", "no scheme");
    assert_refused("redis://user:secret@host", "unknown store \"redis\"");
    assert_refused("sqlite3:secret", "unknown store");
    /* Not built in, or no URI of it. */
    assert_refused("mongodb://user:secret@host:port/db", "MongoDB");
    assert_refused("mongodb+srv://user:secret@host:1/db", "MongoDB");
    store_close(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store");
    TCase *contract = tcase_create("contract");
    tcase_set_timeout(contract, 60);
    const TTest *const contract_tests[] = {
        take_creates_and_counts,
        takes_in_one_commit_get_ranges_of_their_own,
        start_step_and_max_hold,
        a_take_that_does_not_fit_creates_nothing,
        the_ends_of_int64,
        create_where_there_is_none,
        raise_goes_forward_only,
        reset_goes_anywhere_below_max,
        a_generation_is_never_used_twice,
        give_back_needs_value_and_generation,
        ops_take_effect_in_order,
        list_pages_in_byte_order,
        list_sees_what_its_own_commit_took,
        many_counters_in_one_commit,
        any_mixture_agrees_with_a_plain_table,
        facts_are_told,
    };
    for (size_t i = 0; i < sizeof(contract_tests) / sizeof(contract_tests[0]); i++)
        tcase_add_loop_test(contract, contract_tests[i], 0, BACKENDS);
    suite_add_tcase(suite, contract);

    TCase *plain = tcase_create("plain");
    tcase_add_test(plain, room_of_a_counter);
    tcase_add_test(plain, options_that_make_no_counter);
    tcase_add_test(plain, uris_of_no_store);
    suite_add_tcase(suite, plain);

    return run_suite(suite);
}
