/* Errors as application/problem+json (RFC 9457). */
#include <string.h>

#include "http_api.h"
#include "json_write.h"
#include "outcome.h"

/* By error word. Where a text stands, the row is for that text alone, and comes before the word's
 * general row. */
static const struct problem {
    enum error_word word;
    const char *text;
    int status;
    int retry_after_s;
    const char *type; /* after "urn:idmint:error:" */
    const char *title;
    const char *hint; /* what to do next */
} problems[] = {
    {ERROR_ERR, OUTCOME_ABSENT, 404, 0, "urn:idmint:error:unknown-counter", "No such counter",
     "Counters are made by their first use, unless auto_create is off, or by PUT."},
    {ERROR_ERR, OUTCOME_DIFFERS, 409, 0, "urn:idmint:error:counter-exists", "The counter exists",
     "GET it to see how it is; PATCH moves its value."},
    {ERROR_ERR, NULL, 400, 0, "urn:idmint:error:err", "The request is wrong",
     "Repeating it will not help; /openapi.yaml says what is expected."},
    {ERROR_NOAUTH, NULL, 401, 0, "urn:idmint:error:noauth", "Authenticate first",
     "Send Authorization: Bearer PASSWORD, or Basic with user and password."},
    {ERROR_WRONGPASS, NULL, 401, 0, "urn:idmint:error:wrongpass", "The credential is wrong",
     "Check user and password against the daemon's password file."},
    {ERROR_NOPERM, NULL, 403, 0, "urn:idmint:error:noperm", "The credential does not allow this",
     "Use a credential that may do this."},
    {ERROR_NOPROTO, NULL, 400, 0, "urn:idmint:error:noproto", "No such protocol version",
     "Ask for a version that is spoken."},
    {ERROR_EXECABORT, NULL, 400, 0, "urn:idmint:error:execabort", "The batch was dropped",
     "Mend the command that was wrong."},
    {ERROR_WRONGTYPE, NULL, 409, 0, "urn:idmint:error:wrongtype", "The stored value is no integer",
     "Mend the document in the database; idmint does not change what it can not read."},
    {ERROR_BACKWARD, NULL, 409, 0, "urn:idmint:error:backward", "The stored counter went back",
     "It is stopped. PATCH {\"raise\": n} past what was issued lets it go on."},
    {ERROR_TRYAGAIN, NULL, 503, 1, "urn:idmint:error:tryagain", "Not done: try again",
     "Nothing was taken: repeat the request after Retry-After seconds."},
    {ERROR_UNCERTAIN, NULL, 504, 0, "urn:idmint:error:uncertain", "Perhaps done",
     "Values that were taken are lost and will not be issued again: a repeat of a POST costs a "
     "gap, never a duplicate. After PUT, PATCH or DELETE look with GET first."},
    {ERROR_NOTLEADER, NULL, 503, 1, "urn:idmint:error:notleader", "Another daemon issues these",
     "Ask the daemon in `leader` (its line protocol's address), or repeat after Retry-After "
     "seconds."},
    {ERROR_EXHAUSTED, NULL, 409, 0, "urn:idmint:error:exhausted", "The end is reached",
     "The counter's max, or the end of the format, is reached: nothing was taken."},
};
#define PROBLEMS (sizeof problems / sizeof problems[0])

/* HTTP's own errors. */
static const struct http_status {
    int status;
    const char *title; /* RFC 9110's phrase */
    const char *hint;  /* NULL: the detail says it all */
    int retry_after_s; /* 0: not told */
} statuses[] = {
    {100, "Continue", NULL, 0},
    {200, "OK", NULL, 0},
    {201, "Created", NULL, 0},
    {204, "No Content", NULL, 0},
    {304, "Not Modified", NULL, 0},
    {400, "Bad Request", NULL, 0},
    {401, "Unauthorized", NULL, 0},
    {403, "Forbidden", NULL, 0},
    {404, "Not Found", "/openapi.yaml lists the paths.", 0},
    {405, "Method Not Allowed", "The header Allow lists the methods of this path.", 0},
    {408, "Request Timeout", "Send the whole request at once.", 0},
    {409, "Conflict", NULL, 0},
    {413, "Content Too Large", "Send a smaller body.", 0},
    {414, "URI Too Long", "Send a shorter path and query.", 0},
    {415, "Unsupported Media Type", "Send Content-Type: application/json.", 0},
    {417, "Expectation Failed", "The only expectation that is met is 100-continue.", 0},
    {421, "Misdirected Request", "The setting http.hosts lists the names that Host may say.", 0},
    {431, "Request Header Fields Too Large", "Send fewer or shorter headers.", 0},
    {500, "Internal Server Error", "The daemon's log may say more.", 0},
    {501, "Not Implemented", NULL, 0},
    {503, "Service Unavailable", "Repeat the request after Retry-After seconds.", 1},
    {504, "Gateway Timeout", NULL, 0},
    {505, "HTTP Version Not Supported", "Speak HTTP/1.1.", 0},
};
#define STATUSES (sizeof statuses / sizeof statuses[0])

static const struct http_status *find_status(int status)
{
    for (size_t i = 0; i < STATUSES; i++)
        if (statuses[i].status == status)
            return &statuses[i];
    return find_status(500);
}

static const struct problem *find_problem(enum error_word word, const char *detail, size_t len)
{
    for (size_t i = 0; i < PROBLEMS; i++) {
        const struct problem *row = &problems[i];
        if (row->word == word && (row->text == NULL || (strlen(row->text) == len &&
                                                        memcmp(row->text, detail, len) == 0)))
            return row;
    }
    return NULL;
}

const char *http_status_title(int status)
{
    return find_status(status)->title;
}

const char *http_problem_at(size_t index, int *status)
{
    if (index >= PROBLEMS)
        return NULL;
    *status = problems[index].status;
    return problems[index].type;
}

static void put_member(struct json *json, const char *key, const char *text)
{
    json_put_key(json, key);
    json_put_text(json, text);
}

/* NOTLEADER's text is the address alone. */
static void put_leader(struct json *json, const char *address, size_t len)
{
    put_member(json, "detail", "another daemon issues these");
    json_put_key(json, "leader");
    if (len > 0)
        json_put_string(json, address, len);
    else
        json_put_null(json);
}

void http_problem(struct http_response *response, int status, enum error_word word,
                  const char *detail, size_t detail_len)
{
    const struct problem *problem = find_problem(word, detail, detail_len);
    const struct http_status *plain = find_status(status);
    const char *hint = problem != NULL ? problem->hint : plain->hint;
    struct json json = {&response->body, false};
    response->status = status != 0 || problem == NULL ? plain->status : problem->status;
    response->error = word;
    response->retry_after_s = problem != NULL ? problem->retry_after_s : plain->retry_after_s;
    response->content_type = "application/problem+json";
    response->no_store = true;
    json_open(&json, '{');
    put_member(&json, "type", problem != NULL ? problem->type : "about:blank");
    put_member(&json, "title", problem != NULL ? problem->title : plain->title);
    json_put_key(&json, "status");
    json_put_integer(&json, response->status);
    if (word == ERROR_NOTLEADER) {
        put_leader(&json, detail, detail_len);
    } else if (detail_len > 0) {
        json_put_key(&json, "detail");
        json_put_string(&json, detail, detail_len);
    }
    if (problem != NULL)
        put_member(&json, "error", error_word_text(word));
    if (hint != NULL)
        put_member(&json, "hint", hint);
    json_close(&json, '}');
}
