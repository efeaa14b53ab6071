/* SPDX-License-Identifier: BSD-3-Clause */
/* await-word.c - compares letter by letter; letters of a word that does not go on are given back */
#include "wire/start-channel/await-word.h"

#include <string.h>

size_t await_rest(struct await *a, char *out)
{
    size_t n = a->matched;
    if (n > 0)
        memcpy(out, a->word, n);
    a->matched = 0;
    return n;
}

size_t await_take(struct await *a, const char *in, size_t n, char *out, int *found)
{
    size_t length = 0;
    *found = 0;
    for (size_t i = 0; i < n; i++) {
        if (a->word && in[i] != a->word[a->matched])
            length += await_rest(a, out + length);
        if (!a->word || in[i] != a->word[a->matched]) {
            out[length++] = in[i];
        } else if (!a->word[++a->matched]) {
            *found = 1;
            *a = (struct await){.word = NULL};
        }
    }
    return length;
}
