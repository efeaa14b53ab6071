/* SPDX-License-Identifier: BSD-3-Clause */
/* report-launch.c - how the start of a step went: its phases over all hosts, and slow ones */
#include "launcher/report/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/text/text-table.h"

const struct launch_phase_words launch_phase_words[LAUNCH_PHASE_COUNT] = {
    [LAUNCH_BEGUN] = {"begun", "start begun"},
    [LAUNCH_REPORTED] = {"reported", "reported back"},
    [LAUNCH_PLACED] = {"placed", "placed"},
    [LAUNCH_READY] = {"ready", "ready for ranks"},
    [LAUNCH_RUNNING] = {"running", "ranks started"},
};

/* ---- sums ------------------------------------------------------------------------------------ */

/* How long a host took from the phase before; -1: its turn came when mprun was ready for it. */
static double taken(const struct report *r, size_t host, enum launch_phase phase)
{
    const float *reached = r->hosts[host].reached;
    if (phase == LAUNCH_BEGUN)
        return -1;
    return reached[phase] - (phase == LAUNCH_READY ? r->launch.sent : reached[phase - 1]);
}

static void note_slow(struct launch_sum *s, size_t host, double seconds)
{
    size_t at = s->nslowest;
    if (seconds < 0)
        return;
    while (at > 0 && s->slowest[at - 1].seconds < seconds)
        at--;
    if (at == LAUNCH_SLOWEST)
        return;
    if (s->nslowest < LAUNCH_SLOWEST)
        s->nslowest++;
    for (size_t i = s->nslowest - 1; i > at; i--)
        s->slowest[i] = s->slowest[i - 1];
    s->slowest[at].host = host;
    s->slowest[at].seconds = seconds;
}

static int by_time(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

void launch_sum(const struct report *r, enum launch_phase phase, struct launch_sum *ret)
{
    AUTO_FREE float *times = must(malloc((r->nhosts + 1) * sizeof(*times)));
    *ret = (struct launch_sum){0};
    for (size_t i = 0; i < r->nhosts; i++) {
        if (r->hosts[i].reached[phase] <= 0)
            continue;
        times[ret->hosts++] = r->hosts[i].reached[phase];
        note_slow(ret, i, taken(r, i, phase));
    }
    if (ret->hosts == 0)
        return;
    qsort(times, ret->hosts, sizeof(*times), by_time);
    ret->first = times[0];
    ret->median = times[ret->hosts / 2];
    ret->last = times[ret->hosts - 1];
}

/* ---- for people ------------------------------------------------------------------------------ */

static const char *time_text(double seconds, char *buf, size_t n)
{
    if (seconds >= 1)
        return duration_format(seconds, buf, n);
    snprintf(buf, n, "%.1f ms", 1e3 * seconds);
    return buf;
}

static void add_time(struct text_table *t, double seconds)
{
    char text[32];
    text_table_cell(t, "%s", time_text(seconds, text, sizeof(text)));
}

/* Something that happened once, in mprun. */
static void add_moment(struct text_table *t, const char *what, double seconds)
{
    if (seconds <= 0)
        return;
    text_table_cell(t, "%s", what);
    for (int unknown = 0; unknown < 3; unknown++)
        text_table_text(t, NULL);
    add_time(t, seconds);
    text_table_text(t, NULL);
}

static void add_phase(const struct report *r, struct text_table *t, enum launch_phase phase)
{
    struct launch_sum s;
    char names[400] = "", text[32];
    int at = 0;
    launch_sum(r, phase, &s);
    if (s.hosts == 0)
        return;
    text_table_cell(t, "%s", launch_phase_words[phase].text);
    text_table_cell(t, "%zu", s.hosts);
    add_time(t, s.first);
    add_time(t, s.median);
    add_time(t, s.last);
    for (size_t i = 0; i < s.nslowest; i++)
        at += snprintf(names + at, sizeof(names) - (size_t)at, "%s%.80s %s", i ? ", " : "",
                       r->hosts[s.slowest[i].host].name,
                       time_text(s.slowest[i].seconds, text, sizeof(text)));
    text_table_text(t, names);
}

static void print_head(const struct report *r, FILE *out)
{
    const struct report_launch *l = &r->launch;
    char text[32], cpu[32];
    fprintf(out, "start of step %s (%s): %zu rank%s on %zu host%s, ", r->step_id, r->adapter,
            r->nranks, plural(r->nranks), r->nhosts, plural(r->nhosts));
    if (l->running > 0)
        fprintf(out, "all started after %s\n", time_text(l->running, text, sizeof(text)));
    else
        fputs("not all started\n", out);
    if (l->fanout)
        fprintf(out, "tree of %" PRIu32 " level%s with fan-out %" PRIu32, l->depth,
                plural(l->depth), l->fanout);
    else
        fputs("every host is linked to mprun itself", out);
    fprintf(out, "; at most %zu start%s at once", l->starts_at_once, plural(l->starts_at_once));
    if (l->running > 0)
        fprintf(out, "; mprun took %" PRIu64 " messages and used %s of CPU time", l->messages,
                time_text(l->cpu, cpu, sizeof(cpu)));
    fputc('\n', out);
}

static void print_phases(const struct report *r, FILE *out)
{
    static const char *const headings[] = {"phase", ">hosts",        ">first", ">median",
                                           ">last", "slowest hosts", NULL};
    struct text_table *t = text_table_create(headings);
    add_moment(t, "hosts known", r->launch.known);
    for (int phase = 0; phase < LAUNCH_PHASE_COUNT; phase++) {
        if (phase == LAUNCH_READY)
            add_moment(t, "launch sent", r->launch.sent);
        add_phase(r, t, (enum launch_phase)phase);
    }
    AUTO_FREE char *text = text_table_format(t, "  ");
    fprintf(out, "\n%s", text);
    text_table_destroy(t);
}

void report_print_launch(const struct report *r, FILE *out)
{
    print_head(r, out);
    print_phases(r, out);
}
