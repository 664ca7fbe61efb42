#include "health.h"

#include "config.h"
#include "json_write.h"
#include "leader.h"
#include "objectid.h"
#include "store_worker.h"

/* Who sends a daemon nothing while it is not ready would never find out that it is again: where
 * nothing has failed for so long, since nothing was asked, the next ones may try. */
#define FAILURE_COUNTS_MS 10000

enum health_store health_store(const struct store_worker_stats *stats, struct clock_now now,
                               const struct config *config)
{
    if (stats->stopped != NULL ||
        (stats->failing_ms != 0 && now.boot_ms - stats->failed_ms < FAILURE_COUNTS_MS))
        return HEALTH_STORE_FAILS;
    if (stats->busy_ms != 0 && now.boot_ms - stats->busy_ms > config->limits.request_ms)
        return HEALTH_STORE_HANGS;
    return HEALTH_STORE_ANSWERS;
}

int64_t health_answer_age(const struct store_worker_stats *stats, struct clock_now now)
{
    return now.boot_ms > stats->answered_ms ? now.boot_ms - stats->answered_ms : 0;
}

static void text_pair(struct json *json, const char *key, const char *text)
{
    json_put_key(json, key);
    json_put_text(json, text);
}

static void integer_pair(struct json *json, const char *key, int64_t value)
{
    json_put_key(json, key);
    json_put_integer(json, value);
}

static void begin(struct json *json, struct buffer *out, const char *key, bool value)
{
    *json = (struct json){.out = out};
    json_open(json, '{');
    json_put_key(json, key);
    json_put_boolean(json, value);
}

bool health_alive(const struct dispatch *dispatch, struct clock_now now, struct buffer *json)
{
    struct dispatch_server_state state;
    struct json text;
    dispatch->server.look(dispatch->server.context, &state);
    begin(&text, json, "alive", true);
    text_pair(&text, "version", IDMINT_VERSION);
    integer_pair(&text, "uptime_s", state.uptime_s);
    json_close(&text, '}');
    return true;
}

/* Why the store does not answer, and since when. */
static void write_fault(struct json *json, const struct store_worker_stats *stats,
                        enum health_store fault, struct clock_now now)
{
    int64_t since_ms = fault == HEALTH_STORE_FAILS ? stats->failing_ms : stats->busy_ms;
    int64_t for_ms = now.boot_ms > since_ms ? now.boot_ms - since_ms : 0;
    int64_t since_s = (now.real_ms - for_ms) / 1000;
    char time[OBJECTID_TIME_TEXT];
    if (fault == HEALTH_STORE_HANGS)
        text_pair(json, "why", "the store does not answer");
    else
        text_pair(json, "why",
                  stats->failure_text[0] != '\0'     ? stats->failure_text
                  : stats->failure == STORE_NOT_DONE ? "the store refuses what it is asked"
                                                     : "the store's answers are not known");
    if (since_s >= 0 && since_s <= UINT32_MAX) {
        objectid_time_text((uint32_t)since_s, time);
        text_pair(json, "since", time);
    }
    integer_pair(json, "for_ms", for_ms);
}

bool health_ready(const struct dispatch *dispatch, struct clock_now now, struct buffer *json)
{
    struct store_worker_stats stats;
    struct json text;
    store_worker_look(dispatch->worker, &stats);
    enum health_store fault = health_store(&stats, now, dispatch->config);
    bool ready = fault == HEALTH_STORE_ANSWERS;
    begin(&text, json, "ready", ready);
    text_pair(&text, "store", dispatch->store->backend->scheme);
    if (!ready)
        write_fault(&text, &stats, fault, now);
    integer_pair(&text, "answered_ms_ago", health_answer_age(&stats, now));
    json_close(&text, '}');
    return ready;
}

bool health_leads(const struct dispatch *dispatch, struct clock_now now, struct buffer *json)
{
    struct leader_state state;
    struct json text;
    leader_look(dispatch->leader, now.boot_ms, &state);
    begin(&text, json, "leads", state.leads);
    json_put_key(&text, "leader");
    if (state.address[0] != '\0')
        json_put_text(&text, state.address);
    else
        json_put_null(&text);
    json_put_key(&text, "lease");
    json_put_boolean(&text, dispatch->store->shared);
    if (dispatch->store->shared) {
        integer_pair(&text, "epoch", state.epoch);
        integer_pair(&text, "lease_left_ms", state.lease_ms);
    }
    json_close(&text, '}');
    return state.leads;
}
