#include "fault_vfs.h"

#include <sqlite3.h>
#include <stddef.h>

struct fault_vfs fault_vfs;

static sqlite3_vfs *real;
static sqlite3_vfs layer;

struct fault_file {
    sqlite3_file base;
    bool is_log;
    /* The real file stands behind. */
};

static sqlite3_file *real_file(sqlite3_file *file)
{
    return (sqlite3_file *)((struct fault_file *)file + 1);
}

static int fault_close(sqlite3_file *file)
{
    return real_file(file)->pMethods->xClose(real_file(file));
}

static int fault_read(sqlite3_file *file, void *out, int bytes, sqlite3_int64 offset)
{
    return real_file(file)->pMethods->xRead(real_file(file), out, bytes, offset);
}

static int fault_write(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 offset)
{
    fault_vfs.writes++;
    if (fault_vfs.write_code != 0 && fault_vfs.write_skip-- <= 0)
        return fault_vfs.write_code;
    if (((struct fault_file *)file)->is_log) {
        if (fault_vfs.log_limit != 0 && offset + bytes > fault_vfs.log_limit)
            return SQLITE_FULL;
        fault_vfs.unsynced = true;
    }
    return real_file(file)->pMethods->xWrite(real_file(file), data, bytes, offset);
}

static int fault_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return real_file(file)->pMethods->xTruncate(real_file(file), size);
}

static int fault_sync(sqlite3_file *file, int flags)
{
    fault_vfs.syncs++;
    if (fault_vfs.sync_code != 0 && fault_vfs.sync_skip-- <= 0)
        return fault_vfs.sync_code;
    if (((struct fault_file *)file)->is_log)
        fault_vfs.unsynced = false;
    return real_file(file)->pMethods->xSync(real_file(file), flags);
}

static int fault_file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_file(file)->pMethods->xFileSize(real_file(file), size);
}

static int fault_lock(sqlite3_file *file, int level)
{
    return real_file(file)->pMethods->xLock(real_file(file), level);
}

static int fault_unlock(sqlite3_file *file, int level)
{
    return real_file(file)->pMethods->xUnlock(real_file(file), level);
}

static int fault_check_reserved_lock(sqlite3_file *file, int *result)
{
    return real_file(file)->pMethods->xCheckReservedLock(real_file(file), result);
}

static int fault_file_control(sqlite3_file *file, int code, void *argument)
{
    return real_file(file)->pMethods->xFileControl(real_file(file), code, argument);
}

static int fault_sector_size(sqlite3_file *file)
{
    return real_file(file)->pMethods->xSectorSize(real_file(file));
}

static int fault_device(sqlite3_file *file)
{
    return real_file(file)->pMethods->xDeviceCharacteristics(real_file(file));
}

/* Version 1: no shared memory, which the store, alone with its file, does not need. */
static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = fault_close,
    .xRead = fault_read,
    .xWrite = fault_write,
    .xTruncate = fault_truncate,
    .xSync = fault_sync,
    .xFileSize = fault_file_size,
    .xLock = fault_lock,
    .xUnlock = fault_unlock,
    .xCheckReservedLock = fault_check_reserved_lock,
    .xFileControl = fault_file_control,
    .xSectorSize = fault_sector_size,
    .xDeviceCharacteristics = fault_device,
};

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)vfs;
    ((struct fault_file *)file)->is_log = (flags & SQLITE_OPEN_WAL) != 0;
    int rc = real->xOpen(real, name, real_file(file), flags, out);
    file->pMethods = rc == SQLITE_OK ? &methods : NULL;
    return rc;
}

void fault_vfs_install(void)
{
    real = sqlite3_vfs_find(NULL);
    layer = *real;
    layer.zName = "fault";
    layer.szOsFile = (int)sizeof(struct fault_file) + real->szOsFile;
    layer.xOpen = fault_open;
    sqlite3_vfs_register(&layer, 1);
}
