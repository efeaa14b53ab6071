/* SPDX-License-Identifier: BSD-3-Clause */
/* named.h - the hosts that the user has named with --host and --hostfile, and which of them are
 * this machine */
#ifndef RM_ADAPTERS_NAMED_H
#define RM_ADAPTERS_NAMED_H

#include "rm-adapters/adapter.h"
#include "rm-adapters/hostlist.h"

/* All of them; with both options, those hosts of the files that --host names. */
int named_read(const struct host_request *request, struct hostlist *ret, struct error *err);
/* What `named` leaves of `from`: its hosts, with all their slots where no number was written or as
 * many as it says. is_not says of a host that is in neither: "not in the host file". */
int named_choose(struct hostlist *from, const struct hostlist *named, const char *is_not,
                 struct error *err);
/* Mark the hosts that are this machine, by its name, the name's first part, "localhost" or an
 * address, and make several such names one host. */
void named_mark_here(struct allocation *a);

#endif
