/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/keeper/leader.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "model/rank-end.h"
#include "starter/tunables.h"

pid_t leader_fork(int *ret_fd)
{
    int ends[2];
    *ret_fd = -1;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid_t child = fork();
    if (child >= 0) {
        *ret_fd = ends[child == 0];
        ends[child == 0] = -1;
    }
    cleanup_close(&ends[0]);
    cleanup_close(&ends[1]);
    return child;
}

static void unblock(int signo)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signo);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void die_of(int signo)
{
    signal(signo, SIG_DFL);
    raise(signo);
    unblock(signo);
}

int leader_wait(pid_t child, int fd)
{
    int code, status, rc = fd_read_all(fd, &code, sizeof(code));
    close(fd);
    if (rc == 0)
        return code;
    if (waitpid(child, &status, 0) != child)
        return EXIT_CODE_MPRUN;
    if (WIFSIGNALED(status))
        die_of(WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_CODE_MPRUN;
}

void leader_tell(int fd, int code)
{
    if (fd < 0)
        return;
    signal(SIGTERM, SIG_IGN); /* forgets what came before this end */
    signal(SIGTERM, SIG_DFL);
    if (fd_write_all(fd, &code, sizeof(code)) < 0)
        return;
    unblock(SIGTERM); /* a manager may send it first, and wait */
    poll(NULL, 0, LEADER_STAY_MS);
}
