/* SPDX-License-Identifier: BSD-3-Clause */
/* sweep-dead-starter.c - a dead starter of this machine is swept up */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/files/path.h"
#include "common/processes/proc.h"
#include "common/text/words.h"
#include "containment/job-cgroup/parents.h"
#include "containment/step/orphans.h"
#include "launcher/start/starter-private.h"
#include "launcher/step/job-suspension.h"
#include "launcher/step/step-record.h"
#include "wire/host-directory.h"

void sweep_prepare(struct starters *s)
{
    s->nforeign = proc_children(getpid(), &s->foreign);
}

void sweep_spare(struct starters *s, pid_t pid)
{
    s->foreign = must(reallocarray(s->foreign, (size_t)s->nforeign + 1, sizeof(*s->foreign)));
    s->foreign[s->nforeign++] = pid;
}

/* Children that are older than the step, start clients of other hosts, and the processes of hosts
 * that still answer and are on this machine, too. */
static bool is_needed(const struct starters *s, pid_t pid)
{
    if (s->step.suspension->witness == pid)
        return true;
    for (int i = 0; i < s->nforeign; i++)
        if (s->foreign[i] == pid)
            return true;
    for (size_t i = 0; i < s->plan->nused; i++) {
        const struct starter *st = &s->of[i];
        bool is_worker = s->plan->used.hosts[i].here && s->step.record->facts[i].worker == pid;
        if ((st->client_pid == pid || is_worker) && (st->client_runs || starter_is_linked(st)))
            return true;
    }
    return false;
}

/* Orphans of keeper and worker come to mprun, a subreaper where a host is this machine. */
static void kill_orphans(const struct starters *s)
{
    for (int round = 0; round < SWEEP_ROUNDS; round++) {
        pid_t *children = NULL;
        int n = proc_children(getpid(), &children);
        bool any = false;
        for (int i = 0; i < n; i++) {
            if (children[i] <= 1 || is_needed(s, children[i]))
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
        reaper_collect(s->step.reaper);
    }
}

/* Where the host's starter makes its cgroups, when it died before it could say: in this process's
 * own cgroup, or above the step's part of it, into which mprun may have been moved. */
static void sweep_where_it_may_be(const struct starter *st)
{
    const struct host *h = st->host;
    AUTO(cgroup_parents_free) struct cgroup_parents parents;
    char inside[80], path[4096];
    const char *one = path;
    struct error e;
    if (cgroup_parents_own(NULL, 0, &parents, &e) < 0) {
        log_debug("host %s: %s", h->name, e.text);
        return;
    }
    snprintf(inside, sizeof(inside), "/mprun.%s-%d", st->all->plan->step.id, h->launch_index);
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
}

static void sweep_cgroups(const struct starter *st)
{
    const struct host *h = st->host;
    struct error e;
    char *const *paths = st->all->step.record->facts[h->launch_index].cgroup_paths;
    size_t n = words_count(paths);
    if (paths) {
        if (n && cgroup_sweep((const char *const *)paths, n, SWEEP_CGROUPS_MS, &e) < 0)
            log_warn("host %s: %s", h->name, e.text);
    } else {
        sweep_where_it_may_be(st);
    }
}

static void sweep_directory(const char *path)
{
    struct error e;
    if (path_remove_tree(path, &e) < 0)
        log_warn("%s", e.text);
}

/* The directories that a host makes where `base` is its TMPDIR; it may have died before that. */
static void sweep_below(const struct starter *st, const char *base)
{
    char path[512], name[HOST_DIRECTORY_NAME];
    host_directory_name(name, st->all->plan->key, st->host->launch_index);
    snprintf(path, sizeof(path), "%s/%s", base, name);
    sweep_directory(path);
}

void sweep_dead_starter(const struct starter *st)
{
    const struct starters *s = st->all;
    const char *tmp = getenv("TMPDIR");
    if (!s->plan->alloc.hosts[st->host->index].here)
        return;
    sweep_cgroups(st);
    kill_orphans(s);
    char *const *made = s->step.record->facts[st->host->launch_index].directories;
    for (size_t i = 0; made && made[i]; i++)
        sweep_directory(made[i]);
    if (tmp && tmp[0] == '/')
        sweep_below(st, tmp);
    sweep_below(st, "/tmp");
    sweep_below(st, "/dev/shm");
}
