/* The parts of the idmint command: a table of commands, each with its options and a function. */
#ifndef IDMINT_COMMAND_H
#define IDMINT_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "idmint.h"

enum exit_code {
    EXIT_DONE = 0,
    EXIT_REFUSED = 1,   /* the server said no; repeating will not help */
    EXIT_USAGE = 2,     /* the command line, or a line of input, is wrong */
    EXIT_NOT_DONE = 3,  /* nothing was taken; repeat */
    EXIT_UNKNOWN = 4,   /* it may have been done; a value, if taken, is lost */
    EXIT_NO_SERVER = 5, /* as EXIT_NOT_DONE, and there is no connection */
    EXIT_LOCAL = 6,     /* a local fault: output, file, memory */
};

#define COMMAND_OPTIONS 8

struct command_option {
    const char *name;  /* without the dashes; NULL ends a list */
    const char *value; /* what its value is called; NULL: it takes none */
    const char *help;
};

struct command_context {
    struct idmint *handle; /* NULL for a command that needs no server */
    const struct idmint_options *connect;
    bool json;
    size_t arg_count;
    char *const *args;
    const struct command_option *options;
    const char *values[COMMAND_OPTIONS]; /* as options; NULL: not given */
};

struct command {
    const char *name;
    const char *subname; /* "" where there is none */
    const char *syntax;  /* of the arguments */
    const char *summary;
    const char *help; /* more, or "" */
    size_t args_min, args_max;
    bool offline;
    const struct command_option *options;        /* at most COMMAND_OPTIONS */
    int (*run)(struct command_context *context); /* an exit_code */
};

/* Each file's commands, ended by a row without a name. */
extern const struct command oid_commands[];
extern const struct command counter_commands[];
extern const struct command transfer_commands[];
extern const struct command uuid_commands[];
extern const struct command server_commands[];
extern const struct command bench_commands[];

#endif
