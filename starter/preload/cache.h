/* SPDX-License-Identifier: BSD-3-Clause */
/* cache.h - contents of files that were brought to this host, kept for later steps
 *
 * The cache is a directory that only its user may enter, with one file per content, named by its
 * hash. Several steps use it at the same time without locks: a file has a temporary name until it
 * is whole, and a step keeps a content that it has open even if the file is removed. Before a step
 * uses a content from the cache it computes the hash again. So whatever a crash, a full disk or a
 * user leaves there does no harm. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "wire/preload-content.h"

struct cache;
struct cache_file; /* a content that is being written */

/* Makes the directory, which must be the user's own and closed to others. limit: bytes that it may
 * keep. NULL with err. */
struct cache *cache_open(const char *path, uint64_t limit, struct error *err);
void cache_close(struct cache *c); /* NULL is fine */

/* Opens the file with this content, and marks it as used now. Returns a descriptor; -1: none. */
int cache_find(struct cache *c, const struct content *what);

/* Begins to write a content. If there is no room, removes contents whose last use is longest ago.
 * NULL with err. */
struct cache_file *cache_create(struct cache *c, const struct content *what, struct error *err);
int cache_write(struct cache_file *f, const void *p, size_t n, struct error *err);
/* The content is whole: keeps it, and frees f in any case. Returns a descriptor, or -1 with err
 * (EBADMSG: the hash differs). */
int cache_finish(struct cache_file *f, struct error *err);
void cache_drop(struct cache_file *f); /* NULL is fine */

/* Removes contents, the longest unused first, until `room` bytes are free below the limit. */
void cache_trim(struct cache *c, uint64_t room);
/* Removes everything. */
void cache_empty(struct cache *c);
