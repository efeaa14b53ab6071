/* SPDX-License-Identifier: BSD-3-Clause */
/* await.h - one word of the starter's among whatever else comes on a start channel
 *
 * A channel's output is text of anybody (login scripts, task prologs) in pieces of any size, in
 * which the starter says PREAMBLE_READY or PREAMBLE_ASK (preamble.h). The word is taken out, all
 * else is passed on. */
#ifndef WIRE_AWAIT_H
#define WIRE_AWAIT_H

#include <stddef.h>

enum { AWAIT_MAX = 320 }; /* a word is shorter */

struct await {
    const char *word; /* whose first letter is not in it again, but for its last; NULL: none */
    size_t matched;   /* letters of it that were the end of what has come so far */
};

/* Take n bytes of the output. What is no part of the word is written to out, which has room for n +
 * AWAIT_MAX bytes: its length. *found: the word was there; then no word is awaited any more. */
size_t await_take(struct await *a, const char *in, size_t n, char *out, int *found);
/* The output is over: what was held back as the beginning of the word. At most AWAIT_MAX bytes. */
size_t await_rest(struct await *a, char *out);

#endif
