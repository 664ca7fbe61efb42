/* ping, info */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "output.h"

static int run_ping(struct command_context *context)
{
    int code = output_outcome(context, idmint_ping(context->handle), "ping");

    if (code != EXIT_DONE) {
        return code;
    }
    if (context->json) {
        return output_json(json_pack("{s:b}", "pong", 1));
    }
    return puts("PONG") == EOF ? EXIT_LOCAL : EXIT_DONE;
}

/* The lines "field:value" as one object; others are headings. */
static json_t *info_json(const char *text, size_t len)
{
    json_t *object = json_object();

    while (object && len > 0) {
        const char *end = memchr(text, '\n', len);
        const size_t line = end ? (size_t)(end - text) : len;
        const size_t bytes = line > 0 && text[line - 1] == '\r' ? line - 1 : line;
        const char *colon = memchr(text, ':', bytes);

        if (colon && *text != '#') {
            char field[64];

            snprintf(field, sizeof(field), "%.*s", (int)(colon - text), text);
            /* A value that is no UTF-8 is left out. */
            (void)json_object_set_new(object, field,
                                      json_stringn(colon + 1, (size_t)(text + bytes - colon) - 1));
        }
        text += end ? line + 1 : line;
        len -= end ? line + 1 : line;
    }
    return object;
}

static int run_info(struct command_context *context)
{
    const char *args[2] = {"INFO"};
    const struct idmint_value *values;
    size_t value_count;
    int code;

    if (context->arg_count > 0) {
        args[1] = context->args[0];
    }
    code = output_outcome(
        context,
        idmint_command(context->handle, 1 + context->arg_count, args, NULL, &values, &value_count),
        "info");
    if (code != EXIT_DONE) {
        return code;
    }
    if (value_count != 1 || values[0].type != IDMINT_STRING) {
        output_error("info: the reply is no string");
        return EXIT_LOCAL;
    }
    if (context->json) {
        return output_json(info_json(values[0].data, values[0].len));
    }
    for (size_t i = 0; i < values[0].len; i++) {
        if (values[0].data[i] != '\r') {
            putchar(values[0].data[i]);
        }
    }
    return EXIT_DONE;
}

const struct command server_commands[] = {
    {"ping", "", "", "Ask the daemon whether it is there",
     "Serves as a health check: exits with 0 only where it answered.", 0, 0, false, NULL, run_ping},
    {"info", "", "[SECTION]", "Show how the daemon is doing", "", 0, 1, false, NULL, run_info},
    {NULL, NULL, NULL, NULL, NULL, 0, 0, false, NULL, NULL},
};
