/* SPDX-License-Identifier: BSD-3-Clause */
/* hostlist.h - hosts with slots as they are gathered from options and files: each host once
 *
 * A host that is mentioned again adds its slots. What has no number counts 1. */
#ifndef RM_ADAPTERS_HOSTLIST_H
#define RM_ADAPTERS_HOSTLIST_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "model/allocation.h"

enum { HOSTLIST_SLOTS_MAX = 1 << 20, HOSTLIST_HOSTS_MAX = 1 << 16, HOSTLIST_NAME_MAX = 255 };

struct hostlist {
    struct allocation allocation; /* what was gathered; its hosts in the order of first mention */
    int stated;                   /* some host had a number, or was mentioned more than once */
    uint32_t *places;             /* hash table: index of a host + 1 */
    size_t nplaces;
};

struct hostlist_entry {
    const char *name; /* as it stands in front of a number: "n1", "user@n1", "[::1]" */
    size_t len;
    uint32_t slots;     /* 0: no number */
    uint32_t max_slots; /* 0: no bound */
    const char *source; /* of the number */
    const char *cores;  /* granted ones, as alloc_host.core_list has them; NULL: not stated */
    size_t cores_len;
};

void hostlist_free(struct hostlist *l); /* what it holds, not itself */
/* 0, or -1 with what is wrong with the name or the sum. */
int hostlist_add(struct hostlist *l, const struct hostlist_entry *e, struct error *err);
/* The same where the name may be a range ("n[1-4]", hostrange.h): each of its hosts has the number.
 * After an error some of them may be there. */
int hostlist_add_range(struct hostlist *l, const struct hostlist_entry *e, struct error *err);
/* The host of that name, or NULL. */
struct alloc_host *hostlist_find(const struct hostlist *l, const char *name);
/* Its allocation, which becomes the caller's. */
struct allocation hostlist_take(struct hostlist *l);

/* "a:2", "[::1]:2", "a" of length n: what stands before the number, and the number (0: none). */
int hostlist_split(const char *text, size_t n, size_t *ret_len, uint32_t *ret_slots,
                   struct error *err);
#define HOSTLIST_NO_NUMBER "--host, no number"
/* "a:2,b,b,n[1-4]:2" as --host has it: added to l, with "--host" or HOSTLIST_NO_NUMBER as source.
 */
int hostlist_parse(const char *text, struct hostlist *l, struct error *err);
/* Text of foreign origin for a message: at most 60 bytes, nothing that a terminal would act on. */
const char *hostlist_shown(const char *text, size_t n, char buf[64]);

#endif
