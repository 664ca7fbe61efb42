/* Values that contradict each other, which no single key can tell. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "config.h"
#include "store.h"

/* What a name stands for is known, and judged, only when it is listened on. */
static bool is_network(const struct address *place)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (place->local)
        return false;
    if (inet_pton(AF_INET, place->host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 != 127;
    if (inet_pton(AF_INET6, place->host, &v6) == 1)
        return !IN6_IS_ADDR_LOOPBACK(&v6) && !(IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
    return false;
}

static int check_listen(const struct config *config, const char *key, const char *at, char *why,
                        size_t why_bytes)
{
    for (;;) {
        at += strspn(at, " \t");
        size_t size = strcspn(at, ","), len = size;
        while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
            len--;
        struct address place;
        if (!address_parse(at, len, &place)) {
            snprintf(
                why, why_bytes,
                "[listen] %s: \"%.*s\": not an address: give host:port, [v6]:port or unix:PATH",
                key, (int)len, at);
            return -1;
        }
        if (is_network(&place) && !config->auth.password_file && !config->auth.allow_open) {
            snprintf(why, why_bytes,
                     "[listen] %s: %.*s is open to the network: set [auth] password_file, or "
                     "[auth] allow_open = yes to do without",
                     key, (int)len, at);
            return -1;
        }
        if (at[size] == '\0')
            return 0;
        at += size + 1;
    }
}

static int check_counter(const struct config *config, const struct config_counter *counter,
                         char *why, size_t why_bytes)
{
    struct store_counter create;
    config_counter_create(config, counter, &create);
    const char *bad = store_counter_check(&create);
    if (!bad)
        return 0;
    if (counter)
        snprintf(why, why_bytes, "[counter %s]: %s", counter->name, bad);
    else
        snprintf(why, why_bytes, "[counters]: %s", bad);
    return -1;
}

int config_check(const struct config *config, char *why, size_t why_bytes)
{
    if (check_listen(config, "resp", config->listen.resp, why, why_bytes) != 0 ||
        (config->listen.http != NULL &&
         check_listen(config, "http", config->listen.http, why, why_bytes) != 0))
        return -1;
    if (config->oid.window_ms % 1000 != 0 || config->mongo.window_ms % 1000 != 0) {
        snprintf(why, why_bytes, "[%s] window: must be whole seconds, since ids hold no less",
                 config->oid.window_ms % 1000 != 0 ? "oid" : "mongo");
        return -1;
    }
    if (config->limits.output_bytes > config->limits.buffer_bytes) {
        snprintf(why, why_bytes, "[limits] output: must not be greater than buffers");
        return -1;
    }
    if (check_counter(config, NULL, why, why_bytes) != 0)
        return -1;
    for (const struct config_counter *counter = config->counter; counter; counter = counter->next) {
        if (check_counter(config, counter, why, why_bytes) != 0)
            return -1;
    }
    return 0;
}
