/* SPDX-License-Identifier: BSD-3-Clause */
/* srun.c - all starters of a step, or agents of the job, as the tasks of one srun, a task on each
 * node; hosts that have to be started later have another one
 *
 * Observed of Slurm 22.05:
 *
 *   -m arbitrary -w LIST  task i runs on the i-th node of the list, so that SLURM_PROCID counts
 *                         the hosts
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
#include "common/files/fdio.h"
#include "common/log.h"
#include "common/must.h"
#include "common/processes/spawn.h"
#include "common/text/host-name-list.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "rm-adapters/slurm/slurm-private.h"
#include "rm-adapters/slurm/srun-words.h"
#include "rm-adapters/starter-side/starter-side.h"
#include "rm-adapters/tunables.h"

enum { LINE_MAX_BYTES = 65536, PLAIN_LIST_MAX = 100000 }; /* a line may list many tasks */

struct task {
    struct srun *client; /* NULL: none has it */
    bool is_wanted;      /* the next srun is to have it */
    bool is_agent;       /* the job's, and it is there */
    bool has_ended;      /* its event was sent */
    bool is_named;       /* srun has said how it ended: */
    int status;          /* as from waitpid() */
    bool has_reported, has_left, is_given_up;
};

/* A process of srun, which has started some of the hosts. */
struct srun {
    struct srun *next;
    struct starting *of;
    pid_t pid;  /* 0: it has ended */
    int err_fd; /* read end of its standard error; -1: closed */
    struct loop_io *err_io;
    char line[LINE_MAX_BYTES + 1]; /* of that, so far */
    size_t line_bytes;
    char words[600]; /* what srun itself has said before any task */
    bool has_named;  /* it has said how a task ended */
    bool is_termed;
    struct loop_timer words_timer; /* the last words of tasks that have ended */
    struct loop_timer end_timer;   /* ends srun: TERM, then KILL */
    size_t nhosts, nagents;
    size_t hosts[]; /* by number of the task */
};

struct starting {
    struct start_request request;
    char *path;
    struct step_gres gres;
    struct loop_defer turn;
    struct srun *clients;
    bool is_cancelled;
    size_t nhosts;
    struct task tasks[]; /* by host */
};

/* ---- the command ----------------------------------------------------------------------------- */

static const char *const srun_options[] = {
    "-m",        "arbitrary",  "--overlap",   "--mem=0",       "--cpu-bind=none",
    "--no-kill", "--mpi=none", "--input=all", "--output=none", "--kill-on-bad-exit=0",
    "--wait=0",  "--chdir=/",  "--error=all", "--export=ALL",  "--label"};
enum { NOPTIONS = sizeof(srun_options) / sizeof(srun_options[0]), NWORDS = NOPTIONS + 9 };

/* A word of a command has at most 128 KiB: long lists have ranges, "n[1-4]". */
static char *list_nodes(const struct srun *c)
{
    const struct alloc_host *hosts = c->of->request.allocation->hosts;
    AUTO_FREE const char **names = must(calloc(c->nhosts, sizeof(*names)));
    struct text_writer list;
    FILE *out = text_begin(&list);
    for (size_t i = 0; i < c->nhosts; i++) {
        names[i] = hosts[c->hosts[i]].name;
        fprintf(out, "%s%s", i ? "," : "", names[i]);
    }
    AUTO_FREE char *plain = text_end(&list);
    return strlen(plain) < PLAIN_LIST_MAX ? take_ptr(plain) : name_run_word(names, c->nhosts);
}

/* words_free() frees them. */
static char **make_words(const struct srun *c)
{
    const struct start_request *r = &c->of->request;
    const char *job = r->allocation->job_id, *component = strchr(job, '+');
    char **words = must(calloc(NWORDS + 1, sizeof(*words)));
    size_t n = 0;
    words[n++] = must(strdup("srun"));
    for (size_t i = 0; i < NOPTIONS; i++)
        words[n++] = must(strdup(srun_options[i]));
    if (component)
        words[n++] = text_format("--het-group=%s", component + 1);
    words[n++] = text_format("--jobid=%.*s", (int)strcspn(job, "+"), job);
    if (c->of->gres.all)
        words[n++] = text_format("--gres=%s", c->of->gres.all);
    else if (c->of->gres.gpus && c->of->gres.gpus[c->hosts[0]])
        words[n++] = text_format("--gpus=%u", c->of->gres.gpus[c->hosts[0]]);
    words[n++] = text_format("-N%zu", c->nhosts);
    words[n++] = text_format("-n%zu", c->nhosts);
    words[n++] = must(strdup("-w"));
    words[n++] = list_nodes(c);
    words[n++] = must(strdup(r->remote_path));
    return words;
}

/* Every option of srun has a variable of its own, and an outer step leaves many. */
static bool is_for_srun(const char *entry)
{
    static const char *const of_slurm[] = {"SLURM_", "SRUN_", NULL};
    static const char *const kept[] = {
        "SLURM_CONF=", "SLURM_CONF_SERVER=", "SLURM_JWT=", "SLURM_WORKING_CLUSTER=", NULL};
    return !begins_with_any(entry, of_slurm) || begins_with_any(entry, kept);
}

/* The caller frees the array; its entries are those of environ, two of the caller's (the second one
 * may be NULL), and one that Slurm knows from 23.11 on: this step holds nothing of the job, and has
 * all of it. */
static char **make_environment(char *hosts, char *is_agent)
{
    static char is_launcher[] = "SLURM_EXTERNAL_LAUNCHER=1";
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **env = must(calloc(n + 4, sizeof(*env)));
    for (size_t i = 0; i < n; i++)
        if (is_for_srun(environ[i]))
            env[kept++] = environ[i];
    env[kept++] = is_launcher;
    env[kept++] = hosts;
    env[kept++] = is_agent;
    return env;
}

/* The variable by which tasks know their hosts. */
static char *list_hosts(const struct srun *c)
{
    AUTO(idset_free) struct idset hosts = {.words = NULL};
    for (size_t i = 0; i < c->nhosts; i++)
        idset_add(&hosts, (unsigned)c->hosts[i]);
    AUTO_FREE char *list = idset_format(&hosts);
    return text_format(SRUN_HOSTS_VARIABLE "=%s", list);
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

/* The host's task, if it is still this client's; NULL: it is not. */
static struct task *task_of(const struct srun *c, size_t number)
{
    struct task *t = number < c->nhosts ? &c->of->tasks[c->hosts[number]] : NULL;
    return t && t->client == c ? t : NULL;
}

static void host_ended(struct starting *s, size_t host, int status)
{
    s->tasks[host].has_ended = true;
    s->request.event(s->request.arg, host, START_CHANNEL_ENDED, NULL, status, NULL);
}

static bool any_reported(const struct srun *c)
{
    for (size_t i = 0; i < c->nhosts; i++) {
        const struct task *t = task_of(c, i);
        if (!t || t->has_reported || t->has_ended || t->is_named || t->is_agent)
            return true;
    }
    return false;
}

static void tell_host(const struct srun *c, size_t number, const char *text)
{
    const struct starting *s = c->of;
    const struct task *t = task_of(c, number);
    if (!t)
        return;
    if (t->has_ended) {
        log_note("host %s: %s", s->request.allocation->hosts[c->hosts[number]].name, text);
        return;
    }
    s->request.said(s->request.arg, c->hosts[number], text, strlen(text));
    s->request.said(s->request.arg, c->hosts[number], "\n", 1);
}

/* It is the reason why srun ends the other tasks, and so comes first. */
static void not_launched(struct srun *c, struct task *t)
{
    t->is_given_up = true;
    t->is_named = true;
    t->status = W_EXITCODE(1, 0);
    loop_defer_schedule(&c->of->turn);
}

/* With the name of a node it is that host's. Else it may be the reason why no task began. */
static void srun_said(struct srun *c, const char *text)
{
    if (srun_is_noise(text))
        return;
    for (size_t i = 0; i < c->nhosts; i++) {
        if (srun_text_has_name(text, c->of->request.allocation->hosts[c->hosts[i]].name)) {
            tell_host(c, i, text);
            if (strstr(text, "failed on node") && task_of(c, i))
                not_launched(c, task_of(c, i));
            return;
        }
    }
    if (any_reported(c)) {
        log_note("srun: %s", text);
        return;
    }
    size_t n = strlen(c->words);
    snprintf(c->words + n, sizeof(c->words) - n, "%s%s", n ? "; " : "", text);
}

/* The last words of a task may come after the news of its end. */
static void tasks_ended(struct srun *c, const struct srun_line *l)
{
    c->has_named = true;
    for (int i = idset_next(&l->tasks, 0); i >= 0; i = idset_next(&l->tasks, (unsigned)i + 1)) {
        struct task *t = task_of(c, (size_t)i);
        if (t) {
            t->is_named = true;
            t->status = l->status;
        }
    }
    if (!loop_timer_is_active(&c->words_timer))
        loop_timer_start(&c->words_timer, SRUN_WORDS_SECONDS, 0);
}

static void send_named(void *arg)
{
    const struct srun *c = arg;
    for (size_t i = 0; i < c->nhosts; i++) {
        const struct task *t = task_of(c, i);
        if (t && t->is_named && !t->has_ended)
            host_ended(c->of, c->hosts[i], t->status);
    }
}

static void end_line(struct srun *c)
{
    struct srun_line l;
    c->line[c->line_bytes] = 0;
    c->line_bytes = 0;
    if (!c->line[0])
        return;
    srun_line_read(c->line, &l);
    if (l.says == SRUN_TASK_SAID)
        tell_host(c, l.task, l.text);
    else if (l.says == SRUN_TASKS_ENDED)
        tasks_ended(c, &l);
    else
        srun_said(c, l.text);
    idset_free(&l.tasks);
}

static void take(struct srun *c, const char *p, size_t n)
{
    for (; n; p++, n--) {
        if (*p == '\n' || c->line_bytes == LINE_MAX_BYTES)
            end_line(c);
        if (*p != '\n')
            c->line[c->line_bytes++] = *p;
    }
}

static void stop_reading(struct srun *c)
{
    loop_io_destroy(take_ptr(c->err_io));
    cleanup_close(&c->err_fd);
}

static void readable(void *arg, int fd, unsigned events)
{
    struct srun *c = arg;
    char buf[4096];
    ssize_t n = read(fd, buf, sizeof(buf));
    if (n > 0)
        take(c, buf, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        stop_reading(c);
}

/* Reads the rest, without waiting for others that may hold the pipe open. */
static void drain(struct srun *c)
{
    char buf[4096];
    ssize_t n;
    while (c->err_io && (n = read(c->err_fd, buf, sizeof(buf))) > 0)
        take(c, buf, (size_t)n);
    end_line(c);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Nothing that it does is of interest any more. */
static void let_go(struct srun *c)
{
    if (c->pid > 1)
        reaper_remove(c->of->request.reaper, c->pid);
    c->pid = 0;
    loop_timer_stop(&c->end_timer);
    loop_timer_stop(&c->words_timer);
    stop_reading(c);
}

static void starting_free(struct starting *s)
{
    loop_defer_stop(&s->turn);
    while (s->clients) {
        struct srun *c = s->clients;
        s->clients = c->next;
        let_go(c);
        free(c);
    }
    free(s->path);
    step_gres_free(&s->gres);
    free(s);
}

static void fail_all(const struct srun *c, const struct error *err)
{
    struct starting *s = c->of;
    for (size_t i = 0; i < c->nhosts; i++) {
        struct task *t = task_of(c, i);
        if (!t || t->has_ended)
            continue;
        t->has_ended = true;
        s->request.event(s->request.arg, c->hosts[i], START_FAILED, NULL, 0, err);
    }
}

/* No task began: the reason is srun's own, and no host's. */
static void fail_as_said(const struct srun *c)
{
    char advice[300];
    struct error e;
    srun_advise(c->words, advice, sizeof(advice));
    error_set(&e, ECANCELED, "start the starters by srun: %s%s", c->words, advice);
    fail_all(c, &e);
}

/* srun names tasks that fail. Of the others it says nothing, so those that have reported back have
 * ended well if any was named. */
static void srun_ended(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct srun *c = arg;
    c->pid = 0;
    drain(c);
    let_go(c);
    if (c->words[0] && !any_reported(c) && status != 0) {
        fail_as_said(c);
        return;
    }
    if (WIFSIGNALED(status) && !c->is_termed)
        log_note("srun (pid %d) was killed by SIG%s", (int)pid, sigabbrev_np(WTERMSIG(status)));
    for (size_t i = 0; i < c->nhosts; i++) {
        const struct task *t = task_of(c, i);
        bool is_well = t && t->has_reported && c->has_named && !WIFSIGNALED(status);
        if (t && !t->has_ended)
            host_ended(c->of, c->hosts[i], t->is_named ? t->status : is_well ? 0 : status);
    }
}

static void end_srun(void *arg)
{
    struct srun *c = arg;
    if (c->pid > 1)
        kill(c->pid, c->is_termed ? SIGKILL : SIGTERM);
    c->is_termed = true;
    loop_timer_start(&c->end_timer, CLIENT_KILL_SECONDS, 0);
}

/* srun ends by itself with its last task. It is ended where only tasks are left that nobody waits
 * for. */
static void end_if_over(struct srun *c)
{
    bool has_any = false, has_gone = false;
    for (size_t i = 0; i < c->nhosts; i++) {
        const struct task *t = task_of(c, i);
        bool is_unwanted = !t || t->is_given_up || (c->of->is_cancelled && !t->has_reported);
        if (t && !t->has_ended && !t->has_left && !is_unwanted)
            return;
        has_any |= is_unwanted;
        has_gone |= t && t->has_left;
    }
    if (c->pid && has_any && !loop_timer_is_active(&c->end_timer))
        loop_timer_start(&c->end_timer, has_gone ? SRUN_END_SECONDS : 0, 0);
}

/* ---- the beginning --------------------------------------------------------------------------- */

/* Start parameters, which all tasks read. The step's key is among them. An srun that has ended
 * before it took them says why on its standard error, as one that ends later. */
static int write_preamble(const struct starting *s, int fd, struct error *err)
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
static int spawn_srun(struct srun *c, char *const argv[], char *const env[], struct error *err)
{
    struct starting *s = c->of;
    struct spawn words;
    int ends[3];
    spawn_init(&words);
    words.path = s->path;
    words.argv = argv;
    words.envp = env;
    words.fds[0] = words.fds[2] = SPAWN_PIPE;
    words.new_session = 1;
    words.limits = s->request.soft_limits;
    words.umask = s->request.umask;
    c->pid = spawn_piped(words, ends, err);
    if (c->pid < 0) {
        c->pid = 0;
        return -1;
    }
    AUTO_CLOSE int in_fd = ends[0];
    c->err_fd = ends[2];
    fd_set_nonblock(c->err_fd, 1);
    c->err_io = loop_io_create(s->request.loop, c->err_fd, LOOP_READ, readable, c);
    reaper_add(s->request.reaper, c->pid, srun_ended, c);
    return write_preamble(s, in_fd, err);
}

static int begin(struct srun *c, bool is_agent, struct error *err)
{
    static char as_agent[] = START_AS_AGENT "=1";
    AUTO_FREE char *hosts = list_hosts(c);
    AUTO_FREE char **env = make_environment(hosts, is_agent ? as_agent : NULL);
    char **argv = make_words(c);
    int rc = spawn_srun(c, argv, env, err);
    words_free(argv);
    return rc < 0 ? error_context(err, "start the starters by srun") : 0;
}

static bool is_agent(const struct starting *s, size_t host)
{
    return s->request.is_agent(s->request.arg, host);
}

/* Makes an srun for the first wanted host and, unless each needs one of its own, all that are
 * wanted in the same way: as agents, or not. */
static struct srun *take_wanted(struct starting *s, size_t first)
{
    struct srun *c = must(calloc(1, sizeof(*c) + (s->nhosts - first) * sizeof(c->hosts[0])));
    *c = (struct srun){.next = s->clients, .of = s, .err_fd = -1};
    s->clients = c;
    loop_timer_init(&c->end_timer, s->request.loop, end_srun, c);
    loop_timer_init(&c->words_timer, s->request.loop, send_named, c);
    for (size_t i = first; i < s->nhosts; i++)
        if (s->tasks[i].is_wanted && is_agent(s, i) == is_agent(s, first) &&
            (i == first || !s->gres.gpus)) {
            s->tasks[i] = (struct task){.client = c};
            c->hosts[c->nhosts++] = i;
        }
    return c;
}

/* Starts hosts that are wanted; `first` is the first of them. */
static void start_some(struct starting *s, size_t first)
{
    struct error e = {0};
    struct srun *c = take_wanted(s, first);
    if (s->is_cancelled) {
        error_set(&e, ECANCELED, "not begun, because the start was cancelled");
        fail_all(c, &e);
    } else if (begin(c, is_agent(s, first), &e) < 0) {
        fail_all(c, &e);
    } else {
        const struct start_channel channel = {
            .in_fd = -1, .out_fd = -1, .err_fd = -1, .pid = c->pid};
        for (size_t i = 0; i < c->nhosts; i++)
            s->request.event(s->request.arg, c->hosts[i], START_CHANNEL_OPEN, &channel, 0, NULL);
    }
}

/* Hosts that were given up: nothing is known of their tasks. */
static void turn(void *arg)
{
    struct starting *s = arg;
    for (size_t i = 0; i < s->nhosts; i++)
        if (s->tasks[i].is_wanted && s->request.is_elsewhere(s->request.arg, i))
            s->tasks[i].is_wanted = false;
    for (size_t i = 0; i < s->nhosts; i++)
        if (s->tasks[i].is_wanted)
            start_some(s, i);
    for (struct srun *c = s->clients; c; c = c->next)
        end_if_over(c);
    for (size_t i = 0; i < s->nhosts; i++) {
        const struct task *t = &s->tasks[i];
        if (t->is_given_up && t->client && !t->has_ended)
            host_ended(s, i, t->is_named ? t->status : SIGKILL);
    }
}

struct starting *srun_start(const struct start_request *request, struct error *err)
{
    size_t n = request->allocation->nhosts;
    struct starting *s = must(calloc(1, sizeof(*s) + n * sizeof(s->tasks[0])));
    s->request = *request;
    s->nhosts = n;
    loop_defer_init(&s->turn, request->loop, turn, s);
    if (spawn_resolve("srun", environ, NULL, &s->path, err) < 0) {
        error_context(err, "start the starters by srun");
        starting_free(s);
        return NULL;
    }
    slurm_step_gres(request->allocation, &s->gres);
    for (size_t i = 0; i < n; i++)
        srun_retry(s, i);
    return s;
}

/* ---- what the launcher tells ----------------------------------------------------------------- */

void srun_retry(struct starting *s, size_t host)
{
    s->tasks[host] = (struct task){.is_wanted = true};
    loop_defer_schedule(&s->turn);
}

/* Of one srun all hosts, or none. Its shepherd would end the step, should its messages have no
 * reader. */
bool srun_hand_over(struct starting *s, size_t host, int *ret_fd)
{
    struct task *t = &s->tasks[host];
    struct srun *c = t->client;
    *ret_fd = -1;
    if (!c)
        return false;
    c->nagents += !t->is_agent;
    t->is_agent = true;
    if (c->nagents < c->nhosts)
        return false;
    t->has_ended = true;
    if (c->err_fd >= 0) {
        *ret_fd = fcntl(c->err_fd, F_DUPFD_CLOEXEC, 3);
        let_go(c);
    }
    return true;
}

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
    for (const struct srun *c = s ? s->clients : NULL; c; c = c->next)
        if (c->pid > 1)
            kill(c->pid, SIGKILL);
    if (s)
        starting_free(s);
}
