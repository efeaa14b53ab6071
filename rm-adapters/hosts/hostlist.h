/* SPDX-License-Identifier: BSD-3-Clause */
/* hostlist.h - collects hosts with their slots from options and files: each host once
 *
 * A host that is mentioned again adds its slots. A mention without a number counts 1. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "model/allocation.h"

enum { HOSTLIST_SLOTS_MAX = 1 << 20, HOSTLIST_HOSTS_MAX = 1 << 16, HOSTLIST_NAME_MAX = 255 };

struct hostlist {
    struct allocation allocation; /* the hosts, in the order of first mention */
    bool stated;                  /* some host had a number, or was mentioned more than once */
    uint32_t *places;             /* hash table: index of a host + 1 */
    size_t nplaces;
};

struct hostlist_entry {
    const char *name;   /* as it stands before a number: "n1", "user@n1", "[::1]" */
    size_t len;         /* of name, which needs no NUL */
    uint32_t slots;     /* 0: no number */
    uint32_t max_slots; /* 0: no bound */
    const char *source; /* of the number, for messages; copied */
    const char *cores;  /* granted ones, as alloc_host.core_list has them; NULL: not stated */
    size_t cores_len;
};

void hostlist_free(struct hostlist *l); /* frees what it holds, not itself */
/* Add a host, or slots to it. 0, or -1 with what is wrong with the name or the sum. */
int hostlist_add(struct hostlist *l, const struct hostlist_entry *e, struct error *err);
/* The same for a name and a number alone; source as in an entry. */
int hostlist_add_slots(struct hostlist *l, const char *name, uint32_t slots, const char *source,
                       struct error *err);
/* The same for a name that may be a range ("n[1-4]", hostrange.h): each of its hosts gets the
 * slots. After an error some of them may have been added. */
int hostlist_add_range(struct hostlist *l, const struct hostlist_entry *e, struct error *err);
/* The host of that name, which stays the list's; NULL: none. */
struct alloc_host *hostlist_find(const struct hostlist *l, const char *name);
/* Take the allocation, which becomes the caller's; the list is empty then. */
struct allocation hostlist_take(struct hostlist *l);

/* Split "a:2", "[::1]:2" or "a", n bytes, into the length of the name and the number (0: none). 0,
 * or -1. */
int hostlist_split(const char *text, size_t n, size_t *ret_len, uint32_t *ret_slots,
                   struct error *err);
#define HOSTLIST_NO_NUMBER "--host, no number"
/* Add "a:2,b,b,n[1-4]:2", as --host has it, with "--host" or HOSTLIST_NO_NUMBER as source. 0, or
 * -1. */
int hostlist_parse(const char *text, struct hostlist *l, struct error *err);
