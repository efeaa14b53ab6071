/* SPDX-License-Identifier: BSD-3-Clause */
/* start-client.c - makes its pipes and its process */
#include "rm-adapters/processes/start-client.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/spawn.h"

/* Read and write ends of stdin, stdout, stderr; the last pair may be absent. */
struct pipes {
    int fds[3][2];
};

static void close_pipes(struct pipes *p)
{
    for (int i = 0; i < 3; i++) {
        cleanup_close(&p->fds[i][0]);
        cleanup_close(&p->fds[i][1]);
    }
}

static int open_pipes(struct pipes *p, int n, struct error *err)
{
    *p = (struct pipes){{{-1, -1}, {-1, -1}, {-1, -1}}};
    for (int i = 0; i < n; i++) {
        if (pipe2(p->fds[i], O_CLOEXEC) < 0) {
            error_errno(err, errno, "make a pipe");
            p->fds[i][0] = p->fds[i][1] = -1;
            close_pipes(p);
            return -1;
        }
    }
    return 0;
}

static pid_t spawn_client(const struct start_request *request, const char *path, char *const argv[],
                          const struct pipes *p, struct error *err)
{
    struct spawn sp;
    spawn_init(&sp);
    sp.path = path;
    sp.argv = argv;
    sp.envp = environ;
    sp.fds[0] = p->fds[0][0];
    sp.fds[1] = p->fds[1][1];
    sp.fds[2] = p->fds[2][1];
    if (sp.fds[2] < 0 && fcntl(STDERR_FILENO, F_GETFD) >= 0)
        sp.fds[2] = STDERR_FILENO;
    sp.new_pgrp = 1;
    sp.limits = request->soft_limits;
    sp.umask = request->umask;
    return spawn_process(&sp, NULL, err);
}

int client_start(const struct start_request *request, const char *path, char *const argv[],
                 bool own_stderr, reaper_fn ended, void *arg, struct start_channel *ret,
                 struct error *err)
{
    struct pipes p;
    if (open_pipes(&p, own_stderr ? 2 : 3, err) < 0)
        return -1;
    pid_t pid = spawn_client(request, path, argv, &p, err);
    if (pid <= 0) {
        close_pipes(&p);
        return -1;
    }
    if (reaper_add(request->reaper, pid, ended, arg) < 0) {
        close_pipes(&p); /* it sees the end of its input; the reaper takes it as an orphan */
        return error_errno(err, ENOMEM, "keep the start client's process");
    }
    *ret = (struct start_channel){.in_fd = take_fd(&p.fds[0][1]),
                                  .out_fd = take_fd(&p.fds[1][0]),
                                  .err_fd = take_fd(&p.fds[2][0]),
                                  .pid = pid};
    close_pipes(&p);
    return 0;
}
