/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/tools/debug-daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/processes/spawn.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "containment/step/tree.h"
#include "model/rank-end.h"
#include "starter/containment/step-containment.h"
#include "starter/ending/step-end.h"
#include "starter/host-directories.h"
#include "starter/ranks/ranks.h"
#include "starter/services.h"
#include "wire/messages/launch.h"
#include "wire/messages/values.h"

/* ---- what it says ---------------------------------------------------------------------------- */

static void say_line(struct debug_daemon *d)
{
    d->line[d->nline] = 0;
    text_make_printable(d->line, d->nline);
    if (d->nline)
        log_note("debug daemon on %s: %s", launch_here(d->with->launch)->host, d->line);
    d->nline = 0;
}

static void said(void *arg, const char *p, size_t n)
{
    struct debug_daemon *d = arg;
    for (; n > 0; p++, n--) {
        if (*p == '\n' || d->nline == sizeof(d->line) - 1)
            say_line(d);
        if (*p != '\n')
            d->line[d->nline++] = *p;
    }
}

static void ended(void *arg, int status)
{
    struct debug_daemon *d = arg;
    const char *host = launch_here(d->with->launch)->host;
    say_line(d);
    if (WIFSIGNALED(status) && !(d->with->end->has_begun || ranks_have_ended(d->with->ranks)))
        log_warn("debug daemon on %s was killed by signal %d", host, WTERMSIG(status));
    else if (WIFEXITED(status) && WEXITSTATUS(status))
        log_warn("debug daemon on %s exited with code %d", host, WEXITSTATUS(status));
}

/* ---- the table ------------------------------------------------------------------------------- */

static const char *program_of(const struct step *s, struct rank_name name)
{
    for (size_t i = 0; i < s->napps; i++)
        if (rank_set_has(&s->apps[i].ranks, name))
            return s->apps[i].argv[0];
    return "";
}

static int write_table(const struct launch *l, const uint64_t *pids, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    for (size_t h = 0; f && h < l->nhosts; h++)
        for (uint32_t i = 0; i < rank_set_count(&l->hosts[h].ranks); i++) {
            struct rank_name name = rank_set_at(&l->hosts[h].ranks, i);
            fprintf(f, "%u %s %llu %s\n", name.rank, l->hosts[h].host,
                    (unsigned long long)pids[name.rank], program_of(&l->step, name));
        }
    return f && fclose(f) == 0 ? 0 : -1;
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Makes the environment: the first program's, and the variables for the tool. */
static char **make_environment(const struct launch *l, const char *table)
{
    const char *host = launch_here(l)->host;
    char *const *base = l->step.apps[0].envp;
    size_t n = words_count(base);
    char **envp = must(calloc(n + 5, sizeof(*envp)));
    for (size_t i = 0; i < n; i++)
        envp[i] = must(strdup(base[i]));
    envp[n] = text_format("MPRUN_PROCTABLE=%s", table);
    envp[n + 1] = text_format("MPRUN_HOST_NAME=%s", host);
    envp[n + 2] = text_format("MPRUN_HOST_INDEX=%u", l->host_index);
    envp[n + 3] = text_format("MPRUN_STEP_ID=%s", l->step.id);
    return envp;
}

/* Makes the tool's leaf, with the name of an impossible rank. */
static int set_birth(const struct starter_services *with, struct spawn *s,
                     struct cgroup_birth *birth, struct error *err)
{
    static const struct limits none;
    const struct rank_name name = {.world = UINT32_MAX};
    struct cgroup_tree *tree = with->containment->tree;
    if (!tree)
        return 0;
    struct cgroup_leaf *leaf = cgroup_leaf_create(tree, name, &none, err);
    if (!leaf)
        return -1;
    cgroup_leaf_birth(leaf, birth);
    s->cgroup_fd = birth->v2_fd;
    s->cgroup_fallback_fd = birth->v2_procs_fd;
    s->cgroup_procs_fds = birth->v1_procs_fds;
    s->ncgroup_procs_fds = birth->nv1;
    return 0;
}

static int start(struct debug_daemon *d, char **argv, char **envp, struct error *err)
{
    const struct app *app = &d->with->launch->step.apps[0];
    AUTO_FREE char *path = NULL;
    struct cgroup_birth birth;
    struct spawn s;
    if (spawn_resolve(argv[0], app->envp, app->directory, &path, err) < 0)
        return -1;
    spawn_init(&s);
    s.path = path;
    s.argv = argv;
    s.envp = envp;
    s.directory = app->directory;
    s.umask = d->with->launch->step.umask;
    s.limits = d->with->launch->step.soft_limits;
    if (set_birth(d->with, &s, &birth, err) < 0)
        return -1;
    d->tool = (struct host_tool){.said = said, .ended = ended, .arg = d, .fd = -1};
    return host_tool_start(&d->tool, d->with, &s, 0, err);
}

static int prepare(struct debug_daemon *d, const Mprun__DebugDaemon *m, struct error *err)
{
    const struct launch *l = d->with->launch;
    char table[160];
    const char *home = host_directories_main(d->with->directories, err);
    if (!home)
        return -1;
    snprintf(table, sizeof(table), "%s/proctable", home);
    if (write_table(l, m->pids, table) < 0)
        return error_errno(err, errno, "write '%s'", table);
    char **argv = strings_unpack(m->argv, m->n_argv), **envp = make_environment(l, table);
    int rc = start(d, argv, envp, err);
    words_free(argv);
    words_free(envp);
    return rc;
}

int debug_daemon_start(struct debug_daemon *d, const Mprun__DebugDaemon *m)
{
    const struct starter_services *with = d->with;
    struct error e;
    char text[1200];
    if (m->n_argv == 0 || m->n_pids != with->launch->step.nranks || d->tool.with)
        return -1;
    if (with->end->has_begun || prepare(d, m, &e) == 0)
        return 0;
    snprintf(text, sizeof(text), "on %s: --debug-daemon: %s", launch_here(with->launch)->host,
             e.text);
    step_end_cannot_run(with->end, EXIT_CODE_MPRUN, text);
    return 0;
}

void debug_daemon_close(struct debug_daemon *d)
{
    host_tool_forget(&d->tool);
}
