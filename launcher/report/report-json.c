/* SPDX-License-Identifier: BSD-3-Clause */
/* report-json.c - the report for programs
 *
 * share/report-schema.json and doc/report.md describe this output, and a test compares them. A key
 * whose value is not known is left out. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/files/json.h"
#include "launcher/report/report.h"

/* RFC 3339, UTC, microseconds. */
static void put_time(struct json *in, const char *key, uint64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    char date[40], text[64];
    struct tm tm;
    if (!ns)
        return;
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &tm));
    snprintf(text, sizeof(text), "%s.%06" PRIu64 "Z", date, ns % 1000000000 / 1000);
    json_put_string(in, key, text);
}

static void put_usage(struct json *in, const char *key, const struct usage *u)
{
    if (!u->known)
        return;
    struct json *j = json_new_object();
    for (enum usage_field f = 0; f < USAGE_FIELD_COUNT; f++) {
        const char *name = usage_field_name(f);
        if (usage_has(u, f) && strcmp(name + strlen(name) - 2, "_s") == 0)
            json_put_real(j, name, (double)u->value[f] / 1e6);
        else if (usage_has(u, f))
            json_put_int(j, name, (int64_t)u->value[f]);
    }
    json_put(in, key, j);
}

static void put_efficiency(struct json *in, const struct usage *u, double cores)
{
    double e = report_efficiency(u, cores);
    if (e >= 0)
        json_put_real(in, "efficiency", e);
}

static struct json *holders_of(enum limit_kind k, enum limit_level level)
{
    struct json *list = json_new_array();
    for (enum limit_holder h = HELD_BY_CGROUP; h > HELD_BY_NONE; h--)
        if (limit_words(k)->holders[level] & (1u << h))
            json_put_string(list, NULL, limit_holder_text(h));
    return list;
}

void report_put_limits(struct json *in, const struct limits *l, const enum limit_level *foreseen)
{
    if (!limits_is_any_set(l))
        return;
    struct json *j = json_new_object();
    for (int k = 0; k < LIMIT_KIND_COUNT; k++) {
        if (!l->of[k].set)
            continue;
        struct json *one = json_new_object();
        json_put_int(one, "value", (int64_t)l->of[k].value);
        if (foreseen)
            json_put(one, "may_be_held_by", holders_of((enum limit_kind)k, *foreseen));
        else
            json_put_string(one, "held_by", limit_holder_text(l->of[k].held_by));
        json_put(j, limit_words(k)->key, one);
    }
    json_put(in, "limits", j);
}

static void put_end(struct json *in, const struct rank_end *e)
{
    if (!e)
        return;
    struct json *j = json_new_object();
    json_put_string(j, "cause", report_cause_key(e->cause));
    json_put_int(j, "code", e->code);
    put_time(j, "time", e->time_ns);
    json_put(in, "end", j);
}

static void put_name(struct json *in, struct rank_name name)
{
    json_put_int(in, "world", name.world);
    json_put_int(in, "rank", name.rank);
    json_put_int(in, "incarnation", name.incarnation);
}

static struct json *make_rank(const struct report *r, const struct report_sums *s, size_t i)
{
    const struct report_rank *k = &r->ranks[i];
    struct json *j = json_new_object();
    put_name(j, k->name);
    json_put_string(j, "host", r->hosts[k->host].name);
    if (k->pid > 0)
        json_put_int(j, "pid", k->pid);
    put_time(j, "start", k->start_ns);
    put_end(j, k->end);
    json_put_string(j, "bound_threads", k->bound_threads);
    if (k->cores)
        json_put_int(j, "cores", k->cores);
    report_put_limits(j, &k->limits, NULL);
    put_efficiency(j, &k->usage, report_rank_cores(r, s, i));
    put_usage(j, "usage", &k->usage);
    return j;
}

/* ---- the start ------------------------------------------------------------------------------- */

static void put_seconds(struct json *in, const char *key, double seconds)
{
    if (seconds > 0)
        json_put_real(in, key, seconds);
}

static struct json *make_phase(const struct report *r, const struct launch_sum *s)
{
    struct json *j = json_new_object(), *slowest = json_new_array();
    json_put_int(j, "hosts", (int64_t)s->hosts);
    json_put_real(j, "first_s", s->first);
    json_put_real(j, "median_s", s->median);
    json_put_real(j, "last_s", s->last);
    for (size_t i = 0; i < s->nslowest; i++) {
        struct json *one = json_new_object();
        json_put_string(one, "host", r->hosts[s->slowest[i].host].name);
        json_put_real(one, "took_s", s->slowest[i].seconds);
        json_put(slowest, NULL, one);
    }
    json_put(j, "slowest", slowest);
    return j;
}

static struct json *make_launch(const struct report *r)
{
    const struct report_launch *l = &r->launch;
    struct json *j = json_new_object(), *phases = json_new_object();
    struct launch_sum s;
    put_seconds(j, "hosts_known_s", l->known);
    put_seconds(j, "sent_s", l->sent);
    put_seconds(j, "running_s", l->running);
    json_put_int(j, "fanout", l->fanout);
    json_put_int(j, "depth", l->depth);
    json_put_int(j, "starts_at_once", (int64_t)l->starts_at_once);
    if (l->running > 0) {
        json_put_int(j, "links", (int64_t)l->links);
        json_put_int(j, "messages", (int64_t)l->messages);
        json_put_real(j, "launcher_cpu_s", l->cpu);
    }
    for (int p = 0; p < LAUNCH_PHASE_COUNT; p++) {
        launch_sum(r, (enum launch_phase)p, &s);
        if (s.hosts > 0)
            json_put(phases, launch_phase_words[p].key, make_phase(r, &s));
    }
    json_put(j, "phases", phases);
    return j;
}

static void put_reached(struct json *in, const struct report_host *h)
{
    if (h->reached[LAUNCH_BEGUN] <= 0)
        return;
    struct json *j = json_new_object();
    for (int p = 0; p < LAUNCH_PHASE_COUNT; p++) {
        char key[32];
        snprintf(key, sizeof(key), "%s_s", launch_phase_words[p].key);
        put_seconds(j, key, h->reached[p]);
    }
    json_put(in, "launch", j);
}

/* ---- hosts and the step ---------------------------------------------------------------------- */

static struct json *make_host(const struct report *r, const struct report_sums *s, size_t i)
{
    const struct report_host *h = &r->hosts[i];
    const struct report_host_sum *sum = &s->hosts[i];
    struct json *j = json_new_object();
    json_put_string(j, "name", h->name);
    json_put_int(j, "ranks", sum->nranks);
    if (h->ready) {
        json_put_string(j, "tracking", tracking_text(h->tracking));
        json_put_string(j, "tracking_reason", h->tracking_reason);
        json_put_string(j, "cgroup", h->cgroup_kind);
        json_put_int(j, "cores", h->cores);
        json_put_string(j, "threads", h->threads);
        json_put_string(j, "memory_nodes", h->memory_nodes);
        json_put_string(j, "gpus", h->gpus);
        if (h->gpus)
            json_put_bool(j, "gpus_held", h->gpus_held != DEVICES_OPEN);
        if (h->gpus_why || h->gpus_held == DEVICES_OF_RANK)
            json_put_bool(j, "gpus_held_per_rank", h->gpus_held == DEVICES_OF_RANK);
        report_put_limits(j, &h->limits, NULL);
    }
    put_reached(j, h);
    put_efficiency(j, &sum->usage, sum->cores);
    put_usage(j, "usage", &sum->usage);
    if (usage_has(&sum->usage, USAGE_MEMORY_PEAK))
        json_put_bool(j, "memory_peak_exact", sum->memory_exact || sum->nranks == 1);
    put_usage(j, "others", &h->others);
    put_usage(j, "starter", &h->starter);
    return j;
}

static struct json *make_failure(const struct report *r)
{
    const struct rank_end *e = r->first_failure;
    struct json *j = json_new_object();
    if (e) {
        put_name(j, e->name);
        if (e->host < r->nhosts)
            json_put_string(j, "host", r->hosts[e->host].name);
        put_end(j, e);
    }
    json_put_string(j, "text", r->failure_text);
    return j;
}

static struct json *make_step(const struct report *r)
{
    struct json *j = json_new_object();
    json_put_string(j, "id", r->step_id);
    if (r->job_id && r->job_id[0])
        json_put_string(j, "job", r->job_id);
    json_put_string(j, "resource_manager", r->adapter);
    json_put_string(j, "command", r->command);
    put_time(j, "start", r->start_ns);
    put_time(j, "end", r->end_ns);
    json_put_real(j, "wall_s", (double)(r->end_ns - r->start_ns) / 1e9);
    json_put_int(j, "exit_code", r->exit_code);
    report_put_limits(j, &r->limits, NULL);
    if (r->first_failure || r->failure_text)
        json_put(j, "first_failure", make_failure(r));
    return j;
}

static struct json *make_report(const struct report *r, const struct report_sums *s)
{
    struct json *j = json_new_object(), *hosts = json_new_array(), *ranks = json_new_array();
    json_put_string(j, "schema", "mprun-report-2");
    json_put_string(j, "mprun_version", r->version);
    json_put(j, "step", make_step(r));
    put_efficiency(j, &s->ranks.usage, s->ranks.cores);
    if (r->sample_period > 0)
        json_put_real(j, "sample_period_s", r->sample_period);
    put_usage(j, "usage", &s->step);
    put_usage(j, "ranks_usage", &s->ranks.usage);
    put_usage(j, "mprun_usage", &s->mprun);
    put_usage(j, "launcher", &r->launcher);
    if (r->launch.known > 0)
        json_put(j, "launch", make_launch(r));
    for (size_t i = 0; i < r->nhosts; i++)
        json_put(hosts, NULL, make_host(r, s, i));
    json_put(j, "hosts", hosts);
    for (size_t i = 0; i < r->nranks; i++)
        json_put(ranks, NULL, make_rank(r, s, i));
    json_put(j, "ranks", ranks);
    return j;
}

int report_write_json(const struct report *r, const char *path, struct error *err)
{
    AUTO(report_sums_free) struct report_sums s = {0};
    if (json_available(err) < 0)
        return error_context(err, "write the report '%s'", path);
    report_sums_create(r, &s);
    int rc = json_write_file(make_report(r, &s), path, err);
    return rc < 0 ? error_context(err, "write the report '%s'", path) : 0;
}
