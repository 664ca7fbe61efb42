/* uuid */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "output.h"

#define PIECE 10000
#define UUIDS_MOST 1000000000

static int print_uuid(const struct command_context *context, const struct idmint_uuid *uuid)
{
    char text[IDMINT_UUID_TEXT];

    idmint_uuid_text(uuid, text);
    if (options_value(context, "plain")) {
        size_t to = 0;

        for (size_t from = 0; text[from]; from++) {
            if (text[from] != '-') {
                text[to++] = text[from];
            }
        }
        text[to] = '\0';
    }
    if (context->json) {
        return output_json(json_pack("{s:s}", "uuid", text));
    }
    return puts(text) == EOF ? EXIT_LOCAL : EXIT_DONE;
}

static int run_uuid(struct command_context *context)
{
    static struct idmint_uuid uuids[PIECE];
    const int version = options_value(context, "v7") ? 7 : 4;
    int64_t left = 1;
    int code = EXIT_DONE;

    if (!options_arg_integer(context, 0, "the count", 1, UUIDS_MOST, &left)) {
        return EXIT_USAGE;
    }
    if (version == 7 && options_value(context, "v4")) {
        output_error("give --v4 or --v7, not both");
        return EXIT_USAGE;
    }
    while (left > 0 && code == EXIT_DONE) {
        const size_t piece = left < PIECE ? (size_t)left : PIECE;
        size_t got;
        int asked = idmint_uuids(context->handle, version, piece, uuids, &got);

        for (size_t i = 0; i < got && code == EXIT_DONE; i++) {
            code = print_uuid(context, &uuids[i]);
        }
        if (asked != IDMINT_OK) {
            return output_outcome(context, asked, "uuid");
        }
        left -= (int64_t)piece;
    }
    return code;
}

static const struct command_option uuid_options[] = {
    {"v4", NULL, "random (the default)"},
    {"v7", NULL, "by time, in strict issue order"},
    {"plain", NULL, "32 hex digits without dashes"},
    {NULL, NULL, NULL},
};

const struct command uuid_commands[] = {
    {"uuid", "", "[N]", "Take one UUID, or N of them", "One a line. N: 1 to 1000000000.", 0, 1,
     false, uuid_options, run_uuid},
    {NULL, NULL, NULL, NULL, NULL, 0, 0, false, NULL, NULL},
};
