/* SPDX-License-Identifier: BSD-3-Clause */
/* await.c - letter by letter; what was taken for the word's beginning is given back when it is not
 */
#include "wire/await.h"

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
