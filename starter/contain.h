/* SPDX-License-Identifier: BSD-3-Clause */
/* contain.h - the strongest containment a host can give a step, or why it cannot give what was
 * asked for */
#ifndef STARTER_CONTAIN_H
#define STARTER_CONTAIN_H

#include "common/error.h"
#include "common/loop.h"
#include "containment/cgroup.h"
#include "containment/grant.h"
#include "model/step.h"

typedef void (*contain_done_fn)(void *arg, const struct error *err);

/* What the node daemon says of the job, once. */
struct contain_asked {
    enum { ASKED_NOT, ASKED_NOW, ASKED_DONE } state;
    int has_answer;
    struct grant_answer answer;
    struct error why; /* there is none */
    void (*fn)(void *arg);
    void *arg;
};

struct contain {
    struct contain_asked asked;
    enum tracking level;
    char reason[512];                       /* why not stronger; "" at TRACK_RANK */
    struct cgroup_tree *tree;               /* NULL at TRACK_RM and TRACK_TREE */
    struct limits rank_limits, host_limits; /* held_by filled in */
    int active;                             /* begun, and not answered yet */
    int done;

    struct loop *loop;
    const struct step *step;  /* NULL: only asked what could be had */
    const struct idset *cpus; /* hardware threads that the step has on this host */
    char id[64];              /* of the step on this host: hosts may share a machine */
    size_t next_source;
    cgroup_place_fn place_fn; /* gets what a source found */
    pid_t self[8];
    size_t nself;
    contain_done_fn fn;
    void *arg;
};

/* Ask the node daemon, before anything else is found out of this host: it moves the caller into the
 * cgroup of its job, which may have less of the host than the caller had. fn is called once,
 * perhaps at once; the others below wait for nothing, and take what it has said. */
void contain_ask(struct contain *c, struct loop *loop, void (*fn)(void *arg), void *arg);
/* GPUs that are the job's own on this host, "0,1"; "": none, or nobody says so. */
const char *contain_gpus(const struct contain *c);

/* host: index among the step's hosts; cpus: hardware threads that it may use here. Find a source,
 * make the step's cgroup, set the host's limits. Answers once through fn, perhaps at once; err: the
 * step must not run here. step and cpus must live as long as c. */
void contain_begin(struct contain *c, struct loop *loop, const struct step *step, uint32_t host,
                   const struct idset *cpus, const pid_t *self, size_t nself, contain_done_fn fn,
                   void *arg);

/* What contain_begin() would most likely reach, without making anything: level, and reason says
 * where cgroups could be made, or why not. Answers like contain_begin(). */
void contain_probe(struct contain *c, struct loop *loop, const pid_t *self, size_t nself,
                   contain_done_fn fn, void *arg);

#endif
