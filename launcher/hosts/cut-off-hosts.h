/* SPDX-License-Identifier: BSD-3-Clause */
/* cut-off-hosts.h - hosts that get no answer of the host above connect to mprun itself */
#pragma once

#include "launcher/hosts/host-table.h"

/* A host has opened l. False: it is not cut off, and l is not taken. */
bool cut_off_host_arrived(struct host *h, struct link *l);
/* Tells all of them that the step ends, as host_table says. */
void cut_off_hosts_end(struct host_table *t);
