#include "log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 2048

static _Atomic int threshold = LOG_INFO;

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER; /* over both below */
static struct log_event kept[LOG_KEPT];
static size_t kept_total;

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&threshold, (int)level, memory_order_relaxed);
}

/* Whether stderr is the journal's socket: systemd tells its device and inode (systemd.exec(5)).
 * Asked anew each time, since the variable is inherited by what redirects stderr elsewhere. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat status;
    char expected[64];
    if (!stream || fstat(STDERR_FILENO, &status) != 0)
        return false;
    snprintf(expected, sizeof(expected), "%ju:%ju", (uintmax_t)status.st_dev,
             (uintmax_t)status.st_ino);
    return strcmp(stream, expected) == 0;
}

static size_t write_prefix(enum log_level level, char *out, size_t bytes)
{
    static const char *const names[] = {
        [LOG_ERROR] = "error", [LOG_WARNING] = "warning", [LOG_NOTICE] = "notice",
        [LOG_INFO] = "info",   [LOG_DEBUG] = "debug",
    };
    if (stderr_is_journal())
        return (size_t)snprintf(out, bytes, "<%d>", (int)level);
    struct timespec now;
    struct tm utc;
    char date[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
    return (size_t)snprintf(out, bytes, "%s.%03ldZ %s: ", date, now.tv_nsec / 1000000,
                            names[level]);
}

/* A C0 control or DEL, or the two bytes of a C1 control, which terminals obey as well. */
static size_t control_size(const char *text)
{
    unsigned char first = (unsigned char)text[0], second = (unsigned char)text[1];
    if (first < 0x20 || first == 0x7F)
        return 1;
    return first == 0xC2 && second >= 0x80 && second <= 0x9F ? 2 : 0;
}

/* Copy text with controls as \xNN; what does not fit is cut off. */
static size_t write_escaped(const char *text, char *out, size_t bytes)
{
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;
    while (*text) {
        size_t size = control_size(text);
        if (used + (size ? 4 * size : 1) > bytes)
            break;
        if (size == 0)
            out[used++] = *text++;
        for (; size > 0; size--, text++) {
            out[used++] = '\\';
            out[used++] = 'x';
            out[used++] = digits[(unsigned char)*text >> 4];
            out[used++] = digits[(unsigned char)*text & 15];
        }
    }
    return used;
}

static void keep(enum log_level level, const char *text, size_t len)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (len >= LOG_KEPT_BYTES)
        len = LOG_KEPT_BYTES - 1;
    pthread_mutex_lock(&kept_lock);
    struct log_event *event = &kept[kept_total++ % LOG_KEPT];
    event->real_ms = now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
    event->level = level;
    memcpy(event->text, text, len);
    event->text[len] = '\0';
    pthread_mutex_unlock(&kept_lock);
}

size_t log_recent(struct log_event events[LOG_KEPT])
{
    pthread_mutex_lock(&kept_lock);
    size_t count = kept_total < LOG_KEPT ? kept_total : LOG_KEPT;
    for (size_t i = 0; i < count; i++)
        events[i] = kept[(kept_total - 1 - i) % LOG_KEPT];
    pthread_mutex_unlock(&kept_lock);
    return count;
}

void log_line(enum log_level level, const char *format, ...)
{
    if ((int)level > atomic_load_explicit(&threshold, memory_order_relaxed))
        return;
    int saved_errno = errno;
    char text[LINE_BYTES], line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);

    size_t prefix = write_prefix(level, line, sizeof(line));
    size_t used = prefix + write_escaped(text, line + prefix, sizeof(line) - 1 - prefix);
    if (level <= LOG_WARNING)
        keep(level, line + prefix, used - prefix);
    line[used++] = '\n';
    /* One write a line, so that lines of several threads do not mix. */
    ssize_t written;
    do {
        written = write(STDERR_FILENO, line, used);
    } while (written < 0 && errno == EINTR);
    errno = saved_errno;
}
