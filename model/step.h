/* SPDX-License-Identifier: BSD-3-Clause */
/* step.h - one mprun: its programs (apps), its ranks, and how they are to be run
 *
 * A step is one world of ranks, number 0, and the worlds that ranks add to it (MPI_Comm_spawn). A
 * further world has a struct step of its own: the step's, with other programs and ranks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "common/text/idset.h"
#include "common/files/tty.h"
#include "model/binding.h"
#include "model/limits.h"
#include "model/rank-set.h"

/* A program of a step; MPMD steps have several. Strings are exact bytes without NUL inside. */
struct app {
    char **argv; /* NULL-terminated */
    char **envp; /* the ranks' whole environment before mprun's own variables; NULL-terminated */
    char **given_env; /* names of the variables in envp that the user gave for these ranks (-x);
                         NULL-terminated */
    char *directory;
    struct binding_request *bind; /* its own; NULL: the step's */
    struct limits *limits;        /* of each of its ranks; NULL: the step's */
    struct rank_set ranks;        /* a block: programs' ranks follow each other */
};

/* A host, its ranks and what it was granted for them. */
struct placement {
    char *host; /* name as ranks see it */
    struct rank_set ranks;
    const struct idset *granted; /* threads, borrowed; NULL: all that its starter is allowed */
    const char *granted_cores;   /* instead, borrowed: alloc_host.core_list; NULL: none stated */
    uint32_t share;    /* number of cores of the job if neither field names them; 0: all */
    const char *slots; /* borrowed: see struct binding_request; NULL: none */
};

/* How a host knows which processes belong to a rank; strongest first. */
enum tracking {
    TRACK_RANK, /* each rank has a cgroup */
    TRACK_STEP, /* the step has a cgroup */
    TRACK_RM,   /* the manager marks all processes of its job */
    TRACK_TREE, /* by parents and children alone */
};
const char *tracking_text(enum tracking t);

/* How a host keeps ranks from GPUs of others; the strongest way is last. */
enum devices_held {
    DEVICES_OPEN,    /* nothing that is known */
    DEVICES_OF_JOB,  /* ranks can open the job's, and no other */
    DEVICES_OF_RANK, /* each rank that has GPUs of its own can open those, and no other */
};

/* --containment: what a host has to reach, else the step does not start; 0 requires nothing */
struct containment_request {
    int tracking_set;
    enum tracking tracking; /* at least this strong; TRACK_TREE when set means: exactly the tree */
    int memory, cpuset, pids, devices; /* 1: a cgroup must hold it */
    int oom_kills_one;   /* --oom-kill: the kernel kills one process of a rank, and not all */
    int cgroup_version;  /* --cgroup-version: use no other; 0: whatever a host has */
    bool ignore_systemd; /* --ignore-systemd: do not ask it for a scope */
    bool automount;      /* --cgroup-automount: root has cgroups above give what there is */
    char mount[256];     /* --cgroup-mount: look at or below this directory alone; "": anywhere */
};

enum pmi_kind {
    PMI_KIND_PMIX = 1,
    PMI_KIND_PMI1 = 2,
    PMI_KIND_PMI2 = 4,
    PMI_KINDS_SIMPLE = PMI_KIND_PMI1 | PMI_KIND_PMI2, /* by the descriptor PMI_FD */
};

enum stdin_target {
    STDIN_NONE,
    STDIN_RANK,
    STDIN_ALL,
    STDIN_FILE, /* each rank reads a file of its host */
};

/* The point where ranks stop by themselves, until SIGCONT: for debuggers that attach to them. */
enum stop_point {
    STOP_NOWHERE,
    STOP_AT_EXEC, /* before the first instruction of the program */
    STOP_IN_INIT, /* when they have connected to the PMI server */
};

/* A program that starts some ranks' program: --wrap. */
struct wrapper {
    char **argv;        /* the words before the rank's own, NULL-terminated; NULL: none */
    struct idset ranks; /* of world 0; empty: all */
};

struct step {
    char id[40];     /* unique: goes into cgroup and file names; [a-z0-9-] */
    char nspace[64]; /* PMIx namespace of the world, secret: at least 96 random bits */
    struct app *apps;
    size_t napps;
    uint32_t nranks;
    uint32_t universe;  /* ranks that all worlds of the step have room for at once; 0: any number */
    int oversubscribed; /* some host has more ranks than cores */
    struct binding_request bind;
    bool slurm_variables; /* ranks get the variables that srun sets for its tasks */
    bool overlap;         /* --overlap: use cores of the user's other steps as if they were free */
    struct containment_request containment;
    struct limits rank_limits; /* --mem-per-rank */
    struct limits host_limits; /* --mem */
    unsigned pmi;              /* of enum pmi_kind */
    bool pmi_is_expected;      /* a program is linked with MPI or PMI */
    enum stdin_target stdin_target;
    uint32_t stdin_rank;
    char *stdin_file; /* STDIN_FILE: %r stands for the rank, %h for its host; else NULL or "" */
    int stdin_slow;   /* mprun's input is a pipe or terminal: read little ahead of the rank */
    struct wrapper wrapper;
    enum stop_point stop_point;
    double stuck_time; /* --stuck, seconds; 0: nobody looks */
    bool terminal;     /* --pty: the rank that gets stdin gets it as a terminal */
    struct tty_size terminal_size;
    int umask;
    int nice;
    struct rlimit soft_limits[RLIM_NLIMITS]; /* rlim_max RLIM_INFINITY: each host's own */
    char **host_env;   /* names of variables, NULL-terminated: ranks get their host's values, which
                          its manager gave to the starter; NULL: none */
    char gpu_env[32];  /* name of the variable in which ranks find the GPUs that mprund granted on
                           their host, with blanks between; "": none */
    double kill_grace; /* seconds between TERM and KILL */
    double sample_period;    /* seconds between usage samples; 0: none */
    uint64_t passed_signals; /* bits, 1 << number: what starters get and pass on to their ranks */
};

/* The program of a rank; NULL: the step has no such rank. */
const struct app *step_app_of(const struct step *s, struct rank_name name);
/* The limits of a rank of the program (NULL: one without its own), as the user wants them. */
const struct limits *step_rank_limits(const struct step *s, const struct app *a);
/* For each kind the lowest limit that any rank has. */
struct limits step_lowest_rank_limits(const struct step *s);
void app_free(struct app *a);   /* what it holds, not itself */
void step_free(struct step *s); /* the same */
