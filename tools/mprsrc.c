/* SPDX-License-Identifier: BSD-3-Clause */
/* mprsrc - what a Grid Engine job may use on each of its hosts, for shells and programs */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/mprsrc.h"

#include "common/buffer.h"
#include "common/cleanup.h"
#include "rm-adapters/gridengine/qstat-xml.h"

/* ---- what qstat says ------------------------------------------------------------------------- */

/* All of standard input; caller frees. */
static char *read_input(size_t *ret_len, struct error *err)
{
    struct buffer b = {.data = NULL};
    ssize_t n;
    while ((n = buffer_read(&b, STDIN_FILENO, 1 << 16)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || buffer_len(&b) > GRIDENGINE_XML_MAX) {
            error_errno(err, n < 0 ? errno : EFBIG, "read standard input");
            buffer_free(&b);
            return NULL;
        }
    }
    *ret_len = buffer_len(&b);
    char *text = malloc(*ret_len + 1);
    if (text && *ret_len)
        memcpy(text, buffer_ptr(&b), *ret_len);
    buffer_free(&b);
    if (!text)
        error_errno(err, ENOMEM, "read standard input");
    return text;
}

static int parse_failed(const struct mprsrc_options *o, struct error *err)
{
    int code = err->code == ESRCH    ? MPRSRC_NO_JOB
               : err->code == EINVAL ? MPRSRC_USAGE
               : err->code == ENOMEM ? MPRSRC_FAILED
                                     : MPRSRC_DAMAGED;
    if (code == MPRSRC_DAMAGED && o->job)
        error_context(err, "read what 'qstat -xml -j %u' says", o->job);
    else if (code == MPRSRC_DAMAGED)
        error_context(err, "read what 'qstat -xml -j JOB' says from standard input");
    return code;
}

/* The task that was given; else, of the job that this is in, its own. */
static int parse(const struct mprsrc_options *o, const char *text, size_t n,
                 struct gridengine_job *ret, struct error *err)
{
    uint32_t own = 0;
    if (gridengine_job_parse(text, n, o->task, ret, err) == 0) {
        if (o->task || !mprsrc_is_own_job(ret->id, &own) || own == ret->task)
            return 0;
        gridengine_job_free(ret);
        return gridengine_job_parse(text, n, own, ret, err);
    }
    /* several tasks: only the job's own environment can say which */
    const char *id = getenv("JOB_ID");
    if (err->code != EINVAL || o->task || !id ||
        !mprsrc_is_own_job((uint32_t)strtoul(id, NULL, 10), &own))
        return -1;
    struct error again;
    if (gridengine_job_parse(text, n, own, ret, &again) < 0)
        return -1;
    if (mprsrc_is_own_job(ret->id, &own))
        return 0;
    gridengine_job_free(ret);
    return -1;
}

static int read_job(const struct mprsrc_options *o, struct gridengine_job *ret, struct error *err)
{
    char id[16];
    size_t n = 0;
    snprintf(id, sizeof(id), "%u", o->job);
    const char *const arguments[] = {"-xml", "-j", id, NULL};
    AUTO_FREE char *text = o->job ? mprsrc_qstat(o, arguments, &n, err) : read_input(&n, err);
    if (!text)
        return o->job ? MPRSRC_QSTAT : err->code == EFBIG ? MPRSRC_DAMAGED : MPRSRC_FAILED;
    if (parse(o, text, n, ret, err) < 0)
        return parse_failed(o, err);
    if (o->job && ret->id != o->job) {
        error_set(err, EBADMSG, "qstat was asked for job %u and answered for job %u", o->job,
                  ret->id);
        gridengine_job_free(ret);
        return MPRSRC_DAMAGED;
    }
    return MPRSRC_OK;
}

/* ---- what is asked for ----------------------------------------------------------------------- */

/* This machine, by its own name or by the one that the job's execd calls it. */
static const struct resource_host *
own_host(const struct resources *r, const struct gridengine_job *job, char *name, size_t size)
{
    uint32_t task;
    const char *execd_name = getenv("HOSTNAME");
    const struct resource_host *h = NULL;
    if (gethostname(name, size) == 0)
        h = resources_host(r, name);
    if (!h && execd_name && mprsrc_is_own_job(job->id, &task))
        h = resources_host(r, execd_name);
    return h;
}

static int choose_host(struct mprsrc_result *r, struct error *err)
{
    char name[256] = "";
    if (!r->options->only && !r->options->host)
        return MPRSRC_OK;
    r->host = r->options->only ? own_host(r->resources, r->job, name, sizeof(name) - 1)
                               : resources_host(r->resources, r->options->host);
    if (r->host)
        return MPRSRC_OK;
    error_set(err, ENOENT, "job %u.%u has no slots on host '%.200s'; its hosts begin with '%.200s'",
              r->job->id, r->job->task, r->options->only ? name : r->options->host,
              r->resources->hosts[0].name);
    return MPRSRC_NO_HOST;
}

static int print(const struct mprsrc_result *r, struct error *err)
{
    if (r->options->json)
        return mprsrc_print_json(r, err) < 0 ? MPRSRC_FAILED : MPRSRC_OK;
    mprsrc_print_shell(stdout, r);
    if (fflush(stdout) == 0)
        return MPRSRC_OK;
    error_errno(err, errno, "write to standard output");
    return MPRSRC_FAILED;
}

/* Only for this host: mprund knows its own GPUs. */
static void name_devices(const struct gridengine_job *job, struct resources *r)
{
    char name[256] = "";
    const struct resource_host *here = own_host(r, job, name, sizeof(name) - 1);
    if (here)
        mprsrc_ask_daemon(job, &r->hosts[here - r->hosts].gpu);
}

static int show_job(const struct mprsrc_options *o, const struct gridengine_job *job,
                    struct error *err)
{
    struct resources resources;
    struct mprsrc_result r = {.options = o, .job = job, .resources = &resources};
    if (resources_of_job(job, &o->names, &resources, err) < 0) {
        error_context(err, "job %u.%u", job->id, job->task);
        return err->code == ENOMEM ? MPRSRC_FAILED : MPRSRC_DAMAGED;
    }
    name_devices(job, &resources);
    int code = choose_host(&r, err);
    if (code == MPRSRC_OK)
        code = print(&r, err);
    resources_free(&resources);
    return code;
}

static int run(const void *request, struct error *err)
{
    const struct mprsrc_options *o = request;
    struct gridengine_job job = {.id = 0};
    int code = read_job(o, &job, err);
    if (code == MPRSRC_OK)
        code = mprsrc_find_hosts(o, &job, err);
    if (code == MPRSRC_OK)
        code = show_job(o, &job, err);
    gridengine_job_free(&job);
    return code;
}

int main(int argc, char **argv)
{
    struct mprsrc_options o = mprsrc_defaults();
    return tool_main(&mprsrc_tool, argc, argv, &o, run);
}
