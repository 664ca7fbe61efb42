/* Commands about the daemon: what it can do, how it is set, how it is doing. */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "config.h"
#include "counter.h"
#include "health.h"
#include "leader.h"
#include "oid.h"
#include "store_worker.h"

/* --- HELP, COMMAND --- */

/* "COUNTER CREATE", or in lower case "counter|create". */
static size_t full_name(const struct command *row, bool lower, char *name, size_t name_bytes)
{
    const char *between = row->sub[0] == '\0' ? "" : lower ? "|" : " ";
    size_t len = (size_t)snprintf(name, name_bytes, "%s%s%s", row->name, between, row->sub);
    for (size_t i = 0; lower && i < len; i++)
        if (name[i] >= 'A' && name[i] <= 'Z')
            name[i] = (char)(name[i] - 'A' + 'a');
    return len;
}

enum dispatch_status command_help(struct call *call)
{
    const struct resp_arg *wanted = call->argc > 1 ? &call->args[1] : NULL;
    size_t lines = 0;
    for (size_t id = 0; id < COMMAND_IDS; id++)
        lines += wanted == NULL || command_arg_is(wanted, command_table[id].name);
    if (lines == 0)
        return command_error(call, ERROR_ERR, "no such command; HELP lists them");
    resp_write_array(call->out, lines);
    for (size_t id = 0; id < COMMAND_IDS; id++) {
        const struct command *row = &command_table[id];
        if (wanted != NULL && !command_arg_is(wanted, row->name))
            continue;
        char name[64], line[512];
        full_name(row, false, name, sizeof name);
        snprintf(line, sizeof line, "%s%s%s: %s. Reply: %s", name,
                 row->syntax[0] != '\0' ? " " : "", row->syntax, row->summary, row->reply);
        resp_write_simple(call->out, line);
    }
    return DISPATCH_REPLIED;
}

/* Redis' arity: the command's name counts; negative: at least so many. */
static int64_t redis_arity(const struct command *row)
{
    int64_t arity = row->fewest + 1 + (row->sub[0] != '\0');
    return row->most == row->fewest ? arity : -arity;
}

static void write_flags(struct buffer *out, const struct command *row)
{
    static const struct {
        unsigned flag;
        const char *name;
    } names[] = {{COMMAND_READ, "readonly"},
                 {COMMAND_WRITE, "write"},
                 {COMMAND_ADMIN, "admin"},
                 {COMMAND_OPEN, "no_auth"},
                 {COMMAND_RUN, "fast"}};
    size_t set = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        set += (row->flags & names[i].flag) != 0;
    resp_write_array(out, set);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (row->flags & names[i].flag)
            resp_write_simple(out, names[i].name);
}

static void write_command(struct buffer *out, const struct command *row)
{
    char name[64];
    size_t len = full_name(row, true, name, sizeof name);
    bool named = strncmp(row->syntax, "name", 4) == 0 && row->sub[0] == '\0';
    resp_write_array(out, 6);
    resp_write_bulk(out, name, len);
    resp_write_integer(out, redis_arity(row));
    write_flags(out, row);
    resp_write_integer(out, named ? 1 : 0);
    resp_write_integer(out, !named ? 0 : row->most < 0 && row->flags & COMMAND_READ ? -1 : 1);
    resp_write_integer(out, named ? 1 : 0);
}

enum dispatch_status command_command(struct call *call)
{
    resp_write_array(call->out, COMMAND_IDS);
    for (size_t id = 0; id < COMMAND_IDS; id++)
        write_command(call->out, &command_table[id]);
    return DISPATCH_REPLIED;
}

enum dispatch_status command_command_count(struct call *call)
{
    resp_write_integer(call->out, COMMAND_IDS);
    return DISPATCH_REPLIED;
}

/* "counter" and "counter|create" both name a row. */
static const struct command *named_row(const struct resp_arg *arg)
{
    for (size_t id = 0; id < COMMAND_IDS; id++) {
        char name[64];
        size_t len = full_name(&command_table[id], true, name, sizeof name);
        bool whole = arg->len == len && strncasecmp(arg->data, name, len) == 0;
        if (whole || (command_arg_is(arg, command_table[id].name) &&
                      (command_table[id].sub[0] == '\0' || id == 0 ||
                       strcmp(command_table[id - 1].name, command_table[id].name) != 0)))
            return &command_table[id];
    }
    return NULL;
}

enum dispatch_status command_command_info(struct call *call)
{
    if (call->argc == 2)
        return command_command(call);
    resp_write_array(call->out, call->argc - 2);
    for (size_t i = 2; i < call->argc; i++) {
        const struct command *row = named_row(&call->args[i]);
        if (row != NULL)
            write_command(call->out, row);
        else
            resp_write_null(call->out, call->session->resp3);
    }
    return DISPATCH_REPLIED;
}

static void write_docs(struct call *call, const struct command *row)
{
    char name[64];
    size_t len = full_name(row, true, name, sizeof name);
    const char *fields[][2] = {{"summary", row->summary},
                               {"since", "0.1.0"},
                               {"group", "idmint"},
                               {"syntax", row->syntax},
                               {"reply", row->reply}};
    resp_write_bulk(call->out, name, len);
    resp_write_map(call->out, sizeof fields / sizeof fields[0], call->session->resp3);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        resp_write_bulk_text(call->out, fields[i][0]);
        resp_write_bulk_text(call->out, fields[i][1]);
    }
}

enum dispatch_status command_command_docs(struct call *call)
{
    const struct command *rows[COMMAND_IDS];
    size_t count = 0;
    if (call->argc == 2)
        for (; count < COMMAND_IDS; count++)
            rows[count] = &command_table[count];
    for (size_t i = 2; i < call->argc && count < COMMAND_IDS; i++) {
        const struct command *row = named_row(&call->args[i]);
        if (row != NULL)
            rows[count++] = row;
    }
    resp_write_map(call->out, count, call->session->resp3);
    for (size_t i = 0; i < count; i++)
        write_docs(call, rows[i]);
    return DISPATCH_REPLIED;
}

/* --- CONFIG GET --- */

static bool matches(const struct call *call, const char *name)
{
    for (size_t i = 2; i < call->argc; i++) {
        char pattern[128];
        const struct resp_arg *arg = &call->args[i];
        if (arg->len >= sizeof pattern)
            continue;
        memcpy(pattern, arg->data, arg->len);
        pattern[arg->len] = '\0';
        if (fnmatch(pattern, name, FNM_CASEFOLD | FNM_NOESCAPE) == 0)
            return true;
    }
    return false;
}

/* What client libraries and redis-benchmark ask of a Redis server. */
static const char *const redis_settings[][2] = {
    {"save", ""},       {"appendonly", "yes"}, {"appendfsync", "always"},
    {"databases", "1"}, {"maxmemory", "0"},    {"timeout", "0"},
};

enum dispatch_status command_config_get(struct call *call)
{
    struct config_row_text row;
    struct buffer pairs;
    size_t count = 0;
    buffer_init(&pairs, 0);
    for (size_t i = 0; config_row(i, &row); i++) {
        char name[128], value[CONFIG_TEXT_BYTES];
        snprintf(name, sizeof name, "%s.%s", row.section, row.key);
        if (row.secret || !matches(call, name) ||
            config_get(call->dispatch->config, i, value, sizeof value) < 0)
            continue;
        resp_write_bulk_text(&pairs, name);
        resp_write_bulk_text(&pairs, value);
        count++;
    }
    for (size_t i = 0; i < sizeof redis_settings / sizeof redis_settings[0]; i++) {
        if (!matches(call, redis_settings[i][0]))
            continue;
        resp_write_bulk_text(&pairs, redis_settings[i][0]);
        resp_write_bulk_text(&pairs, redis_settings[i][1]);
        count++;
    }
    resp_write_map(call->out, count, call->session->resp3);
    buffer_append(call->out, pairs.data, pairs.len);
    call->out->failed = call->out->failed || pairs.failed;
    buffer_finish(&pairs);
    return DISPATCH_REPLIED;
}

/* --- INFO --- */

static void line(struct buffer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(struct buffer *out, const char *format, ...)
{
    char text[256];
    va_list list;
    va_start(list, format);
    int len = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (len >= (int)sizeof text)
        len = sizeof text - 1;
    buffer_append(out, text, (size_t)len);
    buffer_append(out, "\r\n", 2);
}

static void info_server(const struct dispatch *dispatch, struct clock_now now, struct buffer *out)
{
    struct dispatch_server_state state;
    dispatch->server.look(dispatch->server.context, &state);
    /* Client libraries look at redis_version to learn which commands they may use. */
    line(out, "redis_version:7.0.0");
    line(out, "redis_mode:standalone");
    line(out, "idmint_version:%s", IDMINT_VERSION);
    line(out, "process_id:%ld", (long)getpid());
    line(out, "tcp_port:%u", (unsigned)state.tcp_port);
    line(out, "uptime_in_seconds:%" PRId64, state.uptime_s);
    line(out, "io_threads:%u", state.threads);
    line(out, "server_time_usec:%" PRId64, now.real_ms * 1000);
}

static void info_clients(const struct dispatch *dispatch, struct clock_now now, struct buffer *out)
{
    struct dispatch_server_state state;
    dispatch->server.look(dispatch->server.context, &state);
    line(out, "connected_clients:%" PRIu64, state.connections);
    line(out, "maxclients:%" PRId64, dispatch->config->limits.connections);
    line(out, "buffer_bytes:%" PRIu64, state.buffer_bytes);
}

static void info_stats(const struct dispatch *dispatch, struct clock_now now, struct buffer *out)
{
    struct dispatch_server_state state;
    dispatch->server.look(dispatch->server.context, &state);
    line(out, "total_connections_received:%" PRIu64, state.connections_total);
    line(out, "rejected_connections:%" PRIu64, state.connections_refused);
    line(out, "total_commands_processed:%" PRIu64, state.commands);
}

static void info_store(const struct dispatch *dispatch, struct clock_now now, struct buffer *out)
{
    struct store_worker_stats stats;
    store_worker_look(dispatch->worker, &stats);
    const struct store_facts *facts = &dispatch->store->facts;
    line(out, "store:%s", dispatch->store->backend->scheme);
    line(out, "store_engine:%s", facts->version);
    line(out, "store_id:%s", facts->id);
    line(out, "store_birth:%" PRId64, facts->birth_s);
    line(out, "store_answers:%d",
         health_store(&stats, now, dispatch->config) == HEALTH_STORE_ANSWERS);
    line(out, "store_commits:%" PRIu64, metrics_histogram_count(&stats.commit_us));
    line(out, "store_ops:%" PRIuLEAST64, stats.commit_ops.sum);
    line(out, "store_ops_not_done:%" PRIu64, stats.ops_by_result[-STORE_NOT_DONE]);
    line(out, "store_ops_unknown:%" PRIu64, stats.ops_by_result[-STORE_UNKNOWN]);
    line(out, "store_queued:%" PRIu64, stats.queued);
    line(out, "store_commit_usec:%" PRIuLEAST64, stats.commit_us.sum);
    line(out, "store_last_done_ms_ago:%" PRId64,
         stats.last_done_ms == 0 ? -1 : now.boot_ms - stats.last_done_ms);
}

static void info_replication(const struct dispatch *dispatch, struct clock_now now,
                             struct buffer *out)
{
    struct leader_state state;
    leader_look(dispatch->leader, now.boot_ms, &state);
    line(out, "role:%s", state.leads ? "master" : "slave");
    line(out, "connected_slaves:0");
    line(out, "lease:%d", dispatch->store->shared);
    line(out, "leader_address:%s", state.address);
    line(out, "lease_epoch:%" PRId64, state.epoch);
    line(out, "lease_left_ms:%" PRId64, state.lease_ms);
}

static void info_oid(const struct dispatch *dispatch, struct clock_now now, struct buffer *out)
{
    struct oid_state state;
    oid_look(dispatch->oid, now, &state);
    line(out, "oid_last_second:%" PRIu64, state.tick >> 24);
    line(out, "oid_last_counter:%" PRIu64, state.tick & 0xffffff);
    line(out, "oid_lead_ms:%" PRId64, state.lead_ms > 0 ? state.lead_ms : 0);
    line(out, "oid_window_ms:%" PRId64, state.window_ms);
    line(out, "oid_clock_step_waited_out:%d", state.forward_step);
}

static void info_counters(const struct dispatch *dispatch, struct clock_now now, struct buffer *out)
{
    struct counters_state state;
    counters_look(dispatch->counters, &state);
    line(out, "counters_in_memory:%zu", state.in_memory);
    line(out, "counters_bytes:%" PRIu64, state.bytes);
    line(out, "counters_from_block:%" PRIu64, state.from_block);
    line(out, "counters_from_store:%" PRIu64, state.from_store);
    line(out, "counters_flushes:%" PRIu64, state.flushes);
    line(out, "counters_headroom_percent:%d", state.headroom_percent);
}

static const struct {
    const char *name, *title;
    void (*write)(const struct dispatch *, struct clock_now, struct buffer *);
} sections[] = {
    {"SERVER", "Server", info_server},
    {"CLIENTS", "Clients", info_clients},
    {"STATS", "Stats", info_stats},
    {"STORE", "Store", info_store},
    {"REPLICATION", "Replication", info_replication},
    {"OID", "Oid", info_oid},
    {"COUNTERS", "Counters", info_counters},
};

static bool section_wanted(const struct call *call, const char *name)
{
    if (call->argc == 1)
        return true;
    for (size_t i = 1; i < call->argc; i++)
        if (command_arg_is(&call->args[i], name) || command_arg_is(&call->args[i], "ALL") ||
            command_arg_is(&call->args[i], "EVERYTHING") ||
            command_arg_is(&call->args[i], "DEFAULT"))
            return true;
    return false;
}

enum dispatch_status command_info(struct call *call)
{
    struct buffer text;
    buffer_init(&text, 0);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (!section_wanted(call, sections[i].name))
            continue;
        if (text.len > 0)
            line(&text, "%s", "");
        line(&text, "# %s", sections[i].title);
        sections[i].write(call->dispatch, call->now, &text);
    }
    resp_write_bulk(call->out, text.data, text.len);
    call->out->failed = call->out->failed || text.failed;
    buffer_finish(&text);
    return DISPATCH_REPLIED;
}
