/* SPDX-License-Identifier: BSD-3-Clause */
/* process.c - a process that did not ask: held on to, and looked at */
#include "node-daemon/watch/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fdio.h"
#include "common/proc.h"

enum { NR_PIDFD_OPEN = 434, STATUS_MAX = 1 << 20, ENVIRONMENT_MAX = 4 << 20, GROUPS_MAX = 65536 };

/* ---- holding ----------------------------------------------------------------------------------
 */

static const char *line_of(const char *status, const char *key)
{
    const char *line = strstr(status, key);
    return line ? line + strlen(key) : NULL;
}

/* The name stands first, but the kernel writes a newline in it as "\n", so no line is a name's. */
static int take_ids(const char *status, struct process *p)
{
    const char *parent = line_of(status, "\nPPid:"), *ids = line_of(status, "\nUid:");
    return parent && ids && sscanf(parent, "%d", &p->parent) == 1 &&
                   sscanf(ids, "%u %u", &p->real_uid, &p->peer.uid) == 2
               ? 0
               : -1;
}

static int take_groups(const char *status, struct peer *p)
{
    const char *at = line_of(status, "\nGroups:");
    size_t most = at ? strcspn(at, "\n") / 2 + 1 : 0;
    if (most == 0 || most > GROUPS_MAX || !(p->groups = calloc(most, sizeof(*p->groups))))
        return -1;
    for (char *end; p->ngroups < most; at = end) {
        unsigned long group = strtoul(at, &end, 10);
        if (end == at || memchr(at, '\n', (size_t)(end - at)))
            break;
        p->groups[p->ngroups++] = (gid_t)group;
    }
    return 0;
}

static int look(struct process *p)
{
    AUTO_FREE char *status = file_slurp_at(p->dir, "status", STATUS_MAX, NULL);
    if (!status)
        return -1;
    errno = EPROTO;
    return take_ids(status, p) < 0 ? -1 : take_groups(status, &p->peer);
}

/* The number was the process's own while the directory that was opened before is still there. */
static int hold(struct process *p)
{
    struct proc_stat st;
    p->peer.pidfd = (int)syscall(NR_PIDFD_OPEN, p->peer.pid, 0);
    if (p->peer.pidfd < 0 && errno != ENOSYS)
        return -1;
    if (proc_stat_read(p->peer.pid, &st) < 0)
        return -1;
    p->peer.starttime = st.starttime;
    return look(p);
}

int process_open(pid_t pid, struct process *ret)
{
    char path[32];
    struct process p = {.peer = {.pid = pid, .pidfd = -1}};
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    p.dir = pid > 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (p.dir < 0)
        return -1;
    if (hold(&p) < 0) {
        int saved = errno;
        process_close(&p);
        errno = saved;
        return -1;
    }
    *ret = p;
    return 0;
}

void process_close(struct process *p)
{
    cleanup_close(&p->dir);
    p->dir = -1;
    peer_free(&p->peer);
}

int process_environment(const struct process *p, const char *name, char *buf, size_t n)
{
    size_t len, known = strlen(name);
    AUTO_FREE char *all = file_slurp_at(p->dir, "environ", ENVIRONMENT_MAX, &len);
    for (const char *at = all; all && at < all + len; at += strlen(at) + 1)
        if (!strncmp(at, name, known) && at[known] == '=')
            return (size_t)snprintf(buf, n, "%s", at + known + 1) < n ? 0 : -1;
    return -1;
}

/* ---- programs ---------------------------------------------------------------------------------
 */

int process_runs(const struct process *p, const struct program *program)
{
    return program_runs_in(p->dir, program);
}

/* It is still the parent after it was looked at, so it was that one. */
int process_is_child_of(const struct process *p, const struct program *daemon)
{
    struct process parent;
    struct process now = {.dir = p->dir, .peer = {.pidfd = -1}};
    if (process_open(p->parent, &parent) < 0)
        return 0;
    int is = parent.real_uid == 0 && program_ran_in(parent.dir, daemon) && look(&now) == 0 &&
             now.parent == p->parent;
    free(now.peer.groups);
    process_close(&parent);
    return is;
}
