/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.h - one mprund on a host */
#pragma once

#include <stdbool.h>

#include "common/error.h"

/* The directory of a socket, where only root may put anything: is it fit, or, with `make`, made if
 * it is not there? 0, or -1 with err. */
int lock_directory(const char *path, bool make, struct error *err);

/* Take the lock beside the socket at path (GRANT_LOCK), whose directory is made (0755) where it is
 * missing, and must be root's alone. *fd: the one that is held, which stays if its file is still
 * there, or -1; then the new one. 0, or -1 with err, and *fd stays; EADDRINUSE: another mprund has
 * it. */
int lock_take(const char *path, int *fd, struct error *err);
