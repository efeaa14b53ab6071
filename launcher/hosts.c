/* SPDX-License-Identifier: BSD-3-Clause */
/* hosts.c - what each frame of a host's starter does, and what hosts are told */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/number.h"
#include "launcher/preload.h"
#include "launcher/run.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* ---- down ------------------------------------------------------------------------------------ */

void hosts_broadcast(struct run *r, enum frame_type type, const ProtobufCMessage *m)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    AUTO_FREE uint8_t *packed = malloc(n + 1);
    if (!packed) {
        log_error("%s: out of memory", frame_type_text(type));
        return;
    }
    protobuf_c_message_pack(m, packed);
    hosts_broadcast_bytes(r, type, packed, n);
}

struct host *hosts_of_rank(struct run *r, uint32_t rank)
{
    return rank < r->step.nranks ? &r->hosts[r->ranks[rank].host] : NULL;
}

/* The same bytes for all: each starter finds its own place in them. */
void hosts_launch(struct run *r)
{
    struct launch l = {
        .step = r->step, /* borrowed */
        .hosts = r->placements,
        .nhosts = r->nused,
        .report_bindings = r->cmd.report_bindings,
        .same_machine = r->same_machine,
    };
    size_t n;
    AUTO_FREE uint8_t *packed = launch_pack(&l, &n);
    if (!packed) {
        run_fail(r, EXIT_CODE_MPRUN, "launch %u rank%s: out of memory", r->step.nranks,
                 plural(r->step.nranks));
        return;
    }
    hosts_broadcast_bytes(r, FRAME_LAUNCH, packed, n);
    r->launch.sent = run_seconds(r);
    for (size_t i = 0; i < r->nused; i++)
        if (r->launched[i]->state == AGENT_PLACED)
            agent_enter(r->launched[i], AGENT_LAUNCHED);
}

void hosts_send_input(struct run *r, struct rank_name name, const void *data, size_t n)
{
    struct host *h = hosts_of_rank(r, name.rank);
    struct bulk_header bh = {.name = name, .stream = 0, .time_ns = loop_wallclock_ns()};
    struct link *l = h ? host_link(h) : NULL;
    uint8_t *to = l ? link_bulk_reserve(l, n) : NULL;
    if (!to)
        return;
    if (n)
        memcpy(to, data, n);
    link_bulk_commit(l, FRAME_INPUT, &bh, n, 1);
}

/* ---- up -------------------------------------------------------------------------------------- */

static char **strings_of(const ProtobufCBinaryData *b, size_t n)
{
    char **s = calloc(n + 1, sizeof(*s));
    for (size_t i = 0, k = 0; s && i < n; i++)
        if ((s[k] = bytes_dup(&b[i])))
            k++;
    return s;
}

static int take_hello(struct host *h, const uint8_t *p, size_t n)
{
    struct run *r = h->run;
    Mprun__Hello *m = mprun__hello__unpack(NULL, n, p);
    if (!m)
        return -1;
    if (h->state > AGENT_STARTED) { /* twice */
        mprun__hello__free_unpacked(m, NULL);
        return -1;
    }
    if (strcmp(m->version, PACKAGE_VERSION) != 0) {
        run_fail(r, EXIT_CODE_MPRUN,
                 "host %s: its mpstarter is version %s, this mprun version %s; install the same "
                 "version on all hosts",
                 h->name, m->version, PACKAGE_VERSION);
    } else {
        h->kernel_name = bytes_dup(&m->hostname);
        h->worker_pid = m->worker_pid;
        h->keeper_pid = m->keeper_pid;
        h->report.cores = m->allowed_cores;
        h->version = strdup(m->version);
        h->allowed_threads = strdup(m->allowed_threads);
        h->memory = m->memory;
        if (r->cmd.explain) {
            h->report.tracking =
                m->tracking <= TRACK_TREE ? (enum tracking)m->tracking : TRACK_TREE;
            h->tracking_reason = strdup(m->tracking_reason);
        }
        agent_enter(h, AGENT_CONNECTED);
        if (m->why_stdio[0])
            starting_fell_back(h, m->why_stdio);
        if (m->login_session[0])
            starting_in_session(h, m->login_session);
        starting_reported(h);
        tree_place(h);
    }
    mprun__hello__free_unpacked(m, NULL);
    return 0;
}

/* The same reason on many hosts is said once. */
static void announce_tracking(struct host *h, const Mprun__Ready *m)
{
    struct run *r = h->run;
    if (m->tracking != TRACK_TREE || r->announced_tree || r->cmd.quiet ||
        r->cmd.containment.tracking_set)
        return;
    r->announced_tree = 1;
    log_note("ranks are tracked by process tree only, no cgroup holds them: %s",
             m->tracking_reason);
}

/* So are warnings: of whatever host says it first. */
static void warn_once(const struct host *h, const char *text, int *said)
{
    if (!text[0] || *said)
        return;
    *said = 1;
    log_warn("on %s: %s", h->name, text);
}

static int take_ready(struct host *h, const uint8_t *p, size_t n)
{
    Mprun__Ready *m = h->state == AGENT_LAUNCHED ? mprun__ready__unpack(NULL, n, p) : NULL;
    if (!m)
        return -1;
    agent_enter(h, AGENT_READY);
    h->cgroup_paths = strings_of(m->cgroup_paths, m->n_cgroup_paths);
    h->directories = strings_of(m->directories, m->n_directories);
    h->tracking_reason = strdup(m->tracking_reason);
    h->cgroup_kind = strdup(m->cgroup_kind);
    h->report.ready = 1;
    h->report.tracking = m->tracking <= TRACK_TREE ? (enum tracking)m->tracking : TRACK_TREE;
    h->report.tracking_reason = h->tracking_reason;
    h->report.cgroup_kind = h->cgroup_kind;
    h->report.cores = m->cores;
    limits_unpack(m->host_limits, &h->report.limits);
    struct limits rank_limits;
    limits_unpack(m->rank_limits, &rank_limits);
    for (uint32_t i = 0; i < h->nranks; i++)
        h->run->ranks[h->first_rank + i].limits = rank_limits;
    announce_tracking(h, m);
    warn_once(h, m->gpus_unchecked, &h->run->announced_gpus_unchecked);
    warn_once(h, m->gpus_outside, &h->run->announced_gpus_outside);
    if (h->run->cmd.verbose)
        log_note("host %s: containment '%s'%s%s; %s", h->name, tracking_text(h->report.tracking),
                 m->tracking_reason[0] ? ": " : "", m->tracking_reason, m->bind_reason);
    mprun__ready__free_unpacked(m, NULL);
    return 0;
}

/* What a failure is to end with: never a success, whatever the message says. */
static int failure_code(uint32_t code)
{
    return code > 0 && code < 256 ? (int)code : EXIT_CODE_MPRUN;
}

int hosts_await_status(const struct run *r)
{
    for (size_t i = 0; i < r->nhosts; i++)
        if (r->hosts[i].failed && !r->hosts[i].cancelled && r->hosts[i].state < AGENT_CLEANED &&
            starters_has_client(&r->hosts[i]) && !r->hosts[i].link)
            return 1;
    return 0;
}

static int take_cannot_run(struct host *h, const uint8_t *p, size_t n)
{
    Mprun__CannotRun *m = mprun__cannot_run__unpack(NULL, n, p);
    if (!m)
        return -1;
    if (host_was_ended(h) || (h->run->killing && hosts_await_status(h->run)))
        /* this one was told to end for that */
        log_debug("host %s: %s", h->name, m->text);
    else if (strstr(m->text, h->name))
        run_fail(h->run, failure_code(m->exit_code), "%s", m->text);
    else
        run_fail(h->run, failure_code(m->exit_code), "host %s: %s", h->name, m->text);
    mprun__cannot_run__free_unpacked(m, NULL);
    return 0;
}

static int is_rank_of(const struct host *h, struct rank_name name)
{
    return name.world == 0 && name.rank - h->first_rank < h->nranks;
}

static void print_binding(struct run *r, const struct host *h, const Mprun__Started__Rank *s)
{
    char name[RANK_NAME_TEXT];
    if (!r->cmd.report_bindings)
        return;
    log_note("rank %s on %s: %s", rank_name_format(rank_name_unpack(s->name), name), h->name,
             s->bound_text[0] ? s->bound_text : "not bound");
}

static int take_started(struct host *h, const uint8_t *p, size_t n)
{
    struct run *r = h->run;
    Mprun__Started *m = mprun__started__unpack(NULL, n, p);
    if (!m)
        return -1;
    for (size_t i = 0; i < m->n_ranks; i++) {
        struct rank_name name = rank_name_unpack(m->ranks[i]->name);
        if (!is_rank_of(h, name) || r->begun[name.rank])
            continue;
        struct report_rank *rank = &r->ranks[name.rank];
        r->begun[name.rank] = 1;
        r->nknown += !r->ended[name.rank];
        rank->pid = (pid_t)m->ranks[i]->pid;
        rank->start_ns = m->ranks[i]->time_ns;
        h->started++;
        r->nstarted++;
        print_binding(r, h, m->ranks[i]);
    }
    if (h->started == h->nranks)
        agent_reached(h, LAUNCH_RUNNING);
    mprun__started__free_unpacked(m, NULL);
    return 0;
}

/* Signal numbers and exit codes are used as such. */
static int end_code(enum end_cause cause, int32_t code)
{
    if (cause == END_SIGNAL || cause == END_LIMIT)
        return code > 0 && code < NSIG ? code : SIGKILL;
    return cause == END_NOT_STARTED ? failure_code((uint32_t)code) : code;
}

static int take_exited(struct host *h, const uint8_t *p, size_t n)
{
    struct run *r = h->run;
    Mprun__Exited *m = mprun__exited__unpack(NULL, n, p);
    if (!m)
        return -1;
    struct rank_name name = rank_name_unpack(m->name);
    if (is_rank_of(h, name) && !r->ended[name.rank]) {
        struct rank_end end = {
            .name = name,
            .host = h->index,
            .cause = m->cause <= END_KILLED ? (enum end_cause)m->cause : END_KILLED,
            .time_ns = m->time_ns,
        };
        end.code = end_code(end.cause, m->code);
        usage_unpack(m->usage, &r->ranks[name.rank].usage);
        ends_rank(h, &end, !m->killed_by_us, m->text);
        if (end.cause == END_OK && !m->joined)
            ends_without_joining(r, &end);
    }
    mprun__exited__free_unpacked(m, NULL);
    return 0;
}

static int take_client(struct host *h, const uint8_t *p, size_t n)
{
    ends_joined(h->run);
    return 0;
}

static int take_aborted(struct host *h, const uint8_t *p, size_t n)
{
    struct run *r = h->run;
    Mprun__Aborted *m = mprun__aborted__unpack(NULL, n, p);
    if (!m)
        return -1;
    struct rank_name name = rank_name_unpack(m->name);
    if (is_rank_of(h, name) && r->nfailures < r->step.nranks) {
        r->failures[r->nfailures++] = (struct rank_end){
            .name = name,
            .host = h->index,
            .cause = END_ABORT,
            .code = m->code,
            .time_ns = loop_wallclock_ns(),
        };
        run_kill(r, -1, "a rank called abort");
        ends_explain_soon(r);
    }
    mprun__aborted__free_unpacked(m, NULL);
    return 0;
}

static void tell_closed(struct host *h, unsigned stream)
{
    Mprun__OutputClosed m = MPRUN__OUTPUT_CLOSED__INIT;
    struct link *l = host_link(h);
    m.stream = stream;
    if (l)
        link_send(l, FRAME_OUTPUT_CLOSED, &m.base);
}

static int take_output(struct host *h, const uint8_t *p, size_t n)
{
    struct bulk_header bh;
    struct error e;
    if (bulk_header_unpack(p, n, &bh, &e) < 0 || bh.stream == 0 || !is_rank_of(h, bh.name))
        return -1;
    output_put(h->run->output, h->index, &bh, p + BULK_HEADER, n - BULK_HEADER);
    if (n > BULK_HEADER && output_is_closed(h->run->output, bh.stream))
        tell_closed(h, bh.stream); /* its ranks were not there when all hosts were told */
    return 0;
}

static ssize_t host_move(void *arg, struct link *l, const struct bulk_header *bh, int fd, size_t n)
{
    struct host *h = hosts_sender(arg, link_frame_host(l));
    if (!h || !is_rank_of(h, bh->name))
        return -1; /* it becomes a frame, and is refused as such */
    return output_move(h->run->output, h->index, bh, fd, n);
}

static int take_input_credit(struct host *h, const uint8_t *p, size_t n)
{
    Mprun__InputCredit *m = mprun__input_credit__unpack(NULL, n, p);
    if (!m)
        return -1;
    struct rank_name name = rank_name_unpack(m->name);
    if (h->run->input && is_rank_of(h, name))
        input_credit(h->run->input, name, m->consumed, m->limit, m->closed);
    mprun__input_credit__free_unpacked(m, NULL);
    return 0;
}

static int take_report(struct host *h, const uint8_t *p, size_t n)
{
    struct run *r = h->run;
    Mprun__Report *m = h->state < AGENT_REPORTED ? mprun__report__unpack(NULL, n, p) : NULL;
    if (!m)
        return -1;
    for (size_t i = 0; i < m->n_ranks; i++) {
        struct rank_name name = rank_name_unpack(m->ranks[i]->name);
        if (!is_rank_of(h, name))
            continue;
        struct report_rank *rank = &r->ranks[name.rank];
        usage_unpack(m->ranks[i]->usage, &rank->usage);
        rank->cores = m->ranks[i]->cores;
        free((char *)(uintptr_t)rank->bound_threads);
        rank->bound_threads = strdup(m->ranks[i]->bound_threads);
        if (m->ranks[i]->memory_limit) {
            rank->limits.memory.set = 1;
            rank->limits.memory.value = m->ranks[i]->memory_limit;
            rank->limits.memory.held_by = HELD_BY_CGROUP;
        }
    }
    usage_unpack(m->starter, &h->report.starter);
    usage_unpack(m->others, &h->report.others);
    usage_unpack(m->step, &h->report.total);
    agent_enter(h, AGENT_REPORTED);
    mprun__report__free_unpacked(m, NULL);
    return 0;
}

static int take_cleaned(struct host *h, const uint8_t *p, size_t n)
{
    Mprun__Cleaned *m = h->state < AGENT_CLEANED ? mprun__cleaned__unpack(NULL, n, p) : NULL;
    if (!m)
        return -1;
    for (size_t i = 0; i < m->n_stuck; i++)
        log_warn("host %s: could not be cleaned up: %s", h->name, m->stuck[i]);
    agent_enter(h, AGENT_CLEANED);
    mprun__cleaned__free_unpacked(m, NULL);
    return 0;
}

static int take_log(struct host *h, const uint8_t *p, size_t n)
{
    Mprun__Log *m = mprun__log__unpack(NULL, n, p);
    if (!m)
        return -1;
    enum log_level level = m->level <= LOG_DEBUG ? (enum log_level)m->level : LOG_NOTE;
    if (strstr(m->text, h->name))
        log_msg(level, "%s", m->text);
    else
        log_msg(level, "host %s: %s", h->name, m->text);
    mprun__log__free_unpacked(m, NULL);
    return 0;
}

static void host_closed(void *arg, struct link *l, const struct error *why)
{
    struct host *h = arg;
    struct run *r = h->run;
    if (l == h->first) {
        h->first = NULL;
        link_destroy(l);
        return;
    }
    h->link = NULL;
    if (h->waits && !r->killing) { /* before its HELLO: it is started again */
        link_destroy(l);
        return;
    }
    if (h->state < AGENT_CLEANED && !(h->state == AGENT_PLACED && r->cmd.explain)) {
        if (why->code && why->code != ECONNRESET)
            host_fails(h, why->code == ETIMEDOUT, "the link to its mpstarter is gone: %s",
                       why->text);
        else if (!starters_has_client(h) && !(r->killing && hosts_await_status(r)))
            host_fails(h, 0, "its mpstarter has gone");
        else if (h->channel_open && h->state < AGENT_CONNECTED)
            /* its start client is about to end with the reason: it must not be ended before that */
            log_debug("host %s: its start channel is closed", h->name);
        else /* an exit status says more, and comes next */
            run_kill(r, -1, "a starter died");
    }
    int silent = why->code == ETIMEDOUT;
    link_destroy(l);
    if (h->state < AGENT_RELEASED)
        starters_lost(h, silent);
    starters_host_gone(h);
}

static void host_lost(void *arg, struct link *l, const struct error *why)
{
    struct host *h = arg;
    char grace[32];
    if (h->state < AGENT_RELEASED)
        log_warn("host %s: the connection is interrupted (%s); waiting for it for %s at most "
                 "(--link-grace)",
                 h->name, why->text, duration_format(h->run->cmd.link_grace, grace, sizeof(grace)));
}

static void host_resumed(void *arg, struct link *l, double seconds)
{
    struct host *h = arg;
    log_note("host %s: the connection is back after %.1f s; nothing was lost", h->name, seconds);
}

/* What no host can say before it was told to run anything. */
static int is_of_ranks(enum frame_type type)
{
    switch (type) {
    case FRAME_STARTED:
    case FRAME_EXITED:
    case FRAME_ABORTED:
    case FRAME_OUTPUT:
    case FRAME_INPUT_CREDIT:
    case FRAME_COLLECT:
    case FRAME_MODEX_REQUEST:
    case FRAME_MODEX_REPLY:
    case FRAME_PMI_CLIENT:
        return 1;
    default:
        return 0;
    }
}

/* What was on its way through other hosts when its start client's end was known. */
static int is_too_late(const struct host *h, enum frame_type type)
{
    switch (type) {
    case FRAME_DOOR:
    case FRAME_JOINED:
    case FRAME_READY:
    case FRAME_REPORT:
    case FRAME_CLEANED:
    case FRAME_PRELOAD_WANTED:
    case FRAME_PRELOAD_TAKEN:
    case FRAME_ERRAND_NEWS:
    case FRAME_PRESENT:
        return h->state == AGENT_GONE;
    default:
        return 0;
    }
}

static void host_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct host *top = arg, *h = hosts_sender(top, link_frame_host(l));
    static int (*const take[FRAME_TYPE_COUNT])(struct host *, const uint8_t *, size_t) = {
        [FRAME_HELLO] = take_hello,
        [FRAME_DOOR] = tree_door,
        [FRAME_JOINED] = tree_joined,
        [FRAME_LOST] = tree_lost,
        [FRAME_PONG] = silent_pong,
        [FRAME_SILENT] = silent_told,
        [FRAME_READY] = take_ready,
        [FRAME_CANNOT_RUN] = take_cannot_run,
        [FRAME_STARTED] = take_started,
        [FRAME_EXITED] = take_exited,
        [FRAME_ABORTED] = take_aborted,
        [FRAME_OUTPUT] = take_output,
        [FRAME_INPUT_CREDIT] = take_input_credit,
        [FRAME_REPORT] = take_report,
        [FRAME_CLEANED] = take_cleaned,
        [FRAME_LOG] = take_log,
        [FRAME_PRELOAD_WANTED] = preload_wanted,
        [FRAME_PRELOAD_TAKEN] = preload_taken,
        [FRAME_PMI_CLIENT] = take_client,
        [FRAME_COLLECT] = collect_part,
        [FRAME_MODEX_REQUEST] = collect_modex_request,
        [FRAME_MODEX_REPLY] = collect_modex_reply,
        [FRAME_ERRAND_NEWS] = errands_news,
        [FRAME_PRESENT] = present_answer,
    };
    struct error why;
    top->run->nframes++;
    silent_heard(top);
    if (h && is_too_late(h, type))
        return;
    if (h)
        h->frame_link = l;
    if (!h || !take[type] || (is_of_ranks(type) && h->state < AGENT_LAUNCHED) ||
        take[type](h, p, n) < 0) {
        error_set(&why, EPROTO, "protocol error: %s that is not understood, or not in its place",
                  frame_type_text(type));
        host_closed(top, l, &why);
    }
    if (h)
        tree_leave_first(h);
    if (type != FRAME_OUTPUT)
        step_changed(top->run);
}

const struct link_events host_link_events = {
    .frame = host_frame,
    .move = host_move,
    .lost = host_lost,
    .resumed = host_resumed,
    .closed = host_closed,
};
