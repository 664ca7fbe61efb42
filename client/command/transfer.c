/* counter export, counter import: counters as JSON lines. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "counter.h"
#include "options.h"
#include "output.h"

static int export_row(struct command_context *context, const struct idmint_counter *counter)
{
    return output_json(counter_json(counter));
}

static int run_export(struct command_context *context)
{
    int code = counter_each(context, options_value(context, "prefix"), export_row);

    if (code != EXIT_DONE) {
        output_error("counter export: the output is not complete");
    }
    return code;
}

/* What became of a line. */
enum imported { CREATED, RAISED, UNCHANGED, FAILED, IMPORTED_KINDS };

struct import {
    const char *path;
    size_t line; /* 1 .. */
    size_t kinds[IMPORTED_KINDS];
    int code;  /* the first failure's */
    bool stop; /* the server is lost or stuck: the lines after this would fare no better */
};

static enum imported import_failed(struct import *import, int code)
{
    if (import->code == EXIT_DONE) {
        import->code = code;
    }
    return FAILED;
}

static enum imported import_bad(struct import *import, const char *why)
{
    output_error("%s:%zu: %s", import->path, import->line, why);
    return import_failed(import, EXIT_USAGE);
}

static enum imported import_outcome(struct import *import, const struct command_context *context,
                                    int outcome)
{
    char what[300];

    snprintf(what, sizeof(what), "%s:%zu", import->path, import->line);
    import->stop = outcome != IDMINT_REFUSED && outcome != IDMINT_ARGUMENT;
    return import_failed(import, output_outcome(context, outcome, what));
}

static bool take_integer(const json_t *object, const char *field, unsigned option, unsigned *set,
                         int64_t *value)
{
    const json_t *member = json_object_get(object, field);

    if (!member) {
        return true;
    }
    *set |= option;
    *value = json_integer_value(member);
    return json_is_integer(member);
}

/* NULL, or what is wrong. Only name and value are needed. */
static const char *parse_row(const char *text, size_t len, struct idmint_counter *counter,
                             unsigned *set)
{
    json_error_t error;
    json_t *object = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    const char *name = json_string_value(json_object_get(object, "name"));
    const char *why = NULL;

    if (!json_is_object(object)) {
        why = "this is no JSON object";
    } else if (!name || !*name || strlen(name) > IDMINT_NAME_MAX) {
        why = "\"name\" must be a string of 1 to 255 bytes";
    } else if (!json_is_integer(json_object_get(object, "value"))) {
        why = "\"value\" must be an integer";
    } else if (!take_integer(object, "start", IDMINT_START, set, &counter->start) ||
               !take_integer(object, "step", IDMINT_STEP, set, &counter->step) ||
               !take_integer(object, "max", IDMINT_MAX, set, &counter->max) ||
               !take_integer(object, "cache", IDMINT_CACHE, set, &counter->cache)) {
        why = "\"start\", \"step\", \"max\" and \"cache\" must be integers";
    } else if ((*set & IDMINT_STEP) && counter->step < 1) {
        why = "\"step\" must be 1 or more";
    } else {
        counter->value = json_integer_value(json_object_get(object, "value"));
        memcpy(counter->name, name, strlen(name) + 1);
    }
    json_decref(object);
    return why;
}

/* A counter without a start of its own may begin below 1. */
static int create_at(struct idmint *handle, const struct idmint_counter *counter, unsigned set)
{
    struct idmint_counter made = *counter;
    const int64_t step = set & IDMINT_STEP ? counter->step : 1;

    if (!(set & IDMINT_START) && counter->value < 1 - step) {
        set |= IDMINT_START;
        made.start = counter->value + step;
    }
    return idmint_counter_create(handle, counter->name, set | IDMINT_VALUE, &made);
}

static enum imported import_row(struct command_context *context, struct import *import,
                                const struct idmint_counter *counter, unsigned set)
{
    bool present;
    int64_t value, now;
    int outcome = idmint_get(context->handle, counter->name, &value, &present);

    if (outcome != IDMINT_OK) {
        return import_outcome(import, context, outcome);
    }
    if (!present) {
        outcome = create_at(context->handle, counter, set);
        return outcome == IDMINT_OK ? CREATED : import_outcome(import, context, outcome);
    }
    if (value >= counter->value) {
        return UNCHANGED;
    }
    outcome = idmint_counter_raise(context->handle, counter->name, counter->value, &now);
    return outcome == IDMINT_OK ? RAISED : import_outcome(import, context, outcome);
}

static void import_line(struct command_context *context, struct import *import, const char *text,
                        size_t len)
{
    struct idmint_counter counter = {0};
    unsigned set = 0;
    const char *why;

    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r')) {
        len--;
    }
    if (len == 0) {
        return;
    }
    why = parse_row(text, len, &counter, &set);
    import->kinds[why ? import_bad(import, why) : import_row(context, import, &counter, set)]++;
}

static int run_import(struct command_context *context)
{
    const char *path = context->arg_count > 0 ? context->args[0] : "-";
    const bool standard = strcmp(path, "-") == 0;
    struct import import = {.path = standard ? "stdin" : path, .code = EXIT_DONE};
    FILE *file = standard ? stdin : fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    ssize_t len;

    if (!file) {
        output_error("can not read %s: %s", path, strerror(errno));
        return EXIT_LOCAL;
    }
    while (!import.stop && (len = getline(&line, &room, file)) >= 0) {
        import.line++;
        import_line(context, &import, line, (size_t)len);
    }
    if (import.stop) {
        output_error("stopped there; give the same lines again later");
    } else if (ferror(file)) {
        output_error("can not read %s: %s", import.path, strerror(errno));
        import.code = EXIT_LOCAL;
    }
    free(line);
    if (!standard) {
        fclose(file);
    }
    if (context->json) {
        int code = output_json(json_pack(
            "{s:I,s:I,s:I,s:I}", "created", (json_int_t)import.kinds[CREATED], "raised",
            (json_int_t)import.kinds[RAISED], "unchanged", (json_int_t)import.kinds[UNCHANGED],
            "failed", (json_int_t)import.kinds[FAILED]));
        return import.code == EXIT_DONE ? code : import.code;
    }
    printf("%zu created, %zu raised, %zu unchanged, %zu failed\n", import.kinds[CREATED],
           import.kinds[RAISED], import.kinds[UNCHANGED], import.kinds[FAILED]);
    return import.code;
}

static const struct command_option export_options[] = {
    {"prefix", "TEXT", "only names that begin with TEXT"},
    {NULL, NULL, NULL},
};

const struct command transfer_commands[] = {
    {"counter", "export", "", "Write all counters as JSON lines",
     "One object a line: name, value, start, step, max, cache. Each counter is taken as it stands\n"
     "when its page is read; what is issued later is not in it.",
     0, 0, false, export_options, run_export},
    {"counter", "import", "[FILE]", "Read such lines and bring counters forward",
     "Forward only: a counter that is missing is made, with its options, to go on after "
     "\"value\";\n"
     "one that exists keeps its options and is raised where it is behind. Only name and value are\n"
     "needed. Lines that fail are named on stderr, the others are done; the exit status is the\n"
     "first failure's. Where the server can not be reached any more it stops. Repeating is safe.",
     0, 1, false, NULL, run_import},
    {NULL, NULL, NULL, NULL, NULL, 0, 0, false, NULL, NULL},
};
