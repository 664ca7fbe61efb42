/* Requests as http_request.h would have read them, and what http_plan makes of them. */
#ifndef IDMINT_HTTP_CASE_H
#define IDMINT_HTTP_CASE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_api.h"

struct http_case {
    struct http_request request;
    struct http_plan plan;
    struct http_response response;
    char *heap[3]; /* copies of exact size, so that a sanitizer sees a step past the end */
};

static inline struct http_text exactly(char **copy, const char *text, size_t len)
{
    *copy = malloc(len > 0 ? len : 1);
    ck_assert_ptr_nonnull(*copy);
    memcpy(*copy, text, len);
    return (struct http_text){*copy, len};
}

/* The parser answers methods that nothing here serves; OPTIONS stands for those it lets pass. */
static inline enum http_method method_named(const char *name)
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
    for (int i = 0; i < 6; i++)
        if (strcmp(names[i], name) == 0)
            return (enum http_method)i;
    return HTTP_METHOD_OPTIONS;
}

/* `target` with its query; `body` NULL: none. */
static inline struct http_case *case_plan(const char *method, const char *target, const char *body,
                                          const char *content_type)
{
    struct http_case *self = calloc(1, sizeof *self);
    ck_assert_ptr_nonnull(self);
    memset(&self->plan, 0x5A, sizeof self->plan); /* needs no initialisation */
    struct http_request *request = &self->request;
    const char *mark = strchr(target, '?');
    size_t path_len = mark != NULL ? (size_t)(mark - target) : strlen(target);
    request->method = method_named(method);
    request->keep_alive = true;
    request->path = exactly(&self->heap[0], target, path_len);
    if (mark != NULL)
        request->query = exactly(&self->heap[1], mark + 1, strlen(mark + 1));
    if (body != NULL)
        request->body = exactly(&self->heap[2], body, strlen(body));
    if (content_type != NULL)
        request->content_type = (struct http_text){content_type, strlen(content_type)};
    http_response_init(&self->response);
    http_plan(request, &self->plan, &self->response);
    /* What the plan needs of the request it has copied. */
    for (int i = 0; i < 3; i++) {
        free(self->heap[i]);
        self->heap[i] = NULL;
    }
    return self;
}

static inline void case_finish(struct http_case *self)
{
    http_response_finish(&self->response);
    free(self);
}

/* The body, or the command with its arguments between brackets; a static buffer. */
static inline const char *case_text(const struct http_case *self)
{
    static char text[4096];
    size_t at = 0;
    if (self->plan.kind != HTTP_PLAN_COMMAND || self->response.status != 0) {
        snprintf(text, sizeof text, "%.*s", (int)self->response.body.len, self->response.body.data);
        return text;
    }
    text[0] = '\0';
    for (size_t i = 0; i < self->plan.argc; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s", i > 0 ? " " : "",
                               (int)self->plan.args[i].len, self->plan.args[i].data);
    return text;
}

#endif
