/* What the parts of the HTTP API share among themselves (http_api.c, http_input.c, http_plans.c,
 * http_answers.c); http_api.h is for everyone else. */
#ifndef IDMINT_HTTP_ROUTE_H
#define IDMINT_HTTP_ROUTE_H

#include <jansson.h>

#include "http_api.h"
#include "resp.h"

/* --- Input: the members of a JSON body, or the parameters of a query --- */

enum http_field_kind {
    HTTP_FIELD_INTEGER, /* also as a string of digits */
    HTTP_FIELD_BOOLEAN,
    HTTP_FIELD_TEXT,
    HTTP_FIELD_OBJECT,
};

struct http_field {
    const char *name; /* NULL ends a list */
    enum http_field_kind kind;
    int64_t least, most; /* INTEGER: its value; TEXT: its bytes, at most HTTP_TEXT_BYTES */
};

#define HTTP_FIELDS 5
#define HTTP_TEXT_BYTES LIMIT_NAME_BYTES

struct http_value {
    bool given;
    int64_t integer; /* BOOLEAN: 0 or 1 */
    const char *text;
    size_t text_len;
    const json_t *object;
};

struct http_input {
    struct http_value values[HTTP_FIELDS];    /* in the order of the fields */
    json_t *body;                             /* values point into it */
    char texts[HTTP_FIELDS][HTTP_TEXT_BYTES]; /* a query's, decoded */
};

/* --- Routes --- */

struct http_reply; /* what is left to read of a command's reply */

/* One method of one path. */
struct http_route {
    enum http_method method; /* GET stands for HEAD, too */
    const char *path;        /* "{name}" stands for one segment, which is not empty */
    const char *allow;       /* of the whole path */
    bool in_query;           /* where the fields are: else in the body */
    const struct http_field *fields;
    /* NULL: it is `page`. Makes the plan's command; false: `response` says why not. */
    bool (*plan)(struct http_plan *plan, const struct http_input *input,
                 struct http_response *response);
    /* Writes status and body, from a reply that is no error; false: it is not as expected. */
    bool (*answer)(const struct http_plan *plan, struct http_reply *reply,
                   struct http_response *response);
    /* NULL, or: does this error mean that all is as asked for? Then `answer` gets it. */
    bool (*is_done)(const struct resp_value *error);
    enum http_page page;
};

/* A 400 that says what is wrong with the request. Returns false. */
bool http_refuse(struct http_response *response, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Percent-decoding of text whose escapes http_escapes_ok has seen: at most `most` bytes to out;
 * returns how many, or most + 1 where there are more. */
bool http_escapes_ok(struct http_text text);
size_t http_decode(struct http_text text, char *out, size_t most);

/* Read the input of a route; false: `response` says what is wrong. http_input_finish either way. */
bool http_input_read(const struct http_route *route, const struct http_request *request,
                     struct http_input *input, struct http_response *response);
void http_input_finish(struct http_input *input);
/* The members of an object within the body. */
bool http_input_object(const json_t *object, const struct http_field *fields,
                       struct http_value *values, struct http_response *response);

/* --- The reply, read value by value --- */

struct http_reply {
    const char *at;
    size_t len;
};

/* The next value; false: there is none. */
bool http_reply_next(struct http_reply *reply, struct resp_value *value);

/* --- What routes become: http_plans.c --- */

#define HTTP_PLAN(what)                                                                            \
    bool http_plan_##what(struct http_plan *plan, const struct http_input *input,                  \
                          struct http_response *response)
HTTP_PLAN(next);
HTTP_PLAN(next_named);
HTTP_PLAN(oids);
HTTP_PLAN(oid_decode);
HTTP_PLAN(oid_at);
HTTP_PLAN(uuids);
HTTP_PLAN(counters);
HTTP_PLAN(counter);
HTTP_PLAN(counter_create);
HTTP_PLAN(counter_move);
HTTP_PLAN(counter_drop);
HTTP_PLAN(info);

extern const struct http_field http_fields_count[], http_fields_next_named[], http_fields_oids[],
    http_fields_oid_at[], http_fields_uuids[], http_fields_counters[], http_fields_create[],
    http_fields_move[], http_fields_drop[];

/* --- What replies become: http_answers.c --- */

#define HTTP_ANSWER(what)                                                                          \
    bool http_answer_##what(const struct http_plan *plan, struct http_reply *reply,                \
                            struct http_response *response)
HTTP_ANSWER(next);
HTTP_ANSWER(oids);
HTTP_ANSWER(oid_decoded);
HTTP_ANSWER(oid);
HTTP_ANSWER(uuids);
HTTP_ANSWER(counters);
HTTP_ANSWER(counter);
HTTP_ANSWER(created);
HTTP_ANSWER(moved);
HTTP_ANSWER(dropped);
HTTP_ANSWER(info);
bool http_is_created(const struct resp_value *error);

#endif
