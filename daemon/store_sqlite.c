/* Commits to the embedded store: one transaction for all operations of a commit.
 *
 * Values that move are kept as dirty rows of the cache until the end of the transaction and then
 * written over in place; whatever else changes goes through SQL at once. The file is ours alone (an
 * exclusive lock), so what the cache holds is what the file holds, until a transaction fails: then
 * the cache is emptied. */
#include "store_sqlite.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "row_cache.h"
#include "sqlite_file.h"

/* Pages in the write-ahead log at which it is folded into the file; the log is then written over
 * from its start, without growing or shrinking, which keeps its fsync cheap. */
#define FOLD_PAGES 4096

struct sqlite_store {
    struct store base;
    struct sqlite_file file;
    struct row_cache cache;
    struct row *dirty;
    struct sqlite_meta meta;  /* as this transaction leaves it */
    struct sqlite_meta saved; /* as it stands in the file */
    int log_pages;
    int fold_at;
};

static const char disk_failed[] =
    "the disk failed to store: stopped; check the disk, then restart idmintd";
static const char file_damaged[] =
    "the store's file is damaged: stopped; restore it from a backup, then restart idmintd";

static void value_format(int64_t value, char text[VALUE_BYTES])
{
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    for (int i = VALUE_BYTES - 1; i > 0; i--) {
        text[i] = (char)('0' + magnitude % 10);
        magnitude /= 10;
    }
    text[0] = value < 0 ? '-' : '+';
}

static bool value_parse(const char *text, size_t len, int64_t *value)
{
    uint64_t magnitude = 0; /* 19 digits fit */
    if (text == NULL || len != VALUE_BYTES || (text[0] != '-' && text[0] != '+'))
        return false;
    for (int i = 1; i < VALUE_BYTES; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        magnitude = magnitude * 10 + (uint64_t)(text[i] - '0');
    }
    bool negative = text[0] == '-';
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *value = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

/* A row as FIND and LIST give it; false: its value is no integer. */
static bool read_row(sqlite3_stmt *stmt, int64_t *id, struct store_counter *counter)
{
    *id = sqlite3_column_int64(stmt, 0);
    const char *text = (const char *)sqlite3_column_text(stmt, 1);
    if (!value_parse(text, (size_t)sqlite3_column_bytes(stmt, 1), &counter->value))
        return false;
    counter->start = sqlite3_column_int64(stmt, 2);
    counter->step = sqlite3_column_int64(stmt, 3);
    counter->max = sqlite3_column_int64(stmt, 4);
    counter->cache = sqlite3_column_int64(stmt, 5);
    counter->generation = sqlite3_column_int64(stmt, 6);
    return true;
}

static void say_wrong_type(struct store_op *op)
{
    op->result = STORE_WRONGTYPE;
    snprintf(op->text, sizeof(op->text), "the stored value is no integer");
}

static int write_dirty(struct sqlite_store *self)
{
    if (self->dirty == NULL)
        return SQLITE_OK;
    sqlite3_blob *blob = NULL;
    char text[VALUE_BYTES];
    int rc =
        sqlite3_blob_open(self->file.db, "main", "counter", "value", self->dirty->id, 1, &blob);
    for (struct row *row = self->dirty; row != NULL && rc == SQLITE_OK; row = row->next_dirty) {
        if (row != self->dirty)
            rc = sqlite3_blob_reopen(blob, row->id);
        if (rc != SQLITE_OK)
            break;
        value_format(row->counter.value, text);
        rc = sqlite3_blob_write(blob, text, VALUE_BYTES, 0);
        row->dirty = false;
    }
    int closed = sqlite3_blob_close(blob);
    self->dirty = NULL;
    return rc != SQLITE_OK ? rc : closed;
}

/* The counter's row, NULL where there is none; or op->result = STORE_WRONGTYPE. */
static int find(struct sqlite_store *self, struct store_op *op, struct row **row)
{
    bool hit;
    *row = row_cache_look(&self->cache, op->name, op->name_len, &hit);
    if (hit)
        return SQLITE_OK;
    /* Its slot is about to be used for another name. */
    int rc = *row != NULL && (*row)->dirty ? write_dirty(self) : SQLITE_OK;
    *row = NULL;
    if (rc != SQLITE_OK)
        return rc;

    sqlite3_stmt *stmt = self->file.statements[STATEMENT_FIND];
    int64_t id;
    struct store_counter counter;
    sqlite3_bind_text(stmt, 1, op->name, (int)op->name_len, SQLITE_STATIC);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW && !read_row(stmt, &id, &counter))
        say_wrong_type(op);
    else if (rc == SQLITE_ROW)
        *row = row_cache_put(&self->cache, op->name, op->name_len, id, &counter);
    sqlite3_reset(stmt);
    if (rc == SQLITE_ROW)
        return *row != NULL || op->result == STORE_WRONGTYPE ? SQLITE_OK : SQLITE_NOMEM;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int insert_row(struct sqlite_store *self, const struct store_op *op,
                      const struct store_counter *counter)
{
    sqlite3_stmt *stmt = self->file.statements[STATEMENT_INSERT_ROW];
    char text[VALUE_BYTES];
    value_format(counter->value, text);
    sqlite3_bind_text(stmt, 1, op->name, (int)op->name_len, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, text, VALUE_BYTES, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 3, counter->start);
    sqlite3_bind_int64(stmt, 4, counter->step);
    sqlite3_bind_int64(stmt, 5, counter->max);
    sqlite3_bind_int64(stmt, 6, counter->cache);
    sqlite3_bind_int64(stmt, 7, counter->generation);
    int rc = sqlite_file_run(&self->file, STATEMENT_INSERT_ROW);
    sqlite3_clear_bindings(stmt); /* `text` ends here */
    if (rc != SQLITE_OK)
        return rc;
    int64_t id = sqlite3_last_insert_rowid(self->file.db);
    return row_cache_put(&self->cache, op->name, op->name_len, id, counter) != NULL ? SQLITE_OK
                                                                                    : SQLITE_NOMEM;
}

static int update_row(struct sqlite_store *self, const struct row *row)
{
    sqlite3_stmt *stmt = self->file.statements[STATEMENT_UPDATE_ROW];
    char text[VALUE_BYTES];
    value_format(row->counter.value, text);
    sqlite3_bind_int64(stmt, 1, row->id);
    sqlite3_bind_text(stmt, 2, text, VALUE_BYTES, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 3, row->counter.generation);
    int rc = sqlite_file_run(&self->file, STATEMENT_UPDATE_ROW);
    sqlite3_clear_bindings(stmt); /* `text` ends here */
    return rc;
}

static int delete_row(struct sqlite_store *self, struct row *row)
{
    int rc = row->dirty ? write_dirty(self) : SQLITE_OK; /* off the list of dirty rows */
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_bind_int64(self->file.statements[STATEMENT_DELETE_ROW], 1, row->id);
    row_cache_remove(&self->cache, row);
    return sqlite_file_run(&self->file, STATEMENT_DELETE_ROW);
}

static int apply_counter(struct sqlite_store *self, struct store_op *op)
{
    struct row *row;
    op->result = STORE_DONE;
    int rc = find(self, op, &row);
    if (rc != SQLITE_OK || op->result == STORE_WRONGTYPE)
        return rc;
    if (row == NULL) {
        struct store_counter fresh;
        return store_counter_apply(op, false, &fresh, &self->meta.generation) == STORE_NEW
                   ? insert_row(self, op, &fresh)
                   : SQLITE_OK;
    }
    switch (store_counter_apply(op, true, &row->counter, &self->meta.generation)) {
    case STORE_VALUE:
        if (!row->dirty) {
            row->dirty = true;
            row->next_dirty = self->dirty;
            self->dirty = row;
        }
        return SQLITE_OK;
    case STORE_WHOLE:
        return update_row(self, row);
    case STORE_GONE:
        return delete_row(self, row);
    case STORE_NEW:
    case STORE_SAME:
        break;
    }
    return SQLITE_OK;
}

static int apply_list(struct sqlite_store *self, struct store_op *op)
{
    int rc = write_dirty(self);
    if (rc != SQLITE_OK)
        return rc;
    /* From the greater of the two on. */
    size_t len = op->after_len < op->name_len ? op->after_len : op->name_len;
    int order = len == 0 ? 0 : memcmp(op->after, op->name, len);
    bool from_after = order > 0 || (order == 0 && op->after_len > op->name_len);
    sqlite3_stmt *stmt = self->file.statements[STATEMENT_LIST];
    sqlite3_bind_text(stmt, 1,
                      from_after          ? op->after
                      : op->name_len != 0 ? op->name
                                          : "",
                      (int)(from_after ? op->after_len : op->name_len), SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, op->after_len != 0 ? op->after : "", (int)op->after_len,
                      SQLITE_STATIC);
    op->result = STORE_DONE;
    op->text[0] = '\0';
    rc = SQLITE_DONE;
    for (int64_t rows = 0; rows < op->count; rows++) {
        rc = sqlite3_step(stmt);
        if (rc != SQLITE_ROW)
            break;
        int64_t id;
        struct store_counter counter;
        const char *name = (const char *)sqlite3_column_text(stmt, 7);
        size_t name_len = (size_t)sqlite3_column_bytes(stmt, 7);
        if (!store_list_wants(op, name, name_len))
            break;
        if (!read_row(stmt, &id, &counter)) {
            say_wrong_type(op);
            break;
        }
        op->row(op, name, name_len, &counter);
    }
    sqlite3_reset(stmt);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int apply(struct sqlite_store *self, struct store_op *op)
{
    if (op->verb == STORE_LIST)
        return apply_list(self, op);
    if (store_verb_leases(op->verb)) {
        op->result = STORE_REFUSED;
        snprintf(op->text, sizeof op->text, "this store has one user: there is no lease");
        return SQLITE_OK;
    }
    if (op->verb != STORE_HIGH_WATER)
        return apply_counter(self, op);
    self->meta.high_water_s = op->value;
    op->result = STORE_DONE;
    op->text[0] = '\0';
    return SQLITE_OK;
}

static int write_meta(struct sqlite_store *self)
{
    if (self->meta.high_water_s == self->saved.high_water_s &&
        self->meta.generation == self->saved.generation)
        return SQLITE_OK;
    sqlite3_stmt *stmt = self->file.statements[STATEMENT_PUT_META];
    sqlite3_bind_int64(stmt, 1, self->meta.high_water_s);
    sqlite3_bind_int64(stmt, 2, self->meta.generation);
    return sqlite_file_run(&self->file, STATEMENT_PUT_META);
}

static int begin(struct sqlite_store *self)
{
#ifdef SABOTAGE_EARLY_ACK
    /* A daemon that lies: what it called done is committed by the next commit. */
    if (sqlite3_get_autocommit(self->file.db) == 0)
        (void)!sqlite_file_run(&self->file, STATEMENT_COMMIT);
#endif
    return sqlite_file_run(&self->file, STATEMENT_BEGIN);
}

static int end(struct sqlite_store *self)
{
#ifdef SABOTAGE_EARLY_ACK
    (void)self;
    return SQLITE_OK;
#else
    return sqlite_file_run(&self->file, STATEMENT_COMMIT);
#endif
}

static bool is_sync_error(int rc)
{
    return rc == SQLITE_IOERR_FSYNC || rc == SQLITE_IOERR_DIR_FSYNC;
}

/* What may pass by itself, and leaves no doubt about what is on the disk. */
static bool is_passing(int rc)
{
    int primary = rc & 0xff;
    return primary == SQLITE_FULL || primary == SQLITE_BUSY || primary == SQLITE_LOCKED;
}

/* Folds the log into the file when it has grown enough. What was committed is safe in the log
 * whatever happens here; but after a failed fsync it is not known any more what the file holds. */
static void fold_log(struct sqlite_store *self)
{
    if (self->log_pages < self->fold_at)
        return;
    int rc =
        sqlite3_wal_checkpoint_v2(self->file.db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (rc == SQLITE_OK)
        self->fold_at = FOLD_PAGES;
    else if (is_passing(rc))
        self->fold_at = self->log_pages + FOLD_PAGES;
    else
        self->base.stopped = disk_failed;
}

/* The transaction did not come to its end. A failed COMMIT or fsync leaves open what is on the disk
 * and what a later fsync would tell, so nothing is issued from here on. */
static void fail(struct sqlite_store *self, struct store_op **ops, size_t count, int rc,
                 bool committing)
{
    char text[sizeof(ops[0]->text)];
    bool unknown = is_sync_error(rc) || (committing && !is_passing(rc));
    if ((rc & 0xff) == SQLITE_FULL)
        snprintf(text, sizeof(text), "the disk is full: nothing was stored");
    else
        snprintf(text, sizeof(text), "the store failed: %s (SQLite code %d)", sqlite3_errstr(rc),
                 rc);
    if (unknown)
        self->base.stopped = disk_failed;
    else if ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB)
        self->base.stopped = file_damaged;

    /* Some errors have rolled back already. */
    if (sqlite3_get_autocommit(self->file.db) == 0 &&
        sqlite_file_run(&self->file, STATEMENT_ROLLBACK) != SQLITE_OK &&
        sqlite3_get_autocommit(self->file.db) == 0)
        self->base.stopped = disk_failed;
    self->dirty = NULL;
    row_cache_clear(&self->cache);
    self->meta = self->saved;
    for (size_t i = 0; i < count; i++)
        store_op_fail(ops[i], unknown ? STORE_UNKNOWN : STORE_NOT_DONE, text);
    /* The log can be begun anew once it is folded: counters that exist then need no more room. */
    if ((rc & 0xff) == SQLITE_FULL && self->base.stopped == NULL) {
        self->fold_at = 0;
        fold_log(self);
    }
}

static void sqlite_commit(struct store *store, struct store_op **ops, size_t count)
{
    struct sqlite_store *self = (struct sqlite_store *)store;
    if (self->base.stopped != NULL) {
        for (size_t i = 0; i < count; i++)
            store_op_fail(ops[i], STORE_NOT_DONE, self->base.stopped);
        return;
    }
    int rc = begin(self);
    for (size_t i = 0; i < count && rc == SQLITE_OK; i++)
        rc = apply(self, ops[i]);
    if (rc == SQLITE_OK)
        rc = write_dirty(self);
    if (rc == SQLITE_OK)
        rc = write_meta(self);
    bool committing = rc == SQLITE_OK;
    if (committing)
        rc = end(self);
    if (rc != SQLITE_OK) {
        fail(self, ops, count, rc, committing);
        return;
    }
    self->saved = self->meta;
    fold_log(self);
}

static int log_grew_cb(void *self, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    ((struct sqlite_store *)self)->log_pages = pages;
    return SQLITE_OK;
}

static void sqlite_close(struct store *store)
{
    struct sqlite_store *self = (struct sqlite_store *)store;
#ifdef SABOTAGE_EARLY_ACK
    (void)!sqlite3_exec(self->file.db, "COMMIT", NULL, NULL, NULL);
#endif
    sqlite_file_close(&self->file, self->base.stopped != NULL);
    row_cache_finish(&self->cache);
    free(self);
}

static int sqlite_open(const struct config *config, const char *rest, struct store **store,
                       char *why, size_t why_bytes)
{
    struct sqlite_store *self = calloc(1, sizeof(*self));
    if (self == NULL || row_cache_init(&self->cache) != 0) {
        snprintf(why, why_bytes, "out of memory");
        goto fail;
    }
    if (sqlite_file_open(&self->file, rest, &self->base.facts, &self->saved, why, why_bytes) != 0)
        goto fail;
    sqlite3_wal_hook(self->file.db, log_grew_cb, self);
    self->meta = self->saved;
    self->fold_at = FOLD_PAGES;
    self->base.backend = &store_sqlite_backend;
    self->base.workers = 1;
    self->base.flights = 1;
    *store = &self->base;
    return 0;

fail:
    if (self != NULL)
        row_cache_finish(&self->cache);
    free(self);
    return -1;
}

const struct store_backend store_sqlite_backend = {
    .scheme = "sqlite",
    .open = sqlite_open,
    .commit = sqlite_commit,
    .close = sqlite_close,
};
