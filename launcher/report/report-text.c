/* SPDX-License-Identifier: BSD-3-Clause */
/* report-text.c - the report for people: a head, tables of ranks and hosts, and what was held how
 *
 * Up to REPORT_ROWS_MAX ranks have a row each. Of more, every quantity has a row with the least,
 * the median and the most, and whose they are; ranks that failed keep their rows. */
#include "launcher/report/report.h"

#include <inttypes.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/text/text-table.h"
#include "common/text/words.h"

enum format { FORMAT_TIME, FORMAT_BYTES, FORMAT_SHARE, FORMAT_COUNT };

enum { /* quantities that are no single field */
       QUANTITY_CPU = USAGE_FIELD_COUNT,
       QUANTITY_EFFICIENCY,
};

struct quantity {
    const char *heading;
    int what; /* a field, or one of the above */
    enum format format;
    int only_if_used; /* not worth a column while it is 0 for all */
    int peak;         /* bytes at the worst moment, which several need not have had together */
    int sampled;
};

static const struct quantity quantities[] = {
    {"CPU", QUANTITY_CPU, FORMAT_TIME, 0, 0, 0},
    {"system", USAGE_CPU_SYSTEM, FORMAT_TIME, 0, 0, 0},
    {"wall", USAGE_WALL, FORMAT_TIME, 0, 0, 0},
    {"eff.", QUANTITY_EFFICIENCY, FORMAT_SHARE, 0, 0, 0},
    {"memory", USAGE_MEMORY_PEAK, FORMAT_BYTES, 0, 1, 0},
    {"largest", USAGE_RSS_PEAK, FORMAT_BYTES, 0, 0, 0},
    {"anon~", USAGE_ANON_PEAK, FORMAT_BYTES, 0, 1, 1},
    {"shared~", USAGE_SHARED_PEAK, FORMAT_BYTES, 1, 1, 1},
    {"swap~", USAGE_SWAP_PEAK, FORMAT_BYTES, 1, 1, 1},
    {"read", USAGE_READ_BYTES, FORMAT_BYTES, 0, 0, 0},
    {"written", USAGE_WRITTEN_BYTES, FORMAT_BYTES, 0, 0, 0},
    {"majflt", USAGE_FAULTS_MAJOR, FORMAT_COUNT, 1, 0, 0},
    {"throttled", USAGE_THROTTLED, FORMAT_TIME, 1, 0, 0},
    {"limit hits", USAGE_LIMIT_EVENTS, FORMAT_COUNT, 1, 0, 0},
    {"stalled", USAGE_MEMORY_STALL, FORMAT_TIME, 1, 0, 0},
};
enum { QUANTITIES = sizeof(quantities) / sizeof(quantities[0]) };

/* The owner of a usage: a rank, a host, or a sum. */
struct subject {
    const struct usage *usage;
    double cores;     /* 0: unknown */
    int several;      /* it was added up: peaks are upper bounds, */
    int memory_exact; /* but that of all memory is one */
};

struct writer {
    const struct report *r;
    struct report_sums sums;
    FILE *out;
    bool all;
    int shown[QUANTITIES];
};

/* -1: unknown. Times are in seconds. */
static double value_of(const struct quantity *q, const struct subject *s)
{
    if (q->what == QUANTITY_CPU)
        return usage_cpu_seconds(s->usage);
    if (q->what == QUANTITY_EFFICIENCY)
        return report_efficiency(s->usage, s->cores);
    if (!usage_has(s->usage, (enum usage_field)q->what))
        return -1;
    double v = (double)s->usage->value[q->what];
    return q->format == FORMAT_TIME ? v / 1e6 : v;
}

static const char *format_value(const struct quantity *q, double v, char *buf, size_t n)
{
    switch (q->format) {
    case FORMAT_TIME:
        return duration_format(v, buf, n);
    case FORMAT_BYTES:
        return size_format((uint64_t)v, buf, n);
    case FORMAT_SHARE:
        snprintf(buf, n, "%.0f %%", 100 * v);
        break;
    case FORMAT_COUNT:
        snprintf(buf, n, "%.0f", v);
        break;
    }
    return buf;
}

static struct subject rank_subject(const struct writer *w, size_t i)
{
    return (struct subject){&w->r->ranks[i].usage, report_rank_cores(w->r, &w->sums, i), 0, 1};
}

static struct subject sum_subject(const struct report_host_sum *s)
{
    return (struct subject){&s->usage, s->cores, s->nranks != 1, s->memory_exact};
}

/* Does it say anything about this one? */
static bool is_telling(const struct quantity *q, const struct subject *s)
{
    if (q->what == USAGE_RSS_PEAK && usage_has(s->usage, USAGE_MEMORY_PEAK))
        return false; /* the whole is known: the largest process is a detail */
    return value_of(q, s) > (q->only_if_used ? 0 : -1);
}

/* The quantities that have a column: those that tell of a rank or of a host. */
static void choose_quantities(struct writer *w)
{
    for (size_t q = 0; q < QUANTITIES; q++) {
        int telling = 0;
        for (size_t i = 0; !telling && i < w->r->nranks; i++) {
            struct subject s = rank_subject(w, i);
            telling = is_telling(&quantities[q], &s);
        }
        for (size_t i = 0; !telling && i < w->r->nhosts; i++) {
            struct subject s = sum_subject(&w->sums.hosts[i]);
            telling = is_telling(&quantities[q], &s);
        }
        w->shown[q] = telling;
    }
}

/* The user's text on one line of ours. */
static void print_shown(struct writer *w, const char *text, size_t max)
{
    char shown[512];
    size_t taken = text_escape(text, strlen(text), shown, max + 4);
    fprintf(w->out, "%s%s", shown, text[taken] ? "..." : "");
}

/* ---- head ------------------------------------------------------------------------------------ */

static void print_failure(struct writer *w)
{
    const struct rank_end *e = w->r->first_failure;
    char name[RANK_NAME_TEXT], how[64];
    if (w->r->failure_text) {
        fputs("first failure: ", w->out);
        print_shown(w, w->r->failure_text, 400);
        fputc('\n', w->out);
    } else if (e) {
        fprintf(w->out, "first failure: rank %s on %s: %s\n", rank_name_format(e->name, name),
                e->host < w->r->nhosts ? w->r->hosts[e->host].name : "?",
                report_end_text(e, how, sizeof(how)));
    }
}

static void print_head(struct writer *w)
{
    const struct report *r = w->r;
    time_t start = (time_t)(r->start_ns / 1000000000);
    struct tm tm;
    char date[32], wall[32];
    uint32_t nranks = w->sums.ranks.nranks;
    size_t restarts = r->nranks - nranks;
    fprintf(w->out, "step %s", r->step_id);
    if (r->job_id && r->job_id[0])
        fprintf(w->out, " of job %s", r->job_id);
    fprintf(w->out, " (%s): ", r->adapter);
    print_shown(w, r->command, 100);
    strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", localtime_r(&start, &tm));
    duration_format((double)(r->end_ns - r->start_ns) / 1e9, wall, sizeof(wall));
    fprintf(w->out, "\n%" PRIu32 " rank%s", nranks, plural(nranks));
    if (restarts)
        fprintf(w->out, " and %zu restart%s", restarts, plural(restarts));
    fprintf(w->out, " on %zu host%s, from %s for %s, exit code %d\n", r->nhosts, plural(r->nhosts),
            date, wall, r->exit_code);
    print_failure(w);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* A table whose columns are some of our own, the quantities, and one at the end (or NULL). */
static struct text_table *start_table(const struct writer *w, const char *const own[],
                                      const char *last)
{
    const char *headings[QUANTITIES + 8];
    char names[QUANTITIES][24];
    size_t n = 0;
    for (size_t i = 0; own[i]; i++)
        headings[n++] = own[i];
    for (size_t q = 0; q < QUANTITIES; q++) {
        if (!w->shown[q])
            continue;
        snprintf(names[q], sizeof(names[q]), ">%s", quantities[q].heading);
        headings[n++] = names[q];
    }
    if (last)
        headings[n++] = last;
    headings[n] = NULL;
    return text_table_create(headings);
}

static bool is_upper_bound(const struct quantity *q, const struct subject *s)
{
    return q->peak && s->several && !(q->what == USAGE_MEMORY_PEAK && s->memory_exact);
}

static void add_quantities(const struct writer *w, struct text_table *t, const struct subject *s)
{
    for (size_t i = 0; i < QUANTITIES; i++) {
        const struct quantity *q = &quantities[i];
        char text[32];
        double v = value_of(q, s);
        if (!w->shown[i])
            continue;
        if (v < 0)
            text_table_text(t, NULL);
        else
            text_table_cell(t, "%s%s", is_upper_bound(q, s) ? "<= " : "",
                            format_value(q, v, text, sizeof(text)));
    }
}

static void print_table(struct writer *w, struct text_table *t)
{
    text_table_drop_unknown(t);
    AUTO_FREE char *text = text_table_format(t, "  ");
    fprintf(w->out, "\n%s", text);
    text_table_destroy(t);
}

static void add_rank(const struct writer *w, struct text_table *t, size_t i)
{
    const struct report_rank *k = &w->r->ranks[i];
    struct subject s = rank_subject(w, i);
    char text[64];
    text_table_cell(t, "%s", rank_name_format(k->name, text));
    text_table_cell(t, "%s", w->r->hosts[k->host].name);
    text_table_text(t, k->bound_threads && !k->bound_threads[0] ? "any" : k->bound_threads);
    text_table_text(
        t, k->limits.memory.set ? size_format(k->limits.memory.value, text, sizeof(text)) : NULL);
    add_quantities(w, t, &s);
    text_table_text(t, k->end ? report_end_text(k->end, text, sizeof(text)) : NULL);
}

static int failed(const struct report_rank *k)
{
    return k->end && k->end->cause != END_OK && k->end->cause != END_KILLED;
}

/* Rows of all ranks, or of at most REPORT_ROWS_MAX that failed. */
static void print_ranks(struct writer *w, int only_failed)
{
    static const char *const own[] = {">rank", "host", "cpus", ">limit", NULL};
    struct text_table *t = start_table(w, own, "end");
    size_t rows = 0, more = 0;
    for (size_t i = 0; i < w->r->nranks; i++) {
        if (only_failed && !failed(&w->r->ranks[i]))
            continue;
        if (only_failed && rows == REPORT_ROWS_MAX) {
            more++;
            continue;
        }
        add_rank(w, t, i);
        rows++;
    }
    if (rows)
        print_table(w, t);
    else
        text_table_destroy(t);
    if (more)
        fprintf(w->out, "  and %zu more rank%s that failed\n", more, plural(more));
}

/* ---- summaries of many ----------------------------------------------------------------------- */

struct named_value {
    double value;
    size_t index;
};

static int by_value(const void *a, const void *b)
{
    const struct named_value *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

struct crowd {
    const char *noun; /* "rank", "host" */
    size_t n;
    struct subject (*subject)(const struct writer *w, size_t i);
    const char *(*name)(const struct writer *w, size_t i, char *buf);
};

static struct subject host_subject(const struct writer *w, size_t i)
{
    return sum_subject(&w->sums.hosts[i]);
}

static const char *rank_label(const struct writer *w, size_t i, char *buf)
{
    return rank_name_format(w->r->ranks[i].name, buf);
}

static const char *host_label(const struct writer *w, size_t i, char *buf)
{
    return w->r->hosts[i].name;
}

static void add_named(const struct writer *w, struct text_table *t, const struct crowd *c,
                      const struct quantity *q, const struct named_value *v, int named)
{
    char text[64];
    text_table_cell(t, "%s", format_value(q, v->value, text, sizeof(text)));
    text_table_cell(t, "%s", named ? c->name(w, v->index, text) : "all");
}

static void add_summary_row(const struct writer *w, struct text_table *t, const struct crowd *c,
                            const struct quantity *q, struct named_value *values)
{
    size_t n = 0;
    char text[32];
    for (size_t i = 0; i < c->n; i++) {
        struct subject s = c->subject(w, i);
        double v = value_of(q, &s);
        if (v >= 0)
            values[n++] = (struct named_value){v, i};
    }
    if (n == 0)
        return;
    qsort(values, n, sizeof(*values), by_value);
    int differ = values[0].value < values[n - 1].value;
    text_table_cell(t, "%s", q->heading);
    add_named(w, t, c, q, &values[0], differ);
    text_table_cell(t, "%s", format_value(q, values[n / 2].value, text, sizeof(text)));
    add_named(w, t, c, q, &values[n - 1], differ);
    text_table_number(t, c->n - n, 0);
}

static void print_summary(struct writer *w, const struct crowd *c)
{
    char title[64];
    snprintf(title, sizeof(title), "of %zu %ss", c->n, c->noun);
    const char *const headings[] = {title,   ">least", c->noun,    ">median",
                                    ">most", c->noun,  ">unknown", NULL};
    struct text_table *t = text_table_create(headings);
    AUTO_FREE struct named_value *values = must(malloc((c->n + 1) * sizeof(*values)));
    for (size_t q = 0; q < QUANTITIES; q++)
        if (w->shown[q])
            add_summary_row(w, t, c, &quantities[q], values);
    print_table(w, t);
}

static void print_all_ranks(struct writer *w)
{
    struct crowd c = {"rank", w->r->nranks, rank_subject, rank_label};
    if (w->all || c.n <= REPORT_ROWS_MAX) {
        print_ranks(w, 0);
        return;
    }
    print_summary(w, &c);
    print_ranks(w, 1);
}

/* ---- hosts and sums -------------------------------------------------------------------------- */

static void add_sum(const struct writer *w, struct text_table *t, const char *name,
                    const struct report_host_sum *sum)
{
    struct subject s = sum_subject(sum);
    text_table_cell(t, "%s", name);
    text_table_number(t, sum->nranks, 0);
    text_table_number(t, sum->cores, 0);
    add_quantities(w, t, &s);
}

/* A row for what is no rank: without ranks and cores, and so without efficiency. */
static void add_usage(const struct writer *w, struct text_table *t, const char *name,
                      const struct usage *u)
{
    struct subject s = {.usage = u, .several = 1};
    text_table_cell(t, "%s", name);
    text_table_text(t, NULL);
    text_table_text(t, NULL);
    add_quantities(w, t, &s);
}

static void print_hosts(struct writer *w)
{
    static const char *const own[] = {"host", ">ranks", ">cores", NULL};
    struct crowd c = {"host", w->r->nhosts, host_subject, host_label};
    int rows = w->all || c.n <= REPORT_ROWS_MAX;
    if (!rows)
        print_summary(w, &c);
    struct text_table *t = start_table(w, own, NULL);
    for (size_t i = 0; rows && i < w->r->nhosts; i++)
        add_sum(w, t, w->r->hosts[i].name, &w->sums.hosts[i]);
    if (!rows || w->r->nhosts > 1)
        add_sum(w, t, "all ranks", &w->sums.ranks);
    add_usage(w, t, "mprun", &w->sums.mprun);
    add_usage(w, t, "step", &w->sums.step);
    print_table(w, t);
}

/* ---- what was held how ----------------------------------------------------------------------- */

enum { NOTE_TEXT = 2000 };

static void say_placement(const struct writer *w, size_t host, char *buf, size_t n)
{
    const struct report_host *h = &w->r->hosts[host];
    buf[0] = 0;
    if (h->ready && h->threads && h->threads[0])
        snprintf(buf, n, "hardware threads %s%s%s", h->threads,
                 h->memory_nodes ? ", memory nodes " : "", h->memory_nodes ? h->memory_nodes : "");
}

static void say_gpus(const struct writer *w, size_t host, char *buf, size_t n)
{
    static const char *const held[] = {
        [DEVICES_OPEN] = "nothing is known to keep ranks from opening others",
        [DEVICES_OF_JOB] = "no other can be opened",
        [DEVICES_OF_RANK] = "a rank with GPUs of its own can open no other",
    };
    const struct report_host *h = &w->r->hosts[host];
    buf[0] = 0;
    if (h->ready && (h->gpus || h->gpus_why || h->gpus_held))
        snprintf(buf, n, "GPUs%s%s%s %s%s%s%s%s", h->gpus ? " " : "", h->gpus ? h->gpus : "",
                 h->gpus ? ";" : ":", held[h->gpus_held],
                 h->gpus_why && h->gpus_held ? ", but ranks can open each other's" : "",
                 h->gpus_why ? " (" : "", h->gpus_why ? h->gpus_why : "", h->gpus_why ? ")" : "");
}

static void say_tracking(const struct writer *w, size_t host, char *buf, size_t n)
{
    const struct report_host *h = &w->r->hosts[host];
    const char *reason = h->tracking_reason ? h->tracking_reason : "";
    const char *kind = h->cgroup_kind ? h->cgroup_kind : "";
    size_t length = strlen(reason);
    if (h->tracking == TRACK_RM &&
        strstr(reason, "; ")) /* why there are no cgroups is for --explain */
        length = (size_t)(strstr(reason, "; ") - reason);
    if (!h->ready)
        snprintf(buf, n, "tracking unknown");
    else
        snprintf(buf, n, "tracking %s%s%s%s%s%.*s%s", tracking_text(h->tracking),
                 kind[0] ? " in " : "", kind, kind[0] ? " cgroups" : "", length ? " (" : "",
                 (int)length, reason, length ? ")" : "");
}

static const char *holder_text(const struct limits *l, enum limit_kind k, enum limit_level level)
{
    switch (l->of[k].held_by) {
    case HELD_BY_NONE:
        return "nothing";
    case HELD_BY_SAMPLED:
        return "samples";
    case HELD_BY_RLIMIT:
        return limit_is_sampled(l, k, level)
                   ? "rlimit for each process, samples for all of them together"
                   : "rlimit for each process";
    case HELD_BY_CGROUP:
        break;
    }
    return "cgroup";
}

static void say_limit(const struct limits *l, enum limit_kind k, enum limit_level level, char *buf,
                      size_t n)
{
    char value[32];
    size_t len = strlen(buf);
    if (!l->of[k].set)
        return;
    limit_format(k, l->of[k].value, value, sizeof(value));
    snprintf(buf + len, n - len, "%s%s of a %s limited to %s, held by %s", len ? "; " : "",
             limit_words(k)->name, limit_level_text(level), value, holder_text(l, k, level));
}

void report_limits_text(const struct limits *l, enum limit_level level, char *buf, size_t n)
{
    buf[0] = 0;
    for (int k = 0; k < LIMIT_KIND_COUNT; k++)
        say_limit(l, (enum limit_kind)k, level, buf, n);
}

static void say_host_limits(const struct writer *w, size_t host, char *buf, size_t n)
{
    buf[0] = 0;
    if (w->r->hosts[host].ready)
        report_limits_text(&w->r->hosts[host].limits, LIMIT_OF_HOST, buf, n);
}

/* The ranks of a program have the same limits, and on a host these are held in the same way. */
static void say_rank_limits(const struct writer *w, size_t host, char *buf, size_t n)
{
    const struct report_rank *before = NULL;
    char name[RANK_NAME_TEXT], text[NOTE_TEXT];
    buf[0] = 0;
    for (size_t i = w->sums.hosts[host].nranks ? w->sums.hosts[host].any_rank : w->r->nranks;
         i < w->r->nranks; i++) {
        const struct report_rank *r = &w->r->ranks[i];
        size_t len = strlen(buf);
        if (r->host != host ||
            (before && memcmp(&r->limits, &before->limits, sizeof(r->limits)) == 0))
            continue;
        report_limits_text(&r->limits, LIMIT_OF_RANK, text, sizeof(text));
        if (before && text[0])
            snprintf(buf + len, n - len, "%sfrom rank %s on: %s", len ? "; " : "",
                     rank_name_format(r->name, name), text);
        else
            snprintf(buf, n, "%s", text);
        before = r;
        if (!w->r->has_own_limits)
            return;
    }
}

static void print_step_limits(struct writer *w)
{
    char text[NOTE_TEXT] = "";
    report_limits_text(&w->r->limits, LIMIT_OF_STEP, text, sizeof(text));
    if (text[0])
        fprintf(w->out, "  %s\n", text);
}

enum { HOSTS_NAMED = 4 }; /* of a sentence; the rest is counted */

typedef void (*say_fn)(const struct writer *w, size_t host, char *buf, size_t n);

/* A sentence, and the hosts of which it is true. */
struct sentence {
    char *text;
    size_t nhosts;
    size_t first[HOSTS_NAMED];
};

static int compare_texts(const void *a, const void *b)
{
    return strcmp(((const struct sentence *)a)->text, ((const struct sentence *)b)->text);
}

static void keep(void *sentence)
{
}

/* The sentences in the order of their first hosts. Returns how many differ. */
static size_t find_sentences(const struct writer *w, say_fn say, struct sentence *ret)
{
    void *by_text = NULL;
    size_t n = 0;
    for (size_t i = 0; i < w->r->nhosts; i++) {
        char text[NOTE_TEXT];
        say(w, i, text, sizeof(text));
        if (!text[0])
            continue;
        ret[n].text = must(strdup(text));
        struct sentence *s = *(struct sentence **)must(tsearch(&ret[n], &by_text, compare_texts));
        if (s != &ret[n])
            free(ret[n].text);
        n += s == &ret[n];
        if (s->nhosts < HOSTS_NAMED)
            s->first[s->nhosts] = i;
        s->nhosts++;
    }
    tdestroy(by_text, keep);
    return n;
}

/* A line per different sentence: "n1, n2 and 5 more: ..." */
static void print_sentences(struct writer *w, say_fn say)
{
    AUTO_FREE struct sentence *all = must(calloc(w->r->nhosts + 1, sizeof(*all)));
    size_t n = find_sentences(w, say, all);
    for (struct sentence *s = all; s < all + n; s++) {
        for (size_t i = 0; i < s->nhosts && i < HOSTS_NAMED; i++)
            fprintf(w->out, "%s%s", i ? ", " : "  ", w->r->hosts[s->first[i]].name);
        if (s->nhosts > HOSTS_NAMED)
            fprintf(w->out, " and %zu more", s->nhosts - HOSTS_NAMED);
        fprintf(w->out, ": %s\n", s->text);
        free(s->text);
    }
}

/* In the words that accounting has for it. The placement of each host comes behind it. */
static void print_resources_used(const struct writer *w)
{
    const struct usage *u = &w->sums.step;
    char text[32];
    double cpu = usage_cpu_seconds(u);
    fprintf(w->out, "  Resources_used: walltime %s",
            duration_format((double)(w->r->end_ns - w->r->start_ns) / 1e9, text, sizeof(text)));
    if (cpu >= 0)
        fprintf(w->out, ", cput %s", duration_format(cpu, text, sizeof(text)));
    if (usage_has(u, USAGE_MEMORY_PEAK))
        fprintf(w->out, ", mem %s", size_format(u->value[USAGE_MEMORY_PEAK], text, sizeof(text)));
    u = &w->sums.ranks.usage; /* mprun's own processes have no limit */
    if (usage_has(u, USAGE_LIMIT_EVENTS) && u->value[USAGE_LIMIT_EVENTS])
        fprintf(w->out, ", memory limits hit %" PRIu64 " times", u->value[USAGE_LIMIT_EVENTS]);
    if (usage_has(u, USAGE_MEMORY_STALL) && u->value[USAGE_MEMORY_STALL])
        fprintf(w->out, ", stalled for memory %.3f s", (double)u->value[USAGE_MEMORY_STALL] / 1e6);
    fputc('\n', w->out);
}

static void print_notes(struct writer *w)
{
    int sampled = 0;
    for (size_t q = 0; q < QUANTITIES; q++)
        sampled |= w->shown[q] && quantities[q].sampled;
    fputc('\n', w->out);
    print_resources_used(w);
    print_sentences(w, say_placement);
    print_sentences(w, say_gpus);
    print_sentences(w, say_tracking);
    print_sentences(w, say_host_limits);
    print_sentences(w, say_rank_limits);
    print_step_limits(w);
    if (sampled && w->r->sample_period > 0)
        fprintf(w->out, "  ~ the highest of samples, one every %g s\n", w->r->sample_period);
    else if (sampled)
        fputs("  ~ the highest of samples\n", w->out);
}

void report_print(const struct report *r, bool all, FILE *out)
{
    struct writer w = {.r = r, .all = all, .out = out};
    report_sums_create(r, &w.sums);
    choose_quantities(&w);
    print_head(&w);
    print_all_ranks(&w);
    print_hosts(&w);
    print_notes(&w);
    report_sums_free(&w.sums);
}

void report_print_containment(const struct report *r, FILE *out)
{
    struct writer w = {.r = r, .out = out};
    report_sums_create(r, &w.sums);
    print_head(&w);
    print_notes(&w);
    report_sums_free(&w.sums);
}
