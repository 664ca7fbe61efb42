#include "settings.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

extern char **environ;

/* --- Options --- */

enum {
    OPT_SET = 256,
    OPT_LISTEN,
    OPT_HTTP,
    OPT_STORE,
    OPT_CHECK,
    OPT_CHECK_STORE,
    OPT_SURVEY,
    OPT_VERSION,
    OPT_RESET_HIGH_WATER
};

static const struct option long_options[] = {
    {"config", required_argument, NULL, 'c'},
    {"set", required_argument, NULL, OPT_SET},
    {"listen", required_argument, NULL, OPT_LISTEN},
    {"http", required_argument, NULL, OPT_HTTP},
    {"store", required_argument, NULL, OPT_STORE},
    {"check-config", no_argument, NULL, OPT_CHECK},
    {"check-store", no_argument, NULL, OPT_CHECK_STORE},
    {"survey", no_argument, NULL, OPT_SURVEY},
    {"reset-high-water", required_argument, NULL, OPT_RESET_HIGH_WATER},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

void settings_print_help(void)
{
    struct config_row_text row;
    puts(
        "Usage: idmintd [options]\n"
        "Issues ObjectIds, durable counters and UUIDs over the Redis protocol and HTTP.\n\n"
        "  -c, --config FILE         read the configuration from FILE\n"
        "      --set SECTION.KEY=VALUE  set one key; wins over environment and file\n"
        "      --listen ADDR[,ADDR]  host:port, [v6]:port or unix:PATH (listen.resp)\n"
        "      --http ADDR[,ADDR]    the same for HTTP; empty: nowhere (listen.http)\n"
        "      --store URI           sqlite:PATH, mongodb://..., or memory: for tests (store.uri)\n"
        "      --check-config        read the configuration, say what is wrong, end\n"
        "      --check-store         open the store, try what it must be able to do, end\n"
        "      --survey              list the documents that the configuration takes for counters, "
        "and\n"
        "                            what would become of each, and end; changes none of them\n"
        "      --reset-high-water FORCE\n"
        "                            set the saved ObjectId high water back to now, and end; ids\n"
        "                            that were issued for later seconds may then be issued again\n"
        "      --version, --help\n\n"
        "Each key can also be set as IDMINT_<SECTION>_<KEY> in the environment. Keys:\n");
    for (size_t i = 0; config_row(i, &row); i++)
        printf("  %s.%s = %s\n      %s\n", row.section, row.key, row.fallback, row.summary);
}

/* One pass over argv: options that set a key are applied to config, the others told. */
static int read_options(int argc, char **argv, struct config *config, struct settings_modes *modes,
                        char *why, size_t why_bytes)
{
    int option;
    optind = 1;
    while ((option = getopt_long(argc, argv, "c:h", long_options, NULL)) != -1) {
        int status = 0;
        switch (option) {
        case 'c':
            modes->file = optarg;
            break;
        case OPT_SET:
            status = config != NULL ? config_set_option(config, optarg, why, why_bytes) : 0;
            break;
        case OPT_LISTEN:
            if (config != NULL)
                status = config_set(config, "listen", "resp", optarg, "--listen", why, why_bytes);
            break;
        case OPT_HTTP:
            if (config != NULL)
                status = config_set(config, "listen", "http", optarg, "--http", why, why_bytes);
            break;
        case OPT_STORE:
            if (config != NULL)
                status = config_set(config, "store", "uri", optarg, "--store", why, why_bytes);
            break;
        case OPT_CHECK:
            modes->check = true;
            break;
        case OPT_CHECK_STORE:
            modes->check_store = true;
            break;
        case OPT_SURVEY:
            modes->survey = true;
            break;
        case OPT_RESET_HIGH_WATER:
            modes->reset_high_water = optarg;
            break;
        case OPT_VERSION:
            modes->version = true;
            break;
        case 'h':
            modes->help = true;
            break;
        default:
            snprintf(why, why_bytes, "see idmintd --help");
            return -1;
        }
        if (status < 0)
            return -1;
    }
    if (optind < argc) {
        snprintf(why, why_bytes, "'%s' is no option; see idmintd --help", argv[optind]);
        return -1;
    }
    return 0;
}

/* --- Settings --- */

void settings_destroy(struct settings *settings)
{
    while (settings != NULL) {
        struct settings *older = settings->older;
        auth_destroy(settings->auth);
        config_finish(&settings->config);
        free(settings);
        settings = older;
    }
}

struct settings *settings_load(int argc, char **argv, char *why, size_t why_bytes)
{
    struct settings_modes modes = {0};
    struct settings *settings = calloc(1, sizeof *settings);
    if (settings == NULL) {
        snprintf(why, why_bytes, "out of memory");
        return NULL;
    }
    struct config *config = &settings->config;
    config_init(config);
    if (read_options(argc, argv, NULL, &modes, why, why_bytes) < 0 ||
        (modes.file != NULL && config_read_file(config, modes.file, why, why_bytes) < 0) ||
        config_read_environment(config, environ, why, why_bytes) < 0 ||
        read_options(argc, argv, config, &modes, why, why_bytes) < 0 ||
        config_check(config, why, why_bytes) < 0 ||
        (config->auth.password_file != NULL &&
         auth_load(config->auth.password_file, &settings->auth, why, why_bytes) < 0)) {
        settings_destroy(settings);
        return NULL;
    }
    return settings;
}

void settings_keep_fixed(const struct config *started, struct config *fresh)
{
    struct config_row_text row;
    char why[256];
    for (size_t i = 0; config_row(i, &row); i++) {
        char before[CONFIG_TEXT_BYTES], after[CONFIG_TEXT_BYTES];
        if (row.reloadable || config_get(started, i, before, sizeof before) < 0 ||
            config_get(fresh, i, after, sizeof after) < 0 || strcmp(before, after) == 0)
            continue;
        log_line(LOG_WARNING, "%s.%s has changed; that takes effect at the next start", row.section,
                 row.key);
        if (config_set(fresh, row.section, row.key, before, "before", why, sizeof why) < 0)
            log_line(LOG_ERROR, "%s", why);
    }
    if (!config_same_counters(started, fresh))
        log_line(LOG_WARNING, "[counter NAME] has changed; that takes effect at the next start");
}

int settings_read_modes(int argc, char **argv, struct settings_modes *modes, char *why,
                        size_t why_bytes)
{
    return read_options(argc, argv, NULL, modes, why, why_bytes);
}
