#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth.h"
#include "suite.h"

static char path[32];
static int file;
static struct auth *auth;
static char why[256];

static void start(void)
{
    umask(077);
    snprintf(path, sizeof(path), "/tmp/idmint-test-auth-XXXXXX");
    file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    auth = NULL;
    why[0] = '\0';
}

static void finish(void)
{
    auth_destroy(auth);
    close(file);
    unlink(path);
}

static int load(const char *text, size_t len)
{
    ck_assert_int_eq(ftruncate(file, 0), 0);
    ck_assert_int_eq(pwrite(file, text, len, 0), (ssize_t)len);
    return auth_load(path, &auth, why, sizeof(why));
}

static void loads(const char *text)
{
    int result = load(text, strlen(text));
    ck_assert_msg(result == 0, "%s", why);
}

/* `expected` follows the path. */
static void refuses(const char *text, size_t len, const char *expected)
{
    ck_assert_int_eq(load(text, len), -1);
    ck_assert_ptr_null(auth);
    ck_assert_int_eq(strncmp(why, path, strlen(path)), 0);
    ck_assert_str_eq(why + strlen(path), expected);
}

static bool check(const char *user, const char *password)
{
    return auth_check(auth, user, user ? strlen(user) : 0, password, strlen(password));
}

START_TEST(lone_password)
{
    loads("secret\n");
    ck_assert(check(NULL, "secret"));
    ck_assert(check("default", "secret"));
    ck_assert(!check("other", "secret"));
    ck_assert(!check("", "secret"));
    ck_assert(!check(NULL, ""));
    ck_assert(!check(NULL, "secre"));
    ck_assert(!check(NULL, "secrets"));
    ck_assert(!check(NULL, "secret\n"));
    ck_assert(!check(NULL, "Secret"));
    ck_assert(!check(NULL, "secreT"));
}
END_TEST

START_TEST(users)
{
    loads("# who may\r\n\r\nann:one:two\r\nbob:b \n\nann:new\nlast");
    ck_assert(check("ann", "one:two"));
    ck_assert(check("ann", "new"));
    ck_assert(check("bob", "b "));
    ck_assert(check(NULL, "last"));
    ck_assert(!check("bob", "b"));
    ck_assert(!check("bob", "new"));
    ck_assert(!check("ann", "one"));
    ck_assert(!check(NULL, "new"));
    ck_assert(!check("# who may", ""));
}
END_TEST

/* Padding must not make a shorter text equal to a longer one. */
START_TEST(zeros_count)
{
    loads("pw\n");
    ck_assert(!auth_check(auth, NULL, 0, "pw\0", 3));
    ck_assert(!auth_check(auth, "default\0", 8, "pw", 2));
    ck_assert(auth_check(auth, "default", 7, "pw", 2));
}
END_TEST

START_TEST(longest)
{
    char text[1300], password[1025];
    memset(password, 'p', sizeof(password));
    password[1024] = '\0';
    snprintf(text, sizeof(text), "%.255s:%s\n", password, password);
    loads(text);
    ck_assert(auth_check(auth, password, 255, password, 1024));
    ck_assert(!auth_check(auth, password, 255, password, 1023));
    ck_assert(!auth_check(auth, password, 256, password, 1024));
    password[1024] = 'p';
    ck_assert(!auth_check(auth, password, 255, password, 1025));
}
END_TEST

START_TEST(bad_lines)
{
    refuses("", 0, ": no password in it");
    refuses("# nothing\n\n", 11, ": no password in it");
    refuses("a\n:b\n", 5, ":2: a user name has 1 to 255 bytes");
    refuses("a\n\nb:\n", 6, ":3: a password has 1 to 1024 bytes");
    refuses("a\0b\n", 4, ":1: NUL byte");
}
END_TEST

START_TEST(permissions)
{
    loads("x\n");
    static const mode_t good[] = {0400, 0600, 0440, 0640};
    static const mode_t bad[] = {0644, 0604, 0660, 0620, 0602, 0601, 0666};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        auth_destroy(auth);
        auth = NULL;
        ck_assert_int_eq(fchmod(file, good[i]), 0);
        loads("x\n");
    }
    auth_destroy(auth);
    auth = NULL;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(fchmod(file, bad[i]), 0);
        refuses("x\n", 2, ": others than its owner can write it, or all can read it: chmod 640");
    }
}
END_TEST

START_TEST(not_files)
{
    ck_assert_int_eq(auth_load("/tmp/idmint-nonexistent", &auth, why, sizeof(why)), -1);
    ck_assert_str_eq(why, "/tmp/idmint-nonexistent: No such file or directory");
    ck_assert_int_eq(auth_load("/", &auth, why, sizeof(why)), -1);
    ck_assert_str_eq(why, "/: not a regular file");
    /* Must not wait for a writer. */
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(auth_load(path, &auth, why, sizeof(why)), -1);
    ck_assert_str_eq(why + strlen(path), ": not a regular file");
    ck_assert_ptr_null(auth);
}
END_TEST

START_TEST(sizes)
{
    static char text[65537];
    size_t used = 0;
    for (int i = 0; i < 256; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "user%d:%d\n", i, i);
    loads(text);
    ck_assert(check("user0", "0"));
    ck_assert(check("user255", "255"));
    ck_assert(!check("user255", "254"));
    auth_destroy(auth);
    auth = NULL;
    snprintf(text + used, sizeof(text) - used, "x\n");
    refuses(text, used + 2, ":257: more than 256 passwords");

    memset(text, '\n', sizeof(text));
    text[0] = 'x';
    refuses(text, 65537, ": longer than 64 KiB");
    ck_assert_int_eq(load(text, 65536), 0);
}
END_TEST

/* Whatever is wrong with a line, its text is not told. */
START_TEST(why_tells_no_password)
{
    static char text[1500];
    memset(text, 'S', sizeof(text) - 1);
    memcpy(text, "SECRET", 6);
    refuses(text, strlen(text), ":1: a password has 1 to 1024 bytes");
    refuses(":SECRET", 7, ":1: a user name has 1 to 255 bytes");
    ck_assert_ptr_null(strstr(why, "SECRET"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("auth");
    TCase *tcase = tcase_create("auth");
    tcase_add_checked_fixture(tcase, start, finish);
    tcase_add_test(tcase, lone_password);
    tcase_add_test(tcase, users);
    tcase_add_test(tcase, zeros_count);
    tcase_add_test(tcase, longest);
    tcase_add_test(tcase, bad_lines);
    tcase_add_test(tcase, permissions);
    tcase_add_test(tcase, not_files);
    tcase_add_test(tcase, sizes);
    tcase_add_test(tcase, why_tells_no_password);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
