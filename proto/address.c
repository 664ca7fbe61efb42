#include "address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

static const char local_prefix[] = "unix:";
static const char default_port[] = "7377";

static bool port_parse(const char *text, size_t len, char port[6])
{
    unsigned value = 0;

    if (len < 1 || len > 5) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (unsigned)(text[i] - '0');
    }
    if (value > 65535) {
        return false;
    }
    memcpy(port, text, len);
    port[len] = '\0';
    return true;
}

static bool host_copy(const char *text, size_t len, char host[ADDRESS_HOST_BYTES])
{
    if (len < 1 || len >= ADDRESS_HOST_BYTES || memchr(text, '\0', len)) {
        return false;
    }
    memcpy(host, text, len);
    host[len] = '\0';
    return true;
}

static bool local_parse(const char *path, size_t len, struct address *address)
{
    address->local = true;
    return len < sizeof(((struct sockaddr_un *)NULL)->sun_path) &&
           host_copy(path, len, address->host);
}

bool address_parse(const char *text, size_t len, struct address *address)
{
    const size_t prefix_len = sizeof(local_prefix) - 1;
    const char *port = NULL;
    size_t host_len = len;
    struct address parsed = {0};

    if (len > prefix_len && memcmp(text, local_prefix, prefix_len) == 0) {
        if (!local_parse(text + prefix_len, len - prefix_len, &parsed)) {
            return false;
        }
        *address = parsed;
        return true;
    }
    if (len > 0 && text[0] == '[') {
        const char *end = memchr(text, ']', len);

        if (!end) {
            return false;
        }
        port = end + 1 < text + len ? end + 1 : NULL;
        text++;
        len--;
        host_len = (size_t)(end - text);
        if (!memchr(text, ':', host_len)) {
            return false;
        }
    } else if ((port = memchr(text, ':', len)) != NULL) {
        host_len = (size_t)(port - text);
    }
    memcpy(parsed.port, default_port, sizeof(default_port));
    if (port &&
        (*port != ':' || !port_parse(port + 1, (size_t)(text + len - port) - 1, parsed.port))) {
        return false;
    }
    if (!host_copy(text, host_len, parsed.host)) {
        return false;
    }
    *address = parsed;
    return true;
}

size_t address_parse_list(const char *text, struct address *addresses)
{
    size_t count = 0;

    for (;;) {
        size_t len = strcspn(text, ",");
        const char *comma = text + len;

        while (len > 0 && *text == ' ') {
            text++;
            len--;
        }
        while (len > 0 && text[len - 1] == ' ') {
            len--;
        }
        if (count == ADDRESS_LIST_MAX || !address_parse(text, len, &addresses[count]) ||
            strcmp(addresses[count].port, "0") == 0) {
            return 0;
        }
        count++;
        if (*comma == '\0') {
            return count;
        }
        text = comma + 1;
    }
}

static size_t local_resolve(const struct address *address, struct address_endpoint *endpoint)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    size_t len = strlen(address->host);

    if (len >= sizeof(local.sun_path)) {
        return 0;
    }
    memcpy(local.sun_path, address->host, len + 1);
    memcpy(&endpoint->address, &local, sizeof(local));
    endpoint->len = (socklen_t)sizeof(local);
    return 1;
}

size_t address_resolve(const struct address *address, struct address_endpoint *endpoints,
                       const char **why)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    size_t count = 0;
    int error;

    if (address->local) {
        *why = "the path is too long";
        return local_resolve(address, endpoints);
    }
    error = getaddrinfo(address->host, address->port, &hints, &found);
    if (error) {
        *why = gai_strerror(error);
        return 0;
    }
    *why = "no address";
    for (struct addrinfo *each = found; each && count < ADDRESS_ENDPOINTS; each = each->ai_next) {
        if (each->ai_addrlen <= sizeof(endpoints[count].address)) {
            memcpy(&endpoints[count].address, each->ai_addr, each->ai_addrlen);
            endpoints[count].len = each->ai_addrlen;
            count++;
        }
    }
    freeaddrinfo(found);
    return count;
}

void address_text(const struct address *address, char *text, size_t text_bytes)
{
    if (address->local) {
        snprintf(text, text_bytes, "%s%s", local_prefix, address->host);
    } else if (strchr(address->host, ':')) {
        snprintf(text, text_bytes, "[%s]:%s", address->host, address->port);
    } else {
        snprintf(text, text_bytes, "%s:%s", address->host, address->port);
    }
}
