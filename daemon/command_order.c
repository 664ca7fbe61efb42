/* Commands that look at counters, make, move and remove them: orders to the store. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "config.h"
#include "counter.h"
#include "limit.h"
#include "metrics.h"
#include "outcome.h"

struct order_request;

struct order_slot {
    struct counter_order order; /* first, so that the order's address is the slot's */
    struct order_request *request;
};

/* One request, with as many orders as the command has names. */
struct order_request {
    struct request base;
    void (*write)(struct order_request *self, struct buffer *out, bool resp3);
    const struct dispatch *dispatch;
    int64_t
        settle_ms; /* once done, how long others may still use what was reserved before; 0: not */
    atomic_size_t open; /* orders not done yet */
    size_t count;
    struct store_counter asked; /* CREATE: as it was to be; any value will do: INT64_MIN */
    struct buffer rows;         /* LIST: each row's reply */
    size_t row_count;
    char last[LIMIT_NAME_BYTES]; /* LIST: the name of the last row */
    size_t last_len;
    char *names; /* the names of all orders, one after the other */
    struct order_slot orders[];
};

static struct store_op *op_of(struct order_request *self, size_t at)
{
    return &self->orders[at].order.op;
}

/* --- Life --- */

static void order_write(struct request *request, struct buffer *out, bool resp3)
{
    struct order_request *self = (struct order_request *)request;
    size_t before = out->len;
    self->write(self, out, resp3);
    if (!out->failed)
        metrics_reply(request->host->metrics, out->data + before, out->len - before);
}

static enum request_cancel order_cancel(struct request *request)
{
    struct order_request *self = (struct order_request *)request;
    size_t taken_back = 0;
    for (size_t i = 0; i < self->count; i++)
        taken_back += counter_withdraw(&self->orders[i].order);
    if (atomic_load(&self->open) == 0 && request->by_time)
        return REQUEST_TAKEN_BACK; /* done, and waits for its time to be told */
    if (taken_back == 0)
        return REQUEST_UNDER_WAY;
    return atomic_fetch_sub(&self->open, taken_back) == taken_back ? REQUEST_TAKEN_BACK
                                                                   : REQUEST_UNDER_WAY;
}

static void order_destroy(struct request *request)
{
    struct order_request *self = (struct order_request *)request;
    buffer_finish(&self->rows);
    free(self->names);
    free(self);
}

static bool order_poll(struct request *request, struct clock_now now)
{
    return now.boot_ms >= request->ready_ms;
}

static const struct request_kind order_kind = {
    .write = order_write,
    .cancel = order_cancel,
    .poll = order_poll,
    .destroy = order_destroy,
};

static void order_done(struct counter_order *order)
{
    struct order_request *self = ((struct order_slot *)order)->request;
    const struct store_op *op = &order->op;
    if (self->settle_ms > 0 && op->result == STORE_DONE && op->counter.cache > 1)
        self->base.ready_ms = self->dispatch->now().boot_ms + self->settle_ms;
    if (atomic_fetch_sub(&self->open, 1) == 1)
        self->base.host->completed(self->base.host, &self->base);
}

/* A request with one order for each of the `count` names; NULL: no memory. */
static struct order_request *order_create(struct call *call, const struct resp_arg *names,
                                          size_t count, enum store_verb verb)
{
    size_t bytes = 1;
    for (size_t i = 0; i < count; i++)
        bytes += names[i].len;
    struct order_request *self = calloc(1, sizeof *self + count * sizeof self->orders[0]);
    char *at = malloc(bytes);
    if (self == NULL || at == NULL) {
        free(self);
        free(at);
        call->out->failed = true;
        return NULL;
    }
    self->base.kind = &order_kind;
    self->base.host = call->session->host;
    self->base.replies = 1;
    self->base.reads = verb == STORE_READ || verb == STORE_LIST;
    self->base.bytes = sizeof *self + count * sizeof self->orders[0] + bytes;
    self->dispatch = call->dispatch;
    /* After these, nobody may issue what was reserved before: where other daemons may hold blocks,
     * that is so when the blocks' time is over. */
    if (call->dispatch->store->shared &&
        (verb == STORE_RAISE || verb == STORE_SYNC || verb == STORE_RESET || verb == STORE_DROP))
        self->settle_ms = call->dispatch->config->counters.block_ms;
    self->names = at;
    self->count = count;
    atomic_init(&self->open, count);
    for (size_t i = 0; i < count; i++) {
        struct counter_order *order = &self->orders[i].order;
        self->orders[i].request = self;
        order->done = order_done;
        order->op.verb = verb;
        order->op.name = memcpy(at, names[i].data, names[i].len);
        order->op.name_len = names[i].len;
        counters_how_created(call->dispatch->counters, names[i].data, names[i].len,
                             &order->op.counter);
        at += names[i].len;
    }
    return self;
}

static enum dispatch_status order_send(struct call *call, struct order_request *self,
                                       void (*write)(struct order_request *, struct buffer *, bool))
{
    self->write = write;
    /* Filled in before the first order leaves: it may be done at once. */
    call->request = &self->base;
    call->session->order_waits = true;
    for (size_t i = 0; i < self->count; i++)
        counter_submit(call->dispatch->counters, &self->orders[i].order);
    return DISPATCH_WAITS;
}

static void write_error(struct buffer *out, const struct store_op *op)
{
    const char *text;
    enum error_word word = outcome_error(op, &text);
    resp_write_error(out, word, "%s", text);
}

/* The first order that failed otherwise than by absence; NULL: none. */
static struct store_op *failed_op(struct order_request *self)
{
    for (size_t i = 0; i < self->count; i++)
        if (op_of(self, i)->result != STORE_DONE && op_of(self, i)->result != STORE_ABSENT)
            return op_of(self, i);
    return NULL;
}

/* --- Reading --- */

static void write_value(struct buffer *out, const struct store_op *op, bool resp3)
{
    if (op->result == STORE_DONE)
        resp_write_bulk_integer(out, op->counter.value);
    else if (op->result == STORE_ABSENT)
        resp_write_null(out, resp3);
    else
        write_error(out, op);
}

static void write_get(struct order_request *self, struct buffer *out, bool resp3)
{
    write_value(out, op_of(self, 0), resp3);
}

static void write_mget(struct order_request *self, struct buffer *out, bool resp3)
{
    const struct store_op *failed = failed_op(self);
    if (failed != NULL) {
        write_error(out, failed);
        return;
    }
    resp_write_array(out, self->count);
    for (size_t i = 0; i < self->count; i++)
        write_value(out, op_of(self, i), resp3);
}

static void write_exists(struct order_request *self, struct buffer *out, bool resp3)
{
    const struct store_op *failed = failed_op(self);
    int64_t exist = 0;
    for (size_t i = 0; i < self->count; i++)
        exist += op_of(self, i)->result == STORE_DONE;
    if (failed != NULL)
        write_error(out, failed);
    else
        resp_write_integer(out, exist);
}

static void write_type(struct order_request *self, struct buffer *out, bool resp3)
{
    const struct store_op *op = op_of(self, 0);
    if (failed_op(self) != NULL)
        write_error(out, op);
    else
        resp_write_simple(out, op->result == STORE_DONE ? "string" : "none");
}

static void write_read_integer(struct order_request *self, struct buffer *out, bool resp3)
{
    const struct store_op *op = op_of(self, 0);
    if (failed_op(self) != NULL)
        write_error(out, op);
    else
        resp_write_integer(out, op->result == STORE_DONE ? op->counter.value : 0);
}

static enum dispatch_status read_names(struct call *call,
                                       void (*write)(struct order_request *, struct buffer *, bool),
                                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!command_name(call, &call->args[1 + i]))
            return DISPATCH_REPLIED;
    struct order_request *self = order_create(call, &call->args[1], count, STORE_READ);
    return self != NULL ? order_send(call, self, write) : DISPATCH_REPLIED;
}

enum dispatch_status command_get(struct call *call)
{
    return read_names(call, write_get, 1);
}

enum dispatch_status command_mget(struct call *call)
{
    return read_names(call, write_mget, call->argc - 1);
}

enum dispatch_status command_exists(struct call *call)
{
    return read_names(call, write_exists, call->argc - 1);
}

enum dispatch_status command_type(struct call *call)
{
    return read_names(call, write_type, 1);
}

enum dispatch_status command_read_integer(struct call *call)
{
    return read_names(call, write_read_integer, 1);
}

static void write_pair(struct buffer *out, const char *field, int64_t value)
{
    resp_write_bulk_text(out, field);
    resp_write_bulk_integer(out, value);
}

static void write_info(struct order_request *self, struct buffer *out, bool resp3)
{
    const struct store_op *op = op_of(self, 0);
    if (op->result != STORE_DONE) {
        write_error(out, op);
        return;
    }
    resp_write_map(out, 7, resp3);
    resp_write_bulk_text(out, "name");
    resp_write_bulk(out, op->name, op->name_len);
    write_pair(out, "value", op->counter.value);
    write_pair(out, "start", op->counter.start);
    write_pair(out, "step", op->counter.step);
    write_pair(out, "max", op->counter.max);
    write_pair(out, "cache", op->counter.cache);
    write_pair(out, "generation", op->counter.generation);
}

enum dispatch_status command_counter_info(struct call *call)
{
    if (!command_name(call, &call->args[2]))
        return DISPATCH_REPLIED;
    struct order_request *self = order_create(call, &call->args[2], 1, STORE_READ);
    return self != NULL ? order_send(call, self, write_info) : DISPATCH_REPLIED;
}

/* Of a row's reply at most: a name, five integers, and what stands around them; doubled, as the
 * buffer may be. */
#define LIST_ROW_BYTES (2 * (LIMIT_NAME_BYTES + 5 * 20 + 7 * 8))

static void list_row(struct store_op *op, const char *name, size_t name_len,
                     const struct store_counter *counter)
{
    struct order_request *self = ((struct order_slot *)op)->request;
    resp_write_array(&self->rows, 6);
    resp_write_bulk(&self->rows, name, name_len);
    resp_write_bulk_integer(&self->rows, counter->value);
    resp_write_bulk_integer(&self->rows, counter->start);
    resp_write_bulk_integer(&self->rows, counter->step);
    resp_write_bulk_integer(&self->rows, counter->max);
    resp_write_bulk_integer(&self->rows, counter->cache);
    self->row_count++;
    self->last_len = name_len < sizeof self->last ? name_len : sizeof self->last;
    memcpy(self->last, name, self->last_len);
}

static void write_list(struct order_request *self, struct buffer *out, bool resp3)
{
    const struct store_op *op = op_of(self, 0);
    if (op->result != STORE_DONE) {
        write_error(out, op);
        return;
    }
    bool more = (int64_t)self->row_count == op->count;
    resp_write_array(out, 2);
    resp_write_bulk(out, self->last, more ? self->last_len : 0);
    resp_write_array(out, self->row_count);
    buffer_append(out, self->rows.data, self->rows.len);
    out->failed = out->failed || self->rows.failed;
}

enum dispatch_status command_counter_list(struct call *call)
{
    struct resp_arg names[2] = {{"", 0}, {"", 0}}; /* prefix, after */
    int64_t count = 100;
    for (size_t i = 2; i < call->argc; i += 2) {
        const struct resp_arg *value = &call->args[i + 1];
        if (i + 1 == call->argc)
            return command_syntax_error(call);
        if (command_arg_is(&call->args[i], "PREFIX"))
            names[0] = *value;
        else if (command_arg_is(&call->args[i], "AFTER"))
            names[1] = *value;
        else if (!command_arg_is(&call->args[i], "COUNT"))
            return command_syntax_error(call);
        else if (!command_count(call, value, LIMIT_LIST_PAGE, &count))
            return DISPATCH_REPLIED;
    }
    for (size_t i = 0; i < 2; i++)
        if (names[i].len > LIMIT_NAME_BYTES)
            return command_error(call, ERROR_ERR, "invalid counter name: too long");
    struct order_request *self = order_create(call, names, 2, STORE_LIST);
    if (self == NULL)
        return DISPATCH_REPLIED;
    struct store_op *op = op_of(self, 0);
    op->after = op_of(self, 1)->name;
    op->after_len = op_of(self, 1)->name_len;
    op->count = count;
    op->row = list_row;
    self->base.bytes += (size_t)count * LIST_ROW_BYTES;
    /* The second order was there for its name alone. */
    self->count = 1;
    atomic_init(&self->open, 1);
    return order_send(call, self, write_list);
}

/* --- Writing --- */

static void write_done(struct order_request *self, struct buffer *out, bool resp3)
{
    const struct store_op *op = op_of(self, 0);
    if (op->result == STORE_DONE)
        resp_write_simple(out, "OK");
    else
        write_error(out, op);
}

/* Of one that exists already: is it as asked for, and its value not below? Then it was perhaps this
 * request that made it, the first time. */
static void write_created(struct order_request *self, struct buffer *out, bool resp3)
{
    const struct store_counter *is = &op_of(self, 0)->counter, *asked = &self->asked;
    bool exists = op_of(self, 0)->result == STORE_EXISTS;
    bool same = is->start == asked->start && is->step == asked->step && is->max == asked->max &&
                is->cache == asked->cache && is->value >= asked->value;
    if (exists && !same)
        resp_write_error(out, ERROR_ERR, "%s", OUTCOME_DIFFERS);
    else
        write_done(self, out, resp3);
}

static void write_raised(struct order_request *self, struct buffer *out, bool resp3)
{
    const struct store_op *op = op_of(self, 0);
    if (op->result == STORE_DONE)
        resp_write_bulk_integer(out, op->counter.value);
    else
        write_error(out, op);
}

static void write_set(struct order_request *self, struct buffer *out, bool resp3)
{
    if (op_of(self, 0)->result == STORE_EXISTS)
        resp_write_null(out, resp3);
    else
        write_done(self, out, resp3);
}

static void write_setnx(struct order_request *self, struct buffer *out, bool resp3)
{
    enum store_result result = op_of(self, 0)->result;
    if (result == STORE_DONE || result == STORE_EXISTS)
        resp_write_integer(out, result == STORE_DONE);
    else
        write_error(out, op_of(self, 0));
}

/* Create the counter args[1] so that args[2] is its last value. */
static enum dispatch_status create_at(struct call *call,
                                      void (*write)(struct order_request *, struct buffer *, bool))
{
    int64_t value;
    if (!command_name(call, &call->args[1]) || !command_integer(call, &call->args[2], &value))
        return DISPATCH_REPLIED;
    struct order_request *self = order_create(call, &call->args[1], 1, STORE_CREATE);
    if (self == NULL)
        return DISPATCH_REPLIED;
    struct store_counter *counter = &op_of(self, 0)->counter;
    counter->value = value;
    const char *why = NULL;
    if (__builtin_add_overflow(value, counter->step, &counter->start))
        why = "the value leaves no room for a next one";
    else
        why = store_counter_check(counter);
    if (why != NULL) {
        order_destroy(&self->base);
        return command_error(call, ERROR_ERR, "%s", why);
    }
    return order_send(call, self, write);
}

enum dispatch_status command_set(struct call *call)
{
    if (call->argc != 4 || !command_arg_is(&call->args[3], "NX"))
        return command_error(call, ERROR_ERR,
                             "SET would move a counter: use SET name value NX to create one, "
                             "COUNTER RAISE to move it forward, COUNTER RESET name value FORCE");
    return create_at(call, write_set);
}

enum dispatch_status command_setnx(struct call *call)
{
    return create_at(call, write_setnx);
}

enum dispatch_status command_counter_create(struct call *call)
{
    struct store_counter counter;
    bool has_value = false;
    if (!command_name(call, &call->args[2]))
        return DISPATCH_REPLIED;
    counters_how_created(call->dispatch->counters, call->args[2].data, call->args[2].len, &counter);
    for (size_t i = 3; i < call->argc; i += 2) {
        const struct {
            const char *word;
            int64_t *value;
        } options[] = {{"START", &counter.start},
                       {"STEP", &counter.step},
                       {"MAX", &counter.max},
                       {"CACHE", &counter.cache},
                       {"VALUE", &counter.value}};
        size_t option = 0;
        while (option < 5 && !command_arg_is(&call->args[i], options[option].word))
            option++;
        has_value = has_value || option == 4;
        if (option == 5 || i + 1 == call->argc)
            return command_syntax_error(call);
        if (!command_integer(call, &call->args[i + 1], options[option].value))
            return DISPATCH_REPLIED;
    }
    const char *why = store_counter_check(&counter);
    if (why != NULL)
        return command_error(call, ERROR_ERR, "%s", why);
    if (!has_value)
        counter.value = counter.start - counter.step;
    if (counter.value < counter.start - counter.step || counter.value > counter.max)
        return command_error(call, ERROR_ERR, "VALUE must be START - STEP to MAX");
    struct order_request *self = order_create(call, &call->args[2], 1, STORE_CREATE);
    if (self == NULL)
        return DISPATCH_REPLIED;
    op_of(self, 0)->counter = counter;
    self->asked = counter;
    if (!has_value)
        self->asked.value = INT64_MIN;
    return order_send(call, self, write_created);
}

static enum dispatch_status move(struct call *call, enum store_verb verb,
                                 void (*write)(struct order_request *, struct buffer *, bool))
{
    int64_t value;
    if (!command_name(call, &call->args[2]) || !command_integer(call, &call->args[3], &value))
        return DISPATCH_REPLIED;
    struct order_request *self = order_create(call, &call->args[2], 1, verb);
    if (self == NULL)
        return DISPATCH_REPLIED;
    op_of(self, 0)->value = value;
    op_of(self, 0)->create = verb == STORE_RAISE && call->dispatch->config->counters.auto_create;
    return order_send(call, self, write);
}

static bool forced(struct call *call, size_t at)
{
    if (at < call->argc && command_arg_is(&call->args[at], "FORCE"))
        return true;
    (void)command_error(call, ERROR_ERR,
                        "this makes values be issued again: add the word FORCE if you mean it");
    return false;
}

enum dispatch_status command_counter_raise(struct call *call)
{
    return move(call, STORE_RAISE, write_raised);
}

/* The two texts stand behind the name, in the memory that holds the names. */
enum dispatch_status command_counter_sync(struct call *call)
{
    static const struct resp_arg end = {"", 1}; /* a NUL */
    const struct resp_arg *args = call->args;
    if (!command_name(call, &args[2]))
        return DISPATCH_REPLIED;
    for (size_t i = 3; i < 5; i++)
        if (args[i].len == 0 || args[i].len > LIMIT_NAME_BYTES ||
            memchr(args[i].data, '\0', args[i].len) != NULL)
            return command_error(call, ERROR_ERR, "invalid collection or field");
    const struct resp_arg names[] = {args[2], args[3], end, args[4], end};
    struct order_request *self = order_create(call, names, 5, STORE_SYNC);
    if (self == NULL)
        return DISPATCH_REPLIED;
    struct store_op *op = op_of(self, 0);
    op->source = op_of(self, 1)->name;
    op->field = op_of(self, 3)->name;
    op->create = call->dispatch->config->counters.auto_create;
    self->count = 1;
    atomic_init(&self->open, 1);
    return order_send(call, self, write_raised);
}

enum dispatch_status command_counter_reset(struct call *call)
{
    return forced(call, 4) ? move(call, STORE_RESET, write_done) : DISPATCH_REPLIED;
}

enum dispatch_status command_counter_drop(struct call *call)
{
    if (!command_name(call, &call->args[2]) || !forced(call, 3))
        return DISPATCH_REPLIED;
    struct order_request *self = order_create(call, &call->args[2], 1, STORE_DROP);
    return self != NULL ? order_send(call, self, write_done) : DISPATCH_REPLIED;
}
