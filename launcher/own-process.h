/* SPDX-License-Identifier: BSD-3-Clause */
/* own-process.h - mprun's own process: what it has from the user's shell and passes on to ranks and
 * start clients, and whether signals end it */
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

/* INT, TERM, HUP and QUIT end mprun at once, as any program: around work that may take long, or
 * wait, and that leaves nothing to clean up. */
void signal_mask_open(void);
/* They wait for the loop again. */
void signal_mask_close(void);
