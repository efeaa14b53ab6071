/* SPDX-License-Identifier: BSD-3-Clause */
/* mprsrc-print.c - variables as a shell takes them, whatever the job's names contain, and JSON
 *
 * Every value is within single quotes, every statement ends with a semicolon and a newline. What
 * was in the variables before is unset first: it may be the user's. In JSON, what is not known, or
 * without a limit, is absent. */
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "tools/mprsrc.h"

#include "common/cleanup.h"
#include "common/files/json.h"
#include "common/must.h"
#include "common/text/number.h"

struct shell {
    FILE *to;
    const struct mprsrc_result *r;
    const struct resource_host *first; /* of those that are printed */
    size_t nhosts;
    const char *mode; /* "RESOURCE" */
};

static void put_quoted(FILE *to, const char *text)
{
    fputc('\'', to);
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", to);
        else
            fputc(*text, to);
    }
    fputc('\'', to);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* Which members of struct resource_host become variables. */
static const struct {
    const char *name;
    enum { A_TEXT, A_COUNT, AN_AMOUNT } kind; /* char *, uint32_t, struct resource_amount */
    size_t member;
} host_variables[] = {
    {"HOSTS", A_TEXT, offsetof(struct resource_host, name)},
    {"NSLOTS", A_COUNT, offsetof(struct resource_host, slots)},
    {"MEM", AN_AMOUNT, offsetof(struct resource_host, memory)},
    {"VMEM", AN_AMOUNT, offsetof(struct resource_host, virtual_memory)},
    {"GPU", A_TEXT, offsetof(struct resource_host, gpu.ids)},
    {"PHI", A_TEXT, offsetof(struct resource_host, phi.ids)},
    {"GPU_COUNT", AN_AMOUNT, offsetof(struct resource_host, gpu.count)},
    {"PHI_COUNT", AN_AMOUNT, offsetof(struct resource_host, phi.count)},
};
enum { NHOST_VARIABLES = sizeof(host_variables) / sizeof(host_variables[0]) };

static const char *amount_text(const struct resource_amount *a, char *buf, size_t n)
{
    buf[0] = 0;
    if (a->set)
        snprintf(buf, n, "%llu", (unsigned long long)a->value);
    return buf;
}

/* A host's value of a variable, maybe in buf; "" where it has none. */
static const char *host_value(const struct resource_host *h, size_t variable, char *buf, size_t n)
{
    const char *member = (const char *)h + host_variables[variable].member;
    const char *text = buf;
    if (host_variables[variable].kind == AN_AMOUNT)
        return amount_text((const struct resource_amount *)(const void *)member, buf, n);
    if (host_variables[variable].kind == A_TEXT)
        text = *(const char *const *)(const void *)member;
    else
        snprintf(buf, n, "%u", *(const uint32_t *)(const void *)member);
    return text ? text : "";
}

static void print_unset(const struct shell *s)
{
    fputs("unset -v", s->to);
    for (size_t i = 0; i < NHOST_VARIABLES; i++)
        fprintf(s->to, " SGE_%s_%s", s->mode, host_variables[i].name);
    for (const char *const *n = (const char *const[]){"OWNER", "MAXRT", "IS_STANDBY", "VMEM", NULL};
         *n; n++)
        fprintf(s->to, " SGE_%s_JOB_%s", s->mode, *n);
    fputs(";\n", s->to);
}

static void print_host_variable(const struct shell *s, size_t variable)
{
    char buf[32];
    int single = s->r->host != NULL;
    fprintf(s->to, "SGE_%s_%s=%s", s->mode, host_variables[variable].name, single ? "" : "(");
    for (size_t i = 0; i < s->nhosts; i++) {
        fputs(i ? " " : "", s->to);
        put_quoted(s->to, host_value(&s->first[i], variable, buf, sizeof(buf)));
    }
    fputs(single ? ";\n" : ");\n", s->to);
}

static void print_job_variable(const struct shell *s, const char *name,
                               const struct resource_amount *a)
{
    char buf[32];
    fprintf(s->to, "SGE_%s_JOB_%s=", s->mode, name);
    put_quoted(s->to, amount_text(a, buf, sizeof(buf)));
    fputs(";\n", s->to);
}

/* ---- what a job's output tells --------------------------------------------------------------- */

/* echo of some shells acts on backslashes, and terminals on what is no plain text. */
static void __attribute__((format(printf, 2, 3)))
print_echo(const struct shell *s, const char *fmt, ...)
{
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    for (char *c = line; *c; c++)
        if (*c < ' ' || *c > '~' || *c == '\\')
            *c = '?';
    fputs("echo ", s->to);
    put_quoted(s->to, line);
    fputs(";\n", s->to);
}

static void echo_bytes(const struct shell *s, const char *what, uint64_t bytes)
{
    char size[32];
    print_echo(s, "[PROLOG]     %s: %s (%llu bytes)", what, size_format(bytes, size, sizeof(size)),
               (unsigned long long)bytes);
}

/* Grid Engine itself holds nobody to m_mem_free. */
static void echo_memory(const struct shell *s, const struct resource_host *h)
{
    if (s->r->held == h)
        echo_bytes(s, "Memory limit", s->r->held_memory);
    else if (h->memory.set)
        echo_bytes(s, "Memory requested", h->memory.value);
    if (h->virtual_memory.set)
        echo_bytes(s, "Virtual memory limit", h->virtual_memory.value);
}

static void echo_devices(const struct shell *s, const char *what, const struct resource_devices *d)
{
    if (d->ids)
        print_echo(s, "[PROLOG]     %s: %.900s", what, d->ids);
    else if (d->count.set)
        print_echo(s, "[PROLOG]     %s: %llu, which ones is not said", what,
                   (unsigned long long)d->count.value);
}

static void echo_all(const struct shell *s)
{
    const struct gridengine_job *job = s->r->job;
    const struct resource_amount *runtime = &s->r->resources->max_runtime;
    char time[32];
    print_echo(s, "[PROLOG] Resources of job %u.%u '%.200s' of %.100s", job->id, job->task,
               job->name, job->owner);
    for (size_t i = 0; i < s->nhosts; i++) {
        const struct resource_host *h = &s->first[i];
        print_echo(s, "[PROLOG]   %u slot%s on %.255s", h->slots, plural(h->slots), h->name);
        echo_memory(s, h);
        echo_devices(s, "nVidia GPU", &h->gpu);
        echo_devices(s, "Intel Phi", &h->phi);
    }
    if (runtime->set)
        print_echo(s, "[PROLOG]   Wallclock limit: %s (%llu seconds)",
                   duration_format((double)runtime->value, time, sizeof(time)),
                   (unsigned long long)runtime->value);
    if (s->r->resources->standby)
        print_echo(s, "[PROLOG]   Runs on standby queues");
}

void mprsrc_print_shell(FILE *to, const struct mprsrc_result *r)
{
    static const char *const modes[] = {
        [MODE_USERENV] = "RESOURCE", [MODE_PROLOG] = "PROLOG", [MODE_EPILOG] = "EPILOG"};
    struct shell s = {.to = to,
                      .r = r,
                      .first = r->host ? r->host : r->resources->hosts,
                      .nhosts = r->host ? 1 : r->resources->nhosts,
                      .mode = modes[r->options->mode]};
    print_unset(&s);
    for (size_t i = 0; i < NHOST_VARIABLES; i++)
        print_host_variable(&s, i);
    fprintf(to, "SGE_%s_JOB_OWNER=", s.mode);
    put_quoted(to, r->job->owner);
    fputs(";\n", to);
    print_job_variable(&s, "MAXRT", &r->resources->max_runtime);
    fprintf(to, "SGE_%s_JOB_IS_STANDBY='%d';\n", s.mode, r->resources->standby);
    print_job_variable(&s, "VMEM", &r->resources->slot_virtual_memory);
    if (r->options->mode == MODE_PROLOG)
        echo_all(&s);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_amount(struct json *in, const char *key, const struct resource_amount *a)
{
    if (a->set)
        json_put_int(in, key, (int64_t)a->value);
}

static void put_devices(struct json *in, const char *key, const struct resource_devices *d)
{
    if (!d->count.set)
        return;
    struct json *devices = json_new_object();
    put_amount(devices, "count", &d->count);
    if (d->ids) {
        struct json *ids = json_new_array();
        AUTO_FREE char *words = must(strdup(d->ids));
        char *next = NULL;
        for (char *id = strtok_r(words, " ", &next); id; id = strtok_r(NULL, " ", &next))
            json_put_string(ids, NULL, id);
        json_put(devices, "ids", ids);
    }
    json_put(in, key, devices);
}

static struct json *host_object(const struct resource_host *h)
{
    struct json *host = json_new_object();
    json_put_string(host, "name", h->name);
    json_put_int(host, "slots", h->slots);
    put_amount(host, "memory", &h->memory);
    put_amount(host, "virtual_memory", &h->virtual_memory);
    put_devices(host, "gpu", &h->gpu);
    put_devices(host, "phi", &h->phi);
    return host;
}

int mprsrc_print_json(const struct mprsrc_result *r, struct error *err)
{
    const struct resources *all = r->resources;
    const struct resource_host *first = r->host ? r->host : all->hosts;
    struct json *job = json_new_object(), *hosts = json_new_array();
    json_put_int(job, "job", r->job->id);
    json_put_int(job, "task", r->job->task);
    json_put_string(job, "name", r->job->name);
    json_put_string(job, "owner", r->job->owner);
    if (r->job->pe[0])
        json_put_string(job, "parallel_environment", r->job->pe);
    put_amount(job, "max_runtime", &all->max_runtime);
    put_amount(job, "slot_virtual_memory", &all->slot_virtual_memory);
    json_put_bool(job, "standby", all->standby);
    for (size_t i = 0; i < (r->host ? 1 : all->nhosts); i++)
        json_put(hosts, NULL, host_object(&first[i]));
    json_put(job, "hosts", hosts);
    return json_write_file(job, "-", err);
}
