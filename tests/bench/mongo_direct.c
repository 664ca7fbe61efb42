/* What clients get that count for themselves: findAndModify with $inc on one document, or one of
 * several, each acknowledged by a majority's journals.
 * mongo_direct URI THREADS SECONDS DOCUMENTS: prints operations a second, and their mean time in
 * microseconds. */
#include <inttypes.h>
#include <mongoc/mongoc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct direct {
    mongoc_client_pool_t *pool;
    int64_t end_us;
    int documents;
    atomic_int next;
    atomic_int_fast64_t operations, spent_us;
};

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static bool count_once(mongoc_client_t *client, int document)
{
    bson_error_t error;
    bson_t reply;
    bson_t *command = BCON_NEW("findAndModify", "direct", "query", "{", "_id", BCON_INT32(document),
                               "}", "update", "{", "$inc", "{", "seq", BCON_INT32(1), "}", "}",
                               "new", BCON_BOOL(true), "upsert", BCON_BOOL(true), "writeConcern",
                               "{", "w", "majority", "j", BCON_BOOL(true), "}");
    bool done = mongoc_client_command_simple(client, "bench", command, NULL, &reply, &error);
    if (!done)
        fprintf(stderr, "%s\n", error.message);
    bson_destroy(command);
    bson_destroy(&reply);
    return done;
}

static void *run(void *context)
{
    struct direct *direct = context;
    mongoc_client_t *client = mongoc_client_pool_pop(direct->pool);
    for (int64_t start = now_us(); start < direct->end_us; start = now_us()) {
        int document = atomic_fetch_add(&direct->next, 1) % direct->documents;
        if (!count_once(client, document))
            continue;
        atomic_fetch_add(&direct->operations, 1);
        atomic_fetch_add(&direct->spent_us, now_us() - start);
    }
    mongoc_client_pool_push(direct->pool, client);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return EXIT_FAILURE;
    int threads = (int)strtol(argv[2], NULL, 10), seconds = (int)strtol(argv[3], NULL, 10);
    struct direct direct = {.documents = (int)strtol(argv[4], NULL, 10)};
    if (threads < 1 || direct.documents < 1)
        return EXIT_FAILURE;
    pthread_t *all = calloc((size_t)threads, sizeof *all);
    if (all == NULL)
        return EXIT_FAILURE;
    mongoc_init();
    mongoc_uri_t *uri = mongoc_uri_new(argv[1]);
    direct.pool = mongoc_client_pool_new(uri);
    mongoc_client_pool_max_size(direct.pool, (uint32_t)threads);
    direct.end_us = now_us() + seconds * INT64_C(1000000);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&all[i], NULL, run, &direct) != 0)
            return EXIT_FAILURE;
    for (int i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
    int64_t operations = direct.operations;
    printf("%" PRId64 " %" PRId64 "\n", operations / seconds,
           operations > 0 ? direct.spent_us / operations : 0);
    mongoc_client_pool_destroy(direct.pool);
    mongoc_uri_destroy(uri);
    mongoc_cleanup();
    free(all);
    return EXIT_SUCCESS;
}
