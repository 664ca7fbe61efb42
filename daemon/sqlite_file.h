/* The file of the embedded store: found, made, locked, checked, and its statements prepared.
 * store_sqlite.c does the commits. Both are the store's: no one else includes this. */
#ifndef IDMINT_SQLITE_FILE_H
#define IDMINT_SQLITE_FILE_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "store.h"

/* A counter's value in the file: text of fixed width, sign and 19 digits. */
#define VALUE_BYTES 20

enum statement {
    STATEMENT_BEGIN,
    STATEMENT_COMMIT,
    STATEMENT_ROLLBACK,
    STATEMENT_FIND,       /* name -> id, value, start, step, max, cache, generation */
    STATEMENT_LIST,       /* names from ?1 on, without ?2 -> as FIND, and the name */
    STATEMENT_INSERT_ROW, /* name, value, start, step, max, cache, generation */
    STATEMENT_UPDATE_ROW, /* id, value, generation */
    STATEMENT_DELETE_ROW, /* id */
    STATEMENT_PUT_META,   /* high_water_s, generation */
    STATEMENT_COUNT,
};

struct sqlite_meta {
    int64_t high_water_s; /* -1: none yet */
    int64_t generation;   /* the last one used */
};

struct sqlite_file {
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENT_COUNT];
};

/* 0, or -1 with `why` and nothing left open. */
int sqlite_file_open(struct sqlite_file *file, const char *path, struct store_facts *facts,
                     struct sqlite_meta *meta, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));
/* Folds the write-ahead log into the file and removes it, unless `leave_log`. */
void sqlite_file_close(struct sqlite_file *file, bool leave_log);

/* Step a statement that gives no row, and reset it. An SQLite result code. */
int sqlite_file_run(struct sqlite_file *file, enum statement statement)
    __attribute__((warn_unused_result));

#endif
