/* From a command to its handler. Knows no socket: a handler writes its reply to a buffer, or leaves
 * a request whose reply comes later. The line protocol and HTTP call the same handlers. */
#ifndef IDMINT_DISPATCH_H
#define IDMINT_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "commands.h"
#include "request.h"
#include "resp.h"
#include "session.h"

struct auth;
struct config;
struct counters;
struct leader;
struct metrics_loop;
struct oid_issuer;
struct store;
struct store_worker;
struct uuid_source;

/* What the core asks of whoever owns the connections. */
struct dispatch_server_state {
    uint64_t connections, connections_total, connections_refused;
    uint64_t commands;
    uint64_t buffer_bytes;
    int64_t uptime_s;
    unsigned threads;
    uint16_t tcp_port; /* 0: none */
};
struct dispatch_server {
    void *context;
    void (*look)(void *context, struct dispatch_server_state *state);
    /* Append one line a connection, as CLIENT LIST tells them. */
    void (*list)(void *context, struct buffer *out);
    /* Close those that match: id (0: any) and address (NULL: any); returns how many. The calling
     * session is closed after its reply. */
    int (*kill)(void *context, uint64_t id, const char *address, size_t address_len);
    /* What loop thread number `index` has counted; NULL past the last. */
    const struct metrics_loop *(*metrics)(void *context, unsigned index);
    /* Name a connection; others may be listing it. */
    void (*set_name)(void *context, struct session *session, const char *name, size_t name_len);
};

struct dispatch {
    struct oid_issuer *oid;
    struct leader *leader;
    struct uuid_source *uuid;
    struct counters *counters;
    const struct store *store;
    struct store_worker *worker;
    const struct resources *resources;
    /* Replaced when they are read again; old ones live on until all loops have ended. */
    _Atomic(const struct config *) config;
    _Atomic(const struct auth *) auth; /* NULL: no credentials are asked for */
    struct clock_now (*now)(void);
    struct dispatch_server server;
    uint8_t buckets[256]; /* the command table by name; made by dispatch_init */
    uint8_t chain[COMMAND_IDS + 1];
};

struct command {
    const char *name, *sub;
    int fewest, most;
    unsigned flags;
    const char *syntax, *summary, *reply;
};
extern const struct command command_table[COMMAND_IDS];

enum dispatch_status {
    DISPATCH_REPLIED, /* the reply was written to call->out */
    DISPATCH_WAITS,   /* call->request holds the place of the reply; what was written to call->out
                       * comes before it */
    DISPATCH_LATER,   /* not yet: earlier commands of the connection must be answered first */
    DISPATCH_REPLAY,  /* replied; now carry out call->session->multi, then go on */
    DISPATCH_CLOSE,   /* replied; close the connection when that is sent */
    DISPATCH_DROP,    /* close at once, without a reply: this is a browser that was tricked */
};

/* One call: a command, or a run of identical ones. */
struct call {
    struct dispatch *dispatch;
    struct session *session;
    const struct resp_arg *args; /* args[0] is the command's name */
    size_t argc;
    const char *raw; /* the command as it came; NULL, and both lengths 0, where it did not come as
                      * the line protocol has it */
    size_t raw_len;
    size_t rest_len; /* bytes at hand behind it */
    struct clock_now now;
    struct buffer *out;

    const struct command *command; /* out; NULL where it is unknown, or queued for EXEC */
    uint32_t repeat;               /* out: so many identical commands were carried out; they stand
                                    * one behind the other, raw_len bytes each */
    struct request *request;       /* out with DISPATCH_WAITS: the caller owns it */
};

void dispatch_init(struct dispatch *dispatch);

void session_init(struct session *session, const struct dispatch *dispatch,
                  struct request_host *host, uint64_t id);
void session_finish(struct session *session);

/* On the thread that owns the session. */
enum dispatch_status dispatch_call(struct call *call) __attribute__((warn_unused_result));

/* The row of that name and subcommand; NULL: none. Case does not matter. */
const struct command *dispatch_find(const struct dispatch *dispatch, const struct resp_arg *args,
                                    size_t argc);

#endif
