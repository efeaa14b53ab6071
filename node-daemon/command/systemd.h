/* SPDX-License-Identifier: BSD-3-Clause */
/* systemd.h - a place for jobs that systemd leaves alone */
#pragma once

#include "node-daemon/conf/conf.h"

#define SYSTEMD_SCOPE_CGROUP "/system.slice/mprund-jobs.scope"

/* Is this host to have the jobs of cgroup v2 in a scope of systemd's? By default where it runs
 * systemd and cgroup v2 is mounted. */
int systemd_is_wanted(const struct conf *c);
/* The name in cgroup v2 of a delegated scope that exists whether the daemon does or not: made where
 * it is missing, with a process that does nothing but keep it. Waits for systemd. 0, or -1 with
 * err. */
int systemd_scope(const char **ret_cgroup, struct error *err);
/* That process (`mprund hold`) says that it is there, and waits for ever. */
int systemd_hold(void);
