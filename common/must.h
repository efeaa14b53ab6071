/* SPDX-License-Identifier: BSD-3-Clause */
/* must.h - ends the program when there is no memory
 *
 * Without memory no program of mprun's could do anything useful. When one of them ends, the others
 * clean up; the processes of mprund are started again and find all state in the tree of cgroups.
 * Only the two that run as root while jobs do, supervisor and mover, and the code linked into them
 * return an error instead. */
#pragma once

/* Say that there is no memory, and end the program with EXIT_CODE_MPRUN. */
void out_of_memory(void) __attribute__((noreturn, cold));

/* Returns p, what an allocation has returned. */
static inline void *must(void *p)
{
    if (!p)
        out_of_memory();
    return p;
}

/* Takes the result of a function that returns -1 only where there is no memory. */
static inline void must_do(int result)
{
    if (result < 0)
        out_of_memory();
}
