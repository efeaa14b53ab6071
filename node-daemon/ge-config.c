/* SPDX-License-Identifier: BSD-3-Clause */
/* ge-config.c - reading an execd's `config` of a task
 *
 * Memory is written as it was asked for, per slot, and multiplied by the slots of this host here
 * and nowhere else, except where *_is_consumable_job says that it was asked for the job. */
#include "node-daemon/ge-config.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rm-adapters/gridengine-value.h"

enum { DIGITS_MAX = 10, HOST_MAX = 64 };
static const uint64_t LIMIT_MAX = UINT64_C(1) << 62;

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

void ge_binding_parse(const char *value, size_t n, char ret[GE_BINDING_MAX])
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

/* How much for all slots of this host. What is more than there can be, or no size at all, is no
 * limit: a strange request must not keep a job from being contained. */
static struct limit memory_of(const struct values *v, enum key value, enum key for_job,
                              unsigned long slots)
{
    struct gridengine_value asked;
    uint64_t bytes;
    if (is_no_limit(v->text[value]) || gridengine_value_parse(v->text[value], &asked) < 0 ||
        gridengine_value_times(&asked, is_one(v->text[for_job]) ? 1 : slots, &bytes) < 0 ||
        bytes == 0 || bytes >= LIMIT_MAX)
        return (struct limit){0};
    return (struct limit){.set = 1, .value = bytes};
}

/* Resident memory is what a cgroup limits; virtual memory is never less than that. */
static void take_limits(const struct values *v, struct ge_config *c)
{
    struct limit rss = memory_of(v, RSS, RSS_JOB, c->slots);
    c->limits.memory = rss.set ? rss : memory_of(v, VMEM, VMEM_JOB, c->slots);
    if (c->limits.memory.set) /* of swap nobody asked for any */
        c->limits.swap = (struct limit){.set = 1, .value = 0};
}

int ge_config_parse(const char *text, struct ge_config *ret, struct error *err)
{
    struct values v = {0};
    struct ge_config c = {.slots = 1};
    unsigned long group;
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
    if (v.given[SLOTS] && (parse_number(v.text[SLOTS], 1000000, &c.slots) < 0 || c.slots == 0))
        return error_set(err, EINVAL, "%s=%s is no number of slots", keys[SLOTS], v.text[SLOTS]);
    c.group = (gid_t)group;
    memcpy(c.owner, v.text[OWNER], sizeof(c.owner));
    c.cores = (unsigned)c.slots;
    ge_binding_parse(v.binding, v.binding_len, c.binding);
    take_limits(&v, &c);
    *ret = c;
    return 0;
}
