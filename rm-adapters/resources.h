/* SPDX-License-Identifier: BSD-3-Clause */
/* resources.h - what a job may use on each of its hosts
 *
 * A request is for one slot. What a host may use is that times the host's slots, once, except where
 * the complex is counted by job (once, on the host of the master task) or by host (once on each).
 * What the manager itself says that it granted on a host is final: it is not multiplied again. */
#ifndef RM_ADAPTERS_RESOURCES_H
#define RM_ADAPTERS_RESOURCES_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "rm-adapters/gridengine-job.h"

struct resource_amount {
    int set; /* 0: nothing was granted, or without a limit */
    uint64_t value;
};

struct resource_devices {
    struct resource_amount count;
    char *ids; /* "0 1", "mic0": separated by blanks, safe as words; NULL: known by number only */
};

struct resource_host {
    const char *name; /* the job's */
    uint32_t slots;
    struct resource_amount memory, virtual_memory; /* bytes, of the whole job on this host */
    struct resource_devices gpu, phi;
};

struct resources {
    struct resource_host *hosts; /* the master task's first */
    size_t nhosts;
    struct resource_amount max_runtime;         /* seconds */
    struct resource_amount slot_virtual_memory; /* bytes, for one slot */
    int standby;
};

/* The complexes that hold them, which are a site's to name. */
struct resource_names {
    const char *memory, *virtual_memory, *gpu, *phi, *runtime;
    const char *standby; /* or what begins with it */
};
/* m_mem_free, h_vmem, nvidia_gpu, intel_phi, h_rt, standby */
extern const struct resource_names resource_names_default;

/* How often a request counts on a host with so many slots of the job: enum gridengine_consumable,
 * enum gridengine_scope. */
uint64_t resource_times(unsigned consumable, unsigned scope, uint32_t slots, int is_master);
/* 0 with *ret, which resources_free() empties and which job must outlive, or -1 with a sentence
 * that names complex and host: a product that is too large, a device whose name is none. */
int resources_of_job(const struct gridengine_job *job, const struct resource_names *names,
                     struct resources *ret, struct error *err);
void resources_free(struct resources *r);
/* The host of that name: as written, else without regard to case, else by its first part where only
 * one has it. NULL: none. */
const struct resource_host *resources_host(const struct resources *r, const char *name);

#endif
