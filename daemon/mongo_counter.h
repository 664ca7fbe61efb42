/* One operation on one counter's document: looking at it, and the steps that mend or make it, which
 * taking values and the other verbs share. */
#ifndef IDMINT_MONGO_COUNTER_H
#define IDMINT_MONGO_COUNTER_H

#include "mongo_place.h"
#include "mongo_state.h"

/* How often an operation begins anew when the document changes under it. */
#define MONGO_TRIES 6

struct mongo_work {
    struct mongo_state *state;
    struct mongo_call *call;
    const struct mongo_place *place;
    struct store_op *op;
    struct store_counter options;
    struct mongo_fault fault; /* of the last step that failed */
};

/* Read options, from memory unless fresh. -1: the op has its result. */
int mongo_work_options(struct mongo_work *work, bool fresh) __attribute__((warn_unused_result));
/* The op ends with the last fault. */
void mongo_work_fail(struct mongo_work *work);
/* The op ends as WRONGTYPE. */
void mongo_work_wrong_type(struct mongo_work *work, const struct mongo_value *value);
/* It changed too often under us. */
void mongo_work_give_up(struct mongo_work *work);

/* The value was issued: in the generation that the options tell. */
void mongo_work_issued(struct mongo_work *work, int64_t value);
/* The op, a take, ended with this value: which of its values are issued, or known to be? */
void mongo_work_taken(struct mongo_work *work, int64_t value);

/* What stands there now; majority: only what can not be rolled back. */
int mongo_look(struct mongo_work *work, bool majority, struct mongo_value *value)
    __attribute__((warn_unused_result));
/* findAndModify on the counter's document: `filter` and `update` are used up. 0: `value` is what
 * the document held afterwards (removing: before), NO_DOCUMENT where none matched. */
int mongo_modify(struct mongo_work *work, bson_t *filter, bson_t *update, struct mongo_value *value)
    __attribute__((warn_unused_result));

enum mongo_step {
    MONGO_STEP_DONE,   /* the op has its result */
    MONGO_STEP_AGAIN,  /* something has changed: begin anew */
    MONGO_STEP_FAILED, /* the fault tells */
};

/* A double to the integer that it is. */
enum mongo_step mongo_convert(struct mongo_work *work);
/* There is no document, or no field in it (`found` tells): make it, if the op creates, and take
 * from it what the op asks. */
enum mongo_step mongo_create(struct mongo_work *work, const struct mongo_value *found);

#endif
