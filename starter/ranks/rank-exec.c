/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-exec.c - the process of a rank: program, limits, affinity, cgroup, descriptors */
#include <errno.h>
#include <fcntl.h>
#include <linux/oom.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "common/text/words.h"
#include "model/rank-end.h"
#include "starter/binding/memory-policy.h"
#include "starter/binding/rank-binding.h"
#include "starter/pmi/pmi-server.h"
#include "starter/preload/preload.h"
#include "model/cannot-start.h"
#include "starter/ranks/rank-environment.h"
#include "starter/ranks/ranks-private.h"
#include "starter/tunables.h"
#include "wire/messages/launch.h"

struct rank_program { /* of an app */
    struct rank_environment environment;
    char *path;             /* to execute; NULL: it was not found, */
    struct error not_found; /* and why */
    bool is_advised;        /* not_found says what to do: directories were read for it once */
    char *wrapper;          /* of --wrap, likewise; NULL with no error: there is none */
    struct error no_wrapper;
    bool is_brought; /* path is that of a file that was brought here */
};

/* ---- the programs of all apps ---------------------------------------------------------------- */

static int resolve(const struct ranks *s, const struct app *app, struct rank_program *p)
{
    return s->with->launch->has_parent
               ? spawn_resolve_here(app->argv[0], app->envp, app->directory, &p->path,
                                    &p->not_found)
               : spawn_resolve(app->argv[0], app->envp, app->directory, &p->path, &p->not_found);
}

/* Finds the program that was brought here, or else this host's own. */
static void find_program(const struct ranks *s, const struct app *app, struct rank_program *p)
{
    const struct step *step = &s->with->launch->step;
    const struct brought *b = s->with->brought;
    bool may_be_brought = b->napps && b->world == s->with->launch->world;
    const char *brought = may_be_brought ? b->programs[app - step->apps] : NULL;
    if (!brought) {
        if (resolve(s, app, p) < 0)
            p->path = NULL;
        return;
    }
    p->is_brought = true;
    p->path = must(strdup(brought));
}

static void find_wrapper(const struct ranks *s, const struct app *app, struct rank_program *p)
{
    char **argv = s->with->launch->step.wrapper.argv;
    if (argv && spawn_resolve(argv[0], app->envp, app->directory, &p->wrapper, &p->no_wrapper) < 0)
        error_context(&p->no_wrapper, "--wrap");
}

void ranks_prepare(struct ranks *s)
{
    const struct step *step = &s->with->launch->step;
    s->programs = must(calloc(step->napps + 1, sizeof(*s->programs)));
    for (size_t i = 0; i < step->napps; i++) {
        struct rank_program *p = &s->programs[i];
        find_program(s, &step->apps[i], p);
        find_wrapper(s, &step->apps[i], p);
        rank_environment_init(&p->environment, &step->apps[i], s->with);
    }
}

void rank_programs_free(struct ranks *s)
{
    for (size_t i = 0; s->programs && i < s->with->launch->step.napps; i++) {
        rank_environment_free(&s->programs[i].environment);
        free(s->programs[i].path);
        free(s->programs[i].wrapper);
    }
    free(take_ptr(s->programs));
}

/* ---- one rank -------------------------------------------------------------------------------- */

bool rank_wants_stdin(const struct rank *r)
{
    const struct step *s = &r->all->with->launch->step;
    if (r->name.incarnation) /* the incarnation before has read it */
        return false;
    return s->stdin_target == STDIN_ALL ||
           (s->stdin_target == STDIN_RANK && s->stdin_rank == r->name.rank && r->name.world == 0);
}

bool rank_has_terminal(const struct rank *r)
{
    return r->all->with->launch->step.terminal && rank_wants_stdin(r);
}

const struct idset *rank_affinity(const struct rank *r)
{
    const struct idset *threads = rank_binding_affinity(r->all->with->binding, r->local);
    return threads && idset_count(threads) ? threads : NULL;
}

static void set_birth(const struct rank *r, struct spawn *s, struct cgroup_birth *birth)
{
    if (!r->leaf)
        return;
    cgroup_leaf_birth(r->leaf, birth);
    s->cgroup_fd = birth->v2_fd;
    s->cgroup_fallback_fd = birth->v2_procs_fd;
    s->cgroup_procs_fds = birth->v1_procs_fds;
    s->ncgroup_procs_fds = birth->nv1;
}

/* The kernel is to kill ranks before the processes that start and end them. Ranks do not get the
 * protection of a daemon that started us. */
static int oom_score(void)
{
    static int score; /* 0: not read yet */
    char text[16];
    if (score)
        return score;
    int own =
        file_read_at(AT_FDCWD, "/proc/self/oom_score_adj", text, sizeof(text)) > 0 ? atoi(text) : 0;
    own = (own > 0 ? own : 0) + RANK_OOM_SCORE;
    return score = own < OOM_SCORE_ADJ_MAX ? own : OOM_SCORE_ADJ_MAX;
}

/* A relative program was looked up in the rank's directory: reports if that is missing. */
static void fail_without_program(const struct rank *r, struct rank_program *p,
                                 struct spawn_failure *f, struct error *err)
{
    if (cannot_start_try_directory(r->app, f, err) < 0)
        return;
    *f = (struct spawn_failure){.step = SPAWN_EXEC, .code = p->not_found.code};
    if (!p->is_advised)
        cannot_start_advise(f, r->app, NULL, &p->not_found);
    p->is_advised = true;
    *err = p->not_found;
}

static rlim_t least(uint64_t a, rlim_t b)
{
    return a < b ? (rlim_t)a : b;
}

/* Sets the hard limit as well, so that the rank cannot raise it; a lower one of the host stays. At
 * its CPU time a rank gets SIGXCPU first, and is killed later. */
static struct rlimit hard_limit(const struct limit_words *w, uint64_t value)
{
    struct rlimit own = {.rlim_max = RLIM_INFINITY};
    bool is_cpu = w->resource == RLIMIT_CPU;
    uint64_t v = is_cpu ? (value + 999999) / 1000000 : value;
    getrlimit((unsigned)w->resource, &own);
    return (struct rlimit){.rlim_cur = least(v, own.rlim_max),
                           .rlim_max =
                               least(v + (is_cpu ? CPU_LIMIT_KILL_SECONDS : 0), own.rlim_max)};
}

/* Sets the user's soft limits, then the rank's limits that the kernel holds for each process. */
static void set_limits(const struct rank *r, struct rlimit to[RLIM_NLIMITS])
{
    memcpy(to, r->all->with->launch->step.soft_limits, RLIM_NLIMITS * sizeof(*to));
    for (int k = 0; k < LIMIT_KIND_COUNT; k++)
        if (r->limits.of[k].set && r->limits.of[k].held_by == HELD_BY_RLIMIT) {
            const struct limit_words *w = limit_words((enum limit_kind)k);
            to[w->resource] = hard_limit(w, r->limits.of[k].value);
        }
}

/* Sets what the step asks for all its ranks. */
static void set_step(struct spawn *s, const struct step *step)
{
    s->umask = step->umask;
    s->set_nice = 1;
    s->nice = step->nice;
    s->parent_death_signal = SIGKILL;
    s->set_oom_score_adj = 1;
    s->oom_score_adj = oom_score();
}

/* argv: the wrapper's words and the rank's; NULL: no wrapper. */
static pid_t spawn(const struct rank *r, struct rank_program *p, char *const *argv,
                   const int fds[3], const int *pmi_fd, struct spawn_failure *f, struct error *err)
{
    struct cgroup_birth birth;
    struct memory_policy memory;
    struct spawn s;
    struct rlimit limits[RLIM_NLIMITS];
    spawn_init(&s);
    set_step(&s, &r->all->with->launch->step);
    set_limits(r, limits);
    s.limits = limits;
    s.path = argv ? p->wrapper : p->path;
    s.argv = argv ? argv : r->app->argv;
    s.stop_at_exec = r->all->with->launch->step.stop_point == STOP_AT_EXEC;
    s.envp = rank_environment_of(&p->environment, r->name, r->local, *pmi_fd);
    s.directory = r->app->directory;
    memcpy(s.fds, fds, sizeof(s.fds));
    s.new_session = s.take_terminal = rank_has_terminal(r);
    s.keep_fds = pmi_fd;
    s.nkeep_fds = *pmi_fd >= 0;
    set_birth(r, &s, &birth);
    s.affinity = rank_affinity(r);
    if (memory_policy_choose(r->app->bind ? r->app->bind : &r->all->with->launch->step.bind,
                             &memory, NULL) > 0)
        s.memory = &memory;
    return spawn_process(&s, f, err);
}

static pid_t spawn_wrapped(const struct rank *r, struct rank_program *p, const int fds[3],
                           const int *pmi_fd, struct spawn_failure *f, struct error *err)
{
    if (!p->wrapper) {
        *f = (struct spawn_failure){.step = SPAWN_EXEC, .code = p->no_wrapper.code};
        *err = p->no_wrapper;
        return -1;
    }
    char **argv = rank_wrapped_argv(r, p->is_brought ? p->path : NULL);
    pid_t pid = spawn(r, p, argv, fds, pmi_fd, f, err);
    words_free(argv);
    return pid;
}

static int exit_code(const struct spawn_failure *f)
{
    if (f->step != SPAWN_EXEC)
        return EXIT_CODE_MPRUN;
    return f->code == ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_CANNOT_EXEC;
}

pid_t rank_exec(struct rank *r, const int fds[3], int *ret_code, struct error *err)
{
    const struct step *step = &r->all->with->launch->step;
    struct rank_program *p = &r->all->programs[r->app - step->apps];
    struct spawn_failure f = {.step = SPAWN_DESCRIPTORS};
    AUTO_CLOSE int pmi_fd = -1;
    pid_t pid = -1;
    if (!p->path) {
        fail_without_program(r, p, &f, err);
    } else if (!(step->pmi & PMI_KINDS_SIMPLE) ||
               (pmi_fd = pmi_server_connect_rank(r->all->with->pmi, r->name, err)) >= 0) {
        pid = rank_is_wrapped(r) ? spawn_wrapped(r, p, fds, &pmi_fd, &f, err)
                                 : spawn(r, p, NULL, fds, &pmi_fd, &f, err);
        const char *program = rank_is_wrapped(r) ? p->wrapper : p->path;
        if (pid < 0 && program)
            cannot_start_advise(&f, r->app, program, err);
    }
    *ret_code = exit_code(&f);
    return pid;
}
