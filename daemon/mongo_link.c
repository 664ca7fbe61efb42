#include "mongo_link.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "mongo_uri.h"

static int64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- Faults --- */

void mongo_fault_set(struct mongo_fault *fault, enum store_result result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fault->result = result;
    fault->code = 0;
    vsnprintf(fault->text, sizeof(fault->text), format, arguments);
    va_end(arguments);
}

/* The answers that prove that nothing was applied. */
static bool proves_nothing_applied(int32_t code)
{
    static const int32_t codes[] = {
        10107, /* NotWritablePrimary */
        13435, /* NotPrimaryNoSecondaryOk */
        13436, /* NotPrimaryOrSecondary */
        11000, /* DuplicateKey */
        14,    /* TypeMismatch */
        2,     /* BadValue */
        13,    /* Unauthorized */
        40,    /* ConflictingUpdateOperators */
        112,   /* WriteConflict */
    };
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i] == code)
            return true;
    return false;
}

bool mongo_find(const bson_t *document, const char *path, bson_iter_t *found)
{
    bson_iter_t iter;
    return bson_iter_init(&iter, document) && bson_iter_find_descendant(&iter, path, found);
}

bool mongo_find_document(const bson_t *document, const char *path, bson_t *inner)
{
    bson_iter_t at;
    uint32_t len = 0;
    const uint8_t *bytes = NULL;
    if (!mongo_find(document, path, &at))
        return false;
    if (BSON_ITER_HOLDS_DOCUMENT(&at))
        bson_iter_document(&at, &len, &bytes);
    else if (BSON_ITER_HOLDS_ARRAY(&at))
        bson_iter_array(&at, &len, &bytes);
    return bytes != NULL && bson_init_static(inner, bytes, len);
}

static void take_error(const bson_t *from, const char *code, const char *text,
                       struct mongo_fault *fault)
{
    bson_iter_t at;
    if (mongo_find(from, code, &at))
        fault->code = (int32_t)bson_iter_as_int64(&at);
    if (mongo_find(from, text, &at) && BSON_ITER_HOLDS_UTF8(&at))
        snprintf(fault->text, sizeof(fault->text), "%s", bson_iter_utf8(&at, NULL));
}

int mongo_judge(bool ok, const bson_t *reply, const bson_error_t *error, struct mongo_fault *fault)
{
    bson_t inner;
    mongo_fault_set(fault, STORE_UNKNOWN, "%s", ok ? "" : error->message);
    /* Though it came with a value: what no majority has may be rolled back. */
    if (mongo_find_document(reply, "writeConcernError", &inner)) {
        take_error(&inner, "code", "errmsg", fault);
        return -1;
    }
    if (mongo_find_document(reply, "writeErrors.0", &inner))
        take_error(&inner, "code", "errmsg", fault);
    else if (ok)
        return 0;
    else
        take_error(reply, "code", "errmsg", fault);
    if (proves_nothing_applied(fault->code))
        fault->result = STORE_NOT_DONE;
    return -1;
}

/* --- Connections --- */

static void set_bounds(struct mongo_bounds *bounds, int64_t commit_ms)
{
    bounds->commit_ms = commit_ms;
    /* Long enough for a server that was lost to be found again: where nothing was lost it takes no
     * time, and where it took long there is no command. */
    bounds->select_ms = commit_ms * 2 / 5 + 1;
    bounds->connect_ms = commit_ms / 5 + 1;
    bounds->command_ms = commit_ms * 3 / 5 + 1;
    /* Before the connection gives up: the server's own word is worth more. */
    bounds->server_ms = commit_ms / 2 + 1;
}

int mongo_link_open(struct mongo_link *link, const struct config *config, int64_t commit_ms,
                    char *why, size_t why_bytes)
{
    mongoc_init();
    mongoc_log_set_handler(NULL, NULL); /* errors come back from calls */
    set_bounds(&link->bounds, commit_ms);
    mongoc_uri_t *uri = mongo_uri_make(config, &link->bounds, why, why_bytes);
    if (uri == NULL)
        return -1;
    bson_error_t error;
    link->pool = mongoc_client_pool_new_with_error(uri, &error);
    mongoc_uri_destroy(uri);
    if (link->pool == NULL) {
        snprintf(why, why_bytes, "[store] uri: %s", error.message);
        return -1;
    }
    /* The threads that commit, and the few that test the server at start. */
    mongoc_client_pool_max_size(link->pool, (uint32_t)config->mongo.connections + 4);
    mongoc_client_pool_set_error_api(link->pool, MONGOC_ERROR_API_VERSION_2);
    return 0;
}

void mongo_link_close(struct mongo_link *link)
{
    if (link->pool != NULL)
        mongoc_client_pool_destroy(link->pool);
    link->pool = NULL;
}

int mongo_call_begin(const struct mongo_link *link, struct mongo_call *call)
{
    call->link = link;
    call->end_ms = monotonic_ms() + link->bounds.commit_ms;
    call->client = mongoc_client_pool_pop(link->pool);
    return call->client != NULL ? 0 : -1;
}

void mongo_call_end(struct mongo_call *call)
{
    mongoc_client_pool_push(call->link->pool, call->client);
}

/* The driver's words for what it found out, without how long it tried. */
static const char *why_none(const bson_error_t *error)
{
    const char *causes = strstr(error->message, "expired: [");
    return causes != NULL ? causes + strlen("expired: ") : error->message;
}

/* A server that takes writes, with a connection to it: up to here nothing is sent. 0: none. */
static uint32_t reach_primary(struct mongo_call *call, struct mongo_fault *fault)
{
    bson_error_t error;
    mongoc_server_description_t *server =
        mongoc_client_select_server(call->client, true, NULL, &error);
    uint32_t id = 0;
    if (server != NULL) {
        id = mongoc_server_description_id(server);
        mongoc_server_description_destroy(server);
        server = mongoc_client_get_handshake_description(call->client, id, NULL, &error);
    }
    if (server == NULL) {
        mongo_fault_set(fault, STORE_NOT_DONE, "no server takes writes: %s", why_none(&error));
        if (error.domain == MONGOC_ERROR_CLIENT && error.code == MONGOC_ERROR_CLIENT_AUTHENTICATE)
            fault->code = MONGO_AUTHENTICATION_FAILED;
        return 0;
    }
    mongoc_server_description_destroy(server);
    return id;
}

static int send_command(struct mongo_call *call, const char *database, bson_t *command,
                        bson_t *reply, struct mongo_fault *fault)
{
    const struct mongo_bounds *bounds = &call->link->bounds;
    bson_error_t error;
    uint32_t server = reach_primary(call, fault);
    if (server == 0)
        return -1;
    if (monotonic_ms() + bounds->command_ms > call->end_ms) {
        mongo_fault_set(fault, STORE_NOT_DONE, "no time was left to ask the server");
        return -1;
    }
    BSON_APPEND_INT64(command, "maxTimeMS", bounds->server_ms);
    bool ok = mongoc_client_command_simple_with_server_id(call->client, database, command, NULL,
                                                          server, reply, &error);
    int result = mongo_judge(ok, reply, &error, fault);
    if (result < 0)
        bson_destroy(reply);
    return result;
}

void mongo_read_concern(const struct mongo_call *call, bson_t *command, const char *level)
{
    bson_t concern;
    if (call->link->standalone)
        return;
    bson_append_document_begin(command, "readConcern", -1, &concern);
    BSON_APPEND_UTF8(&concern, "level", level);
    bson_append_document_end(command, &concern);
}

int mongo_read(struct mongo_call *call, const char *database, bson_t *command, bson_t *reply,
               struct mongo_fault *fault)
{
    int result = send_command(call, database, command, reply, fault);
    bson_destroy(command);
    if (result < 0)
        fault->result = STORE_NOT_DONE;
    return result;
}

int mongo_write(struct mongo_call *call, const char *database, bson_t *command, bson_t *reply,
                struct mongo_fault *fault)
{
    bson_t concern;
    bson_append_document_begin(command, "writeConcern", -1, &concern);
    BSON_APPEND_UTF8(&concern, "w", "majority");
    BSON_APPEND_BOOL(&concern, "j", true);
    BSON_APPEND_INT64(&concern, "wtimeout", call->link->bounds.server_ms);
    bson_append_document_end(command, &concern);
    int result = send_command(call, database, command, reply, fault);
    bson_destroy(command);
    return result;
}
