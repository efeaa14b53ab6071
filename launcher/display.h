/* SPDX-License-Identifier: BSD-3-Clause */
/* display.h - which cores the ranks of a host get, and a picture of them in text */
#pragma once

#include "launcher/hosts/host-table.h"

/* --dry-run with --topology or --display: for each rank of the host its cores, as far as the host's
 * topology is known here. */
void display_host_plan(const struct step_plan *p, const struct host *h);
/* --display: what is to be printed before the ranks start. */
void display_before_start(const struct host_table *hosts);
