/* SPDX-License-Identifier: BSD-3-Clause */
/* waitid(P_ALL) with WNOWAIT names the next zombie and, through the system call's fifth argument
 * that glibc does not pass on, gives its resource usage; the zombie goes only after its callback.
 * No pidfds, so this is the same on every kernel. */
#include "common/reaper.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
    pid_t pid;
    reaper_fn fn;
    void *arg;
    struct child *next;
};

enum { BUCKETS = 256 };

struct reaper {
    reaper_fn orphan;
    void *arg;
    struct child *table[BUCKETS];
};

struct reaper *reaper_create(reaper_fn orphan, void *arg)
{
    struct reaper *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->orphan = orphan;
    r->arg = arg;
    /* ignored, as we may have been started with, the kernel throws the status of children away */
    signal(SIGCHLD, SIG_DFL);
    return r;
}

void reaper_destroy(struct reaper *r)
{
    if (!r)
        return;
    for (int i = 0; i < BUCKETS; i++) {
        while (r->table[i]) {
            struct child *c = r->table[i];
            r->table[i] = c->next;
            free(c);
        }
    }
    free(r);
}

static struct child **find(struct reaper *r, pid_t pid)
{
    struct child **c = &r->table[(unsigned)pid % BUCKETS];
    while (*c && (*c)->pid != pid)
        c = &(*c)->next;
    return c;
}

int reaper_add(struct reaper *r, pid_t pid, reaper_fn fn, void *arg)
{
    struct child *c = calloc(1, sizeof(*c));
    if (!c)
        return -1;
    c->pid = pid;
    c->fn = fn;
    c->arg = arg;
    c->next = r->table[(unsigned)pid % BUCKETS];
    r->table[(unsigned)pid % BUCKETS] = c;
    return 0;
}

void reaper_remove(struct reaper *r, pid_t pid)
{
    struct child **at = find(r, pid), *c = *at;
    if (!c)
        return;
    *at = c->next;
    free(c);
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
        siginfo_t si;
        struct rusage usage;
        memset(&si, 0, sizeof(si));
        memset(&usage, 0, sizeof(usage));
        if (syscall(SYS_waitid, P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT, &usage) < 0) {
            if (errno == EINTR)
                continue;
            return;
        }
        pid_t pid = si.si_pid;
        if (pid <= 0)
            return;
        struct child **at = find(r, pid), *c = *at;
        if (c) {
            *at = c->next;
            c->fn(c->arg, pid, wait_status(&si), &usage);
            free(c);
        } else if (r->orphan) {
            r->orphan(r->arg, pid, wait_status(&si), &usage);
        }
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
}
