/* SPDX-License-Identifier: BSD-3-Clause */
/* identity.h - a process that is to be moved: which one it is, from the kernel alone
 *
 * A number means a process only while that lives. /proc/PID, once it is open, stays that of this
 * process: it reads as nothing when the process has ended, whoever has its number then. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"

struct identity {
    pid_t pid;
    uid_t uid;      /* effective: of a connection, when it connected */
    uid_t real_uid; /* of a connection: the same */
    int proc;       /* its /proc/PID */
};

/* The process that connected. 0 with *ret, or -1 with err: it has ended, or cannot be told from a
 * later one of its number. */
int identity_of_socket(int socket, struct identity *ret, struct error *err);
/* The process whose /proc/PID this is; the caller keeps dir. 0, or -1 with err. */
int identity_of_directory(int dir, struct identity *ret, struct error *err);
void identity_close(struct identity *i);
