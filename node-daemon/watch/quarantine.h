/* SPDX-License-Identifier: BSD-3-Clause */
/* quarantine.h - jobs that did not ask for their cgroup are found, and put into it
 *
 * Where a manager's processes are not born contained (mprun-shepherd) this is how they come into
 * their job's cgroup; where they are it looks after that. What tells where to look is never what
 * proves: names, events and numbers only say which process is to be looked at. */
#pragma once

#include "node-daemon/front/requests.h"

struct quarantine;

/* As r->conf says; r and what it names must outlive it, and conf must not change meanwhile. A way
 * of hearing that cannot be had is logged, and the others are used. Looks at everything there is
 * soon after. NULL with err. */
struct quarantine *quarantine_create(struct loop *l, struct requests *r, struct error *err);
void quarantine_destroy(struct quarantine *q); /* NULL is fine */
