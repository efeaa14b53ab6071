/* SPDX-License-Identifier: BSD-3-Clause */
/* core-ledger.h - which hardware threads of this machine other steps of the same user have taken
 *
 * The ledger is an empty file of the user on /dev/shm that nobody writes. A step takes a hardware
 * thread by a lock on its byte (of the open file description, fcntl(2)). The lock ends with the
 * last process that has the descriptor, however that process ends. The last step removes the file;
 * if all processes of a step were killed at once, the next step that ends removes it. If something
 * else removes it (systemd-logind's RemoveIPC), steps no longer see each other. The ledger does not
 * watch the file by inotify(7): closing the watch takes the kernel 11 ms in each step, and a
 * manager that kills the worker would have time to kill the keeper as well. Other users' steps are
 * not in the ledger. */
#pragma once

#include "common/error.h"
#include "common/text/idset.h"

/* Opens the ledger. path NULL: the user's own; where another user has taken its name, own_name()
 * finds another. Returns a descriptor; -1 with err: no ledger, or others can write or own it. */
int core_ledger_open(const char *path, struct error *err);
/* Reads which threads other steps hold now. Returns 0, or -1 with err. */
int core_ledger_busy(int fd, struct idset *ret, struct error *err);
/* Takes these threads. Returns 1; 0: another step holds one of them by now, and none is taken; -1
 * with err. */
int core_ledger_take(int fd, const struct idset *threads, struct error *err);
/* Gives back threads that this step has taken. */
void core_ledger_give_back(int fd, const struct idset *threads);
/* Removes the file if no other step has it open; call it before fd is closed. fd -1 is fine. */
void core_ledger_remove(int fd);
/* Does core_ledger_remove(), and closes fd. */
void core_ledger_leave(int fd);
/* Removes the file if no process has it open. */
void core_ledger_sweep(const char *path);
