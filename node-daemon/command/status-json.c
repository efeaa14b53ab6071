/* SPDX-License-Identifier: BSD-3-Clause */
/* status-json.c - `mprund status --json`; unknown values and missing limits are absent */
#include "common/files/json.h"
#include "node-daemon/command/command.h"

static void put_amount(struct json *in, const char *key, uint64_t value)
{
    if (value != GRANT_UNLIMITED)
        json_put_int(in, key, (int64_t)value);
}

static struct json *job_object(const struct grant_answer *a)
{
    struct json *job = json_new_object();
    const char *user = status_user(a);
    json_put_string(job, "job", a->job);
    json_put_string(job, "manager", status_manager(a->manager));
    if (a->uid)
        json_put_int(job, "uid", a->uid);
    if (*user)
        json_put_string(job, "user", user);
    json_put_string(job, "state", status_state(a->state));
    put_amount(job, "processes", a->processes);
    json_put_real(job, "cpu_seconds", (double)a->cpu_us / 1e6);
    put_amount(job, "memory", a->memory_now);
    put_amount(job, "memory_limit", a->memory);
    put_amount(job, "processes_limit", a->pids);
    json_put_string(job, "cores_how", status_cores(a->cores_how));
    if (a->cores)
        json_put_int(job, "cores", a->cores);
    if (a->cores_beyond)
        json_put_int(job, "cores_beyond", a->cores_beyond);
    if (a->cores_lent)
        json_put_int(job, "cores_lent", a->cores_lent);
    if (a->gpus_lent)
        json_put_int(job, "gpus_lent", a->gpus_lent);
    if (a->cpus[0])
        json_put_string(job, "hardware_threads", a->cpus);
    if (a->gpus[0])
        json_put_string(job, "gpus", a->gpus);
    if (a->text[0])
        json_put_string(job, "reason", a->text);
    return job;
}

int status_write_json(const struct status *s, struct error *err)
{
    struct json *all = json_new_object(), *jobs = json_new_array();
    for (size_t i = 0; i < s->n; i++)
        json_put(jobs, NULL, job_object(&s->job[i]));
    json_put(all, "jobs", jobs);
    json_put_int(all, "jobs_of_all_users", s->all.jobs);
    json_put_int(all, "stuck", s->all.stuck);
    if (s->all.cores_total != GRANT_UNKNOWN)
        json_put_int(all, "cores", s->all.cores_total);
    if (s->all.cores_free != GRANT_UNKNOWN)
        json_put_int(all, "cores_free", s->all.cores_free);
    return json_write_file(all, "-", err);
}
