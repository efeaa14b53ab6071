/* SPDX-License-Identifier: BSD-3-Clause */
/* step-containment.h - the strongest containment that this host can give the step, or why it cannot
 * give what was asked for
 *
 * The node daemon is asked first (containment_ask()): it moves this process into the cgroup of its
 * job, which may have less of the host than the process had before. Nothing else should be found
 * out of the host until it has answered. */
#pragma once

#include <stdbool.h>

#include "common/loop.h"
#include "containment/job-cgroup/oom-kills.h"
#include "containment/mprund-protocol.h"
#include "model/step.h"

struct cgroup_tree;
struct gpu_shares;
struct idset;
struct systemd_scope;

struct step_containment { /* begins as all zero but for loop; others only read the first part */
    struct loop *loop;
    bool is_asking; /* the node daemon */
    bool is_ready;  /* containment_begin() is done */
    enum tracking level;
    char reason[512];         /* why not stronger; "" at TRACK_RANK */
    struct cgroup_tree *tree; /* NULL at TRACK_RM and TRACK_TREE, and once it is removed */
    struct limits rank_limits, host_limits; /* the step's (the lowest of programs that have their
                                               own), with what holds each of them */
    struct grant_answer answer;             /* the node daemon's; all zero: none */
    enum devices_held devices;              /* rank-devices.c */
    char why_no_devices[300];               /* why not DEVICES_OF_RANK where ranks have GPUs of
                                               their own; "". rank-devices.c */
    double devices_again;       /* loop_now() from which on mprund may be asked; rank-devices.c */
    struct error why_not_asked; /* until then: why it could not hold a rank. rank-devices.c */
    struct oom_kills oom_kills; /* since containment_begin() */
    /* private to step-containment.c */
    bool has_answer;
    struct error why_no_answer;
    struct systemd_scope *scope; /* that systemd is asked for */
    bool has_scope;
    struct error why_no_scope;
    void (*answered)(void *arg);
    void *arg;
    const struct step *step;  /* NULL: only asked what could be had */
    const struct idset *cpus; /* hardware threads that the step has on this host */
    char id[64];              /* of the step on this host: hosts may share a machine */
};

/* Ask the node daemon. answered is called once, perhaps at once. The functions below do not wait
 * for the answer; they use it if it is there. */
void containment_ask(struct step_containment *c, void (*answered)(void *arg), void *arg);

/* The node daemon does not answer: a sentence that says it; or "". */
const char *containment_mprund_is_silent(const struct step_containment *c);

/* Where neither the node daemon nor the processes' own cgroup is a place for the step's, ask the
 * systemd instance of the user, or as root of the system, for one. ready is called once, perhaps at
 * once: containment_begin() is next. host: index among the step's hosts, several of which may share
 * a machine. self: SYSTEMD_SCOPE_PIDS processes, the starter's own. step must live as long as c. */
void containment_find_place(struct step_containment *c, const struct step *step, uint32_t host,
                            const pid_t *self, void (*ready)(void *arg), void *arg);
/* Nothing is waited for any more. */
void containment_stop(struct step_containment *c);

/* Make the step's cgroup, set the host's limits: 0, or -1 with err, and the step must not run here.
 * cpus: hardware threads that ranks may use; they must live as long as c. gpus: what is dealt to
 * ranks. self: the starter's own processes. */
int containment_begin(struct step_containment *c, const struct idset *cpus,
                      const struct gpu_shares *gpus, const pid_t *self, size_t nself,
                      struct error *err);
/* Find out what containment_begin() would most likely reach, without making anything: the level,
 * and as reason where cgroups could be made, or why not. */
void containment_probe(struct step_containment *c, const pid_t *self, size_t nself);
/* Remove the step's cgroups. 0, or -1 with err: some cannot go yet, try again. */
int containment_remove(struct step_containment *c, struct error *err);
