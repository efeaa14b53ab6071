/* SPDX-License-Identifier: BSD-3-Clause */
/* mprsrc - what a Grid Engine job may use on each of its hosts, for shells and programs */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/mprsrc.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "containment/mprund-protocol.h"
#include "rm-adapters/gridengine/qstat-xml.h"

/* ---- what qstat says ------------------------------------------------------------------------- */

/* A terminal, or /dev/null, has nothing to say. */
static bool is_device(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode);
}

static int read_input(struct buffer *ret, struct error *err)
{
    ssize_t n;
    if (is_device(STDIN_FILENO))
        return 0;
    while ((n = buffer_read(ret, STDIN_FILENO, 1 << 16)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || buffer_len(ret) > GRIDENGINE_XML_MAX)
            return error_errno(err, n < 0 ? errno : EFBIG, "read standard input");
    }
    return 0;
}

static int parse_failed(const struct mprsrc_options *o, struct error *err)
{
    int code = err->code == ESRCH    ? MPRSRC_NO_JOB
               : err->code == EINVAL ? MPRSRC_USAGE
                                     : MPRSRC_DAMAGED;
    if (code == MPRSRC_DAMAGED && o->job)
        error_context(err, "read what 'qstat -xml -j %u' says", o->job);
    else if (code == MPRSRC_DAMAGED)
        error_context(err, "read what 'qstat -xml -j JOB' says from standard input");
    return code;
}

/* The task that was given; else, of the job that this is in, its own. */
static int parse(const struct mprsrc_options *o, const struct buffer *b, struct gridengine_job *ret,
                 struct error *err)
{
    const char *text = (const char *)buffer_ptr(b);
    size_t n = buffer_len(b);
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

static int ask_for_job(const struct mprsrc_options *o, struct buffer *ret, struct error *err)
{
    char id[16];
    snprintf(id, sizeof(id), "%u", o->job);
    const char *const words[] = {"qstat", "-xml", "-j", id, NULL};
    return mprsrc_qstat(o, words, ret, err) < 0 ? MPRSRC_QSTAT : MPRSRC_OK;
}

/* From here on it is no longer root's. Without -j: standard input, or, where that is no pipe or
 * file, the job that this is in. A pipe that brings nothing is a qstat that failed. */
static int read_text(struct mprsrc_options *o, struct buffer *ret, struct error *err)
{
    if (!o->job && read_input(ret, err) < 0)
        return err->code == EFBIG ? MPRSRC_DAMAGED : MPRSRC_FAILED;
    if (!o->job && buffer_len(ret) == 0 && is_device(STDIN_FILENO))
        o->job = mprsrc_own_job(o);
    if (mprsrc_become_user(o, err) < 0)
        return MPRSRC_FAILED;
    if (o->job)
        return ask_for_job(o, ret, err);
    if (!is_device(STDIN_FILENO))
        return MPRSRC_OK;
    error_set(err, EINVAL,
              "this is not in a job of Grid Engine; name one with -j, or pipe what 'qstat -xml -j "
              "JOB' prints to mprsrc");
    return MPRSRC_USAGE;
}

static int read_job(struct mprsrc_options *o, struct gridengine_job *ret, struct error *err)
{
    AUTO(buffer_free) struct buffer text = {.data = NULL};
    int code = read_text(o, &text, err);
    if (code == MPRSRC_OK && parse(o, &text, ret, err) < 0)
        code = parse_failed(o, err);
    if (code != MPRSRC_OK)
        return code;
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
    return MPRSRC_OK;
}

/* The answer about the job of that name, or -1. */
static int find_job(int fd, const char *name, struct grant_answer *ret, struct error *err)
{
    while (grant_receive(fd, GRANT_ANSWER_S, ret, err) == 0)
        if (ret->result != GRANT_MORE)
            return error_set(err, 0, "mprund knows of no job %s of yours", name);
        else if (!strcmp(ret->job, name))
            return 0;
    return -1;
}

static void name_gpus(struct resource_devices *gpus, struct grant_answer *a)
{
    for (char *c = a->gpus; *c; c++)
        if (*c == ',')
            *c = ' ';
    gpus->ids = a->gpus[0] ? must(strdup(a->gpus)) : NULL;
}

/* mprund of this host tells root and the job's user which GPUs it chose where the manager only
 * counts them, and which limit of memory holds. Without its answer that stays unknown. */
static void ask_mprund(const struct gridengine_job *job, struct resources *r,
                       struct mprsrc_result *ret)
{
    char name[GRANT_JOB_MAX], here[256] = "";
    struct grant_request q;
    struct grant_answer a;
    struct error e;
    const struct resource_host *host = own_host(r, job, here, sizeof(here) - 1);
    struct resource_devices *gpus = host ? &r->hosts[host - r->hosts].gpu : NULL;
    bool is_counted = gpus && !gpus->ids && gpus->count.set && gpus->count.value > 0;
    bool is_limited = host && ret->options->mode == MODE_PROLOG && host->memory.set;
    if (!is_counted && !is_limited)
        return;
    snprintf(name, sizeof(name), "%u.%u", job->id, job->task ? job->task : 1);
    grant_request_init(&q, GRANT_STATUS, GRANT_ANY);
    AUTO_CLOSE int fd = grant_send(NULL, &q, &e);
    if (fd < 0 || find_job(fd, name, &a, &e) < 0) {
        log_debug("what mprund of this host gives the job: %s", e.text);
        return;
    }
    if (is_counted)
        name_gpus(gpus, &a);
    if (is_limited && a.memory != GRANT_UNLIMITED) {
        ret->held = host;
        ret->held_memory = a.memory;
    }
}

static int show_job(const struct mprsrc_options *o, const struct gridengine_job *job,
                    struct error *err)
{
    struct resources resources;
    struct mprsrc_result r = {.options = o, .job = job, .resources = &resources};
    if (resources_of_job(job, &o->names, &resources, err) < 0) {
        error_context(err, "job %u.%u", job->id, job->task);
        return MPRSRC_DAMAGED;
    }
    ask_mprund(job, &resources, &r);
    int code = choose_host(&r, err);
    if (code == MPRSRC_OK)
        code = print(&r, err);
    resources_free(&resources);
    return code;
}

static int run(const void *request, struct error *err)
{
    struct mprsrc_options o = *(const struct mprsrc_options *)request;
    o.is_roots = geteuid() == 0;
    AUTO(gridengine_job_free) struct gridengine_job job = {.id = 0};
    int code = read_job(&o, &job, err);
    if (code == MPRSRC_OK)
        code = mprsrc_find_hosts(&o, &job, err);
    if (code == MPRSRC_OK)
        code = show_job(&o, &job, err);
    return code;
}

int main(int argc, char **argv)
{
    struct mprsrc_options o = mprsrc_defaults();
    return tool_main(&mprsrc_tool, argc, argv, &o, run);
}
