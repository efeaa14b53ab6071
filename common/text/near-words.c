/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/text/near-words.h"

#include <stdint.h>
#include <string.h>

static size_t least_of(size_t a, size_t b, size_t c)
{
    return a < b ? (a < c ? a : c) : (b < c ? b : c);
}

/* Single-character edits between two words, a swap of neighbours being one. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[3][NEAREST_MAX + 1];
    if (na > NEAREST_MAX || nb > NEAREST_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= nb; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            now[j] = least_of(now[j - 1] + 1, last[j] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            int swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
    }
    return row[na % 3][nb];
}

size_t word_badness(const char *word, const char *candidate, size_t n)
{
    size_t len = strlen(word), limit = (len < n ? len : n) / 3;
    size_t d = distance(word, len, candidate, n);
    if (d <= limit)
        return d;
    /* "--report-bind": the beginning of a longer name */
    return len > 4 && len < n && memcmp(word, candidate, len) == 0 ? limit + n - len : SIZE_MAX;
}
