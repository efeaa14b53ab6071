/* SPDX-License-Identifier: BSD-3-Clause */
/* ge-hosts.h - hosts on which a job of Grid Engine has slots of several queues
 *
 * The execd of such a host, where it is not the host of the job's script, knows of one queue's
 * slots only. The pe_hostfile on the script's host has them all, a line for each: "HOST SLOTS QUEUE
 * ...". */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { GE_HOST_MAX = 64, GE_SLOTS_MAX = 1000000 };

struct ge_host {
    char name[GE_HOST_MAX];
    uint32_t slots; /* of all its lines */
    uint32_t lines;
};

/* The hosts of a pe_hostfile that have more than one line, *ret_n of them, sorted by name: a
 * malloc'ed array (also of none), or NULL with errno; EINVAL: a line that is none. Pure. */
struct ge_host *ge_hosts_of_several(const char *text, size_t *ret_n);
