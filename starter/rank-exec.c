/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank's process is given: the user's environment as exact bytes without what belongs to
 * another launch, mprun's and MPI's variables, directory, limits, descriptors. The environment is
 * put together once per program; only the last few entries differ between ranks. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fdio.h"
#include "common/spawn.h"
#include "starter/pmi-link.h"
#include "starter/preload.h"
#include "starter/rank-gpus.h"
#include "starter/start-advice.h"
#include "starter/worker.h"

enum { OWN_VARIABLES = 36, OWN_SIZE = 320 };

/* Variables with these beginnings describe a launch, or a single task of a manager or of another
 * launcher, in which mprun itself is; ours replace them. PMIX_MCA_ and the other OMPI_MCA_ are
 * settings of the user and stay, as does what else may begin with MPRUN_. */
static const char *const launch_prefixes[] = {
    "PMIX_",
    "PMI_",
    "OMPI_COMM_WORLD_",
    "OMPI_UNIVERSE_SIZE",
    "OMPI_APP_CTX_",
    "OMPI_FIRST_RANKS",
    "OMPI_FILE_LOCATION",
    "OMPI_NUM_APP_CTX",
    "OMPI_ARGV",
    "OMPI_COMMAND",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "HYDI_CONTROL_FD",
    "MV2_COMM_WORLD_",
    "SLURM_PROCID=",
    "SLURM_LOCALID=",
    "SLURM_NODEID=",
    "SLURM_TASK_PID=",
    "SLURM_GTIDS=",
    "PBS_TASKNUM=",
    "PBS_NODENUM=",
    "PBS_VNODENUM=",
    "LSF_PM_TASKID=",
    "JSM_NAMESPACE_",
    "FLUX_TASK_",
    "PALS_",
    "OMPI_MCA_ess=", /* these: as Open MPI 4.1's mpirun sets them for its own ranks */
    "OMPI_MCA_ess_base_",
    "OMPI_MCA_initial_wdir=",
    "OMPI_MCA_mpi_oversubscribe=",
    "OMPI_MCA_orte_app_num=",
    "OMPI_MCA_orte_bound_at_launch=",
    "OMPI_MCA_orte_ess_",
    "OMPI_MCA_orte_hnp_uri=",
    "OMPI_MCA_orte_jobfam_session_dir=",
    "OMPI_MCA_orte_launch=",
    "OMPI_MCA_orte_local_daemon_uri=",
    "OMPI_MCA_orte_num_nodes=",
    "OMPI_MCA_orte_precondition_transports=",
    "OMPI_MCA_orte_top_session_dir=",
    "OMPI_MCA_pmix=^s1,s2,cray,isolated",
    "OMPI_MCA_shmem_RUNTIME_QUERY_hint=",
    "MPRUN_SUBMIT_TMPDIR=",
    "MPRUN_PRELOAD_DIR=",
    "MPRUN_GRANT=", /* of a task that mprun itself is in: for mprund */
    "OMPI_MCA_btl_vader_backing_directory=/dev/shm/mprun-", /* of a step that this one runs in */
};

struct app_env {
    char **envp; /* the user's, then PMI's, then room for our own, then NULL */
    size_t own_at;
    char (*own)[OWN_SIZE];
    char *program;              /* resolved */
    char *library_path;         /* with what was brought to this host; NULL: the user's */
    struct error resolve_error; /* code 0: program is good */
};

static int is_launch_variable(const char *entry)
{
    if (strncmp(entry, "PMIX_MCA_", 9) == 0)
        return 0;
    for (size_t i = 0; i < sizeof(launch_prefixes) / sizeof(launch_prefixes[0]); i++)
        if (strncmp(entry, launch_prefixes[i], strlen(launch_prefixes[i])) == 0)
            return 1;
    return 0;
}

static int same_name(const char *entry, const char *other)
{
    size_t n = strcspn(other, "=");
    return strncmp(entry, other, n) == 0 && entry[n] == '=';
}

static int is_in(const char *entry, char *const *list)
{
    for (; list && *list; list++)
        if (same_name(entry, *list))
            return 1;
    return 0;
}

static int user_has(const struct app *app, const char *entry)
{
    for (char *const *e = app->envp; *e; e++)
        if (same_name(*e, entry) && !is_launch_variable(*e))
            return 1;
    return 0;
}

static size_t count(char *const *s)
{
    size_t n = 0;
    while (s && s[n])
        n++;
    return n;
}

static int user_decides(const char *entry)
{
    /* a launcher's defaults that a user may have set otherwise */
    return strncmp(entry, "OMPI_MCA_", 9) == 0;
}

/* Defaults for Open MPI on hosts that are one machine, and with more ranks than cores; not where
 * the user has set the same. */
static size_t defaults(struct worker *w, const struct app *app, char (*own)[OWN_SIZE])
{
    size_t n = 0;
    if (w->launch.step.oversubscribed)
        snprintf(own[n++], OWN_SIZE, "OMPI_MCA_mpi_yield_when_idle=1");
    if (w->launch.step.pmi & PMI_KIND_PMIX)
        snprintf(own[n++], OWN_SIZE, "OMPI_MCA_btl_vader_backing_directory=%s",
                 w->shm_directory[0] ? w->shm_directory : w->directory);
    /* the default anyway; another that Open MPI tries out leaves /dev/shm/open_mpi.* when it is
     * killed in that moment */
    if (w->launch.step.pmi & PMI_KIND_PMIX)
        snprintf(own[n++], OWN_SIZE, "OMPI_MCA_shmem=mmap");
    if (w->launch.same_machine && w->launch.nhosts > 1)
        snprintf(own[n++], OWN_SIZE, "OMPI_MCA_btl_tcp_if_include=lo");
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!user_has(app, own[i]) && kept++ != i)
            memcpy(own[kept - 1], own[i], OWN_SIZE);
    return kept;
}

static const char *env_of(const struct app *app, const char *name)
{
    size_t n = strlen(name);
    for (char *const *e = app->envp; *e; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
            return *e + n + 1;
    return NULL;
}

/* As mprsrc has it: with blanks. */
static void put_gpu_list(const char *granted, char *ret)
{
    snprintf(ret, OWN_SIZE, "SGE_RESOURCE_GPU=%s", granted);
    for (char *c = ret; *c; c++)
        if (*c == ',')
            *c = ' ';
}

/* ---- the environment ------------------------------------------------------------------------- */

/* The variables that differ between ranks, and those all ranks of the host share. */
static size_t own_variables(const struct rank *r, int pmi1_fd, char (*own)[OWN_SIZE])
{
    struct worker *w = r->worker;
    const struct launch *l = &w->launch;
    const struct placement *here = &l->hosts[l->host_index];
    const char *submitted = env_of(r->app, "TMPDIR"), *tmpdir = host_machine_tmpdir(w);
    size_t n = 0;
#define ADD(...) snprintf(own[n++], OWN_SIZE, __VA_ARGS__)
    ADD("MPRUN_RANK=%u", r->name.rank);
    ADD("MPRUN_SIZE=%u", l->step.nranks);
    ADD("MPRUN_LOCAL_RANK=%u", r->local);
    ADD("MPRUN_LOCAL_SIZE=%u", here->count);
    ADD("MPRUN_HOST_INDEX=%u", l->host_index);
    ADD("MPRUN_HOSTS=%zu", l->nhosts);
    ADD("MPRUN_HOST_NAME=%s", here->host);
    ADD("MPRUN_STEP_ID=%s", l->step.id);
    ADD("MPRUN_WORLD=%u", r->name.world);
    ADD("MPRUN_INCARNATION=%u", r->name.incarnation);
    if (submitted && !tmpdir && strlen(submitted) < OWN_SIZE - 32)
        ADD("MPRUN_SUBMIT_TMPDIR=%s", submitted);
    ADD("TMPDIR=%s%s", tmpdir ? tmpdir : w->directory, tmpdir ? "" : "/t");
    if (preload_data_directory(w->preload))
        ADD("MPRUN_PRELOAD_DIR=%s", preload_data_directory(w->preload));
    ADD("OMPI_COMM_WORLD_RANK=%u", r->name.rank);
    ADD("OMPI_COMM_WORLD_SIZE=%u", l->step.nranks);
    ADD("OMPI_COMM_WORLD_LOCAL_RANK=%u", r->local);
    ADD("OMPI_COMM_WORLD_LOCAL_SIZE=%u", here->count);
    ADD("OMPI_COMM_WORLD_NODE_RANK=%u", r->local);
    ADD("OMPI_UNIVERSE_SIZE=%u", l->step.nranks);
    if (l->step.pmi & PMI_KIND_PMIX)
        ADD("PMIX_RANK=%u", r->name.rank);
    if (l->step.pmi & PMI_KIND_PMI1) {
        ADD("PMI_FD=%d", pmi1_fd);
        ADD("PMI_RANK=%u", r->name.rank);
        ADD("PMI_SIZE=%u", l->step.nranks);
        ADD("MPI_LOCALRANKID=%u", r->local);
        ADD("MPI_LOCALNRANKS=%u", here->count);
    }
    const char *gpus = rank_gpus(r->app, contain_gpus(&w->contain), l->same_machine);
    if (gpus)
        ADD("CUDA_VISIBLE_DEVICES=%s", gpus);
#undef ADD
    if (contain_gpus(&w->contain)[0])
        put_gpu_list(contain_gpus(&w->contain), own[n++]);
    n += defaults(w, r->app, own + n);
    return n;
}

/* Libraries that were brought go before those that the user named. */
static int put_libraries_first(struct worker *w, const struct app *app, struct app_env *env)
{
    const char *directory = preload_library_directory(w->preload);
    const char *users = env_of(app, "LD_LIBRARY_PATH");
    if (!directory)
        return 0;
    int n = asprintf(&env->library_path, "LD_LIBRARY_PATH=%s%s%s", directory,
                     users && *users ? ":" : "", users ? users : "");
    if (n < 0)
        env->library_path = NULL;
    return n < 0 ? -1 : 0;
}

/* Is the name of this entry one of the names? */
static int is_named(const char *entry, char *const *names)
{
    for (; names && *names; names++)
        if (strncmp(entry, *names, strlen(*names)) == 0 && entry[strlen(*names)] == '=')
            return 1;
    return 0;
}

/* What is this host's, not mprun's: where the manager gives nothing here, there is nothing. */
static size_t add_host_env(struct worker *w, char *const own[], char **to)
{
    size_t n = 0;
    for (char *const *name = w->launch.step.host_env; name && *name; name++)
        for (char **e = environ; *e; e++)
            if (is_named(*e, (char *const[]){*name, NULL}) && !is_in(*e, own)) {
                to[n++] = *e;
                break;
            }
    return n;
}

static int build(struct worker *w, const struct app *app, struct app_env *env)
{
    char *const *host_env = w->launch.step.host_env;
    char *const *pmi = w->pmi ? pmi_link_env(w->pmi) : NULL;
    struct rank sample = {.worker = w, .app = app};
    size_t n = 0;
    env->own = calloc(OWN_VARIABLES, sizeof(*env->own));
    env->envp = calloc(count(app->envp) + count(pmi) + count(host_env) + OWN_VARIABLES + 2,
                       sizeof(*env->envp));
    if (!env->own || !env->envp || put_libraries_first(w, app, env) < 0)
        return -1;
    if (env->library_path)
        env->envp[n++] = env->library_path;
    size_t nown = own_variables(&sample, -1, env->own);
    char *own[OWN_VARIABLES + 1] = {0};
    for (size_t i = 0; i < nown; i++)
        own[i] = env->own[i];
    for (char *const *e = app->envp; *e; e++)
        if (!is_launch_variable(*e) && !is_in(*e, own) && !is_named(*e, host_env) &&
            !(env->library_path && same_name(*e, env->library_path)) &&
            (!is_in(*e, pmi) || user_decides(*e)))
            env->envp[n++] = *e;
    n += add_host_env(w, own, env->envp + n);
    for (char *const *e = pmi; e && *e; e++) {
        int taken = is_in(*e, own) || (user_decides(*e) && is_in(*e, app->envp));
        if (!taken)
            env->envp[n++] = *e;
    }
    env->own_at = n;
    return 0;
}

/* The program that was brought here, or the one that this host has. */
static int resolve(struct worker *w, const struct app *app, struct app_env *env)
{
    const char *brought = preload_program(w->preload, (uint32_t)(app - w->launch.step.apps));
    if (!brought)
        return spawn_resolve(app->argv[0], app->envp, app->directory, &env->program,
                             &env->resolve_error);
    env->program = strdup(brought);
    return env->program ? 0 : error_errno(&env->resolve_error, ENOMEM, "execute '%s'", brought);
}

int rank_exec_prepare(struct worker *w, struct error *err)
{
    const struct step *s = &w->launch.step;
    w->ranks.envs = calloc(s->napps, sizeof(*w->ranks.envs));
    if (!w->ranks.envs)
        return error_errno(err, ENOMEM, "prepare the environment of ranks");
    for (size_t i = 0; i < s->napps; i++) {
        struct app_env *env = &w->ranks.envs[i];
        if (build(w, &s->apps[i], env) < 0)
            return error_errno(err, ENOMEM, "prepare the environment of ranks");
        if (resolve(w, &s->apps[i], env) < 0)
            env->program = NULL;
        else
            env->resolve_error.code = 0;
    }
    return 0;
}

void rank_exec_free(struct worker *w)
{
    for (size_t i = 0; w->ranks.envs && i < w->launch.step.napps; i++) {
        free(w->ranks.envs[i].envp);
        free(w->ranks.envs[i].own);
        free(w->ranks.envs[i].program);
        free(w->ranks.envs[i].library_path);
    }
    free(w->ranks.envs);
    w->ranks.envs = NULL;
}

/* ---- one rank -------------------------------------------------------------------------------- */

static void set_environment(struct rank *r, int pmi1_fd, struct app_env *env, struct spawn *s)
{
    size_t n = own_variables(r, pmi1_fd, env->own);
    for (size_t i = 0; i < n; i++)
        env->envp[env->own_at + i] = env->own[i];
    env->envp[env->own_at + n] = NULL;
    s->envp = env->envp;
}

static cpu_set_t *make_affinity(struct rank *r, size_t *ret_size)
{
    struct worker *w = r->worker;
    const struct idset *threads = NULL;
    if (w->binding.bound && r->local < w->binding.nranks)
        threads = &w->binding.ranks[r->local];
    else if (!w->launch.granted_all)
        threads = &w->launch.granted;
    if (!threads || idset_count(threads) == 0)
        return NULL;
    int highest = 0;
    for (int id = idset_next(threads, 0); id >= 0; id = idset_next(threads, (unsigned)id + 1))
        highest = id;
    cpu_set_t *set = CPU_ALLOC((size_t)highest + 1);
    *ret_size = CPU_ALLOC_SIZE((size_t)highest + 1);
    if (!set)
        return NULL;
    CPU_ZERO_S(*ret_size, set);
    for (int id = idset_next(threads, 0); id >= 0; id = idset_next(threads, (unsigned)id + 1))
        CPU_SET_S((size_t)id, *ret_size, set);
    return set;
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

/* Does this process have another score than ranks are to have? */
static int oom_score_differs(void)
{
    char text[16];
    return file_read_at(AT_FDCWD, "/proc/self/oom_score_adj", text, sizeof(text)) > 0 &&
           strcmp(text, "0") != 0;
}

pid_t rank_exec(struct rank *r, const int fds[3], struct spawn_failure *f, struct error *err)
{
    struct worker *w = r->worker;
    const struct step *step = &w->launch.step;
    struct app_env *env = &w->ranks.envs[r->app - step->apps];
    struct cgroup_birth birth;
    struct spawn s;
    size_t affinity_size = 0;
    AUTO_CLOSE int pmi1_fd = -1;
    if (!env->program) {
        *f = (struct spawn_failure){.step = SPAWN_EXEC, .code = env->resolve_error.code};
        if (access(r->app->directory, X_OK) < 0) { /* what a relative name was looked up in */
            *f = (struct spawn_failure){.step = SPAWN_DIRECTORY, .code = errno};
            error_errno(err, errno, "change to directory '%s'", r->app->directory);
        } else {
            *err = env->resolve_error;
        }
        start_advice(f, NULL, r->app->directory, err);
        return -1;
    }
    if ((step->pmi & PMI_KIND_PMI1) &&
        (pmi1_fd = pmi_link_connect_rank(w->pmi, r->name, err)) < 0) {
        *f = (struct spawn_failure){.step = SPAWN_DESCRIPTORS, .code = err->code};
        return -1;
    }
    spawn_init(&s);
    s.path = env->program;
    s.argv = r->app->argv;
    s.directory = r->app->directory;
    memcpy(s.fds, fds, sizeof(s.fds));
    s.umask = step->umask;
    s.set_nice = 1;
    s.nice = step->nice;
    s.limits = step->soft_limits;
    s.parent_death_signal = SIGKILL;
    s.new_session = s.take_terminal = rank_has_terminal(r);
    s.set_oom_score_adj = oom_score_differs();
    s.keep_fds = &pmi1_fd;
    s.nkeep_fds = pmi1_fd >= 0;
    set_environment(r, pmi1_fd, env, &s);
    set_birth(r, &s, &birth);
    cpu_set_t *affinity = make_affinity(r, &affinity_size);
    s.affinity = affinity;
    s.affinity_size = affinity_size;
    pid_t pid = spawn_process(&s, f, err);
    int saved = errno;
    if (affinity)
        CPU_FREE(affinity);
    errno = saved;
    if (pid < 0)
        start_advice(f, env->program, s.directory, err);
    return pid;
}
