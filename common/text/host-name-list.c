/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/text/host-name-list.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/must.h"

enum { DIGITS_MAX = 9 };

/* Find where the number of a name stands: 0, or -1: it has none. */
static int find_number(const char *name, size_t n, size_t *ret_start, size_t *ret_end)
{
    const char *dot = memchr(name, '.', n);
    size_t end = dot ? (size_t)(dot - name) : n;
    while (end > 0 && !isdigit((unsigned char)name[end - 1]))
        end--;
    size_t start = end;
    while (start > 0 && isdigit((unsigned char)name[start - 1]) && end - start < DIGITS_MAX)
        start--;
    *ret_start = start;
    *ret_end = end;
    return start < end ? 0 : -1;
}

int name_run_at(const char *first, size_t n, uint32_t k, char *buf, size_t size)
{
    size_t start, end;
    uint64_t number = 0;
    if (find_number(first, n, &start, &end) < 0)
        return -1;
    for (size_t i = start; i < end; i++)
        number = number * 10 + (uint64_t)(first[i] - '0');
    int len = snprintf(buf, size, "%.*s%0*llu%.*s", (int)start, first, (int)(end - start),
                       (unsigned long long)(number + k), (int)(n - end), first + end);
    return len > 0 && (size_t)len < size ? len : -1;
}

/* The number of names, of n, that count up from the first. */
static size_t run_length(const char *const *names, size_t n)
{
    char next[512];
    size_t k = 1;
    while (k < n && name_run_at(names[0], strlen(names[0]), (uint32_t)k, next, sizeof(next)) > 0 &&
           strcmp(next, names[k]) == 0)
        k++;
    return k;
}

/* Behind what is there already, which stays as it is where this does not fit: 0. */
static int add(char *buf, size_t size, const char *first, const char *last)
{
    size_t at = strlen(buf), start = 0, end = 0;
    const char *comma = at ? ", " : "";
    int n;
    if (last && find_number(first, strlen(first), &start, &end) == 0)
        n = snprintf(buf + at, size - at, "%s%.*s[%.*s-%.*s]%s", comma, (int)start, first,
                     (int)(end - start), first + start,
                     (int)(strlen(last) - strlen(first) + end - start), last + start, first + end);
    else
        n = snprintf(buf + at, size - at, "%s%s", comma, first);
    if (n > 0 && (size_t)n < size - at)
        return 1;
    buf[at] = 0;
    return 0;
}

void name_run_list(const char *const *names, size_t n, char *buf, size_t size)
{
    enum { COUNT = 32 }; /* " and 65536 others" */
    size_t i = 0;
    buf[0] = 0;
    while (i < n) {
        size_t run = run_length(names + i, n - i);
        if (run >= 3 && add(buf, size - COUNT, names[i], names[i + run - 1]))
            i += run;
        else if (add(buf, size - COUNT, names[i], NULL))
            i++;
        else
            break;
    }
    size_t at = strlen(buf);
    if (i < n)
        snprintf(buf + at, size - at, " and %zu other%s", n - i, n - i > 1 ? "s" : "");
}

char *name_run_word(const char *const *names, size_t n)
{
    size_t size = NAME_RUN_TEXT, kept = 0;
    for (size_t i = 0; i < n; i++)
        size += strlen(names[i]) + 2;
    char *text = must(calloc(1, size));
    name_run_list(names, n, text, size);
    for (size_t i = 0; text[i]; i++)
        if (text[i] != ' ')
            text[kept++] = text[i];
    text[kept] = 0;
    return text;
}
