/* SPDX-License-Identifier: BSD-3-Clause */
/* place-sources.c - the registry of sources, in the order in which they are asked */
#include "containment/place/place.h"

const struct cgroup_source *const cgroup_sources[] = {
    &cgroup_source_daemon,
    &cgroup_source_own,
    NULL,
};
