/* SPDX-License-Identifier: BSD-3-Clause */
/* conf.h - mprund.conf(5) */
#ifndef NODE_DAEMON_CONF_H
#define NODE_DAEMON_CONF_H

#include <sys/types.h>

#include "common/error.h"

enum conf_systemd { SYSTEMD_AUTO, SYSTEMD_YES, SYSTEMD_NO };

struct conf {
    char *cgroup;              /* below this cgroup jobs get theirs: a path in each hierarchy */
    enum conf_systemd systemd; /* let systemd make a scope for the jobs in cgroup v2 */
    unsigned controllers;      /* bit per enum cgroup_controller that jobs are to have */
    long max_connections, user_connections;
    long user_rate;            /* requests a second */
    long max_descendants;      /* cgroups below a job's delegated part */
    double stuck_after, retry; /* seconds */
    char *ge_spool;            /* the execd's spool directory on this host; NULL: no Grid Engine */
    uid_t ge_admin;            /* who owns it, if not root */
    char *ge_shepherd;         /* what mprun-shepherd becomes */
    int ge_shepherd_needs_mprund; /* a task fails where its cgroup cannot be made */
};

#define CONF_PATH     SYSCONFDIR "/mprund.conf"
#define CONF_SHEPHERD "/usr/lib/gridengine/sge_shepherd"

/* Read a file, which must be root's (or the caller's) and writable to nobody else. A file that is
 * not there gives the defaults where `required` is 0. 0, or -1 with every field freed. */
int conf_read(const char *path, int required, struct conf *ret, struct error *err);
void conf_free(struct conf *c);

#endif
