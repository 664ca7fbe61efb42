/* The parts of the MongoDB store that need no server: outcomes, numbers, places and documents. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "mongo_place.h"
#include "mongo_uri.h"
#include "suite.h"

static struct config config;
static struct mongo_places places;
static char why[256];

static void start(void)
{
    config_init(&config);
    why[0] = '\0';
}

static void finish(void)
{
    mongo_places_finish(&places);
    config_finish(&config);
}

static void set(const char *section, const char *key, const char *value)
{
    ck_assert_msg(config_set(&config, section, key, value, "test", why, sizeof(why)) == 0, "%s",
                  why);
}

static bson_t *from_json(const char *json)
{
    bson_error_t error;
    bson_t *document = bson_new_from_json((const uint8_t *)json, -1, &error);
    ck_assert_msg(document != NULL, "%s: %s", json, error.message);
    return document;
}

static void assert_json(const bson_t *document, const char *json)
{
    bson_t *expected = from_json(json);
    char *told = bson_as_canonical_extended_json(document, NULL);
    ck_assert_msg(bson_equal(document, expected), "%s", told);
    bson_free(told);
    bson_destroy(expected);
}

/* --- Outcomes --- */

static const struct {
    bool ok;
    const char *reply;
    enum store_result result;
    int32_t code;
} answers[] = {
    {true, "{\"ok\": 1, \"value\": {\"seq\": 5}}", STORE_DONE, 0},
    {true, "{\"ok\": 1, \"value\": null}", STORE_DONE, 0},
    {true, "{\"ok\": 1, \"n\": 1, \"writeErrors\": []}", STORE_DONE, 0},
    /* not done: the server's word proves it */
    {false, "{\"ok\": 0, \"code\": 10107, \"errmsg\": \"not primary\"}", STORE_NOT_DONE, 10107},
    {false, "{\"ok\": 0, \"code\": 13435}", STORE_NOT_DONE, 13435},
    {false, "{\"ok\": 0, \"code\": 13436}", STORE_NOT_DONE, 13436},
    {false, "{\"ok\": 0, \"code\": 11000}", STORE_NOT_DONE, 11000},
    {false, "{\"ok\": 0, \"code\": 14}", STORE_NOT_DONE, 14},
    {false, "{\"ok\": 0, \"code\": 2}", STORE_NOT_DONE, 2},
    {false, "{\"ok\": 0, \"code\": 13}", STORE_NOT_DONE, 13},
    {false, "{\"ok\": 0, \"code\": 40}", STORE_NOT_DONE, 40},
    {false, "{\"ok\": 0, \"code\": 112}", STORE_NOT_DONE, 112},
    {true, "{\"ok\": 1, \"writeErrors\": [{\"index\": 0, \"code\": 11000}]}", STORE_NOT_DONE,
     11000},
    /* unknown: everything else */
    {false, "{}", STORE_UNKNOWN, 0}, /* the connection was cut */
    {false, "{\"ok\": 0, \"code\": 91}", STORE_UNKNOWN, 91},
    {false, "{\"ok\": 0, \"code\": 189}", STORE_UNKNOWN, 189},
    {false, "{\"ok\": 0, \"code\": 11602}", STORE_UNKNOWN, 11602},
    {false, "{\"ok\": 0, \"code\": 50}", STORE_UNKNOWN, 50},
    {false, "{\"ok\": 0}", STORE_UNKNOWN, 0},
    {true, "{\"ok\": 1, \"writeErrors\": [{\"index\": 0, \"code\": 91}]}", STORE_UNKNOWN, 91},
    /* a write concern error wins over all, though a value or a harmless code came with it */
    {true, "{\"ok\": 1, \"value\": {\"seq\": 5}, \"writeConcernError\": {\"code\": 64}}",
     STORE_UNKNOWN, 64},
    {true, "{\"ok\": 1, \"value\": {\"seq\": 5}, \"writeConcernError\": {\"code\": 10107}}",
     STORE_UNKNOWN, 10107},
    {false, "{\"ok\": 0, \"code\": 112, \"writeConcernError\": {\"code\": 64}}", STORE_UNKNOWN, 64},
};

START_TEST(outcome)
{
    bson_t *reply = from_json(answers[_i].reply);
    bson_error_t error = {.message = "cut"};
    struct mongo_fault fault;
    int result = mongo_judge(answers[_i].ok, reply, &error, &fault);
    ck_assert_int_eq(result, answers[_i].result == STORE_DONE ? 0 : -1);
    if (result < 0) {
        ck_assert_int_eq(fault.result, answers[_i].result);
        ck_assert_int_eq(fault.code, answers[_i].code);
    }
    bson_destroy(reply);
}
END_TEST

/* --- Numbers --- */

static const struct {
    const char *json;
    enum mongo_kind kind;
    int64_t number;
} values[] = {
    {"{\"seq\": {\"$numberInt\": \"41\"}}", MONGO_INT32, 41},
    {"{\"seq\": {\"$numberLong\": \"9223372036854775807\"}}", MONGO_INT64, INT64_MAX},
    {"{\"seq\": {\"$numberDouble\": \"41\"}}", MONGO_WHOLE, 41},
    {"{\"seq\": {\"$numberDouble\": \"-0.0\"}}", MONGO_WHOLE, 0},
    {"{\"seq\": {\"$numberDouble\": \"9007199254740991\"}}", MONGO_WHOLE, 9007199254740991},
    {"{\"seq\": {\"$numberDouble\": \"9007199254740992\"}}", MONGO_OTHER, 0},
    {"{\"seq\": {\"$numberDouble\": \"-9007199254740992\"}}", MONGO_OTHER, 0},
    {"{\"seq\": {\"$numberDouble\": \"NaN\"}}", MONGO_OTHER, 0},
    {"{\"seq\": {\"$numberDouble\": \"-Infinity\"}}", MONGO_OTHER, 0},
    {"{\"seq\": {\"$numberDouble\": \"0.5\"}}", MONGO_OTHER, 0},
    {"{\"seq\": {\"$numberDecimal\": \"41\"}}", MONGO_OTHER, 0},
    {"{\"seq\": \"41\"}", MONGO_OTHER, 0},
    {"{\"seq\": null}", MONGO_OTHER, 0},
    {"{\"seq\": true}", MONGO_OTHER, 0},
    {"{\"seq\": [{\"$numberInt\": \"41\"}]}", MONGO_OTHER, 0},
    {"{\"other\": 1}", MONGO_NO_FIELD, 0},
};

START_TEST(value)
{
    bson_t *document = from_json(values[_i].json);
    struct mongo_value read;
    mongo_value_read(document, "seq", &read);
    ck_assert_int_eq(read.kind, values[_i].kind);
    if (read.kind == MONGO_OTHER)
        ck_assert_ptr_nonnull(read.type);
    else
        ck_assert_int_eq(read.number, values[_i].number);
    bson_destroy(document);
}
END_TEST

START_TEST(numbers_keep_small_where_they_fit)
{
    bson_t document = BSON_INITIALIZER;
    mongo_append_number(&document, "a", INT32_MAX, false);
    mongo_append_number(&document, "b", INT64_C(1) + INT32_MAX, false);
    mongo_append_number(&document, "c", INT32_MIN, false);
    mongo_append_number(&document, "d", INT64_C(-1) + INT32_MIN, false);
    mongo_append_number(&document, "e", 1, true);
    assert_json(&document, "{\"a\": {\"$numberInt\": \"2147483647\"},"
                           "\"b\": {\"$numberLong\": \"2147483648\"},"
                           "\"c\": {\"$numberInt\": \"-2147483648\"},"
                           "\"d\": {\"$numberLong\": \"-2147483649\"},"
                           "\"e\": {\"$numberLong\": \"1\"}}");
    bson_destroy(&document);
}
END_TEST

START_TEST(number_and_value)
{
    int64_t number;
    struct mongo_place after = {.before = false}, before = {.before = true};
    ck_assert(mongo_number_of(&after, 10, 7, &number));
    ck_assert_int_eq(number, 7);
    ck_assert(mongo_number_of(&before, 10, 7, &number));
    ck_assert_int_eq(number, 17);
    ck_assert_int_eq(mongo_value_of(&before, 10, 17), 7);
    ck_assert(!mongo_number_of(&before, 10, INT64_MAX - 9, &number));
    ck_assert_int_eq(mongo_value_of(&before, 10, INT64_MIN), INT64_MIN);
}
END_TEST

/* --- Places --- */

static const struct mongo_place *place_of(const char *name)
{
    return mongo_place_of(&places, name, strlen(name));
}

START_TEST(places_by_name)
{
    set("mongo", "field", "n");
    set("counter b", "collection", "bills");
    set("counter bb", "collection", "bbs");
    set("counter a", "match", "{\"_id\": {\"$oid\": \"507f1f77bcf86cd799439011\"}}");
    set("counter c", "match", "{\"model\": \"c\", \"of\": {\"$gt\": 5}}");
    ck_assert_int_eq(mongo_places_init(&places, &config, why, sizeof(why)), 0);
    ck_assert_str_eq(place_of("b")->collection, "bills");
    ck_assert_str_eq(place_of("bb")->collection, "bbs");
    ck_assert_ptr_eq(place_of("bbb"), &places.fallback);
    ck_assert_ptr_eq(place_of(""), &places.fallback);
    ck_assert_ptr_eq(mongo_place_of(&places, "bx", 1), place_of("b"));
    ck_assert_str_eq(place_of("a")->field, "n");
    ck_assert(place_of("a")->by_id && !place_of("c")->by_id && places.fallback.by_id);

    bson_t filter;
    mongo_place_filter(place_of("zz"), "zz?", 2, &filter);
    mongo_place_guard(place_of("zz"), 9, &filter);
    /* libbson writes this, but does not read it. */
    char *told = bson_as_relaxed_extended_json(&filter, NULL);
    ck_assert_str_eq(told, "{ \"_id\" : \"zz\", \"n\" : { \"$type\" : [ \"int\", \"long\" ], "
                           "\"$lte\" : 9 } }");
    bson_free(told);
    bson_destroy(&filter);
}
END_TEST

START_TEST(documents_that_can_be_made)
{
    struct mongo_fault fault;
    bson_t document;
    set("counter a", "match", "{\"model\": \"x\", \"of\": null}");
    set("counter b", "match", "{\"model\": {\"$in\": [\"x\"]}}");
    set("counter c", "match", "{\"$or\": [{\"x\": 1}]}");
    set("counter d", "match", "{\"a.b\": 1}");
    set("counter e", "field", "a.b");
    ck_assert_int_eq(mongo_places_init(&places, &config, why, sizeof(why)), 0);
    ck_assert_int_eq(mongo_place_document(place_of("a"), "a", 1, 5, &document, &fault), 0);
    assert_json(&document, "{\"model\": \"x\", \"of\": null, \"seq\": {\"$numberInt\": \"5\"}}");
    bson_destroy(&document);
    for (const char *name = "bcde"; *name != '\0'; name++) {
        const struct mongo_place *place = mongo_place_of(&places, name, 1);
        ck_assert_int_eq(mongo_place_document(place, name, 1, 5, &document, &fault), -1);
        ck_assert_int_eq(fault.result, STORE_REFUSED);
    }
}
END_TEST

START_TEST(matches_that_do_not_do)
{
    set("counter a", "match", "{\"seq\": 5}");
    ck_assert_int_eq(mongo_places_init(&places, &config, why, sizeof(why)), -1);
    ck_assert_ptr_nonnull(strstr(why, "names the field"));
    mongo_places_finish(&places);
    set("counter a", "match", "{\"x\": ");
    ck_assert_int_eq(mongo_places_init(&places, &config, why, sizeof(why)), -1);
    ck_assert_ptr_nonnull(strstr(why, "[counter a] match"));
}
END_TEST

/* --- The URI --- */

static const struct mongo_bounds bounds = {
    .commit_ms = 1000, .select_ms = 200, .connect_ms = 201, .command_ms = 600, .server_ms = 500};

START_TEST(uri_is_bounded)
{
    set("store", "uri", "mongodb://h/?retryWrites=true&socketTimeoutMS=90000&connectTimeoutMS=50");
    mongoc_uri_t *uri = mongo_uri_make(&config, &bounds, why, sizeof(why));
    ck_assert_msg(uri != NULL, "%s", why);
    ck_assert(!mongoc_uri_get_option_as_bool(uri, MONGOC_URI_RETRYWRITES, true));
    ck_assert_int_eq(mongoc_uri_get_option_as_int32(uri, MONGOC_URI_SOCKETTIMEOUTMS, 0), 600);
    ck_assert_int_eq(mongoc_uri_get_option_as_int32(uri, MONGOC_URI_CONNECTTIMEOUTMS, 0), 50);
    ck_assert_int_eq(mongoc_uri_get_option_as_int32(uri, MONGOC_URI_SERVERSELECTIONTIMEOUTMS, 0),
                     200);
    ck_assert_int_eq(mongoc_uri_get_option_as_int32(uri, MONGOC_URI_WAITQUEUETIMEOUTMS, 0), 200);
    mongoc_uri_destroy(uri);
}
END_TEST

static const char *const bad_uris[] = {"mongodb://", "mongodb://u:secret@h:port/",
                                       "mongodb://u:sec@secret@h/", "mongodb://u:secret%@h/"};

START_TEST(uri_is_not_repeated)
{
    set("store", "uri", bad_uris[_i]);
    ck_assert_ptr_null(mongo_uri_make(&config, &bounds, why, sizeof(why)));
    ck_assert_ptr_nonnull(strstr(why, "not a MongoDB URI"));
    ck_assert_ptr_null(strstr(why, "secret"));
}
END_TEST

int main(void)
{
    mongoc_init();
    mongoc_log_set_handler(NULL, NULL);
    Suite *suite = suite_create("mongo");
    TCase *tcase = tcase_create("mongo");
    tcase_add_checked_fixture(tcase, start, finish);
    tcase_add_loop_test(tcase, outcome, 0, sizeof(answers) / sizeof(answers[0]));
    tcase_add_loop_test(tcase, value, 0, sizeof(values) / sizeof(values[0]));
    tcase_add_test(tcase, numbers_keep_small_where_they_fit);
    tcase_add_test(tcase, number_and_value);
    tcase_add_test(tcase, places_by_name);
    tcase_add_test(tcase, documents_that_can_be_made);
    tcase_add_test(tcase, matches_that_do_not_do);
    tcase_add_test(tcase, uri_is_bounded);
    tcase_add_loop_test(tcase, uri_is_not_repeated, 0, sizeof(bad_uris) / sizeof(bad_uris[0]));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
