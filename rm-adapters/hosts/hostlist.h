/* SPDX-License-Identifier: BSD-3-Clause */
/* hostlist.h - hosts with their slots, from options and files: each host once
 *
 * Each mention of a host adds its number of slots, or 1 if it has none. */
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
    void *known;                  /* tree of tsearch(3), by the names of the hosts */
    uint32_t *mentions;           /* the host of each mention, in their order */
    size_t nmentions;
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
/* The same for a name that may be a range ("n[1-4]"): each of its hosts gets the slots. After an
 * error some of them may have been added. */
int hostlist_add_range(struct hostlist *l, const struct hostlist_entry *e, struct error *err);
/* The host of that name, in whatever case; it stays the list's. NULL: none. */
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

/* ---- files of hosts -------------------------------------------------------------------------- */

enum { HOSTFILE_MAX = 8 << 20 }; /* bytes of a file */

/* Add the hosts of a file to l, in one of the four syntaxes that are in use, which its lines show:
 *
 *     Open MPI      n1 slots=4 max_slots=8
 *     Hydra         n1:4
 *     PBS           n1            (a line for each slot)
 *     Grid Engine   n1 4 queue cores
 *
 * A line that is a name alone fits all but the last; '#' begins a comment. 0, or -1; errors name
 * file and line. */
int hostfile_read(const char *path, struct hostlist *l, struct error *err);
/* The same for the file's text; path is for messages and sources. */
int hostfile_parse(const char *text, size_t n, const char *path, struct hostlist *l,
                   struct error *err);

/* ---- ranges ---------------------------------------------------------------------------------- */

enum { HOSTRANGE_HOSTS_MAX = 65536, HOSTRANGE_GROUPS_MAX = 4 };

/* Is the text meant as a range: "n[1-4]", "n[01-16,20].x", "r[1-2]n[1-4]", as Slurm and
 * ClusterShell have it? It is where a '[' begins no IPv6 address. It may still be wrong. */
bool hostrange_is(const char *text, size_t n);
/* Call fn for each name, in order, until it returns -1. Numbers have the width of the first one of
 * their range. 0, or -1 with the reason, when fn may have been called for some. */
int hostrange_each(const char *text, size_t n,
                   int (*fn)(void *arg, const char *name, size_t len, struct error *err), void *arg,
                   struct error *err);
