/* Which process this is, unlike any other on any machine at any time; and whether another one,
 * named like that, has ended for sure. Linux: boot id, pid namespace, pid, start time (proc(5)). */
#ifndef IDMINT_PROCESS_H
#define IDMINT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#define PROCESS_NAME_BYTES 128

/* "BOOT-ID/PID-NAMESPACE/PID/START". Where /proc can not be read: a random name, of which nobody
 * can tell that it has ended. */
void process_name(char name[PROCESS_NAME_BYTES]);

/* true: that process ran in this boot and pid namespace, and is gone. false: it lives, or it can
 * not be told from here. */
bool process_has_ended(const char *name);

#endif
