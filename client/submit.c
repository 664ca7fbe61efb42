/* The calls for event loops. */
#include <string.h>

#include "call.h"
#include "connection.h"
#include "idmint.h"
#include "request.h"

static int submit(struct idmint *handle, struct request model, const struct resp_arg *args,
                  size_t argc)
{
    model.deadline_ms = handle_now_ms() + handle->timeout_ms;
    return request_submit(handle, &model, args, argc);
}

static int wrong(struct idmint *handle)
{
    return handle_fail(handle, IDMINT_ARGUMENT, "wrong argument");
}

int idmint_submit_oid(struct idmint *handle, void *token)
{
    const struct resp_arg args[] = {{"OID", 3}};
    const struct request model = {.kind = REQUEST_OID, .token = token};
    int outcome = handle_enter(handle);

    return outcome == IDMINT_OK ? submit(handle, model, args, 1) : outcome;
}

int idmint_submit_oids(struct idmint *handle, size_t count, struct idmint_oid *ids, void *token)
{
    char digits[CALL_DIGITS];
    const struct request model = {.kind = REQUEST_OIDS, .token = token, .count = count, .ids = ids};
    int outcome = handle_enter(handle);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    if (count < 1 || count > IDMINT_OIDS_MAX || !ids) {
        return wrong(handle);
    }
    const struct resp_arg args[] = {{"OID", 3}, call_number((int64_t)count, digits)};
    return submit(handle, model, args, 2);
}

int idmint_submit_range(struct idmint *handle, uint32_t count, void *token)
{
    char digits[CALL_DIGITS];
    const struct request model = {.kind = REQUEST_RANGE, .token = token, .count = count};
    int outcome = handle_enter(handle);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    if (count < 1 || count > IDMINT_RANGE_MAX) {
        return wrong(handle);
    }
    const struct resp_arg args[] = {{"OID", 3}, {"RANGE", 5}, call_number(count, digits)};
    return submit(handle, model, args, 3);
}

int idmint_submit_next(struct idmint *handle, const char *name, int64_t count, void *token)
{
    char digits[CALL_DIGITS];
    const struct request model = {.kind = count == 1 ? REQUEST_NEXT : REQUEST_NEXT_RANGE,
                                  .token = token,
                                  .count = (size_t)count};
    int outcome = handle_enter(handle);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    if (!call_name_valid(name) || count < 1) {
        return wrong(handle);
    }
    const struct resp_arg args[] = {{"NEXT", 4}, call_text(name), call_number(count, digits)};
    return submit(handle, model, args, count == 1 ? 2 : 3);
}

int idmint_submit_get(struct idmint *handle, const char *name, void *token)
{
    const struct request model = {.kind = REQUEST_GET, .reads = true, .token = token};
    int outcome = handle_enter(handle);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    if (!call_name_valid(name)) {
        return wrong(handle);
    }
    const struct resp_arg args[] = {{"GET", 3}, call_text(name)};
    return submit(handle, model, args, 2);
}

int idmint_submit_command(struct idmint *handle, size_t argc, const char *const *args,
                          const size_t *arg_lens, void *token)
{
    struct resp_arg gathered[LIMIT_ARGS];
    const struct request model = {.kind = REQUEST_COMMAND, .token = token};
    int outcome = handle_enter(handle);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    if (!call_gather(argc, args, arg_lens, gathered)) {
        return wrong(handle);
    }
    return submit(handle, model, gathered, argc);
}

int idmint_fd(const struct idmint *handle)
{
    return handle ? handle->fd : -1;
}

short idmint_events(const struct idmint *handle)
{
    return handle ? connection_events(handle) : 0;
}

int idmint_wait_ms(const struct idmint *handle)
{
    return handle ? request_wait_ms(handle) : -1;
}

size_t idmint_outstanding(const struct idmint *handle)
{
    return handle ? handle->queue_count : 0;
}

int idmint_process(struct idmint *handle)
{
    int outcome = handle_enter(handle);

    if (outcome == IDMINT_OK) {
        while (connection_step(handle)) {
            continue;
        }
    }
    return outcome;
}

bool idmint_receive(struct idmint *handle, struct idmint_result *result)
{
    return result && handle_enter(handle) == IDMINT_OK && request_receive(handle, result);
}
