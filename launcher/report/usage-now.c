/* SPDX-License-Identifier: BSD-3-Clause */
/* usage-now.c - see usage-now.h
 *
 * mprun asks every host; for a host that has sent its REPORT, that is the answer. After
 * USAGE_NOW_SECONDS mprun names the hosts without an answer and goes on. How many cores are busy
 * follows from the CPU time since the last time that all had answered, or since LAUNCH. */
#include "launcher/report/usage-now.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/number.h"
#include "launcher/hosts/host-links.h"
#include "launcher/outcome/verdict.h"
#include "launcher/step/step-record.h"
#include "launcher/tunables.h"

enum { ROWS_MAX = 4 }; /* more hosts than this are summarised */

struct amount {
    double at; /* loop_now() when it was so */
    uint64_t cpu, memory;
    uint64_t processes;
    double busy; /* cores, since the last look at all */
    int memory_added;
    int known;
};

struct look {
    struct amount now;
    uint64_t cpu_before; /* at the last look at all */
    double at_before;
};

/* ---- what is said ---------------------------------------------------------------------------- */

static bool has_not_answered(const void *arg, const struct host *h)
{
    const struct usage_now *u = arg;
    return !u->looks[h->launch_index].now.known;
}

static const char *memory_text(const struct amount *a, char *buf, size_t n)
{
    char size[16];
    snprintf(buf, n, "%s%s", a->memory_added ? "<= " : "",
             size_format(a->memory, size, sizeof(size)));
    return buf;
}

static const char *amount_text(const struct usage_now *u, const struct amount *a, char *buf,
                               size_t n)
{
    char cpu[32], memory[24], since[32], when[64] = "on average";
    duration_format((double)a->cpu / 1e6, cpu, sizeof(cpu));
    if (u->last > 0)
        snprintf(when, sizeof(when), "in the last %s",
                 duration_format(loop_now() - u->last, since, sizeof(since)));
    snprintf(buf, n, "CPU time %s so far (%.1f cores busy %s); now memory %s, %llu process%s", cpu,
             a->busy, when, memory_text(a, memory, sizeof(memory)),
             (unsigned long long)a->processes, a->processes == 1 ? "" : "es");
    return buf;
}

static void say_each(const struct usage_now *u)
{
    char text[256];
    for (size_t i = 0; i < u->hosts->plan->nused; i++)
        if (u->looks[i].now.known)
            log_warn("on %s: %s", u->hosts->used[i]->name,
                     amount_text(u, &u->looks[i].now, text, sizeof(text)));
}

static const char *name_of(const struct usage_now *u, const struct look *k)
{
    return u->hosts->used[k - u->looks]->name;
}

/* The hosts that have answered with the least and the most of it; the first of several. */
static void say_extremes(const struct usage_now *u)
{
    const struct look *idle = NULL, *busy = NULL, *small = NULL, *large = NULL;
    char least[24], most[24];
    for (const struct look *k = u->looks; k < u->looks + u->hosts->plan->nused; k++) {
        if (!k->now.known)
            continue;
        if (!idle || k->now.busy < idle->now.busy)
            idle = k;
        if (!busy || k->now.busy > busy->now.busy)
            busy = k;
        if (!small || k->now.memory < small->now.memory)
            small = k;
        if (!large || k->now.memory > large->now.memory)
            large = k;
    }
    log_warn("a host: from %.1f cores busy (%s) to %.1f (%s); memory from %s (%s) to %s (%s)",
             idle->now.busy, name_of(u, idle), busy->now.busy, name_of(u, busy),
             memory_text(&small->now, least, sizeof(least)), name_of(u, small),
             memory_text(&large->now, most, sizeof(most)), name_of(u, large));
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Adds up the hosts that have answered. Returns their number. */
static size_t add_up(struct usage_now *u, struct amount *sum)
{
    size_t n = 0;
    for (size_t i = 0; i < u->hosts->plan->nused; i++) {
        struct look *k = &u->looks[i];
        double seconds = k->now.at - k->at_before;
        if (!k->now.known)
            continue;
        if (seconds > 0 && k->now.cpu > k->cpu_before)
            k->now.busy = (double)(k->now.cpu - k->cpu_before) / 1e6 / seconds;
        sum->cpu += k->now.cpu;
        sum->memory += k->now.memory;
        sum->processes += k->now.processes;
        sum->busy += k->now.busy;
        sum->memory_added |= k->now.memory_added;
        n++;
    }
    return n;
}

static void remember(struct usage_now *u)
{
    for (size_t i = 0; i < u->hosts->plan->nused; i++) {
        u->looks[i].cpu_before = u->looks[i].now.cpu;
        u->looks[i].at_before = u->looks[i].now.at;
    }
    u->last = loop_now();
}

static void say(struct usage_now *u)
{
    struct amount sum = {0};
    char text[256], who[64] = "all ranks", names[600];
    size_t n = add_up(u, &sum),
           missing = hosts_list(u->hosts, has_not_answered, u, names, sizeof(names));
    if (missing)
        snprintf(who, sizeof(who), "ranks on %zu of %zu hosts", n, u->hosts->plan->nused);
    if (n)
        log_warn("%s: %s", who, amount_text(u, &sum, text, sizeof(text)));
    if (n && u->hosts->plan->nused > ROWS_MAX)
        say_extremes(u);
    else if (u->hosts->plan->nused > 1)
        say_each(u);
    if (missing)
        log_warn("no answer within %g s of %zu host%s: %s", USAGE_NOW_SECONDS, missing,
                 plural(missing), names);
    else
        remember(u);
}

/* ---- ranks that ask -------------------------------------------------------------------------- */

struct asker {
    uint32_t host;
    uint64_t id;
    struct usage_of of;
};

static bool is_same(const struct usage_of *a, const struct usage_of *b)
{
    return a->is_some == b->is_some && (!a->is_some || rank_name_equal(a->name, b->name));
}

/* One message for all who have asked for this: only the id differs. The others stay. */
static void answer_askers(struct usage_now *u)
{
    size_t n = u->hosts->plan->nused, known = 0;
    Mprun__HostsUsage m = MPRUN__HOSTS_USAGE__INIT;
    AUTO_FREE ProtobufCBinaryData *hosts = must(calloc(n + 1, sizeof(*hosts)));
    AUTO_FREE uint64_t *numbers = must(calloc(3 * n + 1, sizeof(*numbers)));
    m.hosts = hosts;
    m.cpu = numbers;
    m.memory = numbers + n;
    m.processes = numbers + 2 * n;
    for (size_t i = 0; i < n; i++) {
        const struct amount *a = &u->looks[i].now;
        if (!a->known)
            continue;
        hosts[known] = bytes_of(u->hosts->used[i]->name);
        m.cpu[known] = a->cpu;
        m.memory[known] = a->memory;
        m.processes[known++] = a->processes;
    }
    m.n_hosts = m.n_cpu = m.n_memory = m.n_processes = known;
    for (size_t left = buffer_len(&u->askers) / sizeof(struct asker); left > 0; left--) {
        struct asker a;
        memcpy(&a, buffer_ptr(&u->askers), sizeof(a));
        buffer_consume(&u->askers, sizeof(a));
        if (!is_same(&a.of, &u->of)) {
            buffer_append(&u->askers, &a, sizeof(a));
            continue;
        }
        struct host *h = host_at(u->hosts, a.host);
        m.id = a.id;
        if (h)
            host_send(h, FRAME_HOSTS_USAGE, &m.base);
    }
}

static void look(struct usage_now *u);

static void over(void *arg)
{
    struct usage_now *u = arg;
    bool is_said = u->is_said && !u->of.is_some;
    loop_timer_stop(&u->timer);
    answer_askers(u);
    if (is_said)
        u->is_said = false;
    if (is_said && !verdict_is_ending(u->verdict)) /* else nobody wants it any more */
        say(u);
    if (u->is_said || buffer_len(&u->askers))
        look(u);
    else
        loop_defer_schedule(u->then);
}

/* ---- questions and answers ------------------------------------------------------------------- */

/* Takes the numbers of the host's REPORT, as report.c adds them up. False: there was none. */
static bool have_report(const struct usage_now *u, const struct host *h, struct amount *ret)
{
    const struct report_host *r = &u->hosts->record->hosts[h->launch_index];
    struct usage sum = {0};
    if (h->state < AGENT_REPORTED || !r->starter.known)
        return false;
    for (const struct world_record *w = u->hosts->record->worlds; w; w = w->next) {
        for (uint32_t i = 0; i < w->nranks; i++)
            if (w->ranks[i].host == h->launch_index)
                usage_add(&sum, &w->ranks[i].usage);
        for (const struct former_rank *f = w->formers; f; f = f->next)
            if (f->row.host == h->launch_index)
                usage_add(&sum, &f->row.usage);
    }
    usage_add(&sum, &r->others);
    double cpu = usage_cpu_seconds(&r->total);
    if (cpu < 0)
        cpu = usage_cpu_seconds(&sum);
    *ret =
        (struct amount){.at = loop_now(), .known = 1, .cpu = cpu > 0 ? (uint64_t)(cpu * 1e6) : 0};
    return true;
}

static void look(struct usage_now *u)
{
    Mprun__PresentAsk m = MPRUN__PRESENT_ASK__INIT;
    Mprun__RankName name;
    if (loop_timer_is_active(&u->timer))
        return;
    u->of = (struct usage_of){0};
    if (!u->is_said) {
        struct asker first;
        memcpy(&first, buffer_ptr(&u->askers), sizeof(first));
        u->of = first.of;
    }
    if (u->of.is_some) {
        rank_name_pack(u->of.name, &name);
        m.of = &name;
    }
    u->awaited = 0;
    for (size_t i = 0; i < u->hosts->plan->nused; i++) {
        if (u->turn == 0) /* CPU time is counted from LAUNCH on */
            u->looks[i].at_before = u->hosts->plan->start_time + u->hosts->record->launch.sent;
        u->looks[i].now = (struct amount){0};
        u->awaited += !have_report(u, u->hosts->used[i], &u->looks[i].now);
    }
    m.turn = ++u->turn;
    hosts_broadcast(u->hosts, FRAME_PRESENT_ASK, &m.base);
    if (u->awaited)
        loop_timer_start(&u->timer, USAGE_NOW_SECONDS, 0);
    else
        over(u);
}

void usage_now_ask(struct usage_now *u)
{
    u->is_said = true;
    look(u);
}

void usage_now_ask_for(struct usage_now *u, const struct host *h, uint64_t id, struct usage_of of)
{
    struct asker a = {.host = h->launch_index, .id = id, .of = of};
    buffer_append(&u->askers, &a, sizeof(a));
    look(u);
}

int usage_now_answer(struct usage_now *u, const struct host *h, const Mprun__Present *m)
{
    struct look *k = &u->looks[h->launch_index];
    int rc = m->turn > 0 && m->turn <= u->turn ? 0 : -1;
    if (rc == 0 && m->turn == u->turn && loop_timer_is_active(&u->timer) && !k->now.known) {
        k->now = (struct amount){
            .at = loop_now(),
            .cpu = m->cpu,
            .memory = m->memory,
            .processes = m->processes,
            .memory_added = m->memory_added,
            .known = 1,
        };
        if (--u->awaited == 0)
            over(u);
    } /* else it comes too late */
    return rc;
}

void usage_now_init(struct usage_now *u, struct loop *loop, struct host_table *hosts,
                    const struct verdict *verdict, struct loop_defer *then)
{
    *u = (struct usage_now){.hosts = hosts, .verdict = verdict, .then = then};
    u->looks = must(calloc(hosts->plan->nused + 1, sizeof(*u->looks)));
    loop_timer_init(&u->timer, loop, over, u);
}

void usage_now_free(struct usage_now *u)
{
    loop_timer_stop(&u->timer);
    buffer_free(&u->askers);
    free(u->looks);
}
