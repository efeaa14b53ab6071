/* SPDX-License-Identifier: BSD-3-Clause */
/* dir.h - one cgroup directory: its files, the processes in it, its removal
 *
 * Functions return 0 or a length, or -1 with errno, unless their comment says otherwise. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/text/idset.h"

enum { CGROUP_PATH_MAX = 4096, CGROUP_NAME_MAX = 64 };

/* The directory `name` below the open directory `fd`; "." is that directory itself. Who fills this
 * in keeps both alive. */
struct cgroup_at {
    int fd;
    const char *name;
};

/* Makes the directory with this mode, whatever the umask. Other users' programs read the cgroups of
 * steps to say which processes are stuck in them. */
int at_make(struct cgroup_at d, mode_t mode);
int at_open(struct cgroup_at d); /* returns a descriptor, which the caller closes */
bool at_has_file(struct cgroup_at d, const char *file);
ssize_t at_read(struct cgroup_at d, const char *file, char *buf, size_t n); /* as file_read_at */
int at_write(struct cgroup_at d, const char *file, const char *text);       /* as file_write_at */
/* v1 writes "no limit" as a number; from this number on it is no real limit of memory in bytes. */
#define CGROUP_V1_UNLIMITED (UINT64_C(1) << 60)
/* Reads or writes the number in a file; reading anything else ("max") fails with ERANGE. */
int at_read_u64(struct cgroup_at d, const char *file, uint64_t *ret);
int at_write_u64(struct cgroup_at d, const char *file, uint64_t value);
/* Reads the hardware threads that a cgroup with the controller cpuset really has. */
int at_read_cpus(struct cgroup_at d, struct idset *ret);
/* Reads its memory nodes. */
int at_read_memory_nodes(struct cgroup_at d, struct idset *ret);
/* Gives it these threads, and reads back what it has: -1 with err when the two differ. v1 takes
 * only threads that the parent has. */
int at_write_cpus(struct cgroup_at d, const struct idset *cpus, struct error *err);

/* Writes and reads text that mprun keeps with a directory, in the extended attribute
 * trusted.mprun.NAME, which only root can use. */
int at_note(struct cgroup_at d, const char *name, const char *text);
ssize_t at_read_note(struct cgroup_at d, const char *name, char *buf, size_t n);

/* Lists the processes in the directory and all below. Returns their number, and a malloc'ed array
 * of those that this pid namespace can name. */
ssize_t at_pids(struct cgroup_at d, pid_t **ret);
/* Moves the processes in `from` and below, as far as possible. */
void at_move_all(struct cgroup_at from, struct cgroup_at to);
/* Returns 1 if a process is there or below, perhaps one without a pid in this namespace; else 0. */
int at_has_processes(struct cgroup_at d);
/* Writes for messages: "pid 17 (solver, state D, waiting in nfs_wait) and 3 more". */
void at_describe(struct cgroup_at d, char *buf, size_t n);

/* Removes all cgroups below and the directory itself. A directory that is not there is success. */
int at_remove(struct cgroup_at d);
/* Does the same for so many milliseconds at most; -1 with EAGAIN: there is more to remove. */
int at_remove_within(struct cgroup_at d, int ms);
/* Does at_remove(); err says what is still in the cgroup, and calls the cgroup by path. */
int at_remove_or_tell(struct cgroup_at d, const char *path, struct error *err);
