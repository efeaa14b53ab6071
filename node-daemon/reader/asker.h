/* SPDX-License-Identifier: BSD-3-Clause */
/* asker.h - as whom a process connected: number, uid and groups, from the kernel alone
 *
 * All are those of the moment of connect(): a process that execs another program, or hands its
 * socket on, changes nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"

struct asker {
    pid_t pid;
    uid_t uid;     /* effective */
    gid_t *groups; /* supplementary ones */
    size_t ngroups;
};

/* 0 with *ret, which asker_free() frees, or -1 with err. */
int asker_read(int socket, struct asker *ret, struct error *err);
void asker_free(struct asker *a);
/* Is one of its cgroups, as it is now, below one with this in its name, and then with that? */
bool asker_has_cgroup(const struct asker *a, const char *name, const char *below);
bool asker_has_group(const struct asker *a, gid_t group);
