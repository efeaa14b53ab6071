/* SPDX-License-Identifier: BSD-3-Clause */
/* limits.c - the words for what holds a limit */
#include "model/limits.h"

const char *limit_holder_text(enum limit_holder h)
{
    switch (h) {
    case HELD_BY_NONE:
        return "none";
    case HELD_BY_SAMPLED:
        return "sampled";
    case HELD_BY_RLIMIT:
        return "rlimit";
    case HELD_BY_CGROUP:
        return "cgroup";
    }
    return "unknown"; /* from a peer of another version */
}
