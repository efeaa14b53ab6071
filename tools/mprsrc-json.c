/* SPDX-License-Identifier: BSD-3-Clause */
/* mprsrc-json.c - the same for programs; what is not known, or without a limit, is absent */
#include <stdlib.h>
#include <string.h>

#include "tools/mprsrc.h"

#include "common/cleanup.h"
#include "common/json.h"

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
        AUTO_FREE char *words = strdup(d->ids);
        char *next = NULL;
        for (char *id = words ? strtok_r(words, " ", &next) : NULL; id;
             id = strtok_r(NULL, " ", &next))
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
    if (json_available(err) < 0)
        return -1;
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
    int code = json_write_file(job, "-", err);
    json_free(job);
    return code;
}
