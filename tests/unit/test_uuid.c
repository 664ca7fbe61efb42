#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "uuid.h"

#define NOW_MS INT64_C(1700000000123)

/* Hands out what the test wrote into `script`, then bytes of `fill`; counts calls and bytes. */
struct script {
    uint8_t bytes[64];
    size_t len;
    size_t used;
    uint8_t fill;
    size_t calls;
    size_t total;
};

static void scripted_random(void *context, void *bytes, size_t len)
{
    struct script *script = context;
    uint8_t *out = bytes;

    script->calls++;
    script->total += len;
    for (size_t i = 0; i < len; i++)
        out[i] = script->used < script->len ? script->bytes[script->used++] : script->fill;
}

/* From here on `bytes` come first, and the counts begin at 0. */
static void play(struct script *script, const void *bytes, size_t len)
{
    memcpy(script->bytes, bytes, len);
    script->len = len;
    script->used = script->calls = script->total = 0;
}

/* xorshift64* with an atomic state, for threads. */
static void shared_random(void *context, void *bytes, size_t len)
{
    _Atomic uint64_t *state = context;
    uint8_t *out = bytes;

    for (size_t i = 0; i < len; i++) {
        uint64_t x = atomic_fetch_add(state, UINT64_C(0x9e3779b97f4a7c15));

        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        out[i] = (uint8_t)(x >> 40);
    }
}

static int64_t v7_ms(const uint8_t *uuid)
{
    int64_t ms = 0;

    for (int i = 0; i < 6; i++)
        ms = ms << 8 | uuid[i];
    return ms;
}

static void assert_text(const uint8_t *uuid, const char *expected)
{
    char text[UUID_TEXT + 1] = {0}, plain[UUID_PLAIN + 1] = {0}, *end = plain;

    memset(text, 'x', UUID_TEXT);
    uuid_text(uuid, text);
    ck_assert_str_eq(text, expected);
    uuid_plain(uuid, plain);
    for (const char *from = expected; *from != '\0'; from++)
        if (*from != '-')
            ck_assert_int_eq(*end++, *from);
    ck_assert_int_eq(end - plain, UUID_PLAIN);
    ck_assert_int_eq(plain[UUID_PLAIN], '\0');
}

static void assert_rising(const uint8_t *uuids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(uuids[i * UUID_BYTES + 6] >> 4, 7);
        ck_assert_uint_eq(uuids[i * UUID_BYTES + 8] >> 6, 2);
        if (i > 0)
            ck_assert_int_lt(
                memcmp(uuids + (i - 1) * UUID_BYTES, uuids + i * UUID_BYTES, UUID_BYTES), 0);
    }
}

START_TEST(v4_as_in_rfc_9562)
{
    /* The example of appendix A.3, whose version and variant bits were cut off. */
    static const uint8_t random[] = {0x91, 0x91, 0x08, 0xf7, 0x52, 0xd1, 0x03, 0x20,
                                     0x1b, 0xac, 0xf8, 0x47, 0xdb, 0x41, 0x48, 0xa8};
    struct script script = {.fill = 0xff};
    struct uuid_source source;
    uint8_t out[2 * UUID_BYTES];

    uuid_init(&source, scripted_random, &script);
    play(&script, random, sizeof(random));
    uuid_take_v4(&source, 2, out);
    assert_text(out, "919108f7-52d1-4320-9bac-f847db4148a8");
    assert_text(out + UUID_BYTES, "ffffffff-ffff-4fff-bfff-ffffffffffff");
    uuid_finish(&source);
}
END_TEST

START_TEST(v4_asks_for_randomness_once_a_batch)
{
    struct script script = {.fill = 0};
    struct uuid_source source;
    uint8_t out[1000 * UUID_BYTES + 1];

    uuid_init(&source, scripted_random, &script);
    play(&script, "", 0);
    out[sizeof(out) - 1] = 0x5a;
    uuid_take_v4(&source, 1000, out);
    ck_assert_uint_eq(script.calls, 1);
    ck_assert_uint_eq(script.total, 1000 * UUID_BYTES);
    ck_assert_uint_eq(out[sizeof(out) - 1], 0x5a);
    for (size_t i = 0; i < 1000; i++)
        assert_text(out + i * UUID_BYTES, "00000000-0000-4000-8000-000000000000");
    uuid_finish(&source);
}
END_TEST

START_TEST(v7_as_in_rfc_9562)
{
    /* The example of appendix A.6: step (not used for the first of a millisecond), then the seed.
     */
    static const uint8_t random[] = {0,    0,    0,    0,    0x0c, 0xc3, 0x18,
                                     0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f};
    struct script script = {.fill = 0};
    struct uuid_source source;
    uint8_t out[UUID_BYTES];

    uuid_init(&source, scripted_random, &script);
    play(&script, random, sizeof(random));
    uuid_take_v7(&source, INT64_C(0x017f22e279b0), 1, out);
    assert_text(out, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
    uuid_finish(&source);
}
END_TEST

START_TEST(v7_grows_by_random_steps_within_a_millisecond)
{
    static const uint8_t random[] = {9,
                                     9,
                                     9,
                                     9,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0xff,
                                     0xff,
                                     0xff,
                                     0xff,
                                     0,
                                     0,
                                     1,
                                     0,
                                     /* seed: */ 0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     1};
    struct script script = {.fill = 0};
    struct uuid_source source;
    uint8_t out[4 * UUID_BYTES + 1];

    uuid_init(&source, scripted_random, &script);
    play(&script, random, sizeof(random));
    out[sizeof(out) - 1] = 0x5a;
    uuid_take_v7(&source, NOW_MS, 4, out);
    assert_text(out, "018bcfe5-687b-7000-8000-000000000001");
    assert_text(out + UUID_BYTES, "018bcfe5-687b-7000-8000-000000000002");
    assert_text(out + 2 * UUID_BYTES, "018bcfe5-687b-7000-8000-000100000002");
    assert_text(out + 3 * UUID_BYTES, "018bcfe5-687b-7000-8000-000100000103");
    ck_assert_uint_eq(script.calls, 2);
    ck_assert_uint_eq(out[sizeof(out) - 1], 0x5a);
    uuid_take_v7(&source, NOW_MS, 1, out); /* the next batch goes on from there */
    assert_text(out, "018bcfe5-687b-7000-8000-000100000104");
    uuid_finish(&source);
}
END_TEST

START_TEST(v7_carries_from_the_lower_to_the_upper_bits)
{
    static const uint8_t random[] = {0,    0,    0,    0,    0xab, 0xcd, 0xff,
                                     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    struct script script = {.fill = 0};
    struct uuid_source source;
    uint8_t out[UUID_BYTES];

    uuid_init(&source, scripted_random, &script);
    play(&script, random, sizeof(random));
    uuid_take_v7(&source, NOW_MS, 1, out);
    assert_text(out, "018bcfe5-687b-7bcd-bfff-ffffffffffff");
    uuid_take_v7(&source, NOW_MS, 1, out);
    assert_text(out, "018bcfe5-687b-7bce-8000-000000000000");
    uuid_finish(&source);
}
END_TEST

START_TEST(v7_overflow_goes_on_in_the_next_millisecond)
{
    static const uint8_t full[] = {0,    0,    0,    0,    0xff, 0xff, 0xff,
                                   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static const uint8_t seed[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 0x23, 0, 0, 0, 0, 0, 0, 0, 0x77};
    struct script script = {.fill = 0};
    struct uuid_source source;
    uint8_t out[2 * UUID_BYTES];

    uuid_init(&source, scripted_random, &script);
    play(&script, full, sizeof(full));
    uuid_take_v7(&source, NOW_MS, 1, out);
    assert_text(out, "018bcfe5-687b-7fff-bfff-ffffffffffff");
    play(&script, seed, sizeof(seed));
    uuid_take_v7(&source, NOW_MS, 2, out);
    assert_text(out, "018bcfe5-687c-7123-8000-000000000077");
    assert_text(out + UUID_BYTES, "018bcfe5-687c-7123-8000-000000000078");
    uuid_take_v7(&source, NOW_MS + 1, 1, out); /* the clock reaches what was borrowed */
    assert_text(out, "018bcfe5-687c-7123-8000-000000000079");
    uuid_take_v7(&source, NOW_MS + 2, 1, out);
    ck_assert_int_eq(v7_ms(out), NOW_MS + 2);
    uuid_finish(&source);
}
END_TEST

START_TEST(v7_rises_whatever_the_clock_does)
{
    static const int64_t times_ms[] = {
        NOW_MS, NOW_MS,     NOW_MS + 1, NOW_MS - 3600000, NOW_MS - 1,      0,
        -5,     NOW_MS + 1, NOW_MS + 2, NOW_MS - 9,       NOW_MS + 3600000};
    static const size_t counts[] = {1, 100, 7, 100, 1, 2, 3, 50, 1, 9, 100};
    _Atomic uint64_t state = 4711;
    struct uuid_source source;
    uint8_t out[374 * UUID_BYTES], *end = out;
    int64_t highest_ms = 0;

    uuid_init(&source, shared_random, &state);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        uuid_take_v7(&source, times_ms[i], counts[i], end);
        if (times_ms[i] > highest_ms)
            highest_ms = times_ms[i];
        ck_assert_int_eq(v7_ms(end), highest_ms);
        end += counts[i] * UUID_BYTES;
    }
    ck_assert_int_eq(end - out, sizeof(out));
    assert_rising(out, 374);
    uuid_finish(&source);
}
END_TEST

START_TEST(v7_overflowing_again_and_again_rises)
{
    static uint8_t out[1000 * UUID_BYTES];
    struct script script = {.fill = 0xff}; /* each millisecond starts at the end of its bits */
    struct uuid_source source;

    uuid_init(&source, scripted_random, &script);
    uuid_take_v7(&source, NOW_MS, 600, out);
    uuid_take_v7(&source, NOW_MS, 400, out + 600 * UUID_BYTES);
    ck_assert_int_eq(v7_ms(out), NOW_MS);
    ck_assert_int_eq(v7_ms(out + 999 * UUID_BYTES), NOW_MS + 999);
    assert_rising(out, 1000);
    uuid_finish(&source);
}
END_TEST

START_TEST(v7_starts_each_millisecond_anew)
{
    _Atomic uint64_t state = 1;
    struct uuid_source source;
    uint8_t out[3][UUID_BYTES];

    uuid_init(&source, shared_random, &state);
    for (int i = 0; i < 3; i++)
        uuid_take_v7(&source, NOW_MS + i, 1, out[i]);
    ck_assert_mem_ne(out[0] + 8, out[1] + 8, 8);
    ck_assert_mem_ne(out[1] + 8, out[2] + 8, 8);

    uuid_finish(&source);

    uuid_init(&source, shared_random, &state); /* a clock that stands at 1970 */
    uuid_take_v7(&source, 0, 1, out[0]);
    uuid_finish(&source);
    uuid_init(&source, shared_random, &state);
    uuid_take_v7(&source, 0, 1, out[1]);
    uuid_finish(&source);
    ck_assert_mem_ne(out[0] + 8, out[1] + 8, 4);
}
END_TEST

#define THREADS 8
#define BATCHES 300
#define BATCH 32

struct contest {
    struct uuid_source source;
    _Atomic uint64_t state;
    _Atomic int64_t now_ms;
    pthread_barrier_t start;
};

struct contestant {
    struct contest *contest;
    pthread_t thread;
    uint8_t out[BATCHES * BATCH * UUID_BYTES];
};

static void *run_takes(void *argument)
{
    struct contestant *self = argument;
    struct contest *contest = self->contest;

    pthread_barrier_wait(&contest->start);
    for (size_t i = 0; i < BATCHES; i++) {
        int64_t now_ms = atomic_fetch_add(&contest->now_ms, i % 16 == 0 ? 1 : 0);

        uuid_take_v7(&contest->source, i % 7 == 0 ? now_ms - 1000 : now_ms, BATCH,
                     self->out + i * BATCH * UUID_BYTES);
    }
    return NULL;
}

static int compare_uuids(const void *a, const void *b)
{
    return memcmp(a, b, UUID_BYTES);
}

/* Each thread sees its own rise; all together are distinct, and no batch has a foreign one inside.
 */
START_TEST(v7_threads_share_one_order)
{
    static struct contest contest;
    struct contestant *all = calloc(THREADS, sizeof(*all));
    size_t bytes = sizeof(all[0].out);
    uint8_t *list = malloc(THREADS * bytes);

    ck_assert(all != NULL && list != NULL);
    atomic_init(&contest.state, 99);
    atomic_init(&contest.now_ms, NOW_MS);
    uuid_init(&contest.source, shared_random, &contest.state);
    ck_assert_int_eq(pthread_barrier_init(&contest.start, NULL, THREADS), 0);
    for (size_t i = 0; i < THREADS; i++) {
        all[i].contest = &contest;
        ck_assert_int_eq(pthread_create(&all[i].thread, NULL, run_takes, &all[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(all[i].thread, NULL), 0);
        assert_rising(all[i].out, BATCHES * BATCH);
        memcpy(list + i * bytes, all[i].out, bytes);
    }
    qsort(list, THREADS * BATCHES, BATCH * UUID_BYTES, compare_uuids);
    assert_rising(list, (size_t)THREADS * BATCHES * BATCH);
    pthread_barrier_destroy(&contest.start);
    uuid_finish(&contest.source);
    free(list);
    free(all);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("uuid");
    TCase *tcase = tcase_create("uuid");

    tcase_add_test(tcase, v4_as_in_rfc_9562);
    tcase_add_test(tcase, v4_asks_for_randomness_once_a_batch);
    tcase_add_test(tcase, v7_as_in_rfc_9562);
    tcase_add_test(tcase, v7_grows_by_random_steps_within_a_millisecond);
    tcase_add_test(tcase, v7_carries_from_the_lower_to_the_upper_bits);
    tcase_add_test(tcase, v7_overflow_goes_on_in_the_next_millisecond);
    tcase_add_test(tcase, v7_rises_whatever_the_clock_does);
    tcase_add_test(tcase, v7_overflowing_again_and_again_rises);
    tcase_add_test(tcase, v7_starts_each_millisecond_anew);
    tcase_add_test(tcase, v7_threads_share_one_order);
    tcase_set_timeout(tcase, 60); /* under sanitizers, on a busy machine */
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
