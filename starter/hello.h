/* SPDX-License-Identifier: BSD-3-Clause */
/* hello.h - HELLO, the first message to mprun: what this host is */
#pragma once

#include <sys/types.h>

struct idset;
struct step_containment;
struct uplink;

/* allowed: hardware threads that this process may run on. */
void hello_send(struct uplink *up, const char *hostname, pid_t keeper, const struct idset *allowed,
                const struct step_containment *containment);
