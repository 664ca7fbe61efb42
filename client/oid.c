/* ObjectIds and UUIDs from the server. */
#include "call.h"
#include "idmint.h"

/* A long batch is asked for in pieces of so many ids, so many pieces at a time: enough that the
 * server always has work and `in` always has room. */
#define PIECE_IDS 2000
#define PIECES_AHEAD 16
#define PIECE_UUIDS 10000

int idmint_oid(struct idmint *handle, struct idmint_oid *id)
{
    const struct resp_arg args[] = {{"OID", 3}};
    struct idmint_result result;
    int outcome = call_run(handle, REQUEST_OID, false, 1, args, 1, &result);

    if (outcome == IDMINT_OK) {
        *id = result.oid;
    }
    return outcome;
}

int idmint_oid_range(struct idmint *handle, uint32_t count, struct idmint_oid *first)
{
    char digits[CALL_DIGITS];
    struct idmint_result result;
    int outcome = handle_enter(handle);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    if (count < 1 || count > IDMINT_RANGE_MAX || !first) {
        return handle_fail(handle, IDMINT_ARGUMENT, "the count is out of range");
    }
    const struct resp_arg args[] = {{"OID", 3}, {"RANGE", 5}, call_number(count, digits)};
    outcome = call_run(handle, REQUEST_RANGE, false, count, args, 3, &result);
    if (outcome == IDMINT_OK) {
        *first = result.oid;
    }
    return outcome;
}

/* A batch under way. Ids [0, done) have come; [done, asked) were asked for and may come. */
struct batch {
    struct idmint_oid *ids;
    size_t count, asked, done;
    int64_t deadline_ms;
    bool followed;
    struct failure first; /* failure; what comes after it is not wanted any more */
};

static void batch_ask(struct idmint *handle, struct batch *batch)
{
    while (batch->first.outcome == IDMINT_OK && batch->asked < batch->count &&
           handle->queue_count < PIECES_AHEAD) {
        const size_t left = batch->count - batch->asked;
        const size_t piece = left < PIECE_IDS ? left : PIECE_IDS;
        const struct request model = {.kind = REQUEST_OIDS,
                                      .deadline_ms = batch->deadline_ms,
                                      .count = piece,
                                      .ids = batch->ids + batch->asked};
        char digits[CALL_DIGITS];
        const struct resp_arg args[] = {{"OID", 3}, call_number((int64_t)piece, digits)};

        if (handle_now_ms() >= batch->deadline_ms) {
            failure_set(&batch->first, IDMINT_NOT_DONE, "timed out before the batch was complete");
        } else if (request_submit(handle, &model, args, 2) != IDMINT_OK) {
            batch->first = handle->last;
        } else {
            batch->asked += piece;
        }
    }
}

static void batch_take(struct idmint *handle, struct batch *batch)
{
    struct idmint_result result;
    int outcome = request_wait(handle, &result);

    if (batch->first.outcome != IDMINT_OK) {
        return;
    }
    batch->done += result.count;
    if (outcome != IDMINT_OK) {
        batch->first = handle->last;
    }
}

int idmint_oids(struct idmint *handle, size_t count, struct idmint_oid *ids, size_t *got)
{
    struct batch batch = {.ids = ids, .count = count};
    int outcome = handle_enter_idle(handle);

    if (got) {
        *got = 0;
    }
    if (outcome != IDMINT_OK) {
        return outcome;
    }
    if (!ids && count > 0) {
        return handle_fail(handle, IDMINT_ARGUMENT, "there is no room for ids");
    }
    batch.deadline_ms = handle_now_ms() + handle->timeout_ms;
    for (;;) {
        batch_ask(handle, &batch);
        if (handle->queue_count > 0) {
            batch_take(handle, &batch);
            continue;
        }
        if (batch.first.outcome != IDMINT_NOT_DONE || !handle->leader_known || batch.followed) {
            break;
        }
        /* Begin anew at the leader with what has not come. */
        batch.followed = true;
        batch.asked = batch.done;
        batch.first.outcome = IDMINT_OK;
    }
    if (got) {
        *got = batch.done;
    }
    handle->last = batch.first;
    return batch.first.outcome;
}

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    return -1;
}

/* 32 lower-case hex digits, as UUID ... PLAIN gives them. */
static bool uuid_parse(const struct idmint_value *value, struct idmint_uuid *uuid)
{
    if (value->type != IDMINT_STRING || value->len != (size_t)2 * IDMINT_UUID_BYTES) {
        return false;
    }
    for (size_t i = 0; i < IDMINT_UUID_BYTES; i++) {
        const int high = hex_digit(value->data[2 * i]), low = hex_digit(value->data[2 * i + 1]);

        if (high < 0 || low < 0) {
            return false;
        }
        uuid->bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* `count` in one command. */
static int uuid_piece(struct idmint *handle, int version, size_t count, struct idmint_uuid *uuids)
{
    char digits[CALL_DIGITS];
    const struct resp_arg args[] = {{"UUID", 4},
                                    {version == 4 ? "V4" : "V7", 2},
                                    call_number((int64_t)count, digits),
                                    {"PLAIN", 5}};
    struct idmint_result result;
    int outcome = call_run(handle, REQUEST_COMMAND, false, 0, args, 4, &result);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    if (result.value_count != count + 1 || result.values[0].type != IDMINT_ARRAY) {
        return call_misshapen(handle, false);
    }
    for (size_t i = 0; i < count; i++) {
        if (!uuid_parse(&result.values[i + 1], &uuids[i])) {
            return call_misshapen(handle, false);
        }
    }
    return IDMINT_OK;
}

int idmint_uuids(struct idmint *handle, int version, size_t count, struct idmint_uuid *uuids,
                 size_t *got)
{
    int outcome = handle_enter(handle);
    size_t done = 0;
    int64_t deadline_ms;

    if (got) {
        *got = 0;
    }
    if (outcome != IDMINT_OK) {
        return outcome;
    }
    if ((version != 4 && version != 7) || (!uuids && count > 0)) {
        return handle_fail(handle, IDMINT_ARGUMENT, "the version must be 4 or 7");
    }
    deadline_ms = handle_now_ms() + handle->timeout_ms;
    while (done < count && outcome == IDMINT_OK) {
        const size_t piece = count - done < PIECE_UUIDS ? count - done : PIECE_UUIDS;

        if (handle_now_ms() >= deadline_ms) {
            outcome =
                handle_fail(handle, IDMINT_NOT_DONE, "timed out before the batch was complete");
        } else {
            outcome = uuid_piece(handle, version, piece, uuids + done);
            done += outcome == IDMINT_OK ? piece : 0;
        }
    }
    if (got) {
        *got = done;
    }
    return outcome;
}

int idmint_uuid(struct idmint *handle, int version, struct idmint_uuid *uuid)
{
    return idmint_uuids(handle, version, 1, uuid, NULL);
}
