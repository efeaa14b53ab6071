/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
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
#include "common/fdio.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/must.h"
#include "common/proc.h"
#include "containment/cgroup/mounts.h"
#include "model/rank-end.h"
#include "plan/topology.h"
#include "starter/agent/local-mpruns.h"
#include "starter/errands/errand-processes.h"
#include "starter/keeper/keeper.h"
#include "starter/tunables.h"
#include "wire/start-channel/holder-socket.h"

struct started {
    pid_t pid; /* the starter's keeper */
    uint32_t number;
    int errands_fd; /* on which its worker asks for errands; -1: none */
};

struct agent {
    const char *hostname;
    const uint8_t *key; /* of the channel, if it is a connection; NULL: it is not */
    uint32_t last;      /* number of the last message */
    bool has_started;
    pid_t group;     /* of the manager's task, in which workers are */
    pid_t anchor;    /* the process that keeps that group; it ends when the manager ends the task */
    int signal_fd;   /* < 0: there are no signals to be read */
    double heard;    /* loop_now() of the holder's last message */
    bool is_ending;  /* the agent starts nothing more */
    bool is_unheard; /* nothing more comes on the channel */
    struct started *all;
    size_t n;
    struct polled polled; /* FIRST, one of each of these, and those of local */
    struct local_mpruns local;
    struct errand_processes errands;
};

enum { SIGNALS, CHANNEL, FIRST };

static void tell_ended(uint32_t number, int status)
{
    char line[AGENT_LINE_MAX];
    size_t n = agent_ended_line(number, status, line);
    if (fd_write_all(STDOUT_FILENO, line, n) < 0)
        log_debug("nobody is told that starter %u has ended", (unsigned)number);
}

/* The agent inherits what dead keepers leave: a worker without its keeper ends by itself. */
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

static void worker_ended(struct agent *a, struct started *s)
{
    if (s->errands_fd < 0)
        return;
    errand_processes_tell_nobody(&a->errands, s->errands_fd);
    close(take_fd(&s->errands_fd));
}

static void starter_ended(struct agent *a, size_t i, int status)
{
    worker_ended(a, &a->all[i]);
    tell_ended(a->all[i].number, status);
    a->all[i] = a->all[--a->n];
}

static void reap(struct agent *a)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        size_t i = 0;
        a->is_ending |= pid == a->anchor;
        errand_process_ended(&a->errands, pid, status);
        while (i < a->n && a->all[i].pid != pid)
            i++;
        if (i < a->n)
            starter_ended(a, i, status);
    }
}

/* Starts what a worker asks for: start clients of hosts below, whose agents outlive the step. */
static void take_errands(struct agent *a, struct started *s)
{
    char packet[KEEPER_PACKET + 1];
    int fds[KEEPER_FDS];
    ssize_t n;
    while ((n = keeper_receive(s->errands_fd, packet, fds)) > 0) {
        if (packet[0] == KEEPER_ERRAND)
            errand_process_start(&a->errands, packet + 1, (size_t)n - 1, fds, s->errands_fd);
        for (int i = 0; i < KEEPER_FDS; i++)
            cleanup_close(&fds[i]);
    }
    if (n == 0)
        worker_ended(a, s);
}

/* Passes a signal on to all steps. It also ends the agent, unless agents that this one has started
 * still run: then this one would stay with them, and start nothing. */
static void pass_on(struct agent *a)
{
    struct signalfd_siginfo si;
    while (read(a->signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
        if (si.ssi_signo == SIGCHLD)
            continue;
        for (size_t i = 0; i < a->n; i++)
            kill(a->all[i].pid, (int)si.ssi_signo);
        a->is_ending |= si.ssi_signo != SIGUSR1 && si.ssi_signo != SIGUSR2 && a->errands.n == 0;
    }
}

/* Leaves a process in the group of the task. A group without processes vanishes, and the manager
 * ends the task by a KILL to the group, which the agent has to see and survive. -1: no process. */
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

/* In a child: gives up what of the agent a starter does not need. */
static void become_starter(struct agent *a)
{
    prctl(PR_SET_NAME, "mpstarter");
    setpgid(0, a->group);
    close(a->signal_fd);
    for (size_t i = 0; i < a->n; i++)
        cleanup_close(&a->all[i].errands_fd);
    errand_processes_close(&a->errands);
    local_mpruns_close(&a->local);
    free(a->all);
    free(a->polled.all);
}

/* Forks. In the child it returns true, and *ret_errands_fd is the child's own. */
static bool start(struct agent *a, uint32_t number, int *ret_errands_fd)
{
    int pair[2] = {-1, -1};
    a->all = must(reallocarray(a->all, a->n + 1, sizeof(*a->all)));
    int rc = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
    pid_t agent = getpid(), pid = rc < 0 ? -1 : fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != agent)
            _exit(EXIT_CODE_MPRUN);
        become_starter(a);
        cleanup_close(&pair[0]);
        *ret_errands_fd = pair[1];
        return true;
    }
    if (pid < 0) {
        log_error("on %s: %s: %s", a->hostname, rc < 0 ? "make a socket" : "fork", strerror(errno));
        tell_ended(number, W_EXITCODE(EXIT_CODE_MPRUN, 0));
        cleanup_close(&pair[0]);
    } else {
        a->all[a->n++] = (struct started){.pid = pid, .number = number, .errands_fd = pair[0]};
    }
    cleanup_close(&pair[1]);
    return false;
}

/* In a child that is to be the starter of *ret it returns true. An agent that is ending starts
 * nothing, and says so. */
static bool take_start(struct agent *a, const struct agent_message *m, struct preamble *ret,
                       struct agent_child *ret_child, struct error *err)
{
    if (a->has_started) { /* a job of one step needs neither */
        topology_look();
        cgroup_mounts_once(NULL);
    }
    a->has_started = true;
    if (a->is_ending || preamble_unpack(m->data, m->n, ret, err) < 0) {
        tell_ended(m->number, W_EXITCODE(EXIT_CODE_MPRUN, 0));
    } else if (start(a, m->number, &ret_child->errands_fd)) {
        agent_starter_name(m->number, ret_child->name);
        return true;
    }
    explicit_bzero(ret, sizeof(*ret));
    return false;
}

static void listen_for_mpruns(struct agent *a, const struct agent_message *m)
{
    char job[HOLDER_JOB_MAX];
    snprintf(job, sizeof(job), "%.*s", (int)m->n, (const char *)m->data);
    local_mpruns_listen(&a->local, job, a->key);
}

/* Takes a message. In a child that is to be the starter of *ret it returns true. */
static bool take_message(struct agent *a, struct preamble *ret, struct agent_child *ret_child)
{
    struct error e = {0};
    struct agent_message m;
    bool is_child = false;
    a->heard = loop_now();
    if (agent_message_read(STDIN_FILENO, a->key, &m, &e) < 0 || m.what == AGENT_ENDS) {
        a->is_ending = a->is_unheard = true;
    } else if (m.number > a->last) { /* a repeated number does not come from the holder */
        a->last = m.number;
        if (m.what == AGENT_START)
            is_child = take_start(a, &m, ret, ret_child, &e);
        else if (m.what == AGENT_LISTEN)
            listen_for_mpruns(a, &m);
        else if (m.what == AGENT_PASS)
            local_mpruns_pass(&a->local, m.data, m.n);
    }
    if (e.code)
        log_error("on %s: %s", a->hostname, e.text);
    explicit_bzero(&m, sizeof(m));
    return is_child;
}

/* The connection becomes standard input and output, and the standard error of all starters. */
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

/* An agent that waits for those that it has started must not leave a start unanswered. */
static bool is_listening(const struct agent *a)
{
    return !a->is_unheard && (!a->is_ending || a->errands.n > 0);
}

static void await_events(struct agent *a)
{
    struct polled *p = &a->polled;
    p->n = 0;
    polled_add(p, a->signal_fd, POLLIN); /* SIGNALS, CHANNEL */
    polled_add(p, is_listening(a) ? STDIN_FILENO : -1, POLLIN);
    for (size_t i = 0; i < a->n; i++)
        polled_add(p, a->all[i].errands_fd, POLLIN);
    local_mpruns_poll(&a->local, p);
    if (poll(p->all, p->n, AGENT_SILENCE_SECONDS * 1000) < 0)
        for (size_t i = 0; i < p->n; i++)
            p->all[i].revents = 0;
}

/* Takes what has come. In a child that is to be the starter of *ret it returns true. */
static bool take_events(struct agent *a, struct preamble *ret, struct agent_child *ret_child)
{
    const struct pollfd *p = a->polled.all;
    bool has_message = p[CHANNEL].revents;
    local_mpruns_take(&a->local, p + FIRST + a->n);
    for (size_t i = 0; i < a->n; i++)
        if (p[FIRST + i].revents)
            take_errands(a, &a->all[i]);
    if (p[SIGNALS].revents)
        pass_on(a);
    reap(a);
    if (a->is_ending)
        local_mpruns_close(&a->local);
    return has_message && is_listening(a) && take_message(a, ret, ret_child);
}

/* Returns whether the holder has spoken in time. A suspended holder may speak again. */
static bool is_needed(const struct agent *a)
{
    return a->n > 0 || a->errands.n > 0 ||
           !(a->is_ending || loop_now() - a->heard >= AGENT_SILENCE_SECONDS);
}

int agent_run(const char *hostname, const uint8_t *key, mode_t mask, struct preamble *ret,
              struct agent_child *ret_child)
{
    static const int taken[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    struct agent a = {.hostname = hostname,
                      .key = key,
                      .group = getpgrp(),
                      .heard = loop_now(),
                      .local.listen_fd = -1,
                      .errands.umask = (int)mask};
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
    while (is_needed(&a)) {
        await_events(&a);
        if (take_events(&a, ret, ret_child))
            return -1;
    }
    local_mpruns_close(&a.local);
    if (a.anchor > 0)
        kill(a.anchor, SIGKILL);
    kill_orphans();
    free(a.all);
    free(a.polled.all);
    return EXIT_CODE_OK;
}
