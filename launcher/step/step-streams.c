/* SPDX-License-Identifier: BSD-3-Clause */
/* step-streams.c - what ranks write, read, and see of mprun's terminal, between hosts and mprun's
 * own descriptors */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/processes/spawn.h"
#include "common/text/number.h"
#include "launcher/tunables.h"
#include "launcher/run.h"
#include "wire/flow-control.h"

/* ---- output ---------------------------------------------------------------------------------- */

static void output_consumed(void *arg, uint32_t host, unsigned stream, uint64_t bytes)
{
    struct run *r = arg;
    Mprun__OutputCredit m = MPRUN__OUTPUT_CREDIT__INIT;
    m.stream = stream;
    m.bytes = bytes;
    struct host *h = host_at(r->hosts, host);
    if (h)
        host_send(h, FRAME_OUTPUT_CREDIT, &m.base);
}

static void output_stream_closed(void *arg, unsigned stream, const struct error *why)
{
    struct run *r = arg;
    Mprun__OutputClosed m = MPRUN__OUTPUT_CLOSED__INIT;
    m.stream = stream;
    hosts_broadcast(r->hosts, FRAME_OUTPUT_CLOSED, &m.base);
    if (why->code == EPIPE)
        rank_failures_reader_left(&r->rank_failures);
    else
        verdict_fail(&r->verdict, EXIT_CODE_MPRUN, "%s", why->text);
}

static void output_drained(void *arg)
{
    loop_defer_schedule(&((struct run *)arg)->turn);
}

static const struct output_events output_events = {
    .consumed = output_consumed, .closed = output_stream_closed, .drained = output_drained};

/* mprun's own words go the way of the ranks', in order with them. */
static void log_to_output(void *arg, enum log_level level, const char *text)
{
    struct run *r = arg;
    char line[4300];
    int n = snprintf(line, sizeof(line) - 1, "mprun: %s", text);
    if (n < 0)
        return;
    if ((size_t)n > sizeof(line) - 3)
        n = sizeof(line) - 3;
    if (r->terminal.taken)
        line[n++] = '\r';
    line[n++] = '\n';
    output_message(r->output, line, (size_t)n);
}

static void input_send(void *arg, struct rank_name name, const void *data, size_t n)
{
    struct run *r = arg;
    struct host *h = host_of_rank(r->hosts, name);
    struct bulk_header bh = {.name = name, .stream = 0, .time_ns = loop_wallclock_ns()};
    if (h)
        host_send_bulk(h, FRAME_INPUT, &bh, data, n);
}

static void input_failed(void *arg, const struct error *why)
{
    log_warn("%s", why->text);
}

static void input_over(void *arg)
{
    struct run *r = arg;
    if (r->pushed)
        pushed_input_over(r->pushed);
}

static const struct input_events input_events = {
    .send = input_send, .failed = input_failed, .over = input_over};

static void answer_push(void *host, uint64_t id, enum push_status status)
{
    Mprun__InputPushed m = MPRUN__INPUT_PUSHED__INIT;
    m.id = id;
    m.status = status;
    host_send(host, FRAME_INPUT_PUSHED, &m.base);
}

/* The ranks are those of the input: all, or the only one. */
static bool is_for_input(const struct step *s, const Mprun__InputPush *m)
{
    if (m->n_ranks != 1 || m->ranks[0]->world != 0)
        return false;
    return m->ranks[0]->rank == RANK_ALL
               ? s->stdin_target == STDIN_ALL || s->nranks == 1
               : s->stdin_target == STDIN_RANK && s->stdin_rank == m->ranks[0]->rank;
}

int step_take_push(struct run *r, struct host *from, const Mprun__InputPush *m)
{
    if (m->data.len > INPUT_PUSH_MAX)
        return -1;
    if (!r->pushed)
        answer_push(from, m->id, PUSH_NO_INPUT);
    else if (!is_for_input(&r->plan->step, m))
        answer_push(from, m->id, PUSH_NOT_SO);
    else
        pushed_input_put(r->pushed, from, m->id, m->data.data, m->data.len);
    return 0;
}

/* Readers have taken nothing since the last look: nobody reads. */
static void look_for_readers(void *arg)
{
    struct run *r = arg;
    uint64_t taken = output_taken(r->output), dropped = 0;
    if (taken == r->taken_before)
        dropped = output_drop(r->output);
    r->taken_before = taken;
    if (dropped)
        log_warn(
            "%llu bytes of output, and what ranks still had to say, are dropped: nobody reads them",
            (unsigned long long)dropped);
    loop_defer_schedule(&r->turn);
}

void step_drop_unread_output(struct run *r, double grace)
{
    r->taken_before = UINT64_MAX;
    loop_timer_start(&r->unread, grace, UNREAD_SECONDS);
}

static void describe_rank(void *arg, struct rank_name name, struct output_rank *ret)
{
    struct run *r = arg;
    const struct report_rank *rank = step_record_rank(&r->record, name);
    const struct world *w = worlds_find(&r->worlds, name.world);
    ret->pid = rank ? rank->pid : 0;
    for (size_t i = 0; w && i < w->napps; i++) {
        if (!rank_set_has(&w->apps[i].ranks, name))
            continue;
        ret->app = w->root == w->number ? (int64_t)i : -1; /* commands of a queue are of the line */
        ret->program = w->apps[i].argv[0];
        const char *command =
            r->queue ? spawn_env_value(w->apps[i].envp, "MPRUN_QUEUE_NUMBER") : NULL;
        (void)(command && number_parse(command, NULL, 1, INT64_MAX, &ret->command, NULL));
    }
}

static int open_output(struct run *r, struct error *err)
{
    const struct step_plan *p = r->plan;
    r->host_names = must(calloc(p->nused + 1, sizeof(*r->host_names)));
    for (size_t i = 0; i < p->nused; i++)
        r->host_names[i] = p->used.hosts[i].name;
    struct output_setup o = {
        .fds = {STDOUT_FILENO, STDERR_FILENO},
        .options = p->cmd->explain ? (struct output_options){.lines = {.tag = 0}} : p->cmd->output,
        .names = {.job = p->alloc.job_id[0] ? p->alloc.job_id : p->step.id,
                  .hosts = r->host_names,
                  .nranks = p->step.nranks,
                  .describe = describe_rank,
                  .arg = r},
        .umask = (mode_t)p->step.umask,
        .window = output_window(r->plan->nused),
        .nhosts = r->plan->nused,
    };
    r->output = output_create(r->loop, &o, &output_events, r, err);
    if (!r->output)
        return -1;
    log_set_sink(log_to_output, r);
    loop_timer_init(&r->unread, r->loop, look_for_readers, r);
    return 0;
}

static void terminal_has_size(void *arg, const struct tty_size *size)
{
    struct run *r = arg;
    Mprun__Window m;
    window_pack(size, &m);
    hosts_broadcast(r->hosts, FRAME_WINDOW, &m.base);
}

static int open_input(struct run *r, struct error *err)
{
    const struct step *s = &r->plan->step;
    size_t n = s->stdin_target == STDIN_ALL ? s->nranks : 1;
    if (s->stdin_target == STDIN_NONE || s->stdin_target == STDIN_FILE)
        return 0;
    AUTO_FREE struct rank_name *targets = must(calloc(n + 1, sizeof(*targets)));
    for (size_t i = 0; i < n; i++)
        targets[i].rank = s->stdin_target == STDIN_ALL ? (uint32_t)i : s->stdin_rank;
    if (r->plan->cmd->input_of_tools &&
        !(r->pushed = pushed_input_create(r->loop, answer_push, err)))
        return -1;
    r->input = input_create(r->loop, r->pushed ? pushed_input_fd(r->pushed) : STDIN_FILENO, targets,
                            n, &input_events, r, err);
    return r->input ? 0 : -1;
}

int step_open_streams(struct run *r, struct error *err)
{
    if (r->plan->step.terminal)
        terminal_init(&r->terminal, terminal_has_size, r);
    return open_output(r, err) < 0 || open_input(r, err) < 0 ? -1 : 0;
}

void step_close_streams(struct run *r)
{
    log_set_sink(NULL, NULL);
    loop_timer_stop(&r->unread);
    output_destroy(r->output);
    free(r->host_names);
    terminal_give_back(&r->terminal);
}
