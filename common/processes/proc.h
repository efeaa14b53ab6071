/* SPDX-License-Identifier: BSD-3-Clause */
/* proc.h - readers of /proc/PID */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
    pid_t pid, ppid, sid;
    char state;         /* R S D T t Z ... */
    char comm[32];      /* its name, with '?' for bytes that a terminal would act on or no UTF-8 */
    uint64_t starttime; /* clock ticks after boot; with the pid it identifies a process */
    uint64_t utime, stime, cutime, cstime; /* clock ticks */
};

int proc_stat_read(pid_t pid, struct proc_stat *ret); /* 0, or -1 with errno */

struct proc_memory { /* bytes, from /proc/PID/status */
    uint64_t anonymous, file, shared, swap;
};
int proc_memory_read(pid_t pid, struct proc_memory *ret); /* 0, or -1 with errno */
struct proc_sizes { /* bytes, from /proc/PID/statm, which costs half of the others; of a zombie 0 */
    uint64_t address_space, anonymous;
    uint64_t mapped; /* pages of files and shared memory */
};
int proc_sizes_read(pid_t pid, struct proc_sizes *ret); /* 0, or -1 with errno */
/* The process's part of the shared memory that it has mapped: each page counts 1/n where n
 * processes have it. Bytes; walks the page table. 0, or -1 with errno. */
int proc_shared_part_read(pid_t pid, uint64_t *ret);

struct proc_io { /* bytes, from /proc/PID/io: rchar and wchar, read_bytes and write_bytes */
    uint64_t read_chars, written_chars, read_storage, written_storage;
};
/* fd: /proc/PID/io, opened while the process lived: it can be read of a zombie. 0, or -1 with
 * errno. */
int proc_io_read(int fd, struct proc_io *ret);

struct pid_list { /* starts as zero; the user frees pids */
    pid_t *pids;
    size_t n, cap;
};
int pid_list_add(struct pid_list *l, pid_t pid); /* -1: out of memory */
bool pids_have(const pid_t *pids, size_t n, pid_t pid);
pid_t pid_of_thread(pid_t thread); /* of its process; 0: it has ended */

/* Children of a process (of all its threads): their number, and an array that the caller frees; or
 * -1 with errno. Uses /proc/PID/task/TID/children, or a scan of /proc where that is not. */
int proc_children(pid_t pid, pid_t **ret);
/* The kernel function in which a process waits; "": unknown. */
void proc_wchan(pid_t pid, char *buf, size_t n);
/* For messages, a few of n > 0 processes: "pid 17 (solver, state D, waiting in nfs_wait), pid 18
 * (...) and 3 more". Those that have ended meanwhile are left out; "" if all have. */
void proc_describe(const pid_t *pids, size_t n, char *buf, size_t size);
/* The session that a login by the network put this process into, "session-7.scope"; "": none. */
void proc_login_session(char *buf, size_t n);
