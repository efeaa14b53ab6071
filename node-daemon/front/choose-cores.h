/* SPDX-License-Identifier: BSD-3-Clause */
/* choose-cores.h - which of a host's free cores a job is to have */
#pragma once

#include "node-daemon/front/host-cores.h"

/* n of the free cores: of one NUMA node where one has as many free, and of that one in which the
 * fewest are left over, so that large rooms stay whole for large jobs; else of one package; else of
 * few. Within a node the same again for cores that share a cache. Sets are a byte a core. *ret is
 * filled whether it succeeds or not: -1, fewer than n are free. Pure. */
int choose_cores(const struct host_cores *h, const unsigned char *free, size_t n,
                 unsigned char *ret);
