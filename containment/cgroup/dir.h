/* SPDX-License-Identifier: BSD-3-Clause */
/* dir.h - one cgroup directory: its files, the processes in it, its removal
 *
 * Functions return 0 or a length, or -1 with errno, unless they say something else. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/idset.h"

enum { CGROUP_PATH_MAX = 4096, CGROUP_NAME_MAX = 64 };

/* The directory `name` below the open directory `fd`; "." is that directory itself. The holder of
 * both keeps them. */
struct cgroup_at {
    int fd;
    const char *name;
};

/* Of this mode, whatever the umask. Others read steps' cgroups to say who is stuck in them. */
int at_make(struct cgroup_at d, mode_t mode);
int at_open(struct cgroup_at d); /* a descriptor that the caller closes */
bool at_has_file(struct cgroup_at d, const char *file);
ssize_t at_read(struct cgroup_at d, const char *file, char *buf, size_t n); /* as file_read_at */
int at_write(struct cgroup_at d, const char *file, const char *text);       /* as file_write_at */
/* v1 writes "no limit" as a number, and no machine has memory for one from here on. */
#define CGROUP_V1_UNLIMITED (UINT64_C(1) << 60)
/* A number alone in a file; reading something else ("max") fails with ERANGE. */
int at_read_u64(struct cgroup_at d, const char *file, uint64_t *ret);
int at_write_u64(struct cgroup_at d, const char *file, uint64_t value);
/* The hardware threads that a cgroup with the controller cpuset really has. */
int at_read_cpus(struct cgroup_at d, struct idset *ret);
/* Its memory nodes. */
int at_read_memory_nodes(struct cgroup_at d, struct idset *ret);
/* Give it these threads, and read back what it has: -1 with err when that is something else. v1
 * takes only threads that the parent has. */
int at_write_cpus(struct cgroup_at d, const struct idset *cpus, struct error *err);

/* Text that mprun keeps with a directory: an extended attribute, trusted.mprun.NAME, which only
 * root can read and write. */
int at_note(struct cgroup_at d, const char *name, const char *text);
ssize_t at_read_note(struct cgroup_at d, const char *name, char *buf, size_t n);

/* Processes in the directory and all below: their number, and a malloc'ed array of them without
 * those that this pid namespace cannot name. */
ssize_t at_pids(struct cgroup_at d, pid_t **ret);
/* 1: a process is there or below, perhaps one without a name here; 0: none. */
int at_has_processes(struct cgroup_at d);
/* For messages: "pid 17 (solver, state D, waiting in nfs_wait) and 3 more". */
void at_describe(struct cgroup_at d, char *buf, size_t n);

/* Remove all cgroups below and the directory itself. A directory that is not there is success. */
int at_remove(struct cgroup_at d);
/* The same, for so many milliseconds at most; EAGAIN: there is more to remove. */
int at_remove_within(struct cgroup_at d, int ms);
/* The same; err says what is still in the cgroup, and calls it by its path. */
int at_remove_or_tell(struct cgroup_at d, const char *path, struct error *err);
