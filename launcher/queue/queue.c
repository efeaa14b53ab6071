/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/queue/queue.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/files/tty.h"
#include "launcher/cmdline/cmdline.h"
#include "launcher/hosts/host-links.h"
#include "launcher/io/output.h"
#include "launcher/outcome/exit-code.h"
#include "launcher/outcome/rank-failures.h"
#include "launcher/outcome/verdict.h"
#include "launcher/queue/command-list.h"
#include "launcher/queue/joblog.h"
#include "launcher/worlds/spawn.h"
#include "launcher/worlds/worlds.h"

enum command_state { COMMAND_DUE, COMMAND_RUNNING, COMMAND_SUCCEEDED, COMMAND_FAILED };

struct command {
    SLIST_ENTRY(command) list; /* of those that run */
    enum command_state state;
    uint32_t world;    /* while it runs */
    int64_t host;      /* of its first rank; -1: not known */
    uint32_t failures; /* how often it has failed */
    bool has_failed;   /* this time; end and why say how */
    bool has_aborted;  /* this time: how ranks end after that does not count */
    struct rank_end end;
    char *why; /* a sentence; NULL: it has not failed */
    uint64_t start_ns;
};

struct queue {
    const struct queue_options *options;
    bool is_run;     /* false with --explain: the joblog stays as it is */
    bool goes_on;    /* the other ranks of a command of which one fails (--enable-recovery) */
    uint32_t nranks; /* of each command; 0: not known before the plan is made */
    struct command_list list;
    struct command *commands; /* as many as in the list */
    SLIST_HEAD(, command) running;
    size_t first; /* commands before it are not due */
    size_t nrunning, nsucceeded, nfailed;
    bool may_start; /* slots may have become free since the last look */
    char variable[48];
    const char *variables[1];
    long log_size; /* --resume: of what is kept of it */
    FILE *log;
    struct queue_step step;
};

static size_t number_of(const struct queue *q, const struct command *c)
{
    return (size_t)(c - q->commands) + 1;
}

/* ---- before the step ------------------------------------------------------------------------- */

/* --resume */
static int take_succeeded(void *arg, const struct joblog_line *l, struct error *err)
{
    struct queue *q = arg;
    if (l->number > q->list.n || strcmp(q->list.commands[l->number - 1].text, l->command) != 0)
        return error_set(err, EINVAL,
                         "command %zu was '%.60s', and is %s%.60s%s now; --resume needs the queue "
                         "that the joblog was written for",
                         l->number, l->command, l->number > q->list.n ? "missing" : "'",
                         l->number > q->list.n ? "" : q->list.commands[l->number - 1].text,
                         l->number > q->list.n ? "" : "'");
    struct command *c = &q->commands[l->number - 1];
    if (l->code == 0 && l->signal == 0 && c->state == COMMAND_DUE) {
        c->state = COMMAND_SUCCEEDED;
        q->nsucceeded++;
    }
    return 0;
}

static struct command *next_due(struct queue *q)
{
    while (q->first < q->list.n && q->commands[q->first].state != COMMAND_DUE)
        q->first++;
    return q->first < q->list.n ? &q->commands[q->first] : NULL;
}

/* The command's number goes into the environment of its ranks. */
static void set_variable(struct queue *q, const struct command *c)
{
    snprintf(q->variable, sizeof(q->variable), "MPRUN_QUEUE_NUMBER=%zu", number_of(q, c));
    q->variables[0] = q->variable;
}

static void take_first(struct queue *q, struct cmdline *c)
{
    struct command *first = next_due(q);
    uint64_t all = (uint64_t)(q->list.n - q->nsucceeded) * (c->nranks ? c->nranks : 1);
    struct cmdline_app *app = c->apps;
    if (!first)
        return;
    set_variable(q, first);
    app->argv = q->list.commands[first - q->commands].argv;
    for (app->argc = 0; app->argv[app->argc];)
        app->argc++;
    if (!c->place.universe) /* hosts that have no rank of the first command get others' */
        c->place.universe =
            c->nranks && all < CMDLINE_RANKS_MAX ? (uint32_t)all : CMDLINE_RANKS_MAX;
    cmdline_add_variable(app, q->variable);
}

static bool are_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int queue_create(struct cmdline *c, struct queue **ret, struct error *err)
{
    const struct queue_options *o = &c->queue;
    *ret = NULL;
    if (!o->from)
        return 0;
    struct queue *q = *ret = must(calloc(1, sizeof(*q)));
    q->options = o;
    q->is_run = !c->explain;
    q->goes_on = c->recovery;
    if (o->log && are_same_file(o->from, o->log))
        return error_set(err, EINVAL,
                         "--joblog '%.200s' is the file of --queue, and would replace it; name "
                         "another",
                         o->log);
    if (command_list_read(o->from, c->apps[0].argv, c->apps[0].argc, &q->list, err) < 0)
        return -1;
    q->commands = must(calloc(q->list.n + 1, sizeof(*q->commands)));
    if (o->resume && joblog_read(o->log, take_succeeded, q, &q->log_size, err) < 0)
        return error_context(err, "--resume");
    take_first(q, c);
    return 0;
}

void queue_destroy(struct queue *q)
{
    if (!q)
        return;
    for (size_t i = 0; q->commands && i < q->list.n; i++)
        free(q->commands[i].why);
    free(q->commands);
    command_list_free(&q->list);
    if (q->log)
        fclose(q->log);
    free(q);
}

bool queue_has_commands(const struct queue *q)
{
    return !q || q->nsucceeded < q->list.n;
}

/* ---- commands that begin --------------------------------------------------------------------- */

static void has_begun(struct queue *q, struct command *c, uint32_t world)
{
    c->state = COMMAND_RUNNING;
    c->world = world;
    c->host = worlds_host_of(q->step.worlds, (struct rank_name){.world = world});
    c->has_failed = false;
    c->has_aborted = false;
    c->start_ns = loop_wallclock_ns();
    SLIST_INSERT_HEAD(&q->running, c, list);
    q->nrunning++;
}

int queue_begin(struct queue *q, const struct queue_step *step, struct error *err)
{
    if (!q)
        return 0;
    q->step = *step;
    q->nranks = step->worlds->nranks;
    mode_t own = umask((mode_t)step->hosts->plan->step.umask); /* the file is the user's */
    if (q->is_run && q->options->log)
        q->log = joblog_open(q->options->log, q->log_size, err);
    umask(own);
    if (q->is_run && q->options->log && !q->log)
        return error_context(err, "--joblog");
    has_begun(q, next_due(q), 0);
    q->may_start = true;
    return 0;
}

static void show_progress(const struct queue *q)
{
    char line[100];
    if (!q->options->progress || !tty_is_foreground(STDERR_FILENO))
        return;
    snprintf(line, sizeof(line), "mprun: %zu of %zu done, %zu running, %zu failed",
             q->nsucceeded + q->nfailed, q->list.n, q->nrunning, q->nfailed);
    output_progress(q->step.output, line);
}

/* False: there is no room for it now. */
static bool start(struct queue *q, struct command *c)
{
    const struct listed_command *listed = &q->list.commands[c - q->commands];
    struct error err;
    uint32_t world;
    set_variable(q, c);
    if (spawner_start(q->step.spawner, listed->argv, q->variables, 1, q->nranks, &world, &err) <
        0) {
        if (q->nrunning == 0) /* and never will be */
            verdict_fail(q->step.verdict, EXIT_CODE_MPRUN, "command %zu ('%.60s'): %s",
                         number_of(q, c), listed->text, err.text);
        return false;
    }
    has_begun(q, c, world);
    return true;
}

void queue_turn(struct queue *q)
{
    struct command *c;
    if (!q || !q->may_start || verdict_is_ending(q->step.verdict))
        return;
    q->may_start = false;
    while ((c = next_due(q)) && start(q, c))
        ;
    show_progress(q);
}

bool queue_is_done(const struct queue *q)
{
    return !q || (q->nrunning == 0 && q->nsucceeded + q->nfailed == q->list.n);
}

/* ---- commands that end ----------------------------------------------------------------------- */

/* NULL: none runs there. */
static struct command *find_running(const struct queue *q, uint32_t world)
{
    struct command *c = SLIST_FIRST(&q->running);
    while (c && c->world != world)
        c = SLIST_NEXT(c, list);
    return c;
}

static void kill_worlds(const struct queue *q, uint32_t root)
{
    for (struct world *w = q->step.worlds->first; w; w = w->next)
        if (w->root == root)
            spawner_kill(q->step.spawner, w);
}

static void note_failure(struct queue *q, struct command *c, const struct rank_end *end)
{
    char text[1200];
    c->has_failed = true;
    c->end = *end;
    c->failures++;
    rank_failures_describe(q->step.failures, end, text, sizeof(text));
    free(c->why);
    c->why = must(strdup(text));
}

bool queue_rank_ended(struct queue *q, const struct world *w, const struct rank_end *end,
                      bool counts)
{
    if (!q || verdict_is_ending(q->step.verdict))
        return false;
    /* whatever it says of the write that failed: programs may handle SIGPIPE */
    if (counts && q->step.failures->reader_left && exit_code_of_rank(end))
        return false;
    struct command *c = find_running(q, w->root);
    q->may_start = true;
    if (!c || c->has_failed || c->has_aborted || !counts || end->cause == END_OK ||
        end->cause == END_KILLED)
        return true;
    c->has_aborted = end->cause == END_ABORT;
    if (exit_code_of_rank(end)) /* an abort may be none */
        note_failure(q, c, end);
    if (!q->goes_on)
        kill_worlds(q, w->root);
    return true;
}

static void say_failure(struct queue *q, const struct command *c, bool is_last)
{
    char text[1500], then[60] = "";
    if (!is_last)
        snprintf(then, sizeof(then), "; it is run again (%" PRIu32 " of %" PRIu32 ")", c->failures,
                 q->options->retries);
    snprintf(text, sizeof(text), "command %zu ('%.60s'): %s%s", number_of(q, c),
             q->list.commands[c - q->commands].text, c->why ? c->why : "a rank failed", then);
    if (is_last)
        rank_failures_lose(q->step.failures, &c->end, text);
    else
        log_warn("%s", text);
}

static void write_log(struct queue *q, const struct command *c)
{
    int code = c->has_failed ? exit_code_of_rank(&c->end) : 0;
    bool is_signal = c->has_failed && (c->end.cause == END_SIGNAL || c->end.cause == END_LIMIT);
    const struct joblog_line l = {
        .number = number_of(q, c),
        .host = c->host < 0 ? "-" : q->step.hosts->plan->used.hosts[c->host].name,
        .start_ns = c->start_ns,
        .end_ns = loop_wallclock_ns(),
        .code = is_signal ? 0 : code,
        .signal = is_signal ? c->end.code : 0,
        .command = q->list.commands[c - q->commands].text,
    };
    if (!q->log || joblog_write(q->log, &l) == 0)
        return;
    verdict_fail(q->step.verdict, EXIT_CODE_MPRUN, "write the joblog '%.200s': %s", q->options->log,
                 strerror(errno));
}

static bool is_over(const struct queue *q, uint32_t root)
{
    for (const struct world *w = q->step.worlds->first; w; w = w->next)
        if (w->root == root && w->ended < w->nranks)
            return false;
    return true;
}

void queue_world_ended(struct queue *q, const struct world *w)
{
    struct command *c = q ? find_running(q, w->root) : NULL;
    if (!c || verdict_is_ending(q->step.verdict) || !is_over(q, w->root))
        return;
    SLIST_REMOVE(&q->running, c, command, list);
    q->nrunning--;
    q->may_start = true;
    bool is_last = !c->has_failed || c->failures > q->options->retries;
    if (c->has_failed)
        say_failure(q, c, is_last);
    if (is_last)
        write_log(q, c);
    c->state = !is_last ? COMMAND_DUE : c->has_failed ? COMMAND_FAILED : COMMAND_SUCCEEDED;
    q->nfailed += c->state == COMMAND_FAILED;
    q->nsucceeded += c->state == COMMAND_SUCCEEDED;
    if (!is_last && q->first > number_of(q, c) - 1)
        q->first = number_of(q, c) - 1;
    show_progress(q);
}

void queue_say_end(const struct queue *q)
{
    if (!q || !q->is_run)
        return;
    size_t left = q->list.n - q->nsucceeded - q->nfailed;
    if (q->nfailed)
        log_error("%zu of %zu command%s failed", q->nfailed, q->list.n, plural(q->list.n));
    if (left)
        log_error("%zu of %zu command%s did not end%s", left, q->list.n, plural(q->list.n),
                  q->options->log ? "; --resume runs what has not succeeded" : "");
}
