/* SPDX-License-Identifier: BSD-3-Clause */
/* quarantine.h - finds processes of jobs that did not ask for their cgroup, and has them put into
 * it
 *
 * Where a manager's processes are not born contained (mprun-shepherd), quarantine brings them into
 * their job's cgroup; where they are, it checks that they stay there. Names, events and numbers
 * only say which process to look at; they prove nothing. */
#pragma once

#include "common/loop.h"
#include "node-daemon/conf/conf.h"
#include "node-daemon/lib/start.h"

struct quarantine;

/* As c says; c and s must outlive it, and c must not change meanwhile. The link to front in s is
 * this one's from here on. A way of hearing that cannot be had is logged, and the others are used.
 * Looks at everything there is as soon as there is a link to front. */
struct quarantine *quarantine_create(struct loop *l, struct start *s, const struct conf *c);
void quarantine_destroy(struct quarantine *q); /* NULL is fine */
/* If there is another link to front in s, use it. */
void quarantine_renew(struct quarantine *q);
