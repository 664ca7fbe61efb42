/* Preloaded into the daemon (LD_PRELOAD): lets a test break its disk, watch the order of its system
 * calls, and set its clock.
 *
 * FAULTIO_MATCH  the calls that concern files whose path contains this are broken and watched; a $
 *                stands for the path's end.
 * FAULTIO_FOLDER triggers; while a file of this name is in the folder:
 *                  sync-eio, sync-enospc, write-eio, write-enospc: fsync and fdatasync, or pwrite,
 *                  fail so; sync-hang: fsync and fdatasync wait until it is gone.
 * FAULTIO_LOG    a file that gets a line an event, in the order of events: "sync" when an fsync or
 *                fdatasync begins, "synced" when it has returned; "refused" when a pwrite fails;
 *                "recv" after bytes came from a socket, "send" before bytes go to one.
 * FAULTIO_CLOCK  a file of 8 bytes: how many milliseconds CLOCK_REALTIME is off; negative: behind.
 *
 * All by bare system calls, so that nothing here depends on what else wraps these functions. */
#undef _FILE_OFFSET_BITS /* it makes pwrite another name of pwrite64, and both are defined here */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static struct {
    const char *match;
    const char *folder;
    int log_fd; /* -1: none */
    const _Atomic int64_t *clock_ms;
} setting = {.log_fd = -1};

static __attribute__((constructor)) void read_settings(void)
{
    const char *log = getenv("FAULTIO_LOG");
    const char *clock = getenv("FAULTIO_CLOCK");
    setting.match = getenv("FAULTIO_MATCH");
    setting.folder = getenv("FAULTIO_FOLDER");
    if (log != NULL)
        setting.log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int fd = clock != NULL ? open(clock, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED)
        setting.clock_ms = page;
    close(fd);
}

static void tell(const char *event)
{
    if (setting.log_fd >= 0)
        (void)!syscall(SYS_write, setting.log_fd, event, strlen(event));
}

static bool is_meant(int fd)
{
    char link[64], path[PATH_MAX];
    if (setting.match == NULL)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 2);
    if (len < 0)
        return false;
    path[len] = '$';
    path[len + 1] = '\0';
    return strstr(path, setting.match) != NULL;
}

static bool is_triggered(const char *trigger)
{
    char path[PATH_MAX];
    if (setting.folder == NULL)
        return false;
    snprintf(path, sizeof path, "%s/%s", setting.folder, trigger);
    return access(path, F_OK) == 0;
}

static int sync_file(long number, int fd)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    if (!is_meant(fd))
        return (int)syscall(number, fd);
    tell("sync\n");
    while (is_triggered("sync-hang"))
        nanosleep(&pause, NULL);
    int result = -1;
    if (is_triggered("sync-eio"))
        errno = EIO;
    else if (is_triggered("sync-enospc"))
        errno = ENOSPC;
    else
        result = (int)syscall(number, fd);
    int error = errno;
    tell("synced\n");
    errno = error;
    return result;
}

EXPORT int fsync(int fd)
{
    return sync_file(SYS_fsync, fd);
}

EXPORT int fdatasync(int fildes)
{
    return sync_file(SYS_fdatasync, fildes);
}

static ssize_t write_at(int fd, const void *buf, size_t n, off_t offset)
{
    if (is_meant(fd) && (is_triggered("write-eio") || is_triggered("write-enospc"))) {
        tell("refused\n");
        errno = is_triggered("write-eio") ? EIO : ENOSPC;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, buf, n, offset);
}

EXPORT ssize_t pwrite(int fd, const void *buf, size_t n, off_t offset)
{
    return write_at(fd, buf, n, offset);
}

EXPORT ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t offset)
{
    return write_at(fd, buf, n, offset);
}

EXPORT ssize_t recv(int fd, void *buf, size_t n, int flags)
{
    ssize_t got = syscall(SYS_recvfrom, fd, buf, n, flags, NULL, NULL);
    if (got > 0)
        tell("recv\n");
    return got;
}

EXPORT ssize_t send(int fd, const void *buf, size_t n, int flags)
{
    tell("send\n");
    return syscall(SYS_sendto, fd, buf, n, flags, NULL, 0);
}

EXPORT int clock_gettime(clockid_t clock_id, struct timespec *tp)
{
    int result = (int)syscall(SYS_clock_gettime, clock_id, tp);
    if (result != 0 || clock_id != CLOCK_REALTIME || setting.clock_ms == NULL)
        return result;
    int64_t ns = *setting.clock_ms % 1000 * 1000000 + tp->tv_nsec;
    tp->tv_sec += *setting.clock_ms / 1000;
    if (ns < 0 || ns >= 1000000000) {
        tp->tv_sec += ns < 0 ? -1 : 1;
        ns += ns < 0 ? 1000000000 : -1000000000;
    }
    tp->tv_nsec = ns;
    return result;
}
