/* SPDX-License-Identifier: BSD-3-Clause */
/* shell-limits.h - the umask, priority and limits (ulimit) that mprun has from the user's shell,
 * and passes on to ranks and start clients */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

struct inherited {
    mode_t umask;
    int nice;
    struct rlimit limits[RLIM_NLIMITS];
};

/* Reads it, and then gives mprun itself what it needs: umask 077, because its directories and
 * sockets must not depend on the user's, and as many open files as it may have, for a start channel
 * and a link to each host. */
void inherited_replace(struct inherited *ret);
