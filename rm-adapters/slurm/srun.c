/* SPDX-License-Identifier: BSD-3-Clause */
/* srun.c - all starters of a step as the tasks of one srun, a task on each node
 *
 * Observed of Slurm 22.05:
 *
 *   -m arbitrary -w LIST  task i runs on the i-th node of the list, so that SLURM_PROCID is the
 *                         number of the host
 *   --overlap --mem=0     (and SLURM_EXTERNAL_LAUNCHER, which newer ones know) the user's own srun
 * runs beside it, and it runs beside that
 *   --cpu-bind=none       a task has all cores of the job on its node; never -c and --exact, which
 *                         take some away
 *   --mpi=none            Slurm starts no PMI server of its own
 *   --kill-on-bad-exit=0 --wait=0 --no-kill
 *                         tasks end by themselves; mprun decides what the end of one means
 *   --input=all           the start parameters go to all tasks; srun waits with them until all run
 *   --output=none         a TaskProlog's words must not be taken for the starter's
 *
 * TERM makes srun kill its tasks at once, so it is sent only when no starter needs time to clean
 * up. A shepherd process ends the step if srun itself is killed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/spawn.h"
#include "common/words.h"
#include "rm-adapters/slurm/slurm-private.h"
#include "rm-adapters/slurm/srun-words.h"
#include "rm-adapters/tunables.h"

enum { LINE_MAX_BYTES = 1024 };

struct task {
    bool has_ended; /* its event was sent */
    bool is_named;  /* srun has said how it ended: */
    int status;
    bool is_given_up, has_reported, has_left;
};

struct starting {
    struct start_request request;
    char *path;
    char **argv, **env; /* of srun */
    pid_t pid;          /* 0: srun does not run */
    int err_fd;         /* read end of its standard error; -1: closed */
    struct loop_io *err_io;
    char line[LINE_MAX_BYTES + 1]; /* of that, so far */
    size_t line_bytes;
    char words[600]; /* what srun itself has said before any task */
    bool has_named;  /* it has said how a task ended */
    struct loop_defer turn;
    struct loop_timer words_timer; /* the last words of tasks that have ended */
    struct loop_timer end_timer;   /* ends srun: TERM, then KILL */
    bool has_begun, is_cancelled, is_termed;
    size_t nhosts;
    struct task tasks[]; /* by host, which is the number of the task */
};

/* ---- the command ----------------------------------------------------------------------------- */

static const char *const srun_options[] = {
    "-m",        "arbitrary",  "--overlap",   "--mem=0",       "--cpu-bind=none",
    "--no-kill", "--mpi=none", "--input=all", "--output=none", "--kill-on-bad-exit=0",
    "--wait=0",  "--chdir=/",  "--error=all", "--export=ALL",  "--label"};
enum { NOPTIONS = sizeof(srun_options) / sizeof(srun_options[0]), NWORDS = NOPTIONS + 8 };

static char *list_nodes(const struct allocation *a)
{
    size_t size = 1;
    for (size_t i = 0; i < a->nhosts; i++)
        size += strlen(a->hosts[i].name) + 1;
    char *list = malloc(size), *at = list;
    for (size_t i = 0; list && i < a->nhosts; i++) {
        at = stpcpy(at, i ? "," : "");
        at = stpcpy(at, a->hosts[i].name);
    }
    return list;
}

/* NULL: out of memory. words_free() frees it. */
static char **make_words(const struct start_request *r)
{
    const char *job = r->allocation->job_id, *component = strchr(job, '+');
    char **words = calloc(NWORDS + 1, sizeof(*words));
    size_t n = 0;
    bool ok = words && (words[n++] = strdup("srun"));
    for (size_t i = 0; ok && i < NOPTIONS; i++)
        ok = (words[n++] = strdup(srun_options[i]));
    if (ok && component)
        ok = asprintf(&words[n++], "--het-group=%s", component + 1) > 0;
    ok = ok && asprintf(&words[n++], "--jobid=%.*s", (int)strcspn(job, "+"), job) > 0 &&
         asprintf(&words[n++], "-N%zu", r->allocation->nhosts) > 0 &&
         asprintf(&words[n++], "-n%zu", r->allocation->nhosts) > 0 && (words[n++] = strdup("-w")) &&
         (words[n++] = list_nodes(r->allocation)) && (words[n++] = strdup(r->remote_path));
    if (ok)
        return words;
    words_free(words);
    return NULL;
}

/* Every option of srun has a variable of its own, and an outer step leaves many. */
static bool is_for_srun(const char *entry)
{
    static const char *const kept[] = {"SLURM_CONF=", "SLURM_JWT=", "SLURM_WORKING_CLUSTER="};
    if (strncmp(entry, "SLURM_", 6) != 0 && strncmp(entry, "SRUN_", 5) != 0)
        return true;
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (strncmp(entry, kept[i], strlen(kept[i])) == 0)
            return true;
    return false;
}

/* NULL: out of memory. The caller frees the array; its entries are those of environ, and one that
 * Slurm knows from 23.11 on: this step holds nothing of the job, and has all of it. */
static char **make_environment(void)
{
    static char is_launcher[] = "SLURM_EXTERNAL_LAUNCHER=1";
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **env = calloc(n + 2, sizeof(*env));
    for (size_t i = 0; env && i < n; i++)
        if (is_for_srun(environ[i]))
            env[kept++] = environ[i];
    if (env)
        env[kept] = is_launcher;
    return env;
}

void srun_describe(const struct start_request *request, const struct alloc_host *host, char *buf,
                   size_t n)
{
    snprintf(buf, n, "by one srun for all hosts: srun --overlap --mem=0 ... -w %s %s", host->name,
             request->remote_path);
}

/* ---- what srun says -------------------------------------------------------------------------- */

bool srun_is_noise(const char *line)
{
    static const char *const noise[] = {"Job step aborted",
                                        "Force Terminated",
                                        "forcing job termination",
                                        "Terminating StepId",
                                        "got SIGCONT",
                                        "Terminating job step",
                                        "Timed out waiting for job step to complete"};
    for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++)
        if (strstr(line, noise[i]))
            return true;
    return false;
}

void srun_advise(const char *words, char *buf, size_t n)
{
    const char *what = "";
    if (strstr(words, "Memory required by task is not available") ||
        strstr(words, "Requested nodes are busy"))
        what = "; another step of the job holds them: start that one with 'srun --overlap'";
    else if (strstr(words, "Invalid job id") || strstr(words, "already completing or completed"))
        what = "; the job that SLURM_JOB_ID names is over: start mprun in a job, or with --rm";
    else if (strstr(words, "Communication connection failure") ||
             strstr(words, "Unable to contact slurm controller"))
        what = "; 'sinfo -N -l' shows the state of the nodes";
    else if (strstr(words, "execve(): "))
        what = "; install mprun in the same place on all nodes, or say with --prefix where it is";
    snprintf(buf, n, "%s", what);
}

static void host_ended(struct starting *s, size_t host, int status)
{
    s->tasks[host].has_ended = true;
    s->request.event(s->request.arg, host, START_CHANNEL_ENDED, NULL, status, NULL);
}

static bool any_reported(const struct starting *s)
{
    for (size_t i = 0; i < s->nhosts; i++)
        if (s->tasks[i].has_reported || s->tasks[i].has_ended || s->tasks[i].is_named)
            return true;
    return false;
}

static void tell_host(struct starting *s, size_t host, const char *text)
{
    if (host >= s->nhosts || s->tasks[host].has_ended)
        return;
    s->request.said(s->request.arg, host, text, strlen(text));
    s->request.said(s->request.arg, host, "\n", 1);
}

/* It is the reason why srun ends the other tasks, and so comes first. */
static void not_launched(struct starting *s, size_t host)
{
    s->tasks[host].is_given_up = true;
    s->tasks[host].is_named = true;
    s->tasks[host].status = W_EXITCODE(1, 0);
    loop_defer_schedule(&s->turn);
}

/* With the name of a node it is that host's. Else it may be the reason why no task began. */
static void srun_said(struct starting *s, const char *text)
{
    if (srun_is_noise(text))
        return;
    for (size_t i = 0; i < s->nhosts; i++) {
        if (srun_text_has_name(text, s->request.allocation->hosts[i].name)) {
            tell_host(s, i, text);
            if (strstr(text, "failed on node"))
                not_launched(s, i);
            return;
        }
    }
    if (any_reported(s)) {
        log_note("srun: %s", text);
        return;
    }
    size_t n = strlen(s->words);
    snprintf(s->words + n, sizeof(s->words) - n, "%s%s", n ? "; " : "", text);
}

/* The last words of a task may come after the news of its end. */
static void tasks_ended(struct starting *s, const struct srun_line *l)
{
    s->has_named = true;
    for (int i = idset_next(&l->tasks, 0); i >= 0 && (size_t)i < s->nhosts;
         i = idset_next(&l->tasks, (unsigned)i + 1)) {
        s->tasks[i].is_named = true;
        s->tasks[i].status = l->status;
    }
    if (!loop_timer_is_active(&s->words_timer))
        loop_timer_start(&s->words_timer, SRUN_WORDS_SECONDS, 0);
}

static void send_named(void *arg)
{
    struct starting *s = arg;
    for (size_t i = 0; i < s->nhosts; i++) {
        const struct task *t = &s->tasks[i];
        if (t->is_named && !t->has_ended)
            host_ended(s, i, t->status);
    }
}

static void end_line(struct starting *s)
{
    struct srun_line l;
    s->line[s->line_bytes] = 0;
    s->line_bytes = 0;
    if (!s->line[0])
        return;
    srun_line_read(s->line, &l);
    if (l.says == SRUN_TASK_SAID)
        tell_host(s, l.task, l.text);
    else if (l.says == SRUN_TASKS_ENDED)
        tasks_ended(s, &l);
    else
        srun_said(s, l.text);
    idset_free(&l.tasks);
}

static void take(struct starting *s, const char *p, size_t n)
{
    for (; n; p++, n--) {
        if (*p == '\n' || s->line_bytes == LINE_MAX_BYTES)
            end_line(s);
        if (*p != '\n')
            s->line[s->line_bytes++] = *p;
    }
}

static void stop_reading(struct starting *s)
{
    loop_io_destroy(take_ptr(s->err_io));
    cleanup_close(&s->err_fd);
    s->err_fd = -1;
}

static void readable(void *arg, int fd, unsigned events)
{
    struct starting *s = arg;
    char buf[4096];
    ssize_t n = read(fd, buf, sizeof(buf));
    if (n > 0)
        take(s, buf, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        stop_reading(s);
}

/* Reads the rest, without waiting for others that may hold the pipe open. */
static void drain(struct starting *s)
{
    char buf[4096];
    ssize_t n;
    while (s->err_io && (n = read(s->err_fd, buf, sizeof(buf))) > 0)
        take(s, buf, (size_t)n);
    end_line(s);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void starting_free(struct starting *s)
{
    loop_defer_stop(&s->turn);
    loop_timer_stop(&s->end_timer);
    loop_timer_stop(&s->words_timer);
    stop_reading(s);
    free(s->path);
    words_free(s->argv);
    free(s->env);
    free(s);
}

static void fail_all(struct starting *s, const struct error *err)
{
    for (size_t i = 0; i < s->nhosts; i++) {
        if (s->tasks[i].has_ended)
            continue;
        s->tasks[i].has_ended = true;
        s->request.event(s->request.arg, i, START_FAILED, NULL, 0, err);
    }
}

/* No task began: the reason is srun's own, and no host's. */
static void fail_as_said(struct starting *s)
{
    char advice[300];
    struct error e;
    srun_advise(s->words, advice, sizeof(advice));
    error_set(&e, ECANCELED, "start the starters by srun: %s%s", s->words, advice);
    fail_all(s, &e);
}

/* srun names tasks that fail. Of the others it says nothing, so those that have reported back have
 * ended well if any was named. */
static void srun_ended(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct starting *s = arg;
    s->pid = 0;
    loop_timer_stop(&s->end_timer);
    drain(s);
    loop_timer_stop(&s->words_timer);
    stop_reading(s);
    if (s->words[0] && !any_reported(s) && status != 0) {
        fail_as_said(s);
        return;
    }
    if (WIFSIGNALED(status) && !s->is_termed)
        log_note("srun (pid %d) was killed by SIG%s", (int)pid, sigabbrev_np(WTERMSIG(status)));
    for (size_t i = 0; i < s->nhosts; i++) {
        const struct task *t = &s->tasks[i];
        bool is_well = t->has_reported && s->has_named && !WIFSIGNALED(status);
        if (!t->has_ended)
            host_ended(s, i, t->is_named ? t->status : is_well ? 0 : status);
    }
}

static void end_srun(void *arg)
{
    struct starting *s = arg;
    if (s->pid > 1)
        kill(s->pid, s->is_termed ? SIGKILL : SIGTERM);
    s->is_termed = true;
    loop_timer_start(&s->end_timer, CLIENT_KILL_SECONDS, 0);
}

/* srun ends by itself with its last task. It is ended where only tasks are left that nobody waits
 * for. */
static void end_if_over(struct starting *s)
{
    bool has_any = false, has_gone = false;
    for (size_t i = 0; i < s->nhosts; i++) {
        const struct task *t = &s->tasks[i];
        bool is_unwanted = t->is_given_up || (s->is_cancelled && !t->has_reported);
        if (!t->has_ended && !t->has_left && !is_unwanted)
            return;
        has_any |= is_unwanted;
        has_gone |= t->has_left;
    }
    if (s->pid && has_any && !loop_timer_is_active(&s->end_timer))
        loop_timer_start(&s->end_timer, has_gone ? SRUN_END_SECONDS : 0, 0);
}

/* ---- the beginning --------------------------------------------------------------------------- */

/* Start parameters, which all tasks read. The step's key is among them. An srun that has ended
 * before it took them says why on its standard error, as one that ends later. */
static int write_preamble(struct starting *s, int fd, struct error *err)
{
    uint8_t preamble[START_PREAMBLE_MAX];
    int n = s->request.preamble(s->request.arg, preamble, err);
    int rc = n < 0 ? -1 : fd_write_all(fd, preamble, (size_t)n);
    int why = errno;
    explicit_bzero(preamble, sizeof(preamble));
    if (n < 0)
        return -1;
    return rc == 0 || why == EPIPE ? 0 : error_errno(err, why, "write the start parameters");
}

/* In a session of its own: no ^C of a terminal reaches it. */
static int spawn_srun(struct starting *s, struct error *err)
{
    struct spawn words;
    int ends[3];
    spawn_init(&words);
    words.path = s->path;
    words.argv = s->argv;
    words.envp = s->env;
    words.fds[0] = words.fds[2] = SPAWN_PIPE;
    words.new_session = 1;
    words.limits = s->request.soft_limits;
    words.umask = s->request.umask;
    s->pid = spawn_piped(words, ends, err);
    if (s->pid < 0) {
        s->pid = 0;
        return -1;
    }
    AUTO_CLOSE int in_fd = ends[0];
    s->err_fd = ends[2];
    fd_set_nonblock(s->err_fd, 1);
    s->err_io = loop_io_create(s->request.loop, s->err_fd, LOOP_READ, readable, s);
    if (!s->err_io || reaper_add(s->request.reaper, s->pid, srun_ended, s) < 0) {
        kill(s->pid, SIGKILL);
        s->pid = 0;
        return error_errno(err, ENOMEM, "keep the process of srun");
    }
    return write_preamble(s, in_fd, err);
}

static void begin(struct starting *s)
{
    struct error e = {0};
    s->has_begun = true;
    if (s->is_cancelled) {
        error_set(&e, ECANCELED, "not begun, because the start was cancelled");
        fail_all(s, &e);
    } else if (spawn_srun(s, &e) < 0) {
        error_context(&e, "start the starters by srun");
        fail_all(s, &e);
    } else {
        const struct start_channel channel = {
            .in_fd = -1, .out_fd = -1, .err_fd = -1, .pid = s->pid};
        for (size_t i = 0; i < s->nhosts; i++)
            s->request.event(s->request.arg, i, START_CHANNEL_OPEN, &channel, 0, NULL);
    }
}

/* Hosts that were given up: nothing is known of their tasks. */
static void turn(void *arg)
{
    struct starting *s = arg;
    if (!s->has_begun) {
        begin(s);
        return;
    }
    end_if_over(s);
    for (size_t i = 0; i < s->nhosts; i++) {
        const struct task *t = &s->tasks[i];
        if (t->is_given_up && !t->has_ended)
            host_ended(s, i, t->is_named ? t->status : SIGKILL);
    }
}

struct starting *srun_start(const struct start_request *request, struct error *err)
{
    size_t n = request->allocation->nhosts;
    struct starting *s = calloc(1, sizeof(*s) + n * sizeof(s->tasks[0]));
    if (!s) {
        error_errno(err, ENOMEM, "start starters");
        return NULL;
    }
    s->request = *request;
    s->nhosts = n;
    s->err_fd = -1;
    loop_defer_init(&s->turn, request->loop, turn, s);
    loop_timer_init(&s->end_timer, request->loop, end_srun, s);
    loop_timer_init(&s->words_timer, request->loop, send_named, s);
    s->argv = make_words(request);
    s->env = make_environment();
    int rc = s->argv && s->env ? spawn_resolve("srun", environ, NULL, &s->path, err)
                               : error_errno(err, ENOMEM, "start starters");
    if (rc < 0) {
        error_context(err, "start the starters by srun");
        starting_free(s);
        return NULL;
    }
    loop_defer_schedule(&s->turn);
    return s;
}

/* ---- what the launcher tells ----------------------------------------------------------------- */

void srun_cancel(struct starting *s)
{
    s->is_cancelled = true;
    loop_defer_schedule(&s->turn);
}

void srun_reported(struct starting *s, size_t host)
{
    s->tasks[host].has_reported = true;
}

void srun_left(struct starting *s, size_t host)
{
    s->tasks[host].has_left = true;
    loop_defer_schedule(&s->turn);
}

void srun_abandon(struct starting *s, size_t host)
{
    s->tasks[host].is_given_up = true;
    loop_defer_schedule(&s->turn);
}

/* With srun killed, its shepherd ends what is left of the step. */
void srun_destroy(struct starting *s)
{
    if (s && s->pid > 1) {
        reaper_remove(s->request.reaper, s->pid);
        kill(s->pid, SIGKILL);
    }
    if (s)
        starting_free(s);
}
