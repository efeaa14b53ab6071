/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi-programs.h - which programs of a step use MPI, as far as their ELF files say so
 *
 * Not seen: what a script, or a module of an interpreter, uses. */
#pragma once

#include <stdbool.h>

struct step;

/* Does the step offer PMI, and is a program of it linked with a library of MPI or PMI? */
bool programs_need_pmi(const struct step *s);
/* Does one of them call a function that spawns ranks? */
bool programs_spawn_ranks(const struct step *s);
