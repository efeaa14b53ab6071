/* SPDX-License-Identifier: BSD-3-Clause */
/* rights.h - what a process of mprund's may do, laid down before its program begins */
#pragma once

#include "node-daemon/lib/start.h"

/* In a child: become what the role is to be. Only the mover stays root, with few capabilities;
 * watch keeps two; the others none. None gets more by what it executes, or leaves a core file. 0,
 * or -1 with errno. */
int rights_take(enum role role, const struct plan *plan);
/* The supervisor itself: no more than it and its children need. 0, or -1 with errno. */
int rights_of_supervisor(void);
