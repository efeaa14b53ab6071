/* SPDX-License-Identifier: BSD-3-Clause */
/* What is to be run, from the command line to a step that hosts can be told of; no side effects. */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/number.h"
#include "common/step-directory.h"
#include "launcher/preload.h"
#include "launcher/run.h"
#include "wire/handshake.h"
#include "wire/tree.h"

enum { SAMPLE_PERIOD = 2 }; /* seconds between samples of memory, for reports */

static void random_name(char *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = STEP_ID_LETTERS[randombytes_uniform(32)];
    to[n] = 0;
}

/* Hosts that are named are reached by ssh where no manager is found. */
static void choose_adapter(struct run *r)
{
    const struct host_request *named = &r->cmd.hosts;
    r->adapter = r->cmd.rm;
    if (r->adapter) {
        snprintf(r->adapter_reason, sizeof(r->adapter_reason), "asked for with --rm");
        return;
    }
    r->adapter = rm_adapter_detect(r->adapter_reason, sizeof(r->adapter_reason));
    if (r->adapter != &rm_adapter_local || (!named->nlists && !named->nfiles))
        return; /* a manager's hosts are chosen from */
    r->adapter = &rm_adapter_ssh;
    snprintf(r->adapter_reason, sizeof(r->adapter_reason), "hosts are named with %s",
             named->nfiles ? "--hostfile" : "--host");
}

static int make_plan(struct run *r, struct error *err)
{
    struct plan_options o = {
        .nranks = r->cmd.nranks,
        .per_host = r->cmd.per_host,
        .cores = r->cmd.rank_cores,
        .oversubscribe = r->cmd.oversubscribe,
    };
    return plan(&r->alloc, &o, &r->plan, err);
}

/* ---- the step -------------------------------------------------------------------------------- */

static int copy_app(struct run *r, const struct cmdline_app *from, uint32_t first, struct app *to,
                    struct error *err)
{
    AUTO_FREE char *here = getcwd(NULL, 0);
    if (!here)
        return error_errno(err, errno, "find the working directory");
    to->argv = calloc(from->argc + 1, sizeof(*to->argv));
    for (size_t i = 0; to->argv && i < from->argc; i++)
        to->argv[i] = strdup(from->argv[i]);
    to->envp = cmdline_app_environ(from, environ);
    to->given_env = cmdline_app_given(from);
    if (from->wdir && from->wdir[0] != '/') {
        if (asprintf(&to->directory, "%s/%s", here, from->wdir) < 0)
            to->directory = NULL;
    } else {
        to->directory = from->wdir ? strdup(from->wdir) : take_ptr(here);
    }
    if (!to->argv || !to->envp || !to->given_env || !to->directory)
        return error_errno(err, ENOMEM, "prepare the program");
    to->first_rank = first;
    to->count = from->nranks;
    return 0;
}

static int copy_apps(struct run *r, uint32_t total, struct error *err)
{
    struct step *s = &r->step;
    uint32_t first = 0;
    s->apps = calloc(r->cmd.napps, sizeof(*s->apps));
    if (!s->apps)
        return error_errno(err, ENOMEM, "prepare the programs");
    for (size_t i = 0; i < r->cmd.napps; i++) {
        s->napps = i + 1;
        if (copy_app(r, &r->cmd.apps[i], first, &s->apps[i], err) < 0)
            return -1;
        if (s->apps[i].count == 0)
            s->apps[i].count = total;
        first += s->apps[i].count;
    }
    s->nranks = first;
    return 0;
}

static void read_own_limits(struct step *s)
{
    for (int i = 0; i < RLIM_NLIMITS; i++)
        if (getrlimit(i, &s->soft_limits[i]) < 0)
            s->soft_limits[i].rlim_cur = RLIM_INFINITY;
    /* mprun's own directories and sockets must not depend on it */
    s->umask = (int)umask(077);
    errno = 0;
    s->nice = getpriority(PRIO_PROCESS, 0);
}

/* A start channel and a link for each host; ranks get the limit that was found. */
static void raise_files_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static int copy_host_env(const char *const *names, struct step *s, struct error *err)
{
    size_t n = 0;
    while (names && names[n])
        n++;
    s->host_env = calloc(n + 1, sizeof(*s->host_env));
    for (size_t i = 0; s->host_env && i < n; i++)
        if (!(s->host_env[i] = strdup(names[i])))
            return error_errno(err, ENOMEM, "prepare the environment");
    return s->host_env ? 0 : error_errno(err, ENOMEM, "prepare the environment");
}

/* OMP_NUM_THREADS of the ranks, the most of all programs; 0: not set, or no number ("4,2": 4). */
static uint32_t threads_of_ranks(const struct step *s)
{
    static const char name[] = "OMP_NUM_THREADS=";
    uint32_t most = 0;
    for (size_t i = 0; i < s->napps; i++)
        for (char **e = s->apps[i].envp; *e; e++) {
            AUTO_FREE char *first = NULL;
            int64_t n;
            if (strncmp(*e, name, strlen(name)) != 0)
                continue;
            const char *value = *e + strlen(name);
            first = strndup(value, strcspn(value, ","));
            if (first && number_parse(first, NULL, 1, CMDLINE_RANKS_MAX, &n, NULL) == 0 && n > most)
                most = (uint32_t)n;
        }
    return most;
}

static int make_step(struct run *r, struct error *err)
{
    struct step *s = &r->step;
    uint32_t total = 0;
    for (size_t i = 0; i < r->plan.nhosts; i++)
        total += r->plan.hosts[i].nranks;
    if (copy_apps(r, total, err) < 0 || copy_host_env(r->adapter->host_env, s, err) < 0)
        return -1;
    random_name(s->id, 12);
    memcpy(s->nspace, "mprun-", 6);
    random_name(s->nspace + 6, 26); /* 130 bits */
    s->oversubscribed = r->plan.oversubscribed;
    s->bind = (struct binding_request){r->cmd.bind, r->cmd.rank_cores};
    if (r->cmd.bind == BIND_DEFAULT && !r->cmd.rank_cores)
        s->bind.cores = threads_of_ranks(s);
    s->overlap = r->cmd.overlap;
    s->containment = r->cmd.containment;
    s->rank_limits = r->cmd.rank_limits;
    s->host_limits = r->cmd.host_limits;
    s->pmi = r->cmd.pmi;
    s->stdin_target = r->cmd.stdin_target;
    s->stdin_rank = r->cmd.stdin_rank;
    s->stdin_slow = input_is_slow(STDIN_FILENO);
    s->terminal = r->cmd.pty;
    s->terminal_size = terminal_size();
    s->kill_grace = r->cmd.kill_grace;
    s->sample_period = r->cmd.report_usage || r->cmd.report_json ? SAMPLE_PERIOD : 0;
    read_own_limits(s);
    raise_files_limit();
    if (s->stdin_target == STDIN_RANK && s->stdin_rank >= s->nranks)
        return error_set(err, EINVAL, "--stdin %u: there are only ranks 0 to %u", s->stdin_rank,
                         s->nranks - 1);
    return 0;
}

static int make_hosts(struct run *r, struct error *err)
{
    r->nhosts = r->alloc.nhosts;
    r->hosts = calloc(r->nhosts, sizeof(*r->hosts));
    r->launched = calloc(r->nhosts, sizeof(*r->launched));
    r->placements = calloc(r->nhosts, sizeof(*r->placements));
    r->ranks = calloc(r->step.nranks, sizeof(*r->ranks));
    r->ends = calloc(r->step.nranks, sizeof(*r->ends));
    r->ended = calloc(r->step.nranks, 1);
    r->begun = calloc(r->step.nranks, 1);
    r->end_texts = calloc(r->step.nranks, sizeof(*r->end_texts));
    r->failures = calloc(r->step.nranks + 1, sizeof(*r->failures));
    if (!r->hosts || !r->launched || !r->placements || !r->ranks || !r->ends || !r->ended ||
        !r->begun || !r->end_texts || !r->failures)
        return error_errno(err, ENOMEM, "prepare %u rank%s", r->step.nranks,
                           plural(r->step.nranks));
    for (uint32_t i = 0; i < r->nhosts; i++) {
        struct host *h = &r->hosts[i];
        *h = (struct host){
            .run = r,
            .index = i,
            .name = r->alloc.hosts[i].name,
            .in_fd = -1,
            .out_fd = -1,
            .first_rank = r->plan.hosts[i].first_rank,
            .nranks = r->plan.hosts[i].nranks,
            .state = r->plan.hosts[i].nranks ? AGENT_WAITING : AGENT_UNUSED,
        };
        h->report.name = h->name;
        r->agents[h->state]++;
        if (!h->nranks)
            continue;
        h->launch_index = (int)r->nused;
        r->launched[r->nused] = h;
        r->placements[r->nused++] = (struct placement){
            .host = r->alloc.hosts[i].name,
            .first_rank = h->first_rank,
            .count = h->nranks,
            .granted = r->alloc.hosts[i].cores_known ? &r->alloc.hosts[i].cores : NULL,
            .granted_cores = r->alloc.hosts[i].core_list,
            .share = r->alloc.hosts[i].granted,
        };
        for (uint32_t k = 0; k < h->nranks; k++)
            r->ranks[h->first_rank + k] =
                (struct report_rank){.name = {.rank = h->first_rank + k}, .host = i};
    }
    return 0;
}

static int is_one_machine(const struct run *r)
{
    for (size_t i = 0; i < r->nused; i++)
        if (!r->alloc.hosts[r->launched[i]->index].here)
            return 0;
    return 1;
}

/* And whether hosts are linked to each other: a start channel leads to mprun only. */
static int choose_transport(struct run *r, struct error *err)
{
    r->same_machine = is_one_machine(r);
    r->transport = r->cmd.transport;
    if (r->transport == TRANSPORT_AUTO)
        r->transport = r->same_machine ? TRANSPORT_UNIX : TRANSPORT_TCP;
    if (r->transport == TRANSPORT_UNIX && !r->same_machine)
        return error_set(err, EINVAL,
                         "--transport=unix: hosts of '%s' are other machines; use tcp or stdio",
                         r->adapter->name);
    if (r->transport == TRANSPORT_STDIO && r->adapter->stdio_channel == STDIO_NONE)
        return error_set(err, EINVAL, "--transport=stdio cannot be used with '%s': %s",
                         r->adapter->name, r->adapter->stdio_reason);
    int star = r->transport == TRANSPORT_STDIO || r->cmd.explain || r->nused <= r->cmd.fanout;
    r->fanout = star ? 0 : r->cmd.fanout;
    r->launch.fanout = r->fanout;
    r->launch.depth = r->fanout ? tree_depth(r->fanout, (uint32_t)r->nused) : 1;
    return 0;
}

/* Their hashes may take a while. */
static int read_preload(struct run *r, struct error *err)
{
    signals_leave();
    int rc = preload_create(r, &r->preload, err);
    signals_return();
    return rc;
}

/* A list of hosts may be a pipe, and a manager's commands may hang. */
static int read_allocation(struct run *r, struct error *err)
{
    signals_leave();
    int rc = r->adapter->read_allocation(&r->cmd.hosts, &r->alloc, err);
    signals_return();
    return rc;
}

int run_setup(struct run *r, struct error *err)
{
    if (handshake_library_init(err) < 0)
        return -1;
    randombytes_buf(r->key, sizeof(r->key));
    choose_adapter(r);
    if (read_allocation(r, err) < 0)
        return r->adapter->loose ? -1
                                 : error_context(err, "read what '%s' granted", r->adapter->name);
    if (make_plan(r, err) < 0 || make_step(r, err) < 0 || make_hosts(r, err) < 0 ||
        choose_transport(r, err) < 0 || read_preload(r, err) < 0)
        return -1;
    r->launch.known = run_seconds(r);
    return 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void free_strings(char **s)
{
    for (size_t i = 0; s && s[i]; i++)
        free(s[i]);
    free(s);
}

void run_free(struct run *r)
{
    for (size_t i = 0; i < r->nhosts && r->hosts; i++) {
        struct host *h = &r->hosts[i];
        free_strings(h->cgroup_paths);
        free_strings(h->directories);
        free(h->tracking_reason);
        free(h->cgroup_kind);
        free(h->kernel_name);
        free(h->version);
        free(h->door);
        free(h->allowed_threads);
    }
    for (uint32_t i = 0; r->ranks && i < r->step.nranks; i++)
        free((char *)(uintptr_t)r->ranks[i].bound_threads);
    for (uint32_t i = 0; r->end_texts && i < r->step.nranks; i++)
        free(r->end_texts[i]);
    preload_destroy(r->preload);
    free(r->end_texts);
    grants_free(r);
    free(r->used.hosts);
    free(r->starter_path);
    free(r->remote_path);
    free(r->hosts);
    free(r->launched);
    free(r->foreign);
    free(r->placements);
    free(r->ranks);
    free(r->ends);
    free(r->ended);
    free(r->begun);
    free(r->failures);
    step_free(&r->step);
    plan_free(&r->plan);
    allocation_free(&r->alloc);
    cmdline_free(&r->cmd);
    loop_timer_destroy(r->explain_timer);
    loop_timer_destroy(r->timeout_timer);
    loop_timer_destroy(r->drop_timer);
    loop_timer_destroy(r->lost_timer);
    loop_timer_destroy(r->failed_timer);
    loop_defer_destroy(r->machine);
    reaper_destroy(r->reaper);
    loop_destroy(r->loop);
    sodium_memzero(r->key, sizeof(r->key));
}
