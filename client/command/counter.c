/* next, get, counter create/info/list/raise/reset/drop */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "counter.h"
#include "options.h"
#include "output.h"

json_t *counter_json(const struct idmint_counter *counter)
{
    return json_pack("{s:s,s:I,s:I,s:I,s:I,s:I}", "name", counter->name, "value",
                     (json_int_t)counter->value, "start", (json_int_t)counter->start, "step",
                     (json_int_t)counter->step, "max", (json_int_t)counter->max, "cache",
                     (json_int_t)counter->cache);
}

int counter_each(struct command_context *context, const char *prefix,
                 int (*each)(struct command_context *context, const struct idmint_counter *counter))
{
    static struct idmint_counter page[IDMINT_LIST_MAX];
    char after[IDMINT_NAME_MAX + 1] = "";
    int code;

    do {
        size_t got;

        code = output_outcome(
            context,
            idmint_counter_list(context->handle, prefix, after, IDMINT_LIST_MAX, page, &got, after),
            "counter list");
        for (size_t i = 0; code == EXIT_DONE && i < got; i++) {
            code = each(context, &page[i]);
        }
    } while (code == EXIT_DONE && after[0] != '\0');
    return code;
}

static int print_value(const struct command_context *context, const char *name, int64_t value)
{
    if (context->json) {
        return output_json(json_pack("{s:s,s:I}", "name", name, "value", (json_int_t)value));
    }
    printf("%" PRId64 "\n", value);
    return EXIT_DONE;
}

static int run_next(struct command_context *context)
{
    const char *name = context->args[0];
    int64_t count = 1, first, last;
    int code;

    if (!options_arg_integer(context, 1, "the count", 1, INT64_MAX, &count)) {
        return EXIT_USAGE;
    }
    if (context->arg_count < 2) {
        code = output_outcome(context, idmint_next(context->handle, name, &first), name);
        return code == EXIT_DONE ? print_value(context, name, first) : code;
    }
    code = output_outcome(context, idmint_next_range(context->handle, name, count, &first, &last),
                          name);
    if (code != EXIT_DONE) {
        return code;
    }
    if (context->json) {
        return output_json(json_pack("{s:s,s:I,s:I,s:I}", "name", name, "first", (json_int_t)first,
                                     "last", (json_int_t)last, "count", (json_int_t)count));
    }
    printf("%" PRId64 " %" PRId64 "\n", first, last);
    return EXIT_DONE;
}

static int run_get(struct command_context *context)
{
    const char *name = context->args[0];
    bool present;
    int64_t value;
    int code = output_outcome(context, idmint_get(context->handle, name, &value, &present), name);

    if (code != EXIT_DONE) {
        return code;
    }
    if (!present) {
        output_error("%s: there is no such counter", name);
        return EXIT_REFUSED;
    }
    return print_value(context, name, value);
}

static int run_create(struct command_context *context)
{
    struct idmint_counter counter = {0};
    const struct {
        const char *option;
        unsigned set;
        int64_t min;
        int64_t *value;
    } rows[] = {{"start", IDMINT_START, INT64_MIN, &counter.start},
                {"step", IDMINT_STEP, 1, &counter.step},
                {"max", IDMINT_MAX, INT64_MIN, &counter.max},
                {"cache", IDMINT_CACHE, 1, &counter.cache},
                {"value", IDMINT_VALUE, INT64_MIN, &counter.value}};
    unsigned set = 0;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!options_value_integer(context, rows[i].option, rows[i].min, INT64_MAX,
                                   rows[i].value)) {
            return EXIT_USAGE;
        }
        set |= options_value(context, rows[i].option) ? rows[i].set : 0;
    }
    return output_outcome(context,
                          idmint_counter_create(context->handle, context->args[0], set, &counter),
                          context->args[0]);
}

static int run_info(struct command_context *context)
{
    struct idmint_counter counter;
    int code =
        output_outcome(context, idmint_counter_info(context->handle, context->args[0], &counter),
                       context->args[0]);

    if (code != EXIT_DONE) {
        return code;
    }
    if (context->json) {
        return output_json(counter_json(&counter));
    }
    printf("name %s\nvalue %" PRId64 "\nstart %" PRId64 "\nstep %" PRId64 "\nmax %" PRId64
           "\ncache %" PRId64 "\n",
           counter.name, counter.value, counter.start, counter.step, counter.max, counter.cache);
    return EXIT_DONE;
}

static int print_row(struct command_context *context, const struct idmint_counter *counter)
{
    if (context->json) {
        return output_json(counter_json(counter));
    }
    printf("%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\n", counter->name,
           counter->value, counter->start, counter->step, counter->max, counter->cache);
    return EXIT_DONE;
}

static int run_list(struct command_context *context)
{
    return counter_each(context, options_value(context, "prefix"), print_row);
}

static int run_raise(struct command_context *context)
{
    const char *name = context->args[0];
    int64_t value = 0, now;
    int code;

    if (!options_arg_integer(context, 1, "the value", INT64_MIN, INT64_MAX, &value)) {
        return EXIT_USAGE;
    }
    code = output_outcome(context, idmint_counter_raise(context->handle, name, value, &now), name);
    return code == EXIT_DONE ? print_value(context, name, now) : code;
}

static bool forced(const struct command_context *context)
{
    if (!options_value(context, "force")) {
        output_error("this makes the counter issue values again; say --force if that is meant");
        return false;
    }
    return true;
}

static int run_reset(struct command_context *context)
{
    const char *name = context->args[0];
    int64_t value = 0;

    if (!options_arg_integer(context, 1, "the value", INT64_MIN, INT64_MAX, &value) ||
        !forced(context)) {
        return EXIT_USAGE;
    }
    return output_outcome(context, idmint_counter_reset(context->handle, name, value), name);
}

static int run_drop(struct command_context *context)
{
    const char *name = context->args[0];

    if (!forced(context)) {
        return EXIT_USAGE;
    }
    return output_outcome(context, idmint_counter_drop(context->handle, name), name);
}

static const struct command_option create_options[] = {
    {"start", "N", "the first value (default: as the daemon is set, usually 1)"},
    {"step", "N", "from one value to the next"},
    {"max", "N", "the last value that may be issued"},
    {"cache", "N", "reserve N values ahead: faster, but a crash skips what was reserved"},
    {"value", "N", "the last value issued before: it goes on after that"},
    {NULL, NULL, NULL},
};
static const struct command_option list_options[] = {
    {"prefix", "TEXT", "only names that begin with TEXT"},
    {NULL, NULL, NULL},
};
static const struct command_option force_options[] = {
    {"force", NULL, "yes, although values will be issued again"},
    {NULL, NULL, NULL},
};

const struct command counter_commands[] = {
    {"next", "", "NAME [N]", "Take the next value of a counter, or N at once",
     "Prints the value; with N the first and the last.", 1, 2, false, NULL, run_next},
    {"get", "", "NAME", "Print the greatest value issued (with CACHE: reserved); takes nothing",
     "Exits with 1 where there is no such counter.", 1, 1, false, NULL, run_get},
    {"counter", "create", "NAME", "Make a counter", "", 1, 1, false, create_options, run_create},
    {"counter", "info", "NAME", "Show a counter's value and options", "", 1, 1, false, NULL,
     run_info},
    {"counter", "list", "", "List counters by name",
     "One a line, separated by tabs: name, value, start, step, max, cache.", 0, 0, false,
     list_options, run_list},
    {"counter", "raise", "NAME VALUE", "Move a counter forward to VALUE, never back",
     "Prints the value at which it then stands.", 2, 2, false, NULL, run_raise},
    {"counter", "reset", "NAME VALUE", "Set a counter to VALUE, also back", "", 2, 2, false,
     force_options, run_reset},
    {"counter", "drop", "NAME", "Remove a counter; its name would start over", "", 1, 1, false,
     force_options, run_drop},
    {NULL, NULL, NULL, NULL, NULL, 0, 0, false, NULL, NULL},
};
