/* SPDX-License-Identifier: BSD-3-Clause */
/* bind.h - a job's limits and cores as root wants them (mpbind) */
#pragma once

#include "node-daemon/conf/conf.h"
#include "node-daemon/front/findings.h"
#include "node-daemon/front/jobs.h"

/* The job that a request of root's names: "23.1", "23" for it, or a site's name. NULL: not here. */
struct job *bind_find(struct jobs *j, const struct grant_request *q);
/* Give it what the request says. What the kernel cannot do, or a job has used already, may be left
 * half done: 0, or -1 with err. GRANT_BIND_TRY: 0, with what is not held in ret_left; else that is
 * "". own: what the manager's own daemon may use here, for GRANT_BIND_UNLIMIT. */
int bind_limits(struct jobs *j, const struct conf *c, const struct limit *own, struct job *job,
                const struct grant_request *q, struct error *ret_left, struct error *err);
/* Describe the job that is to be made: its full name and manager, and uid and limits as far as
 * its manager or the request says; uid 0: nobody does. 1: its manager has written of it here; 0:
 * it has not; -1 with err; BIND_NOT_YET. */
enum { BIND_NOT_YET = 2 };
int bind_describe(struct findings *found, const struct conf *c, const struct grant_request *q,
                  struct evidence *ret, enum grant_manager *ret_manager, struct error *err);
