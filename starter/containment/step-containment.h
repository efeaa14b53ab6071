/* SPDX-License-Identifier: BSD-3-Clause */
/* step-containment.h - the strongest containment that this host can give the step, or why it cannot
 * give what was asked for
 *
 * The node daemon is asked first (containment_ask()): it moves this process into the cgroup of its
 * job, which may have less of the host than the process had before. Nothing else should be found
 * out of the host until it has answered. */
#pragma once

#include <stdbool.h>

#include "common/error.h"
#include "common/loop.h"
#include "model/step.h"

struct cgroup_tree;
struct idset;
struct step_containment;

struct step_containment *containment_create(struct loop *loop); /* NULL: no memory */
/* Removes no cgroup. NULL is fine. */
void containment_destroy(struct step_containment *c);

/* Ask the node daemon. answered is called once, perhaps at once. The functions below do not wait
 * for the answer; they use it if it is there. */
void containment_ask(struct step_containment *c, void (*answered)(void *arg), void *arg);
bool containment_is_asking(const struct step_containment *c);

/* Make the step's cgroup, set the host's limits: 0, or -1 with err, and the step must not run here.
 * host: index among the step's hosts, several of which may share a machine. cpus: hardware threads
 * that ranks may use. self: the starter's own processes. step and cpus must live as long as c. */
int containment_begin(struct step_containment *c, const struct step *step, uint32_t host,
                      const struct idset *cpus, const pid_t *self, size_t nself, struct error *err);
/* Find out what containment_begin() would most likely reach, without making anything: the level,
 * and as reason where cgroups could be made, or why not. */
void containment_probe(struct step_containment *c, const pid_t *self, size_t nself);
/* Remove the step's cgroups. 0, or -1 with err: some cannot go yet, try again. */
int containment_remove(struct step_containment *c, struct error *err);

bool containment_is_ready(const struct step_containment *c); /* containment_begin() is done */
enum tracking containment_level(const struct step_containment *c);
/* Why the level is not stronger; "" at TRACK_RANK. */
const char *containment_reason(const struct step_containment *c);
/* NULL at TRACK_RM and TRACK_TREE, and once the cgroups are removed. */
struct cgroup_tree *containment_tree(const struct step_containment *c);
/* The step's limits with what holds each of them. */
const struct limits *containment_rank_limits(const struct step_containment *c);
const struct limits *containment_host_limits(const struct step_containment *c);
/* The job's own GPUs on this host, "0,1"; "": none, or nobody says so. */
const char *containment_gpus(const struct step_containment *c);
