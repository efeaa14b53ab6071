/* SPDX-License-Identifier: BSD-3-Clause */
/* step.h - one mprun: its programs (apps), its ranks, and how they are to be run */
#ifndef MODEL_STEP_H
#define MODEL_STEP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "common/idset.h"
#include "common/tty.h"
#include "model/binding.h"
#include "model/limits.h"

/* One program of a step; MPMD steps have several. Strings are exact bytes without NUL inside. */
struct app {
    char **argv; /* NULL-terminated */
    char **envp; /* the ranks' whole environment before mprun's own variables; NULL-terminated */
    char **given_env; /* names of those in envp that the user gave for these ranks, not for mprun;
                         NULL-terminated */
    char *directory;
    uint32_t first_rank; /* ranks first_rank .. first_rank + count - 1 of world 0 */
    uint32_t count;
};

/* The ranks of one host: contiguous in this release. */
struct placement {
    char *host; /* name as ranks see it */
    uint32_t first_rank;
    uint32_t count;
    const struct idset *granted; /* threads, borrowed; NULL: all that its starter is allowed */
    const char *granted_cores;   /* instead, borrowed: alloc_host.core_list; NULL: none stated */
    uint32_t share; /* where neither says which: the job has so many cores; 0: it has all */
};

enum tracking { /* strongest first */
    TRACK_RANK,
    TRACK_STEP,
    TRACK_RM,
    TRACK_TREE,
};
const char *tracking_text(enum tracking t);

/* --containment: what is asked for at the least; 0 requires nothing */
struct containment_request {
    int tracking_set;
    enum tracking tracking; /* at least this strong; TRACK_TREE when set means: exactly the tree */
    int memory, cpuset, pids, devices; /* 1: a cgroup must hold it */
};

enum pmi_kind {
    PMI_KIND_PMIX = 1,
    PMI_KIND_PMI1 = 2,
    PMI_KIND_PMI2 = 4,
};

enum stdin_target { STDIN_NONE, STDIN_RANK, STDIN_ALL };

struct step {
    char id[40];     /* unique: goes into cgroup and file names; [a-z0-9-] */
    char nspace[64]; /* PMIx namespace of world 0, secret: at least 96 random bits */
    struct app *apps;
    size_t napps;
    uint32_t nranks;
    int oversubscribed; /* some host has more ranks than cores */
    struct binding_request bind;
    int overlap; /* cores of the user's other steps are used as if they were free */
    struct containment_request containment;
    struct limits rank_limits; /* --mem-per-rank */
    struct limits host_limits; /* --mem */
    unsigned pmi;              /* of enum pmi_kind */
    enum stdin_target stdin_target;
    uint32_t stdin_rank;
    int stdin_slow; /* one page ahead of the rank and no more: the input is a pipe or a terminal */
    int terminal;   /* the rank that has stdin has it as a terminal */
    struct tty_size terminal_size;
    int umask;
    int nice;
    struct rlimit soft_limits[RLIM_NLIMITS]; /* rlim_cur counts */
    char **host_env;   /* names, NULL-terminated: what ranks have of these is their host's, as its
                          manager gave it to the starter; NULL: nothing */
    double kill_grace; /* seconds between TERM and KILL */
    double sample_period; /* seconds between usage samples; 0: none */
};

void app_free(struct app *a);
void step_free(struct step *s); /* what it holds, not itself */

#endif
