/* SPDX-License-Identifier: BSD-3-Clause */
/* pbs.c - a job of OpenPBS, PBS Pro or Torque: its hosts from PBS_NODEFILE, reached by TM
 *
 * The file has a line for each process that the job asked for (mpiprocs, ppn). The number of a
 * line, from 0, is the number of a node in TM, and that of a host is its first line's. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/text/number.h"
#include "rm-adapters/hosts/requested-hosts.h"
#include "rm-adapters/pbs/pbs-private.h"
#include "rm-adapters/pbs/tm-message.h"

static const char *node_file(void)
{
    const char *file = getenv("PBS_NODEFILE");
    return file && file[0] ? file : NULL;
}

static bool pbs_detect(const struct host_request *request, char *reason, size_t n)
{
    struct tm_job job;
    struct error e;
    reason[0] = 0;
    if (!getenv("PBS_JOBID") && !getenv("PBS_JOBCOOKIE"))
        return false;
    if (tm_job_read(&job, &e) < 0) {
        snprintf(reason, n, "%.150s", e.text);
        return false;
    }
    if (!node_file()) {
        snprintf(reason, n, "PBS_NODEFILE is not set as in a job of PBS or Torque");
        return false;
    }
    snprintf(reason, n, "this is job %.80s of %s (PBS_JOBID, PBS_JOBCOOKIE, PBS_NODEFILE)", job.id,
             job.is_torque ? "Torque" : "PBS");
    return true;
}

static int add_line(struct hostlist *l, const char *name, uint32_t line, struct error *err)
{
    bool is_new = !hostlist_find(l, name);
    if (hostlist_add_slots(l, name, 1, "PBS_NODEFILE", err) < 0)
        return error_context(err, "PBS_NODEFILE, line %u", line + 1);
    if (is_new)
        hostlist_find(l, name)->manager_number = line;
    return 0;
}

static int read_lines(struct hostlist *l, uint32_t *ret_lines, struct error *err)
{
    const char *path = node_file();
    uint32_t line = 0;
    size_t n;
    AUTO_FREE char *text = path ? file_slurp_at(AT_FDCWD, path, HOSTFILE_MAX, &n) : NULL;
    if (!path)
        return error_set(err, EINVAL, "PBS_NODEFILE is not set");
    if (!text)
        return error_errno(err, errno, "read PBS_NODEFILE '%s', which the job's first host has",
                           path);
    if (memchr(text, 0, n))
        return error_set(err, EINVAL, "PBS_NODEFILE '%s' is no text: it has a NUL byte", path);
    char *rest = text;
    for (char *name; (name = strsep(&rest, "\n"));) {
        name[strcspn(name, " \t\r")] = 0;
        if (name[0] && add_line(l, name, line++, err) < 0)
            return -1;
    }
    *ret_lines = line;
    return line ? 0 : error_set(err, EINVAL, "PBS_NODEFILE '%s' names no host", path);
}

uint32_t pbs_own_node(uint32_t *ret_nodes)
{
    AUTO(hostlist_free) struct hostlist l = {.stated = 0};
    struct error e;
    const char *text = getenv("PBS_NODENUM");
    int64_t host;
    uint32_t node = 0;
    *ret_nodes = 0;
    if (read_lines(&l, ret_nodes, &e) == 0 && text &&
        number_parse(text, NULL, 0, HOSTLIST_HOSTS_MAX, &host, NULL) == 0 &&
        (size_t)host < l.allocation.nhosts)
        node = l.allocation.hosts[host].manager_number;
    return node;
}

static int pbs_read_allocation(const struct host_request *request, struct allocation *ret,
                               struct error *err)
{
    AUTO(hostlist_free) struct hostlist granted = {.stated = 0};
    struct tm_job job;
    uint32_t lines;
    if (request->argument)
        return error_set(err, EINVAL, "'--rm pbs' takes no ':%.60s'", request->argument);
    if (tm_job_read(&job, err) < 0)
        return error_context(err, "start mprun from a job script or 'qsub -I'");
    if (read_lines(&granted, &lines, err) < 0 ||
        named_cut(request, &granted, getenv("PBS_JOBID"), err) < 0)
        return -1;
    *ret = hostlist_take(&granted);
    snprintf(ret->job_id, sizeof(ret->job_id), "%.60s", job.id);
    snprintf(ret->source, sizeof(ret->source), "PBS_NODEFILE");
    for (size_t i = 0; i < ret->nhosts; i++)
        ret->hosts[i].granted = ret->hosts[i].slots.value;
    named_mark_here(ret);
    return 0;
}

/* TMPDIR is made for each job on each host. */
static const char *const host_env[] = {"TMPDIR", "CUDA_VISIBLE_DEVICES", "NCPUS", NULL};
static const char *const parents[] = {"pbs_mom", NULL};

const struct rm_adapter rm_adapter_pbs = {
    .name = "pbs",
    .detect = pbs_detect,
    .parents = parents,
    .read_allocation = pbs_read_allocation,
    .start = tm_start,
    .cancel = tm_start_cancel,
    .destroy = tm_start_destroy,
    .reported = tm_start_reported,
    .left = tm_start_left,
    .abandon = tm_start_abandon,
    .hand_over = tm_start_hand_over,
    .retry = tm_start_retry,
    .describe = tm_start_describe,
    .client_name = "pbs_mom",
    .host_env = host_env,
    .stdio_channel = STDIO_SHARED,
    .stdio_reason = "pbs_mom gives its tasks no standard input",
    .ends_hosts = "; it may be PBS that did so, at a limit of the job ('qstat -f $PBS_JOBID' shows "
                  "them), or for qdel",
};
