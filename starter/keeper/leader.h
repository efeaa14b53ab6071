/* SPDX-License-Identifier: BSD-3-Clause */
/* leader.h - the process that a resource manager has started, where it counts by sessions
 *
 * Such a manager looks once more at the CPU times of a session when its first process ends, and
 * then kills the others. It does not see those of the first one, as the kernel has made a zombie
 * root's own, nor any later ones. So the first process only waits for the keeper, which has the
 * times of all ranks by then and stays until it is killed.
 */
#pragma once

#include <sys/types.h>

/* Fork. In the child 0, with *ret_fd to tell its end; in the parent the child, with *ret_fd to hear
 * of that. -1, with *ret_fd -1: there is no child, and the caller goes on alone. */
pid_t leader_fork(int *ret_fd);

/* The parent: wait for the child's end. Returns the exit code that it tells; dies of the signal
 * that has killed it. Closes fd. */
int leader_wait(pid_t child, int fd);

/* The child: tell the exit code, and stay to be counted, LEADER_STAY_MS at most. -1: do nothing. */
void leader_tell(int fd, int code);
