/* Runs a suite of libcheck, as CK_VERBOSITY asks. */
#ifndef IDMINT_TEST_SUITE_H
#define IDMINT_TEST_SUITE_H

#include <check.h>
#include <stdlib.h>

/* What main returns. */
static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
