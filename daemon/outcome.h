/* What a store's result means to the client: the error word, and words for people. */
#ifndef IDMINT_OUTCOME_H
#define IDMINT_OUTCOME_H

#include "errors.h"
#include "store.h"

/* For an op whose result is no DONE. *text: the op's own, or a general one; lives as long as op. */
enum error_word outcome_error(const struct store_op *op, const char **text);

#define OUTCOME_MAX "the counter's MAX is reached"
#define OUTCOME_ABSENT "no such counter"
#define OUTCOME_EXISTS "the counter exists"
#define OUTCOME_DIFFERS "the counter exists with other options"

/* When a request's time is over. */
#define OUTCOME_LATE_TRYAGAIN "not done in time; nothing was taken"
#define OUTCOME_LATE_UNCERTAIN "no answer in time; values that were taken are lost"

#endif
