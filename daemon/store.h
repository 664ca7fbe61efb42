/* What a store is: where counters and the ObjectId high water live durably.
 *
 * The life of an operation: an allocator fills a struct store_op and submits it to the store worker
 * (store_worker.h); a worker thread gathers what has been submitted and calls store_commit with the
 * lot; the store sets each operation's result; the worker calls each operation's `done`. Nothing
 * here runs on a network thread.
 *
 * Ownership: an op belongs to who submitted it; the worker and the store borrow it, and `name`,
 * from submission until `done` is called. `done` may free it.
 * Threads: store_open, store_close: main thread, nothing in flight. store_commit: worker threads,
 * at most store->workers at once; one op is in one commit.
 *
 * Durability: an op that ends as STORE_DONE and changed something is on durable storage (fsync, or
 * acknowledged by a majority's journals) when store_commit returns.
 *
 * Errors: every op gets a result of its own; nothing is done by half. With NOT_DONE nothing was
 * applied. With UNKNOWN it may have been: the caller must never issue those values again. */
#ifndef IDMINT_STORE_H
#define IDMINT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;

enum store_result {
    STORE_DONE = 0,
    STORE_NOT_DONE = -1,  /* nothing was applied: safe to repeat */
    STORE_UNKNOWN = -2,   /* may have been applied */
    STORE_ABSENT = -3,    /* no such counter, and the op does not create one */
    STORE_EXISTS = -4,    /* CREATE: it is there already; `counter` tells how */
    STORE_EXHAUSTED = -5, /* TAKE: would pass the counter's max; `counter` tells where it stands */
    STORE_WRONGTYPE = -6, /* the stored value is no integer */
    STORE_CHANGED = -7,   /* GIVE_BACK, LEASE_*: it is not what it was */
    STORE_REFUSED = -8,   /* the store will not do this; `text` says why */
};

enum store_verb {
    STORE_TAKE,   /* move a counter's value on by count * step */
    STORE_READ,   /* look at a counter */
    STORE_CREATE, /* make a counter as `counter` says, where there is none */
    STORE_RAISE,  /* move the value up to `value`; never down */
    STORE_SYNC,   /* RAISE to the greatest value of a field of a collection of the same database */
    STORE_RESET,  /* set the value to `value`, also back */
    STORE_DROP,   /* remove the counter */
    STORE_GIVE_BACK,  /* set counter.value back to `value`, if value and generation still stand */
    STORE_LIST,       /* a page of counters in byte order of their names */
    STORE_HIGH_WATER, /* set the ObjectId high-water second to `value` */
    /* The lease on the issuer's name, in stores that are shared (lease.h). All but READ are done
     * only if the record's epoch, and for TAKE its renewals, are as in op->lease: else CHANGED. */
    STORE_LEASE_READ,
    STORE_LEASE_TAKE,  /* the next epoch begins, with op->lease's owner, address and length */
    STORE_LEASE_RENEW, /* one renewal more, and the high water raised to op->lease's */
    STORE_LEASE_GIVE,  /* given back, with the high water that op->lease says */
};

static inline bool store_verb_leases(enum store_verb verb)
{
    return verb >= STORE_LEASE_READ;
}

#define STORE_OWNER_BYTES 128
#define STORE_ADDRESS_BYTES 280

/* The record of a lease. */
struct store_lease {
    int64_t epoch;        /* how often it was taken; 0: never */
    int64_t renewals;     /* in this epoch */
    int64_t length_ms;    /* as its owner counts it */
    int64_t high_water_s; /* the saved ObjectId high-water second; -1: none yet */
    bool given;           /* its owner gave it back */
    char owner[STORE_OWNER_BYTES];
    char address[STORE_ADDRESS_BYTES]; /* where clients find the owner */
};

/* A counter as it stands in the store. */
struct store_counter {
    int64_t value; /* the greatest value issued or reserved; start - step before the first */
    int64_t start;
    int64_t step; /* >= 1 */
    int64_t max;
    int64_t cache; /* 1: strict; n > 1: n values are reserved ahead */
    /* Changed by CREATE, RAISE, RESET, DROP to a number this store never used. */
    int64_t generation;
};

struct store_op {
    struct store_op *next, *prev; /* these and `queued`: the worker's */
    bool queued;
    enum store_verb verb;
    enum store_result result;
    const char *name; /* the counter; LIST: only names that begin with this */
    size_t name_len;
    int64_t count; /* TAKE: values wanted, >= 1; LIST: rows wanted at most */
    int64_t value; /* RAISE, RESET (above max: REFUSED), GIVE_BACK, HIGH_WATER */
    /* TAKE, in: some of `count` may be reserved ahead; then, the greatest value known to be issued,
     * in which generation; INT64_MIN: none. */
    bool reserves;
    int64_t issued, issued_generation;
    /* TAKE, out, where the store keeps floors and the result is DONE: the greatest value known to
     * have been issued in counter.generation before; else it stays. */
    int64_t floor;
    const char *source; /* SYNC: "database.collection" and its field; NUL-terminated */
    const char *field;
    bool create;  /* TAKE, RAISE, SYNC: where absent, create as `counter` says first */
    bool created; /* out: a counter was created */
    /* In: how to create; `value` of it counts for CREATE alone (start - step for a fresh counter),
     * TAKE and RAISE begin at start - step; GIVE_BACK: value and generation as they must stand.
     * Out: the counter after the op (DROP: as it was, under the generation that ended it; LIST,
     * HIGH_WATER: none). Unspecified after any error but EXISTS, EXHAUSTED and CHANGED: to be
     * filled again before the op is submitted again. */
    struct store_counter counter;
    const char *after; /* LIST: only names greater than this; after_len 0: from the start */
    size_t after_len;
    struct store_lease *lease; /* LEASE_*: in: as above; out, with DONE or CHANGED: as it is now */
    /* Out, where result is an error: what is wrong, for people; "" if there is nothing to say. */
    char text[128];

    /* Called by the worker right before the commit: what the op asks is final from then on. Returns
     * false where nothing is left to do: the op is then dropped (its owner may free it at once, in
     * this call), and `done` is not called. NULL: always final. */
    bool (*close)(struct store_op *op);
    /* Called once for each row of a LIST, in order, inside store_commit. */
    void (*row)(struct store_op *op, const char *name, size_t name_len,
                const struct store_counter *counter);
    /* Called by the worker when the result stands. Must not block. */
    void (*done)(struct store_op *op);
};

#define STORE_ID_HEX 32

struct store_facts {
    char id[STORE_ID_HEX + 1]; /* random, made with the store; lower-case hex */
    int64_t birth_s;           /* unix time at which the store was made */
    int64_t high_water_s;      /* the saved ObjectId high-water second; -1: none yet */
    char version[64];          /* the engine, for INFO: "SQLite 3.40.1" */
};

struct store {
    const struct store_backend *backend;
    struct store_facts facts; /* as they were at open */
    unsigned workers;         /* threads that may be in store_commit at once */
    unsigned flights;         /* commits of one counter that may be under way at once */
    size_t batch_max;         /* operations in one commit at most; 0: any number */
    bool distant;             /* a commit takes longer than clients need to come back */
    bool shared;              /* other daemons may use the same store at the same time */
    char notice[160];         /* what the operator should know of this store; "": nothing */
    const char *stopped; /* why nothing is committed any more, until a restart; NULL: it is. Set
                          * in store_commit, where workers is 1 */
};

struct store_backend {
    const char *scheme; /* what stands before the URI's first colon */
    /* rest: the URI after "scheme:". config outlives the store. On failure nothing is left open and
     * `why` says what is wrong and what to do, in one line without a newline. */
    int (*open)(const struct config *config, const char *rest, struct store **store, char *why,
                size_t why_bytes);
    void (*commit)(struct store *store, struct store_op **ops, size_t count);
    /* For stores that take over what others made: tells, a line each, what is there and what would
     * become of it, and changes nothing. NULL: there is nothing to take over. */
    int (*survey)(struct store *store, void (*line)(const char *text), char *why, size_t why_bytes);
    void (*close)(struct store *store);
};

/* In stores.c, beside the table of backends: the store that config->store.uri names. 0, or -1 with
 * `why`. The URI is never logged whole: it may hold a password. */
int store_open(const struct config *config, struct store **store, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));
void store_commit(struct store *store, struct store_op **ops, size_t count);
void store_close(struct store *store); /* NULL: nothing */

/* The arithmetic of a counter, the same for the stores that do it themselves. No overflow whatever
 * the counter holds. */

/* Move counter->value on by count steps: DONE, or EXHAUSTED and nothing changed. */
enum store_result store_counter_take(struct store_counter *counter, int64_t count);
/* How many more values fit below counter->max. */
int64_t store_counter_left(const struct store_counter *counter);
/* How much of it is left below max, in percent of all its values, rounded down: 0 .. 100. */
int store_counter_headroom(const struct store_counter *counter);
/* Carry out a LEASE op on the record, as a store that holds it itself does: sets the op's result,
 * and op->lease to how the record is then. true: the record has changed. */
bool store_lease_apply(struct store_op *op, struct store_lease *record);
/* NULL, or why these options make no counter (step < 1, max < start, start - step below int64,
 * cache < 1 or > 1,000,000). */
const char *store_counter_check(const struct store_counter *counter);

/* For stores that hold the rows and apply the verbs themselves. */

enum store_change {
    STORE_SAME,
    STORE_VALUE, /* only the value */
    STORE_WHOLE, /* value and generation */
    STORE_NEW,
    STORE_GONE,
};

bool store_verb_writes(enum store_verb verb);
/* What the op (any verb about one counter) does to a counter, or to its absence. Sets the op's
 * result and all that comes out of it, changes or fills *counter, and takes new generations from
 * *generation, the last one used. Returns what of the row is to be stored. */
enum store_change store_counter_apply(struct store_op *op, bool exists,
                                      struct store_counter *counter, int64_t *generation);
/* LIST: does the name begin as it must? */
bool store_list_wants(const struct store_op *op, const char *name, size_t name_len);
/* An op of a commit that failed: what only looks is NOT_DONE whatever became of the others. */
void store_op_fail(struct store_op *op, enum store_result result, const char *text);

#endif
