/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn.h - start a program with everything prepared before the fork
 *
 * The caller waits only until the new process has called exec (or failed), as with vfork(): a
 * failure is known, with the step that failed, when spawn() returns, and no child can be seen
 * before it is recorded. In the child only system calls are made. */
#ifndef COMMON_SPAWN_H
#define COMMON_SPAWN_H

#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "common/error.h"

/* The steps of a start, in the order in which they happen. */
enum spawn_step {
    SPAWN_FORK,
    SPAWN_CGROUP,
    SPAWN_SESSION,
    SPAWN_LIMIT,
    SPAWN_PRIORITY,
    SPAWN_AFFINITY,
    SPAWN_DIRECTORY,
    SPAWN_DESCRIPTORS,
    SPAWN_EXEC,
};

struct spawn {
    const char *path;  /* what to execute; no search in PATH */
    char *const *argv; /* exact bytes, NULL-terminated */
    char *const *envp;
    const char *directory;       /* NULL: stay */
    int fds[3];                  /* become 0, 1, 2; -1: /dev/null */
    const int *keep_fds;         /* further descriptors passed on under their own numbers */
    size_t nkeep_fds;            /* all others are closed */
    int umask;                   /* -1: as it is */
    int set_nice, nice;          /* nice only if set_nice */
    const struct rlimit *limits; /* RLIM_NLIMITS entries of soft limits, cut to the hard ones of the
                                    process; NULL: as they are. rlim_max is not looked at. */
    const unsigned char *limit_set; /* which entries count; NULL: all */
    const cpu_set_t *affinity;      /* NULL: as it is */
    size_t affinity_size;
    int cgroup_fd;               /* >= 0: cgroup v2 directory to be born in; -1: none */
    int cgroup_fallback_fd;      /* its cgroup.procs, written before exec where the kernel has no
                                    clone3(CLONE_INTO_CGROUP); -1: none */
    const int *cgroup_procs_fds; /* cgroup.procs (v1) the child writes itself into before exec */
    size_t ncgroup_procs_fds;
    int new_session;                      /* setsid() */
    int take_terminal;                    /* with new_session: descriptor 0 becomes its terminal */
    int new_pgrp;                         /* setpgid(0, 0) */
    pid_t join_pgrp;                      /* > 0: a process group of the same session */
    int parent_death_signal;              /* sent to it when the calling thread ends; 0: none */
    int set_oom_score_adj, oom_score_adj; /* best effort: lowering needs a privilege */
};

struct spawn_failure {
    enum spawn_step step;
    int code; /* errno */
};

/* A struct spawn with nothing set: fds {-1,-1,-1}, umask -1, cgroup_fd -1. */
void spawn_init(struct spawn *s);
/* The pid, or -1 with *ret_failure (may be NULL) and err ("exec './solver': No such file ..."). */
pid_t spawn_process(const struct spawn *s, struct spawn_failure *ret_failure, struct error *err);
/* Resolve a program as execvp() does: name with '/' is itself (relative to directory), else PATH of
 * envp. 0 with *ret (caller frees), or -1 with errno ENOENT, EACCES, ... and err. */
int spawn_resolve(const char *name, char *const envp[], const char *directory, char **ret,
                  struct error *err);
/* "exec", "change to directory", ...: what was tried */
const char *spawn_step_text(enum spawn_step step);

#endif
