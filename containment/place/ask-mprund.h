/* SPDX-License-Identifier: BSD-3-Clause */
/* ask-mprund.h - asking mprund for a place, for a caller that needs more of the answer than the
 * place; cgroup_source_daemon is made of the same */
#pragma once

#include "containment/mprund-protocol.h"
#include "containment/place/place.h"

/* answer NULL: there is none, and why says so, without text where there is nothing worth saying */
typedef void (*cgroup_daemon_fn)(void *arg, const struct grant_answer *answer,
                                 const struct error *why);
/* The daemon moves the calling process into its job's cgroup. 0: fn will be called once, soon; -1
 * with err: it will not. */
int cgroup_daemon_ask(struct loop *l, cgroup_daemon_fn fn, void *arg, struct error *err);
/* 0 with *ret, which the caller frees by cgroup_place_free(), or -1 with err: the answer has no
 * place. */
int cgroup_daemon_place(const struct grant_answer *answer, struct cgroup_place *ret,
                        struct error *err);
