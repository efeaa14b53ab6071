/* SPDX-License-Identifier: BSD-3-Clause */
/* idset.h - sets of small numbers (hardware threads, ranks, hosts), written "0-3,7" */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

enum { IDSET_MAX = 1 << 20 }; /* ids are below this, so that input cannot ask for much memory */

struct idset {
    unsigned long *words; /* a bit for each id; NULL: empty */
    size_t nwords;
};

void idset_free(struct idset *s);
void idset_add(struct idset *s, unsigned id); /* id: below IDSET_MAX */
/* 0, or -1 with errno: the range descends, or ends beyond IDSET_MAX. */
int idset_add_range(struct idset *s, unsigned first, unsigned last);
bool idset_has(const struct idset *s, unsigned id);
size_t idset_count(const struct idset *s);
/* Smallest member that is >= from, or -1. */
int idset_next(const struct idset *s, unsigned from);
/* IDSET_FOREACH (id, s) runs for each member, in ascending order; `int id` is its own variable. */
#define IDSET_FOREACH(id, s)                                                                       \
    for (int id = idset_next((s), 0); id >= 0; id = idset_next((s), (unsigned)id + 1))
void idset_copy(struct idset *to, const struct idset *from); /* frees what `to` held */
void idset_unite(struct idset *s, const struct idset *with);
void idset_intersect(struct idset *s, const struct idset *with);
void idset_subtract(struct idset *s, const struct idset *without);
bool idset_intersects(const struct idset *a, const struct idset *b);
bool idset_equal(const struct idset *a, const struct idset *b);

/* Parse the whole string: "0-3,7", no blanks, ranges ascending; "" is the empty set. Frees what
 * *ret held. 0, or -1 with an err that quotes the wrong part; *ret is then unchanged. */
int idset_parse(const char *text, struct idset *ret, struct error *err);
/* The same form; the caller frees it. */
char *idset_format(const struct idset *s);
