/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi1-connect.h - a rank's connection to mppmi for PMI-1 */
#pragma once

#include <sys/un.h>

#include "model/rank-name.h"

/* Connect to mppmi's socket and tell it which rank has this connection. A descriptor, or -1 with
 * errno; ECONNREFUSED: mppmi is about to end. */
int pmi1_connect(const struct sockaddr_un *server, struct rank_name rank);
