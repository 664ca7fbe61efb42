/* Configuration files: one that is refused says why, one that is taken can be shown as text and set
 * again from that text without a change. */
#include <stdint.h>

#include "config.h"
#include "fuzz_check.h"

#define VALUE_BYTES 8192
#define WHY_BYTES 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_why(const char *why)
{
    size_t len = strnlen(why, WHY_BYTES);
    FUZZ_CHECK(len > 0 && len < WHY_BYTES);
}

static void check_rows(const struct config *config)
{
    char value[VALUE_BYTES], again[VALUE_BYTES];
    char why[WHY_BYTES];
    struct config copy;
    struct config_row_text row;
    config_init(&copy);
    for (size_t i = 0; config_row(i, &row); i++) {
        if (config_get(config, i, value, sizeof value) != 0) {
            continue; /* longer than there is room for */
        }
        FUZZ_CHECK(config_set(&copy, row.section, row.key, value, "again", why, sizeof why) == 0);
        FUZZ_CHECK(config_get(&copy, i, again, sizeof again) == 0);
        FUZZ_CHECK(strcmp(value, again) == 0);
    }
    config_finish(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[WHY_BYTES] = "";
    char *text = fuzz_copy(data, size);
    struct config config;
    config_init(&config);
    if (config_read_text(&config, text, size, "fuzz.conf", why, sizeof why) != 0) {
        expect_why(why);
    } else {
        check_rows(&config);
        if (config_check(&config, why, sizeof why) != 0) {
            expect_why(why);
        }
    }
    config_finish(&config);
    free(text);
    return 0;
}
