/* SPDX-License-Identifier: BSD-3-Clause */
/* mounts.h - in which directory a process's cgroup can be seen, from the kernel's own tables */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"
#include "containment/cgroup/controllers.h"

struct cgroup_mount {
    int version;          /* 1 or 2 */
    unsigned controllers; /* v1: the set mounted together; v2: 0 */
    char *root;           /* the cgroup that is seen at `point`, from the reader's namespace */
    char *point;
    bool read_only;
};

struct cgroup_mounts {
    struct cgroup_mount *m;
    size_t n;
};

/* A process's cgroup in each hierarchy; NULL: the process is not in that one. */
struct cgroup_membership {
    char *v2;
    char *v1[CGROUP_CONTROLLER_COUNT];
};

/* Read the tables as they are now: 0, or -1 with err. pid 0: the caller. */
int cgroup_mounts_read(struct cgroup_mounts *ret, struct error *err);
/* The same, read once in the life of this process and of those that it forks; for processes of a
 * step. Owned by this file. NULL with err. */
const struct cgroup_mounts *cgroup_mounts_once(struct error *err);
/* From now on this process knows mounts at this directory and below it alone, which it must keep;
 * "": all. */
void cgroup_mounts_keep_to(const char *directory);
int cgroup_membership_read(pid_t pid, struct cgroup_membership *ret, struct error *err);
void cgroup_mounts_free(struct cgroup_mounts *mounts);
void cgroup_membership_free(struct cgroup_membership *m);

/* The same from the text of /proc/PID/mountinfo and /proc/PID/cgroup. -1: out of memory. */
int cgroup_mounts_parse(const char *text, struct cgroup_mounts *ret);
int cgroup_membership_parse(const char *text, struct cgroup_membership *ret);

/* The directory in which a cgroup can be seen; the caller frees it. c counts for version 1 only.
 * ret_root (may be NULL) is the length of the mount point's part of the path. NULL with err:
 * nothing is mounted, or only another part of the hierarchy. */
char *cgroup_directory(const struct cgroup_mounts *mounts, int version, enum cgroup_controller c,
                       const char *cgroup, size_t *ret_root, struct error *err);
