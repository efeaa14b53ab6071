/* SPDX-License-Identifier: BSD-3-Clause */
/* foresee.h - --dry-run: what hosts would say of a start, as far as this machine knows it */
#pragma once

#include "launcher/hosts/host-table.h"
#include "launcher/step/step-record.h"

/* Puts the cores of ranks into the record, where the hosts' topologies are known, and tries whether
 * this machine could start the programs of its ranks; none of their instructions is run. Returns 0,
 * or -1 with err: a start would fail. All the rest is in the record even then. */
int foresee(const struct host_table *hosts, struct step_record *record, struct error *err);
/* The topology of a host, where --dry-run was told it or the host is this machine. NULL with err:
 * code 0 means that only the host itself knows it. */
struct topology *foresee_topology(const struct step_plan *p, const struct host *h,
                                  struct error *err);
