/* SPDX-License-Identifier: BSD-3-Clause */
/* starter-messages.c - what each message of a host's starter does */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/number.h"
#include "launcher/tools/mpir.h"
#include "launcher/run.h"
#include "wire/messages/frame.h"
#include "config.h"

static struct run *run_of(const struct host *h)
{
    return h->table->context;
}

static int take_hello(struct host *h, const Mprun__Hello *m)
{
    struct run *r = run_of(h);
    if (h->state > AGENT_STARTED) { /* twice */
        return -1;
    }
    if (strcmp(m->version, PACKAGE_VERSION) != 0) {
        verdict_fail(&r->verdict, EXIT_CODE_MPRUN,
                     "host %s: its mpstarter is version %s, this mprun version %s; install the "
                     "same version on all hosts",
                     h->name, m->version, PACKAGE_VERSION);
    } else {
        step_record_hello(&r->record, h->launch_index, m);
        host_enter(h, AGENT_CONNECTED);
        starters_said_hello(r->starters, h, m->why_stdio, m->login_session);
        host_place(h);
    }
    return 0;
}

/* Print a reason of many hosts once, when all ranks run: beside a failed start it would not
 * help. */
static void note_tracking(struct host *h, const Mprun__Ready *m)
{
    struct run *r = run_of(h);
    if (m->tracking != TRACK_TREE || r->tracking_note || r->plan->cmd->quiet ||
        r->plan->cmd->explain || r->plan->cmd->step.containment.tracking_set)
        return;
    r->tracking_note = must(strdup(m->tracking_reason));
}

/* So are warnings: of whatever host says it first. */
static void warn_once(const struct host *h, const char *text, bool *said)
{
    if (!text[0] || *said)
        return;
    *said = true;
    log_warn("on %s: %s", h->name, text);
}

static int take_ready(struct host *h, const Mprun__Ready *m)
{
    struct run *r = run_of(h);
    if (h->state != AGENT_LAUNCHED)
        return -1;
    host_enter(h, AGENT_READY);
    step_record_ready(&r->record, h->launch_index, m);
    note_tracking(h, m);
    if (m->mprund_silent[0])
        starters_mprund_is_silent(r->starters, h, m->mprund_silent);
    warn_once(h, m->gpus_unchecked, &r->gpus_unchecked_said);
    warn_once(h, m->gpus_outside, &r->gpus_outside_said);
    if (r->plan->cmd->verbose)
        log_note("host %s: containment '%s'%s%s; %s", h->name,
                 tracking_text(r->record.hosts[h->launch_index].tracking),
                 m->tracking_reason[0] ? ": " : "", m->tracking_reason, m->bind_reason);
    return 0;
}

/* The exit code of a failure: never a success, whatever the message says. */
static int failure_code(uint32_t code)
{
    return code > 0 && code < 256 ? (int)code : EXIT_CODE_MPRUN;
}

/* A starter has died, and how it did is not known yet: what other hosts say now is no cause. */
static bool awaits_status(const struct run *r)
{
    for (size_t i = 0; i < r->plan->nused; i++) {
        const struct host *h = r->hosts->used[i];
        if (h->failed && !h->cancelled && h->state < AGENT_CLEANED && !h->link &&
            starters_client_runs(r->starters, h))
            return true;
    }
    return false;
}

static int take_cannot_run(struct host *h, const Mprun__CannotRun *m)
{
    struct run *r = run_of(h);
    int code = failure_code(m->exit_code);
    if (host_failures_correct(&r->host_failures, h, code, m->text))
        return 0;
    if (host_failures_is_consequence(&r->host_failures, h) ||
        (verdict_is_ending(&r->verdict) && awaits_status(r)))
        /* this one was told to end for that */
        log_debug("host %s: %s", h->name, m->text);
    else if (m->keeper_died)
        host_failures_keeper_died(&r->host_failures, h, code, m->text);
    else if (strstr(m->text, h->name))
        verdict_fail(&r->verdict, code, "%s", m->text);
    else
        verdict_fail(&r->verdict, code, "host %s: %s", h->name, m->text);
    return 0;
}

static void print_binding(struct run *r, const struct host *h, const Mprun__Started__Rank *s)
{
    char name[RANK_NAME_TEXT];
    if (!r->plan->cmd->report_bindings)
        return;
    /* --quiet does not hide what is asked for */
    log_warn("rank %s on %s: %s", rank_name_format(rank_name_unpack(s->name), name), h->name,
             s->bound_text[0] ? s->bound_text : "not bound");
}

static void rank_has_started(struct run *r, const struct host *h, const Mprun__Started__Rank *s,
                             struct rank_name name)
{
    struct world *w = worlds_find(&r->worlds, name.world);
    print_binding(r, h, s);
    output_rank_started(r->output, h->launch_index, name);
    if (!name.incarnation)
        worlds_rank_known(&r->worlds, name);
    else if (!name.world)
        mpir_rank_restarted(name.rank, (pid_t)s->pid);
    if (w)
        spawner_look(&r->spawner, w);
}

static int take_started(struct host *h, const Mprun__Started *m)
{
    struct run *r = run_of(h);
    for (size_t i = 0; i < m->n_ranks; i++) {
        struct rank_name name = rank_name_unpack(m->ranks[i]->name);
        if (host_may_have_rank(h, name) && step_record_started(&r->record, name, m->ranks[i]))
            rank_has_started(r, h, m->ranks[i], name);
    }
    return 0;
}

/* Signal numbers and exit codes are used as such. */
static int end_code(enum end_cause cause, int32_t code)
{
    if (cause == END_SIGNAL || cause == END_LIMIT)
        return code > 0 && code < NSIG ? code : SIGKILL;
    return cause == END_NOT_STARTED ? failure_code((uint32_t)code) : code;
}

/* All ranks of the world have ended. A step that ends is told to do so as a whole. */
static void world_has_ended(struct run *r, struct world *w)
{
    Mprun__WorldEnd m = MPRUN__WORLD_END__INIT;
    name_service_world_ended(&r->names, w->number);
    job_worlds_own_ended(&r->job_worlds, w);
    queue_world_ended(r->queue, w);
    if (w->number == 0 || verdict_is_ending(&r->verdict))
        return;
    m.world = w->number;
    hosts_broadcast(r->hosts, FRAME_WORLD_END, &m.base);
    gather_forget(r->exchange.gather, w->number);
    step_record_world_ended(&r->record, w->number);
    worlds_remove(&r->worlds, w);
}

/* --max-restarts: the host of a rank that has failed starts it again. False: it does not. */
static bool restart(struct run *r, struct host *h, const struct rank_end *end,
                    const Mprun__Exited *m)
{
    Mprun__RestartRank again = MPRUN__RESTART_RANK__INIT;
    Mprun__RankName name;
    if (m->killed_by_us || !rank_failures_restart(&r->rank_failures, end, m->joined))
        return false;
    if (r->input)
        input_credit(r->input, end->name, 0, 0, 1);
    rank_name_pack(step_record_restart(&r->record, end->name), &name);
    again.name = &name;
    host_send(h, FRAME_RESTART_RANK, &again.base);
    return true;
}

static void judge_end(struct run *r, const struct rank_end *end, const Mprun__Exited *m,
                      struct world *w)
{
    if (r->input)
        input_credit(r->input, end->name, 0, 0, 1);
    if (end->cause == END_NOT_STARTED && spawner_failed(&r->spawner, w, m->text))
        return;
    if (queue_rank_ended(r->queue, w, end, !m->killed_by_us))
        return;
    rank_failures_ended(&r->rank_failures, end, !m->killed_by_us);
    if (end->cause == END_OK && !m->joined && w->is_awaited)
        rank_failures_ended_without_init(&r->rank_failures, end);
}

static void rank_has_ended(struct run *r, struct host *h, const struct rank_end *end,
                           const Mprun__Exited *m, bool has_started)
{
    struct world *w = worlds_find(&r->worlds, end->name.world);
    if (!w)
        return;
    name_service_rank_ended(&r->names, (struct rank_name){end->name.world, end->name.rank, 0});
    if (restart(r, h, end, m))
        return;
    worlds_rank_ended(&r->worlds, end->name);
    if (!has_started && !end->name.incarnation)
        worlds_rank_known(&r->worlds, end->name);
    judge_end(r, end, m, w);
    spawner_look(&r->spawner, w);
    if (w->ended == w->nranks)
        world_has_ended(r, w);
}

static int take_exited(struct host *h, const Mprun__Exited *m)
{
    struct run *r = run_of(h);
    struct rank_name name = rank_name_unpack(m->name);
    if (host_may_have_rank(h, name)) {
        struct rank_end end = {
            .name = name,
            .host = h->launch_index,
            .cause = m->cause <= END_KILLED ? (enum end_cause)m->cause : END_KILLED,
            .time_ns = m->time_ns,
        };
        end.code = end_code(end.cause, m->code);
        const struct report_rank *rank = step_record_rank(&r->record, name);
        bool has_started = rank && rank->start_ns;
        if (step_record_ended(&r->record, &end, m->usage, m->text))
            rank_has_ended(r, h, &end, m, has_started);
    }
    return 0;
}

/* A rank in a queue that aborts ends its command. False: there is no queue. */
static bool queue_aborted(struct run *r, const struct host *h, struct rank_name name, int code)
{
    const struct world *w = worlds_find(&r->worlds, name.world);
    const struct rank_end end = {.name = name,
                                 .host = h->launch_index,
                                 .cause = END_ABORT,
                                 .code = code,
                                 .time_ns = loop_wallclock_ns()};
    return w && queue_rank_ended(r->queue, w, &end, true);
}

static int take_aborted(struct host *h, const Mprun__Aborted *m)
{
    struct run *r = run_of(h);
    struct rank_name name = rank_name_unpack(m->name);
    Mprun__Signal kill = MPRUN__SIGNAL__INIT;
    const struct report_rank *rank = step_record_rank(&r->record, name);
    if (!host_may_have_rank(h, name))
        return 0;
    if (rank) /* the PMI server does not know incarnations */
        name = rank->name;
    if (!m->n_ranks && queue_aborted(r, h, name, m->code))
        return 0;
    rank_failures_aborted(&r->rank_failures, name, h->launch_index, m->code, m->n_ranks);
    kill.signo = SIGKILL;
    kill.ends = true;
    kill.n_ranks = m->n_ranks;
    kill.ranks = m->ranks;
    if (m->n_ranks)
        hosts_broadcast(r->hosts, FRAME_SIGNAL, &kill.base);
    return 0;
}

/* A rank asks for it. Each host has its own ranks of those that are named. */
static int take_signal(struct host *h, const Mprun__Signal *m)
{
    if (!m->n_ranks || !m->signo || m->signo >= NSIG)
        return -1;
    hosts_broadcast(h->table, FRAME_SIGNAL, &m->base);
    return 0;
}

static void tell_closed(struct host *h, unsigned stream)
{
    Mprun__OutputClosed m = MPRUN__OUTPUT_CLOSED__INIT;
    m.stream = stream;
    host_send(h, FRAME_OUTPUT_CLOSED, &m.base);
}

static int take_output(struct host *h, const uint8_t *p, size_t n)
{
    struct bulk_header bh;
    struct error e;
    if (bulk_header_unpack(p, n, &bh, &e) < 0 || bh.stream == 0 || !host_may_have_rank(h, bh.name))
        return -1;
    tool_output_put(&run_of(h)->tool_output, &bh, p + BULK_HEADER, n - BULK_HEADER);
    output_put(run_of(h)->output, h->launch_index, &bh, p + BULK_HEADER, n - BULK_HEADER);
    if (n > BULK_HEADER && output_is_closed(run_of(h)->output, bh.stream))
        tell_closed(h, bh.stream); /* its ranks were not there when all hosts were told */
    return 0;
}

static ssize_t host_move(void *arg, struct link *l, const struct bulk_header *bh, int fd, size_t n)
{
    struct host *h = host_sender(arg, link_frame_host(l));
    if (!h || !host_may_have_rank(h, bh->name) || run_of(h)->tool_output.n > 0)
        return -1; /* it becomes a frame, and is refused, or copied, as such */
    return output_move(run_of(h)->output, h->launch_index, bh, fd, n);
}

static int take_output_credit(struct host *h, const Mprun__OutputCredit *m)
{
    tool_output_taken(&run_of(h)->tool_output, h, m->bytes);
    return 0;
}

static int take_input_credit(struct host *h, const Mprun__InputCredit *m)
{
    struct rank_name name = rank_name_unpack(m->name);
    if (run_of(h)->input && host_may_have_rank(h, name))
        input_credit(run_of(h)->input, name, m->consumed, m->limit, m->closed);
    return 0;
}

static int take_report(struct host *h, const Mprun__Report *m)
{
    if (h->state >= AGENT_REPORTED)
        return -1;
    step_record_report(&run_of(h)->record, h->launch_index, m);
    host_enter(h, AGENT_REPORTED);
    return 0;
}

static int take_cleaned(struct host *h, const Mprun__Cleaned *m)
{
    if (h->state >= AGENT_CLEANED)
        return -1;
    for (size_t i = 0; i < m->n_stuck; i++)
        log_warn("host %s: could not be cleaned up: %s", h->name, m->stuck[i]);
    host_enter(h, AGENT_CLEANED);
    return 0;
}

static int take_log(struct host *h, const Mprun__Log *m)
{
    enum log_level level = m->level <= LOG_DEBUG ? (enum log_level)m->level : LOG_NOTE;
    if (strstr(m->text, h->name))
        log_msg(level, "%s", m->text);
    else
        log_msg(level, "host %s: %s", h->name, m->text);
    return 0;
}

static int take_joined(struct host *h, const Mprun__Joined *m)
{
    int rc = host_place_joined(h, m);
    if (h->below) /* its start client may have ended already */
        starters_unsettle(run_of(h)->starters);
    return rc;
}

static int take_lost(struct host *h, const Mprun__Lost *m)
{
    struct run *r = run_of(h);
    struct host *lost = host_at(r->hosts, m->host);
    bool below = lost && host_above(lost) == h;
    if (below && host_place_is_awaited(lost)) {
        if (starters_client_runs(r->starters, lost) && lost->state < AGENT_CLEANED && !m->silent)
            /* an exit status says more, and comes next */
            verdict_end_ranks(&r->verdict, -1, "a starter died");
        else
            host_failures_add(&r->host_failures, lost, m->silent, EXIT_CODE_MPRUN,
                              "its link to %s is gone: %s", h->name, m->text);
    }
    if (below && lost->state < AGENT_RELEASED)
        starters_lost(r->starters, lost, m->silent);
    return below ? 0 : -1;
}

/* ---- messages of one object ------------------------------------------------------------------ */

static int take_preload_wanted(struct host *h, const Mprun__PreloadWanted *m)
{
    struct run *r = run_of(h);
    int rc = preload_wanted(r->preload, h, m);
    spawner_brought(&r->spawner);
    return rc;
}

static int take_name_request(struct host *h, const Mprun__NameRequest *m)
{
    bool is_here = host_may_have_rank(h, rank_name_unpack(m->from));
    return is_here ? name_service_request(&run_of(h)->names, h, m) : -1;
}

static int take_spawn(struct host *h, const Mprun__Spawn *m)
{
    struct rank_name parent = rank_name_unpack(m->parent);
    if (!m->parent || (parent.rank != RANK_ALL && !host_may_have_rank(h, parent)))
        return -1;
    spawner_request(&run_of(h)->spawner, h, m);
    return 0;
}

/* A world whose rows are not kept has none. */
static int take_rank_table(struct host *h, const Mprun__RankTable *m)
{
    Mprun__RankTable table = MPRUN__RANK_TABLE__INIT;
    const struct world *w = worlds_find(&run_of(h)->worlds, m->world);
    uint32_t n = w ? w->nranks : 0;
    AUTO_FREE uint64_t *pids = must(calloc(n + 1, sizeof(*pids)));
    AUTO_FREE uint32_t *ends = must(calloc(n + 1, sizeof(*ends)));
    AUTO_FREE int32_t *codes = must(calloc(n + 1, sizeof(*codes)));
    for (uint32_t i = 0; i < n; i++) {
        const struct report_rank *r =
            step_record_rank(&run_of(h)->record, (struct rank_name){.world = m->world, .rank = i});
        pids[i] = r ? (uint64_t)r->pid : 0;
        ends[i] = r && r->end ? r->end->cause + 1 : 0;
        codes[i] = r && r->end ? r->end->code : 0;
    }
    table.id = m->id;
    table.world = m->world;
    table.n_pids = table.n_ends = table.n_codes = n;
    table.pids = pids;
    table.ends = ends;
    table.codes = codes;
    host_send(h, FRAME_RANK_TABLE, &table.base);
    return 0;
}

static int take_hosts_usage(struct host *h, const Mprun__HostsUsage *m)
{
    struct usage_of of = {.is_some = m->of, .name = rank_name_unpack(m->of)};
    of.name.incarnation = 0; /* whichever runs */
    usage_now_ask_for(&run_of(h)->usage_now, h, m->id, of);
    return 0;
}

static int take_present(struct host *h, const Mprun__Present *m)
{
    return m->n_amounts ? step_limits_answer(&run_of(h)->limits, h, m)
                        : usage_now_answer(&run_of(h)->usage_now, h, m);
}

/* ---- links ----------------------------------------------------------------------------------- */

static void host_closed(void *arg, struct link *l, const struct error *why)
{
    struct host *h = arg;
    struct run *r = run_of(h);
    if (!host_drop_link(h, l)) {
        link_destroy(l);
        return;
    }
    if (h->state < AGENT_CLEANED) {
        if (why->code && why->code != ECONNRESET)
            host_failures_add(&r->host_failures, h, why->code == ETIMEDOUT, EXIT_CODE_MPRUN,
                              "the link to its mpstarter is gone: %s", why->text);
        else if (!starters_client_runs(r->starters, h) &&
                 !(verdict_is_ending(&r->verdict) && awaits_status(r)))
            host_failures_add(&r->host_failures, h, false, EXIT_CODE_MPRUN,
                              "its mpstarter has gone");
        else if (starters_client_runs(r->starters, h) && h->state < AGENT_CONNECTED)
            /* its start client is about to end with the reason: it must not be ended before that */
            log_debug("host %s: its start channel is closed", h->name);
        else /* an exit status says more, and comes next */
            verdict_end_ranks(&r->verdict, -1, "a starter died");
    }
    bool silent = why->code == ETIMEDOUT;
    link_destroy(l);
    if (h->state < AGENT_RELEASED)
        starters_lost(r->starters, h, silent);
    starters_link_ended(r->starters, h);
}

/* A starter that has died closes its connection, and its start client then tells the reason. */
static void host_lost(void *arg, struct link *l, const struct error *why)
{
    struct host *h = arg;
    char grace[32];
    bool is_closed = !why->code || why->code == ECONNRESET;
    if (h->state < AGENT_RELEASED)
        log_msg(is_closed ? LOG_DEBUG : LOG_WARN,
                "host %s: the connection is interrupted (%s); waiting for it for %s at most "
                "(--link-grace)",
                h->name, why->text,
                duration_format(run_of(h)->plan->cmd->links.grace, grace, sizeof(grace)));
}

static void host_resumed(void *arg, struct link *l, double seconds)
{
    struct host *h = arg;
    log_note("host %s: the connection is back after %.1f s; nothing was lost", h->name, seconds);
}

/* A host can send these only after it was told to run ranks. */
static const bool is_of_ranks[FRAME_TYPE_COUNT] = {
    [FRAME_STARTED] = true,       [FRAME_EXITED] = true,        [FRAME_ABORTED] = true,
    [FRAME_OUTPUT] = true,        [FRAME_INPUT_CREDIT] = true,  [FRAME_COLLECT] = true,
    [FRAME_MODEX_REQUEST] = true, [FRAME_MODEX_REPLY] = true,   [FRAME_PMI_CLIENT] = true,
    [FRAME_NAME_REQUEST] = true,  [FRAME_SPAWN] = true,         [FRAME_WORLD_REPORT] = true,
    [FRAME_PMI_EVENT] = true,     [FRAME_IDLE] = true,          [FRAME_OVER_LIMIT] = true,
    [FRAME_SIGNAL] = true,        [FRAME_RANK_TABLE] = true,    [FRAME_HOSTS_USAGE] = true,
    [FRAME_OUTPUT_WANTED] = true, [FRAME_OUTPUT_CREDIT] = true, [FRAME_INPUT_PUSH] = true,
};

/* These may be on their way through other hosts when the end of the start client is known. */
static const bool may_be_late[FRAME_TYPE_COUNT] = {
    [FRAME_DOOR] = true,          [FRAME_JOINED] = true,      [FRAME_READY] = true,
    [FRAME_REPORT] = true,        [FRAME_CLEANED] = true,     [FRAME_PRELOAD_WANTED] = true,
    [FRAME_PRELOAD_TAKEN] = true, [FRAME_ERRAND_NEWS] = true, [FRAME_PRESENT] = true,
    [FRAME_STACKS] = true,
};

/* Takes a message of a host; m: the type's message, unpacked. Returns -1 for a message that is not
 * valid, or not now. */
static int take_message(void *to, enum frame_type type, void *m)
{
    struct host *h = to;
    struct run *r = run_of(h);
    switch (type) {
    case FRAME_HELLO:
        return take_hello(h, m);
    case FRAME_DOOR:
        return host_place_door(h, m);
    case FRAME_JOINED:
        return take_joined(h, m);
    case FRAME_LOST:
        return take_lost(h, m);
    case FRAME_SILENT:
        return host_told_silent(h, m);
    case FRAME_READY:
        return take_ready(h, m);
    case FRAME_CANNOT_RUN:
        return take_cannot_run(h, m);
    case FRAME_STARTED:
        return take_started(h, m);
    case FRAME_EXITED:
        return take_exited(h, m);
    case FRAME_ABORTED:
        return take_aborted(h, m);
    case FRAME_SIGNAL:
        return take_signal(h, m);
    case FRAME_INPUT_CREDIT:
        return take_input_credit(h, m);
    case FRAME_REPORT:
        return take_report(h, m);
    case FRAME_CLEANED:
        return take_cleaned(h, m);
    case FRAME_LOG:
        return take_log(h, m);
    case FRAME_PRELOAD_WANTED:
        return take_preload_wanted(h, m);
    case FRAME_PRELOAD_TAKEN:
        return preload_taken(r->preload, h, m);
    case FRAME_MODEX_REQUEST:
        pmi_exchange_modex_request(&r->exchange, h, m);
        return 0;
    case FRAME_MODEX_REPLY:
        pmi_exchange_modex_reply(&r->exchange, m);
        return 0;
    case FRAME_SPAWN:
        return take_spawn(h, m);
    case FRAME_RANK_TABLE:
        return take_rank_table(h, m);
    case FRAME_OUTPUT_CREDIT:
        return take_output_credit(h, m);
    case FRAME_INPUT_PUSH:
        return step_take_push(r, h, m);
    case FRAME_HOSTS_USAGE:
        return take_hosts_usage(h, m);
    case FRAME_WORLD_REPORT:
        step_record_rank_reports(&r->record, h->launch_index, m);
        return 0;
    case FRAME_NAME_REQUEST:
        return take_name_request(h, m);
    case FRAME_PMI_EVENT:
        pmi_exchange_event(h, m);
        return 0;
    case FRAME_ERRAND_NEWS:
        starters_errand_news(r->starters, h, m);
        return 0;
    case FRAME_PRESENT:
        return take_present(h, m);
    case FRAME_IDLE:
        stuck_ranks_told(&r->stuck, h, m);
        return 0;
    case FRAME_STACKS:
        return stack_report_answer(&r->stacks, h, m);
    case FRAME_OVER_LIMIT:
        return step_limits_over(&r->limits, h, m);
    default:
        return -1;
    }
}

static int take_frame(struct host *h, enum frame_type type, const uint8_t *p, size_t n)
{
    struct run *r = run_of(h);
    switch (type) {
    case FRAME_PONG:
        return host_pong(h, n);
    case FRAME_OUTPUT:
        return take_output(h, p, n);
    case FRAME_COLLECT:
        return pmi_exchange_part(&r->exchange, h, p, n);
    case FRAME_PMI_CLIENT:
        rank_failures_init_called(&r->rank_failures);
        return 0;
    case FRAME_OUTPUT_WANTED:
        tool_output_want(&r->tool_output, h);
        return 0;
    default:
        break;
    }
    return frame_take(type, p, n, take_message, h);
}

static void host_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct host *top = arg, *h = host_sender(top, link_frame_host(l));
    struct error why;
    run_of(top)->record.nmessages++;
    host_heard(top);
    if (h && h->state == AGENT_GONE && may_be_late[type])
        return;
    if (h)
        host_received(h, l);
    if (!h || (is_of_ranks[type] && h->state < AGENT_LAUNCHED) || take_frame(h, type, p, n) < 0) {
        error_set(&why, EPROTO, "protocol error: %s that is not understood, or not in its place",
                  frame_type_text(type));
        host_closed(top, l, &why);
    }
    if (h)
        host_place_leave_first(h);
    if (type != FRAME_OUTPUT)
        loop_defer_schedule(&run_of(top)->turn);
}

const struct link_events host_link_events = {
    .frame = host_frame,
    .move = host_move,
    .lost = host_lost,
    .resumed = host_resumed,
    .closed = host_closed,
};
