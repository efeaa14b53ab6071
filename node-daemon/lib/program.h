/* SPDX-License-Identifier: BSD-3-Clause */
/* program.h - a program known by its file, device and inode: a process can call itself anything */
#pragma once

#include <sys/types.h>

/* A program as a file, whatever it is called. */
struct program {
    const char *path;
    dev_t dev;
    ino_t ino; /* 0: it is not there */
};

/* Find the program's file as it is now. */
void program_look(struct program *p);
/* What a process runs, but for its path: 0, or -1: it has ended, or is the kernel's. */
int program_of(pid_t pid, struct program *ret);
int program_is(const struct program *a, const struct program *b);
/* Does the process whose /proc/PID is open as dir run it? */
int program_runs_in(int dir, const struct program *program);
/* The same, also after its file was replaced (an upgrade): only of a process of root's. */
int program_ran_in(int dir, const struct program *program);
