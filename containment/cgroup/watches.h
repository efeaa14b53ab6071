/* SPDX-License-Identifier: BSD-3-Clause */
/* watches.h - calls back when v2's event files change, by inotify */
#pragma once

#include "common/loop.h"

struct watches;
typedef void (*watch_fn)(void *arg);

/* NULL: the kernel has no inotify instance left for this user. */
struct watches *watches_create(struct loop *l);
void watches_destroy(struct watches *w); /* NULL is fine; also from inside a watch_fn */
/* Calls fn whenever the file changes; fn may add and remove watches. Returns an id, or -1. */
int watches_add(struct watches *w, const char *path, watch_fn fn, void *arg);
void watches_remove(struct watches *w, int id);
