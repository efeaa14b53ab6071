/* SPDX-License-Identifier: BSD-3-Clause */
/* leader.h - the process that the resource manager starts, for a manager that counts by sessions
 *
 * Such a manager reads the CPU times of a session once more when its first process ends, and then
 * kills the others. It misses the first process's own times, because the kernel has made a zombie
 * root's, and all later times. So the first process, the leader, only waits for the keeper, which
 * has the times of all ranks by then and stays until the manager kills it. */
#pragma once

#include <sys/types.h>

/* Forks. Returns 0 in the child, the keeper, with *ret_fd for leader_tell(); the child's pid in the
 * leader, with *ret_fd for leader_wait(); -1, with *ret_fd -1: no child, the caller goes on alone.
 */
pid_t leader_fork(int *ret_fd);

/* In the leader: waits for the keeper, and returns the exit code that it tells. If a signal killed
 * the keeper, this process dies of the same signal. Closes fd. */
int leader_wait(pid_t child, int fd);

/* In the keeper: tells the exit code, and stays to be counted, LEADER_STAY_MS at most. fd -1 is
 * fine. */
void leader_tell(int fd, int code);
