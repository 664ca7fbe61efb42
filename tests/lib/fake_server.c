#include "fake_server.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HELLO "*2\r\n$5\r\nHELLO\r\n$1\r\n2\r\n"
#define WELCOME "*4\r\n$6\r\nserver\r\n$6\r\nidmint\r\n$5\r\nproto\r\n:2\r\n"

static bool expect(int fd, const char *text)
{
    const size_t len = strlen(text);
    char got[4096] = {0};
    size_t have = 0;

    while (fd >= 0 && have < len) {
        ssize_t n = recv(fd, got + have, len - have, 0);

        if (n <= 0) {
            return false;
        }
        have += (size_t)n;
    }
    return have == len && memcmp(got, text, len) == 0;
}

static bool put(int fd, const char *text, size_t at_once)
{
    size_t len = strlen(text);

    while (fd >= 0 && len > 0) {
        ssize_t n = send(fd, text, at_once < len ? at_once : len, MSG_NOSIGNAL);

        if (n <= 0) {
            return false;
        }
        text += n;
        len -= (size_t)n;
    }
    return len == 0;
}

static void swallow(int fd)
{
    char bytes[4096];

    while (fd >= 0 && recv(fd, bytes, sizeof(bytes), 0) > 0) {
        continue;
    }
}

static void hang_up(int *fd, bool reset)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};

    if (*fd >= 0) {
        if (reset) {
            setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        }
        close(*fd);
    }
    *fd = -1;
}

static bool play(const struct fake_server *server, const struct fake_step *step, int *fd)
{
    const int on = 1;

    switch (step->verb) {
    case FAKE_ACCEPT:
        hang_up(fd, false);
        *fd = accept(server->listener, NULL, NULL);
        return *fd >= 0 && setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0;
    case FAKE_HELLO:
        return expect(*fd, HELLO) && put(*fd, WELCOME, strlen(WELCOME));
    case FAKE_EXPECT:
        return expect(*fd, step->text);
    case FAKE_SEND:
        return put(*fd, step->text, strlen(step->text));
    case FAKE_PIECES:
        return put(*fd, step->text, 1);
    case FAKE_SILENT:
        swallow(*fd);
        return true;
    case FAKE_CLOSE:
        hang_up(fd, false);
        return true;
    case FAKE_RESET:
        hang_up(fd, true);
        return true;
    case FAKE_END:
        break;
    }
    return true;
}

static void *run(void *context)
{
    struct fake_server *server = context;
    int fd = -1;

    for (const struct fake_step *step = server->script; step->verb != FAKE_END; step++) {
        if (!play(server, step, &fd)) {
            server->failed = step->text ? step->text : "a step without text";
            break;
        }
    }
    hang_up(&fd, false);
    return NULL;
}

static int listen_any(char address[64])
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(any);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&any, &len), 0);
    snprintf(address, 64, "127.0.0.1:%u", (unsigned)ntohs(any.sin_port));
    return fd;
}

void fake_start(struct fake_server *server, const struct fake_step *script)
{
    *server = (struct fake_server){.script = script};
    server->listener = listen_any(server->address);
    ck_assert_int_eq(listen(server->listener, 8), 0);
    ck_assert_int_eq(pthread_create(&server->thread, NULL, run, server), 0);
}

void fake_finish(struct fake_server *server)
{
    pthread_join(server->thread, NULL);
    close(server->listener);
    ck_assert_msg(server->failed == NULL, "the client did not play along at: %s", server->failed);
}

void fake_closed_address(char address[64])
{
    close(listen_any(address));
}
