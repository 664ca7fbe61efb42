#include "mongo_issuer.h"

#include <stdio.h>
#include <sys/random.h>

#include "mongo_state.h"

#define ID_BYTES (sizeof("issuer/") + CONFIG_TEXT_BYTES)

static void make_id(const struct mongo_issuer *issuer, char id[ID_BYTES])
{
    snprintf(id, ID_BYTES, "issuer/%s", issuer->config->mongo.issuer);
}

static int64_t number_in(const bson_t *document, const char *key, int64_t fallback)
{
    bson_iter_t at;
    return bson_iter_init_find(&at, document, key) ? bson_iter_as_int64(&at) : fallback;
}

static void text_in(const bson_t *document, const char *key, char *text, size_t bytes)
{
    bson_iter_t at;
    bool there = bson_iter_init_find(&at, document, key) && BSON_ITER_HOLDS_UTF8(&at);
    snprintf(text, bytes, "%s", there ? bson_iter_utf8(&at, NULL) : "");
}

static void parse_record(const bson_t *document, struct store_lease *record)
{
    record->epoch = number_in(document, "epoch", 0);
    record->renewals = number_in(document, "renewals", 0);
    record->length_ms = number_in(document, "length", 0);
    record->high_water_s = number_in(document, "high_water", -1);
    record->given = number_in(document, "given", 0) != 0;
    text_in(document, "owner", record->owner, sizeof(record->owner));
    text_in(document, "address", record->address, sizeof(record->address));
}

/* Linearizable: a primary that was deposed must not tell an old record. */
static int read_record(const struct mongo_issuer *issuer, struct mongo_call *call,
                       struct store_lease *record, struct mongo_fault *fault)
{
    static const bson_t none = BSON_INITIALIZER;
    char id[ID_BYTES];
    bson_t reply, document;
    make_id(issuer, id);
    bson_t *command = BCON_NEW("find", MONGO_STATE_COLLECTION, "filter", "{", "_id", BCON_UTF8(id),
                               "}", "limit", BCON_INT32(1), "singleBatch", BCON_BOOL(true));
    mongo_read_concern(call, command, "linearizable");
    if (mongo_read(call, issuer->config->mongo.state_database, command, &reply, fault) < 0)
        return -1;
    bool found = mongo_find_document(&reply, "cursor.firstBatch.0", &document);
    parse_record(found ? &document : &none, record);
    bson_destroy(&reply);
    return 0;
}

int mongo_issuer_init(struct mongo_issuer *issuer, struct mongo_call *call,
                      const struct config *config, struct mongo_fault *fault)
{
    uint8_t random[MONGO_ISSUER_WRITER / 2];
    struct store_lease record;
    issuer->config = config;
    issuer->read_s = -1;
    if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
        mongo_fault_set(fault, STORE_NOT_DONE, "no random bytes");
        return -1;
    }
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(issuer->writer + 2 * i, 3, "%02x", random[i]);
    if (read_record(issuer, call, &record, fault) < 0)
        return -1;
    issuer->read_s = record.high_water_s;
    return 0;
}

/* As it stood at the start, or ours since. */
static bson_t *make_filter(const struct mongo_issuer *issuer, const char *id)
{
    return BCON_NEW("_id", BCON_UTF8(id), "$or", "[", "{", "writer", BCON_UTF8(issuer->writer), "}",
                    "{", "high_water", BCON_INT64(issuer->read_s), "}", "]");
}

void mongo_issuer_save(const struct mongo_issuer *issuer, struct mongo_call *call,
                       struct store_op *op)
{
    char id[ID_BYTES];
    struct mongo_fault fault;
    bson_t reply, document;
    make_id(issuer, id);
    bson_t *filter = make_filter(issuer, id);
    /* Where there was none it is made; E11000: there is one, and it is another's. */
    bson_t *command = BCON_NEW("findAndModify", MONGO_STATE_COLLECTION, "query",
                               BCON_DOCUMENT(filter), "update", "{", "$set", "{", "high_water",
                               BCON_INT64(op->value), "writer", BCON_UTF8(issuer->writer), "}", "}",
                               "new", BCON_BOOL(true), "upsert", BCON_BOOL(issuer->read_s < 0));
    bson_destroy(filter);
    if (mongo_write(call, issuer->config->mongo.state_database, command, &reply, &fault) == 0) {
        bool saved = mongo_find_document(&reply, "value", &document);
        bson_destroy(&reply);
        if (saved) {
            op->result = STORE_DONE;
            op->text[0] = '\0';
            return;
        }
        fault.code = 11000;
    }
    if (fault.code == 11000)
        mongo_fault_set(&fault, STORE_NOT_DONE,
                        "another daemon issues ObjectIds as [mongo] issuer = %.40s",
                        issuer->config->mongo.issuer);
    store_op_fail(op, fault.result, fault.text);
}

/* What must stand for the op to be done. An issuer without a lease has epoch 0, or none. */
static bson_t *lease_filter(const struct store_op *op, const char *id)
{
    const struct store_lease *wish = op->lease;
    if (wish->epoch == 0)
        return BCON_NEW("_id", BCON_UTF8(id), "epoch", "{", "$in", "[", BCON_NULL, BCON_INT32(0),
                        "]", "}");
    bson_t *filter = BCON_NEW("_id", BCON_UTF8(id), "epoch", BCON_INT64(wish->epoch));
    if (op->verb == STORE_LEASE_TAKE)
        BSON_APPEND_INT64(filter, "renewals", wish->renewals);
    return filter;
}

static bson_t *lease_update(const struct store_op *op)
{
    const struct store_lease *wish = op->lease;
    if (op->verb == STORE_LEASE_TAKE)
        return BCON_NEW("$set", "{", "epoch", BCON_INT64(wish->epoch + 1), "renewals",
                        BCON_INT64(0), "length", BCON_INT64(wish->length_ms), "given",
                        BCON_BOOL(false), "owner", BCON_UTF8(wish->owner), "address",
                        BCON_UTF8(wish->address), "}");
    if (op->verb == STORE_LEASE_RENEW)
        return BCON_NEW("$inc", "{", "renewals", BCON_INT64(1), "}", "$max", "{", "high_water",
                        BCON_INT64(wish->high_water_s), "}");
    return BCON_NEW("$set", "{", "given", BCON_BOOL(true), "high_water",
                    BCON_INT64(wish->high_water_s), "}");
}

/* 1: done, 0: it was not as wished, -1: `fault`. */
static int change_lease(const struct mongo_issuer *issuer, struct mongo_call *call,
                        struct store_op *op, struct mongo_fault *fault)
{
    char id[ID_BYTES];
    bson_t reply, document;
    make_id(issuer, id);
    bson_t *filter = lease_filter(op, id), *update = lease_update(op);
    bson_t *command =
        BCON_NEW("findAndModify", MONGO_STATE_COLLECTION, "query", BCON_DOCUMENT(filter), "update",
                 BCON_DOCUMENT(update), "new", BCON_BOOL(true), "upsert",
                 BCON_BOOL(op->verb == STORE_LEASE_TAKE && op->lease->epoch == 0));
    bson_destroy(filter);
    bson_destroy(update);
    if (mongo_write(call, issuer->config->mongo.state_database, command, &reply, fault) < 0)
        return fault->code == 11000 && fault->result == STORE_NOT_DONE ? 0 : -1;
    bool changed = mongo_find_document(&reply, "value", &document);
    if (changed)
        parse_record(&document, op->lease);
    bson_destroy(&reply);
    return changed;
}

void mongo_issuer_lease(const struct mongo_issuer *issuer, struct mongo_call *call,
                        struct store_op *op)
{
    struct mongo_fault fault;
    int changed = 0;
    op->text[0] = '\0';
    if (op->verb != STORE_LEASE_READ)
        changed = change_lease(issuer, call, op, &fault);
    if (changed < 0 || (changed == 0 && read_record(issuer, call, op->lease, &fault) < 0)) {
        store_op_fail(op, fault.result, fault.text);
        return;
    }
    op->result = changed > 0 || op->verb == STORE_LEASE_READ ? STORE_DONE : STORE_CHANGED;
}
