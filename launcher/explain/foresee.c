/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/explain/foresee.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/processes/spawn.h"
#include "common/text/text.h"
#include "launcher/explain/explain.h"
#include "model/cannot-start.h"
#include "plan/topology.h"

/* ---- cores ----------------------------------------------------------------------------------- */

struct topology *foresee_topology(const struct step_plan *p, const struct host *h,
                                  struct error *err)
{
    const struct alloc_host *a = &p->alloc.hosts[h->index];
    if (p->cmd->place.topology)
        return topology_load_from(p->cmd->place.topology, err);
    if (a->here)
        return topology_load(a->cores_known ? &a->cores : NULL, err);
    return error_null(error_set(err, 0, "its cores are known only there"));
}

/* "[BB/..][../..]  package 0 core 0, hardware threads 0-1" */
static char *bound_text(const struct topology *t, const struct idset *threads)
{
    bool is_bound = idset_count(threads) > 0; /* of several programs, perhaps of one alone */
    AUTO_FREE char *picture = topology_picture(t, threads);
    AUTO_FREE char *words = is_bound ? topology_describe(t, threads) : NULL;
    return text_format("%s  %s", picture, words ? words : "not bound");
}

static int foresee_ranks(const struct step_plan *p, const struct host *h, const struct topology *t,
                         struct step_record *record, struct error *err)
{
    AUTO(plan_topology_free) struct plan_topology cores = {0};
    AUTO(plan_binding_free) struct plan_binding b = {0};
    struct step step = p->step; /* borrowed */
    topology_cores(t, &cores);
    step.bind.slots = p->placements[h->launch_index].slots;
    cores.share = p->placements[h->launch_index].share;
    if (plan_step_binding(&cores, &step, h->ranks, NULL, &b, err) < 0)
        return error_context(err, "host %s", h->name);
    step_record_foreseen(record, h->launch_index, b.reason);
    for (uint32_t i = 0; i < b.nranks; i++) {
        AUTO_FREE char *text = bound_text(t, &b.ranks[i]);
        AUTO_FREE char *threads = must(b.bound ? idset_format(&b.ranks[i]) : strdup(""));
        step_record_foreseen_rank(record, rank_set_at(h->ranks, i), threads, text);
    }
    return 0;
}

static int foresee_host(const struct step_plan *p, const struct host *h, struct step_record *record,
                        struct error *err)
{
    struct topology *t = foresee_topology(p, h, err);
    int rc = t ? foresee_ranks(p, h, t, record, err) : err->code ? -1 : 0;
    topology_destroy(t);
    return rc;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* The kernel is asked to execute the file, and the process ends before its first instruction. */
static int try_to_execute(const struct app *a, const char *path, struct error *err)
{
    struct spawn_failure f;
    struct spawn s;
    spawn_init(&s);
    s.path = path;
    s.argv = a->argv;
    s.envp = a->envp;
    s.directory = a->directory;
    s.stop_at_exec = 1;
    s.parent_death_signal = SIGKILL;
    pid_t pid = spawn_process(&s, &f, err);
    if (pid < 0) {
        cannot_start_advise(&f, a, path, err);
        return -1;
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

static int try_program(const struct step_plan *p, const struct app *a, struct error *err)
{
    struct spawn_failure f;
    AUTO_FREE char *path = NULL, *wrapper = NULL;
    char **wrap = p->step.wrapper.argv;
    if (cannot_start_try_directory(a, &f, err) < 0)
        return -1;
    if (spawn_resolve(a->argv[0], a->envp, a->directory, &path, err) < 0) {
        f = (struct spawn_failure){.step = SPAWN_EXEC, .code = err->code};
        cannot_start_advise(&f, a, NULL, err);
        return -1;
    }
    if (wrap && spawn_resolve(wrap[0], a->envp, a->directory, &wrapper, err) < 0)
        return error_context(err, "--wrap");
    return try_to_execute(a, path, err);
}

/* The first rank of a program on this machine. False: it has none. */
static bool find_rank_here(const struct host_table *hosts, const struct app *a,
                           struct rank_name *ret, const struct host **ret_host)
{
    const struct step_plan *p = hosts->plan;
    for (uint32_t i = 0; i < rank_set_count(&a->ranks); i++) {
        *ret = rank_set_at(&a->ranks, i);
        int64_t host = rank_map_host(&p->placement.map, *ret);
        if (host < 0 || !p->alloc.hosts[host].here)
            continue;
        *ret_host = &hosts->all[host];
        return true;
    }
    return false;
}

/* The programs of this machine's ranks. */
static int try_programs(const struct host_table *hosts, struct error *err)
{
    const struct step_plan *p = hosts->plan;
    for (size_t i = 0; i < p->step.napps; i++) {
        const struct app *a = &p->step.apps[i];
        const struct host *here;
        struct rank_name rank;
        if (find_rank_here(hosts, a, &rank, &here) && try_program(p, a, err) < 0)
            return error_context(err, "start rank %u on %s", rank.rank, here->name);
    }
    return 0;
}

/* The file that the rank would read here. */
static int try_input(const struct step *s, const struct app *a, struct rank_name rank,
                     const char *host, struct error *err)
{
    AUTO_FREE char *path = rank_name_fill_in(s->stdin_file, rank, host);
    AUTO_CLOSE int at = open(a->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return faccessat(at, path, R_OK, AT_EACCESS) == 0
               ? 0
               : error_errno(err, errno, "start rank %u on %s: read standard input from '%.400s'",
                             rank.rank, host, path);
}

/* Those of this machine's ranks (--stdin file:PATH). */
static int try_inputs(const struct host_table *hosts, struct error *err)
{
    const struct step_plan *p = hosts->plan;
    for (uint32_t i = 0; p->step.stdin_target == STDIN_FILE && i < p->step.nranks; i++) {
        struct rank_name rank = {.rank = i};
        int64_t host = rank_map_host(&p->placement.map, rank);
        if (host >= 0 && p->alloc.hosts[host].here &&
            try_input(&p->step, step_app_of(&p->step, rank), rank, hosts->all[host].name, err) < 0)
            return -1;
    }
    return 0;
}

int foresee(const struct host_table *hosts, struct step_record *record, struct error *err)
{
    struct error e, *first = err;
    int rc = 0;
    for (size_t i = 0; i < hosts->plan->nused; i++)
        if (foresee_host(hosts->plan, hosts->used[i], record, first) < 0) {
            first = &e; /* which counts no more */
            rc = -1;
        }
    return try_programs(hosts, first) < 0 || (rc == 0 && try_inputs(hosts, first) < 0) ? -1 : rc;
}
