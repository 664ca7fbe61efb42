/* Commits to MongoDB: each operation by itself, as many at a time as there are connections.
 *
 * Where to look: mongo_uri (what is asked of the driver), mongo_link (connections, bounds, and what
 * became of a command), mongo_place (where counters stand and what numbers mean), mongo_state
 * (idmint's own documents), mongo_floor (what of them is saved lazily), mongo_counter, mongo_take,
 * mongo_order, mongo_list (the verbs), mongo_issuer (the ObjectId high water), mongo_index,
 * mongo_check (what is asked of a server). */
#include "store_mongo.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "mongo_check.h"
#include "mongo_issuer.h"
#include "mongo_list.h"
#include "mongo_survey.h"
#include "mongo_sync.h"
#include "mongo_take.h"

/* At start a primary may still have to be elected. */
#define START_WAIT_S 10

struct mongo_store {
    struct store base;
    struct mongo_link link;
    struct mongo_places places;
    struct mongo_state state;
    struct mongo_issuer issuer;
};

static void commit_one(struct mongo_store *self, struct store_op *op)
{
    struct mongo_call call;
    if (mongo_call_begin(&self->link, &call) < 0) {
        store_op_fail(op, STORE_NOT_DONE, "no connection to MongoDB is free");
        return;
    }
    struct mongo_work work = {.state = &self->state,
                              .call = &call,
                              .op = op,
                              .place = mongo_place_of(&self->places, op->name, op->name_len)};
    if (op->verb == STORE_HIGH_WATER)
        mongo_issuer_save(&self->issuer, &call, op);
    else if (store_verb_leases(op->verb))
        mongo_issuer_lease(&self->issuer, &call, op);
    else if (op->verb == STORE_LIST)
        mongo_list(&self->places, &work);
    else if (op->verb == STORE_TAKE)
        mongo_take(&work);
    else if (op->verb != STORE_SYNC || mongo_sync(&work) == 0)
        mongo_order(&work);
    mongo_call_end(&call);
}

static void mongo_commit(struct store *store, struct store_op **ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        commit_one((struct mongo_store *)store, ops[i]);
}

static int mongo_store_survey(struct store *store, void (*line)(const char *text), char *why,
                              size_t why_bytes)
{
    struct mongo_store *self = (struct mongo_store *)store;
    struct mongo_call call;
    struct mongo_fault fault = {.text = "no connection"};
    int result = mongo_call_begin(&self->link, &call);
    if (result == 0) {
        call.end_ms = INT64_MAX;
        result = mongo_survey(&self->places, &self->state, &call, line, &fault);
        mongo_call_end(&call);
    }
    if (result < 0)
        snprintf(why, why_bytes, "MongoDB: %s", fault.text);
    return result;
}

static void mongo_close(struct store *store)
{
    struct mongo_store *self = (struct mongo_store *)store;
    mongo_floors_stop(&self->state.floors);
    mongo_link_close(&self->link);
    mongo_places_finish(&self->places);
    mongo_state_finish(&self->state);
    free(self);
}

/* A primary that answers. */
static int wait_for_primary(const struct mongo_link *link, char *why, size_t why_bytes)
{
    struct mongo_fault fault = {.text = "no connection"};
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const time_t end = now.tv_sec + START_WAIT_S;
    do {
        struct mongo_call call;
        bson_t reply;
        if (mongo_call_begin(link, &call) == 0) {
            int result =
                mongo_read(&call, "admin", BCON_NEW("ping", BCON_INT32(1)), &reply, &fault);
            mongo_call_end(&call);
            if (result == 0) {
                bson_destroy(&reply);
                return 0;
            }
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end && fault.code != MONGO_AUTHENTICATION_FAILED);
    snprintf(why, why_bytes, "MongoDB: %s", fault.text);
    return -1;
}

static int introduce(struct mongo_store *self, struct mongo_link *link, struct mongo_call *call,
                     const struct config *config, char *why, size_t why_bytes)
{
    struct mongo_fault fault;
    call->end_ms = INT64_MAX; /* each command has its own bounds */
    if (mongo_check_server(call, &self->base, &link->standalone, why, why_bytes) < 0 ||
        mongo_places_pin(&self->places, call, why, why_bytes) < 0 ||
        mongo_check_rights(call, &self->places, config->counters.auto_create, why, why_bytes) < 0)
        return -1;
    if (mongo_state_identify(&self->state, call, &self->base.facts, &fault) < 0 ||
        mongo_issuer_init(&self->issuer, call, config, &fault) < 0) {
        snprintf(why, why_bytes, "MongoDB: %s.%s: %s", config->mongo.state_database,
                 MONGO_STATE_COLLECTION, fault.text);
        return -1;
    }
    self->base.facts.high_water_s = self->issuer.read_s;
    return 0;
}

/* What the start asks may take longer than a request: connections of its own. */
static int get_to_know(struct mongo_store *self, const struct config *config, char *why,
                       size_t why_bytes)
{
    struct mongo_link link = {0};
    struct mongo_call call;
    int result = -1;
    if (mongo_link_open(&link, config, START_WAIT_S * 1000, why, why_bytes) < 0)
        return -1;
    if (wait_for_primary(&link, why, why_bytes) < 0)
        goto close;
    if (mongo_call_begin(&link, &call) < 0) {
        snprintf(why, why_bytes, "MongoDB: no connection");
        goto close;
    }
    result = introduce(self, &link, &call, config, why, why_bytes);
    mongo_call_end(&call);
    self->link.standalone = link.standalone;
    if (result == 0)
        result = mongo_check_atomic(&link, config->mongo.state_database, why, why_bytes);

close:
    mongo_link_close(&link);
    return result;
}

static int open_as(const struct store_backend *backend, const struct config *config,
                   struct store **store, char *why, size_t why_bytes)
{
    struct mongo_store *self = calloc(1, sizeof(*self));
    if (self == NULL || mongo_state_init(&self->state, config) < 0) {
        snprintf(why, why_bytes, "out of memory");
        free(self);
        return -1;
    }
    self->base.backend = backend;
    self->base.workers = (unsigned)config->mongo.connections;
    self->base.flights = (unsigned)config->mongo.flights;
    self->base.batch_max = 1;
    self->base.distant = true;
    self->base.shared = true;
    if (mongo_places_init(&self->places, config, why, why_bytes) < 0 ||
        get_to_know(self, config, why, why_bytes) < 0 ||
        mongo_link_open(&self->link, config, config->limits.request_ms, why, why_bytes) < 0) {
        mongo_close(&self->base);
        return -1;
    }
    if (mongo_floors_start(&self->state.floors, &self->link, config->mongo.state_database) < 0) {
        snprintf(why, why_bytes, "no thread could be started");
        mongo_close(&self->base);
        return -1;
    }
    *store = &self->base;
    return 0;
}

static int mongo_open(const struct config *config, const char *rest, struct store **store,
                      char *why, size_t why_bytes)
{
    return open_as(&store_mongo_backend, config, store, why, why_bytes);
}

static int mongo_srv_open(const struct config *config, const char *rest, struct store **store,
                          char *why, size_t why_bytes)
{
    return open_as(&store_mongo_srv_backend, config, store, why, why_bytes);
}

const struct store_backend store_mongo_backend = {
    .scheme = "mongodb",
    .open = mongo_open,
    .commit = mongo_commit,
    .survey = mongo_store_survey,
    .close = mongo_close,
};

const struct store_backend store_mongo_srv_backend = {
    .scheme = "mongodb+srv",
    .open = mongo_srv_open,
    .commit = mongo_commit,
    .survey = mongo_store_survey,
    .close = mongo_close,
};
