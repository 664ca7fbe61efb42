/* A hundred requests under way at once on one connection, driven by poll(2). */
#include <idmint.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUESTS 100

static bool take_results(struct idmint *handle, int64_t *greatest)
{
    struct idmint_result result;

    while (idmint_receive(handle, &result)) {
        const int *number = result.token;

        if (result.outcome != IDMINT_OK) {
            fprintf(stderr, "request %d: %s: %s\n", *number, idmint_outcome_text(result.outcome),
                    idmint_error(handle));
            return false;
        }
        *greatest = result.last;
    }
    return true;
}

static bool drive(struct idmint *handle, int64_t *greatest)
{
    while (idmint_outstanding(handle) > 0) {
        if (idmint_process(handle) != IDMINT_OK || !take_results(handle, greatest)) {
            return false;
        }
        struct pollfd poll_fd = {.fd = idmint_fd(handle), .events = idmint_events(handle)};
        if (idmint_outstanding(handle) > 0) {
            poll(&poll_fd, 1, idmint_wait_ms(handle));
        }
    }
    return true;
}

int main(void)
{
    const struct idmint_options options = {.addresses = getenv("IDMINT_ADDR")};
    static int numbers[REQUESTS];
    struct idmint *handle;
    int64_t greatest = 0;
    bool done = true;

    if (idmint_create(&options, &handle) != IDMINT_OK) {
        return EXIT_FAILURE;
    }
    for (int i = 0; i < REQUESTS && done; i++) {
        numbers[i] = i;
        done = idmint_submit_next(handle, "events", 1, &numbers[i]) == IDMINT_OK;
    }
    done = done && drive(handle, &greatest);
    if (done) {
        printf("events stands at %" PRId64 "\n", greatest);
    }
    idmint_destroy(handle);
    return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
