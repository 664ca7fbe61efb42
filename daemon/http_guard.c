#include "http_guard.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "address.h"
#include "auth.h"
#include "config.h"

static bool same(struct http_text text, const char *other, size_t other_len)
{
    return text.data != NULL && text.len == other_len &&
           strncasecmp(text.data, other, other_len) == 0;
}

/* Case matters in paths: they hold counters' names. */
static bool same_path(struct http_text path, const char *other, size_t other_len)
{
    return path.len == other_len && memcmp(path.data, other, other_len) == 0;
}

/* Is the text one of a list by comma? NULL: an empty list. */
static bool is_listed(const char *list, struct http_text text,
                      bool (*is_same)(struct http_text text, const char *other, size_t other_len))
{
    while (list != NULL && *list != '\0') {
        list += strspn(list, " \t");
        size_t size = strcspn(list, ","), len = size;
        while (len > 0 && (list[len - 1] == ' ' || list[len - 1] == '\t'))
            len--;
        if (len > 0 && is_same(text, list, len))
            return true;
        list += size;
        list += *list == ',';
    }
    return false;
}

static bool in_list(const char *list, struct http_text text)
{
    return is_listed(list, text, same);
}

/* Host without its port: "[::1]" keeps its brackets. */
static struct http_text without_port(struct http_text host)
{
    const char *end = host.len > 0 && host.data[0] == '[' ? memchr(host.data, ']', host.len)
                                                          : memchr(host.data, ':', host.len);
    if (end != NULL)
        host.len = (size_t)(end - host.data) + (*end == ']');
    return host;
}

/* The addresses of listen.http, as Host would tell them. */
static bool is_listened_on(const char *list, struct http_text name)
{
    while (list != NULL && *list != '\0') {
        size_t size = strcspn(list, ",");
        struct http_text place = {list + strspn(list, " \t"), size};
        place.len -= (size_t)(place.data - list);
        place = without_port(place);
        if (place.len > 0 && same(name, place.data, place.len))
            return true;
        list += size;
        list += *list == ',';
    }
    return false;
}

/* An address, which no name server can point elsewhere. */
static bool is_address(struct http_text name)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    char text[INET6_ADDRSTRLEN];
    bool v6 = name.len > 2 && name.data[0] == '[';
    size_t len = v6 ? name.len - 2 : name.len;
    if (len == 0 || len >= sizeof text)
        return false;
    memcpy(text, name.data + v6, len);
    text[len] = '\0';
    return inet_pton(v6 ? AF_INET6 : AF_INET, text, bytes) == 1;
}

static bool host_is_known(const struct config *config, struct http_text host)
{
    struct http_text name = without_port(host);
    return in_list("localhost", name) || is_address(name) || in_list(config->http.hosts, name) ||
           is_listened_on(config->listen.http, name);
}

/* The page that asks came from this daemon: its origin's authority is what it calls Host. */
static bool is_own_origin(struct http_text origin, struct http_text host)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < 2; i++) {
        size_t len = strlen(schemes[i]);
        if (origin.len > len && strncasecmp(origin.data, schemes[i], len) == 0 &&
            same(host, origin.data + len, origin.len - len))
            return true;
    }
    return false;
}

/* Someone follows a link of another site's page: the answer is a page of its own, which the other
 * one can not read, and GET changes nothing. */
static bool follows_link(const struct http_request *request)
{
    return (request->method == HTTP_METHOD_GET || request->method == HTTP_METHOD_HEAD) &&
           same(request->sec_fetch_mode, "navigate", 8) &&
           same(request->sec_fetch_dest, "document", 8);
}

static bool origin_is_known(const struct config *config, const struct http_request *request)
{
    if (request->origin.data != NULL)
        return is_own_origin(request->origin, request->host) ||
               in_list(config->http.origins, request->origin);
    /* Some requests of other sites' pages, as for an image, carry no Origin. */
    return request->sec_fetch_site.data == NULL || follows_link(request) ||
           in_list("same-origin, none", request->sec_fetch_site);
}

/* --- Credentials --- */

static int base64_value(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* RFC 4648, 4. Returns the bytes, or -1 where it is none or does not fit. */
static int decode_base64(struct http_text text, char *out, size_t out_bytes)
{
    size_t len = text.len, made = 0;
    if (len == 0 || len % 4 != 0 || len / 4 * 3 > out_bytes)
        return -1;
    size_t padding = (size_t)(text.data[len - 1] == '=') +
                     (size_t)(text.data[len - 1] == '=' && text.data[len - 2] == '=');
    for (size_t i = 0; i < len; i += 4) {
        uint32_t bits = 0;
        for (size_t j = i; j < i + 4; j++) {
            int value = j >= len - padding ? 0 : base64_value(text.data[j]);
            if (value < 0)
                return -1;
            bits = bits << 6 | (uint32_t)value;
        }
        for (int shift = 16; shift >= 0; shift -= 8)
            out[made++] = (char)(bits >> shift & 0xFF);
    }
    return (int)(made - padding);
}

static bool has_scheme(struct http_text *authorization, const char *scheme)
{
    size_t len = strlen(scheme);
    if (authorization->len <= len || strncasecmp(authorization->data, scheme, len) != 0 ||
        authorization->data[len] != ' ')
        return false;
    authorization->data += len;
    authorization->len -= len;
    while (authorization->len > 0 && *authorization->data == ' ') {
        authorization->data++;
        authorization->len--;
    }
    return true;
}

static bool check_pair(const struct auth *auth, const char *pair, size_t len)
{
    const char *colon = memchr(pair, ':', len);
    if (colon == NULL)
        return false;
    size_t user_len = (size_t)(colon - pair);
    /* No name: whoever a browser's dialog asks may know the password alone. */
    return auth_check(auth, user_len > 0 ? pair : NULL, user_len, colon + 1, len - user_len - 1);
}

/* Bearer PASSWORD or NAME:PASSWORD (RFC 6750); Basic base64(NAME:PASSWORD) (RFC 7617). */
static bool credential_is_right(const struct auth *auth, struct http_text authorization)
{
    char pair[2048]; /* more than a name and a password of the file may have together */
    struct http_text rest = authorization;
    if (has_scheme(&rest, "Bearer"))
        return auth_check(auth, NULL, 0, rest.data, rest.len) ||
               check_pair(auth, rest.data, rest.len);
    if (!has_scheme(&rest, "Basic"))
        return false;
    int len = decode_base64(rest, pair, sizeof pair);
    bool right = len >= 0 && check_pair(auth, pair, (size_t)len);
    explicit_bzero(pair, sizeof pair);
    return right;
}

static bool refuse(struct http_response *response, int status, enum error_word word,
                   const char *detail)
{
    http_problem(response, status, word, detail, strlen(detail));
    return false;
}

bool http_guard_shares(const struct http_request *request, const struct config *config)
{
    return request->origin.data != NULL && in_list(config->http.origins, request->origin);
}

bool http_guard(const struct http_request *request, const struct config *config,
                const struct auth *auth, struct http_response *response)
{
    if (request->host.data != NULL && !host_is_known(config, request->host))
        return refuse(response, 421, ERROR_NONE, "this Host is not on the list (http.hosts)");
    if (!origin_is_known(config, request))
        return refuse(response, 403, ERROR_NONE,
                      "pages of other sites may not call (http.origins)");
    if (request->method == HTTP_METHOD_OPTIONS && http_guard_shares(request, config))
        return true;
    if (auth == NULL || is_listed(config->http.open_paths, request->path, same_path))
        return true;
    if (request->authorization.data == NULL)
        return refuse(response, 0, ERROR_NOAUTH, "Authentication required.");
    if (!credential_is_right(auth, request->authorization))
        return refuse(response, 0, ERROR_WRONGPASS, "invalid username-password pair");
    return true;
}
