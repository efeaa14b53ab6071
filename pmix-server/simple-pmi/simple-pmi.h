/* SPDX-License-Identifier: BSD-3-Clause */
/* simple-pmi.h - PMI-1 and PMI-2 for ranks whose MPI speaks them (MPICH and its kin)
 *
 * For each rank the starter connects to the Unix socket that PMI_READY names and writes
 * SIMPLE_PMI_HELLO bytes: world, rank and incarnation, four bytes each, little endian. The rank
 * inherits the descriptor; its environment has PMI_FD, PMI_RANK and PMI_SIZE. The socket lies in a
 * directory that only its user can enter.
 *
 * A rank begins with a line of PMI-1, which says the version that it goes on with. */
#pragma once

#include <stdint.h>
#include <sys/queue.h>
#include <sys/un.h>

#include "common/error.h"

struct server;

enum { SIMPLE_PMI_HELLO = 12 };

struct simple_pmi {
    struct sockaddr_un address; /* its path is "" while nobody listens */
    /* private to the folder */
    struct server *server;
    int fd;
    struct loop_io *io;
    struct space *spaces;
    LIST_HEAD(, connection) connections;
};

/* Listens for the ranks of all worlds, unless it does already. -1 with err. */
int simple_pmi_listen(struct server *s, struct error *err);
/* Forgets a world whose ranks have all ended. */
void simple_pmi_world_ended(struct simple_pmi *p, uint32_t world);
/* The rank has ended: handles the requests that it has still sent. */
void simple_pmi_rank_gone(struct simple_pmi *p, uint32_t world, uint32_t rank);
