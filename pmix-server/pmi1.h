/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi1.h - PMI-1 for ranks whose MPI speaks it (MPICH and its kin)
 *
 * For each rank the starter connects to the Unix socket that PMI_READY names, writes
 * PMI1_HELLO bytes - world, rank and incarnation, four bytes each, little endian - and lets the
 * rank inherit the descriptor, whose number is in PMI_FD; PMI_RANK and PMI_SIZE go with it. The
 * socket lies in a directory that only its user can enter.
 *
 * Between hosts a barrier is a collective of kind 'B', and carries what was put since the last. */
#ifndef PMIX_SERVER_PMI1_H
#define PMIX_SERVER_PMI1_H

#include <stdint.h>

#include "common/error.h"

struct server;
struct pmi1;

enum { PMI1_HELLO = 12 };

/* Listen for the ranks of all worlds; once. */
int pmi1_listen(struct server *s, struct error *err);
/* Path of the socket; NULL when nothing listens. */
const char *pmi1_path(const struct pmi1 *p);

/* The rank has ended: take what it had still sent. NULL is fine. */
void pmi1_rank_gone(struct pmi1 *p, uint32_t world, uint32_t rank);

#endif
