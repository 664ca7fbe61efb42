/* For the handlers of commands: how they read arguments and reply. */
#ifndef IDMINT_COMMAND_H
#define IDMINT_COMMAND_H

#include "dispatch.h"
#include "store.h"

/* One handler a row of the command table. */
#define COMMAND_ROW(id, name, sub, fewest, most, flags, syntax, summary, reply)                    \
    enum dispatch_status command_##id(struct call *call);
COMMAND_ROWS
#undef COMMAND_ROW

/* Case does not matter. `word` is upper case. */
bool command_arg_is(const struct resp_arg *arg, const char *word);

/* Replies DISPATCH_REPLIED with an error. */
enum dispatch_status command_error(struct call *call, enum error_word word, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum dispatch_status command_syntax_error(struct call *call);
enum dispatch_status command_ok(struct call *call);

/* A count of 1 .. most; false: the error has been replied. */
bool command_count(struct call *call, const struct resp_arg *arg, int64_t most, int64_t *count);
/* Any int64; false: the error has been replied. */
bool command_integer(struct call *call, const struct resp_arg *arg, int64_t *value);
/* A counter's name; false: the error has been replied. */
bool command_name(struct call *call, const struct resp_arg *arg);

/* INCRBY name 0: the value as an integer, 0 where there is none. */
enum dispatch_status command_read_integer(struct call *call);

#endif
