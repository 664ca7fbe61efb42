/* A listening socket, TCP or Unix. Main thread. */
#ifndef IDMINT_LISTENER_H
#define IDMINT_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct listener_options {
    int backlog;
    unsigned unix_mode; /* permissions of a Unix socket */
    bool open_allowed;  /* may listen beyond loopback */
};

struct listener {
    int fd;
    uint16_t port;     /* 0: a Unix socket */
    char address[280]; /* as it can be connected to: "127.0.0.1:7377", "[::1]:7377", "unix:/path" */
};

/* Bind each place that `text` ("host:port", "[v6]:port", "unix:PATH"; port 0: any) stands for, and
 * listen there. *count: room in listeners before, listeners made after. A Unix socket that nobody
 * listens on any more is replaced. 0, or -1 with `why`; what was made then is still to be closed.
 */
int listener_open(const char *text, size_t len, const struct listener_options *options,
                  struct listener *listeners, size_t *count, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));
void listener_close(struct listener *listener);

/* A peer as text: "127.0.0.1:51234", "unix". */
void listener_peer_text(const struct sockaddr_storage *peer, char *text, size_t text_bytes);

#endif
