/* What a handle is inside. The life of a request:
 *
 *   request_begin/request_arg encode it at the end of `out` and queue it  (request.c)
 *   connection_step connects, greets, writes `out`, reads into `in`       (connection.c)
 *   request_receive takes the oldest request's reply from `in`            (request.c, reply.c)
 *
 * The queue holds, oldest first: `sent` requests whose last byte was given to the kernel, then
 * those that were not. Only the former can have been done; when the connection is lost the latter
 * stay queued and go out on the next one. `doomed` requests at the head are to end with what `doom`
 * says, since no address could be reached. */
#ifndef IDMINT_HANDLE_H
#define IDMINT_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "address.h"
#include "buffer.h"
#include "idmint.h"

#define HANDLE_WHY_BYTES 256
#define HANDLE_WORD_BYTES 24

enum request_kind {
    REQUEST_COMMAND,    /* any reply, as tokens */
    REQUEST_OID,        /* 24 hex digits */
    REQUEST_OIDS,       /* an array of them, decoded as they arrive */
    REQUEST_RANGE,      /* array: first id, count as a string */
    REQUEST_NEXT,       /* integer */
    REQUEST_NEXT_RANGE, /* array: first, last, integers */
    REQUEST_GET,        /* a string of digits, or null */
};

struct request {
    enum request_kind kind;
    bool reads;    /* takes nothing: repeating it is safe whatever became of it */
    bool in_array; /* OIDS: the array's head was read */
    void *token;
    int64_t deadline_ms;
    size_t bytes; /* of its encoding */
    size_t count; /* OIDS, RANGE, NEXT_RANGE: asked for */
    size_t got;   /* OIDS: decoded */
    struct idmint_oid *ids;
};

enum connection_state {
    CONNECTION_CLOSED, /* no descriptor; `in` may still hold replies that came before */
    CONNECTION_CONNECTING,
    CONNECTION_GREETING, /* HELLO is on its way, or its reply is */
    CONNECTION_READY,
};

/* How an outcome other than IDMINT_OK came about. */
struct failure {
    int outcome;
    char word[HANDLE_WORD_BYTES]; /* the server's, or "" */
    char why[HANDLE_WHY_BYTES];
};

struct idmint {
    pid_t pid;
    struct address *addresses;
    size_t address_count;
    size_t address_at; /* which to try next */
    char *user;
    char *password;
    uint32_t timeout_ms;
    uint32_t connect_timeout_ms;

    enum connection_state state;
    int fd;
    int64_t connect_deadline_ms;
    struct address target; /* what endpoints belong to */
    struct address_endpoint endpoints[ADDRESS_ENDPOINTS];
    size_t endpoint_count, endpoint_at;
    size_t attempts_left;  /* addresses to try before the queue is doomed */
    struct address leader; /* where NOTLEADER pointed */
    bool leader_known;     /* go there next */
    bool moving;           /* write no more: when what was sent is answered, go to the leader */

    struct buffer hello; /* what is left to send of the greeting */
    struct buffer out;
    size_t out_start; /* the first byte of the first request that was not sent whole, */
    size_t out_sent;  /* and how much of it was */
    struct buffer in;
    size_t in_start;    /* the first byte not taken yet */
    size_t read_bytes;  /* how much to ask recv for */
    bool reply_partial; /* what `in` holds is known to be no whole reply */
    size_t scan_at;     /* how far from in_start the reply was scanned, */
    uint64_t scan_left; /* and how many values are still to come; 0: not begun */

    struct request *queue; /* a ring of queue_capacity, a power of two */
    size_t queue_capacity, queue_head, queue_count;
    size_t sent;
    size_t doomed;
    struct failure doom;
    struct failure lost; /* why the connection was closed */

    struct idmint_value *values;
    size_t values_capacity;
    struct failure last; /* what idmint_error tells */
};

/* Each public call begins with this: IDMINT_OK, IDMINT_ARGUMENT (NULL) or IDMINT_FORKED. Clears the
 * last error. */
int handle_enter(struct idmint *handle) __attribute__((warn_unused_result));

/* The same for calls that wait, which do not mix with submitted requests. */
int handle_enter_idle(struct idmint *handle) __attribute__((warn_unused_result));

/* Set what idmint_error tells; returns outcome. */
int handle_fail(struct idmint *handle, int outcome, const char *why);

void failure_set(struct failure *failure, int outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* CLOCK_MONOTONIC. */
int64_t handle_now_ms(void);

#endif
