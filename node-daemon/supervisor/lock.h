/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.h - one mprund on a host */
#pragma once

#include "common/error.h"

/* Take the lock beside the socket at path (GRANT_LOCK), whose directory is made (0755) where it is
 * missing, and must be root's alone. *fd: the one that was held before, perhaps of a directory that is
 * gone, or -1; then the new one. 0, or -1 with err; EADDRINUSE: another mprund has it. */
int lock_take(const char *path, int *fd, struct error *err);
