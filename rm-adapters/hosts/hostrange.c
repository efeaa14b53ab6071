/* SPDX-License-Identifier: BSD-3-Clause */
#include "rm-adapters/hosts/hostlist.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/words.h"

enum { DIGITS_MAX = 9 };
static const char digits[] = "0123456789";

struct expansion {
    const char *text;
    size_t n; /* bytes of text */
    int (*fn)(void *arg, const char *name, size_t len, struct error *err);
    void *arg;
    size_t nhosts;
    unsigned ngroups; /* brackets that are open */
    char name[HOSTLIST_NAME_MAX + 1];
    struct error *err;
};

/* "3", "1-4", "01-16" */
struct range {
    unsigned long first, last;
    int width;
};

bool hostrange_is(const char *text, size_t n)
{
    const char *open = memchr(text, '[', n);
    for (const char *c = text; open && c < open; c++)
        if (*c <= ' ') /* no name at all */
            return 0;
    if (!open || open > text)
        return open != NULL;
    const char *close = memchr(text, ']', n);
    if (!close || close == text + 1 || !strchr(digits, text[1]))
        return 0;
    for (const char *c = text + 1; c < close; c++)
        if (!*c || !strchr("0123456789-,", *c))
            return 0;
    return 1;
}

static int wrong(struct expansion *x, const char *fmt, const char *part, size_t n)
{
    char shown[64], what[64];
    struct error *err = x->err;
    error_set(err, EINVAL, fmt, word_shown(part, n, what));
    return error_context(err, "'%s'", word_shown(x->text, x->n, shown));
}

/* Read the item of a group from `at` to `end`, where a ',' or a ']' stands. */
static int take_range(struct expansion *x, const char *at, const char *end, struct range *ret)
{
    size_t n = (size_t)(end - at), width = strspn(at, digits), used = width;
    const char *last = at;
    if (at[width] == '-') {
        last = at + width + 1;
        used += 1 + strspn(last, digits);
    }
    size_t last_width = (size_t)(at + used - last);
    if (width == 0 || width > DIGITS_MAX || last_width == 0 || last_width > DIGITS_MAX || used != n)
        return wrong(x, "'%s' is no number and no range such as 1-4", at, n);
    *ret = (struct range){strtoul(at, NULL, 10), strtoul(last, NULL, 10), (int)width};
    if (ret->last < ret->first)
        return wrong(x, "the range %s counts down; write the smaller number first", at, n);
    if (ret->last - ret->first >= HOSTRANGE_HOSTS_MAX)
        return wrong(x, "the range %s is too long: a list has at most 65536 hosts", at, n);
    return 0;
}

static int expand(struct expansion *x, size_t len, const char *rest, const char *end);

/* Expand each item of the group from `at` to `close`. */
static int expand_group(struct expansion *x, size_t len, const char *at, const char *close,
                        const char *end)
{
    for (;; at++) {
        struct range range = {.width = 0};
        const char *comma = memchr(at, ',', (size_t)(close - at));
        const char *stop = comma ? comma : close;
        if (take_range(x, at, stop, &range) < 0)
            return -1;
        for (unsigned long i = range.first; i <= range.last; i++) {
            int n = snprintf(x->name + len, sizeof(x->name) - len, "%0*lu", range.width, i);
            if (n < 0 || (size_t)n >= sizeof(x->name) - len)
                return wrong(x, "a name of it is longer than 255 bytes%s", "", 0);
            if (expand(x, len + (size_t)n, close + 1, end) < 0)
                return -1;
        }
        at = stop;
        if (at == close)
            return 0;
    }
}

static int give_out(struct expansion *x, size_t len)
{
    if (x->nhosts++ == HOSTRANGE_HOSTS_MAX)
        return wrong(x, "it stands for more than 65536 hosts%s", "", 0);
    return x->fn(x->arg, x->name, len, x->err);
}

/* x->name has the first len bytes of a name; expand the rest of the text behind them. */
static int expand(struct expansion *x, size_t len, const char *rest, const char *end)
{
    const char *open = memchr(rest, '[', (size_t)(end - rest));
    size_t plain = (size_t)((open ? open : end) - rest);
    if (plain >= sizeof(x->name) - len)
        return wrong(x, "a name of it is longer than 255 bytes%s", "", 0);
    memcpy(x->name + len, rest, plain);
    len += plain;
    if (!open)
        return give_out(x, len);
    const char *close = memchr(open, ']', (size_t)(end - open));
    if (!close)
        return wrong(x, "the ']' for its '[' is missing%s", "", 0);
    if (x->ngroups == HOSTRANGE_GROUPS_MAX)
        return wrong(x, "it has more than four ranges in brackets%s", "", 0);
    x->ngroups++;
    int rc = expand_group(x, len, open + 1, close, end);
    x->ngroups--;
    return rc;
}

int hostrange_each(const char *text, size_t n,
                   int (*fn)(void *arg, const char *name, size_t len, struct error *err), void *arg,
                   struct error *err)
{
    struct expansion x = {.text = text, .n = n, .fn = fn, .arg = arg, .err = err};
    return expand(&x, 0, text, text + n);
}
