/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi1.h - PMI-1 for ranks whose MPI speaks it (MPICH and its kin)
 *
 * For each rank the starter connects to the Unix socket that PMI_READY names and writes PMI1_HELLO
 * bytes: world, rank and incarnation, four bytes each, little endian. The rank inherits the
 * descriptor; its environment has PMI_FD, PMI_RANK and PMI_SIZE. The socket lies in a directory
 * that only its user can enter.
 *
 * Between hosts a barrier is a collective of kind 'B', which carries the pairs that were put since
 * the barrier before. */
#pragma once

#include <stdint.h>
#include <sys/queue.h>
#include <sys/un.h>

#include "common/error.h"

struct server;

enum { PMI1_HELLO = 12 };

struct pmi1 {
    struct sockaddr_un address; /* its path is "" while nobody listens */
    /* private to pmi1.c */
    struct server *server;
    int fd;
    struct loop_io *io;
    struct space *spaces;
    LIST_HEAD(, connection) connections;
};

/* Listens for the ranks of all worlds, unless it does already. -1 with err. */
int pmi1_listen(struct server *s, struct error *err);
/* The rank has ended: handles the requests that it has still sent. */
void pmi1_rank_gone(struct pmi1 *p, uint32_t world, uint32_t rank);
