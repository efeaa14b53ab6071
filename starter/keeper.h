/* SPDX-License-Identifier: BSD-3-Clause */
/* keeper.h - the small parent that outlives the worker
 *
 * mpstarter forks at once: the parent is the keeper, the child the worker. The keeper is a child
 * subreaper in a process group of its own. It knows what the worker made (cgroups, directories);
 * when the worker ends without having cleaned up, the keeper kills what is left below it, removes
 * what was made, says so, and exits with a code, never by a signal. Errands it starts for the
 * worker are its own children, which it never ends and outlives (keeper-errands.h). */
#ifndef STARTER_KEEPER_H
#define STARTER_KEEPER_H

#include <sys/types.h>

/* Messages of the worker, one per packet, each a byte and a text. */
enum keeper_message {
    KEEPER_CGROUP = 'c',    /* path of a cgroup directory that was made, parents first */
    KEEPER_DIRECTORY = 'd', /* path of a directory that was made */
    KEEPER_CLEANED = 'x',   /* nothing is left of what was told */
    KEEPER_STUCK = 's',     /* something is left; mprun knows. It is tried once more */
    KEEPER_ERRAND = 'r',    /* a program to start: keeper-errands.h, with three descriptors */
    KEEPER_CORES = 'l',     /* with a descriptor, core-ledger.h: to be kept until all has ended */
};
enum { KEEPER_PACKET = 8192 };

/* The keeper's life: returns the exit code for mpstarter. worker: child to wait for; fd: its end of
 * the packet socket. host: for messages. mask: the umask that errands have. */
int keeper_run(pid_t worker, int fd, const char *host, mode_t mask);

/* Worker's side. */
void keeper_tell(int fd, enum keeper_message what, const char *text);
enum { KEEPER_FDS = 3 };
/* A whole packet with 1 to KEEPER_FDS descriptors. 0, or -1 with errno. */
int keeper_send(int fd, const char *packet, size_t n, const int *fds, size_t nfds);

#endif
