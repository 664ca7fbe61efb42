/* What a fuzz target holds to be true; a libFuzzer run ends where it is not. */
#ifndef IDMINT_FUZZ_CHECK_H
#define IDMINT_FUZZ_CHECK_H

#include <stdlib.h>
#include <string.h>

#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* A copy that ends where its memory ends, so that the sanitizer sees a read past it. */
static inline char *fuzz_copy(const void *bytes, size_t len)
{
    char *copy = malloc(len > 0 ? len : 1);
    FUZZ_CHECK(copy != NULL);
    if (len > 0) {
        memcpy(copy, bytes, len);
    }
    return copy;
}

#endif
