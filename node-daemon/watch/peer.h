/* SPDX-License-Identifier: BSD-3-Clause */
/* peer.h - who is at the other end of a connection, from the kernel alone */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"

struct peer {
    pid_t pid; /* a number that means this process only while peer_is_alive() */
    uid_t uid; /* effective, when it connected */
    int pidfd; /* holds the process itself; -1: the kernel has none (before 5.3) */
    unsigned long long starttime; /* with pid, its identity where there is no pidfd */
    gid_t *groups;                /* supplementary groups when it connected */
    size_t ngroups;
};

/* 0, or -1: the process has ended, or cannot be told from a later one of its number. */
int peer_read(int socket, struct peer *ret, struct error *err);
void peer_free(struct peer *p);
/* Is it still the process that connected? What was read by its number before this is then its. */
int peer_is_alive(const struct peer *p);
int peer_has_group(const struct peer *p, gid_t group);
