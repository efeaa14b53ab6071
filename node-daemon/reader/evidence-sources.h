/* SPDX-License-Identifier: BSD-3-Clause */
/* evidence-sources.h - finds a process's job from what the resource manager's root wrote */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"
#include "node-daemon/conf/conf.h"
#include "node-daemon/lib/reader-protocol.h"

/* ---- asker.c: user and groups of a process that connected, by the kernel
 * ----------------------------- */

/* All are those of the moment of connect(): a process that execs another program, or hands its
 * socket on, changes nothing. */

struct asker {
    pid_t pid;
    uid_t uid;     /* effective */
    gid_t *groups; /* supplementary ones */
    size_t ngroups;
};

/* 0 with *ret, which asker_free() frees, or -1 with err. */
int asker_read(int socket, struct asker *ret, struct error *err);
void asker_free(struct asker *a);
/* Is one of its cgroups, as it is now, below one with this in its name, and then with that? Yes,
 * too, where nobody can read them. */
bool asker_has_cgroup(const struct asker *a, const char *name, const char *below);
bool asker_has_group(const struct asker *a, gid_t group);

/* ---- owner.c --------------------------------------------------------------------------------- */

/* Look up the user in the host's name services, which may take long. 0, or -1: there is no such
 * user, or it is root, who owns no job. */
int owner_find(const char *name, uid_t *ret);

/* ---- evidence-sources.c ---------------------------------------------------------------------- */

/* All that is known of a job by a task of it. */
struct task_evidence {
    struct evidence evidence;
    char grant[GRANT_TOKEN_MAX + 1]; /* which its task shows, not checked; "": none */
};

/* A manager. err is a sentence for the user who asked: it tells nothing of other users' jobs. */
struct evidence_source {
    enum grant_manager manager;
    int (*is_configured)(const struct conf *c);
    /* In which job is the process that connected so? 0 with *ret, or -1. */
    int (*prove)(const struct conf *c, const struct asker *who, struct task_evidence *ret,
                 struct error *err);
    /* Find what is known of a job, or of a task of it, for root. 0, or -1. NULL: the manager
     * writes nothing of it. */
    int (*look_up)(const struct conf *c, const char *name, const char *task,
                   struct task_evidence *ret, struct error *err);
    /* The manager's daemon on this host, whose limits count for a job without its own; -1: not
     * known. NULL likewise. */
    pid_t (*daemon)(const struct conf *c);
    /* Does the manager still have the job on this host? 1, 0, or -1: cannot say. */
    int (*is_known)(const struct conf *c, const char *name);
};

/* The source of a manager that is configured here, or NULL. */
const struct evidence_source *evidence_of(const struct conf *c, enum grant_manager manager);
/* Ask the sources in turn until one proves it; err: the last one's, or that there is none. */
int evidence_prove(const struct conf *c, const struct asker *who, struct task_evidence *ret,
                   enum grant_manager *ret_manager, struct error *err);

extern const struct evidence_source evidence_gridengine, evidence_slurm, evidence_pbs;
