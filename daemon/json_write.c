#include "json_write.h"

#include <stdio.h>
#include <string.h>

#include "resp.h"
#include "utf8.h"

static void put(struct json *json, const char *text)
{
    buffer_append(json->out, text, strlen(text));
}

static void separate(struct json *json)
{
    if (json->follows)
        buffer_append(json->out, ",", 1);
    json->follows = true;
}

void json_open(struct json *json, char bracket)
{
    separate(json);
    buffer_append(json->out, &bracket, 1);
    json->follows = false;
}

void json_close(struct json *json, char bracket)
{
    buffer_append(json->out, &bracket, 1);
    json->follows = true;
}

static bool is_plain(char c)
{
    return c >= ' ' && c < 0x7F && c != '"' && c != '\\';
}

/* What is not plain, at text[0 .. len): escaped, or copied. Returns how many bytes it was. */
static size_t put_special(struct json *json, const char *text, size_t len)
{
    char escape[8];
    uint32_t point;
    size_t size = 1;
    if (text[0] == '"' || text[0] == '\\') {
        snprintf(escape, sizeof escape, "\\%c", text[0]);
        put(json, escape);
    } else if ((unsigned char)text[0] < ' ' || text[0] == 0x7F) {
        snprintf(escape, sizeof escape, "\\u%04x", (unsigned)text[0]);
        put(json, escape);
    } else if ((size = utf8_read_wide(text, len, &point)) > 0) {
        buffer_append(json->out, text, size);
    } else {
        put(json, "\xEF\xBF\xBD");
        size = 1;
    }
    return size;
}

void json_put_string(struct json *json, const char *text, size_t len)
{
    separate(json);
    buffer_append(json->out, "\"", 1);
    for (size_t i = 0; i < len;) {
        size_t plain = i;
        while (plain < len && is_plain(text[plain]))
            plain++;
        buffer_append(json->out, text + i, plain - i);
        i = plain;
        if (i < len)
            i += put_special(json, text + i, len - i);
    }
    buffer_append(json->out, "\"", 1);
}

void json_put_text(struct json *json, const char *text)
{
    json_put_string(json, text, strlen(text));
}

void json_put_key(struct json *json, const char *key)
{
    json_put_text(json, key);
    put(json, ":");
    json->follows = false;
}

void json_put_integer(struct json *json, int64_t value)
{
    char digits[20];
    size_t len = resp_format_integer(digits, value);
    separate(json);
    buffer_append(json->out, digits, len);
}

void json_put_integer_text(struct json *json, int64_t value)
{
    char digits[20];
    size_t len = resp_format_integer(digits, value);
    json_put_string(json, digits, len);
}

void json_put_null(struct json *json)
{
    separate(json);
    put(json, "null");
}

void json_put_boolean(struct json *json, bool value)
{
    separate(json);
    put(json, value ? "true" : "false");
}
