/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "common/files/tty.h"
#include "model/rank-end.h"
#include "rm-adapters/starter-side/starter-side.h"
#include "starter/agent/agent.h"
#include "starter/keeper/keeper.h"
#include "starter/keeper/leader.h"
#include "starter/worker.h"
#include "wire/start-channel/preamble.h"

static void detach_input_and_output(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    close(null);
}

static char received[320]; /* "mpstarter: on HOST: received SIG" */

/* Until mprun has sent the preamble. If the parent sends the signal, it is the mprun that has
 * forked this process, and it has said why: print nothing then. */
static void end_early(int signo, siginfo_t *info, void *context)
{
    char text[sizeof(received) + 100];
    char *end = stpcpy(text, received);
    end = stpcpy(end, sigabbrev_np(signo));
    end = stpcpy(end, " before mprun has said what there is to do\n");
    if (info->si_code != SI_USER || info->si_pid != getppid())
        fd_write_all(STDERR_FILENO, text, (size_t)(end - text));
    _exit(EXIT_CODE_MPRUN);
}

static const int ending[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
static const int others[] = {SIGCHLD, SIGUSR1, SIGUSR2};

static const struct sigaction by_default = {.sa_handler = SIG_DFL};
static const struct sigaction to_the_end = {.sa_sigaction = end_early, .sa_flags = SA_SIGINFO};

/* Sets the signals' action, and blocks or unblocks them (how, as of sigprocmask()). */
static void set_signals(const int *signals, size_t n, const struct sigaction *action, int how)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < n; i++)
        sigaddset(&set, signals[i]);
    if (how == SIG_BLOCK) /* first, so that none meets the action */
        sigprocmask(how, &set, NULL);
    for (size_t i = 0; i < n; i++)
        sigaction(signals[i], action, NULL);
    if (how == SIG_UNBLOCK)
        sigprocmask(how, &set, NULL);
}

/* No signal may kill the starter: a manager may take that for the end of the job. Before there is a
 * worker, a signal that is to end the starter ends it with a code. SIGCHLD is not ignored, because
 * children would then leave no status. */
static void take_signals(const char *hostname)
{
    snprintf(received, sizeof(received), "mpstarter: on %s: received SIG", hostname);
    set_signals(others, sizeof(others) / sizeof(others[0]), &by_default, SIG_BLOCK);
    set_signals(ending, sizeof(ending) / sizeof(ending[0]), &to_the_end, SIG_UNBLOCK);
}

/* Blocks signals until keeper and worker read them. */
static void block_signals(void)
{
    set_signals(ending, sizeof(ending) / sizeof(ending[0]), &by_default, SIG_BLOCK);
}

/* Takes a start channel that is a terminal: the process that has started us may not have put us in
 * the terminal's foreground yet. */
static int take_terminal(void)
{
    struct termios before;
    void (*background)(int) = signal(SIGTTOU, SIG_IGN);
    int rc = tcsetpgrp(STDIN_FILENO, getpgrp());
    if (rc == 0)
        rc = tty_make_raw(STDIN_FILENO, &before);
    signal(SIGTTOU, background);
    return rc;
}

static int number_host(struct preamble *p, struct error *err)
{
    unsigned number = 0;
    if (p->flags & PREAMBLE_NUMBERED && rm_starter_side_task_number(&number) < 0)
        return error_set(err, EPROTO, "the resource manager has not numbered its tasks");
    if (p->flags & PREAMBLE_NUMBERED) {
        p->host_id = number;
        p->flags |= getenv(START_AS_AGENT) ? PREAMBLE_AGENT : 0;
    }
    return 0;
}

/* Tells mprun that the starter is here, and reads the preamble. */
static int read_start(const char *hostname, struct preamble *ret)
{
    struct error e;
    AUTO_CLOSE int kept = -1;
    int has_kept = rm_starter_side_open_start(&kept, &e);
    if (has_kept > 0 && preamble_read(kept, ret, &e) == 0 && number_host(ret, &e) == 0)
        return 0;
    if (has_kept != 0) {
        log_error("on %s: %s", hostname, e.text);
        return -1;
    }
    if (isatty(STDIN_FILENO) && take_terminal() < 0)
        error_errno(&e, errno, "set the terminal of the start channel");
    else if (fd_write_all(STDOUT_FILENO, PREAMBLE_READY, strlen(PREAMBLE_READY)) < 0)
        error_errno(&e, errno, "write to the start channel");
    else if (preamble_read(STDIN_FILENO, ret, &e) == 0 && number_host(ret, &e) == 0)
        return 0;
    log_error("on %s: %s", hostname, e.text);
    return -1;
}

/* Forks the worker of one step, and keeps it. Returns the exit code; in the worker -1. */
static int run_keeper(struct keeper *k, struct preamble *start, struct kept_worker *ret)
{
    struct error e;
    enum log_level level = start->flags & PREAMBLE_VERBOSE ? LOG_DEBUG : LOG_NOTE;
    log_open("mpstarter", level);
    pid_t worker = keeper_fork(k, "mpstarter", level, 0, ret, &e);
    if (worker == 0)
        return -1;
    explicit_bzero(start, sizeof(*start));
    if (worker < 0) {
        log_error("on %s: %s", k->host, e.text);
        return EXIT_CODE_MPRUN;
    }
    detach_input_and_output();
    keeper_begin(k);
    return keeper_run(k);
}

/* Runs the agent. Returns its exit code; in a worker -1. */
static int run_agent(struct keeper *k, const uint8_t *key, struct preamble *start,
                     struct kept_worker *ret)
{
    int code = agent_run(k, key, start, ret);
    if (code < 0) /* the holder takes the end of the agent's output for the end of its task */
        detach_input_and_output();
    return code;
}

/* Runs as a starter: mprun has started this process, itself or by the manager. */
int starter_run(void)
{
    struct preamble start;
    struct keeper keeper;
    struct kept_worker worker;
    char hostname[256] = "this host";
    uint8_t key[LINK_KEY];
    int end_fd = -1;

    fd_open_standard();
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN); /* the reader of our output may have gone */
    mode_t mask = umask(077); /* whatever the resource manager has set; ranks have mprun's */
    gethostname(hostname, sizeof(hostname) - 1);
    take_signals(hostname);
    if (read_start(hostname, &start) < 0)
        return EXIT_CODE_MPRUN;
    bool is_agent = start.flags & PREAMBLE_AGENT;
    int connected = is_agent ? agent_open_channel(hostname, &start, key) : 0;
    if (connected < 0)
        return EXIT_CODE_MPRUN;
    block_signals();
    pid_t rest = rm_starter_side_counts_sessions() ? leader_fork(&end_fd) : 0;
    if (rest > 0) {
        explicit_bzero(&start, sizeof(start));
        detach_input_and_output();
        return leader_wait(rest, end_fd);
    }
    keeper_init(&keeper, hostname, mask);
    int code = is_agent ? run_agent(&keeper, connected ? key : NULL, &start, &worker)
                        : run_keeper(&keeper, &start, &worker);
    if (code >= 0) {
        leader_tell(end_fd, code);
        return code;
    }
    explicit_bzero(key, sizeof(key));
    cleanup_close(&end_fd);
    return worker_run(&worker, &start, hostname);
}
