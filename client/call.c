#include "call.h"

int call_run(struct idmint *handle, enum request_kind kind, bool reads, size_t count,
             const struct resp_arg *args, size_t argc, struct idmint_result *result)
{
    struct request model = {.kind = kind, .reads = reads, .count = count};
    int outcome = handle_enter_idle(handle);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    model.deadline_ms = handle_now_ms() + handle->timeout_ms;
    for (int tries = 0; tries < 2; tries++) {
        outcome = request_submit(handle, &model, args, argc);
        if (outcome != IDMINT_OK) {
            return outcome;
        }
        outcome = request_wait(handle, result);
        if (outcome != IDMINT_NOT_DONE || !handle->leader_known) {
            break;
        }
    }
    return outcome;
}

int call_misshapen(struct idmint *handle, bool reads)
{
    request_forget(handle);
    return handle_fail(handle, reads ? IDMINT_NOT_DONE : IDMINT_UNKNOWN,
                       "the reply is not what the command promises; the connection was closed");
}

bool call_name_valid(const char *name)
{
    return name && *name && strnlen(name, IDMINT_NAME_MAX + 1) <= IDMINT_NAME_MAX;
}

int idmint_connect(struct idmint *handle)
{
    return idmint_ping(handle);
}

int idmint_ping(struct idmint *handle)
{
    const struct resp_arg args[] = {{"PING", 4}};
    struct idmint_result result;

    return call_run(handle, REQUEST_COMMAND, true, 0, args, 1, &result);
}

bool call_gather(size_t argc, const char *const *args, const size_t *arg_lens,
                 struct resp_arg *gathered)
{
    if (argc < 1 || argc > LIMIT_ARGS || !args) {
        return false;
    }
    for (size_t i = 0; i < argc; i++) {
        if (!args[i]) {
            return false;
        }
        gathered[i] = (struct resp_arg){args[i], arg_lens ? arg_lens[i] : strlen(args[i])};
    }
    return true;
}

int idmint_command(struct idmint *handle, size_t argc, const char *const *args,
                   const size_t *arg_lens, const struct idmint_value **values, size_t *value_count)
{
    struct resp_arg gathered[LIMIT_ARGS];
    struct idmint_result result;
    int outcome = handle_enter(handle);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    if (!values || !value_count || !call_gather(argc, args, arg_lens, gathered)) {
        return handle_fail(handle, IDMINT_ARGUMENT, "wrong argument");
    }
    outcome = call_run(handle, REQUEST_COMMAND, false, 0, gathered, argc, &result);
    if (outcome == IDMINT_OK) {
        *values = result.values;
        *value_count = result.value_count;
    }
    return outcome;
}
