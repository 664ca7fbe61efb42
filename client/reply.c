#include "reply.h"

#include <stdlib.h>
#include <string.h>

#include "objectid.h"
#include "oid_run.h"
#include "resp.h"

/* Whatever a server says, a reply costs no more memory than this (buffer limit: handle.c). */
#define REPLY_BULK_BYTES (8 * 1024 * 1024)
#define REPLY_VALUES (1024 * 1024)

void reply_reset(struct idmint *handle)
{
    handle->scan_at = 0;
    handle->scan_left = 0;
    handle->reply_partial = false;
}

/* Move scan_at past the whole reply, from where the last scan stopped. */
static int scan(struct idmint *handle)
{
    if (handle->in_start == handle->in.len) {
        return RESP_MORE;
    }
    if (handle->scan_at == 0 && handle->scan_left == 0) {
        handle->scan_left = 1;
    }
    while (handle->scan_left > 0) {
        const size_t at = handle->in_start + handle->scan_at;
        struct resp_value value;
        size_t used;
        int status = resp_read_value(handle->in.data + at, handle->in.len - at, REPLY_BULK_BYTES,
                                     &value, &used);

        if (status != RESP_OK) {
            return status;
        }
        handle->scan_at += used;
        handle->scan_left--;
        if (value.type == RESP_ARRAY || value.type == RESP_MAP) {
            if (value.integer > REPLY_VALUES) {
                return RESP_BAD;
            }
            handle->scan_left += (uint64_t)value.integer * (value.type == RESP_MAP ? 2 : 1);
            if (handle->scan_left > REPLY_VALUES) {
                return RESP_BAD;
            }
        }
    }
    return RESP_OK;
}

/* The outcome that an error reply stands for. */
static void read_error(const struct resp_value *value, struct failure *failure)
{
    const size_t limit = sizeof(failure->word) - 1;
    size_t word_len = 0;
    int outcome = IDMINT_REFUSED;

    while (word_len < value->len && word_len < limit && value->data[word_len] != ' ') {
        word_len++;
    }
    failure_set(failure, IDMINT_REFUSED, "%.*s", (int)(value->len < 4096 ? value->len : 4096),
                value->data);
    memcpy(failure->word, value->data, word_len);
    failure->word[word_len] = '\0';
    if (strcmp(failure->word, "TRYAGAIN") == 0 || strcmp(failure->word, "NOTLEADER") == 0) {
        outcome = IDMINT_NOT_DONE;
    } else if (strcmp(failure->word, "UNCERTAIN") == 0) {
        outcome = IDMINT_UNKNOWN;
    }
    failure->outcome = outcome;
}

int reply_skip(struct idmint *handle, struct failure *failure)
{
    struct resp_value value;
    size_t used;
    int status = scan(handle);

    handle->reply_partial = status == RESP_MORE;
    if (status != RESP_OK) {
        return status;
    }
    status = resp_read_value(handle->in.data + handle->in_start, handle->scan_at, REPLY_BULK_BYTES,
                             &value, &used);
    if (status != RESP_OK) {
        return RESP_BAD;
    }
    failure_set(failure, IDMINT_OK, "%s", "");
    if (value.type == RESP_ERROR) {
        read_error(&value, failure);
    }
    handle->in_start += handle->scan_at;
    reply_reset(handle);
    return RESP_OK;
}

static bool values_grow(struct idmint *handle, size_t count)
{
    size_t capacity = handle->values_capacity ? handle->values_capacity : 16;
    struct idmint_value *values;

    if (count <= handle->values_capacity) {
        return true;
    }
    while (capacity < count) {
        capacity *= 2;
    }
    values = realloc(handle->values, capacity * sizeof(*values));
    if (!values) {
        return false;
    }
    handle->values = values;
    handle->values_capacity = capacity;
    return true;
}

static struct idmint_value token(const struct resp_value *value)
{
    struct idmint_value token = {.type = IDMINT_STRING, .data = value->data, .len = value->len};

    switch (value->type) {
    case RESP_INTEGER:
    case RESP_BOOLEAN:
        token = (struct idmint_value){.type = IDMINT_INTEGER, .integer = value->integer};
        break;
    case RESP_NULL:
        token = (struct idmint_value){.type = IDMINT_NULL};
        break;
    case RESP_ARRAY:
        token = (struct idmint_value){.type = IDMINT_ARRAY, .integer = value->integer};
        break;
    case RESP_MAP:
        token = (struct idmint_value){.type = IDMINT_MAP, .integer = value->integer};
        break;
    case RESP_SIMPLE:
    case RESP_ERROR:
    case RESP_BULK:
    case RESP_DOUBLE:
        break;
    }
    return token;
}

/* The whole reply, already scanned, as tokens. */
static int tokenize(struct idmint *handle, struct idmint_result *result)
{
    const char *at = handle->in.data + handle->in_start;
    const char *end = at + handle->scan_at;
    size_t count = 0;

    while (at < end) {
        struct resp_value value;
        size_t used;

        if (resp_read_value(at, (size_t)(end - at), REPLY_BULK_BYTES, &value, &used) != RESP_OK) {
            return RESP_BAD;
        }
        if (count == 0 && value.type == RESP_ERROR) {
            read_error(&value, &handle->last);
            result->outcome = handle->last.outcome;
            return RESP_OK;
        }
        if (!values_grow(handle, count + 1)) {
            return RESP_BAD;
        }
        handle->values[count++] = token(&value);
        at += used;
    }
    result->outcome = IDMINT_OK;
    result->values = handle->values;
    result->value_count = count;
    return RESP_OK;
}

bool reply_integer(const struct idmint_value *value, int64_t *integer)
{
    if (value->type == IDMINT_INTEGER) {
        *integer = value->integer;
        return true;
    }
    return value->type == IDMINT_STRING && resp_parse_integer(value->data, value->len, integer);
}

bool reply_oid(const struct idmint_value *value, struct idmint_oid *id)
{
    return value->type == IDMINT_STRING && objectid_parse(value->data, value->len, id->bytes);
}

static bool is_pair(const struct idmint_result *result)
{
    return result->value_count == 3 && result->values[0].type == IDMINT_ARRAY &&
           result->values[0].integer == 2;
}

/* From tokens to what the kind of request promises. False: the reply has another shape. */
static bool shape(const struct request *request, struct idmint_result *result)
{
    const struct idmint_value *values = result->values;
    int64_t count;

    switch (request->kind) {
    case REQUEST_COMMAND:
        return true;
    case REQUEST_OID:
        return result->value_count == 1 && reply_oid(values, &result->oid);
    case REQUEST_RANGE:
        result->count = request->count;
        return is_pair(result) && reply_oid(&values[1], &result->oid) &&
               reply_integer(&values[2], &count) && count == (int64_t)request->count;
    case REQUEST_NEXT:
        result->count = 1;
        if (result->value_count != 1 || !reply_integer(values, &result->first)) {
            return false;
        }
        result->last = result->first;
        return true;
    case REQUEST_NEXT_RANGE:
        result->count = request->count;
        return is_pair(result) && reply_integer(&values[1], &result->first) &&
               reply_integer(&values[2], &result->last) && result->first <= result->last;
    case REQUEST_GET:
        result->present = result->value_count == 1 && values->type != IDMINT_NULL;
        if (result->present && !reply_integer(values, &result->first)) {
            return false;
        }
        result->last = result->first;
        return result->value_count == 1;
    case REQUEST_OIDS:
        break;
    }
    return false;
}

/* Ids as they arrive, straight from the receive buffer. */
static int take_ids(struct idmint *handle, struct request *request)
{
    while (request->got < request->count) {
        const char *at = handle->in.data + handle->in_start;
        const size_t len = handle->in.len - handle->in_start;
        struct resp_value value;
        size_t used;
        size_t run = oid_run_decode(at, len, &request->ids[request->got],
                                    request->count - request->got, &used);

        if (run > 0) {
            request->got += run;
            handle->in_start += used;
            continue;
        }
        if (len == 0) {
            return RESP_MORE;
        }
        int status = resp_read_value(at, len, OBJECTID_HEX, &value, &used);
        if (status != RESP_OK) {
            return status;
        }
        if ((value.type != RESP_BULK && value.type != RESP_SIMPLE) ||
            !objectid_parse(value.data, value.len, request->ids[request->got].bytes)) {
            return RESP_BAD;
        }
        request->got++;
        handle->in_start += used;
    }
    return RESP_OK;
}

static int take_array(struct idmint *handle, struct request *request, struct idmint_result *result)
{
    int status;

    if (!request->in_array) {
        const size_t len = handle->in.len - handle->in_start;
        struct resp_value value;
        size_t used;

        status = len ? resp_read_value(handle->in.data + handle->in_start, len, REPLY_BULK_BYTES,
                                       &value, &used)
                     : RESP_MORE;
        if (status != RESP_OK) {
            return status;
        }
        if (value.type == RESP_ERROR) {
            read_error(&value, &handle->last);
            result->outcome = handle->last.outcome;
            handle->in_start += used;
            return RESP_OK;
        }
        if (value.type != RESP_ARRAY || value.integer != (int64_t)request->count) {
            return RESP_BAD;
        }
        handle->in_start += used;
        request->in_array = true;
    }
    status = take_ids(handle, request);
    if (status == RESP_OK) {
        result->outcome = IDMINT_OK;
    }
    return status;
}

int reply_take(struct idmint *handle, struct request *request, struct idmint_result *result)
{
    int status;

    if (request->kind == REQUEST_OIDS) {
        status = take_array(handle, request, result);
        handle->reply_partial = status == RESP_MORE;
        return status;
    }
    status = scan(handle);
    handle->reply_partial = status == RESP_MORE;
    if (status == RESP_OK) {
        status = tokenize(handle, result);
    }
    if (status == RESP_OK && result->outcome == IDMINT_OK && !shape(request, result)) {
        status = RESP_BAD;
    }
    if (status == RESP_OK) {
        handle->in_start += handle->scan_at;
        reply_reset(handle);
    }
    return status;
}
