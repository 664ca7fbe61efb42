/* One line an event, to stderr; with the syslog priority as "<4>" in front when stderr goes to the
 * journal, else with time and level. Any thread. The one place beside main.c with global state. */
#ifndef IDMINT_LOG_H
#define IDMINT_LOG_H

#include <stddef.h>
#include <stdint.h>

enum log_level {
    LOG_ERROR = 3,
    LOG_WARNING = 4,
    LOG_NOTICE = 5,
    LOG_INFO = 6,
    LOG_DEBUG = 7,
};

void log_set_level(enum log_level level);
/* Control characters in what is printed are escaped, so one event stays one line. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define LOG_KEPT 50        /* warnings and errors that are kept to be looked at */
#define LOG_KEPT_BYTES 256 /* of each */

struct log_event {
    int64_t real_ms; /* CLOCK_REALTIME */
    enum log_level level;
    char text[LOG_KEPT_BYTES]; /* as logged; cut off where it is longer */
};
/* The latest of them, newest first; returns how many. Any thread. */
size_t log_recent(struct log_event events[LOG_KEPT]);

#endif
