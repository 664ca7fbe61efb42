/* SQLite's way to the disk, with faults: a layer over the real one that counts what is written and
 * synced, and fails when told to. Becomes the default for all databases opened after it. */
#ifndef IDMINT_TEST_FAULT_VFS_H
#define IDMINT_TEST_FAULT_VFS_H

#include <stdbool.h>

struct fault_vfs {
    int writes;
    int syncs;
    bool unsynced;  /* something was written to a log and not synced since */
    int write_code; /* 0: writes go through; else what they return */
    int write_skip; /* writes that go through before the first that fails */
    long log_limit; /* 0: none; else a log that would grow past it finds the disk full */
    int sync_code;  /* the same for syncs */
    int sync_skip;
};

/* One per process. */
extern struct fault_vfs fault_vfs;

void fault_vfs_install(void);

#endif
