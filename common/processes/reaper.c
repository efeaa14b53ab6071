/* SPDX-License-Identifier: BSD-3-Clause */
/* waitid(P_ALL) with WNOWAIT names the next zombie and, through the system call's fifth argument
 * that glibc does not pass on, gives its resource usage; the zombie goes only after its callback.
 * No pidfds, so this is the same on every kernel. */
#include "common/processes/reaper.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/must.h"

struct child {
    pid_t pid;
    reaper_fn fn;
    void *arg;
};

struct reaper {
    reaper_fn orphan;
    void *arg;
    struct child *children;
    size_t n;
};

struct reaper *reaper_create(reaper_fn orphan, void *arg)
{
    struct reaper *r = must(calloc(1, sizeof(*r)));
    r->orphan = orphan;
    r->arg = arg;
    /* ignored, as we may have been started with, the kernel throws the status of children away */
    signal(SIGCHLD, SIG_DFL);
    return r;
}

void reaper_destroy(struct reaper *r)
{
    if (r)
        free(r->children);
    free(r);
}

void reaper_add(struct reaper *r, pid_t pid, reaper_fn fn, void *arg)
{
    r->children = must(reallocarray(r->children, r->n + 1, sizeof(*r->children)));
    r->children[r->n++] = (struct child){pid, fn, arg};
}

/* Forget the child: what is to be called for it. */
static struct child take(struct reaper *r, pid_t pid)
{
    for (size_t i = 0; i < r->n; i++) {
        struct child found = r->children[i];
        if (found.pid != pid)
            continue;
        r->children[i] = r->children[--r->n];
        return found;
    }
    return (struct child){.fn = r->orphan, .arg = r->arg};
}

void reaper_remove(struct reaper *r, pid_t pid)
{
    (void)take(r, pid);
}

static int wait_status(const siginfo_t *si)
{
    if (si->si_code == CLD_EXITED)
        return W_EXITCODE(si->si_status & 0xff, 0);
    return si->si_status | (si->si_code == CLD_DUMPED ? 0x80 : 0);
}

void reaper_collect(struct reaper *r)
{
    for (;;) {
        siginfo_t si = {0};
        struct rusage usage = {0};
        if (syscall(SYS_waitid, P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT, &usage) < 0) {
            if (errno == EINTR)
                continue;
            return;
        }
        pid_t pid = si.si_pid;
        if (pid <= 0)
            return;
        struct child c = take(r, pid);
        if (c.fn)
            c.fn(c.arg, pid, wait_status(&si), &usage);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
}
