/* SPDX-License-Identifier: BSD-3-Clause */
/* step-containment.h - the strongest containment that this host can give the step, or why it cannot
 * give what was asked for
 *
 * containment_ask() asks mprund, the node daemon, first: mprund moves this process into its job's
 * cgroup, which may have less of the host than the process had before. So look at nothing else of
 * the host before mprund has answered. */
#pragma once

#include <stdbool.h>

#include "common/loop.h"
#include "containment/job-cgroup/oom-kills.h"
#include "containment/mprund-protocol.h"
#include "model/step.h"

struct cgroup_tree;
struct gpu_shares;
struct systemd_scope;

struct step_containment { /* all zero but for loop at first; others only read the first part */
    struct loop *loop;
    bool is_asking; /* mprund has not answered yet */
    bool is_ready;  /* containment_begin() is done */
    enum tracking level;
    char reason[512];         /* why not stronger; "" at TRACK_RANK */
    struct cgroup_tree *tree; /* NULL at TRACK_RM and TRACK_TREE, and once it is removed */
    struct limits rank_limits, host_limits; /* the step's (the lowest of programs that have their
                                               own), each with its held_by */
    struct grant_answer answer;             /* mprund's; all zero: none */
    enum devices_held devices;              /* rank-devices.c */
    char why_no_devices[300];               /* why not DEVICES_OF_RANK where ranks have GPUs of
                                               their own; "". rank-devices.c */
    double devices_again;       /* loop_now() from which on mprund may be asked; rank-devices.c */
    struct error why_not_asked; /* why mprund could not hold a rank, until then. rank-devices.c */
    struct oom_kills oom_kills; /* since containment_begin() */
    uint64_t oom_told;          /* TRACK_STEP: kills that have explained a rank's end. rank-oom.c */
    /* private to step-containment.c */
    bool has_answer;
    struct error why_no_answer;
    struct systemd_scope *scope; /* that systemd is asked for */
    struct error why_no_scope;
    void (*answered)(void *arg);
    void *arg;
    const struct step *step;  /* NULL: only a probe */
    const struct idset *cpus; /* hardware threads that the step has on this host */
    char id[64];              /* of the step on this host: hosts may share a machine */
};

/* Asks mprund. Calls answered once, perhaps at once. The functions below do not wait for the
 * answer; they use it if it is there. */
void containment_ask(struct step_containment *c, void (*answered)(void *arg), void *arg);

/* Returns a sentence when mprund does not answer; else "". */
const char *containment_mprund_is_silent(const struct step_containment *c);

/* If neither mprund nor the starter's own cgroup gives a place for the step's cgroups, asks the
 * user's systemd instance (as root: the system's) for one. Calls ready once, perhaps at once: call
 * containment_begin() then. host: index among the step's hosts, several of which may share a
 * machine. self: the starter's SYSTEMD_SCOPE_PIDS processes. step must outlive c. */
void containment_find_place(struct step_containment *c, const struct step *step, uint32_t host,
                            const pid_t *self, void (*ready)(void *arg), void *arg);
/* Stops waiting for systemd. */
void containment_stop(struct step_containment *c);

/* Makes the step's cgroup and sets the host's limits. Returns 0; -1 with err: the step must not run
 * here. cpus: hardware threads that ranks may use; it must outlive c. gpus: the ranks' shares.
 * self: the starter's own processes. */
int containment_begin(struct step_containment *c, const struct idset *cpus,
                      const struct gpu_shares *gpus, const pid_t *self, size_t nself,
                      struct error *err);
/* Finds out what containment_begin() would most likely reach, without making anything. Sets the
 * level, and as reason where cgroups could be made, or why they could not. */
void containment_probe(struct step_containment *c, const pid_t *self, size_t nself);
/* Removes the step's cgroups. Returns 0; -1 with err: some cannot go yet, try again. */
int containment_remove(struct step_containment *c, struct error *err);
