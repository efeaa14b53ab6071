/* SPDX-License-Identifier: BSD-3-Clause */
/* requested-hosts.c - lists of the command line and host files, and what they have in common */
#include "rm-adapters/hosts/requested-hosts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/machine/interfaces.h"
#include "common/must.h"

static int read_lists(const struct host_request *r, struct hostlist *l, struct error *err)
{
    for (size_t i = 0; i < r->nlists; i++)
        if (hostlist_parse(r->lists[i], l, err) < 0)
            return error_context(err, "--host");
    return 0;
}

static int read_files(const struct host_request *r, struct hostlist *l, struct error *err)
{
    struct allocation *a = &l->allocation;
    for (size_t i = 0; i < r->nfiles; i++)
        if (hostfile_read(r->files[i], l, err) < 0)
            return -1;
    const char *file = r->nfiles == 1 ? r->files[0] : "...";
    const char *slash = strrchr(file, '/');
    if (r->nfiles)
        snprintf(a->source, sizeof(a->source), "host file '%.80s'%s", slash ? slash + 1 : file,
                 l->stated ? "" : ", one for each host, as it has no numbers");
    return 0;
}

/* Is one of them the other, or that without its domain? */
static bool is_short_of(const char *a, const char *b)
{
    size_t n = strcspn(a, "."), m = strcspn(b, ".");
    return n == m && strncasecmp(a, b, n) == 0 && (!a[n] || !b[m] || strcasecmp(a + n, b + n) == 0);
}

/* Users may write a name with its domain or without it, whichever the manager does. NULL: there is
 * none, or there are several. */
static struct alloc_host *find_short(const struct allocation *a, const char *name)
{
    struct alloc_host *found = NULL;
    for (size_t i = 0; i < a->nhosts; i++) {
        if (!is_short_of(a->hosts[i].name, name))
            continue;
        if (found)
            return NULL;
        found = &a->hosts[i];
    }
    return found;
}

static struct alloc_host *find_host(struct hostlist *l, const char *name)
{
    struct alloc_host *found = hostlist_find(l, name);
    return found ? found : find_short(&l->allocation, name);
}

static int choose_host(struct hostlist *from, const struct alloc_host *h, int has_numbers,
                       const char *is_not, struct hostlist *to, struct error *err)
{
    struct alloc_host *there = find_host(from, h->name);
    int all =
        !has_numbers || (h->slots.value == 1 && strcmp(h->slots.source, HOSTLIST_NO_NUMBER) == 0);
    if (!there)
        return error_set(err, EINVAL, "'%.100s' is %s", h->name, is_not);
    if (!there->slots.value)
        return error_set(err, EINVAL, "'%.100s' is '%.100s', which is named before; keep one name",
                         h->name, there->name);
    if (!all && h->slots.value > there->slots.value)
        return error_set(err, EINVAL, "%u slots of '%.100s', which has %u (%s)", h->slots.value,
                         h->name, there->slots.value, there->slots.source);
    struct alloc_host *added = allocation_add_host(&to->allocation, there->name);
    added->slots = all ? there->slots : h->slots;
    there->slots.value = 0; /* taken */
    added->max_slots = there->max_slots;
    added->granted = there->granted;
    added->manager_number = there->manager_number;
    added->core_list = take_ptr(there->core_list);
    added->cores_known = there->cores_known;
    added->cores = there->cores;
    there->cores = (struct idset){.words = NULL};
    snprintf(added->cores_source, sizeof(added->cores_source), "%s", there->cores_source);
    return 0;
}

/* Remove from `from` the hosts that `named` does not name. A host keeps all its slots where no
 * number is written, or has as many as `named` says. 0, or -1 for a named host that is not in
 * `from`; is_not is the end of that sentence: "not in the host file". */
static int named_choose(struct hostlist *from, const struct hostlist *named, const char *is_not,
                        struct error *err)
{
    struct hostlist kept = {.stated = from->stated || named->stated};
    memcpy(kept.allocation.source, from->allocation.source, sizeof(kept.allocation.source));
    for (size_t i = 0; i < named->allocation.nhosts; i++) {
        if (choose_host(from, &named->allocation.hosts[i], named->stated, is_not, &kept, err) < 0) {
            hostlist_free(&kept);
            return -1;
        }
    }
    hostlist_free(from);
    *from = kept;
    return 0;
}

int named_read(const struct host_request *request, struct hostlist *ret, struct error *err)
{
    AUTO(hostlist_free) struct hostlist files = {.stated = 0}, lists = {.stated = 0};
    snprintf(lists.allocation.source, sizeof(lists.allocation.source), "--host");
    if (read_files(request, &files, err) < 0 || read_lists(request, &lists, err) < 0)
        return -1;
    if (request->nfiles && request->nlists &&
        named_choose(&files, &lists, "not in the host file", err) < 0)
        return error_context(err, "--host");
    struct hostlist *l = request->nfiles ? &files : &lists;
    *ret = *l;
    *l = (struct hostlist){.stated = 0};
    return 0;
}

/* All of them: those that are too many, or that the user excludes, are left out later. */
static void add_others(struct hostlist *named, const struct allocation *granted)
{
    for (size_t i = 0; i < granted->nhosts; i++)
        if (!find_host(named, granted->hosts[i].name))
            allocation_add_host(&named->allocation, granted->hosts[i].name)->slots =
                granted->hosts[i].slots;
}

int named_cut(const struct host_request *request, struct hostlist *granted, const char *job,
              struct error *err)
{
    AUTO(hostlist_free) struct hostlist named = {.stated = 0};
    struct error why;
    char is_not[120];
    if (request->nlists == 0 && request->nfiles == 0)
        return 0;
    snprintf(is_not, sizeof(is_not), "no host of job %.60s; for others there is '--rm ssh'", job);
    if (named_read(request, &named, &why) < 0)
        return error_set(err, why.code, "%s; without it mprun uses the hosts of the job", why.text);
    if (!request->nfiles && named.allocation.nhosts < request->nhosts_min)
        add_others(&named, &granted->allocation);
    int rc = named_choose(granted, &named, is_not, err);
    return rc < 0 ? error_context(err, "%s", request->nfiles ? "--hostfile" : "--host") : 0;
}

/* ---- this machine ---------------------------------------------------------------------------- */

int named_self(char *buf, size_t n, struct error *err)
{
    if (gethostname(buf, n) < 0)
        return error_errno(err, errno, "read the name of this machine");
    buf[n - 1] = 0;
    return buf[0] ? 0 : error_set(err, ENOENT, "read the name of this machine: it has none");
}

struct self {
    char name[256]; /* "" unknown */
    struct interface addresses[INTERFACES_MAX];
    size_t naddresses;
};

static void self_find(struct self *s)
{
    int n = interfaces_list(s->addresses, INTERFACES_MAX, NULL);
    s->naddresses = n > 0 ? (size_t)n : 0;
    if (named_self(s->name, sizeof(s->name), NULL) < 0)
        s->name[0] = 0;
}

/* Is this name, or address, this machine's? */
static bool is_self(const struct self *s, const char *name)
{
    size_t first = strcspn(s->name, ".");
    if (strcasecmp(name, "localhost") == 0 || strcasecmp(name, s->name) == 0)
        return true;
    if (first && strlen(name) == first && strncasecmp(name, s->name, first) == 0)
        return true;
    return interfaces_have(s->addresses, s->naddresses, name);
}

void named_mark_here(struct allocation *a)
{
    struct self s;
    struct alloc_host *self = NULL;
    size_t kept = 0;
    self_find(&s);
    for (size_t i = 0; i < a->nhosts; i++) {
        struct alloc_host *h = &a->hosts[i];
        h->here = is_self(&s, h->name);
        if (h->here && self) {
            self->slots.value += h->slots.value;
            self->max_slots = self->max_slots && h->max_slots ? self->max_slots + h->max_slots : 0;
            if (h->core_list)
                allocation_add_cores(self, h->core_list, strlen(h->core_list));
            free(h->core_list);
            free(h->name);
            continue;
        }
        a->hosts[kept] = *h;
        if (h->here)
            self = &a->hosts[kept];
        kept++;
    }
    a->nhosts = kept;
}

/* ---- one after the other --------------------------------------------------------------------- */

/* The host that is called so, one of those from `near` on where it can be: most lists have the
 * order of the allocation. NULL: there is none. */
static const struct alloc_host *find_named(const struct allocation *a, size_t near,
                                           const struct self *self, const char *name)
{
    for (size_t i = 0; i < a->nhosts; i++) {
        const struct alloc_host *h = &a->hosts[(near + i) % a->nhosts];
        if (strcmp(h->name, name) == 0)
            return h;
    }
    const struct alloc_host *found = find_short(a, name);
    for (size_t i = 0; !found && i < a->nhosts && is_self(self, name); i++)
        found = a->hosts[i].here ? &a->hosts[i] : NULL;
    return found;
}

const struct alloc_host *named_find(const struct allocation *a, const char *name)
{
    struct self self;
    self_find(&self);
    return find_named(a, 0, &self, name);
}

int named_indices(const struct hostlist *l, const struct allocation *a, uint32_t **ret,
                  struct error *err)
{
    AUTO_FREE uint32_t *index = must(calloc(l->allocation.nhosts, sizeof(*index)));
    AUTO_FREE uint32_t *sequence = must(calloc(l->nmentions + 1, sizeof(*sequence)));
    struct self self;
    self_find(&self);
    for (size_t i = 0; i < l->allocation.nhosts; i++) {
        const char *name = l->allocation.hosts[i].name;
        const struct alloc_host *h = find_named(a, i ? index[i - 1] + 1 : 0, &self, name);
        if (!h)
            return error_set(err, EINVAL, "'%.100s' is no host of this step", name);
        index[i] = (uint32_t)(h - a->hosts);
    }
    for (size_t i = 0; i < l->nmentions; i++)
        sequence[i] = (uint32_t)index[l->mentions[i]];
    *ret = take_ptr(sequence);
    return 0;
}

int named_sequence(const struct host_request *request, const struct allocation *a, uint32_t **ret,
                   size_t *ret_n, struct error *err)
{
    AUTO(hostlist_free) struct hostlist l = {.stated = 0};
    int rc = request->nfiles ? read_files(request, &l, err) : read_lists(request, &l, err);
    if (rc == 0 && l.nmentions == 0)
        rc = error_set(err, EINVAL, "no host is named; write '--hostfile FILE' or '--host LIST'");
    if (rc == 0)
        rc = named_indices(&l, a, ret, err);
    *ret_n = l.nmentions;
    return rc;
}

int named_refuse(const struct host_request *request, const char *adapter, struct error *err)
{
    if (request->nlists == 0 && request->nfiles == 0)
        return 0;
    return error_set(err, EINVAL, "%s: hosts cannot be named with '--rm %s'; leave one of both out",
                     request->nlists ? "--host" : "--hostfile", adapter);
}
