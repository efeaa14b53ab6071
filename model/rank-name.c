/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-name.c - the short form of a rank's name that people read */
#include "model/rank-name.h"

#include <inttypes.h>
#include <stdio.h>

const char *rank_name_format(struct rank_name r, char *buf)
{
    if (r.incarnation)
        snprintf(buf, RANK_NAME_TEXT, "%" PRIu32 ".%" PRIu32 ".%" PRIu32, r.world, r.rank,
                 r.incarnation);
    else if (r.world)
        snprintf(buf, RANK_NAME_TEXT, "%" PRIu32 ".%" PRIu32, r.world, r.rank);
    else
        snprintf(buf, RANK_NAME_TEXT, "%" PRIu32, r.rank);
    return buf;
}
