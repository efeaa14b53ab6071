/* SPDX-License-Identifier: BSD-3-Clause */
/* cpuset.c - holds a step's ranks to their hardware threads, whatever affinity they set
 *
 * It uses the cpuset of `ranks`, made only on demand; within it each rank has its own cores by
 * affinity. The cpuset is v2's if the subtree can have that controller, else a v1 hierarchy's. */
#include "containment/step/tree-private.h"

#include <errno.h>
#include <string.h>

#include "common/cleanup.h"

static int hold(struct hierarchy *h, const struct idset *cpus, struct error *err)
{
    AUTO(idset_free) struct idset wanted = {0};
    struct cgroup_at d = hierarchy_ranks(h);
    AUTO_FREE char *text = idset_format(cpus);
    int rc = at_read_cpus(d, &wanted);
    if (rc < 0) {
        error_errno(err, errno, "read which hardware threads it has");
    } else {
        AUTO_FREE char *has = idset_format(&wanted);
        idset_intersect(&wanted, cpus);
        rc = idset_count(&wanted) > 0 ? at_write_cpus(d, &wanted, err)
                                      : error_set(err, ENOTSUP, "it has only %s", has);
    }
    return rc == 0 ? 0
                   : error_context(err, "hold ranks to hardware threads %s by cgroup '%s'", text,
                                   h->ranks);
}

/* The hierarchy in which `ranks` can have a cpuset, made; NULL with err. */
static struct hierarchy *holder(struct cgroup_tree *t, struct error *err)
{
    const unsigned cpuset = CGROUP_BIT(CGROUP_CPUSET);
    if ((t->v2_offers & cpuset) && hierarchy_add_controllers(&t->h[0], cpuset))
        return &t->h[0];
    struct error e;
    struct hierarchy *h = tree_make_v1(t, CGROUP_CPUSET, &e);
    if (!h && e.code == ENOTSUP)
        error_set(err, ENOTSUP, "%s%s%s%s%s", e.text, t->why_no_limits ? " (" : "",
                  t->why_no_limits ? t->why_no_limits : "", t->why_no_limits ? ")" : "",
                  strstr(t->h[0].parent, "/user@")
                      ? ": users' systemd instances do not have it; the administrator can give it "
                        "to them (Delegate=cpu cpuset io memory pids in user@.service)"
                      : "");
    else if (!h && err)
        *err = e;
    return h;
}

int cgroup_tree_hold_cpus(struct cgroup_tree *t, const struct idset *cpus, struct error *err)
{
    struct hierarchy *h = holder(t, err);
    return h ? hold(h, cpus, err) : -1;
}
