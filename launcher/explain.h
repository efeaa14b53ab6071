/* SPDX-License-Identifier: BSD-3-Clause */
/* explain.h - --dry-run and --explain: what was found, what would be done, and why */
#pragma once

#include "launcher/hosts/host-table.h"

struct starters;

/* --dry-run: what was granted, and the plan. */
void explain_plan(const struct host_table *hosts);
/* --display allocation: the hosts with their slots and ranks. */
void explain_hosts(const struct host_table *hosts);
/* --explain: also what a starter on each host that has ranks has found there. */
void explain_found(const struct host_table *hosts, const struct step_record *record,
                   const struct starters *starters);
