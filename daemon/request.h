/* A command whose reply is not there yet. Allocated by a command's handler, put in its connection's
 * line by the connection, completed by a worker thread through its host, and freed on the loop
 * thread that owns the connection: once it has completed, or once it has been cancelled. */
#ifndef IDMINT_REQUEST_H
#define IDMINT_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "clock.h"
#include "errors.h"
#include "store_worker.h"

struct metrics_loop;
struct command;
struct request;
struct session;

/* Where a request comes back to: the loop that owns its connection. */
struct request_host {
    /* Any thread: the reply can be written. */
    void (*completed)(struct request_host *host, struct request *request);
    /* What its connections ask of the store in one turn; the loop submits it when the turn ends. */
    struct store_batch batch;
    struct metrics_loop *metrics; /* what its thread counts in; NULL: nothing is counted */
};

enum request_cancel {
    REQUEST_TAKEN_BACK, /* nothing was taken; the request may be freed at once */
    REQUEST_UNDER_WAY,  /* it will complete later, and is to be freed then */
};

struct request_kind {
    /* Write the reply, or replies. */
    void (*write)(struct request *request, struct buffer *out, bool resp3);
    /* Take it back, if that is still possible. */
    enum request_cancel (*cancel)(struct request *request);
    /* For a request that is `by_time`: look again; true: it has completed. */
    bool (*poll)(struct request *request, struct clock_now now);
    void (*destroy)(struct request *request);
};

struct request {
    const struct request_kind *kind;
    struct request *next;          /* in its connection's line */
    struct request *handed;        /* in its host's inbox, or among those that wait for time */
    struct request **parked;       /* what points to it there; NULL: it does not wait for time */
    struct request_host *host;     /* set before a worker may know of it; NULL if only polled */
    struct session *session;       /* NULL: given up; free it when it completes */
    int64_t deadline_ms;           /* BOOTTIME */
    const struct command *command; /* its row; with read_us what its time is counted by */
    int64_t read_us;               /* CLOCK_MONOTONIC, when its bytes were read */
    uint32_t replies;              /* how many it stands for */
    size_t bytes;                  /* that it takes until it is freed; set by who allocates it */
    bool completed;                /* set by the loop thread */
    bool by_time;                  /* waits for time to pass: polled by the loop */
    int64_t ready_ms;              /* completed, but not to be answered before then (BOOTTIME) */
    bool reads;          /* takes nothing whatever happens: TRYAGAIN instead of UNCERTAIN */
    struct buffer after; /* replies that come after it and were there first */
};

#endif
