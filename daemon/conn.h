/* One client's socket: reads commands, keeps replies in order, holds back what the client does not
 * read. Owned by one loop thread for life.
 *
 * Replies keep the commands' order without a queue for those that are answered at once: they go
 * straight out while the line of waiting requests is empty, else into the `after` of the line's
 * last request. When the line's first request completes, its reply is written, then its `after`. */
#ifndef IDMINT_CONN_H
#define IDMINT_CONN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "buffer.h"
#include "loop.h"
#include "session.h"

struct conn {
    struct session session;
    struct loop *loop;
    struct event read_event, write_event;
    struct conn *prev, *next;                   /* in loop->conns */
    struct conn *waiting_prev, *waiting_next;   /* in loop->waiting */
    struct conn *registry_prev, *registry_next; /* the server's, under its lock */
    struct request *line, **line_tail;
    struct buffer in;   /* read and not carried out yet */
    struct buffer out;  /* written and not sent yet */
    size_t in_need;     /* in.len below which another try to read a command is vain */
    size_t replay_at;   /* how far EXEC has come in session.multi */
    size_t after_bytes; /* of the `after` of the line's requests */
    size_t line_bytes;  /* that the line's requests take, without `after` */
    size_t counted;     /* bytes of buffers that the server's budget knows of */
    int64_t opened_ms, active_ms, stalled_ms; /* BOOTTIME; stalled_ms 0: the client reads */
    int fd;
    bool reading; /* read_event is on */
    bool writing; /* write_event is on */
    bool waits;   /* in loop->waiting */
    bool held;    /* the next command can not be carried out yet */
    bool eof;     /* the client has sent all it will */
    bool closing; /* carry out no more; close when all replies are sent */
    bool dead;    /* close at the end of this turn */
    bool touched; /* in the list of connections that got completions this turn */
    struct conn *touched_next;
    atomic_bool killed;
    char address[80];
};

/* Takes over the socket; NULL (and the socket closed): no memory. */
struct conn *conn_open(struct loop *loop, int fd, const char *address);
/* Give up what is in flight; closed and freed (conn_bury) when the loop's next turn comes. */
void conn_destroy(struct conn *conn);
void conn_bury(struct conn *conn);

/* The first request(s) of the line may have completed: reply, carry on, end the turn. The
 * connection may be gone afterwards. */
void conn_deliver(struct conn *conn);
/* Answer the requests whose time is over. May be gone afterwards. */
void conn_expire(struct conn *conn);
/* Once a second: clients that are idle, do not authenticate or do not read. May be gone afterwards.
 */
void conn_sweep(struct conn *conn);
/* The daemon stops: read no more, go when all is replied. May be gone afterwards. */
void conn_drain(struct conn *conn);

#endif
