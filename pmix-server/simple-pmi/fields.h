/* SPDX-License-Identifier: BSD-3-Clause */
/* fields.h - names and values in a request of the "simple" protocols
 *
 * PMI-1 writes "cmd=put kvsname=K key=X value=V", PMI-2 "cmd=kvs-put;key=X;value=V;". The bytes
 * come from a user's program: all sizes are bounded, and unknown syntax is refused. */
#pragma once

#include <stddef.h>

#include "pmix-server/tunables.h"

struct pmi_fields {
    struct {
        char *name, *value;
    } list[PMI_FIELDS_MAX];
    size_t n;
};

/* Cuts a zero-terminated request of PMI-1, or PMI-2, into fields. Changes the text; the fields
 * point into it. PMI-2: a semicolon ends each field, and two in a value stand for one. -1: a word
 * without '=', an empty name, or too many fields. */
int pmi1_cut(char *text, struct pmi_fields *ret);
int pmi2_cut(char *text, struct pmi_fields *ret);
/* Returns the value of a field, or NULL. */
const char *pmi_field(const struct pmi_fields *f, const char *name);
/* Parses a field as a whole number of at most `max`. 0 with *ret, else -1. */
int pmi_number(const struct pmi_fields *f, const char *name, int max, int *ret);
