/* SPDX-License-Identifier: BSD-3-Clause */
/* keeper-channel.h - what the worker tells the keeper: packets on a socket between the two */
#pragma once

#include <stddef.h>

/* The first byte of a packet; a text or descriptors follow. */
enum keeper_message {
    KEEPER_CGROUP = 'c',    /* path of a cgroup directory that was made, parents first */
    KEEPER_DIRECTORY = 'd', /* path of a directory that was made */
    KEEPER_CLEANED = 'x',   /* all of these have been removed */
    KEEPER_STUCK = 's',     /* some could not be removed; mprun knows. The keeper tries once more */
    KEEPER_ERRAND = 'r',    /* a program to start: keeper-errands.h, with three descriptors */
    KEEPER_CORES = 'l',     /* with the descriptor of core-ledger.h: keep it until all has ended */
};
enum { KEEPER_PACKET = 8192, KEEPER_FDS = 3 }; /* bytes and descriptors of one packet, at most */

/* Send a packet with a text. Nothing is said where the keeper has gone. */
void keeper_tell(int fd, enum keeper_message what, const char *text);
/* Send a whole packet with 1 to KEEPER_FDS descriptors. 0, or -1 with errno. */
int keeper_send(int fd, const char *packet, size_t n, const int *fds, size_t nfds);
