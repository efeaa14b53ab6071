/* SPDX-License-Identifier: BSD-3-Clause */
/* dialect.h - the launcher in whose words a command line is written
 *
 * mprun's own dialect has no word with two meanings. In the dialect of another launcher its words
 * have that launcher's meaning, and mprun's others still theirs. */
#pragma once

#include "common/error.h"
#include "common/options.h"

enum dialect {
    DIALECT_MPRUN,
    DIALECT_MPIRUN,  /* Open MPI's mpirun, orterun, prterun */
    DIALECT_MPIEXEC, /* MPI standard's mpiexec, MPICH's and Intel MPI's Hydra, mpirun_rsh */
    DIALECT_SRUN,
    DIALECT_APRUN,
    DIALECT_JSRUN,
    DIALECT_FLUX, /* flux run */
    DIALECTS
};

/* For option_def.variants. */
#define IN(dialect_) (1U << DIALECT_##dialect_)

extern const char *const dialect_words[]; /* by enum dialect; NULL-terminated */

/* The dialect of a line: that of "--as WORD" in its first words, else that of a program with the
 * name argv[0]. *ret_from is the index of the first word behind it. 0, or -1 with err. */
int dialect_find(int argc, char *const argv[], enum dialect *ret, int *ret_from, struct error *err);

/* The entries of a table that count in a dialect, its own before those of all: a name means the
 * first that has it. variants 0: all dialects. NULL: out of memory. The caller frees it. */
struct option_def *dialect_options(const struct option_def *all, enum dialect d);
