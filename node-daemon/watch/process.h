/* SPDX-License-Identifier: BSD-3-Clause */
/* process.h - reads what /proc shows of a process that did not ask
 *
 * All reads go through one open /proc/PID, which stays with its process: a reused pid reads as
 * nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process {
    int dir;             /* /proc/PID */
    pid_t pid;           /* a number that means this process only while process_is_alive() */
    uid_t uid, real_uid; /* effective and real */
    pid_t parent;
    gid_t *groups; /* supplementary ones */
    size_t ngroups;
};

/* A program as a file, or a directory, whatever it is called. */
struct program {
    const char *path;
    dev_t dev;
    ino_t ino; /* 0: it is not there */
};

/* 0, or -1 with errno: it has ended. */
int process_open(pid_t pid, struct process *ret);
void process_close(struct process *p);
/* Is it still that process, and no zombie? What was read by its number before this is then its. */
bool process_is_alive(const struct process *p);
/* When it began, in seconds since the host was started, as host_up_seconds() are now; a long time
 * ahead: it has ended. */
double process_start(const struct process *p);
double host_up_seconds(void);
bool process_has_group(const struct process *p, gid_t group);
/* The value of this name in its environment, as it was when the program began: 0, or -1: it is not
 * there, or longer than buf. */
int process_environment(const struct process *p, const char *name, char *buf, size_t n);

/* The directory that it is in: its path, and in *ret which one it is, without asking a file server.
 * 0, or -1 with errno. */
int process_directory(const struct process *p, char *path, size_t n, struct program *ret);

/* Find the program's file as it is now. */
void program_look(struct program *p);
/* The program that a process runs, but for its path: 0, or -1: it has ended, or is the kernel's. */
int program_of(pid_t pid, struct program *ret);
int program_is(const struct program *a, const struct program *b);
/* Does this process run it? */
int process_runs(const struct process *p, const struct program *program);
/* Is its parent a process of root's that runs this program? */
int process_is_child_of(const struct process *p, const struct program *daemon);
