/* SPDX-License-Identifier: BSD-3-Clause */
/* ge-config.c - reading an execd's `config` of a task
 *
 * Memory is written as it was asked for: for a slot, or where *_is_consumable_job says so for the
 * job. It is not multiplied here: share.c does that, once. */
#include "node-daemon/ge-config.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rm-adapters/gridengine/complex-value.h"

enum { DIGITS_MAX = 10, HOST_MAX = 64 };

/* ---- names ------------------------------------------------------------------------------------
 */

static size_t digits(const char *s)
{
    size_t n = strspn(s, "0123456789");
    return n <= DIGITS_MAX ? n : 0;
}

int ge_is_job(const char *name)
{
    size_t n = digits(name);
    if (n == 0 || name[n] != '.')
        return 0;
    size_t m = digits(name + n + 1);
    return m > 0 && name[n + 1 + m] == 0;
}

int ge_is_task(const char *name)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t n = digits(name);
    if (n == 0 || name[n] != '.' || !isalnum((unsigned char)name[n + 1]))
        return 0;
    size_t m = strspn(name + n + 1, letters);
    return m <= HOST_MAX && name[n + 1 + m] == 0;
}

/* ---- values -----------------------------------------------------------------------------------
 */

static int is_no_limit(const char *s)
{
    return !*s || !strcasecmp(s, "UNDEFINED") || !strcasecmp(s, "NONE");
}

static int parse_number(const char *s, unsigned long max, unsigned long *ret)
{
    size_t n = digits(s);
    if (n == 0 || s[n])
        return -1;
    *ret = strtoul(s, NULL, 10);
    return *ret <= max ? 0 : -1;
}

/* ---- cores ------------------------------------------------------------------------------------
 */

/* One core more; -1: there is no room. */
static int add_core(char ret[GE_BINDING_MAX], unsigned socket, unsigned core)
{
    size_t len = strlen(ret);
    int n = snprintf(ret + len, GE_BINDING_MAX - len, "%s%u,%u", len ? ":" : "", socket, core);
    return n > 0 && len + (size_t)n < GE_BINDING_MAX ? 0 : -1;
}

/* The topology begins with its first socket, and counts cores anew in each. -1: it is none. */
static int read_topology(const char *p, const char *end, char ret[GE_BINDING_MAX])
{
    unsigned sockets = 0, cores = 0;
    for (; p < end; p++) {
        if (*p == 'S' || *p == 's') {
            sockets++;
            cores = 0;
        } else if (sockets == 0 || !strchr("CcTt", *p) || !*p) {
            return -1;
        } else if (*p == 'c' && add_core(ret, sockets - 1, cores) < 0) {
            return -1;
        }
        cores += *p == 'C' || *p == 'c';
    }
    return 0;
}

/* Which cores the value of `binding` names, as in struct ge_config: those that the topology at its
 * end ("SccC") has in lower case, whatever strategy found them (Grid Engine 8.1.9, exec_job.c). "",
 * where it names none, or says what is not known. Pure. */
static void ge_binding_parse(const char *value, size_t n, char ret[GE_BINDING_MAX])
{
    const char *last = n ? memrchr(value, ':', n) : NULL;
    ret[0] = 0;
    if (last && read_topology(last + 1, value + n, ret) < 0)
        ret[0] = 0;
}

/* ---- lines ------------------------------------------------------------------------------------
 */

enum key { GROUP, OWNER, SLOTS, VMEM, VMEM_JOB, RSS, RSS_JOB, BINDING, KEYS };
static const char *const keys[KEYS] = {
    [GROUP] = "add_grp_id",
    [OWNER] = "job_owner",
    [SLOTS] = "host_slots",
    [VMEM] = "h_vmem",
    [RSS] = "h_rss",
    [VMEM_JOB] = "h_vmem_is_consumable_job",
    [RSS_JOB] = "h_rss_is_consumable_job",
    [BINDING] = "binding",
};
enum { VALUE_MAX = 64 };

struct values {
    char text[KEYS][VALUE_MAX];
    int given[KEYS];
    const char *binding; /* the only one that may be long: where it is in the text */
    size_t binding_len;
};

static int take_line(const char *line, size_t len, struct values *v, struct error *err)
{
    const char *eq = memchr(line, '=', len);
    if (!eq)
        return 0;
    size_t name = (size_t)(eq - line), value = len - name - 1;
    for (unsigned k = 0; k < KEYS; k++) {
        if (strlen(keys[k]) != name || memcmp(keys[k], line, name) != 0)
            continue;
        if (v->given[k]++)
            return error_set(err, EINVAL, "%s stands there twice", keys[k]);
        if (k == BINDING) {
            v->binding = eq + 1;
            v->binding_len = value;
            continue;
        }
        if (value >= VALUE_MAX)
            return error_set(err, EINVAL, "%s is too long", keys[k]);
        memcpy(v->text[k], eq + 1, value);
    }
    return 0;
}

static int is_one(const char *s)
{
    return !strcmp(s, "1");
}

/* What is no size is no limit: a strange request must not keep a job from being contained. */
static void take_memory(const struct values *v, enum key value, enum key for_job,
                        enum demand_what what, struct demand *d)
{
    struct gridengine_value asked;
    if (is_no_limit(v->text[value]) || gridengine_value_parse(v->text[value], &asked) < 0 ||
        asked.infinite)
        return;
    unsigned consumable = is_one(v->text[for_job]) ? GRIDENGINE_PER_JOB : GRIDENGINE_PER_SLOT;
    d->part[d->n++] = (struct demand_part){.what = (uint8_t)what,
                                           .consumable = (uint8_t)consumable,
                                           .whole = asked.whole,
                                           .millionths = asked.millionths};
}

int ge_config_parse(const char *text, struct ge_config *ret, struct error *err)
{
    struct values v = {0};
    struct ge_config c = {.group = 0};
    unsigned long group, slots = 1;
    for (const char *line = text, *end; *line; line = end + (*end != 0)) {
        end = strchrnul(line, '\n');
        if (take_line(line, (size_t)(end - line), &v, err) < 0)
            return -1;
    }
    /* 0 is root's group, and no number that an execd gives to a task */
    if (parse_number(v.text[GROUP], UINT32_MAX - 1, &group) < 0 || group == 0)
        return error_set(err, EINVAL, "%s=%s is no group", keys[GROUP], v.text[GROUP]);
    if (!v.text[OWNER][0])
        return error_set(err, EINVAL, "there is no %s", keys[OWNER]);
    if (v.given[SLOTS] && (parse_number(v.text[SLOTS], 1000000, &slots) < 0 || slots == 0))
        return error_set(err, EINVAL, "%s=%s is no number of slots", keys[SLOTS], v.text[SLOTS]);
    c.group = (gid_t)group;
    memcpy(c.owner, v.text[OWNER], sizeof(c.owner));
    c.share.slots = (uint32_t)slots;
    c.cores = (unsigned)slots;
    ge_binding_parse(v.binding, v.binding_len, c.binding);
    take_memory(&v, RSS, RSS_JOB, DEMAND_MEMORY, &c.share.written);
    take_memory(&v, VMEM, VMEM_JOB, DEMAND_VIRTUAL, &c.share.written);
    *ret = c;
    return 0;
}
