/* SPDX-License-Identifier: BSD-3-Clause */
/* quarantine.h - jobs that did not ask for their cgroup are found, and put into it
 *
 * Where a manager's processes are not born contained (mprun-shepherd) this is how they come into
 * their job's cgroup; where they are it looks after that. What tells where to look is never what
 * proves: names, events and numbers only say which process is to be looked at. */
#pragma once

#include "common/loop.h"
#include "node-daemon/conf/conf.h"
#include "node-daemon/lib/start.h"

struct quarantine;

/* As c says; c and s must outlive it, and c must not change meanwhile. The link to front in s is
 * this one's from here on. A way of hearing that cannot be had is logged, and the others are used.
 * Looks at everything there is as soon as there is a link to front. NULL with err. */
struct quarantine *quarantine_create(struct loop *l, struct start *s, const struct conf *c,
                                     struct error *err);
void quarantine_destroy(struct quarantine *q); /* NULL is fine */
/* If there is another link to front in s, use it. */
void quarantine_renew(struct quarantine *q);
