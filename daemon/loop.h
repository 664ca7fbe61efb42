/* A loop thread: an event base and the connections it owns for life. Completions and new sockets
 * come in through its inbox, from any thread, and are taken out when the loop is woken. */
#ifndef IDMINT_LOOP_H
#define IDMINT_LOOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "buffer.h"
#include "clock.h"
#include "metrics.h"
#include "request.h"

struct conn;
struct protocol;
struct server;

/* How much is read from a socket at once, and the size at which replies are sent on. */
#define LOOP_READ_BYTES 65536

/* A socket on its way from the acceptor to its loop. */
struct loop_arrival {
    struct loop_arrival *next;
    const struct protocol *protocol;
    int fd;
    char address[80];
};

struct loop {
    struct request_host host; /* first: requests come back through it */
    struct server *server;
    struct event_base *base;
    pthread_t thread;
    bool started;

    /* The inbox. Each is a stack: what was put in last comes first. */
    _Alignas(64) _Atomic(struct request *) completions;
    _Atomic(struct loop_arrival *) arrivals;
    atomic_bool kill_asked; /* a connection of this loop is marked as killed */
    atomic_bool stop_asked;
    int wake_fd;

    /* The loop thread's own from here on. */
    struct event wake_event, tick_event, sweep_event, submit_event, bury_event;
    bool ticking;
    bool submitting; /* submit_event is due */
    bool stopping;
    int64_t stop_by_ms;
    struct clock_now now;                  /* read at the start of each turn */
    int64_t read_us;                       /* when the bytes of this turn were read */
    int64_t date_s;                        /* the second that `date` tells; 0: none yet */
    char date[64];                         /* HTTP's header line */
    char *in;                              /* LOOP_READ_BYTES, for the turn of one connection */
    struct buffer out;                     /* replies of the connection whose turn it is */
    size_t sent;                           /* in this turn */
    struct conn *conns;                    /* all of them */
    struct conn *waiting;                  /* those with requests in their line */
    struct conn *dead, *doomed;            /* by `next`: to be closed in the turn after the next,
                                              and in the next */
    struct request *parked, **parked_tail; /* requests that wait for time to pass */

    /* Written by the loop thread, read by others. */
    _Alignas(64) atomic_uint_least64_t commands;
    struct metrics_loop metrics;
};

int loop_start(struct loop *loop, struct server *server) __attribute__((warn_unused_result));
/* Any thread. Takes over the socket. */
void loop_adopt(struct loop *loop, int fd, const char *address, const struct protocol *protocol);
/* Any thread: connections marked as killed are closed soon. */
void loop_wake_for_kill(struct loop *loop);
/* Finish what is in flight, close all connections, end the thread. From the main thread;
 * loop_join waits for it. */
void loop_stop(struct loop *loop);
void loop_join(struct loop *loop);
/* After the store worker has ended: requests that were given up come back until then. */
void loop_finish(struct loop *loop);

/* For conn.c, on the loop thread. */
void loop_park(struct loop *loop, struct request *request);
void loop_unpark(struct loop *loop, struct request *request);
/* Requests are waiting: look at their deadlines from now on. */
void loop_need_tick(struct loop *loop);
/* Something may have been gathered for the store: submit it when the sockets that are ready now
 * have had their turns, so that their requests share a commit. */
void loop_submit_soon(struct loop *loop);
/* libevent tells the kernel of a removed event when it next waits. The socket stays open until
 * then: once it is closed its number may be another thread's. */
void loop_bury_soon(struct loop *loop, struct conn *conn);
/* A connection has gone: where the loop is stopping and it was the last, end. */
void loop_end_if_done(struct loop *loop);

#endif
