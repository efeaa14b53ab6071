/* SPDX-License-Identifier: BSD-3-Clause */
/* process.c - a process that did not ask: held on to, and looked at */
#include "node-daemon/watch/process.h"

#include <envz.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "node-daemon/lib/proc-threads.h"

enum { STATUS_MAX = 1 << 20, STAT_MAX = 1024, ENVIRONMENT_MAX = 4 << 20, GROUPS_MAX = 65536 };
enum { STATE = 3, START_TIME = 22, ENV_START = 50 }; /* fields of /proc/PID/stat */

/* ---- holding --------------------------------------------------------------------------------- */

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
                   sscanf(ids, "%u %u", &p->real_uid, &p->uid) == 2
               ? 0
               : -1;
}

static int take_groups(const char *status, struct process *p)
{
    const char *at = line_of(status, "\nGroups:");
    size_t most = at ? strcspn(at, "\n") / 2 + 1 : 0;
    if (most == 0 || most > GROUPS_MAX)
        return -1;
    p->groups = must(calloc(most, sizeof(*p->groups)));
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
    return take_ids(status, p) < 0 ? -1 : take_groups(status, p);
}

int process_open(pid_t pid, struct process *ret)
{
    char path[32];
    struct process p = {.pid = pid};
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    p.dir = pid > 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (p.dir < 0)
        return -1;
    if (look(&p) < 0) {
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
    free(take_ptr(p->groups));
}

/* A field of /proc/PID/stat by its number in proc(5), and those behind it; NULL: there is none. The
 * name, before the state, may have any letters, and ends with the last ')'. */
static const char *field_at(const struct process *p, int number, char *stat, size_t n)
{
    const char *at = file_read_at(p->dir, "stat", stat, n) > 0 ? strrchr(stat, ')') : NULL;
    for (int field = STATE - 1; at && field < number; field++)
        at = (at = strchr(at, ' ')) ? at + 1 : NULL;
    return at;
}

bool process_is_alive(const struct process *p)
{
    return proc_is_alive(p->dir);
}

double process_start(const struct process *p)
{
    char stat[STAT_MAX];
    unsigned long long ticks;
    const char *at = field_at(p, START_TIME, stat, sizeof(stat));
    if (!at || sscanf(at, "%llu", &ticks) != 1)
        return HUGE_VAL;
    return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

double host_up_seconds(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool process_has_group(const struct process *p, gid_t group)
{
    for (size_t i = 0; i < p->ngroups; i++)
        if (p->groups[i] == group)
            return true;
    return false;
}

/* ---- environment ----------------------------------------------------------------------------- */

/* Where the kernel says that the environment is, to who may look into the process. */
static size_t environment_at(const struct process *p, unsigned long *ret)
{
    char stat[STAT_MAX];
    unsigned long begin, end;
    const char *at = field_at(p, ENV_START, stat, sizeof(stat));
    if (!at || sscanf(at, "%lu %lu", &begin, &end) != 2 || begin == 0 || end <= begin)
        return 0;
    *ret = begin;
    return end - begin;
}

/* /proc/PID/environ is a file of the process's user, which who has CAP_SYS_PTRACE alone cannot
 * open; its memory can be read. */
static char *read_environment(const struct process *p, size_t *ret_len)
{
    unsigned long begin;
    size_t n = environment_at(p, &begin);
    AUTO_FREE char *all = n > 0 && n < ENVIRONMENT_MAX ? must(malloc(n + 1)) : NULL;
    struct iovec to = {.iov_base = all, .iov_len = n};
    struct iovec from = {.iov_base = (void *)begin, .iov_len = n}; /* NOLINT: not our memory */
    ssize_t got = all ? process_vm_readv(p->pid, &to, 1, &from, 1, 0) : -1;
    if (got < 0 || !process_is_alive(p)) /* what was read was perhaps another's */
        return NULL;
    all[got] = 0;
    *ret_len = (size_t)got;
    return take_ptr(all);
}

int process_environment(const struct process *p, const char *name, char *buf, size_t n)
{
    size_t len = 0;
    AUTO_FREE char *all = read_environment(p, &len);
    const char *value = all ? envz_get(all, len, name) : NULL;
    return value && (size_t)snprintf(buf, n, "%s", value) < n ? 0 : -1;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* A user's program may be on a file system whose server, the user's own perhaps, never answers:
 * which file it is the kernel knows, and nobody is asked. */
static int take_file(int dir, const char *name, struct program *p)
{
    struct statx x;
    if (statx(dir, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &x) < 0)
        return -1;
    p->dev = makedev(x.stx_dev_major, x.stx_dev_minor);
    p->ino = x.stx_ino;
    return 0;
}

void program_look(struct program *p)
{
    p->ino = 0;
    (void)take_file(AT_FDCWD, p->path, p);
}

int program_of(pid_t pid, struct program *ret)
{
    char path[32];
    struct program its = {.path = NULL};
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    if (take_file(AT_FDCWD, path, &its) < 0)
        return -1;
    *ret = its;
    return 0;
}

int program_is(const struct program *a, const struct program *b)
{
    return a->ino != 0 && a->ino == b->ino && a->dev == b->dev;
}

int process_runs(const struct process *p, const struct program *program)
{
    struct program its = {.path = NULL};
    return take_file(p->dir, "exe", &its) == 0 && program_is(&its, program);
}

/* The same, or the file of that path that was there when it began, and was replaced: the path is a
 * text, but of root's processes only. */
static int ran_it(const struct process *p, const struct program *program)
{
    static const char gone[] = " (deleted)";
    char path[PATH_MAX];
    if (process_runs(p, program))
        return 1;
    ssize_t n = readlinkat(p->dir, "exe", path, sizeof(path) - 1);
    size_t len = strlen(program->path);
    path[n < 0 ? 0 : n] = 0;
    return !strncmp(path, program->path, len) && !strcmp(path + len, gone);
}

/* It is still the parent after it was looked at, so it was that one. */
int process_is_child_of(const struct process *p, const struct program *daemon)
{
    AUTO(process_close) struct process parent = {.dir = -1};
    struct process now = {.dir = p->dir};
    int is = process_open(p->parent, &parent) == 0 && parent.real_uid == 0 &&
             ran_it(&parent, daemon) && look(&now) == 0 && now.parent == p->parent;
    free(now.groups);
    return is;
}

int process_directory(const struct process *p, char *path, size_t n, struct program *ret)
{
    struct program its = {.path = NULL};
    ssize_t len = readlinkat(p->dir, "cwd", path, n - 1);
    if (len < 0 || take_file(p->dir, "cwd", &its) < 0)
        return -1;
    path[len] = 0;
    *ret = its;
    return 0;
}
