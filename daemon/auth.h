/* Credentials of the daemon: user names and passwords from a file. Compared in constant time. */
#ifndef IDMINT_AUTH_H
#define IDMINT_AUTH_H

#include <stdbool.h>
#include <stddef.h>

struct auth;

/* Each line of the file is a password, or name:password; empty lines and lines that begin with #
 * are skipped; a lone password belongs to the user "default". The file must not be readable by
 * others than its owner and group. 0, or -1 with `why` in one line (never a password in it). */
int auth_load(const char *path, struct auth **auth, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));
void auth_destroy(struct auth *auth); /* NULL: nothing */

/* user may be NULL (user_len 0): "default". Any thread, while the auth lives. */
bool auth_check(const struct auth *auth, const char *user, size_t user_len, const char *password,
                size_t password_len);

#endif
