/* SPDX-License-Identifier: BSD-3-Clause */
/* marks.h - the mode of a job's directory, by which a daemon that starts again knows the job
 *
 * All of them let everybody read: the bits that differ are the owner's, who is root. */
#pragma once

#include <sys/stat.h>

#include "node-daemon/lib/mover-protocol.h"

static inline mode_t mark_mode(enum mover_mark mark)
{
    static const mode_t modes[] = {[MARK_OTHER] = 0355,
                                   [MARK_WHOLE] = 0755,
                                   [MARK_BOUND] = 0655,
                                   [MARK_AWAITED] = 0555,
                                   [MARK_ENDED] = 0455};
    return (unsigned)mark < sizeof(modes) / sizeof(modes[0]) ? modes[mark] : modes[MARK_OTHER];
}

static inline enum mover_mark mark_of_mode(mode_t mode)
{
    for (unsigned mark = MARK_WHOLE; mark <= MARK_ENDED; mark++)
        if ((mode & 0777) == mark_mode(mark))
            return mark;
    return MARK_OTHER;
}
