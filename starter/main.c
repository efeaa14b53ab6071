/* SPDX-License-Identifier: BSD-3-Clause */
/* mpstarter - one per host, started by the resource manager or by mprun; never by hand */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/log.h"
#include "model/outcome.h"
#include "starter/keeper.h"
#include "starter/worker.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

static int usage(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("mpstarter (mprun) %s\n", PACKAGE_VERSION);
        return EXIT_CODE_OK;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        puts("mpstarter is started by mprun, one on each host; see mprun(1).");
        return EXIT_CODE_OK;
    }
    fprintf(stderr, "mpstarter: unknown argument '%s'; it is started by mprun, see mprun(1)\n",
            argv[1]);
    return EXIT_CODE_MPRUN;
}

static void detach_input_and_output(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    close(null);
}

/* Until keeper and worker read them: one that comes earlier must not end either by itself. */
static void block_signals(void)
{
    static const int signals[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaddset(&set, signals[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGCHLD, SIG_DFL); /* ignored, children would leave no status */
}

int main(int argc, char **argv)
{
    struct preamble start;
    struct error e;
    char hostname[256] = "this host";
    int pair[2];

    if (argc > 1)
        return usage(argc, argv);
    fd_open_standard();
    umask(077); /* whatever the resource manager's is; ranks have mprun's */
    log_open("mpstarter", LOG_NOTE);
    gethostname(hostname, sizeof(hostname) - 1);
    if (preamble_read(STDIN_FILENO, &start, &e) < 0) {
        log_error("on %s: %s", hostname, e.text);
        return EXIT_CODE_MPRUN;
    }
    if (start.flags & PREAMBLE_VERBOSE)
        log_open("mpstarter", LOG_DEBUG);
    /* orphans of the worker come to the keeper, so it has to be a subreaper before there are any */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        log_error("on %s: make a socket: %s", hostname, strerror(errno));
        return EXIT_CODE_MPRUN;
    }
    block_signals();
    pid_t keeper = getpid(), worker = fork();
    if (worker < 0) {
        log_error("on %s: fork: %s", hostname, strerror(errno));
        return EXIT_CODE_MPRUN;
    }
    if (worker == 0) {
        close(pair[0]);
        return worker_run(keeper, pair[1], &start, hostname);
    }
    close(pair[1]);
    explicit_bzero(&start, sizeof(start));
    detach_input_and_output();
    return keeper_run(worker, pair[0], hostname);
}
