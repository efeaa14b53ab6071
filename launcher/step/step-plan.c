/* SPDX-License-Identifier: BSD-3-Clause */
/* step-plan.c - from the command line to a step that hosts can be told of */
#include "launcher/step/step-plan.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/files/path.h"
#include "common/processes/spawn.h"
#include "common/files/step-directory.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "launcher/io/input.h"
#include "launcher/io/terminal.h"
#include "launcher/step/mpi-programs.h"
#include "launcher/step/signal-mask.h"
#include "launcher/step/step-hosts.h"
#include "launcher/step/step-placement.h"
#include "launcher/tunables.h"
#include "wire/link/key-proof.h"

/* n: letters, 32 at most */
static void random_name(char *to, size_t n)
{
    unsigned char random[32];
    randombytes_buf(random, n);
    for (size_t i = 0; i < n; i++)
        to[i] = STEP_ID_LETTERS[random[i] % 32];
    to[n] = 0;
}

void step_plan_new_nspace(char ret[64])
{
    memcpy(ret, "mprun-", 6);
    random_name(ret + 6, 26);
}

static void choose_adapter(struct step_plan *p)
{
    p->adapter = p->cmd->rm;
    if (p->adapter)
        snprintf(p->adapter_reason, sizeof(p->adapter_reason), "asked for with --rm");
    else
        p->adapter = rm_adapter_detect(&p->hosts, p->adapter_reason, sizeof(p->adapter_reason));
}

/* In a job, or with a file of hosts, programs choose among all hosts; otherwise what they name are
 * the hosts. */
static void leave_lists_to_programs(struct step_plan *p)
{
    const struct cmdline *c = p->cmd;
    if (c->own_hosts && (p->adapter->parents || c->hosts.nfiles || c->step_lists))
        p->hosts.nlists = c->step_lists;
}

/* Where neither a manager nor the user has named hosts, a rank file does. */
static int take_rank_file(struct step_plan *p, struct error *err)
{
    const struct host_request *r = &p->cmd->hosts;
    if (!p->cmd->place.rank_file)
        return 0;
    if (rank_file_read(p->cmd->place.rank_file, &p->rank_file, err) < 0)
        return -1;
    if (r->nlists || r->nfiles || p->adapter->parents ||
        (p->cmd->rm && p->adapter != &rm_adapter_ssh))
        return 0;
    if (!(p->listed = rank_file_hosts(&p->rank_file, err)))
        return -1;
    if (!p->listed[0])
        return 0;
    p->lists[0] = p->listed;
    p->hosts.lists = p->lists;
    p->hosts.nlists = 1;
    choose_adapter(p);
    return 0;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* "-x NAME" of a variable that is not there. */
static void warn_unset(const struct cmdline_app *app)
{
    for (size_t i = 0; i < app->nenv; i++)
        if (strcmp(app->env[i], "TMPDIR") == 0)
            log_note("variable 'TMPDIR': ranks get a directory of their own, which is removed at "
                     "the end; for another write: mprun sh -c 'TMPDIR=DIR exec ./a'");
        else if (!strpbrk(app->env[i], "=*") && app->env[i][0] != '-' && !getenv(app->env[i]))
            log_warn("variable '%.60s' is not set here, so that ranks do not get it", app->env[i]);
}

static int copy_app(const struct cmdline_app *from, uint32_t first, uint32_t count, struct app *to,
                    struct error *err)
{
    AUTO_FREE char *here = getcwd(NULL, 0);
    if (!here)
        return errno == ENOENT ? error_set(err, ENOENT,
                                           "the directory in which mprun was started has been "
                                           "removed; change to one that is there")
                               : error_errno(err, errno, "find the working directory");
    to->argv = must(calloc(from->argc + 1, sizeof(*to->argv)));
    for (size_t i = 0; i < from->argc; i++)
        to->argv[i] = must(strdup(from->argv[i]));
    warn_unset(from);
    to->envp = cmdline_app_environ(from, environ);
    to->given_env = cmdline_app_given(from);
    if (from->wdir && from->wdir[0] != '/')
        to->directory = text_format("%s/%s", here, from->wdir);
    else
        to->directory = from->wdir ? must(strdup(from->wdir)) : take_ptr(here);
    must_do(rank_set_add_block(&to->ranks, 0, first, count));
    return 0;
}

static void take_defaults(const struct step_plan *p, const struct placement_options *place,
                          struct binding_request *b)
{
    placement_take_defaults(p->cmd->dialect, place, p->placement.map.nranks, b);
}

static int copy_apps(struct step_plan *p, struct error *err)
{
    struct step *s = &p->step;
    uint32_t next = 0;
    s->apps = must(calloc(p->cmd->napps + 1, sizeof(*s->apps)));
    for (size_t i = 0; i < p->cmd->napps; i++) {
        const struct cmdline_app *from = &p->cmd->apps[i];
        uint32_t count = from->nranks ? from->nranks : p->placement.map.nranks;
        s->napps = i + 1;
        if (copy_app(from, next, count, &s->apps[i], err) < 0)
            return -1;
        next += count;
        if (from->limits) {
            s->apps[i].limits = must(malloc(sizeof(*from->limits)));
            *s->apps[i].limits = *from->limits;
        }
        if (from->place) {
            s->apps[i].bind = must(malloc(sizeof(*s->apps[i].bind)));
            *s->apps[i].bind = step_placement_binding(from->place);
            take_defaults(p, from->place, s->apps[i].bind);
        }
        const struct placement_options *place = from->place ? from->place : &p->cmd->place;
        if (p->cmd->dialect == DIALECT_SRUN && place->bind.cores)
            s->apps[i].envp = cmdline_set_cpus_per_task(s->apps[i].envp, place->bind.cores);
    }
    s->nranks = next;
    return 0;
}

static void pass_on(const struct inherited *user, struct step *s)
{
    for (int r = 0; r < RLIM_NLIMITS; r++)
        s->soft_limits[r] = (struct rlimit){user->limits[r].rlim_cur, RLIM_INFINITY};
    s->umask = (int)user->umask;
    s->nice = user->nice;
}

static void copy_host_env(const char *const *names, struct step *s)
{
    size_t n = words_count((char *const *)(uintptr_t)names);
    s->host_env = must(calloc(n + 1, sizeof(*s->host_env)));
    for (size_t i = 0; i < n; i++)
        s->host_env[i] = must(strdup(names[i]));
}

/* OMP_NUM_THREADS of a program's ranks, or (NULL) the most of all programs; 0: not set, or no
 * number ("4,2": 4). */
static uint32_t threads_of_ranks(const struct step *s, const struct app *only)
{
    uint32_t most = 0;
    for (size_t i = 0; i < s->napps; i++) {
        const char *value = only && only != &s->apps[i]
                                ? NULL
                                : spawn_env_value(s->apps[i].envp, "OMP_NUM_THREADS");
        AUTO_FREE char *first = value ? must(strndup(value, strcspn(value, ","))) : NULL;
        int64_t n;
        if (first && number_parse(first, NULL, 1, CMDLINE_RANKS_MAX, &n, NULL) == 0 && n > most)
            most = (uint32_t)n;
    }
    return most;
}

/* How many cores a rank is bound to where the user has not said it. Returns its source. */
static const char *choose_cores(const struct step_plan *p, const struct app *only,
                                struct binding_request *b)
{
    const char *source = "OMP_NUM_THREADS";
    if (b->policy != BIND_DEFAULT || b->cores || b->set_ranks)
        return "";
    b->cores = threads_of_ranks(&p->step, only);
    if (p->alloc.slot_cores > b->cores) {
        b->cores = p->alloc.slot_cores;
        b->by_threads = !b->threads && !p->cmd->place.one_thread; /* CPUs */
        source = p->alloc.slot_cores_source;
    }
    return source;
}

static void choose_rank_cores(struct step_plan *p)
{
    p->rank_cores_source = choose_cores(p, NULL, &p->step.bind);
    for (size_t i = 0; i < p->step.napps; i++)
        if (p->step.apps[i].bind)
            choose_cores(p, &p->step.apps[i], p->step.apps[i].bind);
}

static int copy_debugging(const struct cmdline *c, struct step *s, struct error *err)
{
    s->stop_point = c->debug.stop_on_exec   ? STOP_AT_EXEC
                    : c->debug.stop_in_init ? STOP_IN_INIT
                                            : STOP_NOWHERE;
    if (c->debug.wrap && !(s->wrapper.argv = words_split(c->debug.wrap, err)))
        return -1;
    return c->debug.wrapped_ranks ? idset_parse(c->debug.wrapped_ranks, &s->wrapper.ranks, err) : 0;
}

/* --explain: all that a start does up to the first instruction of the programs, which read nothing
 * of mprun's. */
static void stop_before_programs(struct step *s)
{
    s->stop_point = STOP_AT_EXEC;
    s->terminal = false;
    s->stuck_time = 0;
    if (s->stdin_target != STDIN_FILE)
        s->stdin_target = STDIN_NONE;
}

static int make_step(struct step_plan *p, const struct inherited *user, struct error *err)
{
    struct step *s = &p->step;
    *s = p->cmd->step;
    s->bind = step_placement_binding(&p->cmd->place);
    if (copy_apps(p, err) < 0 || copy_debugging(p->cmd, s, err) < 0)
        return -1;
    copy_host_env(p->adapter->host_env, s);
    if (p->cmd->rank_input)
        s->stdin_file = must(strdup(p->cmd->rank_input));
    snprintf(s->gpu_env, sizeof(s->gpu_env), "%s", p->adapter->gpu_env ? p->adapter->gpu_env : "");
    random_name(s->id, STEP_ID_LENGTH);
    step_plan_new_nspace(s->nspace);
    s->slurm_variables = p->cmd->dialect == DIALECT_SRUN;
    s->oversubscribed = p->placement.oversubscribed;
    take_defaults(p, &p->cmd->place, &s->bind);
    choose_rank_cores(p);
    s->passed_signals = p->adapter->signals_starters;
    s->stdin_slow = p->cmd->input_of_tools || input_is_slow(STDIN_FILENO);
    s->terminal_size = terminal_size();
    s->sample_period = p->cmd->report.usage || p->cmd->report.json ? SAMPLE_SECONDS : 0;
    pass_on(user, s);
    if (s->stdin_target == STDIN_RANK && s->stdin_rank >= s->nranks)
        return error_set(err, EINVAL, "--stdin %u: there are only ranks 0 to %u", s->stdin_rank,
                         s->nranks - 1);
    if (p->cmd->explain)
        stop_before_programs(s);
    return 0;
}

/* A host without ranks is there for those that ranks start, until the hosts so far have room for
 * all that the user wants. */
static bool is_used(const struct step_plan *p, size_t host)
{
    uint32_t rank_slots = binding_cores(&p->cmd->place.bind);
    const struct allocation so_far = {.hosts = p->used.hosts, .nhosts = p->nused};
    return rank_set_count(&p->placement.hosts[host]) > 0 ||
           allocation_slots(&so_far) / rank_slots < p->universe;
}

/* As under mpirun, programs that spawn ranks find all slots of the job. */
static void choose_universe(struct step_plan *p)
{
    bool has_more_hosts = false;
    for (size_t i = 0; i < p->nhosts; i++)
        has_more_hosts |= rank_set_count(&p->placement.hosts[i]) == 0;
    p->universe = p->cmd->place.universe;
    if (!p->universe && has_more_hosts && p->step.pmi_is_expected && programs_spawn_ranks(&p->step))
        p->universe = CMDLINE_RANKS_MAX;
}

uint32_t step_plan_universe(const struct step_plan *p, uint32_t nranks)
{
    const struct placement_options *o = &p->cmd->place;
    uint32_t n = allocation_slots(&p->used) / binding_cores(&o->bind);
    if (o->universe && o->universe < n)
        n = o->universe;
    if (n > nranks)
        return n;
    return o->oversubscribe == 1 && !o->universe ? 0 : nranks;
}

/* The hosts of the step, and what their starters are told of each. */
static void choose_hosts(struct step_plan *p)
{
    choose_universe(p);
    p->used = p->alloc;
    p->used.hosts = must(calloc(p->nhosts + 1, sizeof(*p->used.hosts)));
    p->placements = must(calloc(p->nhosts + 1, sizeof(*p->placements)));
    for (size_t i = 0; i < p->nhosts; i++) {
        const struct alloc_host *h = &p->alloc.hosts[i];
        if (!is_used(p, i))
            continue;
        p->nhere += h->here != 0;
        p->used.hosts[p->nused] = *h;
        p->placements[p->nused++] = (struct placement){
            .host = h->name,
            .ranks = p->placement.hosts[i], /* borrowed */
            .granted = h->cores_known ? &h->cores : NULL,
            .granted_cores = h->core_list,
            .slots = p->rank_file.n ? rank_file_cores(&p->rank_file, &p->placement.hosts[i]) : NULL,
            .share = h->granted,
        };
    }
    p->used.nhosts = p->nused;
    p->step.universe = step_plan_universe(p, p->step.nranks);
}

/* And whether hosts are linked to each other: a start channel leads to mprun only. */
static int choose_transport(struct step_plan *p, struct error *err)
{
    p->same_machine = p->nhere == p->nused;
    p->transport = p->cmd->links.transport;
    if (p->transport == TRANSPORT_AUTO)
        p->transport = p->same_machine ? TRANSPORT_UNIX : TRANSPORT_TCP;
    if (p->transport == TRANSPORT_UNIX && !p->same_machine)
        return error_set(err, EINVAL,
                         "--transport=unix: hosts of '%s' are other machines; use tcp or stdio",
                         p->adapter->name);
    if (p->transport == TRANSPORT_STDIO && p->adapter->stdio_channel != STDIO_PER_HOST)
        return error_set(err, EINVAL, "--transport=stdio cannot be used with '%s': %s",
                         p->adapter->name, p->adapter->stdio_reason);
    bool star =
        p->transport == TRANSPORT_STDIO || p->cmd->explain || p->nused <= p->cmd->links.fanout;
    p->fanout = star ? 0 : p->cmd->links.fanout;
    return 0;
}

/* Options that were accepted. */
static void say_no_effect(const struct step_plan *p)
{
    const char *names = p->cmd->for_job;
    if (names && !p->adapter->parents)
        log_warn("%s: no resource manager is asked; the ranks run on %s", names,
                 p->adapter == &rm_adapter_local ? "this machine" : "the hosts that are named");
    else if (names)
        log_note("%s: for the command that submits the job; no effect here", names);
    if (p->cmd->no_effect)
        log_note("%s: no effect in mprun", p->cmd->no_effect);
}

/* "mprun -n 4 mpirun ./a": four steps of all ranks, where one was meant. Flux starts by such a
 * line. */
static void note_launchers(const struct step_plan *p)
{
    for (size_t i = 0; i < p->step.napps; i++) {
        const struct app *a = &p->step.apps[i];
        uint32_t n = rank_set_count(&a->ranks);
        enum dialect d;
        if (n > 1 && dialect_named(basename(a->argv[0]), &d) && d != DIALECT_FLUX)
            log_note("each of %u ranks is a launcher, '%.60s', that starts ranks of its own; leave "
                     "it out if one step is meant",
                     n, basename(a->argv[0]));
    }
}

/* A list of hosts may be a pipe, and a manager's commands may hang. */
static int read_allocation(struct step_plan *p, struct error *err)
{
    signal_mask_open();
    int rc = p->adapter->read_allocation(&p->hosts, &p->alloc, err);
    signal_mask_close();
    if (p->hosts.nlists || p->hosts.nfiles) /* a larger job does not give more room on these */
        p->alloc.more[0] = 0;
    return rc;
}

int step_plan_make(struct step_plan *p, const struct cmdline *cmd, bool as_mpirun,
                   struct error *err)
{
    *p = (struct step_plan){.cmd = cmd, .as_mpirun = as_mpirun, .hosts = cmd->hosts};
    p->waits = cmd->start.wait_cores && !cmd->explain && !cmd->dry_run;
    p->start_ns = loop_wallclock_ns();
    p->start_time = loop_now();
    if (handshake_library_init(err) < 0)
        return -1;
    randombytes_buf(p->key, sizeof(p->key));
    if (cmd->dialect == DIALECT_SRUN && !cmd->place.in_sequence)
        p->hosts.nhosts_min = cmd->place.nodes_min;
    choose_adapter(p);
    leave_lists_to_programs(p);
    if (take_rank_file(p, err) < 0)
        return -1;
    if (read_allocation(p, err) < 0)
        return p->adapter->unaccounted
                   ? -1
                   : error_context(err, "read what '%s' granted", p->adapter->name);
    say_no_effect(p);
    return step_hosts_choose(p, err) < 0 ? -1 : step_placement_make(p, err);
}

int step_plan_complete(struct step_plan *p, const struct inherited *user, struct error *err)
{
    if (make_step(p, user, err) < 0)
        return -1;
    p->step.pmi_is_expected = programs_need_pmi(&p->step);
    choose_hosts(p);
    note_launchers(p);
    return choose_transport(p, err);
}

int step_plan_find_starter(struct step_plan *p, struct error *err)
{
    static const char *const beside[] = {"../starter/mpstarter", "../libexec/mprun/mpstarter",
                                         NULL};
    AUTO_FREE char *found = path_find_helper(beside, PKGLIBEXECDIR "/mpstarter", err);
    if (!found)
        return error_context(err, "find mpstarter");
    p->starter_path = realpath(found, NULL);
    if (!p->starter_path)
        return error_errno(err, errno, "find mpstarter: '%s'", found);
    p->remote_path =
        must(p->cmd->start.prefix ? text_format("%s/libexec/mprun/mpstarter", p->cmd->start.prefix)
                                  : strdup(p->starter_path));
    return 0;
}

double step_plan_seconds(const struct step_plan *p)
{
    return loop_now() - p->start_time;
}

void step_plan_free(struct step_plan *p)
{
    free(p->starter_path);
    free(p->remote_path);
    for (size_t i = 0; i < p->nused; i++)
        free((void *)(uintptr_t)p->placements[i].slots);
    rank_file_free(&p->rank_file);
    free(p->listed);
    free(p->placements);
    free(p->used.hosts);
    step_free(&p->step);
    plan_free(&p->placement);
    p->alloc.nhosts += p->nspare;
    allocation_free(&p->alloc);
    sodium_memzero(p->key, sizeof(p->key));
}
