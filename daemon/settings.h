/* What the daemon was told at its start: options, environment and file together, and the
 * credentials that they name. */
#ifndef IDMINT_SETTINGS_H
#define IDMINT_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "auth.h"
#include "config.h"

/* A configuration with the credentials it names. Those of before a reload are kept to the end: loop
 * threads may still look at them. */
struct settings {
    struct settings *older;
    struct config config;
    struct auth *auth;
};

/* Options that are no settings: they say what to do instead of serving. */
struct settings_modes {
    const char *file;
    bool check, check_store, survey, help, version;
    const char *reset_high_water;
};

/* 0, or -1 with `why`. */
int settings_read_modes(int argc, char **argv, struct settings_modes *modes, char *why,
                        size_t why_bytes) __attribute__((warn_unused_result));
void settings_print_help(void);

/* File, environment, options, in this order; then the credentials. NULL: `why`. */
struct settings *settings_load(int argc, char **argv, char *why, size_t why_bytes);
/* With all that are older. */
void settings_destroy(struct settings *settings);
/* What can only change at a start is named in the log where `fresh` differs, and stays as it is in
 * `started`; but [counter NAME] may differ in `fresh`, where nobody looks at it. */
void settings_keep_fixed(const struct config *started, struct config *fresh);

#endif
