#include "loop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "config.h"
#include "conn.h"
#include "log.h"
#include "server.h"

/* How often deadlines are looked at, and requests that wait for time to pass. */
static const struct timeval deadline_tick = {.tv_usec = 25000};
static const struct timeval parked_tick = {.tv_usec = 4000};
static const struct timeval sweep_tick = {.tv_sec = 1};
/* How long clients may take to read their last replies when the daemon stops. */
#define STOP_GRACE_MS 1000

/* --- Inbox --- */

static void wake(struct loop *loop)
{
    uint64_t one = 1;
    /* Only fails when the counter is full: then the loop has been woken already. */
    ssize_t written = write(loop->wake_fd, &one, sizeof one);
    (void)written;
}

static void completed(struct request_host *host, struct request *request)
{
    struct loop *loop = (struct loop *)host;
    struct request *head = atomic_load(&loop->completions);
    do
        request->handed = head;
    while (!atomic_compare_exchange_weak(&loop->completions, &head, request));
    /* Who finds others there knows that the loop has been woken for them. */
    if (head == NULL)
        wake(loop);
}

void loop_adopt(struct loop *loop, int fd, const char *address, const struct protocol *protocol)
{
    struct loop_arrival *arrival = calloc(1, sizeof *arrival);
    if (arrival == NULL) {
        close(fd);
        atomic_fetch_sub(&loop->server->connections, 1);
        return;
    }
    arrival->fd = fd;
    arrival->protocol = protocol;
    snprintf(arrival->address, sizeof arrival->address, "%s", address);
    arrival->next = atomic_load(&loop->arrivals);
    while (!atomic_compare_exchange_weak(&loop->arrivals, &arrival->next, arrival))
        ;
    wake(loop);
}

void loop_wake_for_kill(struct loop *loop)
{
    atomic_store(&loop->kill_asked, true);
    wake(loop);
}

static int64_t loop_request_ms(const struct loop *loop)
{
    const struct config *config = atomic_load_explicit(&loop->server->config, memory_order_acquire);
    return config->limits.request_ms;
}

/* Completed requests go back to their connections; each connection then gets one turn. */
static void deliver(struct loop *loop, struct request *completions)
{
    struct conn *touched = NULL;
    while (completions != NULL) {
        struct request *request = completions;
        completions = request->handed;
        if (request->session == NULL) {
            request->kind->destroy(request);
            continue;
        }
        if (request->ready_ms > loop->now.boot_ms) {
            /* Done, and to be told when its time has come: its deadline is over then, not before.
             */
            request->deadline_ms = request->ready_ms + loop_request_ms(loop);
            request->by_time = true;
            loop_park(loop, request);
            continue;
        }
        request->completed = true;
        struct conn *conn = (struct conn *)request->session;
        if (!conn->touched) {
            conn->touched = true;
            conn->touched_next = touched;
            touched = conn;
        }
    }
    while (touched != NULL) {
        struct conn *conn = touched;
        touched = conn->touched_next;
        conn->touched = false;
        conn_deliver(conn);
    }
}

static void each_conn(struct loop *loop, void (*turn)(struct conn *conn))
{
    struct conn *next;
    for (struct conn *conn = loop->conns; conn != NULL; conn = next) {
        next = conn->next;
        turn(conn);
    }
}

static void destroy_if_killed(struct conn *conn)
{
    if (atomic_load(&conn->killed))
        conn_destroy(conn);
}

void loop_end_if_done(struct loop *loop)
{
    if (loop->stopping && loop->conns == NULL)
        event_base_loopbreak(loop->base);
}

static void take_inbox(struct loop *loop)
{
    struct request *completions = NULL;
    struct request *stack = atomic_exchange(&loop->completions, NULL);
    struct loop_arrival *arrivals = atomic_exchange(&loop->arrivals, NULL);
    while (stack != NULL) {
        struct request *request = stack;
        stack = request->handed;
        request->handed = completions;
        completions = request;
    }
    deliver(loop, completions);
    while (arrivals != NULL) {
        struct loop_arrival *arrival = arrivals;
        arrivals = arrival->next;
        struct conn *conn = conn_open(loop, arrival->fd, arrival->address, arrival->protocol);
        if (conn != NULL && loop->stopping)
            conn_destroy(conn);
        free(arrival);
    }
    if (atomic_exchange(&loop->kill_asked, false))
        each_conn(loop, destroy_if_killed);
    if (atomic_exchange(&loop->stop_asked, false)) {
        loop->stopping = true;
        loop->stop_by_ms = loop->now.boot_ms + loop_request_ms(loop) + STOP_GRACE_MS;
        each_conn(loop, conn_drain);
    }
    loop_end_if_done(loop);
}

static void wake_cb(evutil_socket_t fd, short what, void *context)
{
    struct loop *loop = context;
    uint64_t count;
    ssize_t got = read(fd, &count, sizeof count);
    (void)got; /* nothing there: taken out already */
    loop->now = clock_read();
    take_inbox(loop);
}

/* --- The store --- */

/* Events run in the order in which they became active, so this comes after all sockets that were
 * ready when the loop last looked. */
void loop_submit_soon(struct loop *loop)
{
    if (loop->submitting || loop->host.batch.first == NULL)
        return;
    loop->submitting = true;
    event_active(&loop->submit_event, EV_TIMEOUT, 0);
}

static void submit_cb(evutil_socket_t fd, short what, void *context)
{
    struct loop *loop = context;
    loop->submitting = false;
    store_worker_submit_batch(loop->server->dispatch->worker, &loop->host.batch);
}

/* --- Time --- */

void loop_park(struct loop *loop, struct request *request)
{
    request->handed = NULL;
    request->parked = loop->parked_tail;
    *loop->parked_tail = request;
    loop->parked_tail = &request->handed;
}

void loop_unpark(struct loop *loop, struct request *request)
{
    if (request->parked == NULL)
        return;
    *request->parked = request->handed;
    if (request->handed != NULL)
        request->handed->parked = request->parked;
    else
        loop->parked_tail = request->parked;
    request->parked = NULL;
}

void loop_need_tick(struct loop *loop)
{
    if (loop->ticking)
        return;
    loop->ticking = true;
    event_add(&loop->tick_event, loop->parked != NULL ? &parked_tick : &deadline_tick);
}

/* In the order they came; of one kind, the first that has to wait on makes the others wait. */
static void poll_parked(struct loop *loop)
{
    struct request *done = NULL, **done_tail = &done;
    const struct request_kind *stuck = NULL;
    struct request *next;
    for (struct request *request = loop->parked; request != NULL; request = next) {
        next = request->handed;
        if (request->kind == stuck)
            continue;
        if (!request->kind->poll(request, loop->now)) {
            stuck = request->kind;
            continue;
        }
        loop_unpark(loop, request);
        request->handed = NULL;
        *done_tail = request;
        done_tail = &request->handed;
    }
    deliver(loop, done);
}

static void tick_cb(evutil_socket_t fd, short what, void *context)
{
    struct loop *loop = context;
    loop->ticking = false;
    loop->now = clock_read();
    take_inbox(loop);
    poll_parked(loop);
    struct conn *next;
    for (struct conn *conn = loop->waiting; conn != NULL; conn = next) {
        next = conn->waiting_next;
        conn_expire(conn);
    }
    if (loop->waiting != NULL)
        loop_need_tick(loop);
    loop_end_if_done(loop);
}

void loop_bury_soon(struct loop *loop, struct conn *conn)
{
    static const struct timeval next_turn = {0};
    if (loop->dead == NULL && loop->doomed == NULL)
        event_add(&loop->bury_event, &next_turn);
    conn->next = loop->dead;
    loop->dead = conn;
}

static void bury(struct loop *loop)
{
    while (loop->doomed != NULL) {
        struct conn *conn = loop->doomed;
        loop->doomed = conn->next;
        conn_bury(conn);
    }
    loop->doomed = loop->dead;
    loop->dead = NULL;
}

/* What died in this very turn, before this was called, has its turn of waiting still before it. */
static void bury_cb(evutil_socket_t fd, short what, void *context)
{
    static const struct timeval next_turn = {0};
    struct loop *loop = context;
    bury(loop);
    if (loop->doomed != NULL)
        event_add(&loop->bury_event, &next_turn);
}

static void sweep_cb(evutil_socket_t fd, short what, void *context)
{
    struct loop *loop = context;
    loop->now = clock_read();
    each_conn(loop, conn_sweep);
    if (loop->stopping && loop->now.boot_ms >= loop->stop_by_ms)
        each_conn(loop, conn_destroy);
    loop_end_if_done(loop);
}

/* --- Life --- */

static void *run(void *context)
{
    struct loop *loop = context;
    event_base_dispatch(loop->base);
    submit_cb(-1, 0, loop);
    bury(loop);
    bury(loop);
    /* Requests that were given up while their commits were under way come in until the store worker
     * has ended; they are freed in loop_join. */
    return NULL;
}

static int prepare(struct loop *loop)
{
    struct event_config *config = event_config_new();
    if (config == NULL)
        return -1;
    /* Coalesces what is switched on and off within one turn. */
    event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    loop->base = event_base_new_with_config(config);
    event_config_free(config);
    loop->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    loop->in = malloc(LOOP_READ_BYTES);
    if (loop->base == NULL || loop->wake_fd < 0 || loop->in == NULL)
        return -1;
    event_assign(&loop->wake_event, loop->base, loop->wake_fd, EV_READ | EV_PERSIST, wake_cb, loop);
    event_assign(&loop->tick_event, loop->base, -1, 0, tick_cb, loop);
    event_assign(&loop->submit_event, loop->base, -1, 0, submit_cb, loop);
    event_assign(&loop->bury_event, loop->base, -1, 0, bury_cb, loop);
    event_assign(&loop->sweep_event, loop->base, -1, EV_PERSIST, sweep_cb, loop);
    if (event_add(&loop->wake_event, NULL) < 0 || event_add(&loop->sweep_event, &sweep_tick) < 0)
        return -1;
    return 0;
}

/* Signals are for the main thread. */
static int start_thread(struct loop *loop)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(&loop->thread, NULL, run, loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status == 0 ? 0 : -1;
}

int loop_start(struct loop *loop, struct server *server)
{
    loop->host.completed = completed;
    loop->host.metrics = &loop->metrics;
    loop->server = server;
    loop->parked_tail = &loop->parked;
    loop->wake_fd = -1;
    loop->now = clock_read();
    buffer_init(&loop->out, 0);
    if (prepare(loop) < 0 || start_thread(loop) < 0)
        return -1;
    pthread_setname_np(loop->thread, "loop");
    loop->started = true;
    return 0;
}

void loop_stop(struct loop *loop)
{
    if (!loop->started)
        return;
    atomic_store(&loop->stop_asked, true);
    wake(loop);
}

void loop_join(struct loop *loop)
{
    if (loop->started)
        pthread_join(loop->thread, NULL);
    loop->started = false;
}

void loop_finish(struct loop *loop)
{
    struct request *left = atomic_exchange(&loop->completions, NULL);
    while (left != NULL) {
        struct request *request = left;
        left = request->handed;
        request->kind->destroy(request);
    }
    if (loop->base != NULL)
        event_base_free(loop->base);
    if (loop->wake_fd >= 0)
        close(loop->wake_fd);
    free(loop->in);
    buffer_finish(&loop->out);
}
