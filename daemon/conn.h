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
#include "dispatch.h"
#include "loop.h"
#include "session.h"

struct config;
struct conn;
struct http;

/* What a connection speaks. All on its loop's thread. */
struct protocol {
    /* Carry out one request, or a run, that stands at data. Returns the bytes used; 0: not now
     * (conn->in_need, held, closing or dead says why). */
    size_t (*carry_out)(struct conn *conn, const char *data, size_t len);
    /* The reply of a request that has completed; then those of one whose time is over. */
    void (*write)(struct conn *conn, struct request *request, struct buffer *out);
    void (*write_late)(struct conn *conn, uint32_t replies, enum error_word word, const char *text,
                       struct buffer *out);
    /* Once a second. Why the connection is to be closed, NULL: it is not. May write to conn_sink
     * and set closing. */
    const char *(*sweep)(struct conn *conn, const struct config *config);
    void (*destroy)(struct conn *conn); /* its own state; NULL: none */
    const char *refusal;                /* said to whom the daemon has no room for */
    bool lingers; /* reads on for a while after its last reply, so that the client gets to see it */
};
extern const struct protocol conn_resp; /* the line protocol: conn_resp.c */
extern const struct protocol conn_http; /* HTTP: http.c */

struct conn {
    struct session session;
    struct loop *loop;
    const struct protocol *protocol;
    struct http *http; /* NULL: the line protocol */
    struct event read_event, write_event;
    struct conn *prev, *next;                   /* in loop->conns */
    struct conn *waiting_prev, *waiting_next;   /* in loop->waiting */
    struct conn *registry_prev, *registry_next; /* the server's, under its lock */
    struct request *line, **line_tail;
    struct buffer in;    /* read and not carried out yet */
    struct buffer out;   /* written and not sent yet */
    size_t in_need;      /* in.len below which another try to read a command is vain */
    size_t replay_at;    /* how far EXEC has come in session.multi */
    size_t after_bytes;  /* of the `after` of the line's requests */
    size_t line_bytes;   /* that the line's requests take, without `after` */
    size_t counted;      /* bytes of buffers that the server's budget knows of */
    int64_t sent, taken; /* bytes in all; taken: of these by the client, when last looked at */
    int64_t opened_ms, active_ms; /* BOOTTIME */
    int64_t
        stalled_ms; /* since when the client takes nothing of what waits for it; 0: nothing does */
    int64_t linger_ms; /* since when it lingers; 0: it does not */
    int fd;
    bool reading; /* read_event is on */
    bool writing; /* write_event is on */
    bool waits;   /* in loop->waiting */
    bool held;    /* the next command can not be carried out yet */
    bool eof;     /* the client has sent all it will */
    bool closing; /* carry out no more; close when all replies are sent */
    bool dead;    /* close at the end of this turn */
    bool streams; /* sends without being asked: what the kernel holds is unread, too */
    bool touched; /* in the list of connections that got completions this turn */
    struct conn *touched_next;
    atomic_bool killed;
    char address[80];
};

/* Takes over the socket; NULL (and the socket closed): no memory. */
struct conn *conn_open(struct loop *loop, int fd, const char *address,
                       const struct protocol *protocol);
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

/* For the protocols. */
const struct config *conn_config(const struct conn *conn);
/* Where the next reply goes: behind all that is there. */
struct buffer *conn_sink(struct conn *conn);
/* A reply of `grown` bytes of capacity was written to the sink while requests wait: they count. */
void conn_count_sink(struct conn *conn, size_t grown);
/* Carry out a call that is filled in but for `now`: a request that waits is put in the line, and
 * its time is counted. */
enum dispatch_status conn_call(struct conn *conn, struct call *call);

#endif
