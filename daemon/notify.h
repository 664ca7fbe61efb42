/* Tells the service manager how the daemon stands, by sd_notify(3)'s protocol: a datagram to the
 * Unix socket that $NOTIFY_SOCKET names. Without that variable nothing is done. */
#ifndef IDMINT_NOTIFY_H
#define IDMINT_NOTIFY_H

#include <stdint.h>

/* "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=...". Lost where it can not be sent: there is
 * nothing to be done about it. Does not block. */
void notify_send(const char *state);

/* How often to send WATCHDOG=1: half of the time after which the manager takes this process for
 * hung. 0: no watchdog is asked for. */
int64_t notify_watchdog_ms(void);

#endif
