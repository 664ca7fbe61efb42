/* bench: how fast a daemon answers, with bounded effort. */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "options.h"
#include "output.h"

#define CONNECTIONS_MOST 64

enum bench_kind { BENCH_OID, BENCH_NEXT, BENCH_RANGE, BENCH_TEXT, BENCH_KINDS };

static const struct {
    const char *name;
    const char *what; /* one request gives */
    int64_t count_default, count_most;
} kinds[BENCH_KINDS] = {
    [BENCH_OID] = {"oid", "one id", 1, 1},
    [BENCH_NEXT] = {"next", "one value", 1, 1},
    [BENCH_RANGE] = {"range", "ids expanded here", 100000, 1000000},
    [BENCH_TEXT] = {"text", "ids decoded here", 1000, IDMINT_OIDS_MAX},
};

struct bench {
    enum bench_kind kind;
    const char *counter;
    int64_t seconds, connections, pipeline, count; /* count: ids of one request */
};

/* One connection, in a thread of its own. */
struct bench_worker {
    const struct bench *bench;
    struct idmint *handle;
    struct idmint_oid *ids; /* room for bench->count; overwritten by each reply */
    pthread_t thread;
    int64_t requests;
    double seconds;
    int outcome;
};

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int submit_one(struct bench_worker *worker)
{
    const struct bench *bench = worker->bench;

    switch (bench->kind) {
    case BENCH_NEXT:
        return idmint_submit_next(worker->handle, bench->counter, 1, NULL);
    case BENCH_RANGE:
        return idmint_submit_range(worker->handle, (uint32_t)bench->count, NULL);
    case BENCH_TEXT:
        return idmint_submit_oids(worker->handle, (size_t)bench->count, worker->ids, NULL);
    default:
        return idmint_submit_oid(worker->handle, NULL);
    }
}

static void take_ready(struct bench_worker *worker)
{
    struct idmint_result result;

    while (worker->outcome == IDMINT_OK && idmint_receive(worker->handle, &result)) {
        worker->outcome = result.outcome;
        if (worker->outcome == IDMINT_OK && worker->bench->kind == BENCH_RANGE) {
            worker->outcome =
                idmint_oid_expand(&result.oid, 0, (size_t)worker->bench->count, worker->ids);
        }
        worker->requests += worker->outcome == IDMINT_OK;
    }
}

static void *work(void *context)
{
    struct bench_worker *worker = context;
    const size_t pipeline = (size_t)worker->bench->pipeline;
    const double start = now_s(), end = start + (double)worker->bench->seconds;

    for (;;) {
        const bool go_on = now_s() < end;

        while (go_on && worker->outcome == IDMINT_OK &&
               idmint_outstanding(worker->handle) < pipeline) {
            worker->outcome = submit_one(worker);
        }
        if (worker->outcome != IDMINT_OK || idmint_outstanding(worker->handle) == 0) {
            break;
        }
        worker->outcome = idmint_process(worker->handle);
        const size_t before = idmint_outstanding(worker->handle);
        take_ready(worker);
        if (worker->outcome == IDMINT_OK && idmint_outstanding(worker->handle) == before) {
            struct pollfd poll_fd = {.fd = idmint_fd(worker->handle),
                                     .events = idmint_events(worker->handle)};

            (void)poll(&poll_fd, 1, idmint_wait_ms(worker->handle));
        }
    }
    worker->seconds = now_s() - start;
    return NULL;
}

static bool open_worker(struct bench_worker *worker, const struct command_context *context,
                        const struct bench *bench)
{
    worker->bench = bench;
    worker->ids = malloc((size_t)bench->count * sizeof(*worker->ids));
    if (!worker->ids || idmint_create(context->connect, &worker->handle) != IDMINT_OK) {
        output_error("bench: no memory");
        return false;
    }
    return true;
}

static int report(const struct command_context *context, const struct bench *bench,
                  const struct bench_worker *workers)
{
    const char *name = kinds[bench->kind].name;
    double requests_s = 0, ids_s;

    for (int64_t i = 0; i < bench->connections; i++) {
        requests_s += (double)workers[i].requests / workers[i].seconds;
    }
    ids_s = requests_s * (double)bench->count;
    if (context->json) {
        return output_json(
            json_pack("{s:s,s:f,s:f,s:I,s:I,s:I,s:I}", "bench", name, "requests_per_second",
                      requests_s, "values_per_second", ids_s, "seconds", (json_int_t)bench->seconds,
                      "connections", (json_int_t)bench->connections, "pipeline",
                      (json_int_t)bench->pipeline, "count", (json_int_t)bench->count));
    }
    printf("%-6s %11.0f requests/s %12.0f values/s  (%" PRId64 " s, connections %" PRId64
           ", pipeline %" PRId64 ", %" PRId64 " %s a request)\n",
           name, requests_s, ids_s, bench->seconds, bench->connections, bench->pipeline,
           bench->count, kinds[bench->kind].what);
    return EXIT_DONE;
}

static int run_one(const struct command_context *context, const struct bench *bench)
{
    struct bench_worker workers[CONNECTIONS_MOST] = {0};
    int64_t opened = 0, started = 0;
    int code = EXIT_DONE;

    while (opened < bench->connections && code == EXIT_DONE) {
        code = open_worker(&workers[opened++], context, bench) ? EXIT_DONE : EXIT_LOCAL;
    }
    while (code == EXIT_DONE && started < bench->connections) {
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0) {
            output_error("bench: can not start a thread");
            code = EXIT_LOCAL;
        } else {
            started++;
        }
    }
    for (int64_t i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        if (code == EXIT_DONE) {
            const struct command_context worker = {.handle = workers[i].handle};

            code = output_outcome(&worker, workers[i].outcome, kinds[bench->kind].name);
        }
    }
    if (code == EXIT_DONE) {
        code = report(context, bench, workers);
    }
    for (int64_t i = 0; i < opened; i++) {
        idmint_destroy(workers[i].handle);
        free(workers[i].ids);
    }
    return code;
}

static bool wanted(const struct command_context *context, enum bench_kind kind)
{
    for (size_t i = 0; i < context->arg_count; i++) {
        if (strcmp(context->args[i], kinds[kind].name) == 0) {
            return true;
        }
    }
    return context->arg_count == 0;
}

static bool known(const char *name)
{
    for (int kind = 0; kind < BENCH_KINDS; kind++) {
        if (strcmp(name, kinds[kind].name) == 0) {
            return true;
        }
    }
    output_error("there is no bench '%s': oid, next, range, text", name);
    return false;
}

static int run_bench(struct command_context *context)
{
    const char *counter = options_value(context, "counter");
    struct bench bench = {.counter = counter ? counter : "idmint.bench",
                          .seconds = 2,
                          .connections = 1,
                          .pipeline = 16};
    int64_t count = 0;
    int code = EXIT_DONE;

    for (size_t i = 0; i < context->arg_count; i++) {
        if (!known(context->args[i])) {
            return EXIT_USAGE;
        }
    }
    if (!options_value_integer(context, "seconds", 1, 60, &bench.seconds) ||
        !options_value_integer(context, "connections", 1, CONNECTIONS_MOST, &bench.connections) ||
        !options_value_integer(context, "pipeline", 1, 1024, &bench.pipeline) ||
        !options_value_integer(context, "count", 1, 1000000, &count)) {
        return EXIT_USAGE;
    }
    for (int kind = 0; kind < BENCH_KINDS && code == EXIT_DONE; kind++) {
        bench.kind = (enum bench_kind)kind;
        bench.count = count > 0 ? count : kinds[kind].count_default;
        bench.count = bench.count < kinds[kind].count_most ? bench.count : kinds[kind].count_most;
        if (wanted(context, bench.kind)) {
            code = run_one(context, &bench);
            (void)fflush(stdout);
        }
    }
    return code;
}

static const struct command_option bench_options[] = {
    {"seconds", "N", "of each measurement, 1 to 60 (default 2)"},
    {"connections", "N", "each in a thread of its own, 1 to 64 (default 1)"},
    {"pipeline", "N", "requests under way on each, 1 to 1024 (default 16)"},
    {"count", "N", "ids of one request (default: range 100000, text 1000)"},
    {"counter", "NAME", "the counter that next draws from (default idmint.bench)"},
    {NULL, NULL, NULL},
};

const struct command bench_commands[] = {
    {"bench", "", "[oid|next|range|text]...", "Measure how fast the daemon answers",
     "Takes ids and values for good: not for a daemon that is short of either.\n"
     "oid: single ids; next: single values; range: OID RANGE, spelled out here; text: OID N,\n"
     "decoded here.",
     0, 4, false, bench_options, run_bench},
    {NULL, NULL, NULL, NULL, NULL, 0, 0, false, NULL, NULL},
};
