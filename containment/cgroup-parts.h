/* SPDX-License-Identifier: BSD-3-Clause */
/* cgroup-parts.h - what a step's subtree is made of, and a job's by the node daemon: where cgroups
 * are mounted, one directory, the files of v1 and v2, killing, and hearing of changes */
#ifndef CONTAINMENT_CGROUP_PARTS_H
#define CONTAINMENT_CGROUP_PARTS_H

#include "containment/cgroup.h"

#define CGROUP_BIT(c) (1u << (c))

enum { CGROUP_PATH_MAX = 4096, CGROUP_NAME_MAX = 64 };

/* ---- mounts.c: where cgroups are, from the kernel's own tables ------------------------------ */

struct cgroup_mount {
    int version;          /* 1 or 2 */
    unsigned controllers; /* v1: those mounted together */
    char *root;           /* the cgroup that is seen at `point`, from the reader's namespace */
    char *point;
    int read_only;
};

struct cgroup_mounts {
    struct cgroup_mount *m;
    size_t n;
};

/* From the text of /proc/PID/mountinfo. -1: out of memory. */
int cgroup_mounts_parse(const char *text, struct cgroup_mounts *ret);
void cgroup_mounts_free(struct cgroup_mounts *mounts);

/* A process's cgroup in each hierarchy, from the text of /proc/PID/cgroup; NULL: not in one. */
struct cgroup_membership {
    char *v2;
    char *v1[CGROUP_CONTROLLER_COUNT];
};
int cgroup_membership_parse(const char *text, struct cgroup_membership *ret);
void cgroup_membership_free(struct cgroup_membership *m);

/* The directory in which a cgroup can be seen: caller frees. controller counts for version 1 only.
 * NULL with err: not mounted, or only a mount that shows another part of the hierarchy. ret_root
 * (may be NULL) is the length of the mount point's part of the path. */
char *cgroup_directory(const struct cgroup_mounts *mounts, int version, enum cgroup_controller c,
                       const char *cgroup, size_t *ret_root, struct error *err);

/* Both tables as they are now for a process (0: the caller). */
int cgroup_mounts_read(struct cgroup_mounts *ret, struct error *err);
int cgroup_membership_read(pid_t pid, struct cgroup_membership *ret, struct error *err);

/* ---- dir.c: one cgroup directory ------------------------------------------------------------ */

/* The directory `name` below the open directory `fd`; "." is that directory itself. */
struct cgroup_at {
    int fd;
    const char *name;
};

int at_open(struct cgroup_at d);
ssize_t at_read(struct cgroup_at d, const char *file, char *buf, size_t n); /* as file_read_at */
int at_write(struct cgroup_at d, const char *file, const char *text);       /* as file_write_at */
int at_write_u64(struct cgroup_at d, const char *file, uint64_t value);
/* A number; -1 when the file is not there or holds something else ("max": errno ERANGE). */
int at_read_u64(struct cgroup_at d, const char *file, uint64_t *ret);
int at_exists(struct cgroup_at d, const char *file);
/* The value of `key` in "key value" lines; -1: no such line. */
int flat_key_u64(const char *text, const char *key, uint64_t *ret);
/* Is this word in a list separated by blanks? */
int word_in_list(const char *list, const char *word);

/* Text of our own about a directory, kept with it (an extended attribute, trusted.mprun.NAME, of
 * which only root knows). Its length, or -1: there is none. */
int at_note(struct cgroup_at d, const char *name, const char *text);
ssize_t at_read_note(struct cgroup_at d, const char *name, char *buf, size_t n);
/* Processes in the directory and all below: a malloc'ed array and its length, or -1. Processes
 * that this pid namespace cannot name are not in it. */
ssize_t at_pids(struct cgroup_at d, pid_t **ret);
/* Is any process there or below, also one without a name here? -1: cannot say. */
int at_has_processes(struct cgroup_at d);
/* Remove what is below and the directory itself, children first. 0, or -1 with errno. A directory
 * that is not there is success. */
int at_remove(struct cgroup_at d);
/* Call fn for each directory below, children first, and then for d itself, until it returns non-0,
 * which is passed on; -1 when a directory cannot be read. */
int at_walk(struct cgroup_at d, int (*fn)(struct cgroup_at d, void *arg), void *arg);
/* "pid 17 (solver, state D, waiting in nfs_wait)": the first that is still there, and how many. */
void at_describe(struct cgroup_at d, char *buf, size_t n);

/* ---- v1.c, v2.c: the files of a hierarchy --------------------------------------------------- */

struct oom_count {
    uint64_t hits;  /* how often this cgroup's own limit ran out (v1: was reached) */
    uint64_t kills; /* processes killed in it (v2: and below), for whatever limit */
};

struct cgroup_driver {
    int version;
    /* Let children of d have these controllers: those that they can have now. v1: all. */
    unsigned (*enable)(struct cgroup_at d, unsigned controllers);
    void (*disable)(struct cgroup_at d, unsigned controllers);
    /* Make a new, empty cgroup fit to take processes. */
    int (*prepare)(struct cgroup_at parent, struct cgroup_at d, unsigned controllers);
    /* Set what is set in *l and concerns these controllers, read it back, fill in held_by. */
    void (*limit)(struct cgroup_at d, unsigned controllers, struct limits *l);
    /* Before another limit() of the same cgroup: lift what is not set in *l, and what would be in
     * the way. */
    void (*lift)(struct cgroup_at d, unsigned controllers, const struct limits *l);
    /* Let the kernel kill all of a leaf when it is out of memory, never a part of it. v1: cannot.
     */
    void (*oom_group)(struct cgroup_at d);
    void (*usage)(struct cgroup_at d, unsigned controllers, struct usage *u);
    const char *memory; /* file with the bytes that d and all below have now */
    int (*oom_count)(struct cgroup_at d, struct oom_count *ret);
    /* Start freezing or thawing; 1: that state is reached, 0: not yet (call again), -1: errno. */
    int (*freeze)(struct cgroup_at d, int frozen);
    int (*populated)(struct cgroup_at d); /* d or below; -1: cannot say */
    /* Kill all at once; -1 with errno ENOENT where there is no such file. */
    int (*kill)(struct cgroup_at d);
};
extern const struct cgroup_driver cgroup_driver_v1;
extern const struct cgroup_driver cgroup_driver_v2;

/* Does this machine have swap space at all? Without, a limit of swap holds by itself. */
int machine_has_swap(void);

/* ---- cpuset.c: hardware threads ------------------------------------------------------------- */

/* Those that a cgroup really has. 0, or -1 with errno. */
int at_read_cpus(struct cgroup_at d, struct idset *ret);
/* Give it these, and read back what it has: 0, or -1 with err when that is something else. v1: they
 * must be of those that its parent has. */
int at_write_cpus(struct cgroup_at d, const struct idset *cpus, struct error *err);

/* ---- kill.c: ending what is in a cgroup ----------------------------------------------------- */

/* One ladder, without a loop: cgroup.kill; else freeze, kill each, thaw, and again. */
struct kill_ladder {
    struct cgroup_at at; /* fd and name stay the caller's */
    const struct cgroup_driver *driver;
    int by_file;      /* cgroup.kill did it */
    int frozen_tries; /* while freezing */
    unsigned rounds;  /* of kill and thaw */
};
void kill_ladder_init(struct kill_ladder *k, struct cgroup_at at,
                      const struct cgroup_driver *driver);
/* Do what can be done now: milliseconds until the next call, 0 when nobody is left, -1 with errno
 * when nothing can be done. Never waits. */
int kill_ladder_step(struct kill_ladder *k);

/* The same on a loop, going on by itself until nobody is left. */
struct killer {
    struct kill_ladder ladder;
    struct loop_timer *timer;
};
int killer_start(struct killer *k, struct loop *l, struct cgroup_at at,
                 const struct cgroup_driver *driver, struct error *err);
void killer_stop(struct killer *k);

/* Send SIGKILL to every process there and below: number of processes met, or -1. Never to the
 * caller, never to a number that is not a process of this cgroup. */
ssize_t kill_each(struct cgroup_at d);

/* ---- events.c: hearing of changes ----------------------------------------------------------- */

typedef void (*watch_fn)(void *arg);
struct watches; /* inotify on cgroup files: v2 tells changes of its event files that way */
struct watches *watches_create(struct loop *l); /* NULL: the kernel has no instance left */
void watches_destroy(struct watches *w);
int watches_add(struct watches *w, const char *path, watch_fn fn, void *arg); /* an id, or -1 */
void watches_remove(struct watches *w, int id);

#endif
