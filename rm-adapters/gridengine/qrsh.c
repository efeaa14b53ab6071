/* SPDX-License-Identifier: BSD-3-Clause */
/* qrsh.c - starters as tasks of the job, by qrsh -inherit
 *
 * The manager limits, accounts for and ends each task. A client (qrsh) is never ended by a signal:
 * that, or a task that ends by one, makes the manager end the whole job. The starter's path is the
 * command's only word, because a queue's starter_method gets all words as one argument. */
#include "rm-adapters/gridengine/gridengine-private.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/processes/proc.h"
#include "common/processes/spawn.h"
#include "common/text/text.h"
#include "rm-adapters/gridengine/task-spool.h"
#include "rm-adapters/tunables.h"
#include "rm-adapters/processes/ask-manager.h"
#include "rm-adapters/processes/start-many.h"

/* ---- start ----------------------------------------------------------------------------------- */

struct qrsh {
    char *path;
    bool has_terminal;    /* tasks have one */
    struct error no_task; /* why none can be begun on this machine; no text: one can */
    int forbidden;        /* 1: no host ever takes a task; 0: it may; -1: not known yet */
    bool forked[]; /* per host: it is this machine, and mprun starts mpstarter itself, since no
                      task can begin there */
};

static void qrsh_destroy(void *arg)
{
    struct qrsh *q = arg;
    free(q->path);
    free(q);
}

/* A program of Grid Engine: the job's own, not the shell wrapper that PATH may have. */
static int find_program(const char *name, char **ret, struct error *err)
{
    const char *directory = gridengine_variable("SGE_BINARY_PATH");
    AUTO_FREE char *own = directory ? text_format("%s/%s", directory, name) : NULL;
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

/* In a job of -pty y all tasks have terminals, whatever options qrsh gets. */
static bool tasks_have_terminals(void)
{
    AUTO(task_spool_free) struct task_spool spool = {0};
    task_spool_read(&spool);
    const char *pty = task_spool_value(&spool, "pty");
    return pty && strcmp(pty, "1") == 0;
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

/* Every task has the variables that qrsh needs. In a job with a terminal qrsh needs the terminal,
 * too, which starters do not have. */
size_t qrsh_remote_command(struct starting *s, size_t host, const char *words[REMOTE_COMMAND_WORDS])
{
    const struct start_request *r = fanout_request(s);
    const struct qrsh *q = fanout_arg(s);
    size_t n = 0;
    if (r->allocation->hosts[host].here || q->has_terminal)
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
        ret->why_forked = q->no_task.text[0] ? q->no_task.text : NULL;
        return 0;
    }
    qrsh_words(r, &r->allocation->hosts[i], variable_of(r, i), words);
    if (fanout_client(s, i, q->path, (char *const *)(uintptr_t)words, ret, err) < 0)
        return -1;
    ret->is_terminal = q->has_terminal;
    return 0;
}

/* A qrsh that has started a remote shell (rsh_command ssh) has it as its child. When the job's
 * script ends, so does that connection, and the task by a signal: for the manager it has failed. An
 * agent at a terminal is stopped when it reads. */
bool qrsh_hand_over(struct starting *s, size_t host, int *ret_fd)
{
    AUTO_FREE pid_t *children = NULL;
    const struct qrsh *q = fanout_arg(s);
    bool is_builtin = proc_children(fanout_client_pid(s, host), &children) == 0;
    return is_builtin && !q->has_terminal && fanout_hand_over(s, host, ret_fd);
}

/* ---- a host that takes no task now ----------------------------------------------------------- */

/* Does the job's parallel environment say that nothing is started on other hosts? */
static bool slaves_are_not_controlled(const char *pe)
{
    AUTO_FREE char *path = NULL;
    const char *words[] = {"qconf", "-sp", pe, NULL};
    char said[4096], value[16] = "";
    if (find_program("qconf", &path, NULL) < 0 ||
        ask_command(path, (char *const *)(uintptr_t)words, QCONF_ADVICE_SECONDS, said, sizeof(said),
                    NULL) < 0)
        return false;
    const char *line = strstr(said, "control_slaves");
    return line && sscanf(line, "control_slaves %15s", value) == 1 && strcmp(value, "FALSE") == 0;
}

/* JOB_ID may be of another job, or of one that has ended, for which no host ever has room. The
 * spool directory shows it. */
static bool is_own_job(void)
{
    const char *spool = gridengine_variable("SGE_JOB_SPOOL_DIR");
    char part[64];
    snprintf(part, sizeof(part), "/%.50s.", gridengine_variable("JOB_ID"));
    return !spool || (strstr(spool, part) && (access(spool, F_OK) == 0 || errno != ENOENT));
}

/* A host takes as many tasks of a job as the job has slots there; another mprun may have all. */
static enum start_again again_later(struct qrsh *q)
{
    const char *pe = gridengine_variable("PE");
    if (q->forbidden < 0)
        q->forbidden = !is_own_job() || (pe && slaves_are_not_controlled(pe));
    return q->forbidden ? START_NOT : START_LATER;
}

/* On the job's own host all slots may be taken: there is one, or another mprun has them. There
 * mprun can start mpstarter without the manager. */
enum start_again qrsh_again(struct starting *s, size_t host, int status, const char *words)
{
    struct qrsh *q = fanout_arg(s);
    if (!WIFEXITED(status) || !strstr(words, "didn't accept task"))
        return START_NOT;
    if (!fanout_request(s)->allocation->hosts[host].here)
        return again_later(q);
    if (q->forked[host])
        return START_NOT;
    q->forked[host] = true;
    fanout_again(s, host);
    return START_OTHERWISE;
}

/* A task that fails would cost the job. On this machine mprun can know that it would, and begins
 * none. */
static void fork_where_no_task_can_be(struct qrsh *q, const struct allocation *a)
{
    for (size_t i = 0; i < a->nhosts; i++)
        if (a->hosts[i].here && gridengine_directory_takes_tasks(&q->no_task) < 0)
            q->forked[i] = true;
}

struct starting *qrsh_start(const struct start_request *request, struct error *err)
{
    static const struct fanout_way way = {
        .open = open_host, .destroy = qrsh_destroy, .let_clients_be = true};
    struct qrsh *q =
        must(calloc(1, sizeof(*q) + request->allocation->nhosts * sizeof(q->forked[0])));
    q->has_terminal = tasks_have_terminals();
    q->forbidden = -1;
    if (request->agent)
        error_set(err, EINVAL,
                  "--agent: hosts of a Grid Engine job are started by qrsh; use '--rm ssh' for "
                  "other ways");
    if (request->agent || find_program("qrsh", &q->path, err) < 0) {
        qrsh_destroy(q);
        return NULL;
    }
    fork_where_no_task_can_be(q, request->allocation);
    return fanout_begin(request, &way, q);
}

void qrsh_describe(const struct start_request *request, const struct alloc_host *host, char *buf,
                   size_t n)
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
    const char *pe = gridengine_variable("PE");
    if (pe && slaves_are_not_controlled(pe))
        snprintf(buf, n,
                 "; the parallel environment '%.60s' has 'control_slaves FALSE', which forbids "
                 "this: its administrator sets it to TRUE (qconf -mp %.60s), or mprun is told to "
                 "start by ssh, where nothing is accounted for (--rm ssh -m \"$PE_HOSTFILE\")",
                 pe, pe);
    else
        snprintf(
            buf, n,
            "; a host takes as many tasks of a job as the job has slots there: are other mprun of "
            "job %.20s still running, and are JOB_ID and SGE_TASK_ID as the job has them?",
            gridengine_variable("JOB_ID"));
}

/* The words have only the last part of the path of a queue's starter_method, and all of ours. */
static bool method_is_missing(const char *words)
{
    static const char before[] = "executing child process ";
    const char *at = strstr(words, before);
    return at && at[sizeof(before) - 1] != '/';
}

/* "qrsh_starter: cannot write pid file ...", "cannot open file .../qrsh_error: ..." */
static bool task_could_not_write(const char *words)
{
    return strstr(words, "qrsh_starter: cannot write") ||
           strstr(words, "qrsh_starter: cannot open");
}

void qrsh_advise(const char *words, char *buf, size_t n)
{
    const char *queue = gridengine_variable("QUEUE");
    buf[0] = 0;
    if (strstr(words, "didn't accept task"))
        not_accepted(buf, n);
    else if (strstr(words, "can't resolve") || strstr(words, "nknown host"))
        snprintf(buf, n,
                 "; the name is not known on this host: see /etc/hosts and the name service");
    else if (strstr(words, "onnection refused") || strstr(words, "got send error"))
        snprintf(buf, n,
                 "; no sge_execd answers there: 'qhost' shows what Grid Engine knows of the host, "
                 "its administrator starts it");
    else if (method_is_missing(words))
        snprintf(buf, n,
                 "; that is the queue's starter_method, which every host needs: 'qconf -sq %.60s' "
                 "shows its path",
                 queue ? queue : "QUEUE");
    else if (strstr(words, "executing child process"))
        snprintf(
            buf, n,
            "; install mprun in the same place on all hosts, or say with --prefix where it is");
    else if (task_could_not_write(words))
        snprintf(buf, n,
                 "; Grid Engine writes files of its own into the job's directory on each host "
                 "(TMPDIR), and ends the job where it cannot: that has to be there, yours and "
                 "writable, on a file system with room");
    else if (strstr(words, "got no connection"))
        snprintf(buf, n,
                 "; Grid Engine began no task there: either its shepherd_cmd is mprun-shepherd, "
                 "and mprund does not answer on that host ('systemctl restart mprund', as root), "
                 "or the file 'messages' of its sge_execd says why");
    else if (!strstr(words, "mpstarter:"))
        snprintf(buf, n,
                 "; 'qhost' shows whether Grid Engine hears of the host, 'qconf -sq %.60s' whether "
                 "a starter_method is run there before mpstarter, the file 'messages' of its "
                 "sge_execd why no task could be begun, as without the job's TMPDIR",
                 queue ? queue : "QUEUE");
}

/* On a busy machine qrsh's last answer finds that the task's shepherd has gone already. */
bool qrsh_is_noise(const char *line)
{
    return strstr(line, "commlib error: got pipe error (closing ") &&
           strstr(line, "/shepherd_ijs/");
}
