#include "mongo_sync.h"

#include <stdio.h>
#include <string.h>

#define NAMESPACE_NOT_FOUND 26
#define NAME_BYTES 256

/* "database.collection", cut at the first dot: a database's name has none. */
static int split(struct mongo_work *work, char database[NAME_BYTES], const char **collection)
{
    const char *source = work->op->source;
    const char *dot = strchr(source, '.');
    if (dot == NULL || dot == source || dot[1] == '\0' || dot - source >= NAME_BYTES) {
        mongo_fault_set(&work->fault, STORE_REFUSED, "give the collection as database.collection");
        return -1;
    }
    snprintf(database, NAME_BYTES, "%.*s", (int)(dot - source), source);
    *collection = dot + 1;
    return 0;
}

static bool begins_with(const bson_t *index, const char *field)
{
    bson_t key;
    bson_iter_t at;
    return mongo_find_document(index, "key", &key) && bson_iter_init(&at, &key) &&
           bson_iter_next(&at) && strcmp(bson_iter_key(&at), field) == 0 &&
           !bson_iter_init_find(&at, index, "partialFilterExpression") &&
           !bson_iter_init_find(&at, index, "sparse");
}

/* Without an index the server would look at every document, and a big collection would not be done
 * in time. */
static int require_index(struct mongo_work *work, const char *database, const char *collection)
{
    bson_t reply, batch, index;
    bson_iter_t at;
    uint32_t len;
    const uint8_t *bytes;
    bool found = strcmp(work->op->field, "_id") == 0;
    if (found)
        return 0;
    if (mongo_read(work->call, database,
                   BCON_NEW("listIndexes", BCON_UTF8(collection), "cursor", "{", "batchSize",
                            BCON_INT32(1000), "}"),
                   &reply, &work->fault) < 0) {
        if (work->fault.code == NAMESPACE_NOT_FOUND)
            mongo_fault_set(&work->fault, STORE_REFUSED, "there is no collection %s",
                            work->op->source);
        return -1;
    }
    if (mongo_find_document(&reply, "cursor.firstBatch", &batch) && bson_iter_init(&at, &batch))
        while (bson_iter_next(&at) && !found) {
            bson_iter_document(&at, &len, &bytes);
            found = bytes != NULL && bson_init_static(&index, bytes, len) &&
                    begins_with(&index, work->op->field);
        }
    bson_destroy(&reply);
    if (!found)
        mongo_fault_set(&work->fault, STORE_REFUSED, "no index: db.%s.createIndex({\"%s\":1})",
                        collection, work->op->field);
    return found ? 0 : -1;
}

/* A write that a majority has: what was acknowledged before it is seen by a read that is told its
 * time, whichever server answers. */
static int write_mark(struct mongo_work *work, bson_value_t *time)
{
    bson_t reply;
    bson_iter_t at;
    if (mongo_write(work->call, work->state->config->mongo.state_database,
                    BCON_NEW("update", MONGO_STATE_COLLECTION, "updates", "[", "{", "q", "{", "_id",
                             "sync", "}", "u", "{", "$inc", "{", "syncs", BCON_INT64(1), "}", "}",
                             "upsert", BCON_BOOL(true), "}", "]"),
                    &reply, &work->fault) < 0) {
        work->fault.result = STORE_NOT_DONE; /* it is of no matter whether it was applied */
        return -1;
    }
    bool found = mongo_find(&reply, "operationTime", &at);
    if (found)
        bson_value_copy(bson_iter_value(&at), time);
    bson_destroy(&reply);
    if (!found)
        mongo_fault_set(&work->fault, STORE_REFUSED, "SYNC needs a replica set");
    return found ? 0 : -1;
}

static int read_greatest(struct mongo_work *work, const char *database, const char *collection,
                         const bson_value_t *time, struct mongo_value *value)
{
    bson_t reply, document, *command, inner;
    const char *field = work->op->field;
    command = BCON_NEW("find", BCON_UTF8(collection), "sort", "{", field, BCON_INT32(-1), "}",
                       "projection", "{", field, BCON_INT32(1), "}", "limit", BCON_INT32(1),
                       "singleBatch", BCON_BOOL(true));
    bson_append_document_begin(command, "readConcern", -1, &inner);
    BSON_APPEND_UTF8(&inner, "level", "majority");
    BSON_APPEND_VALUE(&inner, "afterClusterTime", time);
    bson_append_document_end(command, &inner);
    if (mongo_read(work->call, database, command, &reply, &work->fault) < 0)
        return -1;
    *value = (struct mongo_value){.kind = MONGO_NO_DOCUMENT};
    if (mongo_find_document(&reply, "cursor.firstBatch.0", &document))
        mongo_value_read(&document, field, value);
    bson_destroy(&reply);
    return 0;
}

static int find_greatest(struct mongo_work *work, struct mongo_value *value)
{
    char database[NAME_BYTES];
    const char *collection;
    bson_value_t time;
    if (split(work, database, &collection) < 0 || require_index(work, database, collection) < 0 ||
        write_mark(work, &time) < 0)
        return -1;
    int result = read_greatest(work, database, collection, &time, value);
    bson_value_destroy(&time);
    return result;
}

int mongo_sync(struct mongo_work *work)
{
    struct mongo_value value;
    struct store_op *op = work->op;
    if (find_greatest(work, &value) < 0) {
        mongo_work_fail(work);
        return -1;
    }
    if (value.kind == MONGO_OTHER) {
        op->result = STORE_WRONGTYPE;
        snprintf(op->text, sizeof(op->text), "the greatest %.60s is %s", op->field, value.type);
        return -1;
    }
    if (value.kind == MONGO_NO_DOCUMENT || value.kind == MONGO_NO_FIELD) {
        mongo_fault_set(&work->fault, STORE_REFUSED, "no document of %.80s has a %.30s", op->source,
                        op->field);
        mongo_work_fail(work);
        return -1;
    }
    op->verb = STORE_RAISE;
    op->value = value.number;
    return 0;
}
