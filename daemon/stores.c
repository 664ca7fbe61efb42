/* The stores there are, and the choice of one by its URI. */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "store.h"
#include "store_memory.h"
#ifdef HAVE_MONGO
#include "store_mongo.h"
#endif
#include "store_sqlite.h"

static const struct store_backend *const backends[] = {
    &store_sqlite_backend,
    &store_memory_backend,
#ifdef HAVE_MONGO
    &store_mongo_backend,
    &store_mongo_srv_backend,
#endif
};

static bool is_scheme(const char *uri, size_t len, const char *scheme)
{
    return strlen(scheme) == len && memcmp(uri, scheme, len) == 0;
}

/* No more of the URI than its scheme is repeated: the rest may hold a password. */
int store_open(const struct config *config, struct store **store, char *why, size_t why_bytes)
{
    const char *uri = config->store.uri;
    const char *colon = strchr(uri, ':');
    size_t len = colon == NULL ? 0 : (size_t)(colon - uri);
    for (size_t i = 0; len != 0 && i < sizeof(backends) / sizeof(backends[0]); i++)
        if (is_scheme(uri, len, backends[i]->scheme))
            return backends[i]->open(config, colon + 1, store, why, why_bytes);
    if (len == 0)
        snprintf(why, why_bytes, "the store's URI has no scheme: write sqlite:PATH");
    else if (is_scheme(uri, len, "mongodb") || is_scheme(uri, len, "mongodb+srv"))
        snprintf(why, why_bytes, "the MongoDB store is not built in: use sqlite:PATH");
    else
        snprintf(why, why_bytes, "unknown store \"%.*s\": there are sqlite:PATH and memory:",
                 (int)(len < 32 ? len : 32), uri);
    return -1;
}
