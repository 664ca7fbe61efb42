/* Counters on the server. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "idmint.h"
#include "limit.h"
#include "reply.h"

_Static_assert(IDMINT_NAME_MAX == LIMIT_NAME_BYTES, "one length of names");
_Static_assert(IDMINT_LIST_MAX == LIMIT_LIST_PAGE, "one size of pages");

static int enter_named(struct idmint *handle, const char *name)
{
    int outcome = handle_enter(handle);

    if (outcome == IDMINT_OK && !call_name_valid(name)) {
        return handle_fail(handle, IDMINT_ARGUMENT, "a counter's name is 1 to 255 bytes long");
    }
    return outcome;
}

int idmint_next(struct idmint *handle, const char *name, int64_t *value)
{
    struct idmint_result result;
    int outcome = enter_named(handle, name);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    const struct resp_arg args[] = {{"NEXT", 4}, call_text(name)};
    outcome = call_run(handle, REQUEST_NEXT, false, 1, args, 2, &result);
    if (outcome == IDMINT_OK) {
        *value = result.first;
    }
    return outcome;
}

int idmint_next_range(struct idmint *handle, const char *name, int64_t count, int64_t *first,
                      int64_t *last)
{
    char digits[CALL_DIGITS];
    struct idmint_result result;
    int outcome = enter_named(handle, name);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    if (count < 1) {
        return handle_fail(handle, IDMINT_ARGUMENT, "the count is out of range");
    }
    const struct resp_arg args[] = {{"NEXT", 4}, call_text(name), call_number(count, digits)};
    outcome = call_run(handle, REQUEST_NEXT_RANGE, false, (size_t)count, args, 3, &result);
    if (outcome == IDMINT_OK) {
        *first = result.first;
        *last = result.last;
    }
    return outcome;
}

int idmint_get(struct idmint *handle, const char *name, int64_t *value, bool *present)
{
    struct idmint_result result;
    int outcome = enter_named(handle, name);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    const struct resp_arg args[] = {{"GET", 3}, call_text(name)};
    outcome = call_run(handle, REQUEST_GET, true, 0, args, 2, &result);
    if (outcome == IDMINT_OK) {
        *present = result.present;
        if (result.present) {
            *value = result.first;
        }
    }
    return outcome;
}

int idmint_counter_create(struct idmint *handle, const char *name, unsigned set,
                          const struct idmint_counter *options)
{
    const struct idmint_counter none = {0};
    const struct idmint_counter *from = options ? options : &none;
    const struct {
        unsigned option;
        const char *word;
        int64_t value;
    } rows[] = {{IDMINT_START, "START", from->start},
                {IDMINT_STEP, "STEP", from->step},
                {IDMINT_MAX, "MAX", from->max},
                {IDMINT_CACHE, "CACHE", from->cache},
                {IDMINT_VALUE, "VALUE", from->value}};
    const size_t row_count = sizeof(rows) / sizeof(rows[0]);
    char digits[5][CALL_DIGITS];
    struct resp_arg args[3 + 2 * 5] = {{"COUNTER", 7}, {"CREATE", 6}};
    struct idmint_result result;
    size_t argc = 3;
    int outcome = enter_named(handle, name);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    if (set && !options) {
        return handle_fail(handle, IDMINT_ARGUMENT, "there are no options");
    }
    args[2] = call_text(name);
    for (size_t i = 0; i < row_count; i++) {
        if (set & rows[i].option) {
            args[argc++] = call_text(rows[i].word);
            args[argc++] = call_number(rows[i].value, digits[i]);
        }
    }
    return call_run(handle, REQUEST_COMMAND, false, 0, args, argc, &result);
}

static bool value_is(const struct idmint_value *value, const char *text)
{
    return value->type == IDMINT_STRING && value->len == strlen(text) &&
           memcmp(value->data, text, value->len) == 0;
}

/* Field and value by turns. False: a field is missing or no integer. */
static bool read_info(const struct idmint_value *values, size_t value_count,
                      struct idmint_counter *counter)
{
    const struct {
        const char *field;
        int64_t *to;
    } rows[] = {{"value", &counter->value},
                {"start", &counter->start},
                {"step", &counter->step},
                {"max", &counter->max},
                {"cache", &counter->cache}};
    const size_t row_count = sizeof(rows) / sizeof(rows[0]);
    size_t found = 0;

    for (size_t i = 0; i + 1 < value_count; i += 2) {
        for (size_t row = 0; row < row_count; row++) {
            if (value_is(&values[i], rows[row].field)) {
                found += reply_integer(&values[i + 1], rows[row].to);
            }
        }
    }
    return found == row_count;
}

int idmint_counter_info(struct idmint *handle, const char *name, struct idmint_counter *counter)
{
    struct idmint_counter read = {0};
    struct idmint_result result;
    int outcome = enter_named(handle, name);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    const struct resp_arg args[] = {{"COUNTER", 7}, {"INFO", 4}, call_text(name)};
    outcome = call_run(handle, REQUEST_COMMAND, true, 0, args, 3, &result);
    if (outcome != IDMINT_OK) {
        return outcome;
    }
    if (!read_info(result.values + 1, result.value_count - 1, &read)) {
        return call_misshapen(handle, true);
    }
    memcpy(read.name, name, strlen(name));
    *counter = read;
    return IDMINT_OK;
}

static bool copy_name(const struct idmint_value *value, char name[IDMINT_NAME_MAX + 1])
{
    if (value->type != IDMINT_STRING || value->len > IDMINT_NAME_MAX) {
        return false;
    }
    memcpy(name, value->data, value->len);
    name[value->len] = '\0';
    return true;
}

/* [next, [[name, value, start, step, max, cache], ...]] */
#define ROW_FIELDS 6
static bool read_page(const struct idmint_result *result, size_t most,
                      struct idmint_counter *counters, size_t *got, char next[IDMINT_NAME_MAX + 1])
{
    const struct idmint_value *values = result->values;
    const struct idmint_value *row = values + 3;
    size_t count;

    if (result->value_count < 3 || values[0].type != IDMINT_ARRAY || values[0].integer != 2 ||
        values[2].type != IDMINT_ARRAY || values[2].integer > (int64_t)most) {
        return false;
    }
    count = (size_t)values[2].integer;
    if (result->value_count != 3 + count * (ROW_FIELDS + 1)) {
        return false;
    }
    for (size_t i = 0; i < count; i++, row += ROW_FIELDS + 1) {
        struct idmint_counter *counter = &counters[i];

        if (row[0].type != IDMINT_ARRAY || row[0].integer != ROW_FIELDS ||
            !copy_name(&row[1], counter->name) || !reply_integer(&row[2], &counter->value) ||
            !reply_integer(&row[3], &counter->start) || !reply_integer(&row[4], &counter->step) ||
            !reply_integer(&row[5], &counter->max) || !reply_integer(&row[6], &counter->cache)) {
            return false;
        }
    }
    if (!copy_name(&values[1], next)) {
        return false;
    }
    *got = count;
    return true;
}

int idmint_counter_list(struct idmint *handle, const char *prefix, const char *after, size_t count,
                        struct idmint_counter *counters, size_t *got,
                        char next[IDMINT_NAME_MAX + 1])
{
    char digits[CALL_DIGITS];
    struct resp_arg args[8] = {{"COUNTER", 7}, {"LIST", 4}, {"COUNT", 5}};
    size_t argc = 4;
    struct idmint_result result;
    int outcome = handle_enter(handle);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    if (count < 1 || count > IDMINT_LIST_MAX || !counters || !got || !next) {
        return handle_fail(handle, IDMINT_ARGUMENT, "the count is out of range");
    }
    args[3] = call_number((int64_t)count, digits);
    if (prefix && *prefix) {
        args[argc++] = (struct resp_arg){"PREFIX", 6};
        args[argc++] = call_text(prefix);
    }
    if (after && *after) {
        args[argc++] = (struct resp_arg){"AFTER", 5};
        args[argc++] = call_text(after);
    }
    outcome = call_run(handle, REQUEST_COMMAND, true, 0, args, argc, &result);
    if (outcome == IDMINT_OK && !read_page(&result, count, counters, got, next)) {
        return call_misshapen(handle, true);
    }
    return outcome;
}

int idmint_counter_raise(struct idmint *handle, const char *name, int64_t value, int64_t *now)
{
    char digits[CALL_DIGITS];
    struct idmint_result result;
    int64_t raised;
    int outcome = enter_named(handle, name);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    const struct resp_arg args[] = {
        {"COUNTER", 7}, {"RAISE", 5}, call_text(name), call_number(value, digits)};
    outcome = call_run(handle, REQUEST_COMMAND, false, 0, args, 4, &result);
    if (outcome != IDMINT_OK) {
        return outcome;
    }
    if (result.value_count != 1 || !reply_integer(result.values, &raised)) {
        return call_misshapen(handle, false);
    }
    if (now) {
        *now = raised;
    }
    return IDMINT_OK;
}

int idmint_counter_reset(struct idmint *handle, const char *name, int64_t value)
{
    char digits[CALL_DIGITS];
    struct idmint_result result;
    int outcome = enter_named(handle, name);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    const struct resp_arg args[] = {
        {"COUNTER", 7}, {"RESET", 5}, call_text(name), call_number(value, digits), {"FORCE", 5}};
    return call_run(handle, REQUEST_COMMAND, false, 0, args, 5, &result);
}

int idmint_counter_drop(struct idmint *handle, const char *name)
{
    struct idmint_result result;
    int outcome = enter_named(handle, name);

    if (outcome != IDMINT_OK) {
        return outcome;
    }
    const struct resp_arg args[] = {{"COUNTER", 7}, {"DROP", 4}, call_text(name), {"FORCE", 5}};
    return call_run(handle, REQUEST_COMMAND, false, 0, args, 4, &result);
}
