/* SPDX-License-Identifier: BSD-3-Clause */
/* keeper.c - see keeper.h
 *
 * No event loop, and hardly an allocation beyond two lists: what this process does when everything
 * else has failed must be simple. */
#include "starter/keeper/keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/path.h"
#include "common/proc.h"
#include "containment/job-cgroup/oom-kills.h"
#include "containment/step/orphans.h"
#include "model/rank-end.h"
#include "starter/binding/core-ledger.h"
#include "starter/errands/errand-processes.h"
#include "starter/tunables.h"

enum { THINGS = 64 }; /* cgroups, and directories, that the keeper remembers at most */

struct keeper {
    pid_t worker;    /* 0: it has ended */
    int status;      /* of the worker, as of waitpid() */
    bool was_judged; /* what the worker's end means for the exit code is known */
    int fd;          /* to the worker; -1: it has ended */
    int cores_fd;    /* core-ledger.h; -1: none are taken */
    const char *host;
    struct errand_processes errands;
    struct oom_kills oom_kills; /* the worker's, as it was before there were ranks */
    char *cgroups[THINGS], *directories[THINGS];
    size_t ncgroups, ndirectories;
    bool is_stuck; /* the worker ended properly, but could not remove everything */
};

static void remember(char **list, size_t *n, const char *text)
{
    if (*n < THINGS && (list[*n] = strdup(text)))
        (*n)++;
}

static void forget(char **list, size_t *n)
{
    while (*n > 0)
        free(list[--*n]);
}

static void take_message(struct keeper *k, const char *text, size_t n, enum keeper_message what,
                         int fds[KEEPER_FDS])
{
    switch (what) {
    case KEEPER_CGROUP:
        remember(k->cgroups, &k->ncgroups, text);
        break;
    case KEEPER_DIRECTORY:
        remember(k->directories, &k->ndirectories, text);
        break;
    case KEEPER_STUCK:
        k->is_stuck = true;
        break;
    case KEEPER_CLEANED:
        forget(k->cgroups, &k->ncgroups);
        forget(k->directories, &k->ndirectories);
        break;
    case KEEPER_ERRAND:
        if (k->worker > 0) /* else there is nobody to tell */
            errand_process_start(&k->errands, text, n, fds, k->fd);
        break;
    case KEEPER_OOM_KILLS:
        if (n == sizeof(k->oom_kills))
            memcpy(&k->oom_kills, text, n);
        break;
    case KEEPER_CORES:
        if (k->cores_fd < 0)
            k->cores_fd = take_fd(&fds[0]);
        break;
    }
}

/* Takes all packets that wait. Returns false at the end of file. */
static bool take_messages(struct keeper *k)
{
    char packet[KEEPER_PACKET + 1];
    int fds[KEEPER_FDS];
    ssize_t n;
    if (k->fd < 0)
        return false;
    while ((n = keeper_receive(k->fd, packet, fds)) > 0) {
        take_message(k, packet + 1, (size_t)n - 1, (enum keeper_message)packet[0], fds);
        for (int i = 0; i < KEEPER_FDS; i++)
            cleanup_close(&fds[i]);
    }
    return n != 0;
}

/* Kills all children except the worker and errands; the keeper inherits the children of what dies.
 * Returns the number of killed processes. */
static int kill_once(const struct keeper *k)
{
    pid_t *children = NULL;
    int n = proc_children(getpid(), &children), killed = 0;
    for (int i = 0; i < n; i++)
        if (children[i] > 1 && children[i] != k->worker &&
            !errand_processes_have(&k->errands, children[i])) {
            kill(children[i], SIGKILL);
            killed++;
        }
    free(children);
    return killed;
}

/* Reaps what has ended; keeps the worker's status. */
static void reap(struct keeper *k)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == k->worker) {
            k->worker = 0;
            k->status = status;
        } else {
            errand_process_ended(&k->errands, pid, status);
        }
    }
}

/* Kills every process below the keeper, level by level: as a subreaper the keeper inherits orphans.
 * Gives up processes that cannot die (state D) after KEEPER_KILL_SECONDS. */
static void kill_children(struct keeper *k)
{
    sigset_t chld;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    for (double end = loop_now() + KEEPER_KILL_SECONDS; loop_now() < end;) {
        reap(k);
        if (kill_once(k) == 0)
            return;
        struct timespec bit = {.tv_nsec = KEEPER_KILL_WAIT_NS};
        sigtimedwait(&chld, NULL, &bit);
    }
    log_error("on %s: processes of the step could not be killed", k->host);
}

static void remove_directories(struct keeper *k, bool say)
{
    struct error e;
    for (size_t i = k->ndirectories; i > 0; i--)
        if (path_remove_tree(k->directories[i - 1], &e) < 0 && say)
            log_error("on %s: %s", k->host, e.text);
}

/* A manager that has killed the worker's group may kill the keeper any moment. So this does first
 * what takes no time, and removes afterwards what dying processes have made meanwhile. */
static void sweep(struct keeper *k)
{
    struct error e;
    kill_once(k);
    remove_directories(k, false);
    core_ledger_remove(k->cores_fd);
    if (k->ncgroups &&
        cgroup_sweep((const char *const *)k->cgroups, k->ncgroups, KEEPER_SWEEP_MS, &e) < 0)
        log_error("on %s: %s", k->host, e.text);
    kill_children(k);
    remove_directories(k, true);
    forget(k->cgroups, &k->ncgroups);
    forget(k->directories, &k->ndirectories);
}

static int worker_ended(struct keeper *k, pid_t worker)
{
    int status = k->status;
    take_messages(k);
    errand_processes_tell_nobody(&k->errands, k->fd);
    k->fd = -1;
    if (WIFEXITED(status) && k->ncgroups == 0 && k->ndirectories == 0) {
        kill_children(k);
        return WEXITSTATUS(status);
    }
    if (WIFEXITED(status) && k->is_stuck) {
        sweep(k);
        return WEXITSTATUS(status);
    }
    char how[320];
    int code = oom_kills_describe_end(&k->oom_kills, status, how, sizeof(how));
    log_error("on %s: mpstarter's worker (pid %d) %s%s; %s", k->host, (int)worker, how,
              WIFEXITED(status) ? " too early" : "",
              k->ncgroups + k->ndirectories ? "ending its ranks" : "it has no ranks");
    sweep(k);
    return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : code;
}

/* Where we lead the group, a short-lived child founds the new one and we join it. */
void keeper_leave_group(void)
{
    int gate[2];
    char c;
    if ((getpgrp() != getpid() && setpgid(0, 0) == 0) || pipe(gate) < 0)
        return;
    pid_t founder = fork();
    if (founder == 0) {
        close(gate[1]);
        setpgid(0, 0);
        _exit(read(gate[0], &c, 1) < 0);
    }
    if (founder > 0) {
        setpgid(founder, founder);
        setpgid(0, founder);
    }
    close(gate[0]);
    close(gate[1]);
    if (founder > 0)
        waitpid(founder, NULL, 0);
}

/* Passes signals on to the worker, which knows what to do and may be waiting for them. */
static void pass_on(struct keeper *k, int signal_fd)
{
    struct signalfd_siginfo si;
    while (read(signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
        if (si.ssi_signo == SIGCHLD || si.ssi_code > 0) /* not sent by a process */
            continue;
        if (k->worker > 1)
            kill(k->worker, (int)si.ssi_signo);
    }
}

/* Looks what has ended. Returns whether nothing is left to wait for; *code: the exit code then. */
static bool look_after_children(struct keeper *k, pid_t worker, int *code)
{
    reap(k);
    if (k->worker == 0 && !k->was_judged) {
        k->was_judged = true;
        *code = worker_ended(k, worker);
        core_ledger_leave(take_fd(&k->cores_fd));
        core_ledger_sweep(NULL);
    }
    return k->was_judged && k->errands.n == 0;
}

int keeper_run(pid_t worker, int fd, const char *host, mode_t mask)
{
    struct keeper k = {
        .worker = worker, .fd = fd, .cores_fd = -1, .host = host, .errands.umask = (int)mask};
    static const int passed[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    sigset_t set;
    int code = EXIT_CODE_MPRUN;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
        sigaddset(&set, passed[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    keeper_leave_group();
    int signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    struct pollfd p[2] = {{.fd = signal_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    while (!look_after_children(&k, worker, &code)) {
        if (poll(p, 2, signal_fd < 0 ? 1000 : -1) < 0 && errno != EINTR)
            return EXIT_CODE_MPRUN;
        if (p[1].revents && !take_messages(&k))
            p[1].fd = -1; /* closed: the worker is ending, SIGCHLD follows */
        if (p[0].revents)
            pass_on(&k, signal_fd);
    }
    return code;
}

/* ---- packets --------------------------------------------------------------------------------- */

static void tell(int fd, enum keeper_message what, const void *data, size_t n)
{
    char packet[KEEPER_PACKET];
    if (n > sizeof(packet) - 2)
        return;
    packet[0] = (char)what;
    memcpy(packet + 1, data, n);
    while (send(fd, packet, n + 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

void keeper_tell(int fd, enum keeper_message what, const char *text)
{
    tell(fd, what, text, strlen(text));
}

void keeper_tell_oom_kills(int fd, const struct oom_kills *kills)
{
    tell(fd, KEEPER_OOM_KILLS, kills, sizeof(*kills));
}

int keeper_send(int fd, const char *packet, size_t n, const int *fds, size_t nfds)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(KEEPER_FDS * sizeof(int))] = {0};
    struct iovec v = {(void *)(uintptr_t)packet, n};
    struct msghdr m = {.msg_iov = &v,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = CMSG_SPACE(nfds * sizeof(int))};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
    memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
    return sendmsg(fd, &m, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -1;
}

/* Takes the descriptors that came with a packet. */
static void take_fds(struct msghdr *m, int fds[KEEPER_FDS])
{
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    for (int i = 0; i < KEEPER_FDS; i++)
        fds[i] = -1;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len <= CMSG_LEN(KEEPER_FDS * sizeof(int)))
        memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
}

ssize_t keeper_receive(int fd, char packet[KEEPER_PACKET + 1], int fds[KEEPER_FDS])
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(KEEPER_FDS * sizeof(int))];
    struct iovec v = {packet, KEEPER_PACKET};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    ssize_t n;
    do
        n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n;
    take_fds(&m, fds);
    packet[n] = 0;
    return n;
}
