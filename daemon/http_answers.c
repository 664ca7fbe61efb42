/* From a command's reply to status and JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "http_route.h"
#include "json_write.h"
#include "objectid.h"
#include "outcome.h"

static struct json write_to(struct http_response *response)
{
    return (struct json){&response->body, false};
}

static void put_string(struct json *json, const char *key, const char *text, size_t len)
{
    json_put_key(json, key);
    json_put_string(json, text, len);
}

static void put_integer(struct json *json, const char *key, int64_t value)
{
    json_put_key(json, key);
    json_put_integer(json, value);
}

static void put_name(struct json *json, const struct http_plan *plan)
{
    put_string(json, "name", plan->name, plan->name_len);
}

/* The same in quotes, for readers whose numbers are doubles. */
static void put_integer_text(struct json *json, const char *key, int64_t value)
{
    json_put_key(json, key);
    json_put_integer_text(json, value);
}

/* --- Reading --- */

static bool read_array(struct http_reply *reply, int64_t *count)
{
    struct resp_value value;
    if (!http_reply_next(reply, &value) || value.type != RESP_ARRAY)
        return false;
    *count = value.integer;
    return true;
}

static bool read_text(struct http_reply *reply, struct resp_value *value)
{
    return http_reply_next(reply, value) &&
           (value->type == RESP_BULK || value->type == RESP_SIMPLE);
}

/* Also from a string. */
static bool read_integer(struct http_reply *reply, int64_t *integer)
{
    struct resp_value value;
    if (!http_reply_next(reply, &value))
        return false;
    if (value.type == RESP_INTEGER) {
        *integer = value.integer;
        return true;
    }
    return value.type == RESP_BULK && resp_parse_integer(value.data, value.len, integer);
}

static bool text_is(const struct resp_value *value, const char *text)
{
    return value->len == strlen(text) && memcmp(value->data, text, value->len) == 0;
}

/* --- Values of counters --- */

HTTP_ANSWER(next)
{
    int64_t first, last, two;
    if (plan->count > 1) {
        if (!read_array(reply, &two) || two != 2 || !read_integer(reply, &first) ||
            !read_integer(reply, &last))
            return false;
    } else {
        if (!read_integer(reply, &first))
            return false;
        last = first;
    }
    struct json json = write_to(response);
    json_open(&json, '{');
    put_name(&json, plan);
    put_integer(&json, "first", first);
    put_integer(&json, "last", last);
    put_integer(&json, "count", plan->count);
    put_integer_text(&json, "first_str", first);
    put_integer_text(&json, "last_str", last);
    json_close(&json, '}');
    return true;
}

/* --- ObjectIds and UUIDs --- */

/* `line`: strings of text_bytes each, with a space between. In one piece: it may be long. */
static bool put_line(struct json *json, const char *key, const struct resp_value *line,
                     size_t count, size_t text_bytes)
{
    if (line->len + 1 != count * (text_bytes + 1))
        return false;
    json_put_key(json, key);
    json_open(json, '[');
    char *at = buffer_reserve(json->out, count * (text_bytes + 3));
    for (size_t i = 0; at != NULL && i < count; i++, at += text_bytes + 3) {
        at[0] = '"';
        memcpy(at + 1, line->data + i * (text_bytes + 1), text_bytes);
        at[text_bytes + 1] = '"';
        at[text_bytes + 2] = ',';
    }
    if (at != NULL)
        json->out->len += count * (text_bytes + 3) - 1; /* no comma after the last */
    json_close(json, ']');
    return true;
}

/* The id `count` - 1 after `first`. */
static bool last_of_range(const struct resp_value *first, int64_t count, char last[OBJECTID_HEX])
{
    uint8_t id[OBJECTID_BYTES];
    struct objectid_parts parts;
    if (!objectid_parse(first->data, first->len, id))
        return false;
    objectid_split(id, &parts);
    objectid_build(objectid_tick(id) + (uint64_t)count - 1, parts.random, id);
    objectid_hex(id, last);
    return true;
}

/* One id; or all of them on one line; or an array of the first and how many. */
HTTP_ANSWER(oids)
{
    struct resp_value first;
    struct http_reply all = *reply;
    char last[OBJECTID_HEX];
    int64_t count = plan->count;
    struct json json = write_to(response);
    if (!http_reply_next(reply, &first))
        return false;
    bool range = first.type == RESP_ARRAY;
    if (range && (!read_text(reply, &first) || !read_integer(reply, &count)))
        return false;
    if (!range && (!read_text(&all, &first) || first.len < OBJECTID_HEX))
        return false;
    json_open(&json, '{');
    if (!range && !put_line(&json, "ids", &first, (size_t)count, OBJECTID_HEX))
        return false;
    first.len = OBJECTID_HEX;
    if (!last_of_range(&first, count, last))
        return false;
    put_string(&json, "first", first.data, first.len);
    put_string(&json, "last", last, sizeof last);
    put_integer(&json, "count", count);
    json_close(&json, '}');
    return true;
}

HTTP_ANSWER(oid)
{
    struct resp_value id;
    if (!read_text(reply, &id))
        return false;
    struct json json = write_to(response);
    json_open(&json, '{');
    put_string(&json, "id", id.data, id.len);
    json_close(&json, '}');
    return true;
}

/* The fields of OID DECODE, in their order there. */
HTTP_ANSWER(oid_decoded)
{
    enum { SECONDS, TIME, RANDOM, COUNTER, MACHINE, PID, FIELDS };
    static const char *const names[FIELDS] = {"seconds", "time",           "random",
                                              "counter", "legacy_machine", "legacy_pid"};
    struct resp_value map, key, values[FIELDS];
    uint8_t bytes[OBJECTID_BYTES];
    char id[OBJECTID_HEX];
    if (!http_reply_next(reply, &map) || map.type != RESP_MAP || map.integer != FIELDS ||
        !objectid_parse(plan->name, plan->name_len, bytes))
        return false;
    for (size_t i = 0; i < FIELDS; i++)
        if (!read_text(reply, &key) || !text_is(&key, names[i]) || !read_text(reply, &values[i]))
            return false;
    int64_t seconds, counter, pid;
    if (!resp_parse_integer(values[SECONDS].data, values[SECONDS].len, &seconds) ||
        !resp_parse_integer(values[COUNTER].data, values[COUNTER].len, &counter) ||
        !resp_parse_integer(values[PID].data, values[PID].len, &pid))
        return false;
    objectid_hex(bytes, id);
    struct json json = write_to(response);
    json_open(&json, '{');
    put_string(&json, "id", id, sizeof id);
    put_string(&json, "time", values[TIME].data, values[TIME].len);
    put_integer(&json, "seconds", seconds);
    put_string(&json, "random", values[RANDOM].data, values[RANDOM].len);
    put_integer(&json, "counter", counter);
    json_put_key(&json, "legacy");
    json_open(&json, '{');
    put_string(&json, "machine", values[MACHINE].data, values[MACHINE].len);
    put_integer(&json, "pid", pid);
    json_close(&json, '}');
    json_close(&json, '}');
    return true;
}

HTTP_ANSWER(uuids)
{
    struct resp_value line;
    size_t count = (size_t)plan->count;
    struct json json = write_to(response);
    if (!read_text(reply, &line) || (line.len + 1) / count < 2)
        return false;
    json_open(&json, '{');
    if (!put_line(&json, "uuids", &line, count, (line.len + 1) / count - 1))
        return false;
    put_integer(&json, "count", plan->count);
    json_close(&json, '}');
    return true;
}

/* --- Counters --- */

enum { VALUE, START, STEP, MAX, CACHE, NUMBERS };

static void put_counter(struct json *json, const char *name, size_t name_len,
                        const int64_t numbers[NUMBERS])
{
    json_open(json, '{');
    put_string(json, "name", name, name_len);
    put_integer(json, "value", numbers[VALUE]);
    put_integer_text(json, "value_str", numbers[VALUE]);
    put_integer(json, "start", numbers[START]);
    put_integer_text(json, "start_str", numbers[START]);
    put_integer(json, "step", numbers[STEP]);
    put_integer_text(json, "step_str", numbers[STEP]);
    put_integer(json, "max", numbers[MAX]);
    put_integer_text(json, "max_str", numbers[MAX]);
    put_integer(json, "cache", numbers[CACHE]);
    json_close(json, '}');
}

HTTP_ANSWER(counters)
{
    int64_t parts, rows, fields, numbers[NUMBERS];
    struct resp_value next, name;
    if (!read_array(reply, &parts) || parts != 2 || !read_text(reply, &next) ||
        !read_array(reply, &rows))
        return false;
    struct json json = write_to(response);
    json_open(&json, '{');
    json_put_key(&json, "counters");
    json_open(&json, '[');
    for (int64_t row = 0; row < rows; row++) {
        if (!read_array(reply, &fields) || fields != 1 + NUMBERS || !read_text(reply, &name))
            return false;
        for (size_t i = 0; i < NUMBERS; i++)
            if (!read_integer(reply, &numbers[i]))
                return false;
        put_counter(&json, name.data, name.len, numbers);
    }
    json_close(&json, ']');
    json_put_key(&json, "next");
    if (next.len > 0)
        json_put_string(&json, next.data, next.len);
    else
        json_put_null(&json);
    json_close(&json, '}');
    return true;
}

/* RFC 9110 13.1.2, by the weak comparison: a list of tags, or "*" for any. */
static bool has_tag(const char *list, const char *tag)
{
    size_t len = strlen(tag);
    list += strspn(list, " \t");
    if (strcmp(list, "*") == 0)
        return true;
    while (*list != '\0') {
        list += strspn(list, " \t,");
        if (strncmp(list, "W/", 2) == 0)
            list += 2;
        if (strncmp(list, tag, len) == 0)
            return true;
        list += strcspn(list, ",");
    }
    return false;
}

/* The tag is a digest of the bytes (FNV-1a, 64 bits): equal bytes, equal tag, across restarts. */
static void tag_body(const struct http_plan *plan, struct http_response *response)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < response->body.len; i++)
        digest = (digest ^ (unsigned char)response->body.data[i]) * UINT64_C(0x100000001b3);
    snprintf(response->etag, sizeof response->etag, "\"%016" PRIx64 "\"", digest);
    if (!has_tag(plan->if_none_match, response->etag))
        return;
    response->status = 304;
    response->content_type = NULL;
    response->body.len = 0;
}

HTTP_ANSWER(counter)
{
    static const char *const names[NUMBERS] = {"value", "start", "step", "max", "cache"};
    struct resp_value map, key, value;
    int64_t numbers[NUMBERS] = {0};
    if (!http_reply_next(reply, &map) || map.type != RESP_MAP)
        return false;
    for (int64_t pair = 0; pair < map.integer; pair++) {
        if (!read_text(reply, &key) || !read_text(reply, &value))
            return false;
        for (size_t i = 0; i < NUMBERS; i++)
            if (text_is(&key, names[i]) && !resp_parse_integer(value.data, value.len, &numbers[i]))
                return false;
    }
    struct json json = write_to(response);
    put_counter(&json, plan->name, plan->name_len, numbers);
    tag_body(plan, response);
    return true;
}

/* Where the counter is: its name percent-encoded but for what RFC 3986 calls unreserved. */
static void locate(const struct http_plan *plan, struct http_response *response)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    size_t at = (size_t)snprintf(response->location, sizeof response->location, "/v1/counters/");
    for (size_t i = 0; i < plan->name_len && at + 4 <= sizeof response->location; i++) {
        unsigned char c = (unsigned char)plan->name[i];
        bool as_is = memchr(plain, c, sizeof plain - 1) != NULL;
        at += (size_t)snprintf(response->location + at, sizeof response->location - at,
                               as_is ? "%c" : "%%%02X", c);
    }
}

/* A counter that is there as asked for: perhaps the same request came before. */
bool http_is_created(const struct resp_value *error)
{
    return text_is(error, "ERR " OUTCOME_EXISTS);
}

HTTP_ANSWER(created)
{
    struct resp_value ok;
    if (!http_reply_next(reply, &ok))
        return false;
    bool created = ok.type == RESP_SIMPLE;
    if (!created && !http_is_created(&ok))
        return false;
    if (created) {
        response->status = 201;
        locate(plan, response);
    }
    struct json json = write_to(response);
    json_open(&json, '{');
    put_name(&json, plan);
    json_put_key(&json, "created");
    json_put_boolean(&json, created);
    json_close(&json, '}');
    return true;
}

/* RAISE and SYNC tell where the counter stands; RESET says OK: it stands where it was told to. */
HTTP_ANSWER(moved)
{
    struct resp_value value;
    int64_t number = plan->count;
    if (!read_text(reply, &value))
        return false;
    if (value.type == RESP_BULK && !resp_parse_integer(value.data, value.len, &number))
        return false;
    struct json json = write_to(response);
    json_open(&json, '{');
    put_name(&json, plan);
    put_integer(&json, "value", number);
    put_integer_text(&json, "value_str", number);
    json_close(&json, '}');
    return true;
}

HTTP_ANSWER(dropped)
{
    struct resp_value ok;
    response->status = 204;
    response->content_type = NULL;
    return read_text(reply, &ok);
}

/* --- INFO --- */

/* "# Title" opens a section. */
static void open_section(struct json *json, const char *title, size_t len, bool first)
{
    char key[32];
    size_t at = 0;
    for (; at < len && at < sizeof key - 1; at++)
        key[at] = title[at] >= 'A' && title[at] <= 'Z' ? (char)(title[at] - 'A' + 'a') : title[at];
    key[at] = '\0';
    if (!first)
        json_close(json, '}');
    json_put_key(json, key);
    json_open(json, '{');
}

/* "field:value": a number where it reads as one. */
static void put_field(struct json *json, const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len);
    char key[64];
    int64_t number;
    if (colon == NULL || (size_t)(colon - line) >= sizeof key)
        return;
    memcpy(key, line, (size_t)(colon - line));
    key[colon - line] = '\0';
    size_t value_len = len - (size_t)(colon - line) - 1;
    if (resp_parse_integer(colon + 1, value_len, &number))
        put_integer(json, key, number);
    else
        put_string(json, key, colon + 1, value_len);
}

HTTP_ANSWER(info)
{
    struct resp_value text;
    bool in_section = false;
    if (!read_text(reply, &text))
        return false;
    struct json json = write_to(response);
    json_open(&json, '{');
    for (const char *at = text.data, *end = text.data + text.len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((stop != NULL ? stop : end) - at);
        size_t bare = len > 0 && at[len - 1] == '\r' ? len - 1 : len;
        if (bare > 2 && at[0] == '#') {
            open_section(&json, at + 2, bare - 2, !in_section);
            in_section = true;
        } else if (in_section) {
            put_field(&json, at, bare);
        }
        at += len + (stop != NULL);
    }
    if (in_section)
        json_close(&json, '}');
    json_close(&json, '}');
    return true;
}
