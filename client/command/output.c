#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void output_error(const char *format, ...)
{
    va_list args;

    fputs("idmint: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

int output_json(json_t *object)
{
    int failed;

    if (!object) {
        output_error("no memory");
        return EXIT_LOCAL;
    }
    failed = json_dumpf(object, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(object);
    return failed || putchar('\n') == EOF ? EXIT_LOCAL : EXIT_DONE;
}

static int exit_code(const struct idmint *handle, int outcome)
{
    switch (outcome) {
    case IDMINT_OK:
        return EXIT_DONE;
    case IDMINT_NOT_DONE:
        return idmint_fd(handle) < 0 ? EXIT_NO_SERVER : EXIT_NOT_DONE;
    case IDMINT_UNKNOWN:
        return EXIT_UNKNOWN;
    case IDMINT_REFUSED:
        return EXIT_REFUSED;
    case IDMINT_ARGUMENT:
        return EXIT_USAGE;
    default:
        return EXIT_LOCAL;
    }
}

int output_outcome(const struct command_context *context, int outcome, const char *what)
{
    if (outcome != IDMINT_OK) {
        const char *error = idmint_error(context->handle);
        bool asks = strncmp(error, "NOAUTH ", 7) == 0;
        output_error("%s: %s: %s%s", what, idmint_outcome_text(outcome), error,
                     asks ? " (here: --password-file FILE, or IDMINT_PASSWORD_FILE)" : "");
    }
    return exit_code(context->handle, outcome);
}

int output_finish(void)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        output_error("can not write the output: %s", strerror(errno));
        return EXIT_LOCAL;
    }
    return EXIT_DONE;
}
