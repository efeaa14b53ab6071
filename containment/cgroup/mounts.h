/* SPDX-License-Identifier: BSD-3-Clause */
/* mounts.h - the directory where a process's cgroup can be seen, from the kernel's own tables */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"
#include "containment/cgroup/controllers.h"

struct cgroup_mount {
    int version;          /* 1 or 2 */
    unsigned controllers; /* v1: the set mounted together; v2: 0 */
    char *root;           /* path of the cgroup at `point`, in this process's cgroup namespace */
    char *point;
    bool read_only;
};

struct cgroup_mounts {
    struct cgroup_mount *m;
    size_t n;
};

/* A process's cgroup in each hierarchy; NULL: the process is not in that hierarchy. */
struct cgroup_membership {
    char *v2;
    char *v1[CGROUP_CONTROLLER_COUNT];
};

/* Reads the table as it is now. Returns 0, or -1 with err. */
int cgroup_mounts_read(struct cgroup_mounts *ret, struct error *err);
/* Does the same, but reads only once in the life of this process and of those that it forks; for
 * processes of a step. mounts.c owns the table. NULL with err. */
const struct cgroup_mounts *cgroup_mounts_once(struct error *err);
/* From now on this process uses only mounts at this directory and below it; "": all mounts. Does
 * not copy directory. */
void cgroup_mounts_keep_to(const char *directory);
/* Reads the cgroups of a process (0: the caller). Returns 0, or -1 with err. */
int cgroup_membership_read(pid_t pid, struct cgroup_membership *ret, struct error *err);
void cgroup_mounts_free(struct cgroup_mounts *mounts);
void cgroup_membership_free(struct cgroup_membership *m);

/* Parse the text of /proc/PID/mountinfo and /proc/PID/cgroup. */
void cgroup_mounts_parse(const char *text, struct cgroup_mounts *ret);
void cgroup_membership_parse(const char *text, struct cgroup_membership *ret);

/* Returns the directory in which a cgroup can be seen; the caller frees it. c: for version 1 only.
 * *ret_root (ret_root may be NULL): the length of the mount point in that path. NULL with err: the
 * hierarchy is not mounted, or only another part of it is. */
char *cgroup_directory(const struct cgroup_mounts *mounts, int version, enum cgroup_controller c,
                       const char *cgroup, size_t *ret_root, struct error *err);
