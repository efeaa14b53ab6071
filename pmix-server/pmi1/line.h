/* SPDX-License-Identifier: BSD-3-Clause */
/* line.h - lines of the PMI-1 "simple" protocol: "cmd=put kvsname=K key=X value=V\n"
 *
 * The bytes come from a user's program: everything is bounded, and what is not understood is
 * refused. */
#pragma once

#include <stddef.h>

#include "pmix-server/policy.h"

struct pmi1_line {
    struct {
        char *name, *value;
    } fields[PMI1_FIELDS_MAX];
    size_t n;
};

/* Cuts a zero-terminated line without its newline into fields. Changes the line; the fields point
 * into it. -1: a word without '=', an empty name, or too many fields. */
int pmi1_parse(char *line, struct pmi1_line *ret);
/* The value of a field, or NULL. */
const char *pmi1_field(const struct pmi1_line *l, const char *name);
/* Parses a field as a whole number of at most `max`. 0 with *ret, else -1. */
int pmi1_number(const struct pmi1_line *l, const char *name, int max, int *ret);
