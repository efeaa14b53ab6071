/* SPDX-License-Identifier: BSD-3-Clause */
/* patience.h - time limits of unit tests on a slow or busy machine */
#pragma once
#include <stdlib.h>

/* SECONDS of a quiet machine as seconds of this one: tests/lib/slow.bash measures how slow it is.
 */
static inline double patience(double seconds)
{
    const char *slow = getenv("MPRUN_TEST_SLOW");
    double factor = slow ? strtod(slow, NULL) : 1;
    return seconds * (factor > 1 ? factor : 1);
}
