/* SPDX-License-Identifier: BSD-3-Clause */
/* pairs.h - names and values of PMI-1: the fields of a line, and a world's key-value space
 *
 * A line of the "simple" protocol is "cmd=put kvsname=K key=X value=V\n". The bytes come from a
 * user's program: everything is bounded, and what is not understood is refused. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "pmix-server/tunables.h"

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

/* Pairs from local ranks and from other hosts. */
struct kvs {
    void *root; /* of tsearch(3); NULL: empty. Each node is one allocation */
};

/* Copies both; replaces an earlier value. -1: out of memory. */
int kvs_put(struct kvs *k, const char *key, const char *value);
const char *kvs_get(const struct kvs *k, const char *key); /* NULL: not there */

/* Appends a pair in the form that goes between hosts: key, zero, value, zero. */
int kvs_pack(struct buffer *to, const char *key, const char *value); /* -1: out of memory */
/* Puts all pairs of such bytes. -1: damaged, or out of memory; earlier pairs stay. */
int kvs_put_packed(struct kvs *k, const uint8_t *p, size_t n);
