/* SPDX-License-Identifier: BSD-3-Clause */
/* idset.c - sets of small numbers as bit words; the words beyond nwords are all zero */
#include "common/text/idset.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/must.h"
#include "common/text/text.h"

enum { WORD_BITS = 8 * sizeof(unsigned long) };

void idset_free(struct idset *s)
{
    free(s->words);
    *s = (struct idset){0};
}

/* Words for ids up to last. */
static void idset_grow(struct idset *s, unsigned last)
{
    size_t want = last / WORD_BITS + 1;
    if (want <= s->nwords)
        return;
    if (want < 2 * s->nwords)
        want = 2 * s->nwords;
    s->words = must(reallocarray(s->words, want, sizeof(*s->words)));
    memset(s->words + s->nwords, 0, (want - s->nwords) * sizeof(*s->words));
    s->nwords = want;
}

void idset_add(struct idset *s, unsigned id)
{
    must_do(idset_add_range(s, id, id));
}

int idset_add_range(struct idset *s, unsigned first, unsigned last)
{
    if (first > last || last >= IDSET_MAX) {
        errno = first > last ? EINVAL : ERANGE;
        return -1;
    }
    idset_grow(s, last);
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

void idset_copy(struct idset *to, const struct idset *from)
{
    struct idset copy = {0};
    idset_unite(&copy, from);
    idset_free(to);
    *to = copy;
}

void idset_unite(struct idset *s, const struct idset *with)
{
    if (with->nwords)
        idset_grow(s, (unsigned)(with->nwords * WORD_BITS - 1));
    for (size_t i = 0; i < with->nwords; i++)
        s->words[i] |= with->words[i];
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

bool idset_intersects(const struct idset *a, const struct idset *b)
{
    for (size_t i = 0; i < a->nwords && i < b->nwords; i++)
        if (a->words[i] & b->words[i])
            return true;
    return false;
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
    return idset_add_range(s, (unsigned)first, (unsigned)last);
}

int idset_parse(const char *text, struct idset *ret, struct error *err)
{
    struct idset parsed = {0};
    const char *at = text;
    while (*text) {
        if (parse_item(&parsed, &at, err) < 0) {
            idset_free(&parsed);
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
