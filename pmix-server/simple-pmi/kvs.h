/* SPDX-License-Identifier: BSD-3-Clause */
/* kvs.h - a key-value space: what ranks put for each other */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"

struct kvs {
    void *root; /* of tsearch(3); NULL: empty. Each node is one allocation */
};

void kvs_free(struct kvs *k); /* leaves it empty */
/* Puts copies of both; replaces an earlier value. */
void kvs_put(struct kvs *k, const char *key, const char *value);
const char *kvs_get(const struct kvs *k, const char *key); /* NULL: not there */

/* Appends a pair in the form for messages between hosts: key, zero, value, zero. */
void kvs_pack(struct buffer *to, const char *key, const char *value);
/* Puts all pairs of such bytes. -1: damaged; earlier pairs stay. */
int kvs_put_packed(struct kvs *k, const uint8_t *p, size_t n);
