/* hiredis against a running daemon, in its default settings: HOST PORT. Exits 0 when all is as it
 * must be. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

#define PIPELINED 10000

static redisReply *next_reply(redisContext *redis)
{
    void *reply = NULL;
    CHECK(redisGetReply(redis, &reply) == REDIS_OK && reply != NULL);
    return reply;
}

static void check_integer(redisReply *reply, long long value)
{
    CHECK(reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer == value);
    freeReplyObject(reply);
}

static void check_text(redisReply *reply, int type, const char *text)
{
    CHECK(reply != NULL && reply->type == type && strcmp(reply->str, text) == 0);
    freeReplyObject(reply);
}

static void check_commands(redisContext *redis)
{
    check_text(redisCommand(redis, "PING"), REDIS_REPLY_STATUS, "PONG");
    check_integer(redisCommand(redis, "INCR orders"), 1);
    check_integer(redisCommand(redis, "INCRBY orders %d", 4), 5);
    check_text(redisCommand(redis, "GET %b", "orders", (size_t)6), REDIS_REPLY_STRING, "5");
    redisReply *reply = redisCommand(redis, "GET none");
    CHECK(reply != NULL && reply->type == REDIS_REPLY_NIL);
    freeReplyObject(reply);
    reply = redisCommand(redis, "NEXT orders 3");
    CHECK(reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2);
    CHECK(reply->element[0]->integer == 6 && reply->element[1]->integer == 8);
    freeReplyObject(reply);
    reply = redisCommand(redis, "DECR orders");
    CHECK(reply != NULL && reply->type == REDIS_REPLY_ERROR);
    freeReplyObject(reply);
    reply = redisCommand(redis, "OID");
    CHECK(reply != NULL && reply->type == REDIS_REPLY_STATUS && reply->len == 24);
    freeReplyObject(reply);
}

static void check_pipeline(redisContext *redis)
{
    char last[32] = "";
    for (int i = 0; i < PIPELINED; i++) {
        CHECK(redisAppendCommand(redis, "INCR piped") == REDIS_OK);
        CHECK(redisAppendCommand(redis, "OID") == REDIS_OK);
    }
    for (int i = 0; i < PIPELINED; i++) {
        check_integer(next_reply(redis), i + 1);
        redisReply *id = next_reply(redis);
        CHECK(id->type == REDIS_REPLY_STATUS && id->len == 24 && strcmp(id->str, last) > 0);
        memcpy(last, id->str, id->len + 1);
        freeReplyObject(id);
    }
}

static void check_batch(redisContext *redis)
{
    CHECK(redisAppendCommand(redis, "MULTI") == REDIS_OK);
    CHECK(redisAppendCommand(redis, "INCR batch") == REDIS_OK);
    CHECK(redisAppendCommand(redis, "GET batch") == REDIS_OK);
    CHECK(redisAppendCommand(redis, "EXEC") == REDIS_OK);
    check_text(next_reply(redis), REDIS_REPLY_STATUS, "OK");
    check_text(next_reply(redis), REDIS_REPLY_STATUS, "QUEUED");
    check_text(next_reply(redis), REDIS_REPLY_STATUS, "QUEUED");
    redisReply *reply = next_reply(redis);
    CHECK(reply->type == REDIS_REPLY_ARRAY && reply->elements == 2);
    CHECK(reply->element[0]->integer == 1 && strcmp(reply->element[1]->str, "1") == 0);
    freeReplyObject(reply);
}

/* Debian 12's speaks RESP2 alone. */
static void check_resp3(redisContext *redis)
{
#ifdef REDIS_REPLY_MAP
    redisReply *reply = redisCommand(redis, "HELLO 3");
    CHECK(reply != NULL && reply->type == REDIS_REPLY_MAP && reply->elements == 14);
    freeReplyObject(reply);
    reply = redisCommand(redis, "COUNTER INFO orders");
    CHECK(reply != NULL && reply->type == REDIS_REPLY_MAP);
    freeReplyObject(reply);
#endif
    check_integer(redisCommand(redis, "INCR orders"), 9);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    const struct timeval timeout = {.tv_sec = 60};
    redisContext *redis = redisConnectWithTimeout(argv[1], (int)strtol(argv[2], NULL, 10), timeout);
    CHECK(redis != NULL && redis->err == 0);
    CHECK(redisSetTimeout(redis, timeout) == REDIS_OK);
    check_commands(redis);
    check_pipeline(redis);
    check_batch(redis);
    check_resp3(redis);
    redisFree(redis);
    puts("done");
    return EXIT_SUCCESS;
}
