/* SPDX-License-Identifier: BSD-3-Clause */
/* idset.h - sets of small numbers (hardware threads, ranks, hosts), written "0-3,7" */
#ifndef COMMON_IDSET_H
#define COMMON_IDSET_H

#include <stddef.h>

#include "common/error.h"

enum { IDSET_MAX = 1 << 20 }; /* ids are below this: foreign input cannot ask for more memory */

struct idset {
    unsigned long *words; /* NULL: empty */
    size_t nwords;
};

void idset_free(struct idset *s);
int idset_add(struct idset *s, unsigned id); /* -1: out of memory, or id >= IDSET_MAX */
int idset_add_range(struct idset *s, unsigned first, unsigned last);
void idset_remove(struct idset *s, unsigned id);
int idset_has(const struct idset *s, unsigned id);
size_t idset_count(const struct idset *s);
/* Smallest member that is >= from, or -1. */
int idset_next(const struct idset *s, unsigned from);
int idset_copy(struct idset *to, const struct idset *from); /* frees what `to` held */
void idset_intersect(struct idset *s, const struct idset *with);
void idset_subtract(struct idset *s, const struct idset *without);
int idset_equal(const struct idset *a, const struct idset *b);

/* Strict: "0-3,7", the whole string, no blanks, ranges ascending; "" is the empty set.
 * The set is unchanged on failure; the error quotes the offending part. */
int idset_parse(const char *text, struct idset *ret, struct error *err);
/* Caller frees; "" for the empty set; NULL when memory is out. */
char *idset_format(const struct idset *s);

#endif
