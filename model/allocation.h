/* SPDX-License-Identifier: BSD-3-Clause */
/* allocation.h - the job's hosts, slots, cores and limits, each number with its source */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/text/idset.h"
#include "model/limits.h"

struct sourced_count {
    uint32_t value;
    char source[64]; /* "--np", "host file 'x' line 2", "cores of this machine" */
};

struct alloc_host {
    char *name; /* its name for ranks and messages, unique in the allocation */
    struct sourced_count slots;
    uint32_t max_slots; /* upper bound on ranks; 0: none */
    uint32_t granted; /* slots that the manager granted the job here, used or not; 0: no manager, or
                         not stated */
    uint32_t manager_number; /* the manager's own number of the host, where it has one */
    int here;                /* it is the machine that mprun runs on */
    int cores_known;         /* 0: the job has all cores that the host's starter is allowed */
    struct idset cores;      /* granted hardware threads, by operating system index */
    char *core_list;         /* instead: granted cores as "socket,core:socket,core", numbers that
                                only the host itself can tell the meaning of; NULL: not stated */
    char cores_source[64];
};

struct allocation {
    char job_id[64];   /* "" without a resource manager */
    char cluster[160]; /* the cluster in which job_id is unique; or "" */
    struct alloc_host *hosts;
    size_t nhosts;
    char source[160];    /* of all hosts together, if their own sources differ: "host file 'x'"; "":
                            none */
    char more[96];       /* words that ask the manager for N slots, without the N; or "" */
    uint32_t slot_cores; /* cores that a rank of a slot is to have; 0: the manager did not say */
    char slot_cores_source[32]; /* of that number */
    int may_oversubscribe;      /* no manager granted anything: more ranks than slots are allowed */
};

void allocation_free(struct allocation *a);
/* Adds a host at the end. Copies name. */
struct alloc_host *allocation_add_host(struct allocation *a, const char *name);
enum { ALLOCATION_CORES_MAX = 65536 }; /* bytes of a host's core_list */
/* Appends "socket,core:..." of length n to the host's core_list. -1: it is longer than that. */
int allocation_add_cores(struct alloc_host *h, const char *cores, size_t n);
uint32_t allocation_slots(const struct allocation *a); /* of all hosts */
