/* Who may ask over HTTP at all, told from a request's head alone, before its body is read: pages of
 * other sites in a browser may not (a page that names a loopback address must not reach this
 * daemon), nor those without a credential where one is set. Pure. */
#ifndef IDMINT_HTTP_GUARD_H
#define IDMINT_HTTP_GUARD_H

#include <stdbool.h>

#include "http_api.h"
#include "http_request.h"

struct auth;
struct config;

/* false: `response` says why not. 421: Host is a name that is not on the list (DNS rebinding); 403:
 * Origin is neither the daemon's own nor on the list, or a page of another site asks
 * (Sec-Fetch-Site; but for a link to a page, which may be followed); 401: a credential is asked for
 * (auth not NULL) and not there, or wrong. A browser's question whether such a page may ask
 * (OPTIONS) carries no credential and needs none. */
bool http_guard(const struct http_request *request, const struct config *config,
                const struct auth *auth, struct http_response *response)
    __attribute__((warn_unused_result));

/* The request comes from a page of another site that is on the list: it may read the answer (CORS,
 * https://fetch.spec.whatwg.org/#http-cors-protocol). */
bool http_guard_shares(const struct http_request *request, const struct config *config);

#endif
