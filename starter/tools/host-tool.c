/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/tools/host-tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/processes/reaper.h"
#include "common/processes/spawn.h"
#include "starter/services.h"

static void close_output(struct host_tool *t)
{
    loop_io_destroy(take_ptr(t->io));
    cleanup_close(&t->fd);
}

/* Returns whether there may be more now. */
static bool read_some(struct host_tool *t)
{
    char buf[4096];
    ssize_t n = t->fd < 0 ? 0 : read(t->fd, buf, sizeof(buf));
    if (n > 0)
        t->said(t->arg, buf, (size_t)n);
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
        close_output(t);
    return n > 0;
}

static void readable(void *arg, int fd, unsigned events)
{
    read_some(arg);
}

static void too_long(void *arg)
{
    struct host_tool *t = arg;
    kill(t->pid, SIGKILL);
}

/* A callback of the reaper. Processes that the tool has left behind may hold its output open. */
static void reaped(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    enum { REST = 64 }; /* more than a pipe holds */
    struct host_tool *t = arg;
    for (int i = 0; i < REST && read_some(t); i++)
        ;
    close_output(t);
    loop_timer_stop(&t->limit);
    t->pid = 0;
    t->ended(t->arg, status);
}

int host_tool_start(struct host_tool *t, const struct starter_services *with, struct spawn *s,
                    double seconds, struct error *err)
{
    int ends[2];
    t->with = with;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_errno(err, errno, "make a pipe");
    t->fd = ends[0];
    s->fds[0] = -1;
    s->fds[1] = s->fds[2] = ends[1];
    t->pid = spawn_process(s, NULL, err);
    close(ends[1]);
    if (t->pid < 0) {
        t->pid = 0;
        close_output(t);
        return -1;
    }
    fd_set_nonblock(t->fd, 1);
    t->io = loop_io_create(with->loop, t->fd, LOOP_READ, readable, t);
    loop_timer_init(&t->limit, with->loop, too_long, t);
    if (seconds > 0)
        loop_timer_start(&t->limit, seconds, 0);
    reaper_add(with->reaper, t->pid, reaped, t);
    return 0;
}

void host_tool_forget(struct host_tool *t)
{
    if (!t->pid)
        return;
    reaper_remove(t->with->reaper, t->pid);
    loop_timer_stop(&t->limit);
    close_output(t);
    t->pid = 0;
}
