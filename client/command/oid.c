/* oid, decode, at */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "output.h"

#define PIECE 10000
#define OIDS_MOST 1000000000

static int print_oid(const struct command_context *context, const struct idmint_oid *id)
{
    char text[IDMINT_OID_TEXT];

    idmint_oid_text(id, text);
    if (context->json) {
        return output_json(json_pack("{s:s}", "oid", text));
    }
    return puts(text) == EOF ? EXIT_LOCAL : EXIT_DONE;
}

static int oid_range(struct command_context *context, int64_t count)
{
    struct idmint_oid first, last;
    char first_text[IDMINT_OID_TEXT], last_text[IDMINT_OID_TEXT];
    int code =
        output_outcome(context, idmint_oid_range(context->handle, (uint32_t)count, &first), "oid");

    if (code != EXIT_DONE) {
        return code;
    }
    if (idmint_oid_expand(&first, (uint64_t)count - 1, 1, &last) != IDMINT_OK) {
        output_error("the range passes the end of the format");
        return EXIT_LOCAL;
    }
    idmint_oid_text(&first, first_text);
    idmint_oid_text(&last, last_text);
    if (context->json) {
        return output_json(json_pack("{s:s,s:s,s:I}", "first", first_text, "last", last_text,
                                     "count", (json_int_t)count));
    }
    printf("%s %s\n", first_text, last_text);
    return EXIT_DONE;
}

static int run_oid(struct command_context *context)
{
    static struct idmint_oid ids[PIECE];
    int64_t left = 1, range = 0;
    int code = EXIT_DONE;

    if (!options_arg_integer(context, 0, "the count", 1, OIDS_MOST, &left) ||
        !options_value_integer(context, "range", 1, IDMINT_RANGE_MAX, &range)) {
        return EXIT_USAGE;
    }
    if (range > 0) {
        if (context->arg_count > 0) {
            output_error("give a count or --range, not both");
            return EXIT_USAGE;
        }
        return oid_range(context, range);
    }
    while (left > 0 && code == EXIT_DONE) {
        const size_t piece = left < PIECE ? (size_t)left : PIECE;
        size_t got;
        int asked = idmint_oids(context->handle, piece, ids, &got);

        for (size_t i = 0; i < got && code == EXIT_DONE; i++) {
            code = print_oid(context, &ids[i]);
        }
        if (asked != IDMINT_OK) {
            return output_outcome(context, asked, "oid");
        }
        left -= (int64_t)piece;
    }
    return code;
}

static int run_decode(struct command_context *context)
{
    for (size_t i = 0; i < context->arg_count; i++) {
        struct idmint_oid_parts parts;
        struct idmint_oid id;
        char text[IDMINT_OID_TEXT], time[IDMINT_TIME_TEXT], random[11], machine[9];
        int code = EXIT_DONE;

        if (idmint_oid_parse(context->args[i], &id) != IDMINT_OK) {
            output_error("'%s' is no ObjectId: 24 hex digits", context->args[i]);
            return EXIT_USAGE;
        }
        idmint_oid_decode(&id, &parts);
        idmint_oid_text(&id, text);
        idmint_time_text(parts.seconds, time);
        memcpy(random, text + 8, 10);
        random[10] = '\0';
        snprintf(machine, sizeof(machine), "%06" PRIx32, parts.legacy_machine);
        if (context->json) {
            code = output_json(json_pack("{s:s,s:s,s:I,s:s,s:I,s:s,s:I}", "oid", text, "time", time,
                                         "seconds", (json_int_t)parts.seconds, "random", random,
                                         "counter", (json_int_t)parts.counter, "legacy_machine",
                                         machine, "legacy_pid", (json_int_t)parts.legacy_pid));
        } else {
            printf("oid %s\ntime %s\nseconds %" PRIu32 "\nrandom %s\ncounter %" PRIu32
                   "\nlegacy_machine %s\nlegacy_pid %" PRIu16 "\n",
                   text, time, parts.seconds, random, parts.counter, machine, parts.legacy_pid);
        }
        if (code != EXIT_DONE) {
            return code;
        }
    }
    return EXIT_DONE;
}

static int run_at(struct command_context *context)
{
    struct idmint_oid id;
    uint32_t seconds;

    if (idmint_time_parse(context->args[0], &seconds) != IDMINT_OK) {
        output_error("'%s' is no time: unix seconds or 2012-10-17T21:13:27Z, from 1970 to 2106",
                     context->args[0]);
        return EXIT_USAGE;
    }
    idmint_oid_at(seconds, &id);
    return print_oid(context, &id);
}

static const struct command_option oid_options[] = {
    {"range", "N", "take N consecutive ids at once; prints the first and the last"},
    {NULL, NULL, NULL},
};

const struct command oid_commands[] = {
    {"oid", "", "[N]", "Take one ObjectId, or N of them",
     "Prints one id a line, in issue order. N: 1 to 1000000000.", 0, 1, false, oid_options,
     run_oid},
    {"decode", "", "HEX...", "Show what ObjectIds are made of",
     "Needs no server. Prints oid, time, seconds, random value, counter, and the reading of\n"
     "the random value that was usual before 2018: machine and process id.",
     1, SIZE_MAX, true, NULL, run_decode},
    {"at", "", "TIME", "Print the lowest ObjectId of a second",
     "Needs no server. TIME: unix seconds, or as 2012-10-17T21:13:27Z. For queries by date:\n"
     "_id >= that.",
     1, 1, true, NULL, run_at},
    {NULL, NULL, NULL, NULL, NULL, 0, 0, false, NULL, NULL},
};
