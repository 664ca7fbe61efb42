/* The credential, from a file of the same form as the daemon's: each line is a password (of the
 * user "default") or USER:PASSWORD; empty lines and lines that begin with # are skipped. */
#ifndef IDMINT_PASSWORD_H
#define IDMINT_PASSWORD_H

#include "command.h"

struct password {
    char line[2048];
    const char *user; /* into line, or NULL */
    const char *text; /* into line */
};

/* The first line, or the first of `user` where that is not NULL. An exit_code; said on stderr. */
int password_read(const char *path, const char *user, struct password *password);
void password_forget(struct password *password);

#endif
