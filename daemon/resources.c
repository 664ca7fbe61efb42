#include "resources.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Field 22 of stat, in ticks since the machine's start; it is counted behind the program's name,
 * which may hold anything. */
static int64_t read_start_ms(void)
{
    char text[1024] = "", line[256];
    FILE *file = fopen("/proc/self/stat", "re");
    if (file != NULL && fgets(text, sizeof text, file) == NULL)
        text[0] = '\0';
    if (file != NULL)
        fclose(file);
    const char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    file = at != NULL ? fopen("/proc/stat", "re") : NULL;
    int64_t boot_s = -1;
    while (file != NULL && boot_s < 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "btime ", 6) == 0)
            boot_s = strtoll(line + 6, NULL, 10);
    if (file != NULL)
        fclose(file);
    if (boot_s < 0)
        return -1;
    return boot_s * 1000 + strtoll(at + 1, NULL, 10) * 1000 / sysconf(_SC_CLK_TCK);
}

void resources_open(struct resources *resources)
{
    resources->fds = opendir("/proc/self/fd");
    resources->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    resources->start_ms = read_start_ms();
    atomic_init(&resources->other_fds, -1);
}

void resources_close(struct resources *resources)
{
    if (resources->fds != NULL)
        closedir(resources->fds);
    if (resources->statm >= 0)
        close(resources->statm);
}

void resources_count(struct resources *resources, int64_t connections)
{
    int64_t count = -1;
    if (resources->fds != NULL) {
        count = -connections;
        rewinddir(resources->fds);
        for (const struct dirent *entry; (entry = readdir(resources->fds)) != NULL;)
            count += entry->d_name[0] != '.';
    }
    atomic_store_explicit(&resources->other_fds, count, memory_order_relaxed);
}

static int64_t resident_bytes(const struct resources *resources)
{
    char text[128];
    ssize_t len = resources->statm >= 0 ? pread(resources->statm, text, sizeof text - 1, 0) : 0;
    text[len > 0 ? len : 0] = '\0';
    const char *second = strchr(text, ' ');
    return second != NULL ? strtoll(second, NULL, 10) * sysconf(_SC_PAGESIZE) : -1;
}

static int64_t time_us(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

void resources_look(const struct resources *resources, struct resources_state *state)
{
    struct rusage usage = {0};
    struct rlimit limit = {0};
    getrusage(RUSAGE_SELF, &usage);
    getrlimit(RLIMIT_NOFILE, &limit);
    *state = (struct resources_state){
        .resident_bytes = resident_bytes(resources),
        .cpu_us = time_us(usage.ru_utime) + time_us(usage.ru_stime),
        .other_fds = atomic_load_explicit(&resources->other_fds, memory_order_relaxed),
        .max_fds = limit.rlim_cur > INT64_MAX ? INT64_MAX : (int64_t)limit.rlim_cur,
        .start_ms = resources->start_ms,
    };
}
