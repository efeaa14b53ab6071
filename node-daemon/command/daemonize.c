/* SPDX-License-Identifier: BSD-3-Clause */
/* daemonize.c - going into the background: who waits hears by a pipe when the daemon serves */
#include "node-daemon/command/command.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

int daemonize(int *ret, struct error *err)
{
    int p[2];
    char byte;
    int status;
    if (pipe(p) < 0) /* the end that is written to outlives an exec */
        return error_errno(err, errno, "go into the background");
    pid_t pid = fork();
    if (pid < 0) {
        close(p[0]);
        close(p[1]);
        return error_errno(err, errno, "go into the background");
    }
    if (pid > 0) {
        close(p[1]);
        if (read(p[0], &byte, 1) == 1)
            _exit(0);
        _exit(waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    close(p[0]);
    setsid();
    if (chdir("/") < 0)
        return error_errno(err, errno, "go into the background");
    *ret = p[1];
    return 0;
}
