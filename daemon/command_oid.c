/* Commands that issue and read ObjectIds and UUIDs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "leader.h"
#include "limit.h"
#include "metrics.h"
#include "objectid.h"
#include "oid.h"
#include "uuid.h"

enum oid_form {
    OID_ONE,   /* a string each */
    OID_ARRAY, /* an array each */
    OID_LINE,  /* one string with spaces between */
    OID_RANGE, /* first and count */
};

struct oid_wish {
    enum oid_form form;
    uint32_t count;  /* of each reply */
    uint32_t repeat; /* replies */
};

/* A wish that waits for the clock, or for the window to be saved. */
struct oid_request {
    struct request base;
    struct oid_issuer *oid;
    struct leader *leader;
    struct oid_wish wish;
    enum oid_status status;
    uint64_t first;
    char *leader_address; /* the daemon that leads instead; NULL: this one, or none that is known */
};

/* --- Replies --- */

static const char line_end[2] = {'\r', '\n'};

/* `count` simple strings. */
static void write_strings(struct buffer *out, uint64_t tick, const uint8_t *random, size_t count)
{
    enum { STRIDE = 1 + OBJECTID_HEX + 2 };
    char *at = buffer_reserve(out, count * STRIDE);
    if (at == NULL)
        return;
    objectid_hex_run(tick, random, count, at + 1, STRIDE);
    for (size_t i = 0; i < count; i++) {
        at[i * STRIDE] = '+';
        memcpy(at + i * STRIDE + 1 + OBJECTID_HEX, line_end, 2);
    }
    out->len += count * STRIDE;
}

/* The strings of `text_bytes` each, one after the other with a space between, as one bulk string.
 */
static char *open_line(struct buffer *out, size_t count, size_t text_bytes)
{
    char head[32];
    size_t bytes = count * (text_bytes + 1) - 1;
    int head_len = snprintf(head, sizeof head, "$%zu\r\n", bytes);
    char *at = buffer_reserve(out, (size_t)head_len + bytes + 2);
    if (at == NULL)
        return NULL;
    memcpy(at, head, (size_t)head_len);
    memset(at + head_len, ' ', bytes);
    memcpy(at + head_len + bytes, line_end, 2);
    out->len += (size_t)head_len + bytes + 2;
    return at + head_len;
}

static void write_oids(struct buffer *out, const struct oid_wish *wish, const uint8_t *random,
                       uint64_t first)
{
    if (wish->form == OID_ONE) {
        write_strings(out, first, random, wish->repeat);
        return;
    }
    for (uint32_t i = 0; i < wish->repeat; i++, first += wish->count) {
        if (wish->form == OID_ARRAY) {
            resp_write_array(out, wish->count);
            write_strings(out, first, random, wish->count);
        } else if (wish->form == OID_LINE) {
            char *at = open_line(out, wish->count, OBJECTID_HEX);
            if (at != NULL)
                objectid_hex_run(first, random, wish->count, at, OBJECTID_HEX + 1);
        } else {
            resp_write_array(out, 2);
            write_strings(out, first, random, 1);
            resp_write_bulk_integer(out, wish->count);
        }
    }
}

/* The replies of a wish that was carried out: its ids, or why there are none. */
static void write_outcome(struct buffer *out, const struct oid_wish *wish, enum oid_status status,
                          const uint8_t *random, uint64_t first, struct metrics_loop *metrics)
{
    if (status == OID_OK) {
        write_oids(out, wish, random, first);
        metrics_issued(metrics, METRICS_OID, (uint64_t)wish->count * wish->repeat);
        return;
    }
    enum error_word word = status == OID_EXHAUSTED ? ERROR_EXHAUSTED : ERROR_TRYAGAIN;
    for (uint32_t i = 0; i < wish->repeat; i++)
        resp_write_error(out, word, "%s",
                         status == OID_EXHAUSTED ? "the end of the ObjectId format is reached"
                                                 : "the daemon is stopping; nothing was taken");
    metrics_error(metrics, word, wish->repeat);
}

/* --- Who leads --- */

/* Where daemons share a store one of them issues. true: it is another one, at that address. false:
 * it is this one, or none is known, which may change within the request's time. */
static bool another_leads(struct leader *leader, struct clock_now now, struct leader_state *state)
{
    if (leader_leads(leader, now.boot_ms))
        return false;
    leader_look(leader, now.boot_ms, state);
    return !state->leads && state->address[0] != '\0';
}

/* --- Waiting --- */

static void oid_request_write(struct request *request, struct buffer *out, bool resp3)
{
    struct oid_request *self = (struct oid_request *)request;
    struct metrics_loop *metrics = request->session->host->metrics;
    if (self->leader_address == NULL) {
        write_outcome(out, &self->wish, self->status, self->oid->random, self->first, metrics);
        return;
    }
    for (uint32_t i = 0; i < self->wish.repeat; i++)
        resp_write_error(out, ERROR_NOTLEADER, "%s", self->leader_address);
    metrics_error(metrics, ERROR_NOTLEADER, self->wish.repeat);
}

static enum request_cancel oid_request_cancel(struct request *request)
{
    request->session->waiting_oids--;
    return REQUEST_TAKEN_BACK;
}

static bool waits(enum oid_status status)
{
    return status == OID_LEAD || status == OID_WINDOW;
}

static bool oid_request_poll(struct request *request, struct clock_now now)
{
    struct oid_request *self = (struct oid_request *)request;
    struct leader_state state;
    if (another_leads(self->leader, now, &state)) {
        self->status = OID_CLOSED; /* TRYAGAIN, should there be no memory for the address */
        self->leader_address = strdup(state.address);
        request->session->waiting_oids--;
        return true;
    }
    if (!leader_leads(self->leader, now.boot_ms))
        return false;
    self->status = oid_take(self->oid, now, self->wish.count * self->wish.repeat, &self->first);
    if (waits(self->status))
        return false;
    request->session->waiting_oids--;
    return true;
}

static void oid_request_destroy(struct request *request)
{
    free(((struct oid_request *)request)->leader_address);
    free(request);
}

static const struct request_kind oid_request_kind = {
    .write = oid_request_write,
    .cancel = oid_request_cancel,
    .poll = oid_request_poll,
    .destroy = oid_request_destroy,
};

/* Issue now; or, where the clock or the window forbids it, or an earlier wish of the connection
 * waits, leave a request. */
static enum dispatch_status issue(struct call *call, const struct oid_wish *wish)
{
    struct oid_issuer *oid = call->dispatch->oid;
    struct leader *leader = call->dispatch->leader;
    struct leader_state state;
    uint64_t first = 0;
    enum oid_status status = OID_WINDOW;
    if (another_leads(leader, call->now, &state))
        return command_error(call, ERROR_NOTLEADER, "%s", state.address);
    if (leader_leads(leader, call->now.boot_ms) && call->session->waiting_oids == 0)
        status = oid_take(oid, call->now, wish->count * wish->repeat, &first);
    if (!waits(status)) {
        write_outcome(call->out, wish, status, oid->random, first, call->session->host->metrics);
        return DISPATCH_REPLIED;
    }
    struct oid_request *self = calloc(1, sizeof *self);
    if (self == NULL) {
        call->out->failed = true;
        return DISPATCH_REPLIED;
    }
    self->base.kind = &oid_request_kind;
    self->base.replies = wish->repeat;
    self->base.by_time = true;
    self->base.bytes = sizeof *self;
    self->oid = oid;
    self->leader = call->dispatch->leader;
    self->wish = *wish;
    call->session->waiting_oids++;
    call->request = &self->base;
    return DISPATCH_WAITS;
}

/* --- Commands --- */

enum dispatch_status command_oid(struct call *call)
{
    struct oid_wish wish = {.form = OID_ONE, .count = 1, .repeat = call->repeat};
    bool line = call->argc > 1 && command_arg_is(&call->args[call->argc - 1], "LINE");
    size_t counts = call->argc - 1 - line;
    if (counts > 1)
        return command_syntax_error(call);
    if (counts == 1) {
        int64_t count;
        if (!command_count(call, &call->args[1], LIMIT_BATCH, &count))
            return DISPATCH_REPLIED;
        /* A run of batches is served as far as the replies of one batch may reach. */
        wish.count = (uint32_t)count;
        wish.form = OID_ARRAY;
        wish.repeat =
            wish.repeat < LIMIT_BATCH / wish.count ? wish.repeat : LIMIT_BATCH / wish.count;
        call->repeat = wish.repeat;
    }
    if (line)
        wish.form = OID_LINE;
    return issue(call, &wish);
}

enum dispatch_status command_oid_range(struct call *call)
{
    int64_t count;
    if (!command_count(call, &call->args[2], LIMIT_RANGE, &count))
        return DISPATCH_REPLIED;
    struct oid_wish wish = {.form = OID_RANGE, .count = (uint32_t)count, .repeat = 1};
    return issue(call, &wish);
}

static void write_field(struct buffer *out, const char *field, const char *value)
{
    resp_write_bulk_text(out, field);
    resp_write_bulk_text(out, value);
}

enum dispatch_status command_oid_decode(struct call *call)
{
    uint8_t id[OBJECTID_BYTES];
    const struct resp_arg *hex = &call->args[2];
    if (!objectid_parse(hex->data, hex->len, id))
        return command_error(call, ERROR_ERR, "an ObjectId is 24 hex digits");
    struct objectid_parts parts;
    char text[OBJECTID_TIME_TEXT];
    char number[24];
    objectid_split(id, &parts);
    resp_write_map(call->out, 6, call->session->resp3);
    snprintf(number, sizeof number, "%" PRIu32, parts.seconds);
    write_field(call->out, "seconds", number);
    objectid_time_text(parts.seconds, text);
    write_field(call->out, "time", text);
    snprintf(number, sizeof number, "%02x%02x%02x%02x%02x", parts.random[0], parts.random[1],
             parts.random[2], parts.random[3], parts.random[4]);
    write_field(call->out, "random", number);
    snprintf(number, sizeof number, "%" PRIu32, parts.counter);
    write_field(call->out, "counter", number);
    snprintf(number, sizeof number, "%06" PRIx32, parts.legacy_machine);
    write_field(call->out, "legacy_machine", number);
    snprintf(number, sizeof number, "%u", (unsigned)parts.legacy_pid);
    write_field(call->out, "legacy_pid", number);
    return DISPATCH_REPLIED;
}

enum dispatch_status command_oid_at(struct call *call)
{
    static const uint8_t zero[OBJECTID_RANDOM_BYTES];
    uint32_t seconds;
    const struct resp_arg *time = &call->args[2];
    if (!objectid_parse_time(time->data, time->len, &seconds))
        return command_error(call, ERROR_ERR,
                             "time must be unix seconds or RFC 3339, from 1970 to 2106");
    write_strings(call->out, (uint64_t)seconds << 24, zero, 1);
    return DISPATCH_REPLIED;
}

static void write_uuids(struct call *call, const uint8_t *uuids, size_t count, bool plain,
                        bool line)
{
    size_t text_bytes = plain ? UUID_PLAIN : UUID_TEXT;
    char *at = line ? open_line(call->out, count, text_bytes) : NULL;
    for (size_t i = 0; i < count; i++) {
        char text[UUID_TEXT];
        if (plain)
            uuid_plain(uuids + i * UUID_BYTES, text);
        else
            uuid_text(uuids + i * UUID_BYTES, text);
        if (!line)
            resp_write_bulk(call->out, text, text_bytes);
        else if (at != NULL)
            memcpy(at + i * (text_bytes + 1), text, text_bytes);
    }
}

enum dispatch_status command_uuid(struct call *call)
{
    bool v7 = false, plain = false, line = false, version = false;
    int64_t count = 0;
    for (size_t i = 1; i < call->argc; i++) {
        const struct resp_arg *arg = &call->args[i];
        if (!version && (command_arg_is(arg, "V4") || command_arg_is(arg, "V7"))) {
            version = true;
            v7 = command_arg_is(arg, "V7");
        } else if (!plain && command_arg_is(arg, "PLAIN")) {
            plain = true;
        } else if (!line && command_arg_is(arg, "LINE")) {
            line = true;
        } else if (count > 0) {
            return command_syntax_error(call);
        } else if (!command_count(call, arg, LIMIT_BATCH, &count)) {
            return DISPATCH_REPLIED;
        }
    }
    size_t wanted = count > 0 ? (size_t)count : 1;
    uint8_t *uuids = malloc(wanted * UUID_BYTES);
    if (uuids == NULL) {
        call->out->failed = true;
        return DISPATCH_REPLIED;
    }
    if (v7)
        uuid_take_v7(call->dispatch->uuid, call->now.real_ms, wanted, uuids);
    else
        uuid_take_v4(call->dispatch->uuid, wanted, uuids);
    if (count > 0 && !line)
        resp_write_array(call->out, wanted);
    write_uuids(call, uuids, wanted, plain, line);
    metrics_issued(call->session->host->metrics, METRICS_UUID, wanted);
    free(uuids);
    return DISPATCH_REPLIED;
}
