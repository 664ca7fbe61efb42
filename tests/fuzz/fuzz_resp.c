/* RESP commands and values: read from the whole input and from each of its prefixes. A prefix must
 * ask for more or give what the whole gives, and must not ask for more than what decides. */
#include <stdint.h>

#include "fuzz_check.h"
#include "limit.h"
#include "resp.h"

/* The prefixes of one input cost the square of its length. */
#define MAX_PREFIX 600
#define MAX_VALUE_BYTES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct resp_limits LIMITS[] = {
    {LIMIT_INLINE_BYTES, LIMIT_BULK_BYTES, LIMIT_ARGS, LIMIT_REQUEST_BYTES},
    {.inline_bytes = 40, .bulk_bytes = 24, .args = 4, .request_bytes = 80},
};

struct outcome {
    int status;
    size_t used;
    const char *why;
    size_t argc;
    struct resp_arg args[LIMIT_ARGS];
};

static void read_command(const char *bytes, size_t len, const struct resp_limits *limits,
                         struct outcome *outcome)
{
    outcome->used = 0;
    outcome->why = NULL;
    outcome->argc = 0;
    outcome->status = resp_read_command(bytes, len, limits, outcome->args, &outcome->argc,
                                        &outcome->used, &outcome->why);
    switch (outcome->status) {
    case RESP_OK:
        FUZZ_CHECK(outcome->used > 0 && outcome->used <= len && outcome->argc <= limits->args);
        for (size_t i = 0; i < outcome->argc; i++) {
            const struct resp_arg *arg = &outcome->args[i];
            FUZZ_CHECK(arg->data >= bytes && arg->len <= limits->bulk_bytes);
            FUZZ_CHECK((size_t)(arg->data - bytes) + arg->len < outcome->used);
        }
        break;
    case RESP_MORE:
        FUZZ_CHECK(outcome->used > len);
        FUZZ_CHECK(outcome->used <= limits->request_bytes + limits->inline_bytes + 4);
        break;
    default:
        FUZZ_CHECK(outcome->status == RESP_BAD &&
                   strncmp(outcome->why, "Protocol error: ", 16) == 0);
    }
}

static void expect_same(const char *bytes, const struct outcome *whole, const char *prefix,
                        const struct outcome *part)
{
    FUZZ_CHECK(part->status == whole->status && part->used == whole->used);
    FUZZ_CHECK(part->why == whole->why && part->argc == whole->argc);
    for (size_t i = 0; i < part->argc; i++) {
        FUZZ_CHECK(part->args[i].data - prefix == whole->args[i].data - bytes);
        FUZZ_CHECK(part->args[i].len == whole->args[i].len);
    }
}

static void check_command_prefixes(const char *bytes, size_t len, const struct resp_limits *limits,
                                   const struct outcome *whole)
{
    struct outcome part;
    size_t wanted = 0;
    for (size_t end = 0; end <= len && end <= MAX_PREFIX; end++) {
        char *prefix = fuzz_copy(bytes, end);
        read_command(prefix, end, limits, &part);
        if (part.status == RESP_MORE) {
            wanted = part.used > wanted ? part.used : wanted;
            FUZZ_CHECK(end < len || whole->status == RESP_MORE);
        } else {
            FUZZ_CHECK(end >= wanted);
            expect_same(bytes, whole, prefix, &part);
        }
        free(prefix);
    }
}

/* Written out again it is the same command, unless the longer form passes a limit. */
static void check_command_written(const struct outcome *whole)
{
    struct outcome again;
    struct buffer out;
    buffer_init(&out, 0);
    resp_write_command(&out, whole->args, whole->argc);
    FUZZ_CHECK(!out.failed);
    read_command(out.data, out.len, &LIMITS[0], &again);
    FUZZ_CHECK(again.status == RESP_OK && again.argc == whole->argc && again.used == out.len);
    for (size_t i = 0; i < again.argc; i++) {
        FUZZ_CHECK(again.args[i].len == whole->args[i].len);
        FUZZ_CHECK(memcmp(again.args[i].data, whole->args[i].data, again.args[i].len) == 0);
    }
    buffer_finish(&out);
}

static void check_commands(const char *bytes, size_t len, const struct resp_limits *limits)
{
    struct outcome whole;
    do {
        read_command(bytes, len, limits, &whole);
        check_command_prefixes(bytes, len, limits, &whole);
        if (whole.status != RESP_OK) {
            return;
        }
        check_command_written(&whole);
        bytes += whole.used;
        len -= whole.used;
    } while (len > 0);
}

static void check_value_prefixes(const char *bytes, size_t len, int status,
                                 const struct resp_value *whole, size_t whole_used)
{
    size_t wanted = 0;
    for (size_t end = 0; end <= len && end <= MAX_PREFIX; end++) {
        char *prefix = fuzz_copy(bytes, end);
        struct resp_value part;
        size_t used;
        int part_status = resp_read_value(prefix, end, MAX_VALUE_BYTES, &part, &used);
        if (part_status == RESP_MORE) {
            FUZZ_CHECK(used > end && (end < len || status == RESP_MORE));
            wanted = used > wanted ? used : wanted;
        } else {
            FUZZ_CHECK(part_status == status && end >= wanted);
        }
        if (part_status == RESP_OK) {
            FUZZ_CHECK(used == whole_used && part.type == whole->type);
            FUZZ_CHECK(part.integer == whole->integer && part.len == whole->len);
            FUZZ_CHECK(part.data == NULL || part.data - prefix == whole->data - bytes);
        }
        free(prefix);
    }
}

static void check_values(const char *bytes, size_t len)
{
    while (len > 0) {
        struct resp_value value = {0};
        size_t used = 0;
        int status = resp_read_value(bytes, len, MAX_VALUE_BYTES, &value, &used);
        check_value_prefixes(bytes, len, status, &value, used);
        if (status != RESP_OK) {
            return;
        }
        FUZZ_CHECK(used > 0 && used <= len && value.len <= MAX_VALUE_BYTES);
        bytes += used;
        len -= used;
    }
}

static void check_integer(const char *bytes, size_t len)
{
    int64_t value;
    char text[20];
    if (resp_parse_integer(bytes, len, &value)) {
        FUZZ_CHECK(resp_format_integer(text, value) == len && memcmp(text, bytes, len) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = fuzz_copy(data, size);
    check_commands(bytes, size, &LIMITS[0]);
    check_commands(bytes, size, &LIMITS[1]);
    check_values(bytes, size);
    check_integer(bytes, size);
    free(bytes);
    return 0;
}
