/* SPDX-License-Identifier: BSD-3-Clause */
/* present.c - what all ranks use now, for somebody at the terminal
 *
 * Every host is asked; of those that have sent their REPORT that is the answer. Who has not
 * answered after ANSWER_SECONDS is named and not waited for. How many cores are busy follows from
 * the CPU time since the last time that all had answered, or since LAUNCH. */
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/number.h"
#include "launcher/run.h"

#define ANSWER_SECONDS 0.5
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

struct present {
    struct loop_timer *timer; /* runs while answers are awaited */
    uint32_t turn;
    size_t awaited;
    double last; /* loop_now() of the last look at all; 0: there was none */
    struct look hosts[];
};

static struct look *look_at(const struct host *h)
{
    return &h->run->present->hosts[h->launch_index];
}

/* ---- what is said ---------------------------------------------------------------------------- */

static int has_not_answered(const struct host *h)
{
    return !look_at(h)->now.known;
}

static const char *memory_text(const struct amount *a, char *buf, size_t n)
{
    char size[16];
    snprintf(buf, n, "%s%s", a->memory_added ? "<= " : "",
             size_format(a->memory, size, sizeof(size)));
    return buf;
}

static const char *amount_text(const struct run *r, const struct amount *a, char *buf, size_t n)
{
    char cpu[32], memory[24], since[32], when[64] = "on average";
    duration_format((double)a->cpu / 1e6, cpu, sizeof(cpu));
    if (r->present->last > 0)
        snprintf(when, sizeof(when), "in the last %s",
                 duration_format(loop_now() - r->present->last, since, sizeof(since)));
    snprintf(buf, n, "CPU time %s so far (%.1f cores busy %s); now memory %s, %llu process%s", cpu,
             a->busy, when, memory_text(a, memory, sizeof(memory)),
             (unsigned long long)a->processes, a->processes == 1 ? "" : "es");
    return buf;
}

static void say_each(const struct run *r)
{
    char text[256];
    for (size_t i = 0; i < r->nused; i++)
        if (r->present->hosts[i].now.known)
            log_note("on %s: %s", r->launched[i]->name,
                     amount_text(r, &r->present->hosts[i].now, text, sizeof(text)));
}

static double busy_of(const struct amount *a)
{
    return a->busy;
}

static double memory_of(const struct amount *a)
{
    return (double)a->memory;
}

/* The hosts that have answered with the least and the most of it; the first of several. */
static void extremes(const struct run *r, double (*of)(const struct amount *a), size_t ret[2])
{
    int begun = 0;
    for (size_t i = 0; i < r->nused; i++) {
        const struct look *all = r->present->hosts;
        if (!all[i].now.known)
            continue;
        if (!begun || of(&all[i].now) < of(&all[ret[0]].now))
            ret[0] = i;
        if (!begun || of(&all[i].now) > of(&all[ret[1]].now))
            ret[1] = i;
        begun = 1;
    }
}

static void say_extremes(const struct run *r)
{
    const struct look *all = r->present->hosts;
    size_t busy[2] = {0, 0}, memory[2] = {0, 0};
    char least[24], most[24];
    extremes(r, busy_of, busy);
    extremes(r, memory_of, memory);
    log_note("a host: from %.1f cores busy (%s) to %.1f (%s); memory from %s (%s) to %s (%s)",
             all[busy[0]].now.busy, r->launched[busy[0]]->name, all[busy[1]].now.busy,
             r->launched[busy[1]]->name, memory_text(&all[memory[0]].now, least, sizeof(least)),
             r->launched[memory[0]]->name, memory_text(&all[memory[1]].now, most, sizeof(most)),
             r->launched[memory[1]]->name);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Of the hosts that have answered; their number. */
static size_t add_up(const struct run *r, struct amount *sum)
{
    size_t n = 0;
    for (size_t i = 0; i < r->nused; i++) {
        struct look *k = &r->present->hosts[i];
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

static void remember(struct run *r)
{
    struct present *p = r->present;
    for (size_t i = 0; i < r->nused; i++) {
        p->hosts[i].cpu_before = p->hosts[i].now.cpu;
        p->hosts[i].at_before = p->hosts[i].now.at;
    }
    p->last = loop_now();
}

static void say(struct run *r)
{
    struct amount sum = {0};
    char text[256], who[64] = "all ranks", names[600];
    size_t n = add_up(r, &sum), missing = hosts_list(r, has_not_answered, names, sizeof(names));
    if (missing)
        snprintf(who, sizeof(who), "ranks on %zu of %zu hosts", n, r->nused);
    if (n)
        log_note("%s: %s", who, amount_text(r, &sum, text, sizeof(text)));
    if (n && r->nused > ROWS_MAX)
        say_extremes(r);
    else if (r->nused > 1)
        say_each(r);
    if (missing)
        log_note("no answer within %g s of %zu host%s: %s", ANSWER_SECONDS, missing,
                 plural(missing), names);
    else
        remember(r);
}

static void over(void *arg)
{
    struct run *r = arg;
    loop_timer_stop(r->present->timer);
    if (!r->killing) /* the step was ended meanwhile: nobody asks any more */
        say(r);
}

/* ---- questions and answers ------------------------------------------------------------------- */

static struct present *begin(struct run *r)
{
    struct present *p = calloc(1, sizeof(*p) + r->nused * sizeof(p->hosts[0]));
    if (p)
        p->timer = loop_timer_create(r->loop, over, r);
    if (!p || !p->timer) {
        free(p);
        return NULL;
    }
    for (size_t i = 0; i < r->nused; i++)
        p->hosts[i].at_before = r->start_time + r->launch.sent;
    return p;
}

/* What the host's REPORT said, as report.c adds it up. 0: there was none. */
static int have_report(const struct host *h, struct amount *ret)
{
    const struct run *r = h->run;
    struct usage sum = {0};
    if (h->state < AGENT_REPORTED || !h->report.starter.known)
        return 0;
    for (uint32_t i = 0; i < h->nranks; i++)
        usage_add(&sum, &r->ranks[h->first_rank + i].usage);
    usage_add(&sum, &h->report.others);
    double cpu = usage_cpu_seconds(&h->report.total);
    if (cpu < 0)
        cpu = usage_cpu_seconds(&sum);
    *ret =
        (struct amount){.at = loop_now(), .known = 1, .cpu = cpu > 0 ? (uint64_t)(cpu * 1e6) : 0};
    return 1;
}

void present_ask(struct run *r)
{
    Mprun__PresentAsk m = MPRUN__PRESENT_ASK__INIT;
    if (r->state < STEP_LAUNCHING || r->state >= STEP_RELEASING)
        return;
    if (!r->present)
        r->present = begin(r);
    struct present *p = r->present;
    if (!p || loop_timer_active(p->timer))
        return;
    p->awaited = 0;
    for (size_t i = 0; i < r->nused; i++) {
        p->hosts[i].now = (struct amount){0};
        p->awaited += !have_report(r->launched[i], &p->hosts[i].now);
    }
    m.turn = ++p->turn;
    hosts_broadcast(r, FRAME_PRESENT_ASK, &m.base);
    if (p->awaited)
        loop_timer_start(p->timer, ANSWER_SECONDS, 0);
    else
        over(r);
}

static void take(struct look *k, const Mprun__Present *m)
{
    k->now = (struct amount){
        .at = loop_now(),
        .cpu = m->cpu,
        .memory = m->memory,
        .processes = m->processes,
        .memory_added = m->memory_added,
        .known = 1,
    };
}

int present_answer(struct host *h, const uint8_t *p, size_t n)
{
    struct present *a = h->run->present;
    Mprun__Present *m = a ? mprun__present__unpack(NULL, n, p) : NULL;
    int rc = m && m->turn > 0 && m->turn <= a->turn ? 0 : -1;
    if (rc == 0 && m->turn == a->turn && loop_timer_active(a->timer) && !look_at(h)->now.known) {
        take(look_at(h), m);
        if (--a->awaited == 0)
            over(h->run);
    } /* else it comes too late */
    mprun__present__free_unpacked(m, NULL);
    return rc;
}

void present_end(struct run *r)
{
    if (!r->present)
        return;
    loop_timer_destroy(r->present->timer);
    free(r->present);
    r->present = NULL;
}
