/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/containment/rank-devices.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "containment/job-cgroup/parents.h"
#include "containment/step/tree.h"
#include "starter/binding/gpu-shares.h"
#include "starter/containment/step-containment.h"
#include "starter/tunables.h"

/* Can root hold ranks here? mprund knows the files of its GPUs itself. */
static int try_as_root(struct step_containment *c, const struct gpu_shares *gpus, struct error *err)
{
    if (geteuid() != 0)
        return error_set(err, EPERM, "that takes root, or mprund with a table of GPUs");
    if (!gpu_shares_know_files(gpus))
        return error_set(err, ENOENT, "no driver tells which devices belong to which GPU");
    return cgroup_tree_hold_devices(c->tree, err);
}

static int try_ranks(struct step_containment *c, const struct gpu_shares *gpus, struct error *err)
{
    if (!c->tree || c->level != TRACK_RANK)
        return error_set(err, ENOTSUP, "ranks have no cgroups of their own");
    return c->answer.devices_held ? 0 : try_as_root(c, gpus, err);
}

int rank_devices_begin(struct step_containment *c, const struct gpu_shares *gpus, struct error *err)
{
    struct error why = {.text = ""};
    c->devices = c->answer.devices_held ? DEVICES_OF_JOB : DEVICES_OPEN;
    if (gpus->is_asked && try_ranks(c, gpus, &why) == 0)
        c->devices = DEVICES_OF_RANK;
    snprintf(c->why_no_devices, sizeof(c->why_no_devices), "%s", why.text);
    if (c->step->containment.devices && c->devices == DEVICES_OPEN)
        return error_set(err, ENOTSUP,
                         "--containment=...,devices: nothing is known to hold the job to its GPUs "
                         "here%s%s%s: that takes mprund with a table of them (section gpu of "
                         "mprund.conf), or the resource manager, of which mprun cannot tell; leave "
                         "'devices' out",
                         why.text[0] ? " (" : "", why.text, why.text[0] ? ")" : "");
    return 0;
}

int rank_devices_hold(struct step_containment *c, const struct gpu_shares *gpus, uint32_t local,
                      const struct cgroup_leaf *leaf, struct error *err)
{
    char ids[GPU_LIST_MAX] = "", below[GRANT_CGROUP_MAX];
    struct cgroup_device others[CGROUP_DEVICES_MAX];
    if (c->devices != DEVICES_OF_RANK || !gpu_shares_of(gpus, local, ids))
        return 0;
    if (!c->answer.devices_held) {
        size_t n = gpu_shares_others_files(gpus, local, others);
        return cgroup_leaf_hold_devices(leaf, others, n, err);
    }
    if (!cgroup_leaf_below(leaf, c->answer.v2, below, sizeof(below)))
        return error_set(err, ENOENT, "hold it to its GPUs: its cgroup is not in the job's");
    if (loop_now() <
        c->devices_again) { /* the ranks of a host must not wait for mprund one after the other */
        *err = c->why_not_asked;
        return -1;
    }
    if (cgroup_daemon_hold_devices(below, ids, err) == 0)
        return 0;
    c->why_not_asked = *err;
    c->devices_again = loop_now() + DEVICES_AGAIN_SECONDS;
    return -1;
}
