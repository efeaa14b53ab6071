/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-name.h - the full name of a rank, as messages, cgroups, usage rows and streams have it */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rank_name {
    uint32_t world;       /* 0: mprun started it; each MPI_Comm_spawn makes another world */
    uint32_t rank;        /* within its world */
    uint32_t incarnation; /* 0; counts restarts */
};

/* In messages: all ranks of the world, as PMIx has it. */
#define RANK_ALL (UINT32_MAX - 1)
/* This bit of a world's number: the world is of another step, and mprun has given it the number. */
#define WORLD_OF_OTHER_STEP 0x80000000u

static inline bool rank_name_equal(struct rank_name a, struct rank_name b)
{
    return a.world == b.world && a.rank == b.rank && a.incarnation == b.incarnation;
}

enum { RANK_NAME_TEXT = 40 };
/* For people: "7", in another world "1.7", restarted "0.7.2". Returns buf, of RANK_NAME_TEXT. */
const char *rank_name_format(struct rank_name r, char *buf);
/* Copies word, and replaces %r by the rank and %h by the host. The caller frees it. */
char *rank_name_fill_in(const char *word, struct rank_name r, const char *host);
