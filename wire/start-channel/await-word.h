/* SPDX-License-Identifier: BSD-3-Clause */
/* await-word.h - finds the starter's word in the output of a start channel
 *
 * Login scripts and task prologs print on that channel, too, in pieces of any size; somewhere among
 * that the starter says PREAMBLE_READY or PREAMBLE_ASK (preamble.h). The word is taken out; all
 * other output is passed on. */
#pragma once

#include <stddef.h>

enum { AWAIT_MAX = 320 }; /* bytes; every word is shorter */

struct await {
    const char *word; /* its first letter must not come again, except as the last; NULL: no word */
    size_t matched;   /* letters of it that the output so far ends with */
};

/* Takes n bytes of output and writes those that do not belong to the word to out, which has room
 * for n + AWAIT_MAX bytes. Returns how many. Sets *found when the word is complete; from then on no
 * word is awaited. */
size_t await_take(struct await *a, const char *in, size_t n, char *out, int *found);
/* At the end of the output: writes the bytes that were held back as the beginning of the word, at
 * most AWAIT_MAX, and returns how many. */
size_t await_rest(struct await *a, char *out);
