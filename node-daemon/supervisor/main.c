/* SPDX-License-Identifier: BSD-3-Clause */
/* mprund-supervisor - starts the processes of mprund, and starts again those that die
 *
 *     mprund-supervisor READY PIDFILE VERBOSE SYSLOG MPRUND [its words...]
 *
 * mprund becomes this when it has read its options. It is root, so it is small: it reads no
 * configuration and no byte of a user's. READY: a descriptor that hears when mprund serves, or -1;
 * PIDFILE: "": none. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "containment/mprund-protocol.h"
#include "node-daemon/lib/logging.h"
#include "node-daemon/lib/ready.h"
#include "node-daemon/supervisor/lock.h"
#include "node-daemon/supervisor/supervisor.h"

enum { CODE_FAILED = 1, CODE_RUNS_ALREADY = 4, END_S = 5, PRIORITY = -10 };

struct supervisor {
    struct children children;
    int ready; /* descriptor; -1: told, or nobody wants to know */
    bool is_told, ends;
    const char *pidfile;
    int to_syslog;
    char **words;
};

/* ---- what happens ---------------------------------------------------------------------------- */

static void serves(struct supervisor *s)
{
    struct error e;
    if (s->is_told)
        return;
    s->is_told = true;
    if (*s->pidfile && pidfile_write(s->pidfile, &e) < 0)
        log_error("%s", e.text);
    if (s->to_syslog)
        logging_open(log_level(), 1);
    ready_tell(s->ready);
}

static void make_sockets(struct supervisor *s)
{
    struct error e;
    if (lock_take(GRANT_SOCKET, &s->children.gift[GIFT_LOCK], &e) < 0)
        log_error("%s", e.text);
    else if (resolver_run(s->words, RESOLVE_SOCKETS, &s->children) == 0)
        children_give_sockets(&s->children);
}

/* Read the configuration again. The place of the jobs stays as it was. */
static void reload(struct supervisor *s)
{
    /* who asks from now on is answered by the new configuration */
    children_signal(&s->children, ROLE_FRONT, SIGSTOP);
    int rc = resolver_run(s->words, RESOLVE_RELOAD, &s->children);
    if (rc == 0)
        children_signal(&s->children, ROLE_FRONT, SIGHUP);
    children_signal(&s->children, ROLE_FRONT, SIGCONT);
    if (rc < 0) {
        log_error("the configuration is not read again; going on with the old one");
        return;
    }
    children_signal(&s->children, ROLE_READER, SIGTERM);
    children_signal(&s->children, ROLE_SIGNER, SIGTERM);
    children_signal(&s->children, ROLE_WATCH, SIGTERM);
    log_note("the configuration was read again");
}

static void reap(struct supervisor *s)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        children_ended(&s->children, pid, status);
}

static void hear_of_signals(struct supervisor *s, int fd)
{
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            reap(s);
        else if (info.ssi_signo == SIGHUP)
            reload(s);
        else
            s->ends = true;
    }
}

static void hear_of_child(struct supervisor *s, struct child *one)
{
    struct told_record r;
    AUTO_CLOSE int none = -1;
    if (record_receive(one->control, &r, sizeof(r), &none) <= 0) {
        cleanup_close(&one->control); /* it ends, or says what is not to be said */
        if (one->pid > 0)
            (void)kill(one->pid, SIGKILL);
    } else if (one != &s->children.of[ROLE_FRONT]) {
        return;
    } else if (r.head.what == TOLD_READY) {
        serves(s);
    } else if (r.head.what == TOLD_SOCKETS_GONE) {
        make_sockets(s);
    }
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static void run(struct supervisor *s, int signals)
{
    while (!s->ends) {
        struct pollfd p[ROLES + 1] = {{.fd = signals, .events = POLLIN}};
        children_start(&s->children);
        for (size_t i = 0; i < ROLES; i++)
            p[i + 1] = (struct pollfd){.fd = s->children.of[i].control, .events = POLLIN};
        if (poll(p, ROLES + 1, children_wait_ms(&s->children)) < 0 && errno != EINTR)
            return;
        for (size_t i = 0; i < ROLES; i++)
            if (p[i + 1].revents)
                hear_of_child(s, &s->children.of[i]);
        if (p[0].revents)
            hear_of_signals(s, signals);
    }
}

/* Front first: it answers nobody any more when the others go. */
static void end(struct supervisor *s)
{
    int left;
    double by = children_now() + END_S;
    log_note("ends; jobs go on");
    do {
        left = 0;
        bool front_runs = s->children.of[ROLE_FRONT].pid > 0;
        for (unsigned role = 0; role < ROLES; role++) {
            left += s->children.of[role].pid > 0;
            if (role == ROLE_FRONT || !front_runs)
                children_signal(&s->children, (enum role)role,
                                children_now() < by ? SIGTERM : SIGKILL);
        }
        (void)poll(NULL, 0, left ? 2 : 0);
        reap(s);
    } while (left);
    if (*s->pidfile)
        (void)unlink(s->pidfile);
}

/* Those that its caller ignores, nohup say, would not come. */
static int open_signals(void)
{
    static const int hears[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(hears) / sizeof(hears[0]); i++) {
        (void)signal(hears[i], SIG_DFL);
        sigaddset(&set, hears[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static int begin(struct supervisor *s)
{
    struct error e;
    struct rlimit no_core = {0, 0}; /* nor for children: the resolver reads the key */
    (void)setrlimit(RLIMIT_CORE, &no_core);
    memset(s->children.ground, -1, sizeof(s->children.ground));
    memset(s->children.gift, -1, sizeof(s->children.gift));
    for (size_t i = 0; i < ROLES; i++)
        s->children.of[i].control = -1;
    /* before anything is done that another daemon may be doing */
    if (lock_take(GRANT_SOCKET, &s->children.gift[GIFT_LOCK], &e) < 0) {
        log_error("%s", e.text);
        return e.code == EADDRINUSE ? CODE_RUNS_ALREADY : CODE_FAILED;
    }
    if (resolver_run(s->words, RESOLVE_START, &s->children) < 0)
        return CODE_FAILED;
    if (rights_of_supervisor() < 0) {
        log_error("lay down rights: %s (mprund runs as root)", strerror(errno));
        return CODE_FAILED;
    }
    return 0;
}

int main(int argc, char **argv)
{
    char self[PLAN_PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    fd_open_standard();
    umask(022);
    if (argc < 6 || n <= 0) {
        fprintf(stderr, "mprund-supervisor: mprund starts this program\n");
        return CODE_FAILED;
    }
    (void)fcntl(atoi(argv[1]), F_SETFD, FD_CLOEXEC); /* who has it open keeps others waiting */
    self[n] = 0;
    *strrchr(self, '/') = 0;
    struct supervisor s = {.children = {.directory = self},
                           .ready = atoi(argv[1]),
                           .pidfile = argv[2],
                           .to_syslog = atoi(argv[4]),
                           .words = argv + 5};
    logging_open(atoi(argv[3]) ? LOG_DEBUG : LOG_NOTE, 0);
    /* a host that is full of ranks is where it is asked; what it costs is little */
    (void)setpriority(PRIO_PROCESS, 0, PRIORITY);
    (void)signal(SIGPIPE, SIG_IGN); /* who reads what mprund says may go; so it is for all parts */
    int signals = open_signals();
    int code = signals < 0 ? CODE_FAILED : begin(&s);
    if (code)
        return code;
    run(&s, signals);
    end(&s);
    return 0;
}
