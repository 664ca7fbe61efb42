#include "mongo_uri.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PASSWORD_BYTES 1024
/* A server that hangs is noticed after this and the time to connect. */
#define HEARTBEAT_MS 1000

/* The first line of a file. */
static int read_password(const char *path, char password[PASSWORD_BYTES], char *why,
                         size_t why_bytes)
{
    FILE *file = fopen(path, "re");
    if (file == NULL || fgets(password, PASSWORD_BYTES, file) == NULL) {
        snprintf(why, why_bytes, "[mongo] password_file: %s: %s", path,
                 file == NULL || ferror(file) ? strerror(errno) : "it is empty");
        if (file != NULL)
            fclose(file);
        return -1;
    }
    fclose(file);
    size_t len = strcspn(password, "\r\n");
    if (len == PASSWORD_BYTES - 1 || len == 0) {
        snprintf(why, why_bytes, "[mongo] password_file: %s: its first line is %s", path,
                 len == 0 ? "empty" : "too long for a password");
        return -1;
    }
    password[len] = '\0';
    return 0;
}

static int set_password(mongoc_uri_t *uri, const char *path, char *why, size_t why_bytes)
{
    char password[PASSWORD_BYTES];
    if (mongoc_uri_get_username(uri) == NULL || mongoc_uri_get_username(uri)[0] == '\0') {
        snprintf(why, why_bytes,
                 "[mongo] password_file: the URI names no user: write "
                 "mongodb://USER@HOST/");
        return -1;
    }
    if (read_password(path, password, why, why_bytes) < 0)
        return -1;
    bool set = mongoc_uri_set_password(uri, password);
    explicit_bzero(password, sizeof(password));
    if (!set)
        snprintf(why, why_bytes, "[mongo] password_file: %s: the password is no UTF-8", path);
    return set ? 0 : -1;
}

/* The operator may ask for shorter waits, not for longer ones. */
static bool bound(mongoc_uri_t *uri, const char *option, int64_t most_ms)
{
    int32_t given = mongoc_uri_get_option_as_int32(uri, option, 0);
    return (given > 0 && given <= most_ms) ||
           mongoc_uri_set_option_as_int32(uri, option, (int32_t)most_ms);
}

static bool set_habits(mongoc_uri_t *uri, const struct mongo_bounds *bounds)
{
    /* Retries are ours: the driver's would hide what became of the first attempt. */
    return mongoc_uri_set_option_as_bool(uri, MONGOC_URI_RETRYWRITES, false) &&
           mongoc_uri_set_option_as_bool(uri, MONGOC_URI_RETRYREADS, false) &&
           mongoc_uri_set_option_as_bool(uri, MONGOC_URI_SERVERSELECTIONTRYONCE, false) &&
           bound(uri, MONGOC_URI_WAITQUEUETIMEOUTMS, bounds->select_ms) &&
           bound(uri, MONGOC_URI_SERVERSELECTIONTIMEOUTMS, bounds->select_ms) &&
           bound(uri, MONGOC_URI_CONNECTTIMEOUTMS, bounds->connect_ms) &&
           bound(uri, MONGOC_URI_SOCKETTIMEOUTMS, bounds->command_ms) &&
           bound(uri, MONGOC_URI_HEARTBEATFREQUENCYMS, HEARTBEAT_MS) &&
           (mongoc_uri_get_appname(uri) != NULL || mongoc_uri_set_appname(uri, "idmintd"));
}

/* An "@" that should have been %40 makes a part of the password a host, which errors name. */
static bool hosts_are_sound(const mongoc_uri_t *uri)
{
    for (const mongoc_host_list_t *host = mongoc_uri_get_hosts(uri); host != NULL;
         host = host->next)
        if (strchr(host->host, '@') != NULL)
            return false;
    return true;
}

/* The driver would say that TLS failed, without the file's name, each time it connects. */
static int check_files(const mongoc_uri_t *uri, char *why, size_t why_bytes)
{
    static const char *const options[] = {MONGOC_URI_TLSCAFILE, MONGOC_URI_TLSCERTIFICATEKEYFILE};
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        const char *path = mongoc_uri_get_option_as_utf8(uri, options[i], NULL);
        if (path != NULL && access(path, R_OK) < 0) {
            snprintf(why, why_bytes, "[store] uri: %s: %s: %s", options[i], path, strerror(errno));
            return -1;
        }
    }
    return 0;
}

mongoc_uri_t *mongo_uri_make(const struct config *config, const struct mongo_bounds *bounds,
                             char *why, size_t why_bytes)
{
    bson_error_t error;
    mongoc_uri_t *uri = mongoc_uri_new_with_error(config->store.uri, &error);
    if (uri == NULL || !hosts_are_sound(uri)) {
        mongoc_uri_destroy(uri);
        /* The driver's text may quote the URI. */
        snprintf(why, why_bytes,
                 "[store] uri: not a MongoDB URI: write "
                 "mongodb://[USER:PASSWORD@]HOST[:PORT][,...]/?OPTION=VALUE, with "
                 "special characters as %%XX");
        return NULL;
    }
    if (check_files(uri, why, why_bytes) < 0)
        goto fail;
    if (config->mongo.password_file != NULL &&
        set_password(uri, config->mongo.password_file, why, why_bytes) < 0)
        goto fail;
    if (!set_habits(uri, bounds)) {
        snprintf(why, why_bytes, "[store] uri: its time-outs can not be set");
        goto fail;
    }
    return uri;

fail:
    mongoc_uri_destroy(uri);
    return NULL;
}
