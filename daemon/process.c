#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* A small file of /proc; false: it can not be read. */
static bool read_file(const char *path, char *text, size_t text_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t len = read(fd, text, text_bytes - 1);
    close(fd);
    if (len <= 0)
        return false;
    text[len] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return true;
}

/* Boot and pid namespace: "BOOT-ID/pid:[NUMBER]/". */
static bool read_place(char *place, size_t place_bytes)
{
    char boot[64], namespace[64];
    ssize_t len = readlink("/proc/self/ns/pid", namespace, sizeof namespace - 1);
    if (len <= 0 || !read_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot))
        return false;
    namespace[len] = '\0';
    return snprintf(place, place_bytes, "%.40s/%.40s/", boot, namespace) > 0;
}

/* Field 22 of /proc/PID/stat, counted behind the command's name, which may hold anything. */
static bool read_start(long pid, char *start, size_t start_bytes)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    if (!read_file(path, text, sizeof text))
        return false;
    char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (at == NULL)
        return false;
    snprintf(start, start_bytes, "%.*s", (int)strcspn(at + 1, " "), at + 1);
    return true;
}

void process_name(char name[PROCESS_NAME_BYTES])
{
    char place[90], start[24];
    uint64_t random[2] = {0, 0};
    if (read_place(place, sizeof place) && read_start((long)getpid(), start, sizeof start)) {
        snprintf(name, PROCESS_NAME_BYTES, "%s%ld/%s", place, (long)getpid(), start);
        return;
    }
    ssize_t got = getrandom(random, sizeof random, 0);
    if (got != (ssize_t)sizeof random)
        abort();
    snprintf(name, PROCESS_NAME_BYTES, "unknown/%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}

bool process_has_ended(const char *name)
{
    char place[90], start[24];
    if (!read_place(place, sizeof place) || strncmp(name, place, strlen(place)) != 0)
        return false;
    char *end;
    long pid = strtol(name + strlen(place), &end, 10);
    if (pid <= 0 || *end != '/')
        return false;
    if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
        return true;
    /* The pid may have been given to another process since. */
    return read_start(pid, start, sizeof start) && strcmp(start, end + 1) != 0;
}
