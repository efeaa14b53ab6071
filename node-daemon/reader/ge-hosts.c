/* SPDX-License-Identifier: BSD-3-Clause */
#include "node-daemon/reader/ge-spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/must.h"

static int by_name(const void *a, const void *b)
{
    const struct ge_host *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* "n1 2 lab.q@n1 UNDEFINED" */
static int take_line(const char *line, size_t len, struct ge_host *ret)
{
    size_t name = strcspn(line, " \t\n"), digits;
    if (name == 0 || name >= sizeof(ret->name) || name >= len)
        return -1;
    const char *number = line + name + strspn(line + name, " \t");
    digits = strspn(number, "0123456789");
    if (digits == 0 || digits > 7 || number + digits > line + len)
        return -1;
    *ret = (struct ge_host){.slots = (uint32_t)strtoul(number, NULL, 10), .lines = 1};
    memcpy(ret->name, line, name);
    return ret->slots > 0 && ret->slots <= GE_SLOTS_MAX ? 0 : -1;
}

static size_t count_lines(const char *text)
{
    size_t n = 1;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* How many stay of n sorted ones. */
static size_t merge(struct ge_host *hosts, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0, next; i < n; i = next) {
        struct ge_host one = hosts[i];
        for (next = i + 1; next < n && !strcmp(hosts[next].name, one.name); next++) {
            one.slots += one.slots < GE_SLOTS_MAX ? hosts[next].slots : 0;
            one.lines++;
        }
        if (one.lines > 1)
            hosts[kept++] = one;
    }
    return kept;
}

struct ge_host *ge_hosts_of_several(const char *text, size_t *ret_n)
{
    size_t n = 0;
    struct ge_host *hosts = must(calloc(count_lines(text), sizeof(*hosts)));
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        if (len > 0 && take_line(line, len, &hosts[n++]) < 0) {
            free(hosts);
            errno = EINVAL;
            return NULL;
        }
        line += len + (line[len] == '\n');
    }
    qsort(hosts, n, sizeof(*hosts), by_name);
    *ret_n = merge(hosts, n);
    return hosts;
}
