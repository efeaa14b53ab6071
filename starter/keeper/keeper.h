/* SPDX-License-Identifier: BSD-3-Clause */
/* keeper.h - the small parent process that outlives the worker, and cleans up after it
 *
 * mpstarter forks at once: the parent is the keeper, the child the worker. The keeper is a child
 * subreaper in a process group of its own. The worker tells it what it makes (keeper-channel.h).
 * When the worker ends without having cleaned up, the keeper kills what is left below itself,
 * removes what was made, says so, and exits with a code, never by a signal. Errands that the keeper
 * starts for the worker are its own children, which it never ends and waits for
 * (keeper-errands.h). */
#pragma once

#include <sys/types.h>

/* The keeper's whole life: returns mpstarter's exit code. worker: the child to wait for. fd: the
 * keeper's end of the packet socket. host: for messages. mask: the umask of errands. */
int keeper_run(pid_t worker, int fd, const char *host, mode_t mask);
