/* SPDX-License-Identifier: BSD-3-Clause */
/* keeper-channel.h - what a worker tells its keeper, by packets on a socket between the two */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "common/files/fd-packet.h"

struct oom_kills;

/* The first byte of a packet; a text or descriptors follow. */
enum keeper_message {
    KEEPER_CGROUP = 'c',    /* path of a cgroup directory that was made, parents first */
    KEEPER_DIRECTORY = 'd', /* path of a directory that was made */
    KEEPER_CLEANED = 'x',   /* the worker has removed all of these */
    KEEPER_STUCK = 's',     /* the worker could not remove some; mprun knows. Try once more */
    KEEPER_ERRAND = 'r',    /* a program to start: errand-processes.h, with three descriptors */
    KEEPER_OOM_KILLS = 'o', /* the worker's struct oom_kills */
    KEEPER_CORES = 'l',     /* with the descriptor of core-ledger.h: keep it until all has ended */
};
enum { KEEPER_PACKET = 8192 }; /* bytes of one packet, at most */

/* Sends a packet with a text. Does nothing when the keeper has gone. */
void keeper_tell(int fd, enum keeper_message what, const char *text);
void keeper_tell_oom_kills(int fd, const struct oom_kills *kills);
/* For packets with descriptors there is fd_packet_send(). Takes the next packet, appends a NUL, and
 * puts its descriptors, or -1, into fds; the caller closes them. Returns the packet's bytes; 0: the
 * other side has gone; -1: none now. */
ssize_t keeper_receive(int fd, char packet[KEEPER_PACKET + 1], int fds[FD_PACKET_FDS]);
