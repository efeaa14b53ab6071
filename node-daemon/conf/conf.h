/* SPDX-License-Identifier: BSD-3-Clause */
/* conf.h - mprund.conf(5) */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/text/idset.h"

enum conf_systemd { SYSTEMD_AUTO, SYSTEMD_YES, SYSTEMD_TRY, SYSTEMD_NO };
/* May a job's cores be shared where there are too few? OFF: none are chosen. */
enum conf_cores { CORES_AUTO, CORES_EXCLUSIVE, CORES_OFF };

enum { GPU_ID_MAX = 63 };

/* A manager of which mprund knows only the programs, and two variables in the environment of the
 * manager's process for a job, which name the job and its owner. */
struct conf_rule {
    const char *name;        /* a job's name begins with it */
    const char *daemon;      /* the manager's on this host */
    const char *process;     /* what the daemon starts, as root, for each job */
    const char *job, *owner; /* names of variables */
};

struct conf_gpu {
    const char **files; /* its devices, NULL-terminated: a path, or "MAJOR:MINOR" */
    struct idset cores; /* hardware threads near it; empty: as the driver says */
};

struct conf {
    struct cfg_t *file;        /* libconfuse's, which has the texts */
    const char *user;          /* the user of those processes of mprund that do not run as root */
    const char *cgroup;        /* below this cgroup jobs get theirs: a path in each hierarchy */
    enum conf_systemd systemd; /* let systemd make a scope for the jobs in cgroup v2 */
    int cgroup_version;        /* of the hierarchies that are used; 0: both */
    const char *cgroup_mount;  /* those that are mounted there or below it; "": all */
    int cgroup_automount;      /* enable controllers from the mount point down */
    unsigned controllers;      /* bit per enum cgroup_controller that jobs are to have */
    enum conf_cores cores;
    int node_rounding;        /* jobs get all cores of a NUMA node, and its memory where it fits */
    unsigned lends;           /* of a suspended step, to other jobs: bits LEND_ */
    struct idset system_cpus; /* hardware threads of cores that no job gets */
    const char **gpus;        /* ids, NULL-terminated; "auto" alone: those that there are */
    struct conf_gpu *gpu;     /* of each of these; NULL: there is no table, and none is held */
    const char **gpu_files;   /* devices of all GPUs: a job with any GPU may open them */
    long max_connections, user_connections;
    long user_rate;            /* requests a second */
    long max_descendants;      /* cgroups below a job's delegated part */
    long pids_per_slot;        /* processes and threads of a job; 0: no limit */
    double stuck_after, retry; /* seconds */
    double bound_for;          /* seconds that mprund keeps an empty job that root bound */
    int fail_open; /* mprun-shepherd begins a task without its cgroup where that cannot be had */
    const char *ge_spool;    /* the execd's spool directory on this host; NULL: no Grid Engine */
    uid_t ge_admin;          /* its owner, if not root */
    const char *ge_shepherd; /* the program that mprun-shepherd executes */
    const char *ge_execd;    /* the program of a shepherd's parent */
    /* quarantine finds jobs that did not ask: by the execd's files, by process events */
    int watch_spool, process_events;
    long event_queue;         /* KiB */
    const char *sentinel_dir; /* a file for each job that is here; NULL: none */
    const char *trace;        /* where actions are written; "-": standard error; NULL: nowhere */
    struct conf_rule *rule;
    size_t nrules;
    /* Asking Grid Engine what a job asks for: inquiry.h */
    const char *ge_qstat; /* the program; NULL: it is not asked */
    const char *ge_root, *ge_cell;
    long qmaster_port, execd_port; /* 0: as the host's services say */
    long qstat_seconds;
    const char *memory_complex, *virtual_complex, *gpu_complex;
    /* Bytes of memory for each slot of a job whose demand is not known; 0: no limit */
    uint64_t memory_per_slot;
    const char *slurm_spool; /* slurmd's spool directory on this host; NULL: no Slurm */
    const char *pbs_home;    /* pbs_mom's PBS_HOME on this host; NULL: no PBS */
    const char *grant_key;   /* the file; NULL: grants are neither signed nor taken */
};

/* memory_per_slot = auto: a core's part of the host's memory, where it could be known at all */
#define CONF_MEMORY_AUTO UINT64_MAX

#define CONF_PATH     SYSCONFDIR "/mprund.conf"
#define CONF_SHEPHERD "/usr/lib/gridengine/sge_shepherd"
#define CONF_EXECD    "/usr/lib/gridengine/sge_execd"

/* Read a file, which must be root's (or the caller's) and writable to nobody else. A file that is
 * not there gives the defaults where `required` is 0. 0, or -1 with every field freed. */
int conf_read(const char *path, int required, struct conf *ret, struct error *err);
/* The same of a copy of the text in an open file, which stays the caller's and is read from its
 * beginning. */
int conf_read_fd(int fd, struct conf *ret, struct error *err);
void conf_free(struct conf *c);
/* The bit of a subsystem, by the kernel's names and v1's counting ones: 0, or -1 with err. */
int conf_subsystem(const char *word, unsigned *ret, struct error *err);
