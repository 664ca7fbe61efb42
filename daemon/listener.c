#include "listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "address.h"

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)address;
        return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    if (address->ss_family == AF_INET6) {
        const struct in6_addr *in6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
        return IN6_IS_ADDR_LOOPBACK(in6) ||
               (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == IN_LOOPBACKNET);
    }
    return true;
}

void listener_peer_text(const struct sockaddr_storage *peer, char *text, size_t text_bytes)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (peer->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)peer;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        snprintf(text, text_bytes, "%s:%u", host, (unsigned)ntohs(in->sin_port));
    } else if (peer->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
        snprintf(text, text_bytes, "[%s]:%u", host, (unsigned)ntohs(in6->sin6_port));
    } else {
        snprintf(text, text_bytes, "unix");
    }
}

/* A socket file that nobody answers on is left over from a process that was killed. */
static void remove_stale(const struct sockaddr_un *un)
{
    struct stat status;
    if (lstat(un->sun_path, &status) < 0 || !S_ISSOCK(status.st_mode))
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)un, sizeof *un) < 0 && errno == ECONNREFUSED)
        (void)unlink(un->sun_path);
    close(fd);
}

static int bind_socket(int fd, const struct address_endpoint *place,
                       const struct listener_options *options)
{
    int on = 1;
    if (place->address.ss_family == AF_UNIX) {
        remove_stale((const struct sockaddr_un *)&place->address);
        /* The permissions must stand before anyone can connect. */
        mode_t before = umask((mode_t)(~options->unix_mode & 0777));
        int status = bind(fd, (const struct sockaddr *)&place->address, place->len);
        umask(before);
        return status;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0)
        return -1;
    if (place->address.ss_family == AF_INET6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0)
        return -1;
    return bind(fd, (const struct sockaddr *)&place->address, place->len);
}

static void describe(struct listener *listener, const struct address *wanted)
{
    union {
        struct sockaddr_storage any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } bound = {0};
    socklen_t len = sizeof bound;
    if (wanted->local) {
        snprintf(listener->address, sizeof listener->address, "unix:%s", wanted->host);
        return;
    }
    if (getsockname(listener->fd, (struct sockaddr *)&bound.any, &len) < 0)
        return;
    listener->port =
        ntohs(bound.any.ss_family == AF_INET6 ? bound.v6.sin6_port : bound.v4.sin_port);
    listener_peer_text(&bound.any, listener->address, sizeof listener->address);
}

static int open_one(const struct address *wanted, const struct address_endpoint *place,
                    const struct listener_options *options, struct listener *listener, char *why,
                    size_t why_bytes)
{
    char name[ADDRESS_HOST_BYTES + 16];
    address_text(wanted, name, sizeof name);
    if (!options->open_allowed && !is_loopback(&place->address)) {
        snprintf(why, why_bytes,
                 "%s is not loopback and no credential is set: set [auth] password_file, or "
                 "[auth] allow_open = yes if anyone who can reach it may draw ids",
                 name);
        return -1;
    }
    int fd = socket(place->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind_socket(fd, place, options) < 0 || listen(fd, options->backlog) < 0) {
        snprintf(why, why_bytes, "can not listen on %s: %s", name, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *listener = (struct listener){.fd = fd};
    describe(listener, wanted);
    return 0;
}

int listener_open(const char *text, size_t len, const struct listener_options *options,
                  struct listener *listeners, size_t *count, char *why, size_t why_bytes)
{
    struct address wanted;
    struct address_endpoint places[ADDRESS_ENDPOINTS];
    const char *resolver_why = "";
    size_t room = *count;
    *count = 0;
    if (!address_parse(text, len, &wanted)) {
        snprintf(why, why_bytes, "'%.*s' is no address: host:port, [v6]:port or unix:PATH",
                 (int)len, text);
        return -1;
    }
    size_t found = address_resolve(&wanted, places, &resolver_why);
    if (found == 0) {
        snprintf(why, why_bytes, "'%.*s' can not be resolved: %s", (int)len, text, resolver_why);
        return -1;
    }
    for (size_t i = 0; i < found; i++) {
        if (*count == room) {
            snprintf(why, why_bytes, "too many addresses to listen on");
            return -1;
        }
        if (open_one(&wanted, &places[i], options, &listeners[*count], why, why_bytes) < 0)
            return -1;
        ++*count;
    }
    return 0;
}

void listener_close(struct listener *listener)
{
    close(listener->fd);
    if (listener->port == 0)
        (void)unlink(listener->address + strlen("unix:"));
    listener->fd = -1;
}
