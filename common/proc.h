/* SPDX-License-Identifier: BSD-3-Clause */
/* proc.h - readers of /proc/PID */
#ifndef COMMON_PROC_H
#define COMMON_PROC_H

#include <stdint.h>
#include <sys/types.h>

/* comm is what the process calls itself: bytes that a terminal would act on, and what is no UTF-8,
 * are '?' here. */
struct proc_stat {
    pid_t pid, ppid, pgid, sid;
    char state; /* R S D T t Z ... */
    char comm[32];
    uint64_t starttime; /* clock ticks after boot: with pid, a process's identity */
    uint64_t utime, stime, cutime, cstime; /* clock ticks */
    uint64_t minflt, majflt;
    int processor;
};

int proc_stat_read(pid_t pid, struct proc_stat *ret); /* 0, or -1 with errno */

struct proc_memory { /* bytes, from /proc/PID/status */
    uint64_t anonymous, file, shared, swap, peak_rss;
};
int proc_memory_read(pid_t pid, struct proc_memory *ret);

struct proc_io { /* bytes, from /proc/PID/io: rchar and wchar, read_bytes and write_bytes */
    uint64_t read_chars, written_chars, read_storage, written_storage;
};
/* From a descriptor of /proc/PID/io, so that it can be read when the process is a zombie. */
int proc_io_read(int fd, struct proc_io *ret);

/* Children of a process (all its threads), a malloc'ed array; -1 with errno, or their number.
 * Uses /proc/PID/task/TID/children, and a scan of /proc where the kernel lacks it. */
int proc_children(pid_t pid, pid_t **ret);
/* Where a process waits in the kernel, "" when unknown. */
void proc_wchan(pid_t pid, char *buf, size_t n);
/* The kernel's id of this boot, as in /proc/sys/kernel/random/boot_id. */
const char *proc_boot_id(void);

#endif
