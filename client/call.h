/* Calls that wait for their reply. */
#ifndef IDMINT_CALL_H
#define IDMINT_CALL_H

#include <string.h>

#include "handle.h"
#include "limit.h"
#include "request.h"
#include "resp.h"

#define CALL_DIGITS 20

/* Enter, submit, wait; follows NOTLEADER once within the deadline. `kind`: what the reply is;
 * `reads`: the command takes nothing; `count`: as in struct request. Returns the outcome. */
int call_run(struct idmint *handle, enum request_kind kind, bool reads, size_t count,
             const struct resp_arg *args, size_t argc, struct idmint_result *result)
    __attribute__((warn_unused_result));

/* After a reply of another shape than its command promises: the connection is closed. */
int call_misshapen(struct idmint *handle, bool reads);

/* A counter's name as an argument may be: 1 to 255 bytes. The rest is the daemon's to judge. */
bool call_name_valid(const char *name);

/* The arguments of a public command as resp takes them, into room for LIMIT_ARGS. False: too many,
 * none, or a NULL among them. */
bool call_gather(size_t argc, const char *const *args, const size_t *arg_lens,
                 struct resp_arg *gathered);

static inline struct resp_arg call_text(const char *text)
{
    return (struct resp_arg){text, strlen(text)};
}

static inline struct resp_arg call_number(int64_t number, char digits[CALL_DIGITS])
{
    return (struct resp_arg){digits, resp_format_integer(digits, number)};
}

#endif
