/* SPDX-License-Identifier: BSD-3-Clause */
/* slurm.c - a job of Slurm: its nodes from SLURM_JOB_NODELIST, reached by one srun
 *
 * Variables of sbatch(1) and srun(1), as Slurm 22.05 sets them. In a step srun has replaced
 * SLURM_TASKS_PER_NODE by the step's own, so there the job's CPUs count. A heterogeneous job has
 * each variable once more for each component, with _HET_GROUP_N behind its name. */
#include "rm-adapters/slurm/slurm-private.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/number.h"
#include "rm-adapters/hosts/requested-hosts.h"

/* NULL: not set, or empty. */
static const char *slurm_variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

/* ---- the job --------------------------------------------------------------------------------- */

static bool is_number(const char *text)
{
    return text && *text && strspn(text, "0123456789") == strlen(text);
}

static bool slurm_detect(const struct host_request *request, char *reason, size_t n)
{
    const char *job = slurm_variable("SLURM_JOB_ID"), *list = slurm_variable("SLURM_JOB_NODELIST");
    reason[0] = 0;
    if (!job && !list)
        return false;
    if (!is_number(job) || !list) {
        snprintf(reason, n, "%s is not set as in a job of Slurm",
                 is_number(job) ? "SLURM_JOB_NODELIST" : "SLURM_JOB_ID");
        return false;
    }
    snprintf(reason, n, "this is job %.20s of Slurm (SLURM_JOB_ID, SLURM_JOB_NODELIST)", job);
    return true;
}

/* A component of a heterogeneous job, or the whole of another job. */
struct job_part {
    int64_t component; /* -1: the job has none */
    char names[64];    /* of the last variable that was read */
};

/* SLURM_JOB_NODELIST of the part; NULL: not set. Its name is in part->names then. */
static const char *part_variable(struct job_part *part, const char *name)
{
    if (part->component < 0)
        snprintf(part->names, sizeof(part->names), "%s", name);
    else
        snprintf(part->names, sizeof(part->names), "%s_HET_GROUP_%d", name, (int)part->component);
    return slurm_variable(part->names);
}

static int choose_part(const char *argument, struct job_part *ret, struct error *err)
{
    const char *size = slurm_variable("SLURM_HET_SIZE");
    int64_t n;
    ret->component = -1;
    if (!size && !argument)
        return 0;
    if (!size)
        return error_set(err, EINVAL,
                         "'--rm slurm:%.20s' names a component of a heterogeneous job, which "
                         "this job is not",
                         argument);
    if (number_parse(size, "SLURM_HET_SIZE", 1, 1024, &n, err) < 0)
        return -1;
    if (!argument)
        return error_set(err, EINVAL,
                         "job %.20s is heterogeneous, with %d components; a step runs in one of "
                         "them: choose it with '--rm slurm:0' to '--rm slurm:%d'",
                         slurm_variable("SLURM_JOB_ID"), (int)n, (int)n - 1);
    return number_parse(argument, "the component in '--rm slurm:N'", 0, n - 1, &ret->component,
                        err);
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* Are these tasks those of the step that mprun is in? Batch scripts and interactive steps have
 * numbers as well, the highest ones. An salloc in a step leaves the step's variables, but has tasks
 * of its own. A rank of mprun has the number of mprun's step, if srun has started it, and the tasks
 * of the job, or with --as srun those of mprun's step. */
static bool is_of_step(const char *tasks)
{
    const char *step = slurm_variable("SLURM_STEP_ID");
    const char *own = slurm_variable("SLURM_STEP_TASKS_PER_NODE");
    if (step && (!is_number(step) || strlen(step) >= strlen("4294967280")))
        return false;
    return own ? strcmp(own, tasks) == 0 : step && !getenv("MPRUN_STEP_ID");
}

/* Reads "4(x2),1", a number for each of n hosts. */
static int read_counts(const char *text, const char *name, size_t n, uint32_t *ret,
                       struct error *err)
{
    size_t got = 0;
    const char *at = text;
    while (*at) {
        char *end;
        unsigned long count = strtoul(at, &end, 10), times = 1;
        bool ok = end != at && count > 0 && count <= HOSTLIST_SLOTS_MAX;
        if (ok && strncmp(end, "(x", 2) == 0) {
            at = end + 2;
            times = strtoul(at, &end, 10);
            ok = end != at && *end++ == ')' && times > 0;
        }
        ok = ok && (*end == ',' ? end[1] != 0 : *end == 0) && times <= n - got;
        if (!ok)
            return error_set(err, EINVAL, "%s is '%.60s': not a number for each of %zu node%s",
                             name, text, n, plural(n));
        for (; times; times--)
            ret[got++] = (uint32_t)count;
        at = end + (*end == ',');
    }
    return got == n ? 0
                    : error_set(err, EINVAL, "%s is '%.60s': %zu numbers for %zu node%s", name,
                                text, got, n, plural(n));
}

/* 0: the job does not say. */
static int read_cpus_per_task(struct job_part *part, uint32_t *ret, struct error *err)
{
    const char *value = part_variable(part, "SLURM_CPUS_PER_TASK");
    int64_t n = 0;
    if (value && number_parse(value, part->names, 1, HOSTLIST_SLOTS_MAX, &n, err) < 0)
        return -1;
    *ret = (uint32_t)n;
    return 0;
}

static void set_slots(struct alloc_host *h, uint32_t slots, uint32_t cpus, const char *source)
{
    h->slots.value = slots ? slots : 1;
    snprintf(h->slots.source, sizeof(h->slots.source), "%s", source);
    h->granted = cpus;
}

static int read_slots(struct job_part *part, struct allocation *a, struct error *err)
{
    AUTO_FREE uint32_t *cpus = must(calloc(a->nhosts + 1, sizeof(*cpus)));
    AUTO_FREE uint32_t *tasks = must(calloc(a->nhosts + 1, sizeof(*tasks)));
    char source[64];
    const char *text = part_variable(part, "SLURM_JOB_CPUS_PER_NODE");
    if (!text)
        return error_set(err, EINVAL, "%s is not set as in a job of Slurm", part->names);
    if (read_counts(text, part->names, a->nhosts, cpus, err) < 0 ||
        read_cpus_per_task(part, &a->slot_cores, err) < 0)
        return -1;
    text = part_variable(part, "SLURM_TASKS_PER_NODE");
    bool has_tasks = text && !is_of_step(text);
    if (has_tasks && read_counts(text, part->names, a->nhosts, tasks, err) < 0)
        return -1;
    uint32_t each = a->slot_cores ? a->slot_cores : 1;
    snprintf(source, sizeof(source), has_tasks ? "%s" : "SLURM_JOB_CPUS_PER_NODE%s",
             has_tasks  ? part->names
             : each > 1 ? " / SLURM_CPUS_PER_TASK"
                        : "");
    for (size_t i = 0; i < a->nhosts; i++)
        set_slots(&a->hosts[i], has_tasks ? tasks[i] : cpus[i] / each, cpus[i], source);
    return 0;
}

/* ---- allocation ------------------------------------------------------------------------------ */

static int read_granted(struct job_part *part, struct hostlist *l, struct error *err)
{
    const char *list = part_variable(part, "SLURM_JOB_NODELIST");
    if (!list)
        return error_set(err, EINVAL, "%s is not set; start mprun from sbatch, salloc or srun",
                         part->names);
    if (hostlist_parse(list, l, err) < 0)
        return error_context(err, "%s", part->names);
    return read_slots(part, &l->allocation, err);
}

static int slurm_read_allocation(const struct host_request *request, struct allocation *ret,
                                 struct error *err)
{
    AUTO(hostlist_free) struct hostlist granted = {.stated = 0};
    struct job_part part;
    char reason[200];
    if (!slurm_detect(request, reason, sizeof(reason)))
        return error_set(err, EINVAL, "%s; start mprun from sbatch, salloc or srun",
                         reason[0] ? reason : "SLURM_JOB_ID is not set");
    if (choose_part(request->argument, &part, err) < 0)
        return -1;
    int rc = read_granted(&part, &granted, err);
    uint32_t slot_cores = granted.allocation.slot_cores;
    if (rc < 0 || named_cut(request, &granted, slurm_variable("SLURM_JOB_ID"), err) < 0)
        return -1;
    *ret = hostlist_take(&granted);
    ret->slot_cores = slot_cores;
    snprintf(ret->slot_cores_source, sizeof(ret->slot_cores_source), "SLURM_CPUS_PER_TASK");
    snprintf(ret->job_id, sizeof(ret->job_id), "%.30s", slurm_variable("SLURM_JOB_ID"));
    if (part.component >= 0) /* as Slurm writes it */
        snprintf(ret->job_id, sizeof(ret->job_id), "%.30s+%d", slurm_variable("SLURM_JOB_ID"),
                 (int)part.component);
    snprintf(ret->source, sizeof(ret->source), "SLURM_JOB_NODELIST");
    snprintf(ret->more, sizeof(ret->more), "sbatch -n");
    named_mark_here(ret);
    return 0;
}

/* GPUs are counted on each node by itself; job_container/tmpfs gives each one its own TMPDIR; the
 * address is that of the host from which srun, or mprun, has started the step. With
 * SLURM_NODELIST but no step Open MPI 4 takes a process for one that nobody has launched. */
static const char *const host_env[] = {"CUDA_VISIBLE_DEVICES",
                                       "ROCR_VISIBLE_DEVICES",
                                       "GPU_DEVICE_ORDINAL",
                                       "ZE_AFFINITY_MASK",
                                       "SLURM_JOB_GPUS",
                                       "SLURM_STEP_GPUS",
                                       "SLURM_GPUS_ON_NODE",
                                       "SLURM_CPUS_ON_NODE",
                                       "SLURM_STEP_ID",
                                       "SLURM_STEPID",
                                       "SLURMD_NODENAME",
                                       "SLURM_TOPOLOGY_ADDR",
                                       "SLURM_LAUNCH_NODE_IPADDR",
                                       "TMPDIR",
                                       NULL};

static const char *const parents[] = {"slurmstepd", "salloc", NULL};

const struct rm_adapter rm_adapter_slurm = {
    .name = "slurm",
    .detect = slurm_detect,
    .parents = parents,
    .read_allocation = slurm_read_allocation,
    .start = srun_start,
    .cancel = srun_cancel,
    .destroy = srun_destroy,
    .reported = srun_reported,
    .left = srun_left,
    .abandon = srun_abandon,
    .hand_over = srun_hand_over,
    .retry = srun_retry,
    .describe = srun_describe,
    .advise = srun_advise,
    .is_noise = srun_is_noise,
    .client_name = "srun",
    .lost_code = 1, /* srun's own; mpstarter never ends with it */
    .host_env = host_env,
    .stdio_channel = STDIO_SHARED,
    .stdio_reason = "one srun starts all hosts, and has one standard input for all",
    .signals_starters = 1UL << SIGUSR1 | 1UL << SIGUSR2,
    .ends_hosts = "; it may be Slurm that did so, at a limit of the job such as --mem or --time "
                  "('scontrol show job $SLURM_JOB_ID' shows them), or for scancel",
};
