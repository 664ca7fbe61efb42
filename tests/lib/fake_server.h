/* A server that plays a script on one connection after the other, in a thread of its own. */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

#include <pthread.h>
#include <stddef.h>

enum fake_verb {
    FAKE_ACCEPT, /* the next connection, in place of the one before */
    FAKE_HELLO,  /* read a HELLO 2 without a credential and answer it */
    FAKE_EXPECT, /* read exactly these bytes */
    FAKE_SEND,   /* write these bytes, */
    FAKE_PIECES, /* or one at a time, each in a packet of its own */
    FAKE_SILENT, /* read and say nothing until the client hangs up */
    FAKE_CLOSE,  /* hang up */
    FAKE_RESET,  /* hang up so that the client gets ECONNRESET */
    FAKE_END,
};

struct fake_step {
    enum fake_verb verb;
    const char *text; /* EXPECT, SEND, PIECES */
};

struct fake_server {
    char address[64]; /* 127.0.0.1:PORT */
    const struct fake_step *script;
    pthread_t thread;
    int listener;
    const char *failed; /* what did not go as the script says; NULL: all did */
};

void fake_start(struct fake_server *server, const struct fake_step *script);
/* Waits for the script's end; the test fails where a step did. */
void fake_finish(struct fake_server *server);

/* A port of 127.0.0.1 that nobody listens on, as host:port. */
void fake_closed_address(char address[64]);

#endif
