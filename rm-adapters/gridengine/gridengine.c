/* SPDX-License-Identifier: BSD-3-Clause */
/* gridengine.c - a job of Grid Engine: its hosts from PE_HOSTFILE, reached by qrsh -inherit */
#include "rm-adapters/gridengine/gridengine-private.h"
#include "rm-adapters/gridengine/qlogin-session.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/text/number.h"
#include "rm-adapters/processes/start-many.h"
#include "rm-adapters/hosts/requested-hosts.h"

/* ---- the job --------------------------------------------------------------------------------- */

static bool is_number(const char *text)
{
    return text && *text && strspn(text, "0123456789") == strlen(text);
}

/* Has the process the variables that every job has and that qrsh needs? A job that is no array has
 * the word "undefined". */
static bool have_job(char *reason, size_t n)
{
    const char *task = gridengine_variable("SGE_TASK_ID");
    const char *wrong = NULL;
    if (!is_number(gridengine_variable("JOB_ID")))
        wrong = "JOB_ID";
    else if (!is_number(task) && !(task && strcmp(task, "undefined") == 0))
        wrong = "SGE_TASK_ID";
    else if (!gridengine_variable("SGE_ROOT"))
        wrong = "SGE_ROOT";
    if (wrong)
        snprintf(reason, n, "%s is not set as in a job of Grid Engine", wrong);
    return !wrong;
}

/* Variables outlive their job and are copied to other hosts. The job's directory is not. */
static bool job_is_here(char *reason, size_t n)
{
    const char *file = gridengine_variable("PE_HOSTFILE"),
               *spool = gridengine_variable("SGE_JOB_SPOOL_DIR");
    const char *path = file ? file : spool;
    struct stat st;
    if (!path)
        snprintf(reason, n, "neither PE_HOSTFILE nor SGE_JOB_SPOOL_DIR is set");
    else if (stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
        snprintf(reason, n, "%s '%.100s' is not there: job %.20s is over, or on another host",
                 file ? "PE_HOSTFILE" : "SGE_JOB_SPOOL_DIR", path, gridengine_variable("JOB_ID"));
    else
        return true;
    return false;
}

/* A login shell has no variables of its job. */
static bool is_session(char *reason, size_t n)
{
    pid_t shepherd = 0;
    unsigned job = gridengine_session_job(&shepherd);
    if (job > 0)
        snprintf(reason, n,
                 "this is a session of job %u of Grid Engine (process %d is its shepherd)", job,
                 (int)shepherd);
    return job > 0;
}

static bool gridengine_detect(const struct host_request *request, char *reason, size_t n)
{
    reason[0] = 0;
    /* JOB_ID alone is a name that others use, too */
    if (!gridengine_variable("SGE_TASK_ID") && !gridengine_variable("PE_HOSTFILE"))
        return is_session(reason, n);
    if (!have_job(reason, n) || !job_is_here(reason, n))
        return false;
    snprintf(reason, n, "this is job %.20s of Grid Engine (JOB_ID, SGE_TASK_ID, %s)",
             gridengine_variable("JOB_ID"),
             gridengine_variable("PE_HOSTFILE") ? "PE_HOSTFILE" : "no PE_HOSTFILE");
    return true;
}

/* ---- allocation ------------------------------------------------------------------------------ */

static bool is_plain_task(void)
{
    return gridengine_variable("PE") && !gridengine_variable("PE_HOSTFILE");
}

static void name_job(struct allocation *a)
{
    const char *task = gridengine_variable("SGE_TASK_ID"), *pe = gridengine_variable("PE");
    snprintf(a->job_id, sizeof(a->job_id), is_number(task) ? "%.30s.%.30s" : "%.30s",
             gridengine_variable("JOB_ID"), task);
    const char *root = gridengine_variable("SGE_ROOT"), *cell = gridengine_variable("SGE_CELL");
    snprintf(a->cluster, sizeof(a->cluster), "%s %s", root ? root : "", cell ? cell : "");
    if (!is_plain_task()) /* its job may have them */
        snprintf(a->more, sizeof(a->more), "qsub -pe %.60s", pe ? pe : "PE");
}

/* From "host file 'pe_hostfile' line 2" keep the line alone. */
static void name_sources(struct allocation *a)
{
    snprintf(a->source, sizeof(a->source), "PE_HOSTFILE");
    for (size_t i = 0; i < a->nhosts; i++) {
        struct alloc_host *h = &a->hosts[i];
        char lines[sizeof(h->slots.source)];
        const char *line = strstr(h->slots.source, " line ");
        snprintf(lines, sizeof(lines), "%s", line ? line : "");
        snprintf(h->slots.source, sizeof(h->slots.source), "PE_HOSTFILE%.50s", lines);
        snprintf(h->cores_source, sizeof(h->cores_source), "PE_HOSTFILE column 4");
    }
}

/* Without a parallel environment there is no such file, and the job is on this host. A task of the
 * user's own 'qrsh -inherit' has this host's slots of a larger job. */
static int read_own_host(struct hostlist *l, struct error *err)
{
    const char *slots = gridengine_variable("NSLOTS");
    char name[256];
    int64_t n = 1;
    if (named_self(name, sizeof(name), err) < 0)
        return -1;
    if (slots && number_parse(slots, "NSLOTS", 1, HOSTLIST_SLOTS_MAX, &n, err) < 0)
        return -1;
    const char *source = is_plain_task() ? "of this task alone, as qrsh has set no PE_HOSTFILE"
                         : slots         ? "NSLOTS, no parallel environment"
                                         : "a job without a parallel environment";
    return hostlist_add_slots(l, name, (uint32_t)n, source, err);
}

static int read_granted(struct hostlist *l, struct error *err)
{
    const char *file = gridengine_variable("PE_HOSTFILE");
    if (file ? hostfile_read(file, l, err) < 0 : read_own_host(l, err) < 0)
        return -1;
    if (file)
        name_sources(&l->allocation);
    for (size_t i = 0; i < l->allocation.nhosts; i++)
        l->allocation.hosts[i].granted = l->allocation.hosts[i].slots.value;
    return 0;
}

/* Grid Engine's name of this host may have a domain that the host's own name has not. */
static void mark_here(struct allocation *a)
{
    char name[256];
    named_mark_here(a);
    for (size_t i = 0; i < a->nhosts; i++)
        if (a->hosts[i].here)
            return;
    const struct alloc_host *own =
        named_self(name, sizeof(name), NULL) == 0 ? named_find(a, name) : NULL;
    if (own)
        a->hosts[own - a->hosts].here = true;
}

static int gridengine_read_allocation(const struct host_request *request, struct allocation *ret,
                                      struct error *err)
{
    AUTO(hostlist_free) struct hostlist granted = {.stated = 0};
    char reason[200];
    if (request->argument)
        return error_set(err, EINVAL, "'--rm gridengine' takes no ':%.60s'", request->argument);
    pid_t shepherd;
    unsigned session = gridengine_variable("JOB_ID") ? 0 : gridengine_session_job(&shepherd);
    if (session > 0 && gridengine_session_enter(session, err) < 0)
        return -1;
    if (!have_job(reason, sizeof(reason)))
        return error_set(err, EINVAL, "%s; start mprun from a job script, qrsh or qlogin", reason);
    if (read_granted(&granted, err) < 0 ||
        named_cut(request, &granted, gridengine_variable("JOB_ID"), err) < 0)
        return -1;
    *ret = hostlist_take(&granted);
    name_job(ret);
    mark_here(ret);
    return 0;
}

/* The path of TMPDIR contains the queue's name, and hosts may be in several queues. */
static const char *const host_env[] = {"TMPDIR", "TMP", "SGE_BINDING", NULL};
static const char *const parents[] = {"sge_shepherd", NULL};

const struct rm_adapter rm_adapter_gridengine = {
    .name = "gridengine",
    .detect = gridengine_detect,
    .parents = parents,
    .read_allocation = gridengine_read_allocation,
    .start = qrsh_start,
    .cancel = fanout_cancel,
    .destroy = fanout_destroy,
    .reported = fanout_reported,
    .hand_over = qrsh_hand_over,
    .again = qrsh_again,
    .retry = fanout_again,
    .remote_command = qrsh_remote_command,
    .describe = qrsh_describe,
    .advise = qrsh_advise,
    .is_noise = qrsh_is_noise,
    .client_name = "qrsh",
    .lost_code = 255,
    .gpu_env = RM_GPU_ENV,
    .stdio_channel = STDIO_PER_HOST,
    .host_env = host_env,
    .in_login_session = "that is not the job's, whose limits and books may not hold there; the "
                        "sshd of rsh_daemon should run with 'UsePAM no', or without pam_systemd",
    .ends_hosts =
        "; it may be Grid Engine that did so, at a limit of the job such as h_vmem or h_rt "
        "(qsub -l, which 'qstat -j $JOB_ID' shows, and 'qconf -sq $QUEUE'), or for qdel",
    .signals_everywhere = 1UL << SIGUSR2,
    .suspends_script = true, /* SIGSTOP to all that carries the group id of the job's script */
    .carries_variables = true,
};
