/* SPDX-License-Identifier: BSD-3-Clause */
/* idset.c - sets of small numbers as bit words; the words beyond nwords are all zero */
#include "common/idset.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

enum { WORD_BITS = 8 * sizeof(unsigned long) };

void idset_free(struct idset *s)
{
    free(s->words);
    *s = (struct idset){0};
}

/* Words for ids up to last. */
static int idset_grow(struct idset *s, unsigned last)
{
    size_t want = last / WORD_BITS + 1;
    if (last >= IDSET_MAX) {
        errno = ERANGE;
        return -1;
    }
    if (want <= s->nwords)
        return 0;
    if (want < 2 * s->nwords)
        want = 2 * s->nwords;
    unsigned long *words = realloc(s->words, want * sizeof(*words));
    if (!words)
        return -1;
    memset(words + s->nwords, 0, (want - s->nwords) * sizeof(*words));
    s->words = words;
    s->nwords = want;
    return 0;
}

int idset_add(struct idset *s, unsigned id)
{
    return idset_add_range(s, id, id);
}

int idset_add_range(struct idset *s, unsigned first, unsigned last)
{
    if (first > last) {
        errno = EINVAL;
        return -1;
    }
    if (idset_grow(s, last) < 0)
        return -1;
    for (unsigned id = first; id <= last; id++)
        s->words[id / WORD_BITS] |= 1UL << id % WORD_BITS;
    return 0;
}

bool idset_has(const struct idset *s, unsigned id)
{
    return id / WORD_BITS < s->nwords && (s->words[id / WORD_BITS] >> id % WORD_BITS & 1);
}

size_t idset_count(const struct idset *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->nwords; i++)
        n += (size_t)__builtin_popcountl(s->words[i]);
    return n;
}

int idset_next(const struct idset *s, unsigned from)
{
    size_t i = from / WORD_BITS;
    if (i >= s->nwords)
        return -1;
    unsigned long word = s->words[i] & (~0UL << from % WORD_BITS);
    while (!word) {
        if (++i == s->nwords)
            return -1;
        word = s->words[i];
    }
    return (int)(i * WORD_BITS) + __builtin_ctzl(word);
}

int idset_copy(struct idset *to, const struct idset *from)
{
    struct idset copy = {.nwords = from->nwords};
    if (to == from)
        return 0;
    if (copy.nwords && !(copy.words = malloc(copy.nwords * sizeof(*copy.words))))
        return -1;
    for (size_t i = 0; i < copy.nwords; i++)
        copy.words[i] = from->words[i];
    idset_free(to);
    *to = copy;
    return 0;
}

int idset_unite(struct idset *s, const struct idset *with)
{
    for (int id = idset_next(with, 0); id >= 0; id = idset_next(with, (unsigned)id + 1))
        if (idset_add(s, (unsigned)id) < 0)
            return -1;
    return 0;
}

void idset_intersect(struct idset *s, const struct idset *with)
{
    for (size_t i = 0; i < s->nwords; i++)
        s->words[i] &= i < with->nwords ? with->words[i] : 0;
}

void idset_subtract(struct idset *s, const struct idset *without)
{
    for (size_t i = 0; i < s->nwords && i < without->nwords; i++)
        s->words[i] &= ~without->words[i];
}

bool idset_equal(const struct idset *a, const struct idset *b)
{
    size_t n = a->nwords > b->nwords ? a->nwords : b->nwords;
    for (size_t i = 0; i < n; i++)
        if ((i < a->nwords ? a->words[i] : 0) != (i < b->nwords ? b->words[i] : 0))
            return false;
    return true;
}

/* A number at *at, below IDSET_MAX; -1: there is none. */
static long parse_id(const char **at)
{
    if (!isdigit((unsigned char)**at))
        return -1;
    long value = 0;
    for (; isdigit((unsigned char)**at); ++*at) {
        value = value * 10 + (**at - '0');
        if (value >= IDSET_MAX)
            return -1;
    }
    return value;
}

/* "3" or "0-3" at *at, up to a comma or the end. */
static int parse_item(struct idset *s, const char **at, struct error *err)
{
    const char *item = *at;
    int len = (int)strcspn(item, ",");
    int shown = len > 64 ? 64 : len;
    long first = parse_id(at), last = first;
    if (first >= 0 && **at == '-') {
        ++*at;
        last = parse_id(at);
    }
    if (first < 0 || last < 0 || *at != item + len)
        return error_set(err, EINVAL, "'%.*s' is not a number or range of numbers below %d", shown,
                         item, IDSET_MAX);
    if (first > last)
        return error_set(err, EINVAL, "range '%.*s' descends", shown, item);
    if (idset_add_range(s, (unsigned)first, (unsigned)last) < 0)
        return error_errno(err, errno, "keep the set '%.*s'", shown, item);
    return 0;
}

int idset_parse(const char *text, struct idset *ret, struct error *err)
{
    struct idset parsed = {0};
    const char *at = text;
    while (*text) {
        if (parse_item(&parsed, &at, err) < 0) {
            int saved = errno;
            idset_free(&parsed);
            errno = saved;
            return error_context(err, "read the set '%.100s'", text);
        }
        if (!*at)
            break;
        at++;
    }
    idset_free(ret);
    *ret = parsed;
    return 0;
}

/* Last member of the run of members that starts at first. */
static unsigned run_end(const struct idset *s, unsigned first)
{
    unsigned last = first;
    while (idset_has(s, last + 1))
        last++;
    return last;
}

char *idset_format(const struct idset *s)
{
    struct text_writer text;
    FILE *f = text_begin(&text);
    if (!f)
        return NULL;
    const char *comma = "";
    for (int id = idset_next(s, 0); id >= 0;) {
        unsigned last = run_end(s, (unsigned)id);
        if ((unsigned)id == last)
            fprintf(f, "%s%d", comma, id);
        else
            fprintf(f, "%s%d-%u", comma, id, last);
        comma = ",";
        id = idset_next(s, last + 1);
    }
    return text_end(&text);
}
