/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.c - see agent.h */
#include "starter/agent/agent.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/must.h"
#include "common/proc.h"
#include "model/rank-end.h"
#include "plan/topology.h"
#include "starter/keeper/keeper.h"
#include "starter/tunables.h"

struct started {
    pid_t pid; /* the starter's keeper */
    uint32_t number;
};

struct agent {
    const char *hostname;
    const uint8_t *key; /* of the channel, which is a connection; NULL: it is none */
    uint32_t last;      /* number of a start */
    pid_t group;        /* of the manager's task, in which workers are */
    pid_t anchor;       /* what keeps that group; it ends when the manager ends the task */
    int signal_fd;      /* < 0: there are no signals to be read */
    double heard;       /* loop_now() of the last word of the holder */
    bool is_ending;     /* nothing more is started */
    struct started *all;
    size_t n;
};

static void tell_ended(uint32_t number, int status)
{
    char line[AGENT_LINE_MAX];
    size_t n = agent_ended_line(number, status, line);
    if (fd_write_all(STDOUT_FILENO, line, n) < 0)
        log_debug("nobody is told that starter %u has ended", (unsigned)number);
}

/* What starters have left comes to the agent: a worker without its keeper ends by itself. */
static void await_orphans(void)
{
    double end = loop_now() + KEEPER_KILL_SECONDS;
    struct timespec bit = {.tv_nsec = KEEPER_KILL_WAIT_NS};
    while (waitpid(-1, NULL, WNOHANG) >= 0 && loop_now() < end)
        nanosleep(&bit, NULL);
}

static void kill_orphans(void)
{
    pid_t *children = NULL;
    await_orphans();
    int n = proc_children(getpid(), &children);
    for (int i = 0; i < n; i++)
        if (children[i] > 1)
            kill(children[i], SIGKILL);
    free(children);
    if (n > 0)
        await_orphans();
}

static void reap(struct agent *a)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        a->is_ending |= pid == a->anchor;
        for (size_t i = 0; i < a->n; i++)
            if (a->all[i].pid == pid) {
                tell_ended(a->all[i].number, status);
                a->all[i] = a->all[--a->n];
                break;
            }
    }
}

static void pass_on(struct agent *a)
{
    struct signalfd_siginfo si;
    while (read(a->signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
        if (si.ssi_signo == SIGCHLD)
            continue;
        for (size_t i = 0; i < a->n; i++)
            kill(a->all[i].pid, (int)si.ssi_signo);
        a->is_ending |= si.ssi_signo != SIGUSR1 && si.ssi_signo != SIGUSR2;
    }
}

/* A process that stays in the group of the task: a group without processes is gone, and the manager
 * ends the task by a KILL to it, which the agent has to see and to survive. -1: there is none. */
static pid_t drop_anchor(void)
{
    sigset_t all;
    pid_t agent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    fd_close_from(0, false);
    while (getppid() == agent)
        pause();
    _exit(0);
}

/* In the child: true. */
static bool start(struct agent *a, uint32_t number)
{
    a->all = must(reallocarray(a->all, a->n + 1, sizeof(*a->all)));
    pid_t agent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != agent)
            _exit(EXIT_CODE_MPRUN);
        setpgid(0, a->group);
        prctl(PR_SET_NAME, "mpstarter");
        close(a->signal_fd);
        free(a->all);
        return true;
    }
    if (pid < 0) {
        log_error("on %s: fork: %s", a->hostname, strerror(errno));
        tell_ended(number, W_EXITCODE(EXIT_CODE_MPRUN, 0));
    } else {
        a->all[a->n++] = (struct started){.pid = pid, .number = number};
    }
    return false;
}

/* In a child that is to be the starter of *ret: true. */
static bool take_start(struct agent *a, struct preamble *ret, char ret_name[AGENT_STARTER_NAME])
{
    struct error e = {0};
    uint32_t number;
    bool is_child = false;
    a->heard = loop_now();
    if (agent_start_read(STDIN_FILENO, a->key, &number, ret, &e) < 0 || number == AGENT_ENDS) {
        a->is_ending = true;
    } else if (number > a->last) { /* one that comes again is not the holder's */
        if (a->last)               /* a job of one step does without */
            topology_look();
        a->last = number;
        is_child = start(a, number);
    }
    if (a->is_ending && e.code)
        log_error("on %s: %s", a->hostname, e.text);
    if (is_child)
        agent_starter_name(number, ret_name);
    else
        explicit_bzero(ret, sizeof(*ret));
    return is_child;
}

/* Input, output, and the messages of all starters. */
int agent_open_channel(const char *hostname, struct preamble *p, uint8_t ret_key[LINK_KEY])
{
    struct error e;
    if (!p->addresses[0])
        return 0;
    AUTO_CLOSE int fd = agent_connect(p, CONNECT_SECONDS, ret_key, &e);
    explicit_bzero(p->key, sizeof(p->key));
    if (fd < 0) {
        log_error("on %s: %s", hostname, e.text);
        return -1;
    }
    for (int to = STDIN_FILENO; to <= STDERR_FILENO; to++)
        dup2(fd, to);
    return 1;
}

int agent_run(const char *hostname, const uint8_t *key, struct preamble *ret,
              char ret_name[AGENT_STARTER_NAME])
{
    static const int taken[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    struct agent a = {.hostname = hostname, .key = key, .group = getpgrp(), .heard = loop_now()};
    sigset_t set;
    prctl(PR_SET_NAME, "mprun-agent");
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        sigaddset(&set, taken[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (chdir("/") < 0)
        log_debug("stays in its directory: %s", strerror(errno));
    a.anchor = drop_anchor();
    keeper_leave_group();
    a.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    struct pollfd p[2] = {{.fd = a.signal_fd, .events = POLLIN},
                          {.fd = STDIN_FILENO, .events = POLLIN}};
    /* a holder that was suspended may speak again */
    while (a.n > 0 || !(a.is_ending || loop_now() - a.heard >= AGENT_SILENCE_SECONDS)) {
        if (poll(p, 2, AGENT_SILENCE_SECONDS * 1000) < 0 && errno != EINTR)
            break;
        if (p[0].revents)
            pass_on(&a);
        reap(&a);
        if (p[1].revents && !a.is_ending && take_start(&a, ret, ret_name))
            return -1;
        p[1].fd = a.is_ending ? -1 : STDIN_FILENO;
    }
    if (a.anchor > 0)
        kill(a.anchor, SIGKILL);
    kill_orphans();
    free(a.all);
    return EXIT_CODE_OK;
}
