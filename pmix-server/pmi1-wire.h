/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi1-wire.h - lines of the PMI-1 "simple" protocol: "cmd=put kvsname=K key=X value=V\n"
 *
 * Bytes come from a user's program: everything here is bounded and fails closed. */
#ifndef PMIX_SERVER_PMI1_WIRE_H
#define PMIX_SERVER_PMI1_WIRE_H

#include <stddef.h>

enum {
    PMI1_NAME_MAX = 256, /* what get_maxes answers, zeros included */
    PMI1_KEY_MAX = 64,
    PMI1_VALUE_MAX = 1024,
    PMI1_LINE_MAX = 4096, /* a longer line ends the connection */
    PMI1_FIELDS_MAX = 16,
};

struct pmi1_line {
    struct {
        char *name, *value;
    } fields[PMI1_FIELDS_MAX];
    size_t n;
};

/* Cut a line, without its newline and zero-terminated, into fields; it is changed, and they point
 * into it. -1: a word without '=', an empty name, or too many. */
int pmi1_parse(char *line, struct pmi1_line *ret);
/* The value of a field, or NULL. */
const char *pmi1_field(const struct pmi1_line *l, const char *name);
/* A whole number of at most `max`: 0 with *ret, else -1. */
int pmi1_number(const struct pmi1_line *l, const char *name, int max, int *ret);

#endif
