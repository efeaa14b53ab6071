/* SPDX-License-Identifier: BSD-3-Clause */
#include "rm-adapters/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/loop.h"
#include "common/spawn.h"

/* Until the end of file, or the time is over: 0 or -1. */
static int read_until(int fd, double end, char *buf, size_t n)
{
    size_t have = 0;
    char rest[512];
    for (;;) {
        int full = have + 1 >= n;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        double left = end - loop_now();
        if (left <= 0 || poll(&p, 1, (int)(left * 1000) + 1) == 0)
            return -1;
        ssize_t got = read(fd, full ? rest : buf + have, full ? sizeof(rest) : n - 1 - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return (int)got;
        if (!full)
            have += (size_t)got;
        buf[have] = 0;
    }
}

int ask_command(const char *path, char *const argv[], double seconds, char *buf, size_t n)
{
    int fds[2], status = -1;
    struct spawn sp;
    buf[0] = 0;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -1;
    AUTO_CLOSE int in = fds[0], out = fds[1];
    spawn_init(&sp);
    sp.path = path;
    sp.argv = argv;
    sp.envp = environ;
    sp.fds[1] = out;
    sp.new_pgrp = 1;
    sp.die_with_parent = 1;
    pid_t pid = spawn_process(&sp, NULL, NULL);
    if (pid <= 1)
        return -1;
    close(take_fd(&out));
    int rc = read_until(in, loop_now() + seconds, buf, n);
    if (rc < 0)
        kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}
