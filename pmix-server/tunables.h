/* SPDX-License-Identifier: BSD-3-Clause */
/* tunables.h - the numbers that somebody chose for mppmi, each with its unit and its reason */
#pragma once

enum {
    /* Bytes of what MPI_Abort says; the rest is cut off. */
    ABORT_TEXT_MAX = 4096,

    /* Bytes with the terminating zero: PMI-1's get_maxes answers with these. MPICH's own server has
     * the same. */
    PMI1_NAME_MAX = 256,
    PMI1_KEY_MAX = 64,
    PMI1_VALUE_MAX = 1024,
    /* Bytes and fields of a line; a longer line ends the connection. The longest that is needed has
     * a name, a key and a value. */
    PMI1_LINE_MAX = 4096,
    PMI1_FIELDS_MAX = 16,
    /* Bytes read from a rank at once. */
    PMI1_READ = 16 * 1024,
    /* Bytes of answers that a rank has not read: while there are more, its requests wait. */
    PMI1_UNREAD_MAX = 64 * 1024,
    /* Bytes of all keys and values that one rank puts; MPICH puts some hundred. */
    PMI1_PUT_MAX = 16 * 1024 * 1024,

    /* Bytes of heap that are touched before they are needed: what a start of the PMIx library
     * allocates; and how many free bytes the heap keeps, so that none of it is given back. */
    PREFAULT_HEAP = 512 * 1024,
    PREFAULT_KEEP = 16 * 1024 * 1024,
};
