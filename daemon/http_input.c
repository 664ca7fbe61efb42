/* What a request brings along: the members of its JSON body, or the parameters of its query. */
#include <stdio.h>
#include <string.h>

#include "http_route.h"

/* Objects and arrays within each other: more than any body here has. */
#define DEEPEST 4

/* --- Percent-encoding (RFC 3986) --- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool http_escapes_ok(struct http_text text)
{
    if (text.len == 0)
        return true;
    const char *end = text.data + text.len, *at = text.data;
    while (at < end && (at = memchr(at, '%', (size_t)(end - at))) != NULL) {
        if (end - at < 3 || hex_digit(at[1]) < 0 || hex_digit(at[2]) < 0)
            return false;
        at += 3;
    }
    return true;
}

size_t http_decode(struct http_text text, char *out, size_t most)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; len++) {
        if (len == most)
            return most + 1;
        const char *at = text.data + i;
        bool escape = *at == '%';
        out[len] = escape ? (char)(hex_digit(at[1]) * 16 + hex_digit(at[2])) : *at;
        i += escape ? 3 : 1;
    }
    return len;
}

/* --- Fields --- */

static size_t find_field(const struct http_field *fields, const char *name, size_t len)
{
    size_t i = 0;
    while (fields[i].name != NULL &&
           (strlen(fields[i].name) != len || memcmp(fields[i].name, name, len) != 0))
        i++;
    return i;
}

/* "unknown member 'x'; there are: count, range" */
static bool refuse_unknown(struct http_response *response, const struct http_field *fields,
                           const char *what, const char *name, size_t len)
{
    char known[128];
    int at = 0;
    known[0] = '\0';
    for (size_t i = 0; fields[i].name != NULL && at < (int)sizeof known; i++)
        at += snprintf(known + at, sizeof known - (size_t)at, "%s%s", i > 0 ? ", " : "",
                       fields[i].name);
    return http_refuse(response, "unknown %s '%.*s'; there are: %s", what,
                       (int)(len < 64 ? len : 64), name, at > 0 ? known : "none");
}

static bool take_integer(const struct http_field *field, int64_t number, struct http_value *value,
                         struct http_response *response)
{
    if (number < field->least || number > field->most)
        return http_refuse(response, "%s must be %lld to %lld", field->name,
                           (long long)field->least, (long long)field->most);
    value->integer = number;
    return true;
}

static bool take_text(const struct http_field *field, const char *text, size_t len,
                      struct http_value *value, struct http_response *response)
{
    if ((int64_t)len < field->least)
        return http_refuse(response, "%s must not be empty", field->name);
    if ((int64_t)len > field->most)
        return http_refuse(response, "%s has at most %lld bytes", field->name,
                           (long long)field->most);
    value->text = text;
    value->text_len = len;
    return true;
}

/* --- JSON --- */

static bool take_json_integer(const struct http_field *field, const json_t *json,
                              struct http_value *value, struct http_response *response)
{
    int64_t number = 0;
    if (json_is_integer(json))
        number = json_integer_value(json);
    else if (!json_is_string(json) ||
             !resp_parse_integer(json_string_value(json), json_string_length(json), &number))
        return http_refuse(response, "%s must be an integer of 64 bits, or a string of its digits",
                           field->name);
    return take_integer(field, number, value, response);
}

static bool take_json(const struct http_field *field, const json_t *json, struct http_value *value,
                      struct http_response *response)
{
    value->given = true;
    switch (field->kind) {
    case HTTP_FIELD_INTEGER:
        return take_json_integer(field, json, value, response);
    case HTTP_FIELD_BOOLEAN:
        value->integer = json_is_true(json);
        return json_is_boolean(json) ||
               http_refuse(response, "%s must be true or false", field->name);
    case HTTP_FIELD_TEXT:
        if (!json_is_string(json))
            return http_refuse(response, "%s must be a string", field->name);
        return take_text(field, json_string_value(json), json_string_length(json), value, response);
    case HTTP_FIELD_OBJECT:
        value->object = json;
        return json_is_object(json) || http_refuse(response, "%s must be an object", field->name);
    }
    return false;
}

bool http_input_object(const json_t *object, const struct http_field *fields,
                       struct http_value *values, struct http_response *response)
{
    const char *key;
    size_t key_len;
    json_t *member;
    for (size_t i = 0; fields[i].name != NULL; i++)
        values[i].given = false;
    /* The cast takes a const away that the macro does not need. */
    json_object_keylen_foreach((json_t *)object, key, key_len, member)
    {
        size_t i = find_field(fields, key, key_len);
        if (fields[i].name == NULL)
            return refuse_unknown(response, fields, "member", key, key_len);
        if (!take_json(&fields[i], member, &values[i], response))
            return false;
    }
    return true;
}

/* The parser calls itself for each level: their number is bounded before it starts. */
static bool is_shallow(struct http_text body)
{
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < body.len; i++) {
        char c = body.data[i];
        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '['))
            depth++;
        else if (!in_string && (c == '}' || c == ']'))
            depth--;
        if (depth > DEEPEST)
            return false;
    }
    return true;
}

static bool read_body(struct http_text body, const struct http_field *fields,
                      struct http_input *input, struct http_response *response)
{
    json_error_t error;
    if (!is_shallow(body))
        return http_refuse(response, "invalid JSON: more than %d levels", DEEPEST);
    input->body = json_loadb(body.data, body.len, JSON_REJECT_DUPLICATES, &error);
    if (input->body == NULL && json_error_code(&error) == json_error_out_of_memory) {
        http_problem(response, 503, ERROR_TRYAGAIN, "out of memory", 13);
        return false;
    }
    if (input->body == NULL && json_error_code(&error) == json_error_numeric_overflow)
        return http_refuse(response, "a number is out of range: integers have 64 bits, with sign");
    if (input->body == NULL && (json_error_code(&error) == json_error_null_character ||
                                json_error_code(&error) == json_error_null_byte_in_key))
        return http_refuse(response,
                           "invalid JSON: \\u0000 may not stand in a name or string here");
    if (input->body == NULL)
        return http_refuse(response, "invalid JSON: %s (line %d, column %d)", error.text,
                           error.line, error.column);
    if (!json_is_object(input->body))
        return http_refuse(response, "the body must be a JSON object");
    return http_input_object(input->body, fields, input->values, response);
}

/* Parameters of the media type say nothing here. */
static bool is_json_type(struct http_text type)
{
    static const char json[] = "application/json";
    size_t len = 0;
    while (len < type.len && strchr("; \t", type.data[len]) == NULL)
        len++;
    return len == sizeof json - 1 && strncasecmp(type.data, json, len) == 0;
}

/* --- Query --- */

static bool take_query(const struct http_field *field, const char *text, size_t len,
                       struct http_value *value, struct http_response *response)
{
    int64_t number;
    if (field->kind == HTTP_FIELD_TEXT)
        return take_text(field, text, len, value, response);
    if (field->kind == HTTP_FIELD_INTEGER) {
        if (!resp_parse_integer(text, len, &number))
            return http_refuse(response, "%s must be an integer", field->name);
        return take_integer(field, number, value, response);
    }
    value->integer = len == 4 && memcmp(text, "true", 4) == 0;
    return value->integer || (len == 5 && memcmp(text, "false", 5) == 0) ||
           http_refuse(response, "%s must be true or false", field->name);
}

/* One "name=value", still encoded. A plus sign stands for itself. */
static bool read_parameter(struct http_text part, const struct http_field *fields,
                           struct http_input *input, struct http_response *response)
{
    char name[32];
    const char *equals = memchr(part.data, '=', part.len);
    struct http_text key = {part.data, equals != NULL ? (size_t)(equals - part.data) : part.len};
    struct http_text text = {part.data + part.len, 0};
    if (equals != NULL)
        text = (struct http_text){equals + 1, part.len - key.len - 1};
    size_t name_len = http_decode(key, name, sizeof name);
    size_t i = find_field(fields, name, name_len);
    if (fields[i].name == NULL)
        return refuse_unknown(response, fields, "parameter", key.data, key.len);
    struct http_value *value = &input->values[i];
    if (value->given)
        return http_refuse(response, "%s stands twice in the query", fields[i].name);
    value->given = true;
    size_t len = http_decode(text, input->texts[i], HTTP_TEXT_BYTES);
    return take_query(&fields[i], input->texts[i], len, value, response);
}

static bool read_query(struct http_text query, const struct http_field *fields,
                       struct http_input *input, struct http_response *response)
{
    const char *at = query.data, *end = query.data + query.len;
    while (at < end) {
        const char *stop = memchr(at, '&', (size_t)(end - at));
        if (stop == NULL)
            stop = end;
        if (!read_parameter((struct http_text){at, (size_t)(stop - at)}, fields, input, response))
            return false;
        at = stop + 1;
    }
    return true;
}

/* --- Both --- */

bool http_input_read(const struct http_route *route, const struct http_request *request,
                     struct http_input *input, struct http_response *response)
{
    static const struct http_field none[] = {{.name = NULL}};
    const struct http_field *fields = route->fields != NULL ? route->fields : none;
    bool takes_body = route->method != HTTP_METHOD_GET && route->method != HTTP_METHOD_DELETE;
    input->body = NULL;
    for (size_t i = 0; fields[i].name != NULL; i++)
        input->values[i].given = false;
    if (!http_escapes_ok(request->query))
        return http_refuse(response, "the query is not percent-encoded as it should be");
    if (request->query.len > 0 &&
        !read_query(request->query, route->in_query ? fields : none, input, response))
        return false;
    if (request->body.len == 0)
        return true;
    if (!takes_body)
        return http_refuse(response, "this request takes no body");
    if (request->content_type.len > 0 && !is_json_type(request->content_type)) {
        static const char why[] = "the body must be application/json";
        http_problem(response, 415, ERROR_NONE, why, sizeof why - 1);
        return false;
    }
    return read_body(request->body, fields, input, response);
}

void http_input_finish(struct http_input *input)
{
    json_decref(input->body);
}
