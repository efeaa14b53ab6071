/* SPDX-License-Identifier: BSD-3-Clause */
/* sweep.c - what a starter of this machine has left when it died: processes, cgroups, directories
 *
 * Those of other machines are swept by the next step there, or by mprund. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/path.h"
#include "common/proc.h"
#include "containment/cgroup.h"
#include "launcher/run.h"
#include "wire/host-directory.h"

enum { SWEEP_MS = 4000 }; /* for the cgroups of a host to become empty */

/* Orphans of keeper and worker come to mprun, a subreaper where a host is this machine. Start
 * clients of other hosts are children as well, and stay; so do those of a shell that exec'ed
 * mprun. */
static int stays(const struct run *r, pid_t pid)
{
    if (suspension_has(r, pid))
        return 1;
    for (int i = 0; i < r->nforeign; i++)
        if (r->foreign[i] == pid)
            return 1;
    for (size_t i = 0; i < r->nhosts; i++) {
        struct host *h = &r->hosts[i];
        if (!h->channel_open && !starters_is_linked(h))
            continue;
        if (h->client_pid == pid || (r->alloc.hosts[i].here && (pid_t)h->worker_pid == pid))
            return 1;
    }
    return 0;
}

static void kill_orphans(struct run *r)
{
    for (int round = 0; round < 200; round++) {
        pid_t *children = NULL;
        int n = proc_children(getpid(), &children), any = 0;
        for (int i = 0; i < n; i++) {
            if (children[i] <= 1 || stays(r, children[i]))
                continue;
            kill(children[i], SIGKILL);
            any = 1;
        }
        free(children);
        if (!any)
            return;
        sigset_t chld;
        struct timespec bit = {.tv_nsec = 20 * 1000 * 1000};
        sigemptyset(&chld);
        sigaddset(&chld, SIGCHLD);
        sigtimedwait(&chld, NULL, &bit);
        reaper_collect(r->reaper);
    }
}

/* Where the host's starter makes its cgroups, when it died before it could say: in this process's
 * own cgroup, or above the step's part of it, into which mprun may have been moved. */
static void sweep_place(void *arg, const struct cgroup_place *place, const struct error *why)
{
    struct host *h = arg;
    char inside[80], path[4096];
    const char *one = path;
    struct error e;
    if (!place)
        return;
    snprintf(inside, sizeof(inside), "/mprun.%s-%d", h->run->step.id, h->launch_index);
    for (int c = -1; c < CGROUP_CONTROLLER_COUNT; c++) {
        const char *parent = c < 0 ? place->v2 : place->v1[c];
        const char *end = parent ? strstr(parent, inside) : NULL;
        size_t n = end ? (size_t)(end - parent) : parent ? strlen(parent) : 0;
        if (parent && n + sizeof(inside) < sizeof(path)) {
            snprintf(path, sizeof(path), "%.*s%s", (int)n, parent, inside);
            if (cgroup_sweep(&one, 1, SWEEP_MS, &e) < 0)
                log_warn("host %s: %s", h->name, e.text);
        }
    }
}

static void sweep_cgroups(struct host *h)
{
    struct error e;
    size_t n = 0;
    while (h->cgroup_paths && h->cgroup_paths[n])
        n++;
    if (h->cgroup_paths) {
        if (n && cgroup_sweep((const char *const *)h->cgroup_paths, n, SWEEP_MS, &e) < 0)
            log_warn("host %s: %s", h->name, e.text);
    } else if (cgroup_source_own.acquire(h->run->loop, NULL, 0, sweep_place, h, &e) < 0) {
        log_debug("host %s: %s", h->name, e.text);
    }
}

static void sweep_directory(const char *path)
{
    struct error e;
    if (path_remove_tree(path, &e) < 0)
        log_warn("%s", e.text);
}

/* The directories that a host makes where `base` is its TMPDIR; it may have died before it said so.
 */
static void sweep_below(struct host *h, const char *base)
{
    char path[512], name[HOST_DIRECTORY_NAME];
    host_directory_name(name, h->run->key, (uint32_t)h->launch_index);
    snprintf(path, sizeof(path), "%s/%s", base, name);
    sweep_directory(path);
}

void sweep_host(struct host *h)
{
    struct run *r = h->run;
    const char *tmp = getenv("TMPDIR");
    if (!r->alloc.hosts[h->index].here)
        return;
    sweep_cgroups(h);
    kill_orphans(r);
    for (size_t i = 0; h->directories && h->directories[i]; i++)
        sweep_directory(h->directories[i]);
    if (tmp && tmp[0] == '/')
        sweep_below(h, tmp);
    sweep_below(h, "/tmp");
    sweep_below(h, "/dev/shm");
}
