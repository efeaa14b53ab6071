/* SPDX-License-Identifier: BSD-3-Clause */
/* proc-threads.h - a process whose first thread has ended
 *
 * /proc/PID shows the first thread. When that has ended before the others, the process reads as a
 * zombie without a program, and stays listed in the cgroup in which the thread ended, while the
 * others live and can be moved. proc: an open /proc/PID. */
#pragma once

#include <stdbool.h>

/* Does a thread of it live? */
bool proc_is_alive(int proc);
/* The text of its file "cgroup", of a thread that lives if one can be found: the caller frees it.
 * NULL with errno. */
char *proc_memberships(int proc);
