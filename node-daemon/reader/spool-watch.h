/* SPDX-License-Identifier: BSD-3-Clause */
/* spool-watch.h - watches by inotify what an execd of Grid Engine writes about its tasks */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/loop.h"
#include "node-daemon/conf/conf.h"

enum { SPOOL_NAME_MAX = 80 }; /* of ge_is_job, ge_is_task and the files that matter */

struct spool_event {
    int wd;
    uint32_t mask;
    char name[SPOOL_NAME_MAX]; /* "": none, or one that is too long to be of ours */
};
/* The next of the n bytes that inotify gave, from *at on, which is moved behind it. 1, or 0: there
 * is none, or it is cut off. Pure. */
int spool_event_next(const char *buf, size_t n, size_t *at, struct spool_event *ret);

struct spool_watch;
struct spool_watch_calls {
    /* A process of the task's has been noted in its directory. task "": the job script's. */
    void (*task)(void *arg, const char *job, const char *task);
    void (*gone)(void *arg, const char *job); /* its directory was removed */
    void (*lost)(void *arg); /* events were lost, or all directories are new: look at everything */
};
/* conf must outlive it. The directories need not be there yet. NULL with err. */
struct spool_watch *spool_watch_create(struct loop *l, const struct conf *conf,
                                       const struct spool_watch_calls *calls, void *arg,
                                       struct error *err);
void spool_watch_destroy(struct spool_watch *w); /* NULL is fine; not from a call */
