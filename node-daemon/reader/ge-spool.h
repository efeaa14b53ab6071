/* SPDX-License-Identifier: BSD-3-Clause */
/* ge-spool.h - the directory in which an execd of Grid Engine keeps what it knows of its tasks:
 * SPOOL/active_jobs/JOB.TASK[/N.HOST]/
 *
 * Everything is opened beneath the spool directory, part by part, without following a link, and
 * must belong to the manager's administrator (or root) and be writable to nobody else: in a task's
 * directory there are also files of the user's. */
#pragma once

#include <sys/types.h>

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
