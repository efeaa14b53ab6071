/* SPDX-License-Identifier: BSD-3-Clause */
/* sweep-dead-starter.c - a dead starter of this machine is swept up */
#include "launcher/start/sweep-dead-starter.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/path.h"
#include "common/proc.h"
#include "containment/parents/parents.h"
#include "containment/step/sweep.h"
#include "launcher/policy.h"
#include "launcher/hosts/host-table.h"
#include "launcher/start/starters.h"
#include "launcher/step-record.h"
#include "wire/host-directory.h"

struct sweep {
    const struct starters_step *step;
    bool (*is_needed)(void *arg, pid_t pid);
    void *arg;
    pid_t *foreign; /* children of a shell that exec'ed mprun */
    int nforeign;
};

struct sweep *sweep_create(const struct starters_step *step,
                           bool (*is_needed)(void *arg, pid_t pid), void *arg)
{
    struct sweep *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    *s = (struct sweep){.step = step, .is_needed = is_needed, .arg = arg};
    s->nforeign = proc_children(getpid(), &s->foreign);
    return s;
}

void sweep_destroy(struct sweep *s)
{
    if (s)
        free(s->foreign);
    free(s);
}

static bool stays(const struct sweep *s, pid_t pid)
{
    for (int i = 0; i < s->nforeign; i++)
        if (s->foreign[i] == pid)
            return true;
    return s->is_needed(s->arg, pid);
}

/* Orphans of keeper and worker come to mprun, a subreaper where a host is this machine. */
static void kill_orphans(const struct sweep *s)
{
    for (int round = 0; round < SWEEP_ROUNDS; round++) {
        pid_t *children = NULL;
        int n = proc_children(getpid(), &children);
        bool any = false;
        for (int i = 0; i < n; i++) {
            if (children[i] <= 1 || stays(s, children[i]))
                continue;
            kill(children[i], SIGKILL);
            any = true;
        }
        free(children);
        if (!any)
            return;
        sigset_t chld;
        struct timespec bit = {.tv_nsec = SWEEP_ROUND_MS * 1000 * 1000};
        sigemptyset(&chld);
        sigaddset(&chld, SIGCHLD);
        sigtimedwait(&chld, NULL, &bit);
        reaper_collect(s->step->reaper);
    }
}

/* Where the host's starter makes its cgroups, when it died before it could say: in this process's
 * own cgroup, or above the step's part of it, into which mprun may have been moved. */
static void sweep_where_it_may_be(const struct sweep *s, const struct host *h)
{
    struct cgroup_parents parents;
    char inside[80], path[4096];
    const char *one = path;
    struct error e;
    if (cgroup_parents_own(NULL, 0, &parents, &e) < 0) {
        log_debug("host %s: %s", h->name, e.text);
        return;
    }
    snprintf(inside, sizeof(inside), "/mprun.%s-%d", s->step->plan->step.id, h->launch_index);
    for (int c = -1; c < CGROUP_CONTROLLER_COUNT; c++) {
        const char *parent = c < 0 ? parents.v2 : parents.v1[c];
        const char *end = parent ? strstr(parent, inside) : NULL;
        size_t n = end ? (size_t)(end - parent) : parent ? strlen(parent) : 0;
        if (parent && n + sizeof(inside) < sizeof(path)) {
            snprintf(path, sizeof(path), "%.*s%s", (int)n, parent, inside);
            if (cgroup_sweep(&one, 1, SWEEP_CGROUPS_MS, &e) < 0)
                log_warn("host %s: %s", h->name, e.text);
        }
    }
    cgroup_parents_free(&parents);
}

static void sweep_cgroups(const struct sweep *s, const struct host *h)
{
    struct error e;
    size_t n = 0;
    char *const *paths = step_record_facts(s->step->record, h->launch_index)->cgroup_paths;
    while (paths && paths[n])
        n++;
    if (paths) {
        if (n && cgroup_sweep((const char *const *)paths, n, SWEEP_CGROUPS_MS, &e) < 0)
            log_warn("host %s: %s", h->name, e.text);
    } else {
        sweep_where_it_may_be(s, h);
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
static void sweep_below(const struct sweep *s, const struct host *h, const char *base)
{
    char path[512], name[HOST_DIRECTORY_NAME];
    host_directory_name(name, s->step->plan->key, h->launch_index);
    snprintf(path, sizeof(path), "%s/%s", base, name);
    sweep_directory(path);
}

void sweep_host(const struct sweep *s, const struct host *h)
{
    const char *tmp = getenv("TMPDIR");
    if (!s->step->plan->alloc.hosts[h->index].here)
        return;
    sweep_cgroups(s, h);
    kill_orphans(s);
    char *const *made = step_record_facts(s->step->record, h->launch_index)->directories;
    for (size_t i = 0; made && made[i]; i++)
        sweep_directory(made[i]);
    if (tmp && tmp[0] == '/')
        sweep_below(s, h, tmp);
    sweep_below(s, h, "/tmp");
    sweep_below(s, h, "/dev/shm");
}
