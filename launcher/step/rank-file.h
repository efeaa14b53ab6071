/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-file.h - a file as Open MPI has it, which says for each rank where it runs: a line
 * "rank 0=n1 slot=1:0-2" is host and cores; "+n2" is the third host of the step */
#pragma once

#include <stdint.h>

#include "model/allocation.h"
#include "model/rank-set.h"

struct rank_file_rank {
    char *host;        /* NULL: relative */
    uint32_t relative; /* number of the host among those of the step */
    char *cores;       /* plan/slot-list.h */
    unsigned line;     /* of the file; 0: the rank has none */
};

struct rank_file {
    const char *path; /* as rank_file_read() got it, borrowed */
    struct rank_file_rank *ranks;
    uint32_t n;
};

/* 0, or -1 with file and line. Every rank from 0 on has a line; *ret is to be freed. */
int rank_file_read(const char *path, struct rank_file *ret, struct error *err);
void rank_file_free(struct rank_file *f); /* what it holds, not itself */

/* The hosts that are named, "a:2,b:1" with the number of their ranks; "" where all are relative.
 * Caller frees; NULL with err. */
char *rank_file_hosts(const struct rank_file *f, struct error *err);
/* The host of each rank, an index of a's; the caller frees *ret. -1 with err. */
int rank_file_place(const struct rank_file *f, const struct allocation *a, uint32_t **ret,
                    struct error *err);
/* The cores of these ranks, as struct binding_request has them in `slots`. Caller frees. */
char *rank_file_cores(const struct rank_file *f, const struct rank_set *ranks);
