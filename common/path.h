/* SPDX-License-Identifier: BSD-3-Clause */
/* path.h - directories of our own in places that others can write, made and removed safely */
#ifndef COMMON_PATH_H
#define COMMON_PATH_H

#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"

/* Make a new directory `path` of mode 0700 (never one that exists) and open it.
 * Its descriptor, or -1. Symbolic links are not followed in the last component. */
int path_make_private(const char *path, struct error *err);
/* mkdir -p of a directory that only its user may enter: each missing part 0700; the last one, if it
 * exists, must be ours and closed to others. Its descriptor, or -1. */
int path_ensure_private(const char *path, struct error *err);
/* Remove everything below and at `path`, never following a symbolic link, never crossing into
 * another file system, and only what belongs to the calling user or lies in a directory that does.
 * A path that is not there is success. 0, or -1 with the first thing that could not go. */
int path_remove_tree(const char *path, struct error *err);
/* Is a name that came from elsewhere one of something beneath: relative, each part a real name? */
int path_is_beneath(const char *name);
/* Make what is missing of the directories in front of the last part of `name`, beneath the open
 * directory dir and following no link. A descriptor of the last of them, and the last part. */
int path_make_beneath(int dir, const char *name, const char **ret_last, struct error *err);
/* The directory of this executable (from /proc/self/exe); caller frees. NULL with err. */
char *path_own_directory(struct error *err);
/* Find an executable among "own directory"-relative candidates, first hit; caller frees. */
char *path_find_helper(const char *const relative[], const char *fallback, struct error *err);

#endif
