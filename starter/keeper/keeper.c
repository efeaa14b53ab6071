/* SPDX-License-Identifier: BSD-3-Clause */
/* keeper.c - see keeper.h
 *
 * No event loop, and hardly an allocation beyond lists: what this process does when everything else
 * has failed must be simple. */
#include "starter/keeper/keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/loop.h"
#include "common/files/path.h"
#include "common/processes/proc.h"
#include "containment/job-cgroup/oom-kills.h"
#include "containment/step/orphans.h"
#include "model/rank-end.h"
#include "starter/binding/core-ledger.h"
#include "starter/keeper/keeper-channel.h"
#include "starter/tunables.h"

enum { THINGS = 64 }; /* cgroups, and directories, that the keeper remembers at most */

struct kept_step {
    struct kept_step *next;
    char name[KEPT_NAME];
    enum log_level level;
    uint32_t number;
    pid_t worker;
    bool has_ended;
    int status;                 /* of the worker, as of waitpid() */
    int fd;                     /* to the worker; -1: it is ending */
    int cores_fd;               /* core-ledger.h; -1: none are taken */
    struct oom_kills oom_kills; /* the worker's, as it was before there were ranks */
    char *cgroups[THINGS], *directories[THINGS];
    size_t ncgroups, ndirectories;
    bool is_stuck; /* the worker ended properly, but could not remove everything */
};

/* ---- what workers say ------------------------------------------------------------------------ */

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

static void forget_things(struct kept_step *s)
{
    forget(s->cgroups, &s->ncgroups);
    forget(s->directories, &s->ndirectories);
}

static void take_message(struct keeper *k, struct kept_step *s, const char *text, size_t n,
                         enum keeper_message what, int fds[FD_PACKET_FDS])
{
    switch (what) {
    case KEEPER_CGROUP:
        remember(s->cgroups, &s->ncgroups, text);
        break;
    case KEEPER_DIRECTORY:
        remember(s->directories, &s->ndirectories, text);
        break;
    case KEEPER_STUCK:
        s->is_stuck = true;
        break;
    case KEEPER_CLEANED:
        forget_things(s);
        break;
    case KEEPER_ERRAND:
        if (!s->has_ended) /* else there is nobody to tell */
            errand_process_start(&k->errands, text, n, fds, s->fd);
        break;
    case KEEPER_OOM_KILLS:
        if (n == sizeof(s->oom_kills))
            memcpy(&s->oom_kills, text, n);
        break;
    case KEEPER_CORES:
        if (s->cores_fd < 0)
            s->cores_fd = take_fd(&fds[0]);
        break;
    }
}

static void close_channel(struct keeper *k, struct kept_step *s)
{
    errand_processes_tell_nobody(&k->errands, s->fd);
    cleanup_close(&s->fd);
}

/* Takes all packets that wait. At their end the worker is ending, and SIGCHLD follows. */
static void take_messages(struct keeper *k, struct kept_step *s)
{
    char packet[KEEPER_PACKET + 1];
    int fds[FD_PACKET_FDS];
    ssize_t n = -1;
    while (s->fd >= 0 && (n = keeper_receive(s->fd, packet, fds)) > 0) {
        take_message(k, s, packet + 1, (size_t)n - 1, (enum keeper_message)packet[0], fds);
        for (int i = 0; i < FD_PACKET_FDS; i++)
            cleanup_close(&fds[i]);
    }
    if (n == 0)
        close_channel(k, s);
}

/* ---- children -------------------------------------------------------------------------------- */

static struct kept_step *find_worker(const struct keeper *k, pid_t pid)
{
    struct kept_step *s = k->steps;
    while (s && (s->has_ended || s->worker != pid))
        s = s->next;
    return s;
}

/* Kills all other children; the keeper inherits the children of what dies. Returns the number of
 * killed processes. */
static int kill_once(const struct keeper *k)
{
    AUTO_FREE pid_t *children = NULL;
    int n = proc_children(getpid(), &children), killed = 0;
    for (int i = 0; i < n; i++)
        if (children[i] > 1 && children[i] != k->anchor && !find_worker(k, children[i]) &&
            !errand_processes_have(&k->errands, children[i])) {
            kill(children[i], SIGKILL);
            killed++;
        }
    return killed;
}

/* Reaps what has ended; keeps the statuses of workers. */
static void reap(struct keeper *k)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct kept_step *s = find_worker(k, pid);
        if (s) {
            s->has_ended = true;
            s->status = status;
        } else if (pid == k->anchor) {
            k->anchor = 0;
        } else {
            errand_process_ended(&k->errands, pid, status);
        }
    }
}

/* Kills level by level: as a subreaper the keeper inherits orphans. Gives up processes that cannot
 * die (state D) after KEEPER_KILL_SECONDS. */
void keeper_kill_orphans(struct keeper *k)
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

/* ---- the end of a step ----------------------------------------------------------------------- */

static void remove_directories(const struct keeper *k, const struct kept_step *s, bool say)
{
    struct error e;
    for (size_t i = s->ndirectories; i > 0; i--)
        if (path_remove_tree(s->directories[i - 1], &e) < 0 && say)
            log_error("on %s: %s", k->host, e.text);
}

/* A manager that has killed the worker's group may kill the keeper any moment. So this does first
 * what takes no time, and removes afterwards what dying processes have made meanwhile. */
static void sweep(struct keeper *k, struct kept_step *s)
{
    struct error e;
    kill_once(k);
    remove_directories(k, s, false);
    core_ledger_remove(s->cores_fd);
    if (s->ncgroups &&
        cgroup_sweep((const char *const *)s->cgroups, s->ncgroups, KEEPER_SWEEP_MS, &e) < 0)
        log_error("on %s: %s", k->host, e.text);
    keeper_kill_orphans(k);
    remove_directories(k, s, true);
    forget_things(s);
}

/* Returns mpstarter's exit code. */
static int clean_up(struct keeper *k, struct kept_step *s)
{
    int status = s->status;
    if (WIFEXITED(status) && s->ncgroups == 0 && s->ndirectories == 0) {
        keeper_kill_orphans(k);
        return WEXITSTATUS(status);
    }
    if (WIFEXITED(status) && s->is_stuck) {
        sweep(k, s);
        return WEXITSTATUS(status);
    }
    char how[320];
    int code = oom_kills_describe_end(&s->oom_kills, status, how, sizeof(how));
    log_error("on %s: mpstarter's worker (pid %d) %s%s; %s", k->host, (int)s->worker, how,
              WIFEXITED(status) ? " too early" : "",
              s->ncgroups + s->ndirectories ? "ending its ranks" : "it has no ranks");
    sweep(k, s);
    return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : code;
}

static void step_ended(struct keeper *k, struct kept_step *s, keeper_ended_fn ended, void *arg)
{
    enum log_level level = log_level();
    log_open(s->name, s->level);
    take_messages(k, s);
    close_channel(k, s);
    int code = clean_up(k, s);
    core_ledger_leave(take_fd(&s->cores_fd));
    core_ledger_sweep(NULL);
    log_open("mpstarter", level);
    ended(arg, s->number, code);
    free(s);
}

/* While one step is cleaned up another one's worker may end. */
static void look_after_children(struct keeper *k, keeper_ended_fn ended, void *arg)
{
    reap(k);
    for (struct kept_step *s, **at = &k->steps; (s = *at);) {
        if (!s->has_ended) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        step_ended(k, s, ended, arg);
        at = &k->steps;
    }
}

/* ---- the process ----------------------------------------------------------------------------- */

void keeper_init(struct keeper *k, const char *host, mode_t mask)
{
    *k = (struct keeper){.host = host, .signal_fd = -1, .errands.umask = (int)mask};
    /* The keeper inherits the orphans of workers: it must be a subreaper before there are any. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Where we lead the group, a child founds the new one, and we join it before the child, which has
 * ended, is waited for. */
static void leave_group(void)
{
    if (getpgrp() != getpid() && setpgid(0, 0) == 0)
        return;
    pid_t founder = vfork(); /* costs half of fork() */
    if (founder == 0)
        _exit(0);
    if (founder < 0)
        return;
    setpgid(founder, founder);
    setpgid(0, founder);
    waitpid(founder, NULL, 0);
}

void keeper_begin(struct keeper *k)
{
    static const int taken[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        sigaddset(&set, taken[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    k->group = getpgrp();
    leave_group();
    k->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* In a worker: closes what it has of the keeper. */
static void forget_keeper(struct keeper *k)
{
    cleanup_close(&k->signal_fd);
    for (struct kept_step *s; (s = k->steps); free(s)) {
        k->steps = s->next;
        cleanup_close(&s->fd);
        cleanup_close(&s->cores_fd);
        forget_things(s);
    }
    errand_processes_close(&k->errands);
    if (k->group)
        setpgid(0, k->group);
}

pid_t keeper_fork(struct keeper *k, const char *name, enum log_level level, uint32_t number,
                  struct kept_worker *ret, struct error *err)
{
    AUTO_FREE struct kept_step *s = must(calloc(1, sizeof(*s)));
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, errno, "make a socket");
    pid_t keeper = getpid(), worker = fork();
    if (worker <= 0)
        close(pair[0]);
    if (worker != 0)
        close(pair[1]);
    if (worker < 0)
        return error_errno(err, errno, "fork");
    if (worker == 0) {
        log_open(name, level);
        forget_keeper(k);
        *ret = (struct kept_worker){.keeper = keeper, .fd = pair[1]};
        return 0;
    }
    s->next = k->steps;
    snprintf(s->name, sizeof(s->name), "%s", name);
    s->level = level;
    s->number = number;
    s->worker = worker;
    s->fd = pair[0];
    s->cores_fd = -1;
    k->steps = take_ptr(s);
    return worker;
}

/* Passes signals on to workers, which know what to do and may be waiting for them. */
static void pass_on(struct keeper *k)
{
    struct signalfd_siginfo si;
    while (read(k->signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
        if (si.ssi_signo == SIGCHLD || si.ssi_code > 0) /* not sent by a process */
            continue;
        k->signals |= UINT64_C(1) << si.ssi_signo;
        for (const struct kept_step *s = k->steps; s; s = s->next)
            if (!s->has_ended)
                kill(s->worker, (int)si.ssi_signo);
    }
}

void keeper_poll(const struct keeper *k, struct polled *p)
{
    polled_add(p, k->signal_fd, POLLIN);
    for (const struct kept_step *s = k->steps; s; s = s->next)
        polled_add(p, s->fd, POLLIN);
}

void keeper_take(struct keeper *k, const struct pollfd *p, keeper_ended_fn ended, void *arg)
{
    const struct pollfd *signals = p++;
    for (struct kept_step *s = k->steps; s; s = s->next, p++)
        if (p->revents)
            take_messages(k, s);
    if (signals->revents)
        pass_on(k);
    look_after_children(k, ended, arg);
}

bool keeper_is_needed(const struct keeper *k)
{
    return k->steps || k->errands.n > 0;
}

static void keep_code(void *arg, uint32_t number, int code)
{
    int *ret = arg;
    *ret = code;
}

int keeper_run(struct keeper *k)
{
    struct polled p = {.n = 0};
    int code = EXIT_CODE_MPRUN;
    while (keeper_is_needed(k)) {
        p.n = 0;
        keeper_poll(k, &p);
        if (poll(p.all, p.n, k->signal_fd < 0 ? 1000 : -1) < 0 && errno != EINTR)
            break;
        keeper_take(k, p.all, keep_code, &code);
    }
    free(p.all);
    return code;
}
