#include "handle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "request.h"

#define TIMEOUT_MOST_MS 3600000
#define OUT_MOST_BYTES (64 * 1024 * 1024)
#define IN_MOST_BYTES (16 * 1024 * 1024)
#define READ_FIRST_BYTES (16 * 1024)
#define CREDENTIAL_MOST_BYTES 1024

int64_t handle_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void failure_set(struct failure *failure, int outcome, const char *format, ...)
{
    va_list args;

    failure->outcome = outcome;
    failure->word[0] = '\0';
    va_start(args, format);
    vsnprintf(failure->why, sizeof(failure->why), format, args);
    va_end(args);
    /* It may be what a server wrote, and is meant for terminals and logs: one plain line. */
    for (char *at = failure->why; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            *at = ' ';
        }
    }
}

int handle_fail(struct idmint *handle, int outcome, const char *why)
{
    failure_set(&handle->last, outcome, "%s", why);
    return outcome;
}

int handle_enter(struct idmint *handle)
{
    if (!handle) {
        return IDMINT_ARGUMENT;
    }
    if (handle->pid != getpid()) {
        return handle_fail(handle, IDMINT_FORKED, "the handle belongs to the parent process");
    }
    failure_set(&handle->last, IDMINT_OK, "%s", "");
    return IDMINT_OK;
}

int handle_enter_idle(struct idmint *handle)
{
    int outcome = handle_enter(handle);

    if (outcome == IDMINT_OK && handle->queue_count > 0) {
        return handle_fail(handle, IDMINT_ARGUMENT, "submitted requests are outstanding");
    }
    return outcome;
}

static bool text_copy(const char *text, char **copy)
{
    if (!text) {
        return true;
    }
    *copy = strdup(text);
    return *copy != NULL;
}

static bool timeout_valid(uint32_t timeout_ms)
{
    return timeout_ms <= TIMEOUT_MOST_MS;
}

static bool credential_valid(const char *text)
{
    return !text || strlen(text) <= CREDENTIAL_MOST_BYTES;
}

static int addresses_parse(struct idmint *handle, const char *text)
{
    handle->addresses = calloc(ADDRESS_LIST_MAX, sizeof(*handle->addresses));
    if (!handle->addresses) {
        return IDMINT_NO_MEMORY;
    }
    handle->address_count =
        address_parse_list(text ? text : IDMINT_DEFAULT_ADDRESS, handle->addresses);
    if (handle->address_count == 0) {
        return IDMINT_ARGUMENT;
    }
    struct address *fitted =
        realloc(handle->addresses, handle->address_count * sizeof(*handle->addresses));
    if (fitted) {
        handle->addresses = fitted;
    }
    return IDMINT_OK;
}

int idmint_create(const struct idmint_options *options, struct idmint **handle)
{
    const struct idmint_options defaults = {0};
    struct idmint *made;
    int outcome;

    options = options ? options : &defaults;
    if (!handle || !timeout_valid(options->timeout_ms) ||
        !timeout_valid(options->connect_timeout_ms) || !credential_valid(options->user) ||
        !credential_valid(options->password) || (options->user && !options->password)) {
        return IDMINT_ARGUMENT;
    }
    made = calloc(1, sizeof(*made));
    if (!made) {
        return IDMINT_NO_MEMORY;
    }
    made->pid = getpid();
    made->fd = -1;
    made->read_bytes = READ_FIRST_BYTES;
    made->timeout_ms = options->timeout_ms ? options->timeout_ms : IDMINT_DEFAULT_TIMEOUT_MS;
    made->connect_timeout_ms =
        options->connect_timeout_ms ? options->connect_timeout_ms : IDMINT_DEFAULT_CONNECT_MS;
    buffer_init(&made->hello, 0);
    buffer_init(&made->out, OUT_MOST_BYTES);
    buffer_init(&made->in, IN_MOST_BYTES);
    outcome = addresses_parse(made, options->addresses);
    if (outcome == IDMINT_OK && (!text_copy(options->user, &made->user) ||
                                 !text_copy(options->password, &made->password))) {
        outcome = IDMINT_NO_MEMORY;
    }
    if (outcome != IDMINT_OK) {
        idmint_destroy(made);
        return outcome;
    }
    *handle = made;
    return IDMINT_OK;
}

void idmint_destroy(struct idmint *handle)
{
    if (!handle) {
        return;
    }
    if (handle->fd >= 0) {
        close(handle->fd);
    }
    if (handle->password) {
        explicit_bzero(handle->password, strlen(handle->password));
    }
    if (handle->hello.data) {
        explicit_bzero(handle->hello.data, handle->hello.capacity);
    }
    buffer_finish(&handle->hello);
    buffer_finish(&handle->out);
    buffer_finish(&handle->in);
    free(handle->password);
    free(handle->user);
    free(handle->addresses);
    free(handle->queue);
    free(handle->values);
    free(handle);
}

void idmint_disconnect(struct idmint *handle)
{
    if (handle_enter(handle) == IDMINT_OK) {
        request_forget(handle);
    }
}

int idmint_set_timeout(struct idmint *handle, uint32_t timeout_ms)
{
    int outcome = handle_enter(handle);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    if (!timeout_valid(timeout_ms)) {
        return handle_fail(handle, IDMINT_ARGUMENT, "the timeout is out of range");
    }
    handle->timeout_ms = timeout_ms ? timeout_ms : IDMINT_DEFAULT_TIMEOUT_MS;
    return IDMINT_OK;
}

const char *idmint_error(const struct idmint *handle)
{
    return handle ? handle->last.why : "there is no handle";
}

const char *idmint_error_word(const struct idmint *handle)
{
    return handle ? handle->last.word : "";
}

const char *idmint_outcome_text(int outcome)
{
    switch (outcome) {
    case IDMINT_OK:
        return "done";
    case IDMINT_NOT_DONE:
        return "not done, safe to repeat";
    case IDMINT_UNKNOWN:
        return "outcome unknown";
    case IDMINT_REFUSED:
        return "refused";
    case IDMINT_ARGUMENT:
        return "wrong argument";
    case IDMINT_FORKED:
        return "the handle belongs to another process";
    case IDMINT_NO_MEMORY:
        return "no memory";
    default:
        return "no such outcome";
    }
}

const char *idmint_version(void)
{
    return IDMINT_VERSION;
}
