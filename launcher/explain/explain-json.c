/* SPDX-License-Identifier: BSD-3-Clause */
/* explain-json.c - --dry-run and --explain, for programs
 *
 * share/plan-schema.json describes this output, and a test compares them. A key whose value is not
 * known is left out. */
#include "launcher/explain/explain.h"

#include <string.h>

#include "common/cleanup.h"
#include "common/files/json.h"
#include "common/must.h"
#include "common/processes/spawn.h"
#include "config.h"

static void put_known(struct json *in, const char *key, const char *value)
{
    if (value && *value)
        json_put_string(in, key, value);
}

static void put_words(struct json *in, const char *key, char *const words[])
{
    struct json *list = json_new_array();
    for (; *words; words++)
        json_put_string(list, NULL, *words);
    json_put(in, key, list);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static void put_found(struct json *j, const struct host_facts *f, const struct report_host *r)
{
    json_put_string(j, "kernel_name", f->kernel_name);
    json_put_string(j, "mpstarter_version", f->version);
    json_put_string(j, "allowed_threads", f->allowed_threads);
    json_put_int(j, "cores", r->cores);
    json_put_int(j, "memory_bytes", (int64_t)f->memory);
    json_put_string(j, "tracking", tracking_text(r->tracking));
    put_known(j, "tracking_reason", r->tracking_reason);
    put_known(j, "cgroup", r->cgroup_kind);
}

static struct json *make_host(const struct step_record *record, const struct host *h,
                              const struct starters *starters)
{
    const struct step_plan *p = record->plan;
    const struct alloc_host *a = &p->alloc.hosts[h->index];
    struct json *j = json_new_object();
    AUTO_FREE char *threads = a->cores_known ? idset_format(&a->cores) : NULL;
    char how[1500];
    json_put_string(j, "name", a->name);
    json_put_int(j, "slots", a->slots.value);
    json_put_string(j, "slots_source", a->slots.source);
    put_known(j, "granted_threads", threads);
    put_known(j, "granted_cores", a->core_list);
    if (threads || a->core_list)
        json_put_string(j, "granted_source", a->cores_source);
    json_put_bool(j, "is_this_machine", a->here);
    json_put_int(j, "ranks", rank_set_count(h->ranks));
    explain_start(p, h, starters, how, sizeof(how));
    put_known(j, "started", how);
    const struct host_facts *f = &record->facts[h->launch_index];
    if (f->version)
        put_found(j, f, &record->hosts[h->launch_index]);
    put_known(j, "binding", f->bind_reason);
    if (record->hosts[h->launch_index].ready)
        report_put_limits(j, &record->hosts[h->launch_index].limits, NULL);
    else
        report_put_limits(j, &p->step.host_limits, &(enum limit_level){LIMIT_OF_HOST});
    return j;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static struct json *make_rank(const struct step_record *record, struct rank_name name)
{
    const struct step_plan *p = record->plan;
    const struct report_rank *r = step_record_rank(record, name);
    struct json *j = json_new_object();
    json_put_int(j, "rank", name.rank);
    json_put_string(j, "host", record->hosts[r->host].name);
    const struct app *a = step_app_of(&p->step, name);
    json_put_int(j, "program", a - p->step.apps);
    json_put_string(j, "bound_threads", r->bound_threads);
    if (r->cores)
        json_put_int(j, "cores", r->cores);
    if (record->hosts[r->host].ready)
        report_put_limits(j, &r->limits, NULL);
    else
        report_put_limits(j, step_rank_limits(&p->step, a), &(enum limit_level){LIMIT_OF_RANK});
    return j;
}

/* ---- programs -------------------------------------------------------------------------------- */

static struct json *make_program(const struct app *a)
{
    struct json *j = json_new_object(), *given = json_new_object(), *removed = json_new_array();
    struct error e;
    AUTO_FREE char *path = explain_file(a, &e);
    json_put_string(j, "program", a->argv[0]);
    put_known(j, "file", path);
    put_words(j, "arguments", a->argv + 1);
    json_put_string(j, "directory", a->directory);
    json_put_int(j, "ranks", rank_set_count(&a->ranks));
    for (char **name = a->given_env; *name; name++)
        json_put_string(given, *name, spawn_env_value(a->envp, *name));
    json_put(j, "variables", given);
    for (char **variable = environ; *variable; variable++) {
        AUTO_FREE char *name = must(strndup(*variable, strcspn(*variable, "=")));
        if (explain_is_removed(a, *variable))
            json_put_string(removed, NULL, name);
    }
    json_put(j, "without_variables", removed);
    return j;
}

/* ---- all ------------------------------------------------------------------------------------- */

static struct json *make_plan(const struct host_table *hosts, const struct step_record *record,
                              const struct starters *starters, const char *would_fail)
{
    const struct step_plan *p = hosts->plan;
    struct json *j = json_new_object(), *host_list = json_new_array();
    struct json *programs = json_new_array(), *ranks = json_new_array();
    json_put_string(j, "schema", "mprun-plan-1");
    json_put_string(j, "mprun_version", PACKAGE_VERSION);
    json_put_bool(j, "hosts_were_asked", p->cmd->explain);
    put_known(j, "would_fail", would_fail);
    json_put_string(j, "resource_manager", p->adapter->name);
    json_put_string(j, "resource_manager_reason", p->adapter_reason);
    put_known(j, "job", p->alloc.job_id);
    json_put_string(j, "placement", p->placement.reason);
    put_known(j, "rank_cores_source", p->step.bind.cores > 1 ? p->rank_cores_source : NULL);
    report_put_limits(j, &p->cmd->step_limits, NULL);
    for (size_t i = 0; i < p->nused; i++)
        json_put(host_list, NULL, make_host(record, hosts->used[i], starters));
    json_put(j, "hosts", host_list);
    for (size_t i = 0; i < p->step.napps; i++)
        json_put(programs, NULL, make_program(&p->step.apps[i]));
    json_put(j, "programs", programs);
    for (uint32_t i = 0; i < p->step.nranks; i++)
        json_put(ranks, NULL, make_rank(record, (struct rank_name){.rank = i}));
    json_put(j, "ranks", ranks);
    return j;
}

int explain_print_json(const struct host_table *hosts, const struct step_record *record,
                       const struct starters *starters, const char *would_fail, struct error *err)
{
    int rc = json_write_file(make_plan(hosts, record, starters, would_fail), "-", err);
    return rc < 0 ? error_context(err, "--json") : 0;
}
