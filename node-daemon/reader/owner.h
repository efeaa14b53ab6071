/* SPDX-License-Identifier: BSD-3-Clause */
/* owner.h - whose a job is: the uid of a name that a manager wrote */
#pragma once

#include <sys/types.h>

/* The user of this name, as the host's name services know it, which can take as long as they do.
 * 0, or -1: there is none, or it is root, who owns no job. */
int owner_find(const char *name, uid_t *ret);
