#include "dispatch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "auth.h"
#include "command.h"
#include "limit.h"
#include "metrics.h"
#include "name.h"

const struct command command_table[COMMAND_IDS] = {
#define COMMAND_ROW(id, name, sub, fewest, most, flags, syntax, summary, reply)                    \
    [COMMAND_ID_##id] = {name, sub, fewest, most, flags, syntax, summary, reply},
    COMMAND_ROWS
#undef COMMAND_ROW
};

static enum dispatch_status (*const handlers[COMMAND_IDS])(struct call *) = {
#define COMMAND_ROW(id, name, sub, fewest, most, flags, syntax, summary, reply)                    \
    [COMMAND_ID_##id] = command_##id,
    COMMAND_ROWS
#undef COMMAND_ROW
};

#define NO_COMMAND 255
_Static_assert(COMMAND_IDS < NO_COMMAND, "the buckets hold bytes");

/* --- Finding a command --- */

static uint8_t bucket_of(const char *name, size_t len)
{
    unsigned first = (unsigned char)name[0] | 0x20;
    unsigned last = (unsigned char)name[len - 1] | 0x20;
    unsigned middle = (unsigned char)name[len / 2] | 0x20;
    return (uint8_t)(first * 7 + middle * 31 + last * 61 + (unsigned)len * 113);
}

void dispatch_init(struct dispatch *dispatch)
{
    memset(dispatch->buckets, NO_COMMAND, sizeof dispatch->buckets);
    /* Backwards, so that the rows of one name are chained in the table's order. */
    for (int id = COMMAND_IDS - 1; id >= 0; id--) {
        const char *name = command_table[id].name;
        uint8_t *bucket = &dispatch->buckets[bucket_of(name, strlen(name))];
        dispatch->chain[id] = *bucket;
        *bucket = (uint8_t)id;
    }
}

bool command_arg_is(const struct resp_arg *arg, const char *word)
{
    size_t i = 0;
    for (; i < arg->len && word[i] != '\0'; i++) {
        char c = arg->data[i];
        if (c >= 'a' && c <= 'z')
            c = (char)(c - 'a' + 'A');
        if (c != word[i])
            return false;
    }
    return i == arg->len && word[i] == '\0';
}

const struct command *dispatch_find(const struct dispatch *dispatch, const struct resp_arg *args,
                                    size_t argc)
{
    if (args[0].len == 0)
        return NULL;
    const struct command *whole = NULL;
    uint8_t id = dispatch->buckets[bucket_of(args[0].data, args[0].len)];
    for (; id != NO_COMMAND; id = dispatch->chain[id]) {
        const struct command *command = &command_table[id];
        if (!command_arg_is(&args[0], command->name))
            continue;
        if (command->sub[0] == '\0')
            whole = command;
        else if (argc > 1 && command_arg_is(&args[1], command->sub))
            return command;
    }
    return whole;
}

/* --- Replies and arguments --- */

enum dispatch_status command_error(struct call *call, enum error_word word, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    resp_write_error(call->out, word, "%s", text);
    metrics_error(call->session->host->metrics, word, 1);
    call->repeat = 1; /* the others of a run find out for themselves */
    return DISPATCH_REPLIED;
}

enum dispatch_status command_syntax_error(struct call *call)
{
    return command_error(call, ERROR_ERR, "syntax error");
}

enum dispatch_status command_ok(struct call *call)
{
    resp_write_simple(call->out, "OK");
    return DISPATCH_REPLIED;
}

bool command_integer(struct call *call, const struct resp_arg *arg, int64_t *value)
{
    if (resp_parse_integer(arg->data, arg->len, value))
        return true;
    (void)command_error(call, ERROR_ERR, "value is not an integer or out of range");
    return false;
}

bool command_count(struct call *call, const struct resp_arg *arg, int64_t most, int64_t *count)
{
    int64_t value;
    if (!command_integer(call, arg, &value))
        return false;
    if (value < 1 || value > most) {
        (void)command_error(call, ERROR_ERR, "count must be 1 to %lld", (long long)most);
        return false;
    }
    *count = value;
    return true;
}

bool command_name(struct call *call, const struct resp_arg *arg)
{
    const char *why = name_check(arg->data, arg->len);
    if (why == NULL)
        return true;
    (void)command_error(call, ERROR_ERR, "invalid counter name: %s", why);
    return false;
}

/* --- What is wrong with a command, in Redis' words --- */

static enum dispatch_status unknown_command(struct call *call)
{
    char text[256];
    int at = snprintf(text, sizeof text, "unknown command '%.*s', with args beginning with: ",
                      (int)(call->args[0].len < 128 ? call->args[0].len : 128), call->args[0].data);
    for (size_t i = 1; i < call->argc && at < 200; i++) {
        int room = 200 - at;
        int len = call->args[i].len < (size_t)room ? (int)call->args[i].len : room;
        at += snprintf(text + at, sizeof text - (size_t)at, "'%.*s' ", len, call->args[i].data);
    }
    return command_error(call, ERROR_ERR, "%s", text);
}

/* The container's name in the table, if args[0] is one. */
static const char *container_name(const struct resp_arg *arg)
{
    for (size_t id = 0; id < COMMAND_IDS; id++)
        if (command_table[id].sub[0] != '\0' && command_arg_is(arg, command_table[id].name))
            return command_table[id].name;
    return NULL;
}

static enum dispatch_status wrong_arity(struct call *call, const char *name, const char *sub)
{
    char lower[64];
    size_t at = 0;
    const char *parts[] = {name, sub[0] != '\0' ? "|" : "", sub};
    for (size_t part = 0; part < 3; part++)
        for (const char *c = parts[part]; *c != '\0' && at < sizeof lower - 1; c++)
            lower[at++] = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    lower[at] = '\0';
    return command_error(call, ERROR_ERR, "wrong number of arguments for '%s' command", lower);
}

static enum dispatch_status container_help(struct call *call, const char *name)
{
    size_t lines = 0;
    for (size_t id = 0; id < COMMAND_IDS; id++)
        lines += strcmp(command_table[id].name, name) == 0;
    resp_write_array(call->out, lines);
    for (size_t id = 0; id < COMMAND_IDS; id++) {
        const struct command *row = &command_table[id];
        if (strcmp(row->name, name) != 0)
            continue;
        char line[512];
        snprintf(line, sizeof line, "%s%s%s%s%s: %s", row->name, row->sub[0] != '\0' ? " " : "",
                 row->sub, row->syntax[0] != '\0' ? " " : "", row->syntax, row->summary);
        resp_write_simple(call->out, line);
    }
    return DISPATCH_REPLIED;
}

static enum dispatch_status unknown_subcommand(struct call *call, const char *container)
{
    const struct resp_arg *sub = &call->args[1];
    return command_error(call, ERROR_ERR, "unknown subcommand '%.*s'. Try %s HELP.",
                         (int)(sub->len < 128 ? sub->len : 128), sub->data, container);
}

/* "OID HELP" and the like: not in the table, since they are about it. */
static const char *asks_for_help(const struct call *call)
{
    if (call->argc != 2 || !command_arg_is(&call->args[1], "HELP"))
        return NULL;
    return container_name(&call->args[0]);
}

static bool arity_fits(const struct call *call)
{
    const struct command *command = call->command;
    size_t given = call->argc - 1 - (command->sub[0] != '\0');
    return given >= (size_t)command->fewest &&
           (command->most < 0 || given <= (size_t)command->most);
}

/* What to reply to a command that is not in the table, or not with so many arguments. */
static enum dispatch_status refuse(struct call *call)
{
    const struct command *command = call->command;
    const char *container = container_name(&call->args[0]);
    if (command == NULL && container == NULL)
        return unknown_command(call);
    if (command == NULL)
        return call->argc > 1 ? unknown_subcommand(call, container)
                              : wrong_arity(call, container, "");
    if (container != NULL && command->sub[0] == '\0' && command->most == 0)
        return unknown_subcommand(call, container);
    return wrong_arity(call, command->name, command->sub);
}

/* --- Calling --- */

static enum dispatch_status queue(struct call *call)
{
    struct session *session = call->session;
    buffer_append(&session->multi, call->raw, call->raw_len);
    if (session->multi.failed) {
        session->multi_failed = true;
        return command_error(call, ERROR_ERR, "the batch is too big: at most %d bytes",
                             LIMIT_MULTI_BYTES);
    }
    session->multi_count++;
    call->command = NULL;
    resp_write_simple(call->out, "QUEUED");
    return DISPATCH_REPLIED;
}

static uint32_t count_run(const struct call *call)
{
    uint32_t repeat = 1;
    if (call->rest_len == 0)
        return repeat;
    const char *next = call->raw + call->raw_len;
    size_t rest = call->rest_len;
    while (repeat < LIMIT_RUN && rest >= call->raw_len &&
           memcmp(next, call->raw, call->raw_len) == 0) {
        repeat++;
        next += call->raw_len;
        rest -= call->raw_len;
    }
    return repeat;
}

enum dispatch_status dispatch_call(struct call *call)
{
    struct session *session = call->session;
    call->repeat = 1;
    call->request = NULL;
    call->command = dispatch_find(call->dispatch, call->args, call->argc);
    if (call->command == NULL &&
        (command_arg_is(&call->args[0], "POST") || command_arg_is(&call->args[0], "HOST:")))
        return DISPATCH_DROP;
    if (!session->authenticated && !(call->command != NULL && call->command->flags & COMMAND_OPEN))
        return command_error(call, ERROR_NOAUTH, "Authentication required.");
    const char *container = asks_for_help(call);
    if (container != NULL && !session->in_multi)
        return container_help(call, container);
    if (call->command == NULL || !arity_fits(call)) {
        session->multi_failed = session->multi_failed || session->in_multi;
        return refuse(call);
    }
    unsigned flags = call->command->flags;
    if (flags & COMMAND_ORDERED && session->pending > 0 && !session->in_multi)
        return DISPATCH_LATER;
    if (session->in_multi && !(flags & COMMAND_NOW))
        return queue(call);
    if (flags & COMMAND_NOW && session->pending > 0)
        return DISPATCH_LATER;
    /* Counters carry out an order and a take that are under way together in any order. */
    session->order_waits = session->order_waits && session->pending > 0;
    if (flags & COMMAND_WRITE && session->order_waits)
        return DISPATCH_LATER;
    if (flags & COMMAND_RUN && !session->replaying)
        call->repeat = count_run(call);
    return handlers[call->command - command_table](call);
}
