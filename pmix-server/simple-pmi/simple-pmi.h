/* SPDX-License-Identifier: BSD-3-Clause */
/* simple-pmi.h - PMI-1 and PMI-2 for ranks whose MPI speaks them (MPICH and its kin)
 *
 * For each rank the starter connects to a Unix socket, which mppmi inherits (PMI_INIT), and writes
 * SIMPLE_PMI_HELLO bytes: world, rank and incarnation, four bytes each, little endian. The socket
 * lies in a directory that only its user can enter. mppmi also inherits connections of ranks that
 * were started before it (PMI_WORLD); these have no hello. The rank inherits the other end; its
 * environment has PMI_FD, PMI_RANK and PMI_SIZE.
 *
 * A rank begins with a line of PMI-1, which says the version that it goes on with. */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "common/error.h"
#include "wire/mprun.pb-c.h"

struct server;

enum { SIMPLE_PMI_HELLO = 12 };

struct simple_pmi {
    /* private to the folder */
    struct server *server;
    struct loop_io *io;
    struct space *spaces;
    LIST_HEAD(, connection) connections;
};

/* Takes the socket that listens for the ranks of all worlds. */
void simple_pmi_listen(struct server *s, int fd);
/* Takes an inherited connection of a rank. */
void simple_pmi_adopt(struct simple_pmi *p, const Mprun__PmiConnection *m);
/* All ranks of the world have ended: forgets it. */
void simple_pmi_world_ended(struct simple_pmi *p, uint32_t world);
/* The rank has ended: handles the requests that it sent before. */
void simple_pmi_rank_gone(struct simple_pmi *p, uint32_t world, uint32_t rank);
