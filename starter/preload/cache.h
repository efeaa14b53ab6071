/* SPDX-License-Identifier: BSD-3-Clause */
/* cache.h - contents of files that were brought to this host, kept for later steps
 *
 * A directory that only its user may enter holds a file per content, named by its hash. Several
 * steps use it at the same time without locks: a file has a name of its own until it is whole, and
 * a step keeps a content that it has open even if the file is removed. A content that is found
 * counts only after its hash was computed again: whatever a crash, a full disk or a user has left
 * there does no harm. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "wire/preload-content.h"

struct cache;
struct cache_file; /* a content that is being written */

/* Make the directory, which must be the user's own and closed to others. limit: bytes that it may
 * keep. NULL with err. */
struct cache *cache_open(const char *path, uint64_t limit, struct error *err);
void cache_close(struct cache *c); /* NULL is fine */

/* Open the file with this content, which counts as used now. A descriptor; -1: there is none. */
int cache_find(struct cache *c, const struct content *what);

/* Begin to write a content. Removes those that were not used for longest where room is needed. NULL
 * with err. */
struct cache_file *cache_create(struct cache *c, const struct content *what, struct error *err);
int cache_write(struct cache_file *f, const void *p, size_t n, struct error *err);
/* The content is whole: keep it, and free f in any case. A descriptor, or -1 with err (EBADMSG: the
 * hash is another). */
int cache_finish(struct cache_file *f, struct error *err);
void cache_drop(struct cache_file *f); /* NULL is fine */

/* Remove contents that were not used for longest, until `room` bytes are free below the limit. */
void cache_trim(struct cache *c, uint64_t room);
/* Remove everything. */
void cache_empty(struct cache *c);
