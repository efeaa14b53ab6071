/* SPDX-License-Identifier: BSD-3-Clause */
/* ge-spool.h - the directory in which an execd of Grid Engine keeps what it knows of its tasks:
 * SPOOL/active_jobs/JOB.TASK[/N.HOST]/
 *
 * Everything is opened beneath the spool directory, part by part, without following a link, and
 * must belong to the manager's administrator (or root) and be writable to nobody else: in a task's
 * directory there are also files of the user's. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "containment/mprund-protocol.h"
#include "node-daemon/conf/conf.h"
#include "node-daemon/reader/ge-config.h"

/* A descriptor of active_jobs, of a job's directory there, or of a task's of it ("": the job
 * script's, which is the job's own); -1 with errno, EPERM: somebody else could have written it. */
int ge_spool_active_jobs(const struct conf *c);
int ge_spool_task(const struct conf *c, const char *job, const char *task);
/* The execd itself, by its file of the spool directory; -1: it does not run, or cannot be told. */
pid_t ge_spool_execd(const struct conf *c);
/* The config in an open directory of a task. 0, or -1 with err. */
int ge_spool_config(const struct conf *c, int dir, struct ge_config *ret, struct error *err);
/* The number of its shepherd, from that directory; -1: not there yet, or not to be trusted. */
pid_t ge_spool_pid(const struct conf *c, int dir);
/* The supplementary group that the shepherd gave to the task's processes and wrote down before
 * there were any: add_grp_id of a config may be a line of the user's. 0: as above. */
gid_t ge_spool_group(const struct conf *c, int dir);
/* A small file of the execd's in an open directory of a task, NUL-terminated; caller frees. NULL
 * with errno, EFBIG: more than 1 MiB. */
char *ge_spool_text(const struct conf *c, int dir, const char *name);
/* Call fn for each directory in `dir` whose name fits (ge_is_job, ge_is_task), opened, until it
 * returns non-0: 1 then, else 0. At most 4096 entries are looked at. */
int ge_spool_each(const struct conf *c, int dir, int (*fits)(const char *name),
                  int (*fn)(void *arg, int fd, const char *name), void *arg);

/* ---- ge-grant.c: the grant that a slave task came with --------------------------------------- */

/* The value of the first line of a task's `environment` that is a grant's. The execd writes lines
 * NAME=VALUE, of which the user may choose any, so it is worth nothing before the signer has
 * checked it; of one that is too long it is a part. 0, or -1: there is none. Pure. */
int ge_grant_find(const char *environment, char ret[GRANT_TOKEN_MAX + 1]);

/* ---- ge-hosts.c: hosts on which a job has slots of several queues ---------------------------- */

/* The execd of such a host, where it is not the host of the job's script, knows of one queue's
 * slots only. The pe_hostfile on the script's host has them all, a line for each: "HOST SLOTS QUEUE
 * ...". */

enum { GE_HOST_MAX = 64, GE_SLOTS_MAX = 1000000 };

struct ge_host {
    char name[GE_HOST_MAX];
    uint32_t slots; /* of all its lines */
    uint32_t lines;
};

/* The hosts of a pe_hostfile that have more than one line, *ret_n of them, sorted by name: a
 * malloc'ed array (also of none), or NULL with errno; EINVAL: a line that is none. Pure. */
struct ge_host *ge_hosts_of_several(const char *text, size_t *ret_n);
