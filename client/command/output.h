/* What the command prints: results on stdout, one line each, errors on stderr. */
#ifndef IDMINT_OUTPUT_H
#define IDMINT_OUTPUT_H

#include <jansson.h>

#include "command.h"

/* "idmint: ..." on stderr. */
void output_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One line of JSON; takes the object over. NULL (no memory) is EXIT_LOCAL. */
int output_json(json_t *object);

/* Say what a call ended with; `what` it was about. Returns the exit code; EXIT_DONE for IDMINT_OK.
 */
int output_outcome(const struct command_context *context, int outcome, const char *what);

/* Everything has reached its destination: EXIT_DONE, or EXIT_LOCAL, said on stderr. */
int output_finish(void);

#endif
