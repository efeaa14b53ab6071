/* SPDX-License-Identifier: BSD-3-Clause */
/* What mprund takes for a request, and how much one user may ask. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/loop.h"
#include "containment/mprund-protocol.h"
#include "node-daemon/front/quota.h"
#include "node-daemon/supervisor/lock.h"

static struct grant_request request(enum grant_op op)
{
    struct grant_request r;
    grant_request_init(&r, op, op == GRANT_ENTER ? GRANT_SITE : GRANT_ANY);
    return r;
}

static void only_a_whole_request_is_one(void **state)
{
    struct grant_request r = request(GRANT_PLACE);
    assert_null(grant_request_fault(&r, sizeof(r)));
    assert_non_null(grant_request_fault(&r, sizeof(r) - 1));
    assert_non_null(grant_request_fault(&r, sizeof(r) + 1));
    assert_non_null(grant_request_fault(&r, 0));
    r.magic++;
    assert_non_null(grant_request_fault(&r, sizeof(r)));
    r = request(GRANT_PLACE);
    r.version++;
    assert_non_null(grant_request_fault(&r, sizeof(r)));
    r = request(GRANT_PLACE);
    r.op = 0;
    assert_non_null(grant_request_fault(&r, sizeof(r)));
    r.op = GRANT_SUSPENDED + 1;
    assert_non_null(grant_request_fault(&r, sizeof(r)));
    r = request(GRANT_ENTER);
    r.manager = GRANT_GRIDENGINE + 1;
    assert_non_null(grant_request_fault(&r, sizeof(r)));
}

static void who_asks_for_a_place_says_nothing_else(void **state)
{
    static const size_t members[] = {
        offsetof(struct grant_request, manager), offsetof(struct grant_request, uid),
        offsetof(struct grant_request, memory),  offsetof(struct grant_request, pids),
        offsetof(struct grant_request, cores),   offsetof(struct grant_request, gpus),
        offsetof(struct grant_request, job),     offsetof(struct grant_request, task)};
    struct grant_request r;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        r = request(GRANT_PLACE);
        ((char *)&r)[members[i]] = 1;
        assert_non_null(grant_request_fault(&r, sizeof(r)));
    }
    r = request(GRANT_TOKEN);
    r.job[0] = '1';
    assert_non_null(grant_request_fault(&r, sizeof(r)));
    r = request(GRANT_STATUS);
    r.memory = 1;
    assert_non_null(grant_request_fault(&r, sizeof(r)));
}

static void only_a_request_to_bind_binds(void **state)
{
    struct grant_request r = request(GRANT_BIND);
    r.job[0] = '1';
    r.cores = 2;
    r.virtual_memory = 1;
    r.bind = GRANT_BIND_TRY;
    assert_null(grant_request_fault(&r, sizeof(r)));
    r.bind++;
    assert_non_null(grant_request_fault(&r, sizeof(r)));
    for (unsigned op = GRANT_PLACE; op < GRANT_BIND; op++) {
        r = request((enum grant_op)op);
        r.bind = GRANT_BIND_HAVE;
        assert_non_null(grant_request_fault(&r, sizeof(r)));
        r.bind = 0;
        r.virtual_memory = 1;
        assert_non_null(grant_request_fault(&r, sizeof(r)));
    }
}

static void only_a_request_of_devices_names_a_cgroup(void **state)
{
    struct grant_request r = request(GRANT_DEVICES);
    assert_non_null(grant_request_fault(&r, sizeof(r)));
    strcpy(r.cgroup, "mprun.x-0/ranks/0.0.0");
    strcpy(r.ids, "0,1");
    assert_null(grant_request_fault(&r, sizeof(r)));
    strcpy(r.cpus, "0-3");
    assert_non_null(grant_request_fault(&r, sizeof(r)));
    r.op = GRANT_SUSPENDED; /* which names hardware threads, too */
    assert_null(grant_request_fault(&r, sizeof(r)));
    memset(r.cpus, '1', sizeof(r.cpus));
    assert_non_null(grant_request_fault(&r, sizeof(r)));
    memset(r.cpus, 0, sizeof(r.cpus));
    r.ids[sizeof(r.ids) - 1] = 'x';
    assert_non_null(grant_request_fault(&r, sizeof(r)));
    memset(r.ids, 0, sizeof(r.ids));
    memset(r.cgroup, 'x', sizeof(r.cgroup));
    assert_non_null(grant_request_fault(&r, sizeof(r)));
    for (unsigned op = GRANT_PLACE; op < GRANT_DEVICES; op++) {
        r = request((enum grant_op)op);
        strcpy(r.cgroup, "x");
        assert_non_null(grant_request_fault(&r, sizeof(r)));
        r = request((enum grant_op)op);
        strcpy(r.ids, "0");
        assert_non_null(grant_request_fault(&r, sizeof(r)));
    }
}

static void text_ends_within_its_field(void **state)
{
    struct grant_request r = request(GRANT_ENTER);
    memset(r.job, 'a', sizeof(r.job));
    assert_non_null(grant_request_fault(&r, sizeof(r)));
    r.job[sizeof(r.job) - 1] = 0;
    assert_null(grant_request_fault(&r, sizeof(r)));
    r.job[3] = 0; /* and something behind its end */
    assert_non_null(grant_request_fault(&r, sizeof(r)));
}

static void names_of_jobs_make_no_paths(void **state)
{
    static const char *const good[] = {"1", "23.1", "a_b.c",
                                       "0123456789012345678901234567890123456789"};
    static const char *const bad[] = {
        "",    ".",   "..",  ".a",      "_a",       "a/b",
        "a-b", "a b", "a\n", "../../x", "\xc3\xa4", "01234567890123456789012345678901234567890"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(grant_is_job_name(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (grant_is_job_name(bad[i]))
            fail_msg("'%s'", bad[i]);
}

static void a_user_has_a_rate_and_a_number_of_connections(void **state)
{
    struct quota *q = calloc(1, sizeof(*q));
    for (int i = 0; i < 10; i++) { /* a second's worth at once */
        assert_true(quota_enter(q, 1000, 100, 8, 10));
        quota_leave(q, 1000);
    }
    assert_false(quota_enter(q, 1000, 100, 8, 10));
    assert_true(quota_enter(q, 1001, 100, 8, 10)); /* another one's is its own */
    assert_true(quota_enter(q, 1000, 100.11, 8, 10));
    assert_false(quota_enter(q, 1000, 100.11, 8, 10));
    for (int i = 0; i < 8; i++)
        quota_enter(q, 1002, 100, 8, 100);
    assert_false(quota_enter(q, 1002, 100, 8, 100));
    quota_leave(q, 1002);
    assert_true(quota_enter(q, 1002, 100, 8, 100));
    quota_charge(q, 1001, 0, true); /* a refusal costs more */
    quota_charge(q, 1001, 0, true);
    quota_charge(q, 1001, 0, true);
    assert_false(quota_enter(q, 1001, 100, 8, 10));
    free(q);
}

static void many_users_do_not_push_out_who_is_connected(void **state)
{
    struct quota *q = calloc(1, sizeof(*q));
    for (unsigned i = 0; i < QUOTA_USERS; i++)
        assert_true(quota_enter(q, 1 + i, 100, 8, 10));
    assert_false(quota_enter(q, 5000, 100, 8, 10)); /* all places are held */
    assert_true(quota_enter(q, 0, 100, 8, 10));     /* root is always let in */
    quota_leave(q, 77);
    assert_true(quota_enter(q, 5000, 101, 8, 10));
    assert_false(quota_enter(q, 77, 101, 8, 10));
    free(q);
}

static int listen_at(const struct sockaddr_un *at)
{
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)at, sizeof(*at)), 0);
    assert_int_equal(listen(listener, 1), 0);
    return listener;
}

static struct sockaddr_un address(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof(at.sun_path), "/tmp/test-mprund-protocol.%d", (int)getpid());
    return at;
}

static void what_answers_must_be_roots(void **state)
{
    struct sockaddr_un at = address();
    struct grant_request r = request(GRANT_STATUS);
    struct error e;
    bool was_root = seteuid(1001) == 0; /* the kernel notes who listens */
    int listener = listen_at(&at);
    if (was_root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(grant_send(at.sun_path, &r, &e), -1);
    assert_non_null(strstr(e.text, "what answers there is not root's"));
    unlink(at.sun_path);
    close(listener);
}

static void touch_lock(const char *path, char lock[128])
{
    snprintf(lock, 128, "%s" GRANT_LOCK, path);
    close(open(lock, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    (void)utimensat(AT_FDCWD, lock, NULL, 0);
}

/* It was asked so many seconds ago, and gave a sign of life so many seconds ago. */
static double patience(int fd, const char *lock, double asked, int sign, struct error *err)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - sign}};
    if (sign == 0)
        times[1].tv_nsec = UTIME_NOW;
    assert_int_equal(utimensat(AT_FDCWD, lock, times, 0), 0);
    return grant_patience(fd, loop_now() - asked, 5, err);
}

static void a_daemon_without_a_sign_of_life_is_not_waited_for(void **state)
{
    struct sockaddr_un at = address();
    struct error e;
    char lock[128];
    touch_lock(at.sun_path, lock);
    int listener = listen_at(&at), fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_true(patience(fd, lock, 0, 0, &e) > GRANT_LEAST_S);
    assert_true(patience(fd, lock, 3, 0, &e) > GRANT_LEAST_S); /* it lives, and is slow */
    assert_true(patience(fd, lock, 6, 0, &e) == 0 && e.code == EAGAIN);
    double least = patience(fd, lock, 0, 10, &e);
    assert_true(least > 0 && least <= GRANT_LEAST_S);
    assert_true(patience(fd, lock, 3, 10, &e) == 0 && e.code == ETIMEDOUT);
    assert_true(patience(fd, lock, 3, -3600, &e) == 0 && e.code == ETIMEDOUT);
    /* every user can touch the socket: that is no sign */
    assert_int_equal(utimensat(AT_FDCWD, at.sun_path, NULL, 0), 0);
    assert_true(grant_patience(fd, loop_now() - 3, 5, &e) == 0 && e.code == ETIMEDOUT);
    unlink(lock);
    unlink(at.sun_path);
    close(fd);
    close(listener);
}

/* A daemon that turns everybody away at once, often before the request was sent. */
static void turn_away(int listener, const char *path, int n)
{
    struct grant_answer a = {
        .magic = GRANT_MAGIC, .version = GRANT_VERSION, .result = GRANT_BUSY, .text = "later"};
    char lock[128];
    while (n-- > 0) {
        int fd = accept(listener, NULL, NULL);
        touch_lock(path, lock);
        (void)send(fd, &a, sizeof(a), MSG_NOSIGNAL);
        close(fd);
    }
    _exit(0);
}

static void who_is_turned_away_hears_why(void **state)
{
    enum { TIMES = 500 };
    struct sockaddr_un at = address();
    struct grant_request q;
    struct grant_answer a;
    struct error e = {0};
    if (geteuid() != 0) /* a daemon is root's */
        skip();
    int listener = listen_at(&at);
    pid_t daemon = fork();
    if (daemon == 0)
        turn_away(listener, at.sun_path, TIMES);
    grant_request_init(&q, GRANT_PLACE, GRANT_ANY);
    int heard = 0;
    for (int i = 0; i < TIMES; i++) {
        int fd = grant_send(at.sun_path, &q, &e);
        heard += fd >= 0 && grant_receive(fd, 20, &a, &e) == 0 && a.result == GRANT_BUSY;
        close(fd);
    }
    kill(daemon, SIGKILL);
    waitpid(daemon, NULL, 0);
    unlink(strcat(at.sun_path, GRANT_LOCK));
    unlink(address().sun_path);
    close(listener);
    assert_string_equal(e.text, "");
    assert_int_equal(heard, TIMES);
}

/* Another mprund, that waits for the lock: 0 if it never gets it. */
static void want_lock(const char *path, int go)
{
    struct error e;
    struct pollfd end = {.fd = go, .events = POLLIN};
    int fd = -1;
    while (poll(&end, 1, 0) == 0)
        if (lock_take(path, &fd, &e) == 0)
            _exit(1);
    _exit(0);
}

static void the_lock_is_never_free_while_it_is_taken_anew(void **state)
{
    char dir[] = "/tmp/test-mprund-lock.XXXXXX", path[64], lock[80];
    int go[2], fd = -1, status;
    struct error e;
    struct stat before, after;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/socket", dir);
    snprintf(lock, sizeof(lock), "%s" GRANT_LOCK, path);
    assert_int_equal(lock_take(path, &fd, &e), 0);
    assert_int_equal(pipe(go), 0);
    pid_t other = fork();
    if (other == 0) {
        close(go[1]);
        want_lock(path, go[0]);
    }
    for (int i = 0; i < 20000; i++)
        assert_int_equal(lock_take(path, &fd, &e), 0);
    /* one whose file is gone is another one */
    assert_int_equal(fstat(fd, &before), 0);
    close(go[1]);
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    assert_int_equal(rename(lock, path), 0);
    assert_int_equal(lock_take(path, &fd, &e), 0);
    assert_int_equal(fstat(fd, &after), 0);
    assert_int_not_equal(before.st_ino, after.st_ino);
    close(fd);
    close(go[0]);
    unlink(path);
    unlink(lock);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_whole_request_is_one),
        cmocka_unit_test(who_asks_for_a_place_says_nothing_else),
        cmocka_unit_test(only_a_request_to_bind_binds),
        cmocka_unit_test(only_a_request_of_devices_names_a_cgroup),
        cmocka_unit_test(text_ends_within_its_field),
        cmocka_unit_test(names_of_jobs_make_no_paths),
        cmocka_unit_test(what_answers_must_be_roots),
        cmocka_unit_test(a_user_has_a_rate_and_a_number_of_connections),
        cmocka_unit_test(many_users_do_not_push_out_who_is_connected),
        cmocka_unit_test(a_daemon_without_a_sign_of_life_is_not_waited_for),
        cmocka_unit_test(who_is_turned_away_hears_why),
        cmocka_unit_test(the_lock_is_never_free_while_it_is_taken_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
