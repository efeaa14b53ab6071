/* SPDX-License-Identifier: BSD-3-Clause */
/* core-ledger.h - which hardware threads of this machine other steps of the user have taken
 *
 * A file of the user on /dev/shm, empty and never written: a hardware thread is taken by a lock of
 * its byte (an open file description's, fcntl(2)), which ends with the last process that has the
 * descriptor, whatever ends it. The file goes with the last step; one whose processes were all
 * killed at once leaves it to the next that ends. Somebody else may remove it (systemd-logind's
 * RemoveIPC): then steps lose sight of each other. To watch it by inotify(7) would cost each step
 * 11 ms, which the kernel takes to close the watch, and let a manager that kills the worker be
 * faster than the keeper. Other users' steps are not in it. */
#ifndef STARTER_CORE_LEDGER_H
#define STARTER_CORE_LEDGER_H

#include "common/error.h"
#include "common/idset.h"

/* A descriptor, or -1. path NULL: the user's. A file there that is not the user's own alone is an
 * error. */
int core_ledger_open(const char *path, struct error *err);
/* What others have taken now. 0, or -1. */
int core_ledger_busy(int fd, struct idset *ret, struct error *err);
/* Take these: 1; 0 when one of them was another's by now, and none is taken; -1. */
int core_ledger_take(int fd, const struct idset *threads, struct error *err);
/* Remove the file when nobody else has it: for who is about to close it. fd -1 is fine. */
void core_ledger_remove(const char *path, int fd);
/* The same, and close it. */
void core_ledger_leave(const char *path, int fd);
/* Remove a file that processes left that were all killed at once, if there is one. */
void core_ledger_sweep(const char *path);

#endif
