/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/ranks/rank-environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/must.h"
#include "common/processes/spawn.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "rm-adapters/starter-side/starter-side.h"
#include "starter/binding/gpu-shares.h"
#include "starter/containment/step-containment.h"
#include "starter/host-directories.h"
#include "starter/preload/preload.h"
#include "starter/ranks/rank-gpus.h"
#include "starter/services.h"
#include "wire/messages/launch.h"

enum { OWN_VARIABLES = 56, OWN_SIZE = RANK_VARIABLE_SIZE };

/* Variables with these beginnings describe a launch, or a single task of another launcher, in which
 * mprun itself runs. Our own variables replace them, and those of a manager's task. PMIX_MCA_,
 * other OMPI_MCA_, and whatever else begins with MPRUN_ are the user's settings and stay. */
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
    NULL,
};

static bool is_launch_variable(const char *entry)
{
    return strncmp(entry, "PMIX_MCA_", 9) != 0 &&
           (begins_with_any(entry, launch_prefixes) || rm_starter_side_is_task_variable(entry));
}

/* Returns whether both have the same name. other: "NAME=value", or "NAME". */
static bool same_name(const char *entry, const char *other)
{
    if (*entry != *other)
        return false;
    size_t n = strcspn(other, "=");
    return strncmp(entry, other, n) == 0 && entry[n] == '=';
}

static bool is_in(const char *entry, char *const *list)
{
    for (; list && *list; list++)
        if (same_name(entry, *list))
            return true;
    return false;
}

static bool user_has(const struct app *app, const char *entry)
{
    for (char *const *e = app->envp; *e; e++)
        if (same_name(*e, entry) && !is_launch_variable(*e))
            return true;
    return false;
}

static bool user_decides(const char *entry)
{
    /* a launcher's defaults that a user may have set otherwise */
    return strncmp(entry, "OMPI_MCA_", 9) == 0;
}

/* ---- mprun's own variables ------------------------------------------------------------------- */

/* Adds defaults for Open MPI, for hosts that are one machine and for more ranks than cores, unless
 * the user has set them. */
static size_t defaults(const struct rank_environment *e, char (*own)[OWN_SIZE])
{
    const struct launch *l = e->with->launch;
    size_t n = 0;
    if (l->step.oversubscribed)
        snprintf(own[n++], OWN_SIZE, "OMPI_MCA_mpi_yield_when_idle=1");
    if (l->step.pmi & PMI_KIND_PMIX)
        snprintf(own[n++], OWN_SIZE, "OMPI_MCA_btl_vader_backing_directory=%s",
                 host_directories_memory(e->with->directories));
    /* the default anyway; while Open MPI tries out other ones, a rank that is killed leaves
     * /dev/shm/open_mpi.* behind */
    if (l->step.pmi & PMI_KIND_PMIX)
        snprintf(own[n++], OWN_SIZE, "OMPI_MCA_shmem=mmap");
    if (l->same_machine && l->nhosts > 1)
        snprintf(own[n++], OWN_SIZE, "OMPI_MCA_btl_tcp_if_include=lo");
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!user_has(e->app, own[i]) && kept++ != i)
            memcpy(own[kept - 1], own[i], OWN_SIZE);
    return kept;
}

/* Adds the variables from which Open MPI 4 fills MPI_INFO_ENV. Leaves out lists and a directory
 * that are longer than a variable can be. */
static size_t info_variables(const struct rank_environment *e, char (*own)[OWN_SIZE])
{
    const struct step *s = &e->with->launch->step;
    char first[OWN_SIZE] = "", counts[OWN_SIZE] = "";
    size_t n = 0, nfirst = 0, ncounts = 0;
    for (size_t i = 0; i < s->napps && nfirst < OWN_SIZE && ncounts < OWN_SIZE; i++) {
        const struct rank_set *ranks = &s->apps[i].ranks;
        const char *blank = i ? " " : "";
        nfirst += (size_t)snprintf(first + nfirst, OWN_SIZE - nfirst, "%s%u", blank,
                                   rank_set_count(ranks) ? rank_set_at(ranks, 0).rank : 0);
        ncounts += (size_t)snprintf(counts + ncounts, OWN_SIZE - ncounts, "%s%u", blank,
                                    rank_set_count(ranks));
    }
    snprintf(own[n++], OWN_SIZE, "OMPI_NUM_APP_CTX=%zu", s->napps);
    if (nfirst < OWN_SIZE - 32 && ncounts < OWN_SIZE - 32) {
        snprintf(own[n++], OWN_SIZE, "OMPI_FIRST_RANKS=%.*s", OWN_SIZE - 32, first);
        snprintf(own[n++], OWN_SIZE, "OMPI_APP_CTX_NUM_PROCS=%.*s", OWN_SIZE - 32, counts);
    }
    if (strlen(e->app->directory) < OWN_SIZE - 32)
        snprintf(own[n++], OWN_SIZE, "OMPI_MCA_initial_wdir=%s", e->app->directory);
    return n;
}

static size_t gpu_variables_of(const struct rank_environment *e, uint32_t local,
                               char (*own)[OWN_SIZE])
{
    const struct launch *l = e->with->launch;
    char list[GPU_LIST_MAX];
    struct rank_gpus gpus = {.kinds = gpu_shares_kinds(e->with->gpus),
                             .is_launcher_host = l->same_machine,
                             .is_ranks_own = gpu_shares_of(e->with->gpus, local, list)};
    gpus.ids = gpus.is_ranks_own ? list : e->with->containment->answer.gpus;
    return rank_gpu_variables(e->app, &l->step, &gpus, own);
}

/* Returns the index on this host of the app's first rank, which has the variables of all. */
static uint32_t first_local(const struct rank_environment *e)
{
    const struct launch *l = e->with->launch;
    const struct rank_set *here = &launch_here(l)->ranks;
    uint32_t n = rank_set_count(here), i = 0;
    while (i < n && step_app_of(&l->step, rank_set_at(here, i)) != e->app)
        i++;
    return i;
}

/* Puts mprun's own variables of this rank into e->own: those that differ between ranks, and those
 * that all ranks of the host share. Returns their number. */
static size_t own_variables(const struct rank_environment *e, struct rank_name name, uint32_t local,
                            int pmi_fd)
{
    const struct launch *l = e->with->launch;
    const char *data = e->with->brought->directories[PRELOAD_DATA];
    uint32_t nlocal = rank_set_count(&launch_here(l)->ranks);
    char(*own)[OWN_SIZE] = e->own;
    const char *submitted = spawn_env_value(e->app->envp, "TMPDIR");
    const char *tmpdir = e->with->directories->job_tmpdir;
    size_t n = 0;
#define ADD(...) snprintf(own[n++], OWN_SIZE, __VA_ARGS__)
    ADD("MPRUN_RANK=%u", name.rank);
    ADD("MPRUN_SIZE=%u", l->step.nranks);
    ADD("MPRUN_LOCAL_RANK=%u", local);
    ADD("MPRUN_LOCAL_SIZE=%u", nlocal);
    ADD("MPRUN_HOST_INDEX=%u", l->host_index);
    ADD("MPRUN_HOSTS=%zu", l->nhosts);
    ADD("MPRUN_HOST_NAME=%s", launch_here(l)->host);
    ADD("MPRUN_STEP_ID=%s", l->step.id);
    ADD("MPRUN_WORLD=%u", name.world);
    ADD("MPRUN_INCARNATION=%u", name.incarnation);
    if (submitted && !tmpdir && strlen(submitted) < OWN_SIZE - 32)
        ADD("MPRUN_SUBMIT_TMPDIR=%s", submitted);
    ADD("TMPDIR=%s%s", tmpdir ? tmpdir : e->with->directories->main.path,
        tmpdir || !e->with->directories->has_files ? "" : "/t");
    if (data)
        ADD("MPRUN_PRELOAD_DIR=%s", data);
    ADD("OMPI_COMM_WORLD_RANK=%u", name.rank);
    ADD("OMPI_COMM_WORLD_SIZE=%u", l->step.nranks);
    ADD("OMPI_COMM_WORLD_LOCAL_RANK=%u", local);
    ADD("OMPI_COMM_WORLD_LOCAL_SIZE=%u", nlocal);
    ADD("OMPI_COMM_WORLD_NODE_RANK=%u", local);
    if (l->step.pmi) /* where it is set, Open MPI's mpirun starts nothing */
        ADD("OMPI_UNIVERSE_SIZE=%u", l->step.universe ? l->step.universe : l->step.nranks);
    if (l->step.slurm_variables) {
        ADD("SLURM_PROCID=%u", name.rank);
        ADD("SLURM_LOCALID=%u", local);
        ADD("SLURM_NODEID=%u", l->host_index);
        ADD("SLURM_NTASKS=%u", l->step.nranks);
        ADD("SLURM_NPROCS=%u", l->step.nranks);
        ADD("SLURM_NNODES=%zu", l->nhosts);
        ADD("SLURM_STEP_NUM_TASKS=%u", l->step.nranks);
        ADD("SLURM_STEP_NUM_NODES=%zu", l->nhosts);
        ADD("SLURMD_NODENAME=%s", launch_here(l)->host);
    }
    if (l->step.pmi & PMI_KIND_PMIX)
        ADD("PMIX_RANK=%u", name.rank);
    if (l->step.pmi & PMI_KINDS_SIMPLE) {
        ADD("PMI_FD=%d", pmi_fd);
        ADD("PMI_RANK=%u", name.rank);
        ADD("PMI_SIZE=%u", l->step.nranks);
        ADD("MPI_LOCALRANKID=%u", local);
        ADD("MPI_LOCALNRANKS=%u", nlocal);
        ADD("MV2_COMM_WORLD_RANK=%u", name.rank);
        ADD("MV2_COMM_WORLD_SIZE=%u", l->step.nranks);
        ADD("MV2_COMM_WORLD_LOCAL_RANK=%u", local);
        ADD("MV2_COMM_WORLD_LOCAL_SIZE=%u", nlocal);
        if (l->has_parent)
            ADD("PMI_SPAWNED=1");
    }
#undef ADD
    if (l->step.pmi & PMI_KIND_PMIX)
        n += info_variables(e, own + n);
    n += gpu_variables_of(e, local, own + n);
    n += defaults(e, own + n);
    return n;
}

/* ---- what all ranks of an app share ---------------------------------------------------------- */

/* Puts libraries that were brought here before those that the user named. */
static void put_libraries_first(struct rank_environment *e)
{
    const char *directory = e->with->brought->directories[PRELOAD_LIBRARY];
    const char *users = spawn_env_value(e->app->envp, "LD_LIBRARY_PATH");
    if (directory)
        e->library_path = text_format("LD_LIBRARY_PATH=%s%s%s", directory,
                                      users && *users ? ":" : "", users ? users : "");
}

/* Adds the variables that ranks get from this host and not from mprun; removes those that the
 * manager does not set here. */
static size_t add_host_env(const struct rank_environment *env, char *const own[], char **to)
{
    size_t n = 0;
    for (char *const *name = env->with->launch->step.host_env; name && *name; name++)
        for (char **e = environ; *e; e++)
            if (same_name(*e, *name) && !is_in(*e, own)) {
                to[n++] = *e;
                break;
            }
    return n;
}

void rank_environment_init(struct rank_environment *env, const struct app *app,
                           const struct starter_services *with)
{
    char *const *host_env = with->launch->step.host_env;
    char *const *pmi = with->pmi_env;
    size_t n = 0;
    *env = (struct rank_environment){.app = app, .with = with};
    env->own = must(calloc(OWN_VARIABLES, sizeof(*env->own)));
    env->envp = must(calloc(words_count(app->envp) + words_count(pmi) + words_count(host_env) +
                                OWN_VARIABLES + TASK_LISTS + 2,
                            sizeof(*env->envp)));
    put_libraries_first(env);
    if (env->library_path)
        env->envp[n++] = env->library_path;
    if (with->launch->step.slurm_variables)
        task_lists_make(with->launch->hosts, with->launch->nhosts, with->launch->host_index,
                        env->task_lists);
    for (char **list = env->task_lists; *list; list++)
        env->envp[n++] = *list;
    size_t nown = own_variables(env, (struct rank_name){0}, first_local(env), -1);
    char *own[OWN_VARIABLES + 1] = {0};
    for (size_t i = 0; i < nown; i++)
        own[i] = env->own[i];
    for (char *const *e = app->envp; *e; e++)
        if (!is_launch_variable(*e) && !is_in(*e, own) && !is_in(*e, host_env) &&
            !is_in(*e, env->task_lists) &&
            !(env->library_path && same_name(*e, env->library_path)) &&
            (!is_in(*e, pmi) || user_decides(*e)))
            env->envp[n++] = *e;
    n += add_host_env(env, own, env->envp + n);
    for (char *const *e = pmi; e && *e; e++) {
        int taken = is_in(*e, own) || (user_decides(*e) && is_in(*e, app->envp));
        if (!taken)
            env->envp[n++] = *e;
    }
    env->nshared = n;
}

void rank_environment_free(struct rank_environment *e)
{
    free(e->envp);
    free(e->own);
    free(e->library_path);
    for (char **list = e->task_lists; *list; list++)
        free(*list);
}

char *const *rank_environment_of(struct rank_environment *e, struct rank_name name, uint32_t local,
                                 int pmi_fd)
{
    size_t n = own_variables(e, name, local, pmi_fd);
    for (size_t i = 0; i < n; i++)
        e->envp[e->nshared + i] = e->own[i];
    e->envp[e->nshared + n] = NULL;
    return e->envp;
}
