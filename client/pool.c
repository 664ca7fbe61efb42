/* Handles for many threads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "handle.h"
#include "idmint.h"

#define POOL_MOST 10000

struct idmint_pool {
    pid_t pid;
    struct idmint_options options; /* the strings are ours */
    char *strings[3];
    size_t max_handles;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t freed; /* signalled when a handle is given back; on the monotonic clock */
    struct idmint **idle; /* a stack: the one used last is taken first */
    size_t idle_count;
    size_t made;
};

static int copy_options(struct idmint_pool *pool, const struct idmint_options *options)
{
    const char **fields[] = {&pool->options.addresses, &pool->options.user,
                             &pool->options.password};

    pool->options = *options;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (*fields[i]) {
            pool->strings[i] = strdup(*fields[i]);
            if (!pool->strings[i]) {
                return IDMINT_NO_MEMORY;
            }
            *fields[i] = pool->strings[i];
        }
    }
    return IDMINT_OK;
}

static void free_memory(struct idmint_pool *pool)
{
    for (size_t i = 0; i < pool->idle_count; i++) {
        idmint_destroy(pool->idle[i]);
    }
    if (pool->strings[2]) {
        explicit_bzero(pool->strings[2], strlen(pool->strings[2]));
    }
    for (size_t i = 0; i < sizeof(pool->strings) / sizeof(pool->strings[0]); i++) {
        free(pool->strings[i]);
    }
    free(pool->idle);
    free(pool);
}

static int init_locks(struct idmint_pool *pool)
{
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);

    if (error == 0) {
        error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        error = error ? error : pthread_cond_init(&pool->freed, &attributes);
        pthread_condattr_destroy(&attributes);
    }
    if (error == 0 && (error = pthread_mutex_init(&pool->lock, NULL)) != 0) {
        pthread_cond_destroy(&pool->freed);
    }
    return error ? IDMINT_NO_MEMORY : IDMINT_OK;
}

int idmint_pool_create(const struct idmint_options *options, size_t max_handles,
                       struct idmint_pool **pool)
{
    const struct idmint_options defaults = {0};
    struct idmint_pool *made;
    int outcome;

    if (!pool || max_handles < 1 || max_handles > POOL_MOST) {
        return IDMINT_ARGUMENT;
    }
    made = calloc(1, sizeof(*made));
    if (!made) {
        return IDMINT_NO_MEMORY;
    }
    made->pid = getpid();
    made->max_handles = max_handles;
    made->idle = calloc(max_handles, sizeof(struct idmint *));
    outcome = made->idle ? copy_options(made, options ? options : &defaults) : IDMINT_NO_MEMORY;
    if (outcome == IDMINT_OK) {
        /* The first one shows whether the options are right. */
        outcome = idmint_create(&made->options, &made->idle[0]);
    }
    if (outcome == IDMINT_OK) {
        made->made = made->idle_count = 1;
        outcome = init_locks(made);
    }
    if (outcome != IDMINT_OK) {
        free_memory(made);
        return outcome;
    }
    *pool = made;
    return IDMINT_OK;
}

void idmint_pool_destroy(struct idmint_pool *pool)
{
    if (!pool) {
        return;
    }
    /* In a child the lock may be held by a thread that does not exist there. */
    if (pool->pid == getpid()) {
        pthread_mutex_destroy(&pool->lock);
        pthread_cond_destroy(&pool->freed);
    }
    free_memory(pool);
}

/* The lock is held. */
static int take_locked(struct idmint_pool *pool, const struct timespec *until,
                       struct idmint **handle)
{
    while (pool->idle_count == 0) {
        if (pool->made < pool->max_handles) {
            int outcome = idmint_create(&pool->options, handle);

            pool->made += outcome == IDMINT_OK;
            return outcome;
        }
        if (pthread_cond_timedwait(&pool->freed, &pool->lock, until) != 0 &&
            pool->idle_count == 0) {
            return IDMINT_NOT_DONE;
        }
    }
    *handle = pool->idle[--pool->idle_count];
    return IDMINT_OK;
}

int idmint_pool_take(struct idmint_pool *pool, struct idmint **handle)
{
    uint32_t timeout_ms;
    struct timespec until;
    int outcome;

    if (!pool || !handle) {
        return IDMINT_ARGUMENT;
    }
    if (pool->pid != getpid()) {
        return IDMINT_FORKED;
    }
    timeout_ms = pool->options.timeout_ms ? pool->options.timeout_ms : IDMINT_DEFAULT_TIMEOUT_MS;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&pool->lock);
    outcome = take_locked(pool, &until, handle);
    pthread_mutex_unlock(&pool->lock);
    return outcome;
}

void idmint_pool_give(struct idmint_pool *pool, struct idmint *handle)
{
    if (!pool || !handle || pool->pid != getpid()) {
        return;
    }
    if (idmint_outstanding(handle) > 0) {
        idmint_disconnect(handle);
    }
    pthread_mutex_lock(&pool->lock);
    if (pool->idle_count < pool->max_handles) {
        pool->idle[pool->idle_count++] = handle;
        pthread_cond_signal(&pool->freed);
    }
    pthread_mutex_unlock(&pool->lock);
}
