/* SPDX-License-Identifier: BSD-3-Clause */
/* cache.h - contents that were brought to this host, kept for later steps
 *
 * A directory that only its user may enter holds a file per content, named by its hash. Several
 * steps use it at the same time without locks: what is written has a name of its own until it is
 * whole, and who has a content open keeps it, whether it is removed or not. What is found is
 * believed only after its hash was computed again: nobody has to trust what a crash, a full disk
 * or a user has left there. */
#ifndef STARTER_CACHE_H
#define STARTER_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "wire/content.h"

struct cache;
struct cache_file; /* one that is being written */

/* The directory is made, and must be ours and closed to others. limit: bytes that it may keep. */
struct cache *cache_open(const char *path, uint64_t limit, struct error *err);
void cache_close(struct cache *c); /* NULL is fine */
const char *cache_path(const struct cache *c);

/* An open file with this content, which counts as used now; -1: there is none. */
int cache_find(struct cache *c, const struct content *what);

/* Begin a content that is not there. What was not used for longest goes, where room is needed. */
struct cache_file *cache_create(struct cache *c, const struct content *what, struct error *err);
int cache_write(struct cache_file *f, const void *p, size_t n, struct error *err);
/* It is whole: keep it. An open file with it, or -1 (EBADMSG: it is not that content). f is gone in
 * any case. */
int cache_finish(struct cache_file *f, struct error *err);
void cache_drop(struct cache_file *f); /* NULL is fine */

/* Remove what was not used for longest, until all is within the limit, less `room` bytes. */
void cache_trim(struct cache *c, uint64_t room);
/* Remove everything. */
void cache_empty(struct cache *c);

#endif
