/* SPDX-License-Identifier: BSD-3-Clause */
/* path.h - mprun's own directories in places that others can write, made and removed safely */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"

/* Make a new directory `path` of mode 0700 and open it: its descriptor, or -1 with err (EEXIST: it
 * was there). Symbolic links are not followed in the last component. */
int path_make_private(const char *path, struct error *err);
/* Make a directory that only its user may enter, and what is missing above it, with mode 0700. If
 * it exists, it must be this user's and closed to others. Its descriptor, or -1 with err. */
int path_ensure_private(const char *path, struct error *err);
/* Remove everything below and at `path`, never following a symbolic link, never crossing into
 * another file system, and only what belongs to the calling user or lies in a directory that does.
 * A path that is not there is success. 0, or -1 with an err that names the first that stayed. */
int path_remove_tree(const char *path, struct error *err);
/* 1: this name, which came from elsewhere, stays beneath any directory: it is relative, and each
 * part is a real name. */
bool path_is_beneath(const char *name);
/* Make the missing directories in front of the last part of `name`, beneath the open directory dir,
 * following no link. A descriptor of the last of them and *ret_last, in `name`; or -1 with err. */
int path_make_beneath(int dir, const char *name, const char **ret_last, struct error *err);
/* This process is that program from now on, for the functions below. Keeps path. */
void path_stand_for(const char *path);
/* The directory of this executable (from /proc/self/exe); the caller frees it. NULL with err. */
char *path_own_directory(struct error *err);
/* The first executable among `relative` (NULL-terminated, from this executable's directory on),
 * else fallback; the caller frees it. NULL with err. */
char *path_find_helper(const char *const relative[], const char *fallback, struct error *err);
