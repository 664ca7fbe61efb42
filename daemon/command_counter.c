/* Commands that take values of a counter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "counter.h"
#include "limit.h"
#include "metrics.h"
#include "outcome.h"

enum take_form {
    TAKE_INTEGER, /* the value, as an integer */
    TAKE_LAST,    /* the last value of the range, as an integer */
    TAKE_STRING,
    TAKE_RANGE,         /* array: first, last */
    TAKE_RANGE_STRINGS, /* the same as strings */
    TAKE_RANGE_LINE,    /* one string: first, space, last */
};

struct take_request {
    struct request base;
    struct counter_take take;
    enum take_form form;
};

static void write_line(struct buffer *out, int64_t first, int64_t last)
{
    char text[2 * 20 + 1];
    size_t len = resp_format_integer(text, first);
    text[len++] = ' ';
    len += resp_format_integer(text + len, last);
    resp_write_bulk(out, text, len);
}

static void write_values(struct buffer *out, const struct counter_take *take, enum take_form form)
{
    /* Unsigned: what lies past the last value may be past int64's end. */
    uint64_t first = (uint64_t)take->first;
    uint64_t stride = (uint64_t)take->count * (uint64_t)take->step;
    for (uint32_t i = 0; i < take->served; i++, first += stride) {
        int64_t last = (int64_t)(first + stride - (uint64_t)take->step);
        switch (form) {
        case TAKE_INTEGER:
        case TAKE_LAST:
            resp_write_integer(out, last);
            break;
        case TAKE_STRING:
            resp_write_bulk_integer(out, last);
            break;
        case TAKE_RANGE:
            resp_write_array(out, 2);
            resp_write_integer(out, (int64_t)first);
            resp_write_integer(out, last);
            break;
        case TAKE_RANGE_STRINGS:
            resp_write_array(out, 2);
            resp_write_bulk_integer(out, (int64_t)first);
            resp_write_bulk_integer(out, last);
            break;
        case TAKE_RANGE_LINE:
            write_line(out, (int64_t)first, last);
            break;
        }
    }
}

/* The replies that got values, then the errors of those that did not. */
static void write_take(struct buffer *out, struct counter_take *take, enum take_form form,
                       struct metrics_loop *metrics)
{
    write_values(out, take, form);
    metrics_issued(metrics, METRICS_COUNTER, (uint64_t)take->count * take->served);
    for (uint32_t i = take->served; take->error != ERROR_NONE && i < take->repeat; i++) {
        resp_write_error(out, take->error, "%s", take->text != NULL ? take->text : OUTCOME_MAX);
        metrics_error(metrics, take->error, 1);
    }
    free(take->text);
    take->text = NULL;
}

static void take_write(struct request *request, struct buffer *out, bool resp3)
{
    struct take_request *self = (struct take_request *)request;
    write_take(out, &self->take, self->form, request->host->metrics);
}

static enum request_cancel take_cancel(struct request *request)
{
    struct take_request *self = (struct take_request *)request;
    return counter_cancel(&self->take) ? REQUEST_TAKEN_BACK : REQUEST_UNDER_WAY;
}

static void take_destroy(struct request *request)
{
    struct take_request *self = (struct take_request *)request;
    free(self->take.text);
    free(self);
}

static const struct request_kind take_kind = {
    .write = take_write,
    .cancel = take_cancel,
    .destroy = take_destroy,
};

static void take_done(struct counter_take *take)
{
    struct take_request *self =
        (struct take_request *)((char *)take - offsetof(struct take_request, take));
    self->base.host->completed(self->base.host, &self->base);
}

/* Take for the whole run: what blocks hold is replied at once, the rest waits. */
static enum dispatch_status take_values(struct call *call, const struct resp_arg *name,
                                        int64_t count, enum take_form form)
{
    struct take_request *self = malloc(sizeof *self);
    if (self == NULL) {
        call->out->failed = true;
        return DISPATCH_REPLIED;
    }
    *self = (struct take_request){.base = {.kind = &take_kind, .host = call->session->host},
                                  .form = form};
    struct counter_take *take = &self->take;
    self->base.bytes = sizeof *self + COUNTER_WAIT_BYTES;
    take->count = count;
    take->unit_step = form == TAKE_LAST && count > 1;
    take->batch = &call->session->host->batch;
    take->behind = call->session->pending > 0;
    take->done = take_done;
    uint32_t wanted = call->repeat;
    while (wanted > 0) {
        take->repeat = wanted;
        self->base.replies = wanted;
        if (counter_take(call->dispatch->counters, call->now, name->data, name->len, take) ==
            COUNTER_WAITS) {
            call->request = &self->base;
            return DISPATCH_WAITS;
        }
        write_take(call->out, take, form, call->session->host->metrics);
        wanted -= take->error != ERROR_NONE ? wanted : take->served;
    }
    free(self);
    return DISPATCH_REPLIED;
}

enum dispatch_status command_next(struct call *call)
{
    const struct resp_arg *args = &call->args[2];
    size_t left = call->argc - 2;
    int64_t count = 1;
    bool range = false, strings = false, line = false;
    if (!command_name(call, &call->args[1]))
        return DISPATCH_REPLIED;
    if (left > 0 && !command_arg_is(&args[0], "STRING") && !command_arg_is(&args[0], "LINE")) {
        if (!command_count(call, &args[0], LIMIT_COUNTER_RANGE, &count))
            return DISPATCH_REPLIED;
        range = true;
        args++;
        left--;
    }
    for (; left > 0; args++, left--) {
        if (!strings && command_arg_is(args, "STRING"))
            strings = true;
        else if (!line && command_arg_is(args, "LINE"))
            line = true;
        else
            return command_syntax_error(call);
    }
    enum take_form form = strings || line ? TAKE_STRING : TAKE_INTEGER;
    if (range)
        form = line ? TAKE_RANGE_LINE : strings ? TAKE_RANGE_STRINGS : TAKE_RANGE;
    return take_values(call, &call->args[1], count, form);
}

enum dispatch_status command_incr(struct call *call)
{
    if (!command_name(call, &call->args[1]))
        return DISPATCH_REPLIED;
    return take_values(call, &call->args[1], 1, TAKE_INTEGER);
}

enum dispatch_status command_incrby(struct call *call)
{
    int64_t count;
    if (!command_name(call, &call->args[1]) || !command_integer(call, &call->args[2], &count))
        return DISPATCH_REPLIED;
    if (count < 0)
        return command_error(
            call, ERROR_ERR,
            "counters only move forward; COUNTER RESET name value FORCE goes back");
    if (count == 0) {
        call->repeat = 1;
        return call->session->pending > 0 ? DISPATCH_LATER : command_read_integer(call);
    }
    if (count > LIMIT_COUNTER_RANGE)
        return command_error(call, ERROR_ERR, "count must be 0 to %d", LIMIT_COUNTER_RANGE);
    return take_values(call, &call->args[1], count, TAKE_LAST);
}

enum dispatch_status command_decr(struct call *call)
{
    return command_error(call, ERROR_ERR,
                         "counters only move forward; COUNTER RESET name value FORCE goes back");
}

enum dispatch_status command_decrby(struct call *call)
{
    return command_decr(call);
}

enum dispatch_status command_incrbyfloat(struct call *call)
{
    return command_error(call, ERROR_ERR, "counters are integers: use NEXT name count");
}

enum dispatch_status command_del(struct call *call)
{
    return command_error(call, ERROR_ERR,
                         "a dropped counter starts over: use COUNTER DROP name FORCE");
}
