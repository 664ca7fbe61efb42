/* The HTTP API: a request -> a command of the line protocol, and the command's reply -> JSON. Pure:
 * knows no socket, no clock and no store; both directions are data. The way of one request:
 *
 *   http_plan        method, path, query and body become a plan: an answer that is known already
 *                    (an error, a static document), a page the daemon fills in, or a command
 *   dispatch_call    carries the command out (RESP3), at once or later
 *   http_answer      turns the bytes of its reply into status and body, by the plan
 *
 * Routes stand in one table in http_api.c (method, path, what it becomes), error words' statuses in
 * one table in http_problem.c; proto/openapi.yaml is checked against both. */
#ifndef IDMINT_HTTP_API_H
#define IDMINT_HTTP_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "errors.h"
#include "http_request.h"
#include "limit.h"
#include "resp.h"

/* An answer without its head's constant lines (Date, Connection, the security headers), which
 * http.c writes. */
struct http_response {
    int status;
    enum error_word error;                    /* of a problem that has one; else NONE */
    const char *content_type;                 /* constant; NULL: no body */
    const char *allow;                        /* 405: constant, "GET, HEAD" */
    int retry_after_s;                        /* 0: no such header */
    char etag[48];                            /* with its quotes; "": none */
    char location[LIMIT_NAME_BYTES * 3 + 32]; /* "": none */
    const char *more_head;  /* constant lines of the head, each with its CRLF; NULL: none */
    bool no_store;          /* Cache-Control: no-store; everything but documents */
    struct buffer body;     /* owned; http_response_finish */
    struct http_text fixed; /* instead of body: bytes that live as long as the program */
};
void http_response_init(struct http_response *response);
void http_response_finish(struct http_response *response);

/* What http.c fills in itself, as it takes more than a command's reply. */
enum http_page {
    HTTP_PAGE_HEALTHZ, /* alive */
    HTTP_PAGE_READYZ,  /* the store answers */
    HTTP_PAGE_LEADERZ, /* this daemon leads */
    HTTP_PAGE_METRICS,
    HTTP_PAGE_STATUS, /* the page at / */
    HTTP_PAGE_OPENAPI,
    HTTP_PAGE_WARNINGS, /* what the log said of late */
    HTTP_PAGE_EVENTS,   /* server-sent events: live rates */
};

enum http_plan_kind {
    HTTP_PLAN_ANSWER,  /* `response` has it all */
    HTTP_PLAN_COMMAND, /* args[0 .. argc) for dispatch_call; then http_answer */
    HTTP_PLAN_PAGE,
};

#define HTTP_PLAN_ARGS 16

struct http_plan {
    enum http_plan_kind kind;
    enum http_page page;
    const struct http_route *route; /* its row: http_api.c's alone */
    struct resp_arg args[HTTP_PLAN_ARGS];
    size_t argc;
    bool head_only; /* HEAD: http.c sends the headers of GET, with its Content-Length */
    int64_t count;  /* of values asked for; RESET: the value */
    char name[LIMIT_NAME_BYTES]; /* a counter's name or prefix, or an id; args point here */
    size_t name_len;
    char text[512]; /* other arguments' bytes */
    size_t text_len;
    char if_none_match[128]; /* "" : none */
};

/* `plan` need not be initialised; on HTTP_PLAN_ANSWER `response` (initialised by the caller) is
 * filled, else untouched. The args point into the plan (do not copy it), not into the request. */
void http_plan(const struct http_request *request, struct http_plan *plan,
               struct http_response *response);

/* `reply`: one RESP3 value, whole. A reply that is no error becomes 200 or 201 and JSON by the
 * plan's row; an error becomes problem+json. A reply that can not be read is 500. */
void http_answer(const struct http_plan *plan, const char *reply, size_t len,
                 struct http_response *response);

/* application/problem+json (RFC 9457). `status` 0: as the word's row says. `word` ERROR_NONE: an
 * error of HTTP itself, told by `status` alone; `detail` is text for a person. */
void http_problem(struct http_response *response, int status, enum error_word word,
                  const char *detail, size_t detail_len);

/* The reason phrase of a status ("Not Found"). */
const char *http_status_title(int status);

/* The tables, for the test that compares them with openapi.yaml: path and Allow of the index'th
 * path, status and type of the index'th problem; NULL past the last. */
const char *http_path_at(size_t index, const char **allow);
const char *http_problem_at(size_t index, int *status);

#endif
