/* SPDX-License-Identifier: BSD-3-Clause */
/* No loop and no allocation beyond the two lists: what this process does when everything else has
 * failed has to be short. */
#include "starter/keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/path.h"
#include "common/proc.h"
#include "containment/cgroup.h"
#include "model/outcome.h"

enum { THINGS = 64, PACKET = 4096, SWEEP_MS = 4000, KILL_SECONDS = 5 };

struct keeper {
    pid_t worker;
    int fd;
    const char *host;
    char *cgroups[THINGS], *directories[THINGS];
    size_t ncgroups, ndirectories;
    int stuck; /* the worker ended as it should, and could not remove everything */
};

void keeper_tell(int fd, enum keeper_message what, const char *text)
{
    char packet[PACKET];
    size_t n = strlen(text);
    if (n > sizeof(packet) - 2)
        return;
    packet[0] = (char)what;
    memcpy(packet + 1, text, n);
    while (send(fd, packet, n + 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

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

static void take_message(struct keeper *k, const char *text, enum keeper_message what)
{
    switch (what) {
    case KEEPER_CGROUP:
        remember(k->cgroups, &k->ncgroups, text);
        break;
    case KEEPER_DIRECTORY:
        remember(k->directories, &k->ndirectories, text);
        break;
    case KEEPER_STUCK:
        k->stuck = 1;
        break;
    case KEEPER_CLEANED:
        forget(k->cgroups, &k->ncgroups);
        forget(k->directories, &k->ndirectories);
        break;
    }
}

/* All packets that wait; 0 at end of file. */
static int take_messages(struct keeper *k)
{
    char packet[PACKET + 1];
    for (;;) {
        ssize_t n = recv(k->fd, packet, sizeof(packet) - 1, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n != 0;
        packet[n] = 0;
        take_message(k, packet + 1, (enum keeper_message)packet[0]);
    }
}

/* What is below us now; their children come to us as they die. */
static void kill_once(void)
{
    pid_t *children = NULL;
    int n = proc_children(getpid(), &children);
    for (int i = 0; i < n; i++)
        if (children[i] > 1)
            kill(children[i], SIGKILL);
    free(children);
}

/* Every process below us, level by level: the orphans of what dies come to us as subreaper. What
 * cannot die (state D) is named after a while, not waited for. */
static void kill_children(const char *host)
{
    sigset_t chld;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    for (double end = loop_now() + KILL_SECONDS; loop_now() < end;) {
        pid_t pid;
        kill_once();
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0 && errno == ECHILD)
            return;
        struct timespec bit = {.tv_nsec = 50 * 1000 * 1000};
        sigtimedwait(&chld, NULL, &bit);
    }
    log_error("on %s: processes of the step could not be killed", host);
}

static void remove_directories(struct keeper *k, int say)
{
    struct error e;
    for (size_t i = k->ndirectories; i > 0; i--)
        if (path_remove_tree(k->directories[i - 1], &e) < 0 && say)
            log_error("on %s: %s", k->host, e.text);
}

/* A manager that has killed the worker's group may kill us any moment: first what takes no time.
 * What dying processes still make meanwhile is removed afterwards. */
static void sweep(struct keeper *k)
{
    struct error e;
    kill_once();
    remove_directories(k, 0);
    if (k->ncgroups && cgroup_sweep((const char *const *)k->cgroups, k->ncgroups, SWEEP_MS, &e) < 0)
        log_error("on %s: %s", k->host, e.text);
    kill_children(k->host);
    remove_directories(k, 1);
    forget(k->cgroups, &k->ncgroups);
    forget(k->directories, &k->ndirectories);
}

static int worker_ended(struct keeper *k, int status)
{
    take_messages(k);
    if (WIFEXITED(status) && k->ncgroups == 0 && k->ndirectories == 0) {
        kill_children(k->host);
        return WEXITSTATUS(status);
    }
    if (WIFEXITED(status) && k->stuck) {
        sweep(k);
        return WEXITSTATUS(status);
    }
    const char *next = k->ncgroups + k->ndirectories ? "ending its ranks" : "it has no ranks";
    if (WIFSIGNALED(status))
        log_error("on %s: mpstarter's worker (pid %d) was killed by signal %d (%s); %s", k->host,
                  (int)k->worker, WTERMSIG(status), strsignal(WTERMSIG(status)), next);
    else
        log_error("on %s: mpstarter's worker (pid %d) ended early with code %d; %s", k->host,
                  (int)k->worker, WEXITSTATUS(status), next);
    sweep(k);
    return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : EXIT_CODE_MPRUN;
}

/* A process group of our own, although we may lead the one we are in: a short-lived child founds
 * the new group and we join it. A session leader cannot; then we stay. */
static void leave_group(void)
{
    int gate[2];
    char c;
    if (pipe(gate) < 0)
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

/* Signals for the starter are the worker's business; it may be waiting for them. */
static void pass_on(struct keeper *k, int signal_fd)
{
    struct signalfd_siginfo si;
    while (read(signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
        if (si.ssi_signo != SIGCHLD && si.ssi_code <= 0) /* sent by a process, not by a terminal */
            kill(k->worker, (int)si.ssi_signo);
}

int keeper_run(pid_t worker, int fd, const char *host)
{
    struct keeper k = {.worker = worker, .fd = fd, .host = host};
    static const int passed[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
        sigaddset(&set, passed[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    leave_group();
    int signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    struct pollfd p[2] = {{.fd = signal_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    for (;;) {
        int status;
        pid_t pid;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
            if (pid == worker)
                return worker_ended(&k, status);
        if (poll(p, 2, signal_fd < 0 ? 1000 : -1) < 0 && errno != EINTR)
            return EXIT_CODE_MPRUN;
        if (p[1].revents && !take_messages(&k))
            p[1].fd = -1; /* closed: the worker is ending, SIGCHLD follows */
        if (p[0].revents)
            pass_on(&k, signal_fd);
    }
}
