/* SPDX-License-Identifier: BSD-3-Clause */
/* core-ledger.h - which hardware threads of this machine other steps of the same user have taken
 *
 * The ledger is a file of the user on /dev/shm, empty and never written. A hardware thread is taken
 * by a lock on its byte (of the open file description, fcntl(2)); the lock ends with the last
 * process that has the descriptor, whatever ends that process. The last step removes the file;
 * where all processes of a step were killed at once, the next step that ends does. Others may
 * remove it (systemd-logind's RemoveIPC): then steps lose sight of each other. Watching the file by
 * inotify(7) would cost each step the 11 ms that the kernel takes to close the watch, and give a
 * manager that kills the worker time to kill the keeper as well. Other users' steps are not in the
 * ledger. */
#pragma once

#include "common/error.h"
#include "common/idset.h"

/* Open the ledger. path NULL: the user's own, wherever another user has taken that name. A
 * descriptor, or -1 with err: no ledger, or a file that others can write or own. */
int core_ledger_open(const char *path, struct error *err);
/* Read which threads others have taken now. 0, or -1 with err. */
int core_ledger_busy(int fd, struct idset *ret, struct error *err);
/* Take these threads. 1; 0: another step has taken one of them meanwhile, and none is taken; -1
 * with err. */
int core_ledger_take(int fd, const struct idset *threads, struct error *err);
/* Give these threads back, which were taken. */
void core_ledger_give_back(int fd, const struct idset *threads);
/* Remove the file if no other step has it open; call it before fd is closed. fd -1 is fine. */
void core_ledger_remove(int fd);
/* The same, and close it. */
void core_ledger_leave(int fd);
/* Remove a file that no process has open. */
void core_ledger_sweep(const char *path);
