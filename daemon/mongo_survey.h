/* What the configured collections hold, and what would become of each document: looks only. */
#ifndef IDMINT_MONGO_SURVEY_H
#define IDMINT_MONGO_SURVEY_H

#include "mongo_counter.h"

/* One line a document, and one where something is missing. -1: `fault`. */
int mongo_survey(const struct mongo_places *places, struct mongo_state *state,
                 struct mongo_call *call, void (*line)(const char *text), struct mongo_fault *fault)
    __attribute__((warn_unused_result));

#endif
