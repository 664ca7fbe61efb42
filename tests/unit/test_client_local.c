/* The client library's parts that need no server. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "idmint.h"
#include "oid_run.h"
#include "suite.h"

static void check_address(const char *text, const char *host, const char *port, bool local)
{
    struct address address;

    ck_assert_msg(address_parse(text, strlen(text), &address), "%s", text);
    ck_assert_str_eq(address.host, host);
    ck_assert_str_eq(address.port, port);
    ck_assert_int_eq(address.local, local);
}

START_TEST(address_forms)
{
    check_address("127.0.0.1:7377", "127.0.0.1", "7377", false);
    check_address("example.test:1", "example.test", "1", false);
    check_address("example.test:0", "example.test", "0", false);
    check_address("example.test", "example.test", "7377", false);
    check_address("[::1]:65535", "::1", "65535", false);
    check_address("[fe80::1%lo]", "fe80::1%lo", "7377", false);
    check_address("unix:/run/idmint.sock", "/run/idmint.sock", "", true);
}
END_TEST

START_TEST(address_refused)
{
    static const char *const wrong[] = {"",         ":1",    "host:", "h:65536", "h:1x",     "h:-1",
                                        "h:123456", "::1",   "[::1",  "[::1]x",  "[::1]:",   "[]:1",
                                        "[host]:1", "unix:", "a:1:2", "h: 1",    "[::1]7377"};
    struct address address;
    char path[300] = "unix:/";

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ck_assert_msg(!address_parse(wrong[i], strlen(wrong[i]), &address), "%s", wrong[i]);
    }
    memset(path + 6, 'a', 200);
    ck_assert(!address_parse(path, strlen(path), &address));
}
END_TEST

START_TEST(address_lists)
{
    struct address addresses[ADDRESS_LIST_MAX];
    char many[ADDRESS_LIST_MAX * 4 + 8] = "";

    ck_assert_uint_eq(address_parse_list("a:1, [::1]:2 ,unix:/x", addresses), 3);
    ck_assert_str_eq(addresses[1].host, "::1");
    ck_assert_str_eq(addresses[2].host, "/x");
    ck_assert_uint_eq(address_parse_list("a:1,", addresses), 0);
    ck_assert_uint_eq(address_parse_list("a:1,,b:2", addresses), 0);
    ck_assert_uint_eq(address_parse_list("a:1,b:0", addresses), 0);
    for (size_t i = 0; i <= ADDRESS_LIST_MAX; i++) {
        memcpy(many + 4 * i, "h:1,", 4);
    }
    many[4 * ADDRESS_LIST_MAX + 3] = '\0';
    ck_assert_uint_eq(address_parse_list(many, addresses), 0);
    many[4 * ADDRESS_LIST_MAX - 1] = '\0';
    ck_assert_uint_eq(address_parse_list(many, addresses), ADDRESS_LIST_MAX);
}
END_TEST

START_TEST(text_and_parts)
{
    struct idmint_oid_parts parts;
    struct idmint_oid id;
    char text[IDMINT_OID_TEXT];

    ck_assert_int_eq(idmint_oid_parse("6553f1003F2A91c8d4003039", &id), IDMINT_OK);
    idmint_oid_decode(&id, &parts);
    ck_assert_uint_eq(parts.seconds, 1700000000);
    ck_assert_mem_eq(parts.random, "\x3f\x2a\x91\xc8\xd4", 5);
    ck_assert_uint_eq(parts.counter, 12345);
    ck_assert_uint_eq(parts.legacy_machine, 0x3f2a91);
    ck_assert_uint_eq(parts.legacy_pid, 0xc8d4);
    idmint_oid_text(&id, text);
    ck_assert_str_eq(text, "6553f1003f2a91c8d4003039");
    ck_assert_int_eq(idmint_oid_parse("6553f1003f2a91c8d400303", &id), IDMINT_ARGUMENT);
    ck_assert_int_eq(idmint_oid_parse("6553f1003f2a91c8d400303g", &id), IDMINT_ARGUMENT);
    ck_assert_int_eq(idmint_oid_parse(NULL, &id), IDMINT_ARGUMENT);
}
END_TEST

START_TEST(times)
{
    struct idmint_oid id;
    char text[IDMINT_OID_TEXT], time_text[IDMINT_TIME_TEXT];
    uint32_t seconds;

    ck_assert_int_eq(idmint_time_parse("2012-10-17T21:13:27Z", &seconds), IDMINT_OK);
    ck_assert_uint_eq(seconds, 1350508407);
    idmint_oid_at(seconds, &id);
    idmint_oid_text(&id, text);
    ck_assert_str_eq(text, "507f1f770000000000000000");
    idmint_time_text(seconds, time_text);
    ck_assert_str_eq(time_text, "2012-10-17T21:13:27Z");
    ck_assert_int_eq(idmint_time_parse("yesterday", &seconds), IDMINT_ARGUMENT);
}
END_TEST

START_TEST(expand_carries)
{
    struct idmint_oid first, ids[3];
    char text[IDMINT_OID_TEXT];

    ck_assert_int_eq(idmint_oid_parse("6553f1003f2a91c8d4fffffe", &first), IDMINT_OK);
    ck_assert_int_eq(idmint_oid_expand(&first, 1, 3, ids), IDMINT_OK);
    idmint_oid_text(&ids[0], text);
    ck_assert_str_eq(text, "6553f1003f2a91c8d4ffffff");
    idmint_oid_text(&ids[2], text);
    ck_assert_str_eq(text, "6553f1013f2a91c8d4000001");
    /* In place: the first is where the ids go. */
    ids[0] = first;
    ck_assert_int_eq(idmint_oid_expand(&ids[0], 0, 3, ids), IDMINT_OK);
    idmint_oid_text(&ids[2], text);
    ck_assert_str_eq(text, "6553f1013f2a91c8d4000000");
}
END_TEST

START_TEST(expand_ends_with_the_format)
{
    struct idmint_oid first, ids[2];

    ck_assert_int_eq(idmint_oid_parse("ffffffff3f2a91c8d4fffffe", &first), IDMINT_OK);
    ck_assert_int_eq(idmint_oid_expand(&first, 0, 2, ids), IDMINT_OK);
    ck_assert_int_eq(idmint_oid_expand(&first, 1, 1, ids), IDMINT_OK);
    ck_assert_int_eq(idmint_oid_expand(&first, 1, 2, ids), IDMINT_ARGUMENT);
    ck_assert_int_eq(idmint_oid_expand(&first, 2, 1, ids), IDMINT_ARGUMENT);
    ck_assert_int_eq(idmint_oid_expand(&first, UINT64_MAX, 1, ids), IDMINT_ARGUMENT);
    ck_assert_int_eq(idmint_oid_expand(&first, 1, SIZE_MAX, ids), IDMINT_ARGUMENT);
    ck_assert_int_eq(idmint_oid_expand(&first, 0, 0, NULL), IDMINT_OK);
}
END_TEST

#define ID_A "6553f1003f2a91c8d4003039"
#define ID_B "6553f1003f2a91c8d400303A"

static size_t decode(const char *text, struct idmint_oid *ids, size_t max, size_t *used)
{
    /* Memory of just this size, so that reading past it is seen. */
    const size_t len = strlen(text);
    char *exact = malloc(len ? len : 1);

    ck_assert_ptr_nonnull(exact);
    memcpy(exact, text, len);
    size_t count = oid_run_decode(exact, len, ids, max, used);
    free(exact);
    return count;
}

START_TEST(runs)
{
    struct idmint_oid ids[4];
    size_t used;

    ck_assert_uint_eq(decode("$24\r\n" ID_A "\r\n$24\r\n" ID_B "\r\n$24\r\n655", ids, 4, &used), 2);
    ck_assert_uint_eq(used, 62);
    ck_assert_uint_eq(ids[1].bytes[11], 0x3a);
    ck_assert_uint_eq(decode("+" ID_A "\r\n+" ID_B "\r\n", ids, 1, &used), 1);
    ck_assert_uint_eq(used, 27);
    /* Another shape, from the second on and from the first. */
    ck_assert_uint_eq(decode("+" ID_A "\r\n$24\r\n" ID_B "\r\n", ids, 4, &used), 1);
    ck_assert_uint_eq(decode("$25\r\n" ID_A "0\r\n", ids, 4, &used), 0);
    ck_assert_uint_eq(decode("$24\r\n" ID_A "\n\r", ids, 4, &used), 0);
    ck_assert_uint_eq(decode("+" ID_A "\r", ids, 4, &used), 0);
    ck_assert_uint_eq(decode("+6553f1003f2a91c8d400303x\r\n", ids, 4, &used), 0);
    ck_assert_uint_eq(decode("", ids, 4, &used), 0);
    ck_assert_uint_eq(used, 0);
}
END_TEST

START_TEST(uuid_text)
{
    struct idmint_uuid uuid;
    char text[IDMINT_UUID_TEXT];

    for (size_t i = 0; i < sizeof(uuid.bytes); i++) {
        uuid.bytes[i] = (uint8_t)(i * 17);
    }
    idmint_uuid_text(&uuid, text);
    ck_assert_str_eq(text, "00112233-4455-6677-8899-aabbccddeeff");
}
END_TEST

START_TEST(options_checked)
{
    struct idmint *handle = NULL;
    const struct idmint_options wrong[] = {{.addresses = "nonsense:"},
                                           {.addresses = ""},
                                           {.timeout_ms = 3600001},
                                           {.connect_timeout_ms = 3600001},
                                           {.user = "without password"}};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ck_assert_int_eq(idmint_create(&wrong[i], &handle), IDMINT_ARGUMENT);
    }
    ck_assert_ptr_null(handle);
    ck_assert_int_eq(idmint_create(NULL, NULL), IDMINT_ARGUMENT);
    ck_assert_int_eq(idmint_create(NULL, &handle), IDMINT_OK);
    ck_assert_str_eq(idmint_error(handle), "");
    idmint_destroy(handle);
    idmint_destroy(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("client_local");
    TCase *tcase = tcase_create("local");

    tcase_add_test(tcase, address_forms);
    tcase_add_test(tcase, address_refused);
    tcase_add_test(tcase, address_lists);
    tcase_add_test(tcase, text_and_parts);
    tcase_add_test(tcase, times);
    tcase_add_test(tcase, expand_carries);
    tcase_add_test(tcase, expand_ends_with_the_format);
    tcase_add_test(tcase, runs);
    tcase_add_test(tcase, uuid_text);
    tcase_add_test(tcase, options_checked);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
