#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "notify.h"
#include "suite.h"

/* A manager's socket at `address`; the name that the kernel gave an abstract one is filled in. */
static int listen_at(struct sockaddr_un *address, socklen_t *len)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)address, *len), 0);
    *len = sizeof(*address);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)address, len), 0);
    return fd;
}

static void receives(int fd, const char *expected)
{
    char state[64];
    ssize_t got = recv(fd, state, sizeof(state) - 1, 0);
    ck_assert_int_ge(got, 0);
    state[got] = '\0';
    ck_assert_str_eq(state, expected);
}

START_TEST(abstract_name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(sa_family_t);
    int fd = listen_at(&address, &len);
    char name[sizeof(address.sun_path)];
    size_t name_len = len - offsetof(struct sockaddr_un, sun_path);
    memcpy(name, address.sun_path, name_len);
    name[0] = '@';
    name[name_len] = '\0';
    setenv("NOTIFY_SOCKET", name, 1);
    notify_send("READY=1");
    notify_send("STOPPING=1");
    receives(fd, "READY=1");
    receives(fd, "STOPPING=1");
    close(fd);
}
END_TEST

START_TEST(path)
{
    char folder[] = "/tmp/idmint-test-notify-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
    socklen_t len = sizeof(address);
    int fd = listen_at(&address, &len);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    notify_send("WATCHDOG=1");
    unlink(address.sun_path);
    rmdir(folder);
    receives(fd, "WATCHDOG=1");
    notify_send("READY=1"); /* nobody is there any more */
    close(fd);
}
END_TEST

START_TEST(nowhere)
{
    char longest[200];
    memset(longest, '/', sizeof(longest));
    longest[199] = '\0';
    const char *const names[] = {"", "@", "relative", longest};
    unsetenv("NOTIFY_SOCKET");
    notify_send("READY=1");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        setenv("NOTIFY_SOCKET", names[i], 1);
        notify_send("READY=1");
    }
}
END_TEST

START_TEST(watchdog)
{
    char pid[32];
    snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    unsetenv("WATCHDOG_PID");
    unsetenv("WATCHDOG_USEC");
    ck_assert_int_eq(notify_watchdog_ms(), 0);
    setenv("WATCHDOG_USEC", "30000000", 1);
    ck_assert_int_eq(notify_watchdog_ms(), 15000);
    setenv("WATCHDOG_PID", pid, 1);
    ck_assert_int_eq(notify_watchdog_ms(), 15000);
    setenv("WATCHDOG_PID", "1", 1);
    ck_assert_int_eq(notify_watchdog_ms(), 0);
    setenv("WATCHDOG_PID", pid, 1);
    static const char *const bad[] = {"", "x", "-1", "0", "1999", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        setenv("WATCHDOG_USEC", bad[i], 1);
        ck_assert_int_eq(notify_watchdog_ms(), 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("notify");
    TCase *tcase = tcase_create("notify");
    tcase_add_test(tcase, abstract_name);
    tcase_add_test(tcase, path);
    tcase_add_test(tcase, nowhere);
    tcase_add_test(tcase, watchdog);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
