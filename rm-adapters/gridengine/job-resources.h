/* SPDX-License-Identifier: BSD-3-Clause */
/* job-resources.h - what a job may use on each of its hosts
 *
 * A request is for one slot. A host may use it times the host's slots, except where the complex
 * counts by job (once, on the host of the master task) or by host (once on each). An amount that
 * the manager itself names for a host is final and is not multiplied. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rm-adapters/gridengine/qstat-job.h"

struct resource_amount {
    bool set; /* false: nothing was granted, or without a limit */
    uint64_t value;
};

struct resource_devices {
    struct resource_amount count;
    char *ids; /* "0 1", "mic0": with blanks between, safe as words; NULL: only their number is
                  known */
};

struct resource_host {
    const char *name; /* as the job has it, whose string it is */
    uint32_t slots;
    struct resource_amount memory, virtual_memory; /* bytes, of the whole job on this host */
    struct resource_devices gpu, phi;
};

struct resources {
    struct resource_host *hosts; /* the master task's first */
    size_t nhosts;
    struct resource_amount max_runtime;         /* seconds */
    struct resource_amount slot_virtual_memory; /* bytes, for one slot */
    bool standby;                               /* the job gives way to others */
};

/* The names of the complexes, which each site chooses. */
struct resource_names {
    const char *memory, *virtual_memory, *gpu, *phi, *runtime;
    const char *standby; /* the beginning of its name */
};
/* m_mem_free, h_vmem, nvidia_gpu, intel_phi, h_rt, standby */
extern const struct resource_names resource_names_default;

/* How often a request counts on a host with so many slots of the job. consumable is an enum
 * gridengine_consumable, scope an enum gridengine_scope. */
uint64_t resource_times(unsigned consumable, unsigned scope, uint32_t slots, bool is_master);
/* Compute what the job may use. 0 with *ret, which resources_free() empties and which job must
 * outlive; or -1 with a sentence that names complex and host: a product is too large, or a device
 * has no proper name. */
int resources_of_job(const struct gridengine_job *job, const struct resource_names *names,
                     struct resources *ret, struct error *err);
void resources_free(struct resources *r);
/* The host of that name: as written, else in any case of letters, else by its first part where only
 * one host has that. NULL: none. */
const struct resource_host *resources_host(const struct resources *r, const char *name);
