/* SPDX-License-Identifier: BSD-3-Clause */
/* keeper.h - the small parent process that outlives the worker, and cleans up after it
 *
 * mpstarter forks at once: the parent is the keeper, the child the worker. The keeper is a child
 * subreaper in a process group of its own. The worker tells it what it makes by packets on a socket
 * between the two. When the worker ends without having cleaned up, the keeper kills what is left
 * below itself, removes what was made, says so, and exits with a code, never by a signal. Errands
 * that the keeper starts for the worker are its own children, which it never ends and waits for
 * (errand-processes.h); where the job has an agent, that starts them, asked by the same packets. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct oom_kills;

/* The keeper's whole life: returns mpstarter's exit code. worker: the child to wait for. fd: the
 * keeper's end of the packet socket. host: for messages. mask: the umask of errands. */
int keeper_run(pid_t worker, int fd, const char *host, mode_t mask);
/* Puts this process into a process group of its own, although it may lead the one that it is in. A
 * session leader cannot; then it stays. */
void keeper_leave_group(void);

/* The first byte of a packet; a text or descriptors follow. */
enum keeper_message {
    KEEPER_CGROUP = 'c',    /* path of a cgroup directory that was made, parents first */
    KEEPER_DIRECTORY = 'd', /* path of a directory that was made */
    KEEPER_CLEANED = 'x',   /* all of these have been removed */
    KEEPER_STUCK = 's',     /* some could not be removed; mprun knows. The keeper tries once more */
    KEEPER_ERRAND = 'r',    /* a program to start: errand-processes.h, with three descriptors */
    KEEPER_OOM_KILLS = 'o', /* struct oom_kills, as it is in the worker */
    KEEPER_CORES = 'l',     /* with the descriptor of core-ledger.h: keep it until all has ended */
};
enum { KEEPER_PACKET = 8192, KEEPER_FDS = 3 }; /* bytes and descriptors of one packet, at most */

/* Send a packet with a text. Nothing is said where the keeper has gone. */
void keeper_tell(int fd, enum keeper_message what, const char *text);
void keeper_tell_oom_kills(int fd, const struct oom_kills *kills);
/* Send a whole packet with 1 to KEEPER_FDS descriptors. 0, or -1 with errno. */
int keeper_send(int fd, const char *packet, size_t n, const int *fds, size_t nfds);
/* Take the next packet, with a NUL behind it, and into fds its descriptors or -1, which the caller
 * closes. Returns its bytes; 0: the other side has gone; -1: there is none now. */
ssize_t keeper_receive(int fd, char packet[KEEPER_PACKET + 1], int fds[KEEPER_FDS]);
