#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

int options_take(int argc, char *const *argv, int *at, const struct command_option *options,
                 const char **values)
{
    const char *text = argv[*at] + 2;
    const size_t len = strcspn(text, "=");

    for (size_t i = 0; options && options[i].name; i++) {
        if (strlen(options[i].name) != len || strncmp(text, options[i].name, len) != 0) {
            continue;
        }
        if (!options[i].value) {
            if (text[len] == '=') {
                output_error("--%s takes no value", options[i].name);
                return -1;
            }
            values[i] = "";
        } else if (text[len] == '=') {
            values[i] = text + len + 1;
        } else if (*at + 1 < argc) {
            values[i] = argv[++*at];
        } else {
            output_error("--%s needs a value: %s", options[i].name, options[i].value);
            return -1;
        }
        ++*at;
        return 1;
    }
    return 0;
}

const char *options_value(const struct command_context *context, const char *name)
{
    for (size_t i = 0; context->options && context->options[i].name; i++) {
        if (strcmp(context->options[i].name, name) == 0) {
            return context->values[i];
        }
    }
    return NULL;
}

bool options_integer(const char *text, const char *what, int64_t min, int64_t max, int64_t *value)
{
    const char *digits = *text == '-' ? text + 1 : text;
    const size_t len = strspn(digits, "0123456789");
    long long parsed;

    errno = 0;
    parsed = strtoll(text, NULL, 10);
    if (len == 0 || digits[len] != '\0' || errno != 0 || parsed < min || parsed > max) {
        output_error("%s must be an integer from %" PRId64 " to %" PRId64 ", not '%s'", what, min,
                     max, text);
        return false;
    }
    *value = parsed;
    return true;
}

bool options_value_integer(const struct command_context *context, const char *name, int64_t min,
                           int64_t max, int64_t *value)
{
    const char *text = options_value(context, name);

    return !text || options_integer(text, name, min, max, value);
}

bool options_arg_integer(const struct command_context *context, size_t index, const char *what,
                         int64_t min, int64_t max, int64_t *value)
{
    return index >= context->arg_count ||
           options_integer(context->args[index], what, min, max, value);
}
