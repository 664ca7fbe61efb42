/* libidmint: ObjectIds, durable counters and UUIDs from an idmintd.
 *
 * A handle (struct idmint) is one connection. One thread at a time may use it; different handles
 * are independent. A pool (struct idmint_pool) is for many threads: each takes a handle, uses it
 * and gives it back.
 *
 * A handle connects when it is first needed. When its connection is lost it connects anew for the
 * next call, trying the next of its addresses.
 *
 * Deadlines. Each call ends within the handle's timeout (timeout_ms), which covers connecting,
 * sending and receiving together, on the monotonic clock. One thing can not be bounded: looking up
 * a host NAME blocks in getaddrinfo(3). Numeric addresses and Unix sockets need no look-up.
 *
 * Outcomes. Every call that asks the server for something ends in one of enum idmint_outcome. A
 * command is never repeated by the library where it may have been done: after IDMINT_UNKNOWN a
 * value may have been taken; it is then lost and will not be issued again, so asking anew is safe,
 * it only leaves a gap. A command that was provably never sent whole is sent again within the
 * deadline, to the next address. An answer NOTLEADER HOST:PORT is followed, once a call, to that
 * address (with the same credential: only name servers you trust).
 *
 * After a time-out, or a reply that can not be understood, the connection is closed: a stream whose
 * place is lost is never used again.
 *
 * Fork. A handle or pool belongs to the process that made it. In a child every call returns
 * IDMINT_FORKED; idmint_destroy there only closes the child's copy of the descriptor and sends
 * nothing, so the parent is not disturbed. No SIGPIPE is raised.
 *
 * Outputs are written only when a call returns IDMINT_OK, unless its comment says otherwise. */
#ifndef IDMINT_H
#define IDMINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define IDMINT_API __attribute__((visibility("default")))
#define IDMINT_CHECKED __attribute__((visibility("default"), warn_unused_result))
#else
#define IDMINT_API
#define IDMINT_CHECKED
#endif

enum idmint_outcome {
    IDMINT_OK = 0,         /* done */
    IDMINT_NOT_DONE = -1,  /* nothing was taken; it is safe to repeat the call */
    IDMINT_UNKNOWN = -2,   /* it may have been done; a value, if one was taken, is lost for good */
    IDMINT_REFUSED = -3,   /* the server said no and nothing was taken; repeating will not help.
                            * idmint_error_word tells which: "ERR", "EXHAUSTED", "WRONGTYPE",
                            * "BACKWARD", "NOAUTH", "WRONGPASS", "NOPERM", ... */
    IDMINT_ARGUMENT = -4,  /* an argument is wrong, or the call does not fit the handle's state;
                            * nothing was sent */
    IDMINT_FORKED = -5,    /* the handle belongs to another process; nothing was sent */
    IDMINT_NO_MEMORY = -6, /* no memory; nothing was sent */
};

/* "done", "not done", ... for any value; never NULL. */
IDMINT_API const char *idmint_outcome_text(int outcome);

/* The version of the library: "0.1.0". */
IDMINT_API const char *idmint_version(void);

/* ---- Handles ----------------------------------------------------------------------------------
 */

struct idmint;

#define IDMINT_DEFAULT_ADDRESS "127.0.0.1:7377"
#define IDMINT_DEFAULT_TIMEOUT_MS 2000 /* above the daemon's own deadline of 1500 */
#define IDMINT_DEFAULT_CONNECT_MS 1000

/* Set all to zero (= {0}), then what is wanted. The strings are copied. */
struct idmint_options {
    const char *addresses; /* host:port, [v6]:port or unix:PATH; without a port it is 7377; several
                            * by comma (at most 64): the next is tried where one fails. NULL: the
                            * default address */
    const char *user;      /* NULL: "default" */
    const char *password;  /* NULL: no authentication */
    uint32_t timeout_ms;   /* of each call, 1 .. 3600000; 0: the default */
    uint32_t connect_timeout_ms; /* of each address, part of timeout_ms; 0: the default */
};

/* A handle, not connected yet. options may be NULL. The caller destroys it. On failure no handle is
 * made: IDMINT_ARGUMENT (addresses, user or timeouts are wrong) or IDMINT_NO_MEMORY. */
IDMINT_CHECKED int idmint_create(const struct idmint_options *options, struct idmint **handle);

/* Closes the connection and frees the handle; results still outstanding are lost. NULL: nothing. */
IDMINT_API void idmint_destroy(struct idmint *handle);

/* Connect and authenticate now, where the handle is not connected. Calls do so by themselves. */
IDMINT_CHECKED int idmint_connect(struct idmint *handle);

/* Close the connection and forget all outstanding requests; the next call connects anew. */
IDMINT_API void idmint_disconnect(struct idmint *handle);

/* The timeout of calls from now on; 0: the default. */
IDMINT_CHECKED int idmint_set_timeout(struct idmint *handle, uint32_t timeout_ms);

/* What the last call (or the last result received) ended with, in one line for people; "" after
 * success. The text lives until the next call with this handle. */
IDMINT_API const char *idmint_error(const struct idmint *handle);

/* The server's error word of that ("EXHAUSTED"), or "" where the server sent none. */
IDMINT_API const char *idmint_error_word(const struct idmint *handle);

IDMINT_CHECKED int idmint_ping(struct idmint *handle);

/* ---- ObjectIds --------------------------------------------------------------------------------
 */

#define IDMINT_OID_BYTES 12
#define IDMINT_OID_TEXT 25        /* 24 hex digits and a NUL */
#define IDMINT_TIME_TEXT 21       /* "2012-10-17T21:13:27Z" and a NUL */
#define IDMINT_RANGE_MAX 16777216 /* ids in one range */
#define IDMINT_OIDS_MAX 100000    /* ids of one idmint_submit_oids */

struct idmint_oid {
    uint8_t bytes[IDMINT_OID_BYTES];
};

IDMINT_CHECKED int idmint_oid(struct idmint *handle, struct idmint_oid *id);

/* `count` ids into the caller's array, in issue order; of any size: it is asked for in pipelined
 * pieces, and the timeout holds for the whole. *got (may be NULL) is set whatever the outcome: ids
 * 0 .. *got - 1 are good also where the call ends in an error. */
IDMINT_CHECKED int idmint_oids(struct idmint *handle, size_t count, struct idmint_oid *ids,
                               size_t *got);

/* `count` (1 .. IDMINT_RANGE_MAX) consecutive ids, of which the first is given back: the cheapest
 * way to many ids. idmint_oid_expand spells them out. */
IDMINT_CHECKED int idmint_oid_range(struct idmint *handle, uint32_t count,
                                    struct idmint_oid *first);

/* Local: write the `count` ids that begin `skip` ids after `first`. The counter carries into the
 * seconds, as it does in the daemon. IDMINT_ARGUMENT: they would pass the end of the format. */
IDMINT_CHECKED int idmint_oid_expand(const struct idmint_oid *first, uint64_t skip, size_t count,
                                     struct idmint_oid *ids);

/* The parts of an ObjectId. */
struct idmint_oid_parts {
    uint32_t seconds;        /* since 1970, UTC */
    uint8_t random[5];       /* the process's random value */
    uint32_t counter;        /* 0 .. 2^24 - 1 */
    uint32_t legacy_machine; /* the random value as it was read before 2018: machine, 3 bytes */
    uint16_t legacy_pid;     /* and process id, 2 bytes */
};

/* Local. Any 12 bytes are an ObjectId. */
IDMINT_API void idmint_oid_decode(const struct idmint_oid *id, struct idmint_oid_parts *parts);

/* Local: the lowest id of a second (all else zero), for queries such as _id >= ... by date. */
IDMINT_API void idmint_oid_at(uint32_t seconds, struct idmint_oid *id);

/* Local: lower-case hex and a NUL; and back, from 24 hex digits of either case. */
IDMINT_API void idmint_oid_text(const struct idmint_oid *id, char text[IDMINT_OID_TEXT]);
IDMINT_CHECKED int idmint_oid_parse(const char *text, struct idmint_oid *id);

/* Local: UTC as "2012-10-17T21:13:27Z"; and back, from that (an offset instead of Z and a fraction
 * are allowed) or unix seconds. */
IDMINT_API void idmint_time_text(uint32_t seconds, char text[IDMINT_TIME_TEXT]);
IDMINT_CHECKED int idmint_time_parse(const char *text, uint32_t *seconds);

/* ---- Counters ---------------------------------------------------------------------------------
 */

#define IDMINT_NAME_MAX                                                                            \
    255 /* bytes of a counter's name, UTF-8 without spaces and control bytes                       \
         */

/* The next value of a counter; it is on durable storage when the call returns. */
IDMINT_CHECKED int idmint_next(struct idmint *handle, const char *name, int64_t *value);

/* `count` values at once: *first, *first + STEP, ..., *last. */
IDMINT_CHECKED int idmint_next_range(struct idmint *handle, const char *name, int64_t count,
                                     int64_t *first, int64_t *last);

/* The greatest value issued (with CACHE: reserved). Takes nothing. *present false: there is no such
 * counter, and *value is left alone. */
IDMINT_CHECKED int idmint_get(struct idmint *handle, const char *name, int64_t *value,
                              bool *present);

struct idmint_counter {
    char name[IDMINT_NAME_MAX + 1];
    int64_t value; /* the greatest issued or reserved; start - step before the first */
    int64_t start;
    int64_t step;
    int64_t max;
    int64_t cache; /* 1: each value is durable before it is issued; n: reserved n ahead */
};

enum idmint_counter_option {
    IDMINT_START = 1,
    IDMINT_STEP = 2,
    IDMINT_MAX = 4,
    IDMINT_CACHE = 8,
    IDMINT_VALUE = 16, /* begin after `value`, start - step .. max; else it begins at start */
};

/* Make a counter. `set`: which of start, step, max, cache and value of `options` count (enum
 * idmint_counter_option, or-ed); the rest are the daemon's defaults. options may be NULL if none.
 */
IDMINT_CHECKED int idmint_counter_create(struct idmint *handle, const char *name, unsigned set,
                                         const struct idmint_counter *options);

IDMINT_CHECKED int idmint_counter_info(struct idmint *handle, const char *name,
                                       struct idmint_counter *counter);

/* A page of counters, in byte order of their names, whose names begin with `prefix` (NULL: all) and
 * are greater than `after` (NULL or "": from the start). `count`: 1 .. IDMINT_LIST_MAX, the room in
 * `counters`; *got of them are filled. `next`: what to give as `after` for the next page; "" past
 * the last page. `next` may be the same memory as `after`. */
#define IDMINT_LIST_MAX 1000
IDMINT_CHECKED int idmint_counter_list(struct idmint *handle, const char *prefix, const char *after,
                                       size_t count, struct idmint_counter *counters, size_t *got,
                                       char next[IDMINT_NAME_MAX + 1]);

/* Move forward only: *now (may be NULL) is the value then, `value` or what was greater already. */
IDMINT_CHECKED int idmint_counter_raise(struct idmint *handle, const char *name, int64_t value,
                                        int64_t *now);

/* These two can make the daemon issue values again that it has issued before. */
IDMINT_CHECKED int idmint_counter_reset(struct idmint *handle, const char *name, int64_t value);
IDMINT_CHECKED int idmint_counter_drop(struct idmint *handle, const char *name);

/* ---- UUIDs ------------------------------------------------------------------------------------
 */

#define IDMINT_UUID_BYTES 16
#define IDMINT_UUID_TEXT 37 /* with dashes, and a NUL */

struct idmint_uuid {
    uint8_t bytes[IDMINT_UUID_BYTES];
};

/* version: 4 or 7. */
IDMINT_CHECKED int idmint_uuid(struct idmint *handle, int version, struct idmint_uuid *uuid);

/* As idmint_oids: any count, *got is always set. */
IDMINT_CHECKED int idmint_uuids(struct idmint *handle, int version, size_t count,
                                struct idmint_uuid *uuids, size_t *got);

/* Local. */
IDMINT_API void idmint_uuid_text(const struct idmint_uuid *uuid, char text[IDMINT_UUID_TEXT]);

/* ---- Any command ------------------------------------------------------------------------------
 */

enum idmint_type {
    IDMINT_STRING,  /* data, len */
    IDMINT_INTEGER, /* integer */
    IDMINT_NULL,
    IDMINT_ARRAY, /* integer: so many elements follow */
    IDMINT_MAP,   /* integer: so many pairs follow */
};

/* One token of a reply. A reply is its tokens in the order in which they came: for an array
 * first IDMINT_ARRAY, then its elements, which may be arrays themselves. */
struct idmint_value {
    enum idmint_type type;
    int64_t integer;
    const char *data; /* not NUL-terminated */
    size_t len;
};

/* Send a command as it is, and get its reply's tokens, *value_count (>= 1) of them; they live until
 * the next call with this handle. arg_lens may be NULL: the arguments are then NUL-terminated.
 * Commands that change what the connection is (HELLO, AUTH, QUIT, RESET, MULTI, ...) hold only
 * until the handle connects anew. An error reply ends the call with its outcome and no tokens. */
IDMINT_CHECKED int idmint_command(struct idmint *handle, size_t argc, const char *const *args,
                                  const size_t *arg_lens, const struct idmint_value **values,
                                  size_t *value_count);

/* ---- For event loops: submit, then receive ----------------------------------------------------
 */

/* Requests are queued without waiting, sent pipelined, and end in the order in which they were
 * submitted; each ends exactly once, with one result. The pattern:
 *
 *     idmint_submit_next(handle, "orders", 1, token);
 *     loop:
 *         idmint_process(handle);
 *         while (idmint_receive(handle, &result)) ...
 *         poll idmint_fd(handle) for idmint_events(handle), for at most idmint_wait_ms(handle)
 *
 * The descriptor may change or be -1 (then only wait): ask anew in each turn. Nothing blocks but
 * the look-up of a host name (see above). While requests are outstanding the calls that wait
 * return IDMINT_ARGUMENT. Each request has the handle's timeout, from its submission; deadlines are
 * looked at in the order of submission. */

#define IDMINT_OUTSTANDING_MAX 65536

/* IDMINT_OK: queued. IDMINT_NOT_DONE: IDMINT_OUTSTANDING_MAX requests are outstanding already. */
IDMINT_CHECKED int idmint_submit_oid(struct idmint *handle, void *token);
/* `ids` belongs to the library until the result has been received. count: 1 .. IDMINT_OIDS_MAX. */
IDMINT_CHECKED int idmint_submit_oids(struct idmint *handle, size_t count, struct idmint_oid *ids,
                                      void *token);
IDMINT_CHECKED int idmint_submit_range(struct idmint *handle, uint32_t count, void *token);
IDMINT_CHECKED int idmint_submit_next(struct idmint *handle, const char *name, int64_t count,
                                      void *token);
IDMINT_CHECKED int idmint_submit_get(struct idmint *handle, const char *name, void *token);
IDMINT_CHECKED int idmint_submit_command(struct idmint *handle, size_t argc,
                                         const char *const *args, const size_t *arg_lens,
                                         void *token);

struct idmint_result {
    void *token;
    int outcome;           /* enum idmint_outcome; idmint_error(handle) is then about this one */
    struct idmint_oid oid; /* oid: the id; range: the first */
    size_t count;        /* oids: ids stored, also where the outcome is an error; range: how many */
    int64_t first, last; /* next: the values; get: both the value */
    bool present;        /* get */
    const struct idmint_value *values; /* command: as in idmint_command, */
    size_t value_count;                /* until the next call with this handle */
};

/* -1 while there is no connection. */
IDMINT_API int idmint_fd(const struct idmint *handle);
/* POLLIN, POLLOUT or both; 0: nothing to poll for. */
IDMINT_API short idmint_events(const struct idmint *handle);
/* When idmint_process must be called at the latest, whatever poll says; -1: no such time. */
IDMINT_API int idmint_wait_ms(const struct idmint *handle);
/* Connect, send and read as far as goes without waiting. IDMINT_OK, IDMINT_ARGUMENT (no handle) or
 * IDMINT_FORKED; what becomes of a request is in its result. */
IDMINT_CHECKED int idmint_process(struct idmint *handle);
/* The next result; false: none yet. */
IDMINT_API bool idmint_receive(struct idmint *handle, struct idmint_result *result);
/* Requests submitted and not received yet. */
IDMINT_API size_t idmint_outstanding(const struct idmint *handle);

/* ---- Pools ------------------------------------------------------------------------------------
 */

struct idmint_pool;

/* At most `max_handles` (1 .. 10000) handles with these options, made when first needed. */
IDMINT_CHECKED int idmint_pool_create(const struct idmint_options *options, size_t max_handles,
                                      struct idmint_pool **pool);

/* Every handle must have been given back. NULL: nothing. */
IDMINT_API void idmint_pool_destroy(struct idmint_pool *pool);

/* Take a handle, the one used last first, waiting for one up to the options' timeout_ms.
 * IDMINT_NOT_DONE: none became free. Any thread. */
IDMINT_CHECKED int idmint_pool_take(struct idmint_pool *pool, struct idmint **handle);

/* Give it back. If requests are outstanding it is disconnected. Any thread. NULL: nothing. */
IDMINT_API void idmint_pool_give(struct idmint_pool *pool, struct idmint *handle);

#ifdef __cplusplus
}
#endif

#endif
