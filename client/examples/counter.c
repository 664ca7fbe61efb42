/* The next order number, and what to do with each outcome. */
#include <idmint.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* IDMINT_NOT_DONE: nothing was taken, so trying again leaves no gap. IDMINT_UNKNOWN: a value may be
 * lost; trying again gives another one and may leave a gap, never a value twice. */
static int next_order(struct idmint *handle, int64_t *number)
{
    int outcome = IDMINT_NOT_DONE;

    for (int tries = 0; tries < 3; tries++) {
        outcome = idmint_next(handle, "orders", number);
        if (outcome == IDMINT_OK || outcome == IDMINT_REFUSED) {
            break;
        }
        fprintf(stderr, "%s: %s\n", idmint_outcome_text(outcome), idmint_error(handle));
    }
    return outcome;
}

int main(void)
{
    const struct idmint_options options = {.addresses = getenv("IDMINT_ADDR")};
    struct idmint *handle;
    int64_t number;
    int outcome = idmint_create(&options, &handle);

    if (outcome != IDMINT_OK) {
        fprintf(stderr, "%s\n", idmint_outcome_text(outcome));
        return EXIT_FAILURE;
    }
    outcome = next_order(handle, &number);
    if (outcome == IDMINT_OK) {
        printf("order %" PRId64 "\n", number);
    } else {
        fprintf(stderr, "no number: %s\n", idmint_error(handle));
    }
    idmint_destroy(handle);
    return outcome == IDMINT_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
