/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn.h - start a program with everything prepared before the fork
 *
 * The caller waits only until the new process has called exec (or failed), as with vfork(): when
 * spawn_process() returns, a failure is known, with the step that failed, and the caller learns of
 * every child before it can end. The child makes nothing but system calls. */
#pragma once

#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/text/idset.h"

/* The steps of a start, in the order in which they happen. */
enum spawn_step {
    SPAWN_FORK,
    SPAWN_CGROUP,
    SPAWN_SESSION,
    SPAWN_LIMIT,
    SPAWN_PRIORITY,
    SPAWN_AFFINITY,
    SPAWN_MEMORY,
    SPAWN_DIRECTORY,
    SPAWN_DESCRIPTORS,
    SPAWN_TRACE,
    SPAWN_EXEC,
};

enum { MEMORY_NODES_MAX = 1024 };

struct memory_policy { /* as set_mempolicy(2) has it */
    int mode;
    unsigned long nodes[MEMORY_NODES_MAX / (8 * sizeof(unsigned long))]; /* none: of all */
};

struct spawn {
    const char *path; /* what to execute; PATH is not searched */
    /* Not NULL: what a copy of this process runs instead, with path; what it returns is its exit
     * code. argv and envp do not count then. */
    int (*run)(const char *path);
    char *const *argv; /* exact bytes, NULL-terminated */
    char *const *envp;
    const char *directory;       /* NULL: stay */
    int fds[3];                  /* become 0, 1, 2; -1: /dev/null */
    const int *keep_fds;         /* further descriptors that keep their numbers; all others are */
    size_t nkeep_fds;            /* closed */
    int umask;                   /* -1: as it is */
    int set_nice, nice;          /* nice only if set_nice */
    const struct rlimit *limits; /* RLIM_NLIMITS entries; NULL: as they are. rlim_max RLIM_INFINITY
                                    leaves the hard limit as it is, else it is a failure if the
                                    process may not have it; rlim_cur is cut to the hard limit. */
    const unsigned char *limit_set;     /* true: use that entry of limits; NULL: all */
    const struct idset *affinity;       /* NULL: as it is */
    const struct memory_policy *memory; /* NULL: as it is */
    int cgroup_fd;                      /* >= 0: cgroup v2 directory to be born in; -1: none */
    int cgroup_fallback_fd;      /* its cgroup.procs, written before exec where the kernel has no
                                    clone3(CLONE_INTO_CGROUP); -1: none */
    const int *cgroup_procs_fds; /* cgroup.procs (v1) the child writes itself into before exec */
    size_t ncgroup_procs_fds;
    int new_session;                      /* setsid() */
    int take_terminal;                    /* with new_session: descriptor 0 becomes its terminal */
    int new_pgrp;                         /* setpgid(0, 0) */
    pid_t join_pgrp;                      /* > 0: a process group of the same session */
    int stop_at_exec;                     /* it is stopped (SIGSTOP) before its first instruction */
    int parent_death_signal;              /* sent to it when the calling thread ends; 0: none */
    int set_oom_score_adj, oom_score_adj; /* best effort: lowering needs a privilege */
};

enum { SPAWN_PIPE = -2 };

struct spawn_failure {
    enum spawn_step step;
    int code; /* errno */
};

/* Set nothing: fds {-1,-1,-1}, umask -1, cgroup_fd -1, all else zero. */
void spawn_init(struct spawn *s);
/* The pid, or -1 with *ret_failure (may be NULL) and err ("exec './solver': No such file ..."); the
 * process is then reaped already. /bin/sh reads a text that the kernel cannot execute, as with
 * execvp(). */
pid_t spawn_process(const struct spawn *s, struct spawn_failure *ret_failure, struct error *err);
/* The same, with a pipe for each descriptor of s->fds that is SPAWN_PIPE. ret_ends gets the
 * caller's ends, which are close-on-exec; -1 for descriptors without a pipe, and on failure. */
pid_t spawn_piped(struct spawn s, int ret_ends[3], struct error *err);
/* A child of this name that does nothing, ignores all signals that it can, and ends with this
 * process: its pid, or -1 with errno. */
pid_t spawn_idle(const char *name);
/* Find a program as execvp() does: a name with '/' from `directory` on, another in PATH of envp,
 * where links to the program that runs are passed over: they have the names of others. 0 with *ret,
 * which the caller frees, or -1 with errno (ENOENT, EACCES ...) and err. */
int spawn_resolve(const char *name, char *const envp[], const char *directory, char **ret,
                  struct error *err);
/* Does the same, and looks for a name that is not in PATH in `directory`, too, as Open MPI's
 * launcher does. For what ranks spawn: the name is in the parent's program, where no user can add
 * "./". */
int spawn_resolve_here(const char *name, char *const envp[], const char *directory, char **ret,
                       struct error *err);
/* The step as a verb for messages: "exec", "change to directory". */
const char *spawn_step_text(enum spawn_step step);
/* The value of a variable of envp (NULL: no variables); NULL: it is not set. name: "NAME", or
 * "NAME=...". */
const char *spawn_env_value(char *const envp[], const char *name);
