/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/slot-list.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { NUMBER_MAX = 99999 };

struct range {
    unsigned first, last;
    bool is_all; /* "*": as many as there are */
};

struct item {
    bool has_packages;
    struct range packages, cores;
};

struct reader {
    const char *at, *end;
    struct item item; /* the one that was read last */
};

static bool read_number(struct reader *r, unsigned *ret)
{
    const char *begin = r->at;
    for (*ret = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9' && *ret <= NUMBER_MAX; r->at++)
        *ret = *ret * 10 + (unsigned)(*r->at - '0');
    return r->at > begin && *ret <= NUMBER_MAX;
}

static bool take(struct reader *r, char c)
{
    bool is_there = r->at < r->end && *r->at == c;
    r->at += is_there;
    return is_there;
}

/* "2", "0-2", "*" */
static bool read_range(struct reader *r, struct range *ret)
{
    *ret = (struct range){.is_all = take(r, '*'), .last = NUMBER_MAX};
    if (ret->is_all)
        return true;
    if (!read_number(r, &ret->first))
        return false;
    ret->last = ret->first;
    return !take(r, '-') || (read_number(r, &ret->last) && ret->first <= ret->last);
}

static bool read_item(struct reader *r)
{
    struct item *i = &r->item;
    if (!read_range(r, &i->cores))
        return false;
    if (take(r, ':')) {
        i->has_packages = true;
        i->packages = i->cores;
        if (!read_range(r, &i->cores))
            return false;
    }
    return true;
}

/* 1: r->item is the next one; 0: there is none; -1. */
static int next_item(struct reader *r, const char *text, size_t len, struct error *err)
{
    bool is_first = r->at == text;
    if (!is_first && r->at == r->end)
        return 0;
    if (!is_first && take(r, ';'))
        r->item.has_packages = false;
    else if (!is_first && !take(r, ','))
        r->at = r->end;
    if (read_item(r) && (r->at == r->end || strchr(",;", *r->at)))
        return 1;
    return error_set(err, EINVAL,
                     "'%.*s' are no cores; expected are their numbers as '0-2,5', or behind that "
                     "of their socket as '1:0-2', '0:*'",
                     (int)(len < 60 ? len : 60), text);
}

int slot_list_check(const char *text, size_t len, struct error *err)
{
    struct reader r = {.at = text, .end = text + len};
    int rc;
    while ((rc = next_item(&r, text, len, err)) > 0)
        ;
    return rc;
}

static bool is_in(const struct range *r, int n)
{
    return n >= 0 && (unsigned)n >= r->first && (unsigned)n <= r->last;
}

static bool has_core(const struct item *i, const struct plan_core *c)
{
    return i->has_packages
               ? is_in(&i->packages, c->at[LEVEL_PACKAGE]) && is_in(&i->cores, c->of_package)
               : is_in(&i->cores, c->at[LEVEL_CORE]);
}

static size_t range_count(const struct range *r)
{
    return r->is_all ? 1 : (size_t)(r->last - r->first) + 1;
}

/* Are that many cores what the item names? Of '*' there has to be one. */
static bool is_enough(const struct item *i, size_t n)
{
    size_t packages = i->has_packages ? range_count(&i->packages) : 1;
    return i->cores.is_all ? n >= 1 : n >= packages * range_count(&i->cores);
}

int slot_list_find(const struct plan_topology *t, const char *text, size_t len, struct idset *ret,
                   struct error *err)
{
    struct reader r = {.at = text, .end = text + len};
    int rc;
    while ((rc = next_item(&r, text, len, err)) > 0) {
        size_t n = 0;
        for (size_t i = 0; i < t->ncores; i++) {
            if (!has_core(&r.item, &t->cores[i]))
                continue;
            n++;
            idset_unite(ret, &t->cores[i].threads);
        }
        if (!is_enough(&r.item, n))
            return error_set(
                err, EINVAL,
                "bind a rank to cores '%.*s': not all of them exist here and may be used",
                (int)(len < 60 ? len : 60), text);
    }
    return rc;
}
