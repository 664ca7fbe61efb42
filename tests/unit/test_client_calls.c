/* The client library's waiting calls against a server that plays scripts. */
#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_server.h"
#include "idmint.h"
#include "suite.h"

#define OID "*1\r\n$3\r\nOID\r\n"
#define PING "*1\r\n$4\r\nPING\r\n"
#define NEXT_A "*2\r\n$4\r\nNEXT\r\n$1\r\na\r\n"
#define GET_A "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
#define ID_A "6553f1003f2a91c8d4003039"
#define ID_B "6553f1003f2a91c8d400303a"

/* A handle to `addresses`; the time-outs are long, unless a test is about them. */
static struct idmint *open_handle(const char *addresses, uint32_t timeout_ms)
{
    const struct idmint_options options = {
        .addresses = addresses, .timeout_ms = timeout_ms, .connect_timeout_ms = timeout_ms};
    struct idmint *handle = NULL;

    ck_assert_int_eq(idmint_create(&options, &handle), IDMINT_OK);
    return handle;
}

/* One NEXT against a server that greets, reads it, and answers with `steps`. */
static void check_next(enum fake_verb verb, const char *answer, enum fake_verb then,
                       uint32_t timeout_ms, int outcome, const char *word)
{
    const struct fake_step script[] = {{FAKE_ACCEPT, NULL},   {FAKE_HELLO, NULL},
                                       {FAKE_EXPECT, NEXT_A}, {verb, answer},
                                       {then, NULL},          {FAKE_END, NULL}};
    struct fake_server server;
    int64_t value = -1;

    fake_start(&server, script);
    struct idmint *handle = open_handle(server.address, timeout_ms);
    ck_assert_int_eq(idmint_next(handle, "a", &value), outcome);
    ck_assert_str_eq(idmint_error_word(handle), word);
    ck_assert_int_eq(value, outcome == IDMINT_OK ? 7 : -1);
    ck_assert_int_eq(idmint_error(handle)[0] == '\0', outcome == IDMINT_OK);
    idmint_destroy(handle);
    fake_finish(&server);
}

START_TEST(next_outcomes)
{
    check_next(FAKE_SEND, ":7\r\n", FAKE_SILENT, 9000, IDMINT_OK, "");
    check_next(FAKE_PIECES, ":7\r\n", FAKE_SILENT, 9000, IDMINT_OK, "");
    check_next(FAKE_SEND, "-TRYAGAIN store\r\n", FAKE_SILENT, 9000, IDMINT_NOT_DONE, "TRYAGAIN");
    check_next(FAKE_SEND, "-UNCERTAIN x\r\n", FAKE_SILENT, 9000, IDMINT_UNKNOWN, "UNCERTAIN");
    check_next(FAKE_SEND, "-EXHAUSTED x\r\n", FAKE_SILENT, 9000, IDMINT_REFUSED, "EXHAUSTED");
    check_next(FAKE_PIECES, "-WRONGTYPE x\r\n", FAKE_SILENT, 9000, IDMINT_REFUSED, "WRONGTYPE");
    check_next(FAKE_SEND, "-BACKWARD\r\n", FAKE_SILENT, 9000, IDMINT_REFUSED, "BACKWARD");
}
END_TEST

START_TEST(next_lost)
{
    check_next(FAKE_CLOSE, NULL, FAKE_CLOSE, 9000, IDMINT_UNKNOWN, "");
    check_next(FAKE_RESET, NULL, FAKE_CLOSE, 9000, IDMINT_UNKNOWN, "");
    check_next(FAKE_SEND, ":7", FAKE_CLOSE, 9000, IDMINT_UNKNOWN, "");
    check_next(FAKE_SEND, ":7", FAKE_SILENT, 50, IDMINT_UNKNOWN, "");
    check_next(FAKE_SILENT, NULL, FAKE_CLOSE, 50, IDMINT_UNKNOWN, "");
}
END_TEST

START_TEST(next_garbage)
{
    static const char *const garbage[] = {"HTTP/1.1 400 Bad Request\r\n",
                                          "+OK\r\n",
                                          "$3\r\nabcde",
                                          ":7x\r\n",
                                          "*1\r\n:7\r\n",
                                          "$-1\r\n",
                                          "*2000000000\r\n",
                                          "$99999999999\r\n",
                                          "%-5\r\n"};

    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        check_next(FAKE_SEND, garbage[i], FAKE_SILENT, 9000, IDMINT_UNKNOWN, "");
    }
}
END_TEST

/* After garbage, a time-out or a hang-up the next call has a connection of its own. */
START_TEST(connects_anew)
{
    const struct fake_step script[] = {
        {FAKE_ACCEPT, NULL},        {FAKE_HELLO, NULL},    {FAKE_EXPECT, NEXT_A},
        {FAKE_SEND, "?\r\n:8\r\n"}, {FAKE_ACCEPT, NULL},   {FAKE_HELLO, NULL},
        {FAKE_EXPECT, NEXT_A},      {FAKE_SEND, ":9\r\n"}, {FAKE_END, NULL}};
    struct fake_server server;
    int64_t value = -1;

    fake_start(&server, script);
    struct idmint *handle = open_handle(server.address, 9000);
    ck_assert_int_eq(idmint_next(handle, "a", &value), IDMINT_UNKNOWN);
    ck_assert_int_eq(idmint_next(handle, "a", &value), IDMINT_OK);
    ck_assert_int_eq(value, 9);
    idmint_destroy(handle);
    fake_finish(&server);
}
END_TEST

/* A connection that died while it was idle costs nothing: the call was never sent on it. */
START_TEST(idle_hang_up)
{
    const struct fake_step script[] = {{FAKE_ACCEPT, NULL},
                                       {FAKE_HELLO, NULL},
                                       {FAKE_EXPECT, PING},
                                       {FAKE_SEND, "+PONG\r\n"},
                                       {FAKE_SEND, "-ERR idle\r\n"},
                                       {FAKE_CLOSE, NULL},
                                       {FAKE_ACCEPT, NULL},
                                       {FAKE_HELLO, NULL},
                                       {FAKE_EXPECT, NEXT_A},
                                       {FAKE_SEND, ":7\r\n"},
                                       {FAKE_END, NULL}};
    struct fake_server server;
    int64_t value = -1;

    fake_start(&server, script);
    struct idmint *handle = open_handle(server.address, 9000);
    ck_assert_int_eq(idmint_ping(handle), IDMINT_OK);
    /* Wait for what the server sends before it hangs up, without taking it. */
    struct pollfd readable = {.fd = idmint_fd(handle), .events = POLLIN};
    ck_assert_int_eq(poll(&readable, 1, -1), 1);
    ck_assert_int_eq(idmint_next(handle, "a", &value), IDMINT_OK);
    ck_assert_int_eq(value, 7);
    idmint_destroy(handle);
    fake_finish(&server);
}
END_TEST

/* A lost reply of a command that takes nothing: safe to repeat. */
START_TEST(reads_are_never_unknown)
{
    const struct fake_step script[] = {
        {FAKE_ACCEPT, NULL},         {FAKE_HELLO, NULL},     {FAKE_EXPECT, GET_A},
        {FAKE_CLOSE, NULL},          {FAKE_ACCEPT, NULL},    {FAKE_HELLO, NULL},
        {FAKE_EXPECT, GET_A},        {FAKE_SEND, "$-1\r\n"}, {FAKE_EXPECT, GET_A},
        {FAKE_SEND, "$2\r\n-5\r\n"}, {FAKE_END, NULL}};
    struct fake_server server;
    int64_t value = 1;
    bool present = true;

    fake_start(&server, script);
    struct idmint *handle = open_handle(server.address, 9000);
    ck_assert_int_eq(idmint_get(handle, "a", &value, &present), IDMINT_NOT_DONE);
    ck_assert_int_eq(idmint_get(handle, "a", &value, &present), IDMINT_OK);
    ck_assert(!present);
    ck_assert_int_eq(value, 1);
    ck_assert_int_eq(idmint_get(handle, "a", &value, &present), IDMINT_OK);
    ck_assert(present);
    ck_assert_int_eq(value, -5);
    idmint_destroy(handle);
    fake_finish(&server);
}
END_TEST

START_TEST(nobody_there)
{
    char address[64], list[140];
    struct idmint_oid id;

    fake_closed_address(address);
    struct idmint *handle = open_handle(address, 9000);
    ck_assert_int_eq(idmint_oid(handle, &id), IDMINT_NOT_DONE);
    ck_assert_ptr_nonnull(strstr(idmint_error(handle), address));
    idmint_destroy(handle);
    snprintf(list, sizeof(list), "unix:/nonexistent/idmint,%s", address);
    handle = open_handle(list, 9000);
    ck_assert_int_eq(idmint_oid(handle, &id), IDMINT_NOT_DONE);
    ck_assert_int_eq(idmint_connect(handle), IDMINT_NOT_DONE);
    idmint_destroy(handle);
}
END_TEST

/* Where an address can not be reached, is full, is no idmintd or hangs up before anything was sent,
 * the call goes to the next one. */
static void check_next_address(const struct fake_step *first)
{
    const struct fake_step script[] = {{FAKE_ACCEPT, NULL},
                                       {FAKE_HELLO, NULL},
                                       {FAKE_EXPECT, NEXT_A},
                                       {FAKE_SEND, ":7\r\n"},
                                       {FAKE_END, NULL}};
    struct fake_server bad, good;
    char list[140];
    int64_t value = -1;

    fake_start(&bad, first);
    fake_start(&good, script);
    snprintf(list, sizeof(list), "%s,%s", bad.address, good.address);
    struct idmint *handle = open_handle(list, 9000);
    ck_assert_int_eq(idmint_next(handle, "a", &value), IDMINT_OK);
    ck_assert_int_eq(value, 7);
    idmint_destroy(handle);
    fake_finish(&bad);
    fake_finish(&good);
}

START_TEST(next_address)
{
    const struct fake_step hang_up[] = {{FAKE_ACCEPT, NULL}, {FAKE_CLOSE, NULL}, {FAKE_END, NULL}};
    const struct fake_step full[] = {{FAKE_ACCEPT, NULL},
                                     {FAKE_SEND, "-ERR max number of clients reached\r\n"},
                                     {FAKE_SILENT, NULL},
                                     {FAKE_END, NULL}};
    const struct fake_step other[] = {
        {FAKE_ACCEPT, NULL}, {FAKE_SEND, "SSH-2.0\r\n"}, {FAKE_SILENT, NULL}, {FAKE_END, NULL}};

    check_next_address(hang_up);
    check_next_address(full);
    check_next_address(other);
}
END_TEST

START_TEST(closed_address_then_open)
{
    const struct fake_step script[] = {{FAKE_ACCEPT, NULL},
                                       {FAKE_HELLO, NULL},
                                       {FAKE_EXPECT, OID},
                                       {FAKE_SEND, "+" ID_A "\r\n"},
                                       {FAKE_END, NULL}};
    struct fake_server server;
    struct idmint_oid id;
    char closed[64], list[140], text[IDMINT_OID_TEXT];

    fake_closed_address(closed);
    fake_start(&server, script);
    snprintf(list, sizeof(list), "%s,%s", closed, server.address);
    struct idmint *handle = open_handle(list, 9000);
    ck_assert_int_eq(idmint_oid(handle, &id), IDMINT_OK);
    idmint_oid_text(&id, text);
    ck_assert_str_eq(text, ID_A);
    idmint_destroy(handle);
    fake_finish(&server);
}
END_TEST

START_TEST(credentials)
{
    const struct fake_step script[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_EXPECT, "*5\r\n$5\r\nHELLO\r\n$1\r\n2\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$2\r\npw\r\n"},
        {FAKE_SEND, "-WRONGPASS invalid username-password pair\r\n"},
        {FAKE_SILENT, NULL},
        {FAKE_END, NULL}};
    struct fake_server server;
    struct idmint_oid id;
    struct idmint *handle = NULL;

    fake_start(&server, script);
    const struct idmint_options options = {
        .addresses = server.address, .user = "ann", .password = "pw"};
    ck_assert_int_eq(idmint_create(&options, &handle), IDMINT_OK);
    ck_assert_int_eq(idmint_oid(handle, &id), IDMINT_REFUSED);
    ck_assert_str_eq(idmint_error_word(handle), "WRONGPASS");
    idmint_destroy(handle);
    fake_finish(&server);
}
END_TEST

START_TEST(follows_the_leader_once)
{
    char not_leader[100], again[100];
    struct fake_server old, leader;
    int64_t value = -1;

    const struct fake_step leads[] = {
        {FAKE_ACCEPT, NULL},   {FAKE_HELLO, NULL}, {FAKE_EXPECT, NEXT_A}, {FAKE_SEND, ":7\r\n"},
        {FAKE_EXPECT, NEXT_A}, {FAKE_SEND, again}, {FAKE_SILENT, NULL},   {FAKE_END, NULL}};
    const struct fake_step follows[] = {
        {FAKE_ACCEPT, NULL},     {FAKE_HELLO, NULL},    {FAKE_EXPECT, NEXT_A},
        {FAKE_SEND, not_leader}, {FAKE_SILENT, NULL},   {FAKE_ACCEPT, NULL},
        {FAKE_HELLO, NULL},      {FAKE_EXPECT, NEXT_A}, {FAKE_SEND, not_leader},
        {FAKE_SILENT, NULL},     {FAKE_END, NULL}};
    fake_start(&leader, leads);
    snprintf(not_leader, sizeof(not_leader), "-NOTLEADER %s\r\n", leader.address);
    fake_start(&old, follows);
    snprintf(again, sizeof(again), "-NOTLEADER %s\r\n", old.address);
    struct idmint *handle = open_handle(old.address, 9000);
    ck_assert_int_eq(idmint_next(handle, "a", &value), IDMINT_OK);
    ck_assert_int_eq(value, 7);
    /* Sent to and fro, it gives up. */
    ck_assert_int_eq(idmint_next(handle, "a", &value), IDMINT_NOT_DONE);
    ck_assert_str_eq(idmint_error_word(handle), "NOTLEADER");
    idmint_destroy(handle);
    fake_finish(&old);
    fake_finish(&leader);
}
END_TEST

#define OID_3 "*2\r\n$3\r\nOID\r\n$1\r\n3\r\n"

static void check_batch(enum fake_verb verb, const char *answer, enum fake_verb then, int outcome,
                        size_t count)
{
    const struct fake_step script[] = {{FAKE_ACCEPT, NULL},  {FAKE_HELLO, NULL},
                                       {FAKE_EXPECT, OID_3}, {verb, answer},
                                       {then, NULL},         {FAKE_END, NULL}};
    struct idmint_oid ids[3];
    struct fake_server server;
    size_t got = 99;

    fake_start(&server, script);
    struct idmint *handle = open_handle(server.address, 9000);
    ck_assert_int_eq(idmint_oids(handle, 3, ids, &got), outcome);
    ck_assert_uint_eq(got, count);
    if (count == 3) {
        ck_assert_uint_eq(ids[2].bytes[11], 0x3a);
    }
    idmint_destroy(handle);
    fake_finish(&server);
}

START_TEST(batches)
{
    check_batch(FAKE_SEND, "*3\r\n+" ID_A "\r\n+" ID_A "\r\n+" ID_B "\r\n", FAKE_SILENT, IDMINT_OK,
                3);
    check_batch(FAKE_PIECES, "*3\r\n$24\r\n" ID_A "\r\n+" ID_A "\r\n$24\r\n" ID_B "\r\n",
                FAKE_SILENT, IDMINT_OK, 3);
    check_batch(FAKE_SEND, "*3\r\n+" ID_A "\r\n+" ID_A "\r\n+", FAKE_CLOSE, IDMINT_UNKNOWN, 2);
    check_batch(FAKE_SEND, "*3\r\n+" ID_A "\r\n:5\r\n", FAKE_SILENT, IDMINT_UNKNOWN, 1);
    check_batch(FAKE_SEND, "*2\r\n+" ID_A "\r\n+" ID_A "\r\n", FAKE_SILENT, IDMINT_UNKNOWN, 0);
    check_batch(FAKE_PIECES, "-TRYAGAIN x\r\n", FAKE_SILENT, IDMINT_NOT_DONE, 0);
}
END_TEST

/* An array of `count` times ID_A. */
static size_t spell_array(char *text, size_t count)
{
    size_t len = (size_t)snprintf(text, 10, "*%zu\r\n", count);

    for (size_t i = 0; i < count; i++) {
        memcpy(text + len, "+" ID_A "\r\n", 27);
        len += 27;
    }
    text[len] = '\0';
    return len;
}

#define OID_2000 "*2\r\n$3\r\nOID\r\n$4\r\n2000\r\n"
#define OID_1 "*2\r\n$3\r\nOID\r\n$1\r\n1\r\n"

/* A batch in several pieces that is sent away in its middle: what came stays, the rest comes from
 * the leader, and is in order. */
START_TEST(batch_follows_the_leader)
{
    enum { IDS = 4001 };
    static struct idmint_oid ids[IDS];
    static char piece[2000 * 27 + 10];
    char not_leader[140];
    struct fake_server old, leader;
    size_t len = spell_array(piece, 2000), got;

    ck_assert_uint_lt(len, sizeof(piece));
    const struct fake_step leads[] = {{FAKE_ACCEPT, NULL},     {FAKE_HELLO, NULL},
                                      {FAKE_EXPECT, OID_2000}, {FAKE_SEND, piece},
                                      {FAKE_EXPECT, OID_1},    {FAKE_SEND, "*1\r\n+" ID_B "\r\n"},
                                      {FAKE_END, NULL}};
    const struct fake_step follows[] = {
        {FAKE_ACCEPT, NULL}, {FAKE_HELLO, NULL},      {FAKE_EXPECT, OID_2000 OID_2000 OID_1},
        {FAKE_SEND, piece},  {FAKE_SEND, not_leader}, {FAKE_SILENT, NULL},
        {FAKE_END, NULL}};
    fake_start(&leader, leads);
    snprintf(not_leader, sizeof(not_leader), "-NOTLEADER %s\r\n*1\r\n+" ID_A "\r\n",
             leader.address);
    fake_start(&old, follows);
    struct idmint *handle = open_handle(old.address, 9000);
    ck_assert_int_eq(idmint_oids(handle, IDS, ids, &got), IDMINT_OK);
    ck_assert_uint_eq(got, IDS);
    ck_assert_uint_eq(ids[1999].bytes[11], 0x39);
    ck_assert_uint_eq(ids[4000].bytes[11], 0x3a);
    idmint_destroy(handle);
    fake_finish(&old);
    fake_finish(&leader);
}
END_TEST

START_TEST(ranges)
{
    const struct fake_step script[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_HELLO, NULL},
        {FAKE_EXPECT, "*3\r\n$3\r\nOID\r\n$5\r\nRANGE\r\n$4\r\n1000\r\n"},
        {FAKE_PIECES, "*2\r\n+" ID_A "\r\n$4\r\n1000\r\n"},
        {FAKE_EXPECT, "*3\r\n$4\r\nNEXT\r\n$1\r\na\r\n$2\r\n10\r\n"},
        {FAKE_PIECES, "*2\r\n:1\r\n:10\r\n"},
        {FAKE_EXPECT, "*3\r\n$3\r\nOID\r\n$5\r\nRANGE\r\n$1\r\n5\r\n"},
        {FAKE_SEND, "*2\r\n+" ID_A "\r\n$1\r\n4\r\n"}, /* fewer than asked for */
        {FAKE_SILENT, NULL},
        {FAKE_END, NULL}};
    struct fake_server server;
    struct idmint_oid first;
    int64_t low, high;

    fake_start(&server, script);
    struct idmint *handle = open_handle(server.address, 9000);
    ck_assert_int_eq(idmint_oid_range(handle, 1000, &first), IDMINT_OK);
    ck_assert_int_eq(idmint_next_range(handle, "a", 10, &low, &high), IDMINT_OK);
    ck_assert_int_eq(low, 1);
    ck_assert_int_eq(high, 10);
    ck_assert_int_eq(idmint_oid_range(handle, 5, &first), IDMINT_UNKNOWN);
    ck_assert_int_eq(idmint_oid_range(handle, 0, &first), IDMINT_ARGUMENT);
    ck_assert_int_eq(idmint_oid_range(handle, IDMINT_RANGE_MAX + 1, &first), IDMINT_ARGUMENT);
    idmint_destroy(handle);
    fake_finish(&server);
}
END_TEST

START_TEST(counters)
{
    const struct fake_step script[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_HELLO, NULL},
        {FAKE_EXPECT, "*7\r\n$7\r\nCOUNTER\r\n$6\r\nCREATE\r\n$1\r\na\r\n$4\r\nSTEP\r\n$1\r\n5\r\n"
                      "$3\r\nMAX\r\n$2\r\n-1\r\n"},
        {FAKE_SEND, "+OK\r\n"},
        {FAKE_EXPECT, "*3\r\n$7\r\nCOUNTER\r\n$4\r\nINFO\r\n$1\r\na\r\n"},
        {FAKE_SEND, "*14\r\n+name\r\n+a\r\n+value\r\n+-99\r\n+start\r\n+1\r\n+step\r\n+5\r\n"
                    "+max\r\n+9\r\n+cache\r\n+1\r\n+generation\r\n+3\r\n"},
        {FAKE_EXPECT, "*8\r\n$7\r\nCOUNTER\r\n$4\r\nLIST\r\n$5\r\nCOUNT\r\n$1\r\n2\r\n"
                      "$6\r\nPREFIX\r\n$1\r\nx\r\n$5\r\nAFTER\r\n$2\r\nxa\r\n"},
        {FAKE_PIECES, "*2\r\n$2\r\nxb\r\n*1\r\n*6\r\n+xb\r\n+4\r\n+1\r\n+1\r\n+9\r\n+1\r\n"},
        {FAKE_EXPECT, "*4\r\n$7\r\nCOUNTER\r\n$5\r\nRAISE\r\n$1\r\na\r\n$2\r\n40\r\n"},
        {FAKE_SEND, "$2\r\n41\r\n"},
        {FAKE_EXPECT,
         "*5\r\n$7\r\nCOUNTER\r\n$5\r\nRESET\r\n$1\r\na\r\n$1\r\n0\r\n$5\r\nFORCE\r\n"},
        {FAKE_SEND, "-NOPERM no\r\n"},
        {FAKE_EXPECT, "*4\r\n$7\r\nCOUNTER\r\n$4\r\nDROP\r\n$1\r\na\r\n$5\r\nFORCE\r\n"},
        {FAKE_SEND, "+OK\r\n"},
        {FAKE_END, NULL}};
    const struct idmint_counter made = {.step = 5, .max = -1};
    struct idmint_counter counter, page[2];
    struct fake_server server;
    char next[IDMINT_NAME_MAX + 1] = "xa";
    int64_t now;
    size_t got;

    fake_start(&server, script);
    struct idmint *handle = open_handle(server.address, 9000);
    ck_assert_int_eq(idmint_counter_create(handle, "a", IDMINT_STEP | IDMINT_MAX, &made),
                     IDMINT_OK);
    ck_assert_int_eq(idmint_counter_info(handle, "a", &counter), IDMINT_OK);
    ck_assert_str_eq(counter.name, "a");
    ck_assert_int_eq(counter.value, -99);
    ck_assert_int_eq(idmint_counter_list(handle, "x", next, 2, page, &got, next), IDMINT_OK);
    ck_assert_uint_eq(got, 1);
    ck_assert_str_eq(next, "xb");
    ck_assert_str_eq(page[0].name, "xb");
    ck_assert_int_eq(page[0].max, 9);
    ck_assert_int_eq(idmint_counter_raise(handle, "a", 40, &now), IDMINT_OK);
    ck_assert_int_eq(now, 41);
    ck_assert_int_eq(idmint_counter_reset(handle, "a", 0), IDMINT_REFUSED);
    ck_assert_str_eq(idmint_error_word(handle), "NOPERM");
    ck_assert_int_eq(idmint_counter_drop(handle, "a"), IDMINT_OK);
    idmint_destroy(handle);
    fake_finish(&server);
}
END_TEST

START_TEST(uuids)
{
    const struct fake_step script[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_HELLO, NULL},
        {FAKE_EXPECT, "*4\r\n$4\r\nUUID\r\n$2\r\nV7\r\n$1\r\n1\r\n$5\r\nPLAIN\r\n"},
        {FAKE_SEND, "*1\r\n$32\r\n00112233445566778899aabbccddeeff\r\n"},
        {FAKE_EXPECT, "*4\r\n$4\r\nUUID\r\n$2\r\nV4\r\n$1\r\n1\r\n$5\r\nPLAIN\r\n"},
        {FAKE_SEND, "*1\r\n$32\r\n00112233445566778899aabbccddeefg\r\n"},
        {FAKE_SILENT, NULL},
        {FAKE_END, NULL}};
    struct fake_server server;
    struct idmint_uuid uuid;

    fake_start(&server, script);
    struct idmint *handle = open_handle(server.address, 9000);
    ck_assert_int_eq(idmint_uuid(handle, 7, &uuid), IDMINT_OK);
    ck_assert_uint_eq(uuid.bytes[15], 0xff);
    ck_assert_int_eq(idmint_uuid(handle, 4, &uuid), IDMINT_UNKNOWN);
    ck_assert_int_eq(idmint_uuid(handle, 5, &uuid), IDMINT_ARGUMENT);
    idmint_destroy(handle);
    fake_finish(&server);
}
END_TEST

START_TEST(any_command)
{
    const struct fake_step script[] = {
        {FAKE_ACCEPT, NULL},
        {FAKE_HELLO, NULL},
        {FAKE_EXPECT, "*2\r\n$4\r\nECHO\r\n$1\r\nx\r\n"},
        {FAKE_PIECES, "*3\r\n$-1\r\n*1\r\n:-3\r\n%1\r\n+k\r\n$2\r\n\r\n\r\n"},
        {FAKE_END, NULL}};
    const char *const args[] = {"ECHO", "x"};
    const struct idmint_value *values;
    struct fake_server server;
    size_t count;

    fake_start(&server, script);
    struct idmint *handle = open_handle(server.address, 9000);
    ck_assert_int_eq(idmint_command(handle, 2, args, NULL, &values, &count), IDMINT_OK);
    ck_assert_uint_eq(count, 7);
    ck_assert_int_eq(values[0].type, IDMINT_ARRAY);
    ck_assert_int_eq(values[1].type, IDMINT_NULL);
    ck_assert_int_eq(values[3].integer, -3);
    ck_assert_int_eq(values[4].type, IDMINT_MAP);
    ck_assert_uint_eq(values[6].len, 2);
    ck_assert_int_eq(idmint_command(handle, 0, args, NULL, &values, &count), IDMINT_ARGUMENT);
    idmint_destroy(handle);
    fake_finish(&server);
}
END_TEST

START_TEST(names_checked)
{
    struct idmint *handle = open_handle("127.0.0.1:1", 9000);
    char name[IDMINT_NAME_MAX + 2];
    int64_t value;

    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    ck_assert_int_eq(idmint_next(handle, name, &value), IDMINT_ARGUMENT);
    ck_assert_int_eq(idmint_next(handle, "", &value), IDMINT_ARGUMENT);
    ck_assert_int_eq(idmint_next(handle, NULL, &value), IDMINT_ARGUMENT);
    ck_assert_int_eq(idmint_next(NULL, "a", &value), IDMINT_ARGUMENT);
    ck_assert_int_eq(idmint_next_range(handle, "a", 0, &value, &value), IDMINT_ARGUMENT);
    idmint_destroy(handle);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("client_calls");
    TCase *tcase = tcase_create("calls");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, next_outcomes);
    tcase_add_test(tcase, next_lost);
    tcase_add_test(tcase, next_garbage);
    tcase_add_test(tcase, connects_anew);
    tcase_add_test(tcase, idle_hang_up);
    tcase_add_test(tcase, reads_are_never_unknown);
    tcase_add_test(tcase, nobody_there);
    tcase_add_test(tcase, next_address);
    tcase_add_test(tcase, closed_address_then_open);
    tcase_add_test(tcase, credentials);
    tcase_add_test(tcase, follows_the_leader_once);
    tcase_add_test(tcase, batches);
    tcase_add_test(tcase, batch_follows_the_leader);
    tcase_add_test(tcase, ranges);
    tcase_add_test(tcase, counters);
    tcase_add_test(tcase, uuids);
    tcase_add_test(tcase, any_command);
    tcase_add_test(tcase, names_checked);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
