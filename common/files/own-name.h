/* SPDX-License-Identifier: BSD-3-Clause */
/* own-name.h - a well-known name in a shared directory, where another user may have taken it */
#pragma once

#include <sys/stat.h>

#include "common/error.h"

/* The name that this user's programs on this host agree on: path, or where that is another user's,
 * path with six letters behind it, which nobody can foresee. type: S_IFREG (the file is made, mode
 * 0600), S_IFDIR (mode 0700). Only path itself is not made. Caller frees; NULL with err. */
char *own_name(const char *path, mode_t type, struct error *err);
