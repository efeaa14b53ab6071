/* SPDX-License-Identifier: BSD-3-Clause */
/* tunables.h - the numbers that we chose for mppmi, each with its unit and its reason */
#pragma once

enum {
    /* Bytes of MPI_Abort's text; the rest is cut off. */
    ABORT_TEXT_MAX = 4096,

    /* Bytes of an event that goes to other hosts; PMIx's events have some hundred. */
    EVENT_MAX = 1024 * 1024,
    /* Bytes of a group's name, as PMIx has it. */
    GROUP_NAME_MAX = 512,

    /* Bytes with the terminating zero: PMI-1's get_maxes answers with these, and PMI-2 and MPICH's
     * own server have the same. */
    PMI_NAME_MAX = 256,
    PMI_KEY_MAX = 64,
    PMI_VALUE_MAX = 1024,
    /* Bytes of a line of PMI-1; a longer line ends the step. The longest that is needed has a name,
     * a key and a value. */
    PMI1_LINE_MAX = 4096,
    /* Bytes of a message of PMI-2, as MPICH has it, and of its name for a thread, which is a
     * number; longer ones end the step. */
    PMI2_MESSAGE_MAX = 64 * 1024,
    PMI2_THREAD_MAX = 32,
    /* Fields of a request. Only a spawn has more than ten: its arguments. */
    PMI_FIELDS_MAX = 1024,
    /* Bytes of all names and values of a spawn; arguments of a program have at most 2 MiB. */
    PMI_SPAWN_MAX = 4 * 1024 * 1024,
    /* Bytes read from a rank at once. */
    PMI_READ = 16 * 1024,
    /* Bytes of answers that a rank has not read: while there are more, its requests wait. */
    PMI_UNREAD_MAX = 64 * 1024,
    /* Bytes of all keys and values that one rank puts; MPICH puts some hundred. */
    PMI_PUT_MAX = 16 * 1024 * 1024,
    /* Threads of a rank that wait for a value of PMI-2; a rank has one for each core at most. */
    PMI2_WAITING_MAX = 1024,

    /* Bytes of heap in use, above which tools get no output of ranks. */
    IOF_HEAP_MAX = 64 * 1024 * 1024,

    /* Free bytes that the heap keeps, so that it does not return and request them again. */
    HEAP_KEEP = 16 * 1024 * 1024,
};
