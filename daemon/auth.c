#include "auth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limit.h"

#define FILE_BYTES 65536
#define CREDENTIALS 256
#define USER_BYTES LIMIT_NAME_BYTES
#define PASSWORD_BYTES LIMIT_OPEN_BULK_BYTES /* a longer one could not be sent */

/* Padded with zeros, so that a comparison takes the same time whatever is compared. */
struct credential {
    uint32_t user_len, password_len;
    uint8_t user[USER_BYTES];
    uint8_t password[PASSWORD_BYTES];
};

struct auth {
    size_t count;
    struct credential credentials[CREDENTIALS];
};

static const char default_user[] = "default";

static void fill(struct credential *credential, const char *user, size_t user_len,
                 const char *password, size_t password_len)
{
    memset(credential, 0, sizeof(*credential));
    credential->user_len = (uint32_t)user_len;
    credential->password_len = (uint32_t)password_len;
    memcpy(credential->user, user, user_len);
    memcpy(credential->password, password, password_len);
}

/* NULL, or why the line is none. */
static const char *add_line(struct auth *auth, const char *line, size_t len)
{
    const char *user = default_user, *password = line;
    size_t user_len = sizeof(default_user) - 1, password_len = len;
    const char *colon = memchr(line, ':', len);
    if (colon) {
        user = line;
        user_len = (size_t)(colon - line);
        password = colon + 1;
        password_len = len - user_len - 1;
    }
    if (memchr(line, '\0', len))
        return "NUL byte";
    if (user_len == 0 || user_len > USER_BYTES)
        return "a user name has 1 to 255 bytes";
    if (password_len == 0 || password_len > PASSWORD_BYTES)
        return "a password has 1 to 1024 bytes";
    if (auth->count == CREDENTIALS)
        return "more than 256 passwords";
    fill(&auth->credentials[auth->count++], user, user_len, password, password_len);
    return NULL;
}

/* 0, or -1 with `why` filled. */
static int add_text(struct auth *auth, const char *text, size_t len, const char *path, char *why,
                    size_t why_bytes)
{
    const char *end = text + len;
    for (size_t number = 1; text < end; number++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        size_t size = (size_t)(stop - text);
        if (size > 0 && text[size - 1] == '\r')
            size--;
        const char *reason = size == 0 || text[0] == '#' ? NULL : add_line(auth, text, size);
        if (reason) {
            snprintf(why, why_bytes, "%s:%zu: %s", path, number, reason);
            return -1;
        }
        text = newline ? newline + 1 : end;
    }
    if (auth->count > 0)
        return 0;
    snprintf(why, why_bytes, "%s: no password in it", path);
    return -1;
}

/* NULL, or why the file is not to be trusted. */
static const char *check_file(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return strerror(errno);
    if (!S_ISREG(status.st_mode))
        return "not a regular file";
    if (status.st_mode & (S_IWGRP | S_IRWXO))
        return "others than its owner can write it, or all can read it: chmod 640";
    if (status.st_size > FILE_BYTES)
        return "longer than 64 KiB";
    return NULL;
}

/* Read the whole file into text[0..FILE_BYTES]; one byte more than allowed tells that it grew. */
static const char *read_file(int fd, char *text, size_t *len)
{
    size_t used = 0;
    for (;;) {
        ssize_t got = read(fd, text + used, FILE_BYTES + 1 - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return strerror(errno);
        used += (size_t)got;
        if (used > FILE_BYTES)
            return "longer than 64 KiB";
        if (got == 0)
            break;
    }
    *len = used;
    return NULL;
}

int auth_load(const char *path, struct auth **auth, char *why, size_t why_bytes)
{
    int result = -1;
    size_t len = 0;
    int fd = -1;
    const char *reason;
    char *text = malloc(FILE_BYTES + 1);
    struct auth *loaded = calloc(1, sizeof(*loaded));
    if (!text || !loaded)
        reason = "no memory";
    /* O_NONBLOCK: a FIFO is to be refused, not waited for. */
    else if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
        reason = strerror(errno);
    else
        reason = check_file(fd);
    if (!reason)
        reason = read_file(fd, text, &len);
    if (reason)
        snprintf(why, why_bytes, "%s: %s", path, reason);
    else
        result = add_text(loaded, text, len, path, why, why_bytes);

    if (fd >= 0)
        close(fd);
    if (text)
        explicit_bzero(text, FILE_BYTES + 1);
    free(text);
    if (result == 0)
        *auth = loaded;
    else
        auth_destroy(loaded);
    return result;
}

void auth_destroy(struct auth *auth)
{
    if (auth)
        explicit_bzero(auth, sizeof(*auth));
    free(auth);
}

/* 1 where they are the same, else 0; looks at every byte in any case. */
static unsigned same(const struct credential *a, const struct credential *b)
{
    const uint8_t *left = (const uint8_t *)a, *right = (const uint8_t *)b;
    unsigned difference = 0;
    for (size_t i = 0; i < sizeof(*a); i++)
        difference |= left[i] ^ right[i];
    return 1 & ((difference - 1) >> 8);
}

bool auth_check(const struct auth *auth, const char *user, size_t user_len, const char *password,
                size_t password_len)
{
    if (!user) {
        user = default_user;
        user_len = sizeof(default_user) - 1;
    }
    if (user_len > USER_BYTES || password_len > PASSWORD_BYTES)
        return false;
    struct credential presented;
    fill(&presented, user, user_len, password, password_len);
    unsigned found = 0;
    for (size_t i = 0; i < auth->count; i++)
        found |= same(&auth->credentials[i], &presented);
    explicit_bzero(&presented, sizeof(presented));
    return found != 0;
}
