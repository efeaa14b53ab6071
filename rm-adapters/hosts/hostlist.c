/* SPDX-License-Identifier: BSD-3-Clause */
/* hostlist.c - hosts by name, and the numbers behind them */
#include "rm-adapters/hosts/hostlist.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/must.h"
#include "common/text/number.h"
#include "common/text/words.h"

/* ---- each host once -------------------------------------------------------------------------- */

struct known {
    const char *name; /* the host's */
    size_t index;
};

/* As DNS compares names. */
static int by_name(const void *a, const void *b)
{
    return strcasecmp(((const struct known *)a)->name, ((const struct known *)b)->name);
}

struct alloc_host *hostlist_find(const struct hostlist *l, const char *name)
{
    struct known key = {.name = name}, **found = tfind(&key, &l->known, by_name);
    return found ? &l->allocation.hosts[(*found)->index] : NULL;
}

static struct alloc_host *add_host(struct hostlist *l, const char *name)
{
    struct known *k = must(malloc(sizeof(*k)));
    struct alloc_host *h = allocation_add_host(&l->allocation, name);
    *k = (struct known){h->name, l->allocation.nhosts - 1};
    must(tsearch(k, &l->known, by_name));
    return h;
}

void hostlist_free(struct hostlist *l)
{
    allocation_free(&l->allocation);
    tdestroy(l->known, free);
    free(l->mentions);
    *l = (struct hostlist){.known = NULL};
}

struct allocation hostlist_take(struct hostlist *l)
{
    struct allocation taken = l->allocation;
    l->allocation = (struct allocation){.nhosts = 0};
    hostlist_free(l);
    return taken;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int name_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr(".-_@", c));
}

/* Copy the name into buf, without the brackets of an IPv6 address. Other programs get the name as a
 * word: it must not look like an option. */
static int take_name(const char *name, size_t n, char buf[HOSTLIST_NAME_MAX + 1], struct error *err)
{
    char shown[64];
    int bracket = n > 2 && name[0] == '[' && name[n - 1] == ']';
    size_t len = bracket ? n - 2 : n;
    const char *from = name + bracket;
    if (n == 0)
        return error_set(err, EINVAL, "the name of a host is missing");
    if (len > HOSTLIST_NAME_MAX)
        return error_set(err, EINVAL, "the name '%s...' is longer than %d bytes",
                         word_shown(name, n, shown), HOSTLIST_NAME_MAX);
    for (size_t i = 0; i < len; i++)
        if (!name_letter(from[i]) && !(bracket && strchr(":%", from[i])))
            return error_set(err, EINVAL,
                             "'%s' is no name of a host; expected are letters, digits, '.', '-', "
                             "'_', or an IPv6 address in '[]'",
                             word_shown(name, n, shown));
    if (from[0] == '-' || from[0] == '@' || from[len - 1] == '@')
        return error_set(err, EINVAL, "'%s' is no name of a host", word_shown(name, n, shown));
    memcpy(buf, from, len);
    buf[len] = 0;
    return 0;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static int add_slots(struct alloc_host *h, const struct hostlist_entry *e, struct error *err)
{
    uint64_t sum = (uint64_t)h->slots.value + (e->slots ? e->slots : 1);
    size_t n = strlen(h->slots.source);
    if (sum > HOSTLIST_SLOTS_MAX)
        return error_set(err, EINVAL, "host '%.60s' has %llu slots, of at most %d", h->name,
                         (unsigned long long)sum, HOSTLIST_SLOTS_MAX);
    h->slots.value = (uint32_t)sum;
    h->max_slots = e->max_slots && (h->max_slots || !n) ? h->max_slots + e->max_slots : 0;
    if (n == 0)
        snprintf(h->slots.source, sizeof(h->slots.source), "%s", e->source);
    else if (strcmp(h->slots.source, e->source) != 0 && !strstr(h->slots.source, ", ..."))
        snprintf(h->slots.source + n, sizeof(h->slots.source) - n, ", ...");
    return 0;
}

/* Memory is taken in powers of two. */
static void add_mention(struct hostlist *l, const struct alloc_host *h)
{
    size_t n = l->nmentions;
    if ((n & (n - 1)) == 0)
        l->mentions = must(reallocarray(l->mentions, n ? 2 * n : 1, sizeof(*l->mentions)));
    l->mentions[l->nmentions++] = (uint32_t)(h - l->allocation.hosts);
}

static int add_numbers(struct hostlist *l, struct alloc_host *h, const struct hostlist_entry *e,
                       struct error *err)
{
    add_mention(l, h);
    if (add_slots(h, e, err) < 0)
        return -1;
    if (e->cores && allocation_add_cores(h, e->cores, e->cores_len) < 0)
        return error_errno(err, errno, "list the cores of '%.60s'", h->name);
    return 0;
}

int hostlist_add(struct hostlist *l, const struct hostlist_entry *e, struct error *err)
{
    char name[HOSTLIST_NAME_MAX + 1];
    if (take_name(e->name, e->len, name, err) < 0)
        return -1;
    struct alloc_host *h = hostlist_find(l, name);
    l->stated |= h || e->slots;
    if (h)
        return add_numbers(l, h, e, err);
    if (l->allocation.nhosts == HOSTLIST_HOSTS_MAX)
        return error_set(err, EINVAL, "more than %d hosts are named", HOSTLIST_HOSTS_MAX);
    return add_numbers(l, add_host(l, name), e, err);
}

int hostlist_add_slots(struct hostlist *l, const char *name, uint32_t slots, const char *source,
                       struct error *err)
{
    struct hostlist_entry e = {.name = name, .len = strlen(name), .slots = slots, .source = source};
    return hostlist_add(l, &e, err);
}

struct addition {
    struct hostlist *list;
    struct hostlist_entry entry;
};

static int add_one(void *arg, const char *name, size_t len, struct error *err)
{
    struct addition *a = arg;
    a->entry.name = name;
    a->entry.len = len;
    return hostlist_add(a->list, &a->entry, err);
}

int hostlist_add_range(struct hostlist *l, const struct hostlist_entry *e, struct error *err)
{
    struct addition a = {.list = l, .entry = *e};
    if (!hostrange_is(e->name, e->len))
        return hostlist_add(l, e, err);
    return hostrange_each(e->name, e->len, add_one, &a, err);
}

/* ---- "a:2,b" --------------------------------------------------------------------------------- */

/* The ':' before the number, or NULL. */
static const char *number_colon(const char *text, size_t n)
{
    const char *from = text;
    if (n && text[0] == '[') {
        const char *end = memchr(text, ']', n);
        from = end ? end : text;
    }
    return memchr(from, ':', n - (size_t)(from - text));
}

int hostlist_split(const char *text, size_t n, size_t *ret_len, uint32_t *ret_slots,
                   struct error *err)
{
    const char *colon = number_colon(text, n);
    char digits[64], shown[64];
    int64_t slots = 0;
    *ret_len = colon ? (size_t)(colon - text) : n;
    *ret_slots = 0;
    if (!colon)
        return 0;
    size_t rest = n - *ret_len - 1;
    if (memchr(colon + 1, ':', rest))
        return error_set(err, EINVAL,
                         "'%s' has several ':'; an IPv6 address stands in brackets: '[::1]:2'",
                         word_shown(text, n, shown));
    if (rest && (colon[1] == '*' || strncmp(colon + 1, "auto", rest) == 0))
        return error_set(err, EINVAL,
                         "'%s': how many cores the host has is not known before it is started; "
                         "write their number",
                         word_shown(text, n, shown));
    if (number_parse(word_shown(colon + 1, rest, digits), "slots", 1, HOSTLIST_SLOTS_MAX, &slots,
                     err) < 0)
        return error_context(err, "'%s'", word_shown(text, n, shown));
    *ret_slots = (uint32_t)slots;
    return 0;
}

/* The length of the text up to the first comma that is not within brackets. */
static size_t item_length(const char *text)
{
    size_t n = 0;
    for (int within = 0; text[n] && (within || text[n] != ','); n++)
        within = text[n] == '[' || (within && text[n] != ']');
    return n;
}

int hostlist_parse(const char *text, struct hostlist *l, struct error *err)
{
    for (;; text++) {
        size_t n = item_length(text), blank = strcspn(text, " \t");
        if (blank > 0 && blank < n && strcspn(text, "[") > blank)
            return error_set(err, EINVAL, "'%.60s': hosts are separated by commas, without blanks",
                             text);
        struct hostlist_entry e = {.name = text};
        if (hostlist_split(text, n, &e.len, &e.slots, err) < 0)
            return -1;
        e.source = e.slots ? "--host" : HOSTLIST_NO_NUMBER;
        if (hostlist_add_range(l, &e, err) < 0)
            return -1;
        text += n;
        if (!*text)
            return 0;
    }
}
