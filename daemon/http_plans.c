/* From a request's name and input to a command. */
#include <inttypes.h>
#include <string.h>

#include "http_route.h"
#include "limit.h"
#include "name.h"
#include "objectid.h"

/* --- Arguments --- */

static void add(struct http_plan *plan, const char *data, size_t len)
{
    plan->args[plan->argc++] = (struct resp_arg){data, len};
}

/* A word of ours. */
static void add_word(struct http_plan *plan, const char *word)
{
    add(plan, word, strlen(word));
}

/* Text of the request's: copied, as the request's bytes do not last. What the fields allow fits. */
static void add_text(struct http_plan *plan, const char *text, size_t len)
{
    char *at = plan->text + plan->text_len;
    if (len > sizeof plan->text - plan->text_len)
        len = 0;
    memcpy(at, text, len);
    plan->text_len += len;
    add(plan, at, len);
}

static void add_integer(struct http_plan *plan, int64_t value)
{
    char digits[20];
    size_t len = resp_format_integer(digits, value);
    add_text(plan, digits, len);
}

/* The name that stands in the path or was put in the plan. */
static bool add_name(struct http_plan *plan, struct http_response *response)
{
    const char *why = name_check(plan->name, plan->name_len);
    if (why != NULL)
        return http_refuse(response, "invalid counter name: %s", why);
    add(plan, plan->name, plan->name_len);
    return true;
}

static void set_name(struct http_plan *plan, const struct http_value *value)
{
    plan->name_len = value->text_len;
    memcpy(plan->name, value->text, value->text_len);
}

static int64_t integer_or(const struct http_value *value, int64_t otherwise)
{
    return value->given ? value->integer : otherwise;
}

static bool is_true(const struct http_value *value)
{
    return value->given && value->integer != 0;
}

/* --- Values of counters --- */

const struct http_field http_fields_count[] = {
    {"count", HTTP_FIELD_INTEGER, 1, LIMIT_COUNTER_RANGE},
    {.name = NULL},
};

const struct http_field http_fields_next_named[] = {
    {"count", HTTP_FIELD_INTEGER, 1, LIMIT_COUNTER_RANGE},
    {"name", HTTP_FIELD_TEXT, 1, LIMIT_NAME_BYTES},
    {.name = NULL},
};

HTTP_PLAN(next)
{
    add_word(plan, "NEXT");
    if (!add_name(plan, response))
        return false;
    plan->count = integer_or(&input->values[0], 1);
    if (plan->count > 1)
        add_integer(plan, plan->count);
    return true;
}

HTTP_PLAN(next_named)
{
    if (!input->values[1].given)
        return http_refuse(response, "name is missing");
    set_name(plan, &input->values[1]);
    return http_plan_next(plan, input, response);
}

/* --- ObjectIds and UUIDs --- */

const struct http_field http_fields_oids[] = {
    {"count", HTTP_FIELD_INTEGER, 1, LIMIT_RANGE},
    {"range", HTTP_FIELD_BOOLEAN, 0, 0},
    {.name = NULL},
};

HTTP_PLAN(oids)
{
    bool range = is_true(&input->values[1]);
    plan->count = integer_or(&input->values[0], 1);
    if (!range && plan->count > LIMIT_BATCH)
        return http_refuse(response,
                           "count must be 1 to %d, or to %d with \"range\": true, which gives the "
                           "first and the last",
                           LIMIT_BATCH, LIMIT_RANGE);
    add_word(plan, "OID");
    if (range)
        add_word(plan, "RANGE");
    if (range || plan->count > 1)
        add_integer(plan, plan->count);
    if (!range && plan->count > 1)
        add_word(plan, "LINE");
    return true;
}

HTTP_PLAN(oid_decode)
{
    if (plan->name_len != OBJECTID_HEX)
        return http_refuse(response, "an ObjectId is %d hex digits", OBJECTID_HEX);
    add_word(plan, "OID");
    add_word(plan, "DECODE");
    add(plan, plan->name, plan->name_len);
    return true;
}

const struct http_field http_fields_oid_at[] = {
    {"at", HTTP_FIELD_TEXT, 1, 64},
    {.name = NULL},
};

HTTP_PLAN(oid_at)
{
    if (!input->values[0].given)
        return http_refuse(response, "at is missing: ?at=TIME (unix seconds or RFC 3339) gives the "
                                     "lowest id of that second; POST issues ids");
    add_word(plan, "OID");
    add_word(plan, "AT");
    add_text(plan, input->values[0].text, input->values[0].text_len);
    return true;
}

const struct http_field http_fields_uuids[] = {
    {"count", HTTP_FIELD_INTEGER, 1, LIMIT_BATCH},
    {"version", HTTP_FIELD_INTEGER, 4, 7},
    {"plain", HTTP_FIELD_BOOLEAN, 0, 0},
    {.name = NULL},
};

HTTP_PLAN(uuids)
{
    int64_t version = integer_or(&input->values[1], 4);
    if (version != 4 && version != 7)
        return http_refuse(response, "version must be 4 or 7");
    plan->count = integer_or(&input->values[0], 1);
    add_word(plan, "UUID");
    add_word(plan, version == 7 ? "V7" : "V4");
    add_integer(plan, plan->count);
    if (is_true(&input->values[2]))
        add_word(plan, "PLAIN");
    add_word(plan, "LINE");
    return true;
}

/* --- Counters --- */

const struct http_field http_fields_counters[] = {
    {"prefix", HTTP_FIELD_TEXT, 0, LIMIT_NAME_BYTES},
    {"after", HTTP_FIELD_TEXT, 0, LIMIT_NAME_BYTES},
    {"limit", HTTP_FIELD_INTEGER, 1, LIMIT_LIST_PAGE},
    {.name = NULL},
};

/* Names may begin with dots, and empty says nothing: else as a name. */
static const char *part_of_name_check(const struct http_value *value)
{
    size_t dots = 0;
    while (dots < value->text_len && dots < 2 && value->text[dots] == '.')
        dots++;
    return dots == value->text_len ? NULL : name_check(value->text, value->text_len);
}

HTTP_PLAN(counters)
{
    static const char *const words[] = {"PREFIX", "AFTER"};
    add_word(plan, "COUNTER");
    add_word(plan, "LIST");
    for (size_t i = 0; i < 2; i++) {
        const struct http_value *value = &input->values[i];
        const char *why = value->given ? part_of_name_check(value) : NULL;
        if (why != NULL)
            return http_refuse(response, "invalid %s: %s", http_fields_counters[i].name, why);
        if (!value->given || value->text_len == 0)
            continue;
        add_word(plan, words[i]);
        if (i == 0) {
            set_name(plan, value);
            add(plan, plan->name, plan->name_len);
        } else {
            add_text(plan, value->text, value->text_len);
        }
    }
    if (input->values[2].given) {
        add_word(plan, "COUNT");
        add_integer(plan, input->values[2].integer);
    }
    return true;
}

HTTP_PLAN(counter)
{
    add_word(plan, "COUNTER");
    add_word(plan, "INFO");
    return add_name(plan, response);
}

/* Bounds beyond int64's are the command's to check: they hang together. */
const struct http_field http_fields_create[] = {
    {"start", HTTP_FIELD_INTEGER, INT64_MIN, INT64_MAX},
    {"step", HTTP_FIELD_INTEGER, INT64_MIN, INT64_MAX},
    {"max", HTTP_FIELD_INTEGER, INT64_MIN, INT64_MAX},
    {"cache", HTTP_FIELD_INTEGER, INT64_MIN, INT64_MAX},
    {"value", HTTP_FIELD_INTEGER, INT64_MIN, INT64_MAX},
    {.name = NULL},
};

HTTP_PLAN(counter_create)
{
    static const char *const words[] = {"START", "STEP", "MAX", "CACHE", "VALUE"};
    add_word(plan, "COUNTER");
    add_word(plan, "CREATE");
    if (!add_name(plan, response))
        return false;
    for (size_t i = 0; i < 5; i++) {
        if (!input->values[i].given)
            continue;
        add_word(plan, words[i]);
        add_integer(plan, input->values[i].integer);
    }
    return true;
}

const struct http_field http_fields_move[] = {
    {"raise", HTTP_FIELD_INTEGER, INT64_MIN, INT64_MAX},
    {"reset", HTTP_FIELD_INTEGER, INT64_MIN, INT64_MAX},
    {"sync", HTTP_FIELD_OBJECT, 0, 0},
    {"force", HTTP_FIELD_BOOLEAN, 0, 0},
    {.name = NULL},
};

static const struct http_field sync_fields[] = {
    {"collection", HTTP_FIELD_TEXT, 1, LIMIT_NAME_BYTES},
    {"field", HTTP_FIELD_TEXT, 1, LIMIT_NAME_BYTES},
    {.name = NULL},
};

static bool plan_sync(struct http_plan *plan, const json_t *sync, struct http_response *response)
{
    struct http_value values[2];
    if (!http_input_object(sync, sync_fields, values, response))
        return false;
    if (!values[0].given || !values[1].given)
        return http_refuse(response, "sync takes {\"collection\": \"database.collection\", "
                                     "\"field\": \"field\"}");
    add_word(plan, "SYNC");
    if (!add_name(plan, response))
        return false;
    add_text(plan, values[0].text, values[0].text_len);
    add_text(plan, values[1].text, values[1].text_len);
    return true;
}

static bool plan_to(struct http_plan *plan, const char *verb, int64_t value,
                    struct http_response *response)
{
    add_word(plan, verb);
    plan->count = value;
    if (!add_name(plan, response))
        return false;
    add_integer(plan, value);
    return true;
}

HTTP_PLAN(counter_move)
{
    const struct http_value *raise = &input->values[0], *reset = &input->values[1],
                            *sync = &input->values[2], *force = &input->values[3];
    bool has_body = input->body != NULL;
    add_word(plan, "COUNTER");
    if (!has_body || raise->given + reset->given + sync->given != 1)
        return http_refuse(response, "exactly one of raise, reset and sync is to be given");
    if (reset->given && !is_true(force))
        return http_refuse(response, "reset makes values be issued again: add \"force\": true if "
                                     "you mean it");
    if (!reset->given && force->given)
        return http_refuse(response, "force goes with reset alone");
    if (sync->given)
        return plan_sync(plan, sync->object, response);
    if (raise->given)
        return plan_to(plan, "RAISE", raise->integer, response);
    if (!plan_to(plan, "RESET", reset->integer, response))
        return false;
    add_word(plan, "FORCE");
    return true;
}

const struct http_field http_fields_drop[] = {
    {"force", HTTP_FIELD_BOOLEAN, 0, 0},
    {.name = NULL},
};

HTTP_PLAN(counter_drop)
{
    if (!is_true(&input->values[0]))
        return http_refuse(response, "a dropped counter starts over, and its values are issued "
                                     "again: add ?force=true if you mean it");
    add_word(plan, "COUNTER");
    add_word(plan, "DROP");
    if (!add_name(plan, response))
        return false;
    add_word(plan, "FORCE");
    return true;
}

HTTP_PLAN(info)
{
    add_word(plan, "INFO");
    return true;
}
