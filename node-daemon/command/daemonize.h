/* SPDX-License-Identifier: BSD-3-Clause */
/* daemonize.h - going into the background */
#pragma once

#include "common/error.h"

/* Go on as a process of a session of its own; the caller's process waits until ready_tell() and
 * exits with 0, or with the exit code of this one when that ends before. *ret is for
 * ready_tell(). 0, or -1. */
int daemonize(int *ret, struct error *err);
