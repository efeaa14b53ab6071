/* SPDX-License-Identifier: BSD-3-Clause */
/* grant-probe - asks mprund what mprun asks, and what nobody should
 *
 *   grant-probe place [COMMAND...]  ask for a place; prints "RESULT V2 TEXT", then becomes COMMAND
 *   grant-probe token               ask for grants: a line "HOST TOKEN" for each, HOST "-" for any
 *   grant-probe enter JOB UID       ask to be put into a job
 *   grant-probe claim JOB           ask for a place, and say in which job
 *   grant-probe devices CGROUP IDS  hold a cgroup of the user's to these GPUs
 *   grant-probe raw BYTES           send that many bytes of nonsense
 *   grant-probe version             send a request of a later version
 *   grant-probe silent N            N connections that ask nothing: prints how many were let in,
 *                                   and ends when the other end has closed the last one
 *   grant-probe hold N FILE         as silent, but writes its pid to FILE when they are open, and
 *                                   stays
 *   grant-probe late FRONT          as root: connect, and ask while FRONT, a process, is stopped
 * for longer than it gives a connection to ask grant-probe full N UID OTHER    as root: while UID
 * has N connections OTHER asks, then root grant-probe flood N             N requests for a place:
 * prints how many had which result grant-probe deaf N FILE         N requests for the status whose
 * answers are not read; writes its pid to FILE, and stays grant-probe gone N              N
 * connections, with a request or without, that are closed before the answer grant-probe storm
 * THREADS UID USERS FILE  as root: connect and ask as often as can be, from THREADS threads of low
 * priority of the users UID, UID+1, ...; writes its pid to FILE, and stays grant-probe latency N
 * how long N requests for the status take grant-probe load N              a request with N
 * descriptors grant-probe linger FILE         hand over, with a request behind three others, the
 * only descriptor of a TCP socket whose close lingers; writes FILE, and stays grant-probe reuse
 * PID-FILE ask with the socket of a process that has ended, while another one has its number, which
 * is written to PID-FILE
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/loop.h"
#include "containment/mprund-protocol.h"

static const char *const results[] = {"ok", "more", "refused", "inside", "busy", "bad", "failed"};
enum { RESULTS = sizeof(results) / sizeof(results[0]), WAIT_S = 20, PACKET_MAX = 100000 };

static void die(const char *what)
{
    fprintf(stderr, "grant-probe: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int dial(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = GRANT_SOCKET};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        die("connect to " GRANT_SOCKET);
    return fd;
}

/* Prints the answer: its result, or -1 for a connection that was closed. */
static int hear(int fd)
{
    struct grant_answer a;
    struct error e;
    if (grant_receive(fd, WAIT_S, &a, &e) < 0) {
        printf("closed (%s)\n", e.text);
        return -1;
    }
    printf("%s %s %s\n", a.result < RESULTS ? results[a.result] : "?", a.v2, a.text);
    return a.result;
}

static int ask(const struct grant_request *q)
{
    int fd = dial();
    if (send(fd, q, sizeof(*q), MSG_NOSIGNAL) < 0 && errno != EPIPE)
        die("send");
    int result = hear(fd);
    close(fd);
    return result;
}

static int place(char **command)
{
    struct grant_request q;
    grant_request_init(&q, GRANT_PLACE, GRANT_ANY);
    int result = ask(&q);
    fflush(stdout);
    if (!command[0])
        return result != GRANT_OK;
    execvp(command[0], command);
    die(command[0]);
    return 1;
}

static int token(void)
{
    struct grant_request q;
    struct grant_answer a;
    struct error e;
    grant_request_init(&q, GRANT_TOKEN, GRANT_ANY);
    int fd = dial();
    if (send(fd, &q, sizeof(q), MSG_NOSIGNAL) < 0)
        die("send");
    do {
        if (grant_receive(fd, WAIT_S, &a, &e) < 0)
            return fprintf(stderr, "closed (%s)\n", e.text), 1;
        if (a.token[0])
            printf("%s %s\n", a.host[0] ? a.host : "-", a.token);
        else
            printf("%s %s\n", a.result < RESULTS ? results[a.result] : "?", a.text);
    } while (a.result == GRANT_MORE);
    close(fd);
    return a.result != GRANT_OK;
}

static int raw(size_t n)
{
    static char packet[PACKET_MAX];
    memset(packet, 0x5a, sizeof(packet));
    int fd = dial();
    if (n > sizeof(packet) || send(fd, packet, n, MSG_NOSIGNAL) < 0)
        die("send");
    return hear(fd) == GRANT_OK;
}

/* Who reads the file finds it whole or not at all. */
static void tell_pid(const char *file)
{
    char aside[4096];
    snprintf(aside, sizeof(aside), "%s.new", file);
    FILE *f = fopen(aside, "w");
    if (!f || fprintf(f, "%d\n", (int)getpid()) < 0 || fclose(f) != 0 || rename(aside, file) < 0)
        die(file);
}

static int silent(int n, const char *file)
{
    int *fds = calloc((size_t)n, sizeof(int)), in = 0;
    struct grant_answer a;
    for (int i = 0; i < n; i++)
        fds[i] = dial();
    if (file)
        tell_pid(file);
    while (file)
        pause();
    for (int i = 0; i < n; i++) { /* who is not let in is told so */
        struct pollfd p = {.fd = fds[i], .events = POLLIN};
        if (poll(&p, 1, WAIT_S * 1000) != 1)
            return 1;
        in += recv(fds[i], &a, sizeof(a), 0) == 0;
        close(fds[i]);
    }
    printf("%d let in\n", in);
    free(fds);
    return 0;
}

static int late(pid_t front)
{
    struct grant_request q;
    int fd = dial();
    grant_request_init(&q, GRANT_STATUS, GRANT_ANY);
    usleep(300000); /* it has accepted it by then; if not, the test is the same */
    if (kill(front, SIGSTOP) < 0 || send(fd, &q, sizeof(q), MSG_NOSIGNAL) < 0)
        die("ask");
    usleep(1500000);
    (void)kill(front, SIGCONT);
    return hear(fd) != GRANT_OK;
}

/* As root: while a user holds N connections another one asks, and then root itself. */
static int full(int n, uid_t user, uid_t other)
{
    struct grant_request q;
    int *fds = calloc((size_t)n, sizeof(int));
    grant_request_init(&q, GRANT_STATUS, GRANT_ANY);
    for (int i = 0; i < n; i++) {
        if (seteuid(user) < 0)
            die("seteuid");
        fds[i] = dial();
        if (seteuid(0) < 0)
            die("seteuid");
    }
    if (seteuid(other) < 0)
        die("seteuid");
    (void)ask(&q);
    if (seteuid(0) < 0)
        die("seteuid");
    (void)ask(&q);
    for (int i = 0; i < n; i++) { /* was root served only because one of them was over? */
        struct pollfd p = {.fd = fds[i], .events = POLLIN};
        if (poll(&p, 1, 0) != 0)
            printf("connection %d was closed before\n", i);
        close(fds[i]);
    }
    free(fds);
    return 0;
}

static int flood(int n)
{
    int count[RESULTS] = {0}, closed = 0;
    struct grant_request q;
    grant_request_init(&q, GRANT_PLACE, GRANT_ANY);
    for (int i = 0; i < n; i++) {
        struct grant_answer a;
        struct error e;
        int fd = dial();
        (void)send(fd, &q, sizeof(q), MSG_NOSIGNAL);
        if (grant_receive(fd, WAIT_S, &a, &e) < 0 || a.result >= RESULTS)
            closed++;
        else
            count[a.result]++;
        close(fd);
    }
    for (int i = 0; i < RESULTS; i++)
        printf("%s %d, ", results[i], count[i]);
    printf("closed %d\n", closed);
    return 0;
}

static int deaf(int n, const char *file)
{
    struct grant_request q;
    grant_request_init(&q, GRANT_STATUS, GRANT_ANY);
    for (int i = 0; i < n; i++)
        if (send(dial(), &q, sizeof(q), MSG_NOSIGNAL) < 0 && errno != EPIPE)
            die("send");
    tell_pid(file);
    pause();
    return 0;
}

/* By turns: sends and closes; closes; says that it will send nothing, and closes; sends, says that
 * it was all, and closes. */
static int gone(int n)
{
    struct grant_request q;
    grant_request_init(&q, GRANT_PLACE, GRANT_ANY);
    for (int i = 0; i < n; i++) {
        int fd = dial();
        if (i % 4 == 0 || i % 4 == 3)
            (void)send(fd, &q, sizeof(q), MSG_NOSIGNAL);
        if (i % 4 >= 2)
            shutdown(fd, SHUT_WR);
        close(fd);
    }
    return 0;
}

/* What is handed over would stay open in a daemon that took it. */
static int load(int n)
{
    struct grant_request q;
    char control[CMSG_SPACE(253 * sizeof(int))] = {0};
    struct iovec data = {&q, sizeof(q)};
    struct msghdr m = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control};
    m.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (n < 1 || n > 253)
        return 2;
    *c = (struct cmsghdr){CMSG_LEN((size_t)n * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memset(CMSG_DATA(c), 0, (size_t)n * sizeof(int)); /* standard input, n times */
    grant_request_init(&q, GRANT_PLACE, GRANT_ANY);
    int fd = dial();
    if (sendmsg(fd, &m, MSG_NOSIGNAL) < 0)
        die("sendmsg");
    return hear(fd) == GRANT_OK;
}

/* ---- a close that lasts ---------------------------------------------------------------------- */

/* It has data to send, which nobody reads. */
static int lingering_socket(void)
{
    static char data[65536];
    struct linger linger = {.l_onoff = 1, .l_linger = 1000};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int other = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(other, (struct sockaddr *)&at, len) < 0 || listen(other, 1) < 0 ||
        getsockname(other, (struct sockaddr *)&at, &len) < 0 ||
        connect(fd, (struct sockaddr *)&at, len) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) < 0)
        die("make a socket that lingers");
    while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
        ;
    return fd;
}

/* Our own descriptor is closed while the daemon is busy with the other requests: its is the last.
 * Where it was not, our close lasts. */
static int linger(const char *file)
{
    struct grant_request q;
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec data = {&q, sizeof(q)};
    struct msghdr m = {.msg_iov = &data,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    int others[3], fd = lingering_socket(), to;
    *c = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    grant_request_init(&q, GRANT_PLACE, GRANT_ANY);
    for (int i = 0; i < 3; i++)
        others[i] = dial();
    to = dial();
    for (int i = 0; i < 3; i++)
        (void)send(others[i], &q, sizeof(q), MSG_NOSIGNAL);
    bool is_refused = sendmsg(to, &m, MSG_NOSIGNAL) < 0;
    if (!is_refused)
        close(fd);
    tell_pid(file);
    pause();
    return 0;
}

/* ---- a storm --------------------------------------------------------------------------------- */

/* By turns: asks for a place; connects and closes; holds what it has for a moment, asking
 * nothing.
 */
static void *storm_thread(void *arg)
{
    enum { HELD = 16 };
    int held[HELD];
    struct grant_request q;
    struct grant_answer a;
    struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = GRANT_SOCKET};
    grant_request_init(&q, GRANT_PLACE, GRANT_ANY);
    memset(held, -1, sizeof(held));
    for (unsigned i = (unsigned)(uintptr_t)arg;; i++) {
        int *fd = &held[i % HELD];
        if (*fd >= 0)
            close(*fd);
        *fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (i % 2 ? SOCK_NONBLOCK : 0), 0);
        if (*fd < 0 || connect(*fd, (struct sockaddr *)&to, sizeof(to)) < 0 || i % 3 == 0)
            continue;
        if (i % 3 == 1) {
            (void)send(*fd, &q, sizeof(q), MSG_NOSIGNAL | MSG_DONTWAIT);
            (void)recv(*fd, &a, sizeof(a), MSG_DONTWAIT);
        } else {
            close(*fd);
            *fd = -1;
        }
    }
    return NULL;
}

/* As root: from THREADS threads of the users UID, UID+1, ... of low priority, until it is
 * ended. */
static _Noreturn void storm(int threads, uid_t uid, int users, const char *file)
{
    pid_t parent = getpid();
    tell_pid(file);
    if (setpgid(0, 0) < 0 || setpriority(PRIO_PROCESS, 0, 19) < 0)
        die("begin a storm");
    for (int u = 0; u < users; u++) {
        if (fork() != 0)
            continue;
        if (setgroups(0, NULL) < 0 || setuid(uid + (uid_t)u) < 0 ||
            prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
            die("become a user");
        if (getppid() != parent)
            _exit(0); /* ended before this one asked to be told */
        pthread_t t;
        for (int i = u; i < threads; i += users)
            if (pthread_create(&t, NULL, storm_thread, (void *)(uintptr_t)i) != 0)
                die("start a thread");
        for (;;)
            pause();
    }
    for (;;)
        pause();
}

static int is_longer(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How long N requests for the status take, milliseconds: median, 99th percentile, the longest;
 * and how many had no answer. */
static int latency(int n)
{
    struct grant_request q;
    struct grant_answer a;
    struct error e;
    double *ms = calloc((size_t)n, sizeof(*ms));
    int failed = 0;
    grant_request_init(&q, GRANT_STATUS, GRANT_ANY);
    for (int i = 0; i < n; i++) {
        double start = loop_now();
        int fd = grant_send(NULL, &q, &e);
        if (fd < 0 || grant_receive(fd, WAIT_S, &a, &e) < 0 || a.result == GRANT_BUSY) {
            fprintf(stderr, "grant-probe: %s\n", fd < 0 ? e.text : a.text);
            failed++;
        }
        ms[i] = 1000 * (loop_now() - start);
        if (fd >= 0)
            close(fd);
        usleep(20000);
    }
    qsort(ms, (size_t)n, sizeof(*ms), is_longer);
    printf("median %.1f p99 %.1f most %.1f failed %d\n", ms[n / 2], ms[(n - 1) * 99 / 100],
           ms[n - 1], failed);
    free(ms);
    return failed != 0;
}

/* ---- pid reuse
 * --------------------------------------------------------------------------------
 */

struct clone_arguments {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    uint64_t set_tid, set_tid_size;
};

static pid_t start_as(pid_t number)
{
    struct clone_arguments a = {
        .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&number, .set_tid_size = 1};
    pid_t pid = (pid_t)syscall(435 /* clone3 */, &a, sizeof(a));
    if (pid == 0) {
        if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr))
            execlp("sleep", "sleep", "60", (char *)NULL);
        _exit(127);
    }
    return pid;
}

static int reuse(const char *file)
{
    struct grant_request q;
    int pair[2], fd = -1;
    grant_request_init(&q, GRANT_PLACE, GRANT_ANY);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        die("socketpair");
    /* what it opens is ours, too, and it is the one that connected */
    pid_t first = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
    if (first == 0) {
        int n = dial();
        (void)!write(pair[1], &n, sizeof(n));
        usleep(300000); /* the daemon has accepted it by then; if not, the test is the same */
        _exit(0);
    }
    if (read(pair[0], &fd, sizeof(fd)) != sizeof(fd))
        die("read");
    waitpid(first, NULL, 0);
    pid_t second = start_as(first);
    if (second != first)
        die("start a process with a number that is free");
    FILE *f = fopen(file, "w");
    if (!f || fprintf(f, "%d\n", (int)second) < 0 || fclose(f) != 0)
        die(file);
    (void)send(fd, &q, sizeof(q), MSG_NOSIGNAL);
    return hear(fd) == GRANT_OK;
}

int main(int argc, char **argv)
{
    struct grant_request q;
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "token"))
        return token();
    if (!strcmp(what, "place"))
        return place(argv + 2);
    if (!strcmp(what, "silent") && argc == 3)
        return silent(atoi(argv[2]), NULL);
    if (!strcmp(what, "hold") && argc == 4)
        return silent(atoi(argv[2]), argv[3]);
    if (!strcmp(what, "late") && argc == 3)
        return late((pid_t)atol(argv[2]));
    if (!strcmp(what, "full") && argc == 5)
        return full(atoi(argv[2]), (uid_t)atol(argv[3]), (uid_t)atol(argv[4]));
    if (!strcmp(what, "flood") && argc == 3)
        return flood(atoi(argv[2]));
    if (!strcmp(what, "storm") && argc == 6)
        storm(atoi(argv[2]), (uid_t)atol(argv[3]), atoi(argv[4]), argv[5]);
    if (!strcmp(what, "latency") && argc == 3)
        return latency(atoi(argv[2]));
    if (!strcmp(what, "deaf") && argc == 4)
        return deaf(atoi(argv[2]), argv[3]);
    if (!strcmp(what, "gone") && argc == 3)
        return gone(atoi(argv[2]));
    if (!strcmp(what, "load") && argc == 3)
        return load(atoi(argv[2]));
    if (!strcmp(what, "linger") && argc == 3)
        return linger(argv[2]);
    if (!strcmp(what, "raw") && argc == 3)
        return raw((size_t)atol(argv[2]));
    if (!strcmp(what, "reuse") && argc == 3)
        return reuse(argv[2]);
    grant_request_init(&q, GRANT_PLACE, GRANT_ANY);
    if (!strcmp(what, "version")) {
        q.version++;
    } else if (!strcmp(what, "claim") && argc == 3) {
        snprintf(q.job, sizeof(q.job), "%s", argv[2]);
    } else if (!strcmp(what, "devices") && argc == 4) {
        q.op = GRANT_DEVICES;
        snprintf(q.cgroup, sizeof(q.cgroup), "%s", argv[2]);
        snprintf(q.ids, sizeof(q.ids), "%s", argv[3]);
    } else if (!strcmp(what, "enter") && argc == 4) {
        grant_request_init(&q, GRANT_ENTER, GRANT_SITE);
        snprintf(q.job, sizeof(q.job), "%s", argv[2]);
        q.uid = (uint32_t)atol(argv[3]);
        q.memory = q.pids = GRANT_UNLIMITED;
    } else {
        fprintf(stderr, "grant-probe: wrong use; see its source\n");
        return 2;
    }
    return ask(&q) != GRANT_OK;
}
