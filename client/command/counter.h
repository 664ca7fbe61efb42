/* Counters as the command shows and exports them. */
#ifndef IDMINT_COMMAND_COUNTER_H
#define IDMINT_COMMAND_COUNTER_H

#include <jansson.h>

#include "command.h"

json_t *counter_json(const struct idmint_counter *counter);

/* Call `each` for every counter whose name begins with prefix (NULL: all), page by page, until it
 * returns another code than EXIT_DONE. Says on stderr what went wrong. */
int counter_each(struct command_context *context, const char *prefix,
                 int (*each)(struct command_context *context,
                             const struct idmint_counter *counter));

#endif
