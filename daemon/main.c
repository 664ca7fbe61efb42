/* idmintd: argv, signals, wiring. The one file that exits. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/thread.h>

#include "auth.h"
#include "clock.h"
#include "config.h"
#include "counter.h"
#include "dispatch.h"
#include "leader.h"
#include "log.h"
#include "notify.h"
#include "oid.h"
#include "process.h"
#include "rates.h"
#include "resources.h"
#include "server.h"
#include "settings.h"
#include "store.h"
#include "store_worker.h"
#include "uuid.h"

/* How often the high water is looked at; the window is seconds long. */
#define SAMPLE_MS 1000
#define COUNT_MS 10000
static const struct timeval tick = {.tv_usec = 100000};
/* A saved high water this far ahead of the clock is worth a warning at start. */
#define FAR_AHEAD_S 60
/* Clocks of two machines may differ in speed by this part of a lease. */
#define LEASE_MARGIN_PARTS 20

struct app {
    int argc;
    char **argv;
    struct settings *settings;
    struct store *store;
    struct store_worker *worker;
    struct counters *counters;
    struct oid_issuer oid;
    struct uuid_source uuid;
    struct dispatch dispatch;
    struct rates rates;
    int64_t sampled_ms;
    struct resources resources;
    int64_t counted_ms;
    struct server server;
    struct event_base *base;
    struct event *events[6];
    size_t event_count;

    struct leader leader;
    bool forward_step_told;
    int64_t watchdog_ms, watched_ms;
};

/* --- Reloading --- */

static void reload(struct app *app)
{
    char why[512];
    struct settings *fresh = settings_load(app->argc, app->argv, why, sizeof why);
    if (fresh == NULL) {
        log_line(LOG_ERROR, "not reloaded, all stays as it was: %s", why);
        return;
    }
    if ((fresh->auth == NULL) != (app->settings->auth == NULL)) {
        log_line(LOG_ERROR, "not reloaded: whether credentials are asked for can only change at a "
                            "start");
        settings_destroy(fresh);
        return;
    }
    const struct settings *first = app->settings;
    while (first->older != NULL)
        first = first->older;
    settings_keep_fixed(&first->config, &fresh->config);
    fresh->older = app->settings;
    app->settings = fresh;
    server_reconfigure(&app->server, &fresh->config);
    atomic_store(&app->dispatch.auth, fresh->auth);
    log_set_level((enum log_level)fresh->config.log.level);
    log_line(LOG_NOTICE, "configuration reloaded");
}

/* --- Randomness --- */

static void get_random(void *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t got = getrandom((char *)bytes + at, len - at, 0);
        if (got > 0) {
            at += (size_t)got;
        } else if (errno != EINTR) {
            log_line(LOG_ERROR, "getrandom: %s", strerror(errno));
            abort();
        }
    }
}

/* Small requests are served from a thread's own pool: a system call for each would cost more than
 * all the rest. */
static void pooled_random(void *context, void *bytes, size_t len)
{
    static _Thread_local struct {
        uint8_t bytes[4096];
        size_t left;
    } pool;
    if (len > sizeof pool.bytes / 4) {
        get_random(bytes, len);
        return;
    }
    if (pool.left < len) {
        get_random(pool.bytes, sizeof pool.bytes);
        pool.left = sizeof pool.bytes;
    }
    uint8_t *from = pool.bytes + pool.left - len;
    memcpy(bytes, from, len);
    memset(from, 0, len);
    pool.left -= len;
}

/* --- Time --- */

static void tell_clock(struct app *app, struct clock_now now)
{
    struct oid_state state;
    oid_look(&app->oid, now, &state);
    if (state.forward_step && !app->forward_step_told)
        log_line(LOG_WARNING, "the clock stepped forward by more than oid.forward_step; not "
                              "followed unless it lasts (oid.forward_settle)");
    app->forward_step_told = state.forward_step;
}

static void count_descriptors(struct app *app, struct clock_now now)
{
    app->counted_ms = now.boot_ms;
    resources_count(&app->resources, (int64_t)atomic_load(&app->server.connections));
}

static void tick_cb(evutil_socket_t fd, short what, void *context)
{
    struct app *app = context;
    struct clock_now now = clock_read();
    leader_tick(&app->leader, now);
    tell_clock(app, now);
    if (now.boot_ms - app->sampled_ms >= SAMPLE_MS) {
        app->sampled_ms = now.boot_ms;
        rates_sample(&app->rates, &app->dispatch, now);
    }
    if (now.boot_ms - app->counted_ms >= COUNT_MS)
        count_descriptors(app, now);
    if (app->watchdog_ms > 0 && now.boot_ms - app->watched_ms >= app->watchdog_ms) {
        app->watched_ms = now.boot_ms;
        notify_send("WATCHDOG=1");
    }
}

/* --- Starting --- */

static void counter_event(void *context, enum counter_event event, const char *name,
                          size_t name_len)
{
    if (event == COUNTER_NEAR_MAX)
        log_line(LOG_WARNING, "counter %.*s: less than 10 %% is left before its MAX", (int)name_len,
                 name);
    else
        log_line(LOG_ERROR,
                 "counter %.*s: its stored value went back; stopped until COUNTER RAISE or RESET",
                 (int)name_len, name);
}

static int start_counters(struct app *app, char *why, size_t why_bytes)
{
    const struct config *config = &app->settings->config;
    struct counters_settings settings = {.auto_create = config->counters.auto_create,
                                         .in_memory = (size_t)config->counters.in_memory,
                                         .block_ms = config->counters.block_ms,
                                         .now = clock_read,
                                         .gather_clock_us =
                                             app->store->distant ? clock_monotonic_us : NULL,
                                         .event = counter_event,
                                         .context = app};
    get_random(&settings.seed, sizeof settings.seed);
    config_counter_create(config, NULL, &settings.create);
    app->counters =
        counters_create(&settings, app->store->shared, app->store->flights, app->worker);
    int status = app->counters != NULL ? 0 : -1;
    for (struct config_counter *c = config->counter; c != NULL && status == 0; c = c->next) {
        struct store_counter create;
        config_counter_create(config, c, &create);
        status = counters_override(app->counters, c->name, strlen(c->name), &create);
    }
    if (status < 0)
        snprintf(why, why_bytes, "out of memory");
    return status;
}

static void leader_event(void *context, enum leader_event event, const char *address)
{
    if (event == LEADER_TOOK)
        log_line(LOG_NOTICE, "leads: issues ObjectIds from now on");
    else if (event == LEADER_LOST)
        log_line(LOG_WARNING, "leads no more: no ObjectIds until the lease is had again");
    else
        log_line(LOG_NOTICE, "%s leads; ObjectIds are had there", address);
}

static void start_leader(struct app *app)
{
    int64_t lease_ms = app->settings->config.mongo.lease_ms;
    struct leader_settings settings = {
        .lease = {.length_ms = lease_ms, .margin_ms = lease_ms / LEASE_MARGIN_PARTS},
        .now = clock_read,
        .owner_ended = process_has_ended,
        .event = leader_event};
    process_name(settings.lease.owner);
    leader_init(&app->leader, &settings, app->store->shared, &app->oid, app->worker);
}

static void start_oid(struct app *app)
{
    const struct config *config = &app->settings->config;
    int64_t window_ms = app->store->shared ? config->mongo.window_ms : config->oid.window_ms;
    const struct oid_settings settings = {.lead_ms = config->oid.lead_ms,
                                          .forward_ms = config->oid.forward_step_ms,
                                          .settle_ms = config->oid.forward_settle_ms,
                                          .window_s = window_ms / 1000};
    uint8_t random[OBJECTID_RANDOM_BYTES + 3];
    struct clock_now now = clock_read();
    int64_t saved_s = app->store->facts.high_water_s;
    get_random(random, sizeof random);
    oid_init(&app->oid, &settings, random, now, saved_s);
    if (saved_s > now.real_ms / 1000 + FAR_AHEAD_S)
        log_line(LOG_WARNING,
                 "the saved ObjectId high water is %lld s ahead of the clock: ids carry later "
                 "seconds until the clock has caught up; see --reset-high-water",
                 (long long)(saved_s - now.real_ms / 1000));
    start_leader(app);
}

static int start_dispatch(struct app *app, char *why, size_t why_bytes)
{
    uuid_init(&app->uuid, pooled_random, NULL);
    app->dispatch.oid = &app->oid;
    app->dispatch.leader = &app->leader;
    app->dispatch.uuid = &app->uuid;
    app->dispatch.counters = app->counters;
    app->dispatch.store = app->store;
    app->dispatch.worker = app->worker;
    app->dispatch.resources = &app->resources;
    app->dispatch.now = clock_read;
    atomic_store(&app->dispatch.config, &app->settings->config);
    atomic_store(&app->dispatch.auth, app->settings->auth);
    dispatch_init(&app->dispatch);
    rates_init(&app->rates);
    return server_start(&app->server, &app->settings->config, &app->dispatch, &app->rates,
                        app->base, why, why_bytes);
}

/* The descriptors that limits.connections asks for, as far as the system grants them. */
static void raise_descriptor_limit(const struct config *config)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)config->limits.connections + 128;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < wanted)
        log_line(LOG_WARNING,
                 "only %llu descriptors may be opened: limits.connections is beyond that",
                 (unsigned long long)limit.rlim_cur);
}

static void stop_cb(evutil_socket_t signal_number, short what, void *context)
{
    struct app *app = context;
    log_line(LOG_NOTICE, "%s: finishing what is in flight", strsignal(signal_number));
    event_base_loopbreak(app->base);
}

static void reload_cb(evutil_socket_t signal_number, short what, void *context)
{
    reload(context);
}

static int start_events(struct app *app, char *why, size_t why_bytes)
{
    struct event *events[] = {event_new(app->base, -1, EV_PERSIST, tick_cb, app),
                              evsignal_new(app->base, SIGTERM, stop_cb, app),
                              evsignal_new(app->base, SIGINT, stop_cb, app),
                              evsignal_new(app->base, SIGHUP, reload_cb, app)};
    int status = 0;
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        app->events[app->event_count++] = events[i];
        if (events[i] == NULL || event_add(events[i], i == 0 ? &tick : NULL) < 0)
            status = -1;
    }
    if (status < 0)
        snprintf(why, why_bytes, "can not set up timers and signals");
    return status;
}

static int start(struct app *app, char *why, size_t why_bytes)
{
    const struct config *config = &app->settings->config;
    resources_open(&app->resources);
    app->watchdog_ms = notify_watchdog_ms();
    raise_descriptor_limit(config);
    app->base = event_base_new();
    if (app->base == NULL) {
        snprintf(why, why_bytes, "can not make an event base");
        return -1;
    }
    /* Before any thread: signals that come from now on wait until the loop runs. */
    if (start_events(app, why, why_bytes) < 0)
        return -1;
    if (store_open(config, &app->store, why, why_bytes) < 0)
        return -1;
    if (store_worker_create(app->store, (size_t)config->store.batch, &app->worker) < 0) {
        snprintf(why, why_bytes, "can not start the store's threads");
        return -1;
    }
    if (start_counters(app, why, why_bytes) < 0)
        return -1;
    start_oid(app);
    if (start_dispatch(app, why, why_bytes) < 0)
        return -1;
    /* Others send clients to where it is configured to be, else to where it listens first. */
    const char *advertise = config->listen.advertise;
    leader_advertise(&app->leader, advertise != NULL ? advertise : server_address(&app->server));
    leader_tick(&app->leader, clock_read());
    count_descriptors(app, clock_read());
    return 0;
}

/* --- Stopping --- */

/* What is in flight has ended: no thread issues any more. Hand back what was reserved ahead. */
static void hand_back(struct app *app)
{
    struct store_op last;
    struct store_lease record;
    if (app->counters != NULL)
        counters_give_back(app->counters);
    store_worker_destroy(app->worker);
    app->worker = NULL;
    if (app->counters == NULL)
        return;
    struct store_op *ops[] = {&last};
    if (leader_last_op(&app->leader, clock_read().boot_ms, &last, &record)) {
        store_commit(app->store, ops, 1);
        if (last.result != STORE_DONE)
            log_line(LOG_WARNING, "the high water could not be lowered: %s", last.text);
    }
    leader_finish(&app->leader);
}

static void finish(struct app *app)
{
    notify_send("STOPPING=1");
    /* Gives the signals back: a second SIGTERM ends a daemon whose store hangs. */
    for (size_t i = 0; i < app->event_count; i++)
        if (app->events[i] != NULL)
            event_free(app->events[i]);
    if (app->server.config != NULL)
        server_stop(&app->server);
    if (app->worker != NULL)
        hand_back(app);
    if (app->server.config != NULL)
        server_finish(&app->server);
    counters_destroy(app->counters);
    if (app->dispatch.uuid != NULL) {
        uuid_finish(&app->uuid);
        rates_finish(&app->rates);
    }
    store_close(app->store);
    if (app->base != NULL)
        event_base_free(app->base);
    settings_destroy(app->settings);
    resources_close(&app->resources);
    libevent_global_shutdown();
}

static void print_line(const char *text)
{
    puts(text);
}

static int survey(const struct config *config)
{
    char why[512];
    struct store *store;
    if (store_open(config, &store, why, sizeof why) < 0) {
        fprintf(stderr, "idmintd: %s\n", why);
        return EXIT_FAILURE;
    }
    int status = 0;
    if (store->backend->survey == NULL)
        puts("this store takes nothing over: there is nothing to tell");
    else
        status = store->backend->survey(store, print_line, why, sizeof why);
    store_close(store);
    if (status < 0)
        fprintf(stderr, "idmintd: %s\n", why);
    return status < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int reset_high_water(const struct config *config, const char *word)
{
    char why[512];
    struct store *store;
    if (strcmp(word, "FORCE") != 0) {
        fputs("idmintd: ids may be issued again by this: say --reset-high-water FORCE\n", stderr);
        return EXIT_FAILURE;
    }
    if (store_open(config, &store, why, sizeof why) < 0) {
        fprintf(stderr, "idmintd: %s\n", why);
        return EXIT_FAILURE;
    }
    struct store_op op = {.verb = STORE_HIGH_WATER, .name = ""};
    struct store_op *ops[] = {&op};
    op.value = clock_read().real_ms / 1000;
    printf("high water: was %lld, is %lld\n", (long long)store->facts.high_water_s,
           (long long)op.value);
    store_commit(store, ops, 1);
    store_close(store);
    return op.result == STORE_DONE ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int check_store(const struct config *config)
{
    char why[512];
    struct store *store;
    if (store_open(config, &store, why, sizeof why) < 0) {
        fprintf(stderr, "idmintd: %s\n", why);
        return EXIT_FAILURE;
    }
    printf("store ok: %s, id %s\n", store->facts.version, store->facts.id);
    if (store->notice[0] != '\0')
        printf("notice: %s\n", store->notice);
    store_close(store);
    return EXIT_SUCCESS;
}

static int serve(struct app *app)
{
    char why[512];
    int status = start(app, why, sizeof why);
    if (status < 0) {
        log_line(LOG_ERROR, "can not start: %s", why);
    } else {
        server_tell_ports(&app->server);
        log_line(LOG_NOTICE, "idmintd %s ready: store %s %s", IDMINT_VERSION,
                 app->store->backend->scheme, app->store->facts.id);
        if (app->store->notice[0] != '\0')
            log_line(LOG_WARNING, "store: %s", app->store->notice);
        notify_send("READY=1");
        event_base_dispatch(app->base);
    }
    finish(app);
    if (status == 0)
        log_line(LOG_NOTICE, "stopped");
    return status < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A standard stream that was closed must not become a socket, to which the log would go. */
static void keep_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    char why[512];
    keep_standard_streams();
    struct settings_modes modes = {0};
    if (settings_read_modes(argc, argv, &modes, why, sizeof why) < 0) {
        fprintf(stderr, "idmintd: %s\n", why);
        return EXIT_FAILURE;
    }
    if (modes.help || modes.version) {
        if (modes.help)
            settings_print_help();
        else
            puts("idmintd " IDMINT_VERSION);
        return EXIT_SUCCESS;
    }
    struct settings *settings = settings_load(argc, argv, why, sizeof why);
    if (settings == NULL) {
        fprintf(stderr, "idmintd: %s\n", why);
        return EXIT_FAILURE;
    }
    if (modes.check || modes.check_store || modes.survey || modes.reset_high_water != NULL) {
        int status = EXIT_SUCCESS;
        if (modes.reset_high_water != NULL)
            status = reset_high_water(&settings->config, modes.reset_high_water);
        else if (modes.survey)
            status = survey(&settings->config);
        else if (modes.check_store)
            status = check_store(&settings->config);
        else
            puts("configuration ok");
        settings_destroy(settings);
        return status;
    }
    signal(SIGPIPE, SIG_IGN);
    log_set_level((enum log_level)settings->config.log.level);
    struct app *app = aligned_alloc(_Alignof(struct app), sizeof *app);
    if (app == NULL)
        return EXIT_FAILURE;
    memset(app, 0, sizeof *app);
    app->argc = argc;
    app->argv = argv;
    app->settings = settings;
    int status = serve(app);
    free(app);
    return status;
}
