/* SPDX-License-Identifier: BSD-3-Clause */
/* lone-ranks.h - MPI programs whose ranks do not find each other: each is rank 0 of 1
 *
 * An MPI library that finds no PMI that it speaks takes its process for the only one, and says
 * nothing. The libraries that a program asks for say which PMI it looks for. Programs that are
 * linked otherwise, or are scripts, are not recognized. */
#pragma once

#include <stdbool.h>

struct step_plan;

/* Before the start: warns if programs of the step are of two MPIs. */
void lone_ranks_warn_of_mix(const struct step_plan *p);
/* Before the start: warns if --pmi leaves out what an MPI program needs. Returns whether it has. */
bool lone_ranks_foresee(const struct step_plan *p);
/* The ranks have ended by themselves, and no rank's MPI library found PMI: warns if the program is
 * an MPI program. */
void lone_ranks_say(const struct step_plan *p);
