/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs-nodes.c - the memory nodes of a job that has whole NUMA nodes
 *
 * Its memory is on its own nodes alone where these have room for its limit: a twentieth of them is
 * the kernel's. Else it may use all nodes, as without node_rounding: no rank is to be killed for
 * want of memory on one node while the job's limit has room. The limit is the one that the kernel
 * has, so a job whose limit is changed is looked at again, and a daemon that is started again need
 * not know what was done before. */
#include <errno.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "containment/cgroup/dir.h"
#include "node-daemon/front/jobs/jobs-private.h"

enum { KERNELS_PART = 20 };

/* Bytes of all nodes whose cores have one of these hardware threads, and which these are. */
static uint64_t memory_of(const struct host_cores *h, const struct idset *threads,
                          struct idset *ret_nodes)
{
    uint64_t sum = 0;
    for (size_t c = 0; c < h->n; c++)
        if (idset_intersects(&h->core[c].threads, threads) &&
            !idset_has(ret_nodes, h->core[c].node)) {
            idset_add(ret_nodes, h->core[c].node);
            sum += h->core[c].node_memory;
        }
    return sum;
}

static int give(const struct job *job, const struct idset *nodes, struct error *err)
{
    struct mover_request q = {.uid = 0};
    struct mover_answer a;
    AUTO(idset_free) struct idset has = {0};
    AUTO_FREE char *text = idset_format(nodes);
    if (at_read_memory_nodes(cores_at(job), &has) == 0 && idset_equal(&has, nodes))
        return 0;
    if ((size_t)snprintf(q.text, sizeof(q.text), "%s", text) >= sizeof(q.text))
        return error_errno(err, E2BIG, "name its nodes");
    if (jobs_ask(job->jobs, job, &q, MOVER_MEMS, -1, &a, err) < 0)
        return -1;
    log_note("job %s has memory of NUMA nodes %s", job->name, text);
    return 0;
}

void nodes_hold_memory(const struct job *job)
{
    const struct jobs *j = job->jobs;
    struct grant_answer a = {.memory = GRANT_UNLIMITED};
    AUTO(idset_free) struct idset own = {0}, all = {0};
    struct error e;
    if (!j->conf->node_rounding || job->cores.how == GRANT_CORES_ALL || job->loans)
        return;
    jobs_describe(j, job, &a);
    uint64_t room = memory_of(&j->cores, &job->cores.cpus, &own);
    bool fits = job->cores.how == GRANT_CORES_CHOSEN && a.memory != GRANT_UNLIMITED &&
                a.memory <= room - room / KERNELS_PART;
    int rc = 0;
    if (!fits && at_read_memory_nodes(ground_at(j->ground, (size_t)j->cores_part, "."), &all) < 0)
        rc = error_errno(&e, errno, "read which nodes there are");
    if (rc < 0 || give(job, fits ? &own : &all, &e) < 0)
        log_warn("choose the memory nodes of job %s: %s", job->name, e.text);
}
