#include "mongo_check.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "mongo_state.h"

#define WIRE_VERSION_4_2 8 /* updates by a pipeline, which the conversion of doubles needs */
#define THREADS 4
#define TAKES 25

int mongo_check_server(struct mongo_call *call, struct store *store, bool *standalone, char *why,
                       size_t why_bytes)
{
    struct mongo_fault fault;
    bson_t hello, build;
    bson_iter_t at;
    if (mongo_read(call, "admin", BCON_NEW("hello", BCON_INT32(1)), &hello, &fault) < 0 &&
        /* before 4.4.2 */
        mongo_read(call, "admin", BCON_NEW("isMaster", BCON_INT32(1)), &hello, &fault) < 0) {
        snprintf(why, why_bytes, "MongoDB: %s", fault.text);
        return -1;
    }
    bool old =
        !mongo_find(&hello, "maxWireVersion", &at) || bson_iter_as_int64(&at) < WIRE_VERSION_4_2;
    const char *kind = mongo_find(&hello, "setName", &at) ? "replica set"
                       : mongo_find(&hello, "msg", &at)   ? "sharded cluster"
                                                          : "standalone";
    bson_destroy(&hello);
    const char *version = "of an unknown version";
    bool told =
        mongo_read(call, "admin", BCON_NEW("buildInfo", BCON_INT32(1)), &build, &fault) == 0;
    if (told && mongo_find(&build, "version", &at) && BSON_ITER_HOLDS_UTF8(&at))
        version = bson_iter_utf8(&at, NULL);
    snprintf(store->facts.version, sizeof(store->facts.version), "MongoDB %.32s, %s", version,
             kind);
    if (told)
        bson_destroy(&build);
    if (old) {
        snprintf(why, why_bytes, "%s: the version is too old: 4.2 or later is needed",
                 store->facts.version);
        return -1;
    }
    *standalone = strcmp(kind, "standalone") == 0;
    if (*standalone)
        snprintf(store->notice, sizeof(store->notice),
                 "this MongoDB is a standalone: w:majority means this one server, what it loses is "
                 "lost; make it a replica set");
    return 0;
}

/* --- Atomic findAndModify --- */

struct trial {
    struct mongo_call call;
    const char *database, *id;
    int64_t values[TAKES];
    struct mongo_fault fault;
    bool failed;
};

/* Not with a majority: many are asked, and what one server does is what counts here. */
static int take_one(struct trial *trial, int64_t *value)
{
    bson_t reply;
    bson_iter_t at;
    if (mongo_read(&trial->call, trial->database,
                   BCON_NEW("findAndModify", MONGO_STATE_COLLECTION, "query", "{", "_id",
                            BCON_UTF8(trial->id), "}", "update", "{", "$inc", "{", "n",
                            BCON_INT32(1), "}", "}", "new", BCON_BOOL(true), "writeConcern", "{",
                            "w", BCON_INT32(1), "}"),
                   &reply, &trial->fault) < 0)
        return -1;
    bool found = mongo_find(&reply, "value.n", &at);
    if (found)
        *value = bson_iter_as_int64(&at);
    else
        mongo_fault_set(&trial->fault, STORE_REFUSED, "findAndModify returned no value");
    bson_destroy(&reply);
    return found ? 0 : -1;
}

static void *run_trial(void *arg)
{
    struct trial *trial = arg;
    for (int i = 0; i < TAKES && !trial->failed; i++)
        trial->failed = take_one(trial, &trial->values[i]) < 0;
    return NULL;
}

/* Every value of 1 .. THREADS * TAKES must have come once. */
static int judge_trials(const struct trial *trials, char *why, size_t why_bytes)
{
    bool came[THREADS * TAKES + 1] = {false};
    for (int i = 0; i < THREADS; i++) {
        if (trials[i].failed) {
            snprintf(why, why_bytes, "MongoDB: %s", trials[i].fault.text);
            return -1;
        }
        for (int k = 0; k < TAKES; k++) {
            int64_t value = trials[i].values[k];
            if (value < 1 || value > THREADS * TAKES || came[value]) {
                snprintf(why, why_bytes,
                         "this server's findAndModify is not atomic: it gave a value twice; no "
                         "counter can be kept there");
                return -1;
            }
            came[value] = true;
        }
    }
    return 0;
}

static void run_trials(struct trial *trials)
{
    pthread_t threads[THREADS];
    bool started[THREADS];
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the main thread */
    for (int i = 0; i < THREADS; i++) {
        started[i] =
            !trials[i].failed && pthread_create(&threads[i], NULL, run_trial, &trials[i]) == 0;
        if (!started[i] && !trials[i].failed) {
            trials[i].failed = true;
            mongo_fault_set(&trials[i].fault, STORE_NOT_DONE, "no thread could be started");
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (int i = 0; i < THREADS; i++)
        if (started[i])
            pthread_join(threads[i], NULL);
}

/* Connected before the first one starts, so that they meet. */
static void prepare_trial(struct trial *trial, const struct mongo_link *link, const char *database,
                          const char *id)
{
    bson_t reply;
    *trial = (struct trial){.database = database, .id = id};
    trial->failed = mongo_call_begin(link, &trial->call) < 0;
    trial->call.end_ms = INT64_MAX; /* each command has its own bounds */
    if (trial->failed) {
        mongo_fault_set(&trial->fault, STORE_NOT_DONE, "no connection");
        return;
    }
    trial->failed = mongo_read(&trial->call, "admin", BCON_NEW("ping", BCON_INT32(1)), &reply,
                               &trial->fault) < 0;
    if (!trial->failed)
        bson_destroy(&reply);
}

/* The document of a trial: made before it, removed after it. */
static int write_trial(struct mongo_call *call, const char *database, bson_t *command, char *why,
                       size_t why_bytes)
{
    struct mongo_fault fault;
    bson_t reply;
    if (mongo_write(call, database, command, &reply, &fault) < 0) {
        snprintf(why, why_bytes, "MongoDB: %s.%s: %s", database, MONGO_STATE_COLLECTION,
                 fault.text);
        return -1;
    }
    bson_destroy(&reply);
    return 0;
}

int mongo_check_atomic(const struct mongo_link *link, const char *database, char *why,
                       size_t why_bytes)
{
    struct trial trials[THREADS];
    uint64_t random = 0;
    char id[48];
    if (getrandom(&random, sizeof(random), 0) != sizeof(random)) {
        snprintf(why, why_bytes, "no random bytes");
        return -1;
    }
    snprintf(id, sizeof(id), "trial/%016llx", (unsigned long long)random);
    for (int i = 0; i < THREADS; i++)
        prepare_trial(&trials[i], link, database, id);
    int result = -1;
    struct mongo_call *call = &trials[0].call;
    if (call->client != NULL &&
        write_trial(call, database,
                    BCON_NEW("insert", MONGO_STATE_COLLECTION, "documents", "[", "{", "_id",
                             BCON_UTF8(id), "n", BCON_INT32(0), "}", "]"),
                    why, why_bytes) == 0) {
        run_trials(trials);
        result = judge_trials(trials, why, why_bytes);
        char ignored[8] = "";
        if (write_trial(call, database,
                        BCON_NEW("delete", MONGO_STATE_COLLECTION, "deletes", "[", "{", "q", "{",
                                 "_id", BCON_UTF8(id), "}", "limit", BCON_INT32(1), "}", "]"),
                        result == 0 ? why : ignored, result == 0 ? why_bytes : sizeof(ignored)) < 0)
            result = -1;
    } else if (call->client == NULL) {
        snprintf(why, why_bytes, "MongoDB: no connection");
    }
    for (int i = 0; i < THREADS; i++)
        if (trials[i].call.client != NULL)
            mongo_call_end(&trials[i].call);
    return result;
}

/* --- Rights --- */

/* Rights are looked at first, so a command that can not succeed, or can not match, tells of them.
 */
static int try_right(struct mongo_call *call, const struct mongo_place *place, const char *right,
                     bson_t *command, char *why, size_t why_bytes)
{
    struct mongo_fault fault;
    bson_t reply;
    if (mongo_read(call, place->database, command, &reply, &fault) == 0) {
        bson_destroy(&reply);
        return 0;
    }
    if (fault.code != MONGO_UNAUTHORIZED)
        return 0;
    snprintf(why, why_bytes, "MongoDB: the user may not %s in %s.%s: grant it readWrite there",
             right, place->database, place->collection);
    return -1;
}

static int check_place(struct mongo_call *call, const struct mongo_place *place, bool creates,
                       char *why, size_t why_bytes)
{
    if (try_right(call, place, "find",
                  BCON_NEW("find", BCON_UTF8(place->collection), "filter", "{", "_id", "{", "$in",
                           "[", "]", "}", "}", "singleBatch", BCON_BOOL(true)),
                  why, why_bytes) < 0 ||
        try_right(call, place, "update",
                  BCON_NEW("findAndModify", BCON_UTF8(place->collection), "query", "{", "_id", "{",
                           "$in", "[", "]", "}", "}", "update", "{", "$inc", "{", place->field,
                           BCON_INT32(1), "}", "}"),
                  why, why_bytes) < 0)
        return -1;
    if (!creates)
        return 0;
    /* No _id is an array. */
    return try_right(call, place, "insert",
                     BCON_NEW("insert", BCON_UTF8(place->collection), "documents", "[", "{", "_id",
                              "[", "]", "}", "]"),
                     why, why_bytes);
}

int mongo_check_rights(struct mongo_call *call, const struct mongo_places *places, bool creates,
                       char *why, size_t why_bytes)
{
    if (check_place(call, &places->fallback, creates, why, why_bytes) < 0)
        return -1;
    for (size_t i = 0; i < places->own_count; i++)
        if (check_place(call, &places->own[i], creates, why, why_bytes) < 0)
            return -1;
    return 0;
}
