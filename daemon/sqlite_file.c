#include "sqlite_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define APPLICATION_ID 0x69646d74 /* "idmt", in the file's header for file(1) and for us */
#define SCHEMA_VERSION 1

/* A value is text of fixed width so that sqlite3_blob_write can write over it in place, which costs
 * a sixth of an UPDATE; CAST(value AS INTEGER) reads it. */
static const char schema[] = "CREATE TABLE counter ("
                             " id INTEGER PRIMARY KEY,"
                             " name TEXT NOT NULL UNIQUE,"
                             " value TEXT NOT NULL CHECK (length(value) = 20),"
                             " start INTEGER NOT NULL,"
                             " step INTEGER NOT NULL,"
                             " max INTEGER NOT NULL,"
                             " cache INTEGER NOT NULL,"
                             " generation INTEGER NOT NULL) STRICT;"
                             "CREATE TABLE meta ("
                             " id INTEGER PRIMARY KEY CHECK (id = 1),"
                             " store TEXT NOT NULL,"
                             " birth_s INTEGER NOT NULL,"
                             " high_water_s INTEGER NOT NULL,"
                             " generation INTEGER NOT NULL) STRICT;";

#define ROW_FIELDS "value, start, step, max, cache, generation"

static const char *const statements[STATEMENT_COUNT] = {
    [STATEMENT_BEGIN] = "BEGIN",
    [STATEMENT_COMMIT] = "COMMIT",
    [STATEMENT_ROLLBACK] = "ROLLBACK",
    [STATEMENT_FIND] = "SELECT id, " ROW_FIELDS " FROM counter WHERE name = ?1",
    [STATEMENT_LIST] = "SELECT id, " ROW_FIELDS ", name FROM counter"
                       " WHERE name >= ?1 AND name <> ?2 ORDER BY name",
    [STATEMENT_INSERT_ROW] = "INSERT INTO counter (name, " ROW_FIELDS ")"
                             " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [STATEMENT_UPDATE_ROW] = "UPDATE counter SET value = ?2, generation = ?3 WHERE id = ?1",
    [STATEMENT_DELETE_ROW] = "DELETE FROM counter WHERE id = ?1",
    [STATEMENT_PUT_META] = "UPDATE meta SET high_water_s = ?1, generation = ?2",
};

struct why {
    const char *path;
    char *text;
    size_t bytes;
};

/* One line for what SQLite could not do with the file. */
static void explain(const struct why *why, sqlite3 *db, int rc)
{
    const char *path = why->path;
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        snprintf(why->text, why->bytes, "%s is in use by another process", path);
        break;
    case SQLITE_NOTADB:
        snprintf(why->text, why->bytes, "%s is not an idmint store: it is no SQLite database",
                 path);
        break;
    case SQLITE_CORRUPT:
        snprintf(why->text, why->bytes,
                 "%s is damaged: restore it from a backup that holds all that was issued", path);
        break;
    case SQLITE_READONLY:
        snprintf(why->text, why->bytes, "%s is not writable", path);
        break;
    case SQLITE_FULL:
        snprintf(why->text, why->bytes, "%s: the disk is full", path);
        break;
    case SQLITE_CANTOPEN:
        snprintf(why->text, why->bytes, "%s, or the log beside it, can not be opened: %s", path,
                 strerrordesc_np(sqlite3_system_errno(db)));
        break;
    default:
        snprintf(why->text, why->bytes, "%s: %s (SQLite code %d)", path, sqlite3_errstr(rc), rc);
    }
}

/* Refuses what is no file, and makes the file where there is none: empty, for the owner alone.
 * An existing file is not opened here: closing it would drop locks this process holds on it. */
static int prepare_path(const struct why *why)
{
    struct stat status;
    if (stat(why->path, &status) == 0) {
        if (S_ISREG(status.st_mode))
            return 0;
        snprintf(why->text, why->bytes, "%s is %s, not a file", why->path,
                 S_ISDIR(status.st_mode) ? "a directory" : "something special");
        return -1;
    }
    int fd = -1;
    if (errno == ENOENT)
        fd = open(why->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        snprintf(why->text, why->bytes, "%s can not be made: %s", why->path,
                 errno == ENOENT ? "its directory does not exist" : strerrordesc_np(errno));
        return -1;
    }
    close(fd);
    return 0;
}

static int read_integer(sqlite3 *db, const char *sql, int64_t *value)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW)
            *value = sqlite3_column_int64(stmt, 0);
    }
    sqlite3_finalize(stmt);
    return rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
}

/* Page size: the bytes that a commit of one counter writes, against rows that fit a page. The log
 * is folded in by store_sqlite.c, which looks at the result. */
static int lock(sqlite3 *db)
{
    return sqlite3_exec(db,
                        "PRAGMA page_size = 2048;"
                        "PRAGMA locking_mode = EXCLUSIVE;"
                        "PRAGMA wal_autocheckpoint = 0;"
                        "PRAGMA synchronous = FULL;"
                        "PRAGMA cache_size = -8000;"
                        "BEGIN EXCLUSIVE; COMMIT",
                        NULL, NULL, NULL);
}

static int create_schema(sqlite3 *db)
{
    unsigned char id[STORE_ID_HEX / 2];
    char hex[STORE_ID_HEX + 1];
    if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
        return SQLITE_ERROR;
    for (size_t i = 0; i < sizeof(id); i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    char *sql = sqlite3_mprintf("BEGIN EXCLUSIVE; %s"
                                "INSERT INTO meta VALUES (1, '%s', %lld, -1, 0);"
                                "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
                                schema, hex, (long long)time(NULL), APPLICATION_ID, SCHEMA_VERSION);
    int rc = sql == NULL ? SQLITE_NOMEM : sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return rc;
}

/* Whose file it is, before anything is written to it. */
static int identify(const struct why *why, sqlite3 *db, bool *is_new)
{
    int64_t application = 0, version = 0, objects = 0;
    int rc = read_integer(db, "PRAGMA application_id", &application);
    if (rc == SQLITE_OK)
        rc = read_integer(db, "PRAGMA user_version", &version);
    if (rc == SQLITE_OK)
        rc = read_integer(db, "SELECT count(*) FROM sqlite_schema", &objects);
    if (rc != SQLITE_OK) {
        explain(why, db, rc);
        return -1;
    }
    *is_new = application == 0 && version == 0 && objects == 0;
    if (*is_new)
        return 0;
    if (application != APPLICATION_ID || version < 1) {
        snprintf(why->text, why->bytes,
                 "%s is not an idmint store: it is another program's database", why->path);
        return -1;
    }
    if (version > SCHEMA_VERSION) {
        snprintf(why->text, why->bytes,
                 "%s was written by a newer idmintd (schema %" PRId64 ", this one knows %d)",
                 why->path, version, SCHEMA_VERSION);
        return -1;
    }
    return 0;
}

static int check_integrity(const struct why *why, sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    const char *found = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
    bool sound = found != NULL && strcmp(found, "ok") == 0;
    sqlite3_finalize(stmt);
    if (!sound)
        explain(why, db, rc == SQLITE_ROW ? SQLITE_CORRUPT : rc);
    return sound ? 0 : -1;
}

static int read_meta(sqlite3 *db, struct store_facts *facts, struct sqlite_meta *meta)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(
        db, "SELECT store, birth_s, high_water_s, generation FROM meta WHERE id = 1", -1, &stmt,
        NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        snprintf(facts->id, sizeof(facts->id), "%s", (const char *)sqlite3_column_text(stmt, 0));
        snprintf(facts->version, sizeof(facts->version), "SQLite %s", sqlite3_libversion());
        facts->birth_s = sqlite3_column_int64(stmt, 1);
        facts->high_water_s = sqlite3_column_int64(stmt, 2);
        meta->high_water_s = facts->high_water_s;
        meta->generation = sqlite3_column_int64(stmt, 3);
    }
    sqlite3_finalize(stmt);
    /* A table that is not there or holds no row: someone has been at the file. */
    if (rc == SQLITE_DONE || rc == SQLITE_ERROR)
        return SQLITE_CORRUPT;
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int prepare_statements(struct sqlite_file *file)
{
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        int rc = sqlite3_prepare_v3(file->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT,
                                    &file->statements[i], NULL);
        if (rc != SQLITE_OK)
            return rc == SQLITE_ERROR ? SQLITE_CORRUPT : rc;
    }
    return SQLITE_OK;
}

/* SQLite opens for reading alone what it may not write. */
static int open_database(const char *path, sqlite3 **db)
{
    int rc = sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_extended_result_codes(*db, 1);
    return sqlite3_db_readonly(*db, "main") != 0 ? SQLITE_READONLY : lock(*db);
}

static int open_checked(struct sqlite_file *file, const char *path, const struct why *why,
                        struct store_facts *facts, struct sqlite_meta *meta)
{
    bool is_new = false;
    int rc = open_database(path, &file->db);
    if (rc == SQLITE_OK) {
        if (identify(why, file->db, &is_new) != 0)
            return -1;
        rc = sqlite3_exec(file->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK && is_new)
        rc = create_schema(file->db);
    if (rc == SQLITE_OK && !is_new && check_integrity(why, file->db) != 0)
        return -1;
    if (rc == SQLITE_OK)
        rc = read_meta(file->db, facts, meta);
    if (rc == SQLITE_OK)
        rc = prepare_statements(file);
    if (rc == SQLITE_OK)
        return 0;
    explain(why, file->db, rc);
    return -1;
}

int sqlite_file_open(struct sqlite_file *file, const char *path, struct store_facts *facts,
                     struct sqlite_meta *meta, char *why_text, size_t why_bytes)
{
    struct why why = {path, why_text, why_bytes};
    if (path[0] == '\0') {
        snprintf(why_text, why_bytes, "sqlite: needs the path of a file, as in sqlite:idmint.db");
        return -1;
    }
    memset(file, 0, sizeof(*file));
    if (prepare_path(&why) != 0)
        return -1;
    /* A name like ":memory:" means something else to SQLite unless it is a path. */
    char *plain = path[0] == '/' ? strdup(path) : NULL;
    if (path[0] != '/' && asprintf(&plain, "./%s", path) < 0)
        plain = NULL;
    if (plain == NULL) {
        snprintf(why_text, why_bytes, "out of memory");
        return -1;
    }
    int result = open_checked(file, plain, &why, facts, meta);
    if (result != 0)
        sqlite_file_close(file, true);
    free(plain);
    return result;
}

void sqlite_file_close(struct sqlite_file *file, bool leave_log)
{
    for (int i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(file->statements[i]);
    if (leave_log && file->db != NULL)
        sqlite3_db_config(file->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_close(file->db);
}

int sqlite_file_run(struct sqlite_file *file, enum statement statement)
{
    sqlite3_stmt *stmt = file->statements[statement];
    int rc = sqlite3_step(stmt);
    sqlite3_reset(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}
