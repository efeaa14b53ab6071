/* SPDX-License-Identifier: BSD-3-Clause */
/* srun-values.c - values that srun counts in units of its own */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "launcher/cmdline/cmdline-private.h"
#include "launcher/cmdline/options/option-functions.h"
#include "launcher/cmdline/other-launchers/other-launchers.h"

/* "4", or "2-4". */
int cmdline_apply_nodes(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    const char *dash = strchr(value, '-');
    if (!dash || dash == value)
        return cmdline_set_count(&c->place.nodes_max, value, strlen(value), err) < 0
                   ? -1
                   : cmdline_set_count(&c->place.nodes_min, value, strlen(value), err);
    if (cmdline_set_count(&c->place.nodes_min, value, (size_t)(dash - value), err) < 0 ||
        cmdline_set_count(&c->place.nodes_max, dash + 1, strlen(dash + 1), err) < 0)
        return -1;
    return c->place.nodes_min <= c->place.nodes_max
               ? 0
               : error_set(err, EINVAL, "'%.60s' ends before it begins", value);
}

/* A number alone is megabytes; 0 is no limit. */
int cmdline_apply_megabytes(void *target, const char *value, struct error *err)
{
    char text[80];
    bool bare = value[0] && value[strspn(value, "0123456789")] == 0;
    if (strcmp(value, "0") == 0)
        return 0;
    snprintf(text, sizeof(text), "%.70s%s", value, bare ? "M" : "");
    return cmdline_apply_named(target, "--mem", text, err);
}

static int whole_numbers(const char *text, unsigned n[3])
{
    int used = 0,
        fields = sscanf(text, "%6u%n:%6u%n:%6u%n", &n[0], &used, &n[1], &used, &n[2], &used);
    return fields > 0 && text[used] == 0 && text[0] != ' ' ? fields : 0;
}

/* "minutes", "minutes:seconds", "hours:minutes:seconds", "days-hours", "days-hours:minutes",
 * "days-hours:minutes:seconds". */
int cmdline_apply_minutes(void *target, const char *value, struct error *err)
{
    const char *dash = strchr(value, '-');
    unsigned n[3] = {0}, days[3] = {0};
    unsigned long long seconds;
    char text[24];
    if (strcasecmp(value, "UNLIMITED") == 0 || strcasecmp(value, "INFINITE") == 0 ||
        strcmp(value, "0") == 0)
        return 0;
    snprintf(text, sizeof(text), "%.*s", dash ? (int)(dash - value) : 0, value);
    int fields = whole_numbers(dash ? dash + 1 : value, n);
    if (fields == 0 || (dash && whole_numbers(text, days) != 1))
        return error_set(err, EINVAL,
                         "'%.60s' is not a time; expected are minutes, or minutes:seconds, "
                         "hours:minutes:seconds, days-hours, days-hours:minutes[:seconds]",
                         value);
    if (dash || fields == 3)
        seconds = days[0] * 86400ULL + n[0] * 3600ULL + n[1] * 60ULL + n[2];
    else
        seconds = n[0] * 60ULL + n[1];
    snprintf(text, sizeof(text), "%llus", seconds);
    return seconds ? cmdline_apply_named(target, "--timeout", text, err) : 0;
}

/* "pmix_v4" is a version of "pmix", "openmpi" is "none", "cray_shasta" offers what PALS does, and
 * the plugin "pmi2" serves programs of PMI-1, too. */
const char *cmdline_mpi_plugin(const char *name)
{
    return strncmp(name, "pmix_v", 6) == 0                               ? "pmix"
           : strcmp(name, "openmpi") == 0                                ? "none"
           : strcmp(name, "pmi2") == 0                                   ? "pmi1,pmi2"
           : strncmp(name, "cray", 4) == 0 || strcmp(name, "pspmi") == 0 ? "pmix,pmi1,pmi2"
                                                                         : name;
}

int cmdline_apply_mpi_plugin(void *target, const char *value, struct error *err)
{
    return cmdline_apply_named(target, "--pmi", cmdline_mpi_plugin(value), err);
}

/* "none", "local", with "verbose," or "quiet," before it. */
int cmdline_apply_srun_mem_bind(void *target, const char *value, struct error *err)
{
    size_t len = strcspn(value, ",");
    bool is_noise = len == 1   ? *value == 'v' || *value == 'q'
                    : len == 7 ? strncasecmp(value, "verbose", 7) == 0
                               : len == 5 && strncasecmp(value, "quiet", 5) == 0;
    const char *how = is_noise && value[len] ? value + len + 1 : value;
    if (strcasecmp(how, "none") == 0 || strcasecmp(how, "no") == 0)
        return cmdline_apply_named(target, "--mem-bind", "none", err);
    if (strcasecmp(how, "local") == 0)
        return cmdline_apply_named(target, "--mem-bind", "local", err);
    return option_note(&((struct cmdline *)target)->no_effect, "--mem-bind", 10);
}

/* ---- GPUs: the resource manager's, but for the number of tasks ------------------------------- */

uint32_t cmdline_count_gpus(const char *value)
{
    uint64_t sum = 0;
    for (const char *at = value;; at++) {
        size_t len = strcspn(at, ",");
        const char *colon = memrchr(at, ':', len), *number = colon ? colon + 1 : at;
        sum += (size_t)(at + len - number) < 8 ? strtoul(number, NULL, 10) : 0;
        at += len;
        if (!*at)
            break;
    }
    return sum <= CMDLINE_RANKS_MAX ? (uint32_t)sum : 0;
}

/* A job has the GPUs; which of them is whose, mprun decides. */
static int apply_task_gpus(struct cmdline *c, uint32_t n, struct error *err)
{
    char text[16];
    snprintf(text, sizeof(text), "%u", n);
    return cmdline_apply_named(c, "--gpus-per-rank", text, err);
}

int cmdline_apply_gpus(void *target, const char *option, const char *value, struct error *err)
{
    struct cmdline *c = target;
    const struct {
        const char *option;
        uint32_t *number;
    } numbers[] = {{"--gpus", &c->reading.gpus.number},
                   {"--gpus-per-node", &c->reading.gpus.per_host},
                   {"--cpus-per-gpu", &c->reading.gpus.cpus},
                   {"--gpus-per-task", &c->reading.gpus.per_task},
                   {"--ntasks-per-gpu", &c->reading.gpus.tasks}};
    size_t i = 0;
    while (strcmp(numbers[i].option, option) != 0)
        i++;
    *numbers[i].number = cmdline_count_gpus(value);
    if (numbers[i].number == &c->reading.gpus.per_task && *numbers[i].number &&
        getenv("SLURM_JOB_ID"))
        return apply_task_gpus(c, *numbers[i].number, err);
    return option_note(&c->for_job, option, strlen(option));
}

/* "gpu:a100:4,nvme:1": GPUs of each node. */
int cmdline_apply_gres(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    const char *gpu = strstr(value, "gpu");
    if (!gpu || c->reading.gpus.per_host)
        return option_note(&c->for_job, "--gres", 6);
    AUTO_FREE char *one = must(strndup(gpu, strcspn(gpu, ",")));
    c->reading.gpus.per_host = cmdline_count_gpus(one);
    return option_note(&c->for_job, "--gres", 6);
}

static int apply_count(struct cmdline *c, const char *option, uint64_t n, struct error *err)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
    c->reading.app = c->apps;
    return cmdline_apply_named(c, option, text, err);
}

static bool has_ranks(const struct cmdline *c)
{
    const struct placement_options *p = &c->place;
    return c->napps != 1 || c->apps[0].nranks || p->per_host || p->bind.ppr || p->in_sequence ||
           p->rank_file;
}

int cmdline_take_gpu_ranks(struct cmdline *c, struct error *err)
{
    uint64_t number = c->reading.gpus.number, per_host = c->reading.gpus.per_host;
    uint32_t tasks = c->reading.gpus.tasks, per_task = c->reading.gpus.per_task,
             cpus = c->reading.gpus.cpus;
    cpus = per_task ? cpus * per_task : tasks ? cpus / tasks : 0;
    if (c->dialect == DIALECT_SRUN && cpus && cpus <= CMDLINE_RANKS_MAX && !c->place.bind.cores) {
        c->place.bind.cores = cpus;
        c->place.bind.by_threads = true;
    }
    if (c->dialect != DIALECT_SRUN || has_ranks(c) || (!tasks && !(per_task && number)))
        return 0;
    if (tasks && !number && !per_host)
        return error_set(
            err, EINVAL,
            "option '--ntasks-per-gpu': how many GPUs there are is not said; write '--ntasks N', "
            "or '--ntasks-per-node N' for a GPU's tasks times the GPUs of a node");
    if (!tasks)
        return apply_count(c, "--np", number > per_task ? number / per_task : 1, err);
    return number ? apply_count(c, "--np", number * tasks, err)
                  : apply_count(c, "--npernode", per_host * tasks, err);
}

int cmdline_take_slurm_ranks(struct cmdline *c, const char *value, struct error *err)
{
    if (has_ranks(c))
        return 0;
    c->reading.app = c->apps;
    return cmdline_apply_named(c, "--np", value, err);
}

int cmdline_take_srun_ranks(struct cmdline *c, struct error *err)
{
    if (c->dialect != DIALECT_SRUN || has_ranks(c) || c->place.bind.cores)
        return 0;
    return apply_count(c, "--npernode", 1, err);
}

/* "user" and "mcs" say with whose jobs the job's nodes are shared. */
int cmdline_apply_exclusive(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    return value ? option_note(&c->for_job, "--exclusive", 11)
                 : cmdline_apply_named(c, "--wait-cores", NULL, err);
}

/* ---- hardware threads ------------------------------------------------------------------------ */

int cmdline_apply_hint(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    if (strcmp(value, "nomultithread") == 0)
        c->place.one_thread = true;
    else if (strcmp(value, "multithread") != 0)
        return option_note(&c->no_effect, "--hint", 6);
    return 0;
}

int cmdline_apply_threads_per_core(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    if (strcmp(value, "1") == 0)
        c->place.one_thread = true;
    else if (strcmp(value, "2") != 0) /* what all have that have threads */
        return option_note(&c->no_effect, "--threads-per-core", 18);
    return 0;
}
