#include "mongo_floor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "limit.h"
#include "mongo_state.h"

#define SAVE_EVERY_S 2
#define SAVED_AT_ONCE 500
/* Counters noted between two saves; one more is noted the next time it is used. */
#define NOTED_MOST 65536

struct mongo_floor {
    struct mongo_floor *next;
    int64_t changes, value;
    size_t name_len;
    char name[];
};

/* --- Notes --- */

/* FNV-1a */
static struct mongo_floor **slot_of(struct mongo_floors *floors, const char *name, size_t name_len)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < name_len; i++)
        hash = (hash ^ (unsigned char)name[i]) * UINT64_C(1099511628211);
    return &floors->slots[(hash ^ hash >> 32) % MONGO_FLOOR_SLOTS];
}

/* With the lock held. */
static void note(struct mongo_floors *floors, const char *name, size_t name_len, int64_t changes,
                 int64_t value)
{
    struct mongo_floor **slot = slot_of(floors, name, name_len), *floor = *slot;
    while (floor != NULL &&
           !(floor->name_len == name_len && memcmp(floor->name, name, name_len) == 0))
        floor = floor->next;
    if (floor != NULL) {
        if (changes > floor->changes || (changes == floor->changes && value > floor->value))
            floor->value = value;
        if (changes > floor->changes)
            floor->changes = changes;
        return;
    }
    if (floors->count >= NOTED_MOST || (floor = malloc(sizeof(*floor) + name_len)) == NULL)
        return;
    floor->next = *slot;
    floor->changes = changes;
    floor->value = value;
    floor->name_len = name_len;
    memcpy(floor->name, name, name_len);
    *slot = floor;
    floors->count++;
}

void mongo_floors_note(struct mongo_floors *floors, const char *name, size_t name_len,
                       int64_t changes, int64_t value)
{
    pthread_mutex_lock(&floors->lock);
    note(floors, name, name_len, changes, value);
    pthread_mutex_unlock(&floors->lock);
}

/* Takes some of the notes out, as a list. */
static struct mongo_floor *take_some(struct mongo_floors *floors)
{
    struct mongo_floor *list = NULL;
    size_t taken = 0;
    pthread_mutex_lock(&floors->lock);
    for (size_t i = 0; i < MONGO_FLOOR_SLOTS && taken < SAVED_AT_ONCE; i++)
        while (floors->slots[i] != NULL && taken < SAVED_AT_ONCE) {
            struct mongo_floor *floor = floors->slots[i];
            floors->slots[i] = floor->next;
            floor->next = list;
            list = floor;
            taken++;
        }
    floors->count -= taken;
    pthread_mutex_unlock(&floors->lock);
    return list;
}

/* What was taken out ends; again: it was not saved, and is noted once more. */
static void put_away(struct mongo_floors *floors, struct mongo_floor *list, bool again)
{
    struct mongo_floor *next;
    pthread_mutex_lock(&floors->lock);
    for (struct mongo_floor *floor = list; floor != NULL; floor = next) {
        next = floor->next;
        if (again)
            note(floors, floor->name, floor->name_len, floor->changes, floor->value);
        free(floor);
    }
    pthread_mutex_unlock(&floors->lock);
}

/* --- Saving --- */

/* Only in its own generation: a counter that was changed by a command since has none of it left.
 * The document is made where no command has made it yet; 11000: it is of another generation. */
static void append_update(bson_t *updates, size_t index, const struct mongo_floor *floor)
{
    char key[24], id[MONGO_STATE_ID_BYTES];
    snprintf(key, sizeof(key), "%zu", index);
    mongo_state_counter_id(id, floor->name, floor->name_len);
    bson_t *update =
        BCON_NEW("q", "{", "_id", BCON_UTF8(id), "generation", BCON_INT64(floor->changes), "}", "u",
                 "{", "$max", "{", "floor", BCON_INT64(floor->value), "}", "}", "upsert",
                 BCON_BOOL(floor->changes == 0));
    BSON_APPEND_DOCUMENT(updates, key, update);
    bson_destroy(update);
}

static bool save(struct mongo_floors *floors, const struct mongo_floor *list)
{
    struct mongo_call call;
    struct mongo_fault fault = {0};
    bson_t reply, updates = BSON_INITIALIZER;
    if (mongo_call_begin(floors->link, &call) < 0)
        return false;
    size_t count = 0;
    for (const struct mongo_floor *floor = list; floor != NULL; floor = floor->next)
        append_update(&updates, count++, floor);
    bson_t *command = BCON_NEW("update", MONGO_STATE_COLLECTION, "updates", BCON_ARRAY(&updates),
                               "ordered", BCON_BOOL(false));
    bson_destroy(&updates);
    int result = mongo_write(&call, floors->database, command, &reply, &fault);
    mongo_call_end(&call);
    if (result == 0)
        bson_destroy(&reply);
    return result == 0 || fault.code == 11000;
}

static void save_all(struct mongo_floors *floors)
{
    struct mongo_floor *list;
    bool saved = true;
    while (saved && (list = take_some(floors)) != NULL) {
        saved = save(floors, list);
        put_away(floors, list, !saved);
    }
}

static void *run(void *arg)
{
    struct mongo_floors *floors = arg;
    bool stopping = false;
    while (!stopping) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += SAVE_EVERY_S;
        pthread_mutex_lock(&floors->lock);
        while (!floors->stopping &&
               pthread_cond_timedwait(&floors->wake, &floors->lock, &until) != ETIMEDOUT)
            ;
        stopping = floors->stopping;
        pthread_mutex_unlock(&floors->lock);
        save_all(floors);
    }
    return NULL;
}

int mongo_floors_start(struct mongo_floors *floors, const struct mongo_link *link,
                       const char *database)
{
    pthread_condattr_t attributes;
    sigset_t all, before;
    floors->link = link;
    floors->database = database;
    pthread_mutex_init(&floors->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&floors->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the main thread */
    floors->started = pthread_create(&floors->thread, NULL, run, floors) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (floors->started)
        return 0;
    pthread_cond_destroy(&floors->wake);
    pthread_mutex_destroy(&floors->lock);
    return -1;
}

void mongo_floors_stop(struct mongo_floors *floors)
{
    struct mongo_floor *list;
    if (!floors->started)
        return;
    pthread_mutex_lock(&floors->lock);
    floors->stopping = true;
    pthread_cond_signal(&floors->wake);
    pthread_mutex_unlock(&floors->lock);
    pthread_join(floors->thread, NULL);
    while ((list = take_some(floors)) != NULL)
        put_away(floors, list, false);
    pthread_cond_destroy(&floors->wake);
    pthread_mutex_destroy(&floors->lock);
    floors->started = false;
}
