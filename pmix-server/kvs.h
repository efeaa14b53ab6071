/* SPDX-License-Identifier: BSD-3-Clause */
/* kvs.h - the key-value space of a PMI-1 world: what local ranks put, and what came from other
 * hosts */
#ifndef PMIX_SERVER_KVS_H
#define PMIX_SERVER_KVS_H

#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"

struct kvs;

struct kvs *kvs_create(void);    /* NULL: out of memory */
void kvs_destroy(struct kvs *k); /* NULL is fine */
/* Copies both; replaces a value that is there. -1: out of memory. */
int kvs_put(struct kvs *k, const char *key, const char *value);
const char *kvs_get(const struct kvs *k, const char *key); /* NULL: not there */

/* Pairs on the way between hosts: key, zero, value, zero, and so on. */
int kvs_pack(struct buffer *to, const char *key, const char *value); /* -1: out of memory */
/* Put all pairs of such bytes. -1 when they are damaged, or memory is out; what came before is in.
 */
int kvs_put_packed(struct kvs *k, const uint8_t *p, size_t n);

#endif
