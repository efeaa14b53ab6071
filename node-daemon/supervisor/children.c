/* SPDX-License-Identifier: BSD-3-Clause */
/* children.c - the processes of mprund
 *
 * A process gets all that it needs through one socket, before it begins and later: see lib/start.h.
 * Two processes talk by a pair of sockets. When one of them has died, the other gets the end of a
 * new pair, so each can be started again alone. */
#include "node-daemon/supervisor/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"

enum { DESCRIPTORS_CLOSED = 4096 };
static const double PAUSE_FIRST_S = 0.05, PAUSE_LAST_S = 5, RUNS_WELL_S = 30;

static const char *const programs[ROLES] = {[ROLE_MOVER] = "mprund-mover",
                                            [ROLE_SIGNER] = "mprund-signer",
                                            [ROLE_READER] = "mprund-reader",
                                            [ROLE_WATCH] = "mprund-watch",
                                            [ROLE_FRONT] = "mprund-front"};

/* Front comes last: when it serves, all others are there. */
static const enum role links[][2] = {{ROLE_MOVER, ROLE_WATCH},
                                     {ROLE_MOVER, ROLE_FRONT},
                                     {ROLE_SIGNER, ROLE_FRONT},
                                     {ROLE_READER, ROLE_FRONT},
                                     {ROLE_WATCH, ROLE_FRONT}};
enum { LINKS = sizeof(links) / sizeof(links[0]) };

/* The gifts of each process, but for the links. */
static const unsigned gets[ROLES] = {
    [ROLE_MOVER] = 1U << GIFT_GROUND,
    [ROLE_SIGNER] = 1U << GIFT_KEY,
    [ROLE_READER] = 1U << GIFT_CONF | 1U << GIFT_TRACE,
    [ROLE_WATCH] = 1U << GIFT_GROUND | 1U << GIFT_CONF | 1U << GIFT_TRACE,
    [ROLE_FRONT] = 1U << GIFT_GROUND | 1U << GIFT_CONF | 1U << GIFT_TRACE | 1U << GIFT_SENTINELS |
                   1U << GIFT_SOCKET | 1U << GIFT_ROOT_SOCKET | 1U << GIFT_LOCK,
};

double children_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- gifts ----------------------------------------------------------------------------------- */

/* A process that has died meanwhile is started again, and gets it then. A process that does not
 * take it in time hangs, and can do nothing with it. */
static void give(const struct children *c, enum role to, enum gift gift, unsigned which, int fd)
{
    int control = c->of[to].control;
    struct gift_record r = {.head = record_head(gift, 0), .which = which};
    if (control >= 0 && fd >= 0)
        (void)record_send(control, &r, sizeof(r), fd);
}

static void give_all(const struct children *c, enum role to)
{
    int control = c->of[to].control;
    struct gift_record r = {.head = record_head(GIFT_ALL, 0)};
    if (control >= 0 && record_send(control, &r, sizeof(r), -1) == 0)
        (void)record_send(control, &c->plan, sizeof(c->plan), -1);
}

static void give_own(const struct children *c, enum role to)
{
    for (unsigned i = 0; i < c->plan.ground.nparts && (gets[to] & 1U << GIFT_GROUND); i++)
        give(c, to, GIFT_GROUND, i, c->ground[i]);
    for (unsigned gift = GIFT_CONF; gift < GIFT_ALL; gift++)
        if (gets[to] & 1U << gift)
            give(c, to, (enum gift)gift, 0, c->gift[gift]);
}

/* Link it with those that run. */
static void give_links(const struct children *c, enum role one)
{
    for (size_t i = 0; i < LINKS; i++) {
        int ends[2];
        enum role other = links[i][0] == one ? links[i][1] : links[i][0];
        if ((links[i][0] != one && links[i][1] != one) || c->of[other].pid == 0)
            continue;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
            log_error("link the parts of mprund: %s", strerror(errno));
            continue;
        }
        give(c, one, GIFT_LINK, other, ends[0]);
        give(c, other, GIFT_LINK, one, ends[1]);
        close(ends[0]);
        close(ends[1]);
    }
}

void children_give_sockets(struct children *c)
{
    static const enum gift gifts[] = {GIFT_SOCKET, GIFT_ROOT_SOCKET, GIFT_LOCK, GIFT_SENTINELS};
    for (size_t i = 0; i < sizeof(gifts) / sizeof(gifts[0]); i++)
        give(c, ROLE_FRONT, gifts[i], 0, c->gift[gifts[i]]);
    give_all(c, ROLE_FRONT);
}

/* ---- starting -------------------------------------------------------------------------------- */

/* The process that started mprund may have left descriptors open. */
static void close_others(void)
{
    if (fd_close_from(START_CONTROL + 1, false) == 0)
        return;
    for (int fd = START_CONTROL + 1; fd < DESCRIPTORS_CLOSED; fd++) /* before 5.9 */
        (void)close(fd);
}

/* In the child: nothing of the supervisor's but standard output and error, and the control. */
static void exec_program(const struct children *c, enum role role, int control, pid_t parent)
{
    const char *journal = getenv("JOURNAL_STREAM");
    char path[PLAN_PATH_MAX], name[32], stream[64], search[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    char *argv[] = {name, NULL}, *envp[] = {search, journal ? stream : NULL, NULL};
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    snprintf(stream, sizeof(stream), "JOURNAL_STREAM=%s", journal ? journal : "");
    snprintf(name, sizeof(name), "%s", programs[role]);
    snprintf(path, sizeof(path), "%s/%s", c->directory, programs[role]);
    if (control == START_CONTROL ? fcntl(control, F_SETFD, 0) < 0
                                 : dup2(control, START_CONTROL) < 0)
        _exit(111);
    close_others();
    if (rights_take(role, &c->plan) < 0) {
        log_error("start '%s': lay down rights: %s", path, strerror(errno));
        _exit(111);
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* a change of uid takes it away */
    if (getppid() != parent)
        _exit(111);
    execve(path, argv, envp);
    log_error("start '%s': %s", path, strerror(errno));
    _exit(111);
}

static int start_one(struct children *c, enum role role)
{
    int ends[2];
    struct child *one = &c->of[role];
    pid_t self = getpid();
    one->again = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    one->pid = fork();
    if (one->pid == 0)
        exec_program(c, role, ends[1], self);
    close(ends[1]);
    if (one->pid < 0) {
        one->pid = 0;
        close(ends[0]);
        return -1;
    }
    one->control = ends[0];
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    one->began = children_now();
    give_own(c, role);
    give_links(c, role);
    give_all(c, role);
    return 0;
}

/* is_told: it has ended because it was told to. */
static void come_again(struct child *one, bool is_told)
{
    bool ran_well = is_told || (one->began > 0 && children_now() - one->began > RUNS_WELL_S);
    one->pause = ran_well || one->pause == 0 ? PAUSE_FIRST_S : one->pause * 2;
    one->pause = one->pause < PAUSE_LAST_S ? one->pause : PAUSE_LAST_S;
    one->again = children_now() + one->pause;
}

void children_start(struct children *c)
{
    for (unsigned role = 0; role < ROLES; role++) {
        struct child *one = &c->of[role];
        if (one->pid != 0 || (one->again > 0 && one->again > children_now()))
            continue;
        if (start_one(c, (enum role)role) < 0) {
            log_error("start '%s': %s", programs[role], strerror(errno));
            come_again(one, false);
        }
    }
}

void children_ended(struct children *c, pid_t pid, int status)
{
    for (unsigned role = 0; role < ROLES; role++) {
        struct child *one = &c->of[role];
        if (one->pid != pid)
            continue;
        bool is_told = status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        if (WIFSIGNALED(status) && !is_told)
            log_warn("%s was killed by signal %d: it is started again", programs[role],
                     WTERMSIG(status));
        else if (WIFEXITED(status) && !is_told)
            log_warn("%s ended with exit code %d: it is started again", programs[role],
                     WEXITSTATUS(status));
        cleanup_close(&one->control);
        one->pid = 0;
        come_again(one, is_told);
    }
}

int children_wait_ms(const struct children *c)
{
    double first = 0;
    for (unsigned role = 0; role < ROLES; role++)
        if (c->of[role].pid == 0 && (first == 0 || c->of[role].again < first))
            first = c->of[role].again;
    if (first == 0)
        return -1;
    double left = first - children_now();
    return left > 0 ? (int)(left * 1000) + 1 : 0;
}

void children_signal(const struct children *c, enum role role, int signo)
{
    if (c->of[role].pid > 0)
        (void)kill(c->of[role].pid, signo);
}
