/* /metrics: Prometheus text format 0.0.4. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "counter.h"
#include "dispatch.h"
#include "health.h"
#include "leader.h"
#include "metrics.h"
#include "metrics_rows.h"
#include "oid.h"
#include "resources.h"
#include "store_worker.h"

enum unit { UNIT_LABELS = 0, UNIT_ONE = 1, UNIT_PERCENT = 100, UNIT_MS = 1000, UNIT_US = 1000000 };

static const struct row {
    const char *name, *type, *help;
    enum unit unit;
} rows[METRIC_IDS] = {
#define METRIC_ROW(id, name, type, unit, help) [METRIC_##id] = {name, #type, help, UNIT_##unit},
    METRIC_ROWS
#undef METRIC_ROW
};

/* A row with this value has no sample. */
#define NOT_TOLD INT64_MIN

/* All that is told, looked at once. */
struct view {
    const struct dispatch *dispatch;
    struct metrics_loop sum;
    struct store_worker_stats store;
    struct counters_state counters;
    int64_t values[METRIC_IDS]; /* of the rows that have one */
};

/* --- Looking --- */

static void look_at_server(struct view *view)
{
    const struct dispatch *dispatch = view->dispatch;
    const struct config *config = dispatch->config;
    struct dispatch_server_state state;
    dispatch->server.look(dispatch->server.context, &state);
    view->values[METRIC_CONNECTIONS] = (int64_t)state.connections;
    view->values[METRIC_CONNECTIONS_LIMIT] = config->limits.connections;
    view->values[METRIC_OPENED] = (int64_t)state.connections_total;
    view->values[METRIC_REFUSED] = (int64_t)state.connections_refused;
    view->values[METRIC_BUFFERS] = (int64_t)state.buffer_bytes;
    view->values[METRIC_BUFFERS_LIMIT] = config->limits.buffer_bytes;
}

static void look_at_store(struct view *view, struct clock_now now)
{
    store_worker_look(view->dispatch->worker, &view->store);
    view->values[METRIC_STORE_UP] =
        health_store(&view->store, now, view->dispatch->config) == HEALTH_STORE_ANSWERS;
    view->values[METRIC_STORE_AGE] = health_answer_age(&view->store, now);
    view->values[METRIC_STORE_QUEUED] = (int64_t)view->store.queued;
}

static void look_at_issuer(struct view *view, struct clock_now now)
{
    struct oid_state oid;
    struct leader_state leader;
    oid_look(view->dispatch->oid, now, &oid);
    leader_look(view->dispatch->leader, now.boot_ms, &leader);
    /* Once no id was drawn for a while the last one is behind the clock: that is no lead. */
    view->values[METRIC_OID_LEAD] = oid.lead_ms > 0 ? oid.lead_ms : 0;
    view->values[METRIC_OID_WINDOW] = oid.window_ms;
    view->values[METRIC_OID_WINDOW_SIZE] = oid.window_size_ms;
    view->values[METRIC_CLOCK_STEP] = oid.forward_step;
    view->values[METRIC_LEADS] = leader.leads;
    view->values[METRIC_LEASE_LEFT] = leader.lease_ms;
    view->values[METRIC_LEASE_EPOCH] = leader.epoch;
}

static void look_at_counters(struct view *view)
{
    struct counters_state *state = &view->counters;
    counters_look(view->dispatch->counters, state);
    view->values[METRIC_COUNTERS] = (int64_t)state->in_memory;
    view->values[METRIC_COUNTERS_BYTES] = (int64_t)state->bytes;
    view->values[METRIC_COUNTER_FLUSHES] = (int64_t)state->flushes;
    view->values[METRIC_HEADROOM] = state->headroom_percent;
}

static int64_t if_told(int64_t value)
{
    return value >= 0 ? value : NOT_TOLD;
}

static void look_at_process(struct view *view)
{
    struct resources_state state;
    resources_look(view->dispatch->resources, &state);
    view->values[METRIC_RESIDENT] = if_told(state.resident_bytes);
    view->values[METRIC_CPU] = state.cpu_us;
    view->values[METRIC_OPEN_FDS] =
        if_told(state.other_fds < 0 ? -1 : state.other_fds + view->values[METRIC_CONNECTIONS]);
    view->values[METRIC_MAX_FDS] = state.max_fds;
    view->values[METRIC_START] = if_told(state.start_ms);
}

/* --- Text --- */

static void put(struct buffer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct buffer *out, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    int len = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    buffer_append(out, text, len < (int)sizeof text ? (size_t)len : sizeof text - 1);
}

/* value / unit, exact, without zeros at its end. */
static void put_number(struct buffer *out, int64_t value, uint64_t unit)
{
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    uint64_t rest = size % unit;
    put(out, "%s%" PRIu64 "%s", value < 0 ? "-" : "", size / unit, rest != 0 ? "." : "");
    for (; rest != 0; rest %= unit) {
        unit /= 10;
        put(out, "%" PRIu64, rest / unit);
    }
}

static void put_label(struct buffer *out, const char *name, const char *value)
{
    put(out, "%s=\"", name);
    for (; *value != '\0'; value++) {
        if (*value == '\n')
            put(out, "\\n");
        else
            put(out, "%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
    }
    put(out, "\"");
}

/* A sample with one label. */
static void put_count(struct buffer *out, enum metric_id id, const char *label, const char *value,
                      uint64_t count)
{
    put(out, "%s{", rows[id].name);
    put_label(out, label, value);
    put(out, "} %" PRIu64 "\n", count);
}

/* The samples of a histogram. label "": it has none of its own. */
static void put_histogram(struct buffer *out, enum metric_id id, const char *label,
                          const char *value, const struct metrics_histogram *histogram,
                          const uint64_t *bounds, enum unit unit)
{
    const char *name = rows[id].name;
    uint64_t count = 0;
    for (size_t i = 0; i < METRICS_BUCKETS; i++) {
        count += histogram->buckets[i];
        put(out, "%s_bucket{", name);
        if (label[0] != '\0') {
            put_label(out, label, value);
            put(out, ",");
        }
        put(out, "le=\"");
        if (i < METRICS_BUCKETS - 1)
            put_number(out, (int64_t)bounds[i], unit);
        else
            put(out, "+Inf");
        put(out, "\"} %" PRIu64 "\n", count);
    }
    for (int is_count = 0; is_count < 2; is_count++) {
        put(out, "%s_%s", name, is_count ? "count" : "sum");
        if (label[0] != '\0') {
            put(out, "{");
            put_label(out, label, value);
            put(out, "}");
        }
        put(out, " ");
        put_number(out, (int64_t)(is_count ? count : histogram->sum), is_count ? UNIT_ONE : unit);
        put(out, "\n");
    }
}

/* --- The families with labels --- */

static void put_build(const struct view *view, struct buffer *out)
{
    const struct store *store = view->dispatch->store;
    put(out, "%s{", rows[METRIC_BUILD].name);
    put_label(out, "version", IDMINT_VERSION);
    put(out, ",");
    put_label(out, "store", store->backend->scheme);
    put(out, ",");
    put_label(out, "engine", store->facts.version);
    put(out, "} 1\n");
}

static void put_commands(const struct view *view, struct buffer *out)
{
    for (size_t id = 0; id < COMMAND_IDS; id++) {
        const struct metrics_histogram *histogram = &view->sum.command_us[id];
        const struct command *row = &command_table[id];
        char name[64];
        if (metrics_histogram_count(histogram) == 0)
            continue;
        snprintf(name, sizeof name, "%s%s%s", row->name, row->sub[0] != '\0' ? " " : "", row->sub);
        put_histogram(out, METRIC_COMMANDS, "command", name, histogram, metrics_us_bounds, UNIT_US);
    }
}

static void put_errors(const struct view *view, struct buffer *out)
{
    for (int word = ERROR_NONE + 1; word < ERROR_WORDS; word++)
        put_count(out, METRIC_ERRORS, "word", error_word_text((enum error_word)word),
                  view->sum.errors[word]);
}

static void put_http(const struct view *view, struct buffer *out)
{
    for (int class = 1; class < 6; class ++) {
        const char status[] = {(char)('0' + class), 'x', 'x', '\0'};
        put_count(out, METRIC_HTTP, "status", status, view->sum.http_requests[class]);
    }
}

static void put_issued(const struct view *view, struct buffer *out)
{
    static const char *const kinds[] = {
        [METRICS_OID] = "oid", [METRICS_COUNTER] = "counter", [METRICS_UUID] = "uuid"};
    for (int kind = 0; kind < METRICS_KINDS; kind++)
        put_count(out, METRIC_ISSUED, "kind", kinds[kind], view->sum.issued[kind]);
}

static void put_store_ops(const struct view *view, struct buffer *out)
{
    static const char *const outcomes[STORE_RESULTS] = {
        [-STORE_DONE] = "done",           [-STORE_NOT_DONE] = "not_done",
        [-STORE_UNKNOWN] = "unknown",     [-STORE_ABSENT] = "absent",
        [-STORE_EXISTS] = "exists",       [-STORE_EXHAUSTED] = "exhausted",
        [-STORE_WRONGTYPE] = "wrongtype", [-STORE_CHANGED] = "changed",
        [-STORE_REFUSED] = "refused"};
    for (size_t i = 0; i < STORE_RESULTS; i++)
        put_count(out, METRIC_STORE_OPS, "outcome", outcomes[i], view->store.ops_by_result[i]);
}

static void put_commit_time(const struct view *view, struct buffer *out)
{
    put_histogram(out, METRIC_COMMIT_TIME, "", "", &view->store.commit_us, metrics_us_bounds,
                  UNIT_US);
}

static void put_commit_ops(const struct view *view, struct buffer *out)
{
    put_histogram(out, METRIC_COMMIT_OPS, "", "", &view->store.commit_ops, metrics_ops_bounds,
                  UNIT_ONE);
}

static void put_counter_replies(const struct view *view, struct buffer *out)
{
    put_count(out, METRIC_COUNTER_REPLIES, "source", "block", view->counters.from_block);
    put_count(out, METRIC_COUNTER_REPLIES, "source", "store", view->counters.from_store);
}

static void (*const families[METRIC_IDS])(const struct view *, struct buffer *) = {
    [METRIC_BUILD] = put_build,
    [METRIC_COMMANDS] = put_commands,
    [METRIC_ERRORS] = put_errors,
    [METRIC_HTTP] = put_http,
    [METRIC_ISSUED] = put_issued,
    [METRIC_STORE_OPS] = put_store_ops,
    [METRIC_COMMIT_TIME] = put_commit_time,
    [METRIC_COMMIT_OPS] = put_commit_ops,
    [METRIC_COUNTER_REPLIES] = put_counter_replies,
};

void metrics_write(const struct dispatch *dispatch, struct clock_now now, struct buffer *out)
{
    struct view view = {.dispatch = dispatch};
    metrics_add_up(dispatch, &view.sum);
    look_at_server(&view);
    look_at_store(&view, now);
    look_at_issuer(&view, now);
    look_at_counters(&view);
    look_at_process(&view);
    for (size_t id = 0; id < METRIC_IDS; id++) {
        const struct row *row = &rows[id];
        put(out, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help, row->name, row->type);
        if (families[id] != NULL) {
            families[id](&view, out);
        } else if (view.values[id] != NOT_TOLD) {
            put(out, "%s ", row->name);
            put_number(out, view.values[id], row->unit);
            put(out, "\n");
        }
    }
}
