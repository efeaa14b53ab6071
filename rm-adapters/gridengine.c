/* SPDX-License-Identifier: BSD-3-Clause */
/* gridengine.c - a job of Grid Engine: its hosts from PE_HOSTFILE, reached by qrsh -inherit
 *
 * Each starter is a task of the job, which the manager limits, accounts for and ends. A client
 * (qrsh) is never ended by a signal: that, or a task that ends by one, makes the manager end the
 * whole job. The starter's path is the command's only word, because a queue's starter_method gets
 * all words as one argument. */
#include "rm-adapters/adapter.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/number.h"
#include "common/spawn.h"
#include "rm-adapters/ask.h"
#include "rm-adapters/fanout.h"
#include "rm-adapters/gridengine-directory.h"
#include "rm-adapters/gridengine-session.h"
#include "rm-adapters/hostfile.h"
#include "rm-adapters/named.h"

#define QCONF_SECONDS 10.0

/* ---- the job --------------------------------------------------------------------------------- */

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static int is_number(const char *text)
{
    return text && *text && strspn(text, "0123456789") == strlen(text);
}

/* What every job has, and qrsh needs; a job that is no array has the word "undefined". */
static int have_job(char *reason, size_t n)
{
    const char *task = variable("SGE_TASK_ID");
    const char *wrong = NULL;
    if (!is_number(variable("JOB_ID")))
        wrong = "JOB_ID";
    else if (!is_number(task) && !(task && strcmp(task, "undefined") == 0))
        wrong = "SGE_TASK_ID";
    else if (!variable("SGE_ROOT"))
        wrong = "SGE_ROOT";
    if (wrong)
        snprintf(reason, n, "%s is not set as in a job of Grid Engine", wrong);
    return !wrong;
}

/* Variables outlive their job, and are copied to other hosts; its directory does not and is not. */
static int job_is_here(char *reason, size_t n)
{
    const char *file = variable("PE_HOSTFILE"), *spool = variable("SGE_JOB_SPOOL_DIR");
    const char *path = file ? file : spool;
    struct stat st;
    if (!path)
        snprintf(reason, n, "neither PE_HOSTFILE nor SGE_JOB_SPOOL_DIR is set");
    else if (stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
        snprintf(reason, n, "%s '%.100s' is not there: job %.20s is over, or on another host",
                 file ? "PE_HOSTFILE" : "SGE_JOB_SPOOL_DIR", path, variable("JOB_ID"));
    else
        return 1;
    return 0;
}

/* A login shell has no variables of its job. */
static int is_session(char *reason, size_t n)
{
    pid_t shepherd = 0;
    unsigned job = gridengine_session_job(&shepherd);
    if (job > 0)
        snprintf(reason, n,
                 "this is a session of job %u of Grid Engine (process %d is its shepherd)", job,
                 (int)shepherd);
    return job > 0;
}

static int gridengine_detect(char *reason, size_t n)
{
    reason[0] = 0;
    if (!variable("JOB_ID") && !variable("SGE_TASK_ID") && !variable("PE_HOSTFILE"))
        return is_session(reason, n);
    if (!have_job(reason, n) || !job_is_here(reason, n))
        return 0;
    snprintf(reason, n, "this is job %.20s of Grid Engine (JOB_ID, SGE_TASK_ID, %s)",
             variable("JOB_ID"), variable("PE_HOSTFILE") ? "PE_HOSTFILE" : "no PE_HOSTFILE");
    return 1;
}

/* ---- allocation ------------------------------------------------------------------------------ */

static void name_job(struct allocation *a)
{
    const char *task = variable("SGE_TASK_ID"), *pe = variable("PE");
    a->adapter = rm_adapter_gridengine.name;
    snprintf(a->job_id, sizeof(a->job_id), is_number(task) ? "%.30s.%.30s" : "%.30s",
             variable("JOB_ID"), task);
    snprintf(a->more, sizeof(a->more), "qsub -pe %.60s", pe ? pe : "PE");
}

/* "host file 'pe_hostfile' line 2": which line says it all. */
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

/* Without a parallel environment there is no such file, and the job is on this host. */
static int read_own_host(struct hostlist *l, struct error *err)
{
    const char *slots = variable("NSLOTS");
    char name[256];
    int64_t n = 1;
    if (gethostname(name, sizeof(name)) < 0)
        return error_errno(err, errno, "read the name of this machine");
    name[sizeof(name) - 1] = 0;
    if (slots && number_parse(slots, "NSLOTS", 1, HOSTLIST_SLOTS_MAX, &n, err) < 0)
        return -1;
    return hostlist_add(l,
                        &(struct hostlist_entry){
                            .name = name,
                            .len = strlen(name),
                            .slots = (uint32_t)n,
                            .source = slots ? "NSLOTS, no parallel environment"
                                            : "a job without a parallel environment",
                        },
                        err);
}

static int read_granted(struct hostlist *l, struct error *err)
{
    const char *file = variable("PE_HOSTFILE");
    if (file ? hostfile_read(file, l, err) < 0 : read_own_host(l, err) < 0)
        return -1;
    if (file)
        name_sources(&l->allocation);
    for (size_t i = 0; i < l->allocation.nhosts; i++)
        l->allocation.hosts[i].granted = l->allocation.hosts[i].slots.value;
    return 0;
}

/* --host and --hostfile choose among the hosts of the job. */
static int cut_to_named(const struct host_request *request, struct hostlist *granted,
                        struct error *err)
{
    struct hostlist named = {.stated = 0};
    struct error why;
    char is_not[80];
    if (request->nlists == 0 && request->nfiles == 0)
        return 0;
    snprintf(is_not, sizeof(is_not), "no host of job %.20s; for others there is '--rm ssh'",
             variable("JOB_ID"));
    if (named_read(request, &named, &why) < 0)
        return error_set(err, why.code, "%s; without it mprun uses the hosts of the job", why.text);
    int rc = named_choose(granted, &named, is_not, err);
    hostlist_free(&named);
    return rc < 0 ? error_context(err, "%s", request->nfiles ? "--hostfile" : "--host") : 0;
}

static int gridengine_read_allocation(const struct host_request *request, struct allocation *ret,
                                      struct error *err)
{
    struct hostlist granted = {.stated = 0};
    char reason[200];
    if (request->argument)
        return error_set(err, EINVAL, "'--rm gridengine' takes no ':%.60s'", request->argument);
    pid_t shepherd;
    unsigned session = variable("JOB_ID") ? 0 : gridengine_session_job(&shepherd);
    if (session > 0 && gridengine_session_enter(session, err) < 0)
        return -1;
    if (!have_job(reason, sizeof(reason)))
        return error_set(err, EINVAL, "%s; start mprun from a job script, qrsh or qlogin", reason);
    if (read_granted(&granted, err) < 0 || cut_to_named(request, &granted, err) < 0) {
        hostlist_free(&granted);
        return -1;
    }
    *ret = hostlist_take(&granted);
    name_job(ret);
    named_mark_here(ret);
    return 0;
}

/* ---- start ----------------------------------------------------------------------------------- */

struct qrsh {
    char *path;
    unsigned char *forked; /* hosts, this machine, that take no task: beside the job itself, or
                              because none can be begun there */
    int terminal;          /* tasks have one */
    struct error no_task;  /* why none can be begun on this machine; no text: one can */
    int forbidden;         /* no host takes a task, ever; -1: not known yet */
};

static void qrsh_destroy(void *arg)
{
    struct qrsh *q = arg;
    free(q->path);
    free(q->forked);
    free(q);
}

/* A program of Grid Engine: the job's own, not the shell wrapper that PATH may have. */
static int find_program(const char *name, char **ret, struct error *err)
{
    const char *directory = variable("SGE_BINARY_PATH");
    AUTO_FREE char *own = NULL;
    if (directory && asprintf(&own, "%s/%s", directory, name) < 0) {
        own = NULL;
        return error_errno(err, ENOMEM, "find %s", name);
    }
    if (own && access(own, X_OK) == 0) {
        *ret = take_ptr(own);
        return 0;
    }
    if (spawn_resolve(name, environ, NULL, ret, err) == 0)
        return 0;
    return error_context(err, "find Grid Engine's %s (%s%s)", name,
                         own ? "not in SGE_BINARY_PATH, " : "SGE_BINARY_PATH is not set, ",
                         "nor in PATH");
}

/* With -pty y they all do, whatever qrsh is told: the job's spool directory tells. */
static int tasks_have_terminals(void)
{
    const char *spool = variable("SGE_JOB_SPOOL_DIR");
    char path[1100], line[4096];
    int found = 0;
    snprintf(path, sizeof(path), "%.1000s/config", spool ? spool : "");
    FILE *f = spool ? fopen(path, "re") : NULL;
    while (f && !found && fgets(line, sizeof(line), f))
        found = strcmp(line, "pty=1\n") == 0;
    if (f)
        fclose(f);
    return found;
}

enum { QRSH_WORDS = 8 };

static void qrsh_words(const struct start_request *r, const struct alloc_host *host,
                       const char *variable, const char *words[QRSH_WORDS])
{
    size_t n = 0;
    words[n++] = "qrsh";
    words[n++] = "-inherit";
    words[n++] = "-noshell";
    if (variable) {
        words[n++] = "-v";
        words[n++] = variable;
    }
    words[n++] = host->name;
    words[n++] = host->here ? r->starter_path : r->remote_path;
    words[n] = NULL;
}

static const char *variable_of(const struct start_request *r, size_t host)
{
    return r->variables ? r->variables[host] : NULL;
}

/* The variables that qrsh needs are in the environment of every task. In a job with a terminal it
 * needs that as well. */
static size_t gridengine_words(struct starting *s, size_t host, const char *words[START_WORDS])
{
    const struct start_request *r = fanout_request(s);
    const struct qrsh *q = fanout_arg(s);
    size_t n = 0;
    if (r->allocation->hosts[host].here || q->terminal)
        return 0;
    qrsh_words(r, &r->allocation->hosts[host], variable_of(r, host), words);
    words[0] = q->path;
    while (words[n])
        n++;
    return n;
}

static int open_host(struct starting *s, size_t i, struct start_channel *ret, struct error *err)
{
    const struct start_request *r = fanout_request(s);
    const struct qrsh *q = fanout_arg(s);
    const char *words[QRSH_WORDS];
    if (q->forked[i]) {
        if (fanout_starter(s, i, ret, err) < 0)
            return -1;
        ret->instead = q->no_task.text[0] ? q->no_task.text : NULL;
        return 0;
    }
    qrsh_words(r, &r->allocation->hosts[i], variable_of(r, i), words);
    if (fanout_client(s, i, q->path, (char *const *)(uintptr_t)words, 0, ret, err) < 0)
        return -1;
    ret->terminal = q->terminal;
    return 0;
}

/* ---- a host that takes no task now ----------------------------------------------------------- */

/* Does the job's parallel environment say that nothing is started on other hosts? */
static int slaves_are_not_controlled(const char *pe)
{
    AUTO_FREE char *path = NULL;
    const char *words[] = {"qconf", "-sp", pe, NULL};
    char said[4096], value[16] = "";
    if (find_program("qconf", &path, NULL) < 0 ||
        ask_command(path, (char *const *)(uintptr_t)words, QCONF_SECONDS, said, sizeof(said),
                    NULL) < 0)
        return 0;
    const char *line = strstr(said, "control_slaves");
    return line && sscanf(line, "control_slaves %15s", value) == 1 && strcmp(value, "FALSE") == 0;
}

/* JOB_ID may be another one's, or one that has ended, which no host ever has room for: the spool
 * directory tells. */
static int is_own_job(void)
{
    const char *spool = variable("SGE_JOB_SPOOL_DIR");
    char part[64];
    snprintf(part, sizeof(part), "/%.50s.", variable("JOB_ID"));
    return !spool || (strstr(spool, part) && (access(spool, F_OK) == 0 || errno != ENOENT));
}

/* It takes as many tasks of a job as the job has slots there: another mprun has them. */
static enum start_again again_later(struct qrsh *q)
{
    const char *pe = variable("PE");
    if (q->forbidden < 0)
        q->forbidden = !is_own_job() || (pe && slaves_are_not_controlled(pe));
    return q->forbidden ? START_NOT : START_LATER;
}

/* On the host of the job itself, with one slot there, or with another mprun that has it, mprun can
 * start without the manager. */
static enum start_again gridengine_again(struct starting *s, size_t host, int status,
                                         const char *words)
{
    struct qrsh *q = fanout_arg(s);
    if (!WIFEXITED(status) || !strstr(words, "didn't accept task"))
        return START_NOT;
    if (!fanout_request(s)->allocation->hosts[host].here)
        return again_later(q);
    if (q->forked[host])
        return START_NOT;
    q->forked[host] = 1;
    fanout_again(s, host);
    return START_OTHERWISE;
}

static struct qrsh *qrsh_create(const struct start_request *request)
{
    struct qrsh *q = calloc(1, sizeof(*q));
    if (!q)
        return NULL;
    q->terminal = tasks_have_terminals();
    q->forbidden = -1;
    q->forked = calloc(request->allocation->nhosts + 1, sizeof(*q->forked));
    if (q->forked)
        return q;
    qrsh_destroy(q);
    return NULL;
}

/* A task that fails would cost the job; so here, where it can be known, none is begun. */
static void fork_where_no_task_can_be(struct qrsh *q, const struct allocation *a)
{
    for (size_t i = 0; i < a->nhosts; i++)
        if (a->hosts[i].here && gridengine_directory_takes_tasks(&q->no_task) < 0)
            q->forked[i] = 1;
}

static struct starting *gridengine_start(const struct start_request *request, struct error *err)
{
    static const struct fanout_way way = {
        .open = open_host, .destroy = qrsh_destroy, .let_clients_be = 1};
    unsigned at_once = request->concurrency ? request->concurrency : FANOUT_AT_ONCE;
    struct qrsh *q = qrsh_create(request);
    if (!q) {
        error_errno(err, ENOMEM, "start starters");
        return NULL;
    }
    if (request->agent)
        error_set(err, EINVAL,
                  "--agent: hosts of a Grid Engine job are started by qrsh; use "
                  "'--rm ssh' for other ways");
    if (request->agent || find_program("qrsh", &q->path, err) < 0) {
        qrsh_destroy(q);
        return NULL;
    }
    fork_where_no_task_can_be(q, request->allocation);
    return fanout_begin(request, &way, q, at_once, err);
}

static void gridengine_describe(const struct start_request *request, const struct alloc_host *host,
                                char *buf, size_t n)
{
    AUTO_FREE char *path = NULL;
    const char *words[QRSH_WORDS];
    struct error e;
    if (find_program("qrsh", &path, &e) < 0) {
        snprintf(buf, n, "cannot be started: %s", e.text);
        return;
    }
    qrsh_words(request, host, NULL, words);
    snprintf(buf, n, "by %s %s %s %s %s%s", path, words[1], words[2], words[3], words[4],
             host->here ? ", or by mprun itself where that is refused" : "");
}

/* ---- what went wrong ------------------------------------------------------------------------- */

static void not_accepted(char *buf, size_t n)
{
    const char *pe = variable("PE");
    if (pe && slaves_are_not_controlled(pe))
        snprintf(buf, n,
                 "; the parallel environment '%.60s' has 'control_slaves FALSE', which forbids "
                 "this: its administrator sets it to TRUE (qconf -mp %.60s), or mprun is told to "
                 "start by ssh, where nothing is accounted for (--rm ssh -m \"$PE_HOSTFILE\")",
                 pe, pe);
    else
        snprintf(
            buf, n,
            "; a host takes as many tasks of a job as the job has slots there: are other mprun "
            "of job %.20s still running, and are JOB_ID and SGE_TASK_ID as the job has them?",
            variable("JOB_ID"));
}

/* Of the queue's starter_method only the last part of the path is said, of ours all of it. */
static int method_is_missing(const char *words)
{
    static const char before[] = "executing child process ";
    const char *at = strstr(words, before);
    return at && at[sizeof(before) - 1] != '/';
}

/* "qrsh_starter: cannot write pid file ...", "cannot open file .../qrsh_error: ..." */
static int task_could_not_write(const char *words)
{
    return strstr(words, "qrsh_starter: cannot write") ||
           strstr(words, "qrsh_starter: cannot open");
}

static void gridengine_advice(const char *words, char *buf, size_t n)
{
    const char *queue = variable("QUEUE");
    buf[0] = 0;
    if (strstr(words, "didn't accept task"))
        not_accepted(buf, n);
    else if (strstr(words, "can't resolve") || strstr(words, "nknown host"))
        snprintf(buf, n,
                 "; the name is not known on this host: see /etc/hosts and the name "
                 "service");
    else if (strstr(words, "onnection refused") || strstr(words, "got send error"))
        snprintf(buf, n,
                 "; no sge_execd answers there: 'qhost' shows what Grid Engine knows of "
                 "the host, its administrator starts it");
    else if (method_is_missing(words))
        snprintf(buf, n,
                 "; that is the queue's starter_method, which every host needs: 'qconf -sq %.60s' "
                 "shows its path",
                 queue ? queue : "QUEUE");
    else if (strstr(words, "executing child process"))
        snprintf(buf, n,
                 "; install mprun in the same place on all hosts, or say with --prefix "
                 "where it is");
    else if (task_could_not_write(words))
        snprintf(buf, n,
                 "; Grid Engine writes files of its own into the job's directory on each host "
                 "(TMPDIR), and ends the job where it cannot: that has to be there, yours and "
                 "writable, on a file system with room");
    else if (!strstr(words, "mpstarter:"))
        snprintf(buf, n,
                 "; 'qhost' shows whether Grid Engine hears of the host, 'qconf -sq %.60s' whether "
                 "a starter_method is run there before mpstarter, the file 'messages' of its "
                 "sge_execd why no task could be begun, as without the job's TMPDIR",
                 queue ? queue : "QUEUE");
}

/* On a busy machine qrsh's last answer finds that the task's shepherd has gone already. */
static int gridengine_is_noise(const char *line)
{
    return strstr(line, "commlib error: got pipe error (closing ") &&
           strstr(line, "/shepherd_ijs/");
}

/* The path of TMPDIR has the queue's name in it, and hosts may be of several. */
static const char *const host_env[] = {"TMPDIR", "TMP", "SGE_BINDING", NULL};

const struct rm_adapter rm_adapter_gridengine = {
    .name = "gridengine",
    .summary = "a job of Grid Engine: the hosts of its PE_HOSTFILE, reached by qrsh -inherit",
    .detect = gridengine_detect,
    .read_allocation = gridengine_read_allocation,
    .start = gridengine_start,
    .cancel = fanout_cancel,
    .destroy = fanout_destroy,
    .reported = fanout_reported,
    .again = gridengine_again,
    .retry = fanout_again,
    .words = gridengine_words,
    .describe = gridengine_describe,
    .advice = gridengine_advice,
    .is_noise = gridengine_is_noise,
    .client = "qrsh",
    .stdio_channel = STDIO_PER_HOST,
    .host_env = host_env,
    .login_session =
        "that is not the job's, whose limits and books may not hold there; the sshd of "
        "rsh_daemon should run with 'UsePAM no', or without pam_systemd",
    .ends_hosts = "Grid Engine does so at a job's limits such as h_rt (qsub -l, which 'qstat -j "
                  "$JOB_ID' shows, and 'qconf -sq $QUEUE'), and for qdel",
    .rm_signals_remote = 1UL << SIGUSR2,
    .suspends_script = 1,
    .carries_variables = 1,
};
