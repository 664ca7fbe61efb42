/* The command line: options "--name", "--name VALUE" or "--name=VALUE" anywhere, "--" ends them. */
#ifndef IDMINT_OPTIONS_H
#define IDMINT_OPTIONS_H

#include "command.h"

/* Take argv[*at] and what belongs to it if it is one of `options`: 1, *at past it, values set.
 * 0: it is none of them. -1: its value is missing, or it takes none; said on stderr. */
int options_take(int argc, char *const *argv, int *at, const struct command_option *options,
                 const char **values);

/* The value of an option, "" where it takes none; NULL: not given. */
const char *options_value(const struct command_context *context, const char *name);

/* Decimal digits, with a minus if negative, within the bounds. Otherwise false, said on stderr;
 * `what` names the value. */
bool options_integer(const char *text, const char *what, int64_t min, int64_t max, int64_t *value);

/* The same for an option: *value is left alone where it was not given. */
bool options_value_integer(const struct command_context *context, const char *name, int64_t min,
                           int64_t max, int64_t *value);

/* The same for argument `index`, where there are that many. */
bool options_arg_integer(const struct command_context *context, size_t index, const char *what,
                         int64_t min, int64_t max, int64_t *value);

#endif
