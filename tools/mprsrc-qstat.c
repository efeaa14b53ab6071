/* SPDX-License-Identifier: BSD-3-Clause */
/* mprsrc-qstat.c - one qstat, within a time and a size; and where a job runs, when `qstat -j` does
 * not say
 *
 * As root, in a prolog, the environment is the job's user's to set: PATH is not looked at then, and
 * qstat gets of the environment only what says which cell to ask. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/mprsrc.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/processes/spawn.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "rm-adapters/processes/ask-manager.h"
#include "rm-adapters/gridengine/qlogin-session.h"
#include "rm-adapters/gridengine/qstat-xml.h"

/* ---- which, and with what -------------------------------------------------------------------- */

static char *const root_environment_path = (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin";

/* The environment for qstat; texts are shared with environ. Caller frees the array. */
static char **make_environment(bool is_roots)
{
    static const char *const kept[] = {"SGE_ROOT=",       "SGE_CELL=",         "SGE_QMASTER_PORT=",
                                       "SGE_EXECD_PORT=", "SGE_CLUSTER_NAME=", NULL};
    size_t n = 0, count = words_count(environ);
    char **env = must(calloc(count + 2, sizeof(*env)));
    for (size_t i = 0; i < count; i++)
        if (!is_roots || begins_with_any(environ[i], kept))
            env[n++] = environ[i];
    if (is_roots)
        env[n] = root_environment_path;
    return env;
}

/* The program's path; caller frees. */
static char *find_qstat(const struct mprsrc_options *o, char *const env[], struct error *err)
{
    const char *directory = o->is_roots ? NULL : getenv("SGE_BINARY_PATH");
    char *path;
    if (!o->qstat && directory) {
        AUTO_FREE char *beside = text_format("%s/qstat", directory);
        if (access(beside, X_OK) == 0)
            return take_ptr(beside);
    }
    if (spawn_resolve(o->qstat ? o->qstat : "qstat", env, NULL, &path, err) == 0)
        return path;
    return error_null(error_context(err, "find qstat (--qstat names it)"));
}

/* ---- what it said ---------------------------------------------------------------------------- */

/* Its own first line, or how it ended. */
static int no_answer(const struct ask_answer *answer, struct error *err)
{
    char line[300];
    int status = answer->status;
    size_t n = buffer_len(&answer->errors);
    n = n < sizeof(line) - 1 ? n : sizeof(line) - 1;
    if (n)
        memcpy(line, buffer_ptr(&answer->errors), n);
    line[n] = 0;
    line[strcspn(line, "\n")] = 0;
    if (line[0])
        return error_set(err, EIO, "it says: %s", line);
    if (WIFSIGNALED(status))
        return error_set(err, EIO, "it died of signal %d", WTERMSIG(status));
    return error_set(err, EIO, "it printed nothing, exit code %d", WEXITSTATUS(status));
}

/* With an answer the exit code means nothing: the answer may be that there is no such job. */
static int ask_qstat(const struct ask *a, struct buffer *ret, struct error *err)
{
    struct ask_answer answer;
    if (ask_run(a, &answer, err) < 0) {
        if (err->code == ETIMEDOUT)
            error_set(err, ETIMEDOUT, "%s; does the qmaster run?", strdupa(err->text));
        return -1;
    }
    if (buffer_len(&answer.said) == 0)
        no_answer(&answer, err);
    *ret = answer.said;
    answer.said = (struct buffer){.data = NULL};
    ask_answer_free(&answer);
    return buffer_len(ret) > 0 ? 0 : -1;
}

/* "qstat -xml -j 20" */
static void command_text(const char *const argv[], char *buf, size_t n)
{
    size_t at = 0;
    for (int i = 0; argv[i] && at < n; i++)
        at += (size_t)snprintf(buf + at, n - at, "%s%s", i ? " " : "", argv[i]);
}

int mprsrc_qstat(const struct mprsrc_options *o, const char *const words[], struct buffer *ret,
                 struct error *err)
{
    char *const *argv = (char *const *)(uintptr_t)words;
    char command[200];
    command_text(words, command, sizeof(command));
    AUTO_FREE char **env = make_environment(o->is_roots);
    AUTO_FREE char *path = find_qstat(o, env, err);
    struct ask a = {
        .path = path, .argv = argv, .envp = env, .seconds = o->timeout, .max = GRIDENGINE_XML_MAX};
    return path && ask_qstat(&a, ret, err) == 0 ? 0 : error_context(err, "run '%s'", command);
}

/* ---- the hosts of a job ---------------------------------------------------------------------- */

uint32_t mprsrc_own_job(const struct mprsrc_options *o)
{
    const char *id = getenv("JOB_ID");
    int64_t number;
    pid_t shepherd;
    struct error e;
    if (id && number_parse(id, NULL, 1, UINT32_MAX, &number, NULL) == 0)
        return (uint32_t)number;
    unsigned job = gridengine_session_job(&shepherd);
    if (job && !o->is_roots && gridengine_session_enter(job, &e) < 0)
        log_debug("%s", e.text); /* qstat has the hosts, too */
    return job;
}

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
    hostlist_free(&job->hosts);
    return hostfile_read(path, &job->hosts, err) < 0 ? MPRSRC_NO_HOST : MPRSRC_OK;
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
    AUTO(buffer_free) struct buffer text = {.data = NULL};
    if (job->owner[0] == '-') {
        error_set(err, EBADMSG, "the owner of job %u is '%.60s', which is no user", job->id,
                  job->owner);
        return MPRSRC_DAMAGED;
    }
    if (mprsrc_qstat(o, words, &text, err) < 0)
        return MPRSRC_QSTAT;
    int rc = gridengine_tasks_parse((const char *)buffer_ptr(&text), buffer_len(&text), job->id,
                                    job->task, &job->hosts, err);
    if (rc < 0)
        error_context(err, "read 'qstat -xml -g t'");
    return rc < 0 ? MPRSRC_DAMAGED : MPRSRC_OK;
}

/* In this order: --pe-hostfile; the document itself; inside the job the file that its execd wrote,
 * or its only host; `qstat -g t`. */
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
