#include "resources.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The start of a file of /proc as text; "" where it can not be read. */
static void read_text(const char *path, char *text, size_t text_bytes)
{
    FILE *file = fopen(path, "re");
    size_t len = file != NULL ? fread(text, 1, text_bytes - 1, file) : 0;
    text[len] = '\0';
    if (file != NULL)
        fclose(file);
}

static int64_t resident_bytes(void)
{
    char text[128];
    read_text("/proc/self/statm", text, sizeof text);
    const char *second = strchr(text, ' ');
    return second != NULL ? strtoll(second, NULL, 10) * sysconf(_SC_PAGESIZE) : 0;
}

static int64_t open_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int64_t count = -1; /* the folder's own */
    if (folder == NULL)
        return 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* Field 22 of stat, in ticks since the machine's start; it is counted behind the program's name,
 * which may hold anything. */
static int64_t start_ms(void)
{
    char text[1024], line[256];
    read_text("/proc/self/stat", text, sizeof text);
    const char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    FILE *file = at != NULL ? fopen("/proc/stat", "re") : NULL;
    int64_t boot_s = 0;
    while (file != NULL && boot_s == 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "btime ", 6) == 0)
            boot_s = strtoll(line + 6, NULL, 10);
    if (file != NULL)
        fclose(file);
    if (boot_s == 0)
        return 0;
    return boot_s * 1000 + strtoll(at + 1, NULL, 10) * 1000 / sysconf(_SC_CLK_TCK);
}

static int64_t time_us(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

void resources_look(struct resources *resources)
{
    struct rusage usage = {0};
    struct rlimit limit = {0};
    getrusage(RUSAGE_SELF, &usage);
    getrlimit(RLIMIT_NOFILE, &limit);
    *resources = (struct resources){
        .resident_bytes = resident_bytes(),
        .cpu_us = time_us(usage.ru_utime) + time_us(usage.ru_stime),
        .open_fds = open_fds(),
        .max_fds = limit.rlim_cur > INT64_MAX ? INT64_MAX : (int64_t)limit.rlim_cur,
        .start_ms = start_ms(),
    };
}
