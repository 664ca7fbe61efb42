#include "password.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "output.h"

/* Take the line apart. False: it is not the one that is wanted. */
static bool fits(struct password *password, const char *user)
{
    char *colon;

    password->line[strcspn(password->line, "\r\n")] = '\0';
    if (password->line[0] == '\0' || password->line[0] == '#') {
        return false;
    }
    colon = strchr(password->line, ':');
    password->user = NULL;
    password->text = password->line;
    if (colon) {
        *colon = '\0';
        password->user = password->line;
        password->text = colon + 1;
    }
    return !user || strcmp(user, password->user ? password->user : "default") == 0;
}

int password_read(const char *path, const char *user, struct password *password)
{
    FILE *file = fopen(path, "re");
    bool found = false;

    if (!file) {
        output_error("can not read %s: %s", path, strerror(errno));
        return EXIT_LOCAL;
    }
    while (!found && fgets(password->line, sizeof(password->line), file)) {
        found = fits(password, user);
    }
    fclose(file);
    if (!found) {
        password_forget(password);
        output_error("%s holds no password%s%s", path, user ? " of " : "", user ? user : "");
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

void password_forget(struct password *password)
{
    explicit_bzero(password, sizeof(*password));
}
