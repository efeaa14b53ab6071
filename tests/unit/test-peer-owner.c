/* SPDX-License-Identifier: BSD-3-Clause */
/* test-peer-owner.c - connections of this user and of another one, open ones and closed ones, asked
 * of the real kernel in both ways */
#include "pmix-server/pmix/peer-owner.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"

enum { NOBODY = 65534 };

static struct {
    const char *name;
    int (*ask)(int fd, uid_t *ret);
} ways[] = {
    {"sock_diag", peer_owner_by_diag}, {"/proc/net", peer_owner_by_proc}, {"either", peer_owner}};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* May the kernel be asked so? Its module may be missing. */
static int is_there(int error)
{
    return error == 0 || error == ENOENT;
}

static int listen_at(int family, struct sockaddr_storage *ret, socklen_t *n)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = family == AF_INET ? bind(fd, (struct sockaddr *)&in, sizeof(in))
                               : bind(fd, (struct sockaddr *)&in6, sizeof(in6));
    *n = sizeof(*ret);
    if (fd < 0 || rc < 0)
        return -1;
    assert_int_equal(listen(fd, 5), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)ret, n), 0);
    return fd;
}

/* A process of that user connects, and then closes or waits to be killed. */
static pid_t connect_as(uid_t uid, const struct sockaddr_storage *to, socklen_t n, int closes)
{
    pid_t pid = fork();
    assert_int_not_equal(pid, -1);
    if (pid > 0)
        return pid;
    if (uid != geteuid() && setuid(uid) < 0)
        _exit(1);
    int fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)to, n) < 0)
        _exit(1);
    if (closes)
        _exit(write(fd, "bytes", 5) == 5 ? 0 : 1);
    for (;;)
        pause();
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void owner_is(int family, uid_t uid)
{
    struct sockaddr_storage at;
    socklen_t n;
    AUTO_CLOSE int listener = listen_at(family, &at, &n);
    if (listener < 0) {
        assert_int_equal(family, AF_INET6); /* not every machine has it */
        skip();
    }
    pid_t pid = connect_as(uid, &at, n, 0);
    AUTO_CLOSE int fd = accept(listener, NULL, NULL);
    int asked = 0;
    assert_true(fd >= 0);
    for (int i = 0; i < WAYS; i++) {
        uid_t got = (uid_t)-1;
        int rc = ways[i].ask(fd, &got);
        if (rc < 0 && !is_there(errno))
            continue;
        asked++;
        if (rc < 0 || got != uid)
            fail_msg("%s: %d, user %d instead of %d", ways[i].name, rc, (int)got, (int)uid);
    }
    assert_true(asked >= 2); /* /proc and either */
    end(pid);
}

static void own(void **state)
{
    owner_is(AF_INET, geteuid());
}

static void own_by_ip6(void **state)
{
    owner_is(AF_INET6, geteuid());
}

static void another_user(void **state)
{
    if (geteuid() != 0)
        skip();
    owner_is(AF_INET, NOBODY);
    owner_is(AF_INET6, NOBODY);
}

/* What the kernel keeps of a socket that was closed says user 0. */
static void closed(void **state)
{
    struct sockaddr_storage at;
    socklen_t n;
    int status;
    uid_t uid;
    AUTO_CLOSE int listener = listen_at(AF_INET, &at, &n);
    assert_true(listener >= 0);
    pid_t pid = connect_as(geteuid(), &at, n, 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    AUTO_CLOSE int fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    for (int i = 0; i < WAYS; i++) {
        assert_int_equal(ways[i].ask(fd, &uid), -1);
        assert_true(errno == ENOENT || !is_there(errno));
    }
    assert_int_equal(errno, ENOENT); /* of either */
}

static void no_connection(void **state)
{
    uid_t uid;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    for (int i = 0; i < WAYS; i++) {
        assert_int_equal(ways[i].ask(pair[0], &uid), -1);
        assert_int_equal(errno, EAFNOSUPPORT);
        assert_int_equal(ways[i].ask(-1, &uid), -1);
        assert_int_equal(errno, EBADF);
    }
    close(pair[0]);
    close(pair[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own),    cmocka_unit_test(own_by_ip6),    cmocka_unit_test(another_user),
        cmocka_unit_test(closed), cmocka_unit_test(no_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
