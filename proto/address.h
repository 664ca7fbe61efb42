/* Where a server is, as text and as what connect(2) takes. */
#ifndef IDMINT_ADDRESS_H
#define IDMINT_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define ADDRESS_HOST_BYTES 256
#define ADDRESS_LIST_MAX 64
#define ADDRESS_ENDPOINTS 8

struct address {
    char host[ADDRESS_HOST_BYTES]; /* name or number; local: the path of a Unix socket */
    char port[6];
    bool local;
};

struct address_endpoint {
    struct sockaddr_storage address;
    socklen_t len;
};

/* "host:port", "[v6]:port" or "unix:PATH"; without ":port" it is 7377. Port 0 is for those who
 * listen: any free one. False: it is none. */
bool address_parse(const char *text, size_t len, struct address *address);

/* A list of places to connect to, by comma, into room for ADDRESS_LIST_MAX; returns how many, 0 if
 * any of them is wrong or there are too many. */
size_t address_parse_list(const char *text, struct address *addresses);

/* Up to ADDRESS_ENDPOINTS places to connect to; returns how many, 0 if the name has none (`why`
 * then says what the resolver said; it is a static string). Blocks for a host name. */
size_t address_resolve(const struct address *address, struct address_endpoint *endpoints,
                       const char **why);

/* As text for people; always NUL-terminated. */
void address_text(const struct address *address, char *text, size_t text_bytes);

#endif
