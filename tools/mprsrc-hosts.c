/* SPDX-License-Identifier: BSD-3-Clause */
/* mprsrc-hosts.c - where a job runs, when `qstat -j` does not say
 *
 * In this order: the document itself; inside the job the file that its execd wrote, or its only
 * host; `qstat -g t`. --pe-hostfile comes before all of them. */
#include <errno.h>
#include <stdlib.h>

#include "tools/mprsrc.h"

#include "common/number.h"

bool mprsrc_is_own_job(uint32_t job, uint32_t *ret_task)
{
    const char *id = getenv("JOB_ID"), *task = getenv("SGE_TASK_ID");
    int64_t number;
    if (!id || number_parse(id, NULL, 1, UINT32_MAX, &number, NULL) < 0 || (uint32_t)number != job)
        return false;
    *ret_task = 1;
    if (task && number_parse(task, NULL, 1, UINT32_MAX, &number, NULL) == 0)
        *ret_task = (uint32_t)number;
    return true;
}

/* Instead of those that are there. */
static int from_file(const char *path, struct gridengine_job *job, struct error *err)
{
    struct hostlist hosts = {.known = NULL};
    if (hostfile_read(path, &hosts, err) < 0) {
        hostlist_free(&hosts);
        return MPRSRC_NO_HOST;
    }
    hostlist_free(&job->hosts);
    job->hosts = hosts;
    return MPRSRC_OK;
}

/* A job without a parallel environment has one slot, here. */
static int from_own_host(struct gridengine_job *job, struct error *err)
{
    const char *name = getenv("HOSTNAME");
    if (!name || hostlist_add_slots(&job->hosts, name, 1, "HOSTNAME", err) == 0)
        return MPRSRC_OK;
    error_context(err, "HOSTNAME of the job's environment");
    return MPRSRC_NO_HOST;
}

static int from_environment(struct gridengine_job *job, struct error *err)
{
    uint32_t task;
    const char *file = getenv("PE_HOSTFILE");
    if (!mprsrc_is_own_job(job->id, &task) || task != job->task)
        return MPRSRC_OK;
    if (!job->pe[0])
        return from_own_host(job, err);
    return file ? from_file(file, job, err) : MPRSRC_OK;
}

static int from_qstat(const struct mprsrc_options *o, struct gridengine_job *job, struct error *err)
{
    const char *owner = job->owner[0] ? job->owner : "*";
    const char *const words[] = {"qstat", "-xml", "-g", "t", "-r", "-u", owner, NULL};
    struct buffer text = {.data = NULL};
    if (job->owner[0] == '-') {
        error_set(err, EBADMSG, "the owner of job %u is '%.60s', which is no user", job->id,
                  job->owner);
        return MPRSRC_DAMAGED;
    }
    if (mprsrc_qstat(o, words, &text, err) < 0)
        return MPRSRC_QSTAT;
    int rc = gridengine_tasks_parse((const char *)buffer_ptr(&text), buffer_len(&text), job->id,
                                    job->task, &job->hosts, err);
    buffer_free(&text);
    if (rc < 0)
        error_context(err, "read 'qstat -xml -g t'");
    return rc < 0 ? MPRSRC_DAMAGED : MPRSRC_OK;
}

int mprsrc_find_hosts(const struct mprsrc_options *o, struct gridengine_job *job, struct error *err)
{
    if (o->pe_hostfile)
        return from_file(o->pe_hostfile, job, err);
    if (job->hosts.allocation.nhosts > 0)
        return MPRSRC_OK;
    int code = from_environment(job, err);
    if (code == MPRSRC_OK && job->hosts.allocation.nhosts == 0 && o->job)
        code = from_qstat(o, job, err);
    if (code != MPRSRC_OK || job->hosts.allocation.nhosts > 0)
        return code;
    error_set(err, ENOENT, "job %u.%u: its hosts are not known: %s", job->id, job->task,
              o->job ? "it does not run"
                     : "this qstat names none; ask with -j, or give --pe-hostfile");
    return MPRSRC_NO_HOST;
}
