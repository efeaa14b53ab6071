/* SPDX-License-Identifier: BSD-3-Clause */
/* dialect.h - the launcher whose options a command line uses
 *
 * Each option of mprun's own dialect has one meaning. In another launcher's dialect that launcher's
 * options have its meaning; mprun's other options keep theirs. */
#pragma once

#include <stdbool.h>

#include "common/error.h"
#include "common/text/options.h"

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

struct dialect_use {
    enum dialect dialect;
    bool has_bare_hosts; /* mpirun_rsh: "-np 2 n1 n2 ./a" */
};

/* Is there a dialect of this word, or of a launcher with this name ("mpiexec.hydra")? */
bool dialect_named(const char *name, enum dialect *ret);

/* The dialect of a line: that of "--as WORD" before all words without "--", else that of a program
 * with the name argv[0]; WORD may be the name of a program, too. 0, or -1 with err. */
int dialect_find(int argc, char *const argv[], struct dialect_use *ret, struct error *err);

/* The entries of two tables (peers may be NULL) that count in a dialect, its own before those of
 * all: a name means the first that has it. The caller frees it. */
struct option_def *dialect_options(const struct option_def *own, const struct option_def *peers,
                                   enum dialect d);
