/* SPDX-License-Identifier: BSD-3-Clause */
/* pbs-job-file.h - what pbs_mom wrote of a job: mom_priv/jobs/ID.JB, and a file for each task in
 * ID.TK
 *
 * Both are structures of pbs_mom's in the layout of this machine, root's own (mode 0600). They are
 * known from OpenPBS's sources, versions 19 to 23, on machines of 64 bits; Torque's are others. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

struct pbs_job {          /* its texts are in the bytes that it was read from; NULL: not said */
    const char *id;       /* "23.server" */
    const char *owner;    /* euser: a user's name */
    const char *chunks;   /* exec_vnode: "(n1:ncpus=2:mem=1048576kb)+(n2:ncpus=1)" */
    const char *of_hosts; /* exec_host2, a host for each chunk: "n1:15002/0*2+n2:15002/0" */
};

/* Read the bytes of a .JB. 0, or -1 with err: it is of another version, or malformed. */
int pbs_job_read(const char *bytes, size_t n, struct pbs_job *ret, struct error *err);

struct pbs_share { /* of a job on one host; 0: none, or not said */
    uint32_t cores;
    uint64_t memory; /* bytes; where a chunk of the host says none: 0 */
    uint32_t gpus;
};

/* What the chunks say of the host with this name, of which the part up to the first dot counts. All
 * zero where they cannot be understood, or the host has none. */
struct pbs_share pbs_job_share(const struct pbs_job *job, const char *host);

/* The session of a task that runs, from the bytes of its file. 0: it does not, or these are no such
 * bytes. */
pid_t pbs_task_session(const char *bytes, size_t n);
enum { PBS_TASK_MAX = 2048 }; /* bytes of such a file */
