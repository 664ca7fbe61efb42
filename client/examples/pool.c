/* Four threads share a pool of two connections. */
#include <idmint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

struct worker {
    struct idmint_pool *pool;
    pthread_t thread;
    int outcome;
};

static void *use(void *context)
{
    struct worker *worker = context;
    struct idmint *handle;
    struct idmint_oid id;
    char text[IDMINT_OID_TEXT];

    worker->outcome = idmint_pool_take(worker->pool, &handle);
    if (worker->outcome != IDMINT_OK) {
        return NULL;
    }
    worker->outcome = idmint_oid(handle, &id);
    if (worker->outcome == IDMINT_OK) {
        idmint_oid_text(&id, text);
        puts(text);
    }
    idmint_pool_give(worker->pool, handle);
    return NULL;
}

int main(void)
{
    const struct idmint_options options = {.addresses = getenv("IDMINT_ADDR")};
    struct worker workers[THREADS];
    struct idmint_pool *pool;
    int started = 0, code = EXIT_SUCCESS;

    if (idmint_pool_create(&options, 2, &pool) != IDMINT_OK) {
        return EXIT_FAILURE;
    }
    while (started < THREADS) {
        struct worker *worker = &workers[started];

        worker->pool = pool;
        if (pthread_create(&worker->thread, NULL, use, worker) != 0) {
            break;
        }
        started++;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].outcome != IDMINT_OK) {
            fprintf(stderr, "%s\n", idmint_outcome_text(workers[i].outcome));
            code = EXIT_FAILURE;
        }
    }
    idmint_pool_destroy(pool);
    return code;
}
