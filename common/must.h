/* SPDX-License-Identifier: BSD-3-Clause */
/* must.h - memory that a program has, or it ends
 *
 * For mprun, mpstarter, mppmi and the tools, and for wire/, plan/, rm-adapters/, containment/step/
 * and containment/job-cgroup/, which are theirs: nothing that they could still do without memory is
 * of use, and when one of them ends, for whatever reason, the others clean up. mprund's processes,
 * but for its command and the one that reads XML, and what is linked into them return an error
 * instead. */
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
