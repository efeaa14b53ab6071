/* SPDX-License-Identifier: BSD-3-Clause */
/* binding-values.c - the values of options that deal ranks to hosts and cores, in any case
 *
 * Open MPI's --map-by, --rank-by and --bind-to, srun's --distribution and --cpu-bind. A value that
 * mprun cannot obey is an error; none is ignored. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "common/text/idset.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/text/text.h"
#include "launcher/cmdline/cmdline-private.h"
#include "launcher/cmdline/options/option-functions.h"

struct named_level {
    const char *word;
    enum level level;
};

static const struct named_level level_words[] = {
    {"hwthread", LEVEL_HWTHREAD},
    {"core", LEVEL_CORE},
    {"l1cache", LEVEL_L1},
    {"l2cache", LEVEL_L2},
    {"l3cache", LEVEL_L3},
    {"numa", LEVEL_NUMA},
    {"l1", LEVEL_L1},
    {"l2", LEVEL_L2},
    {"l3", LEVEL_L3},
    {"package", LEVEL_PACKAGE},
    {"socket", LEVEL_PACKAGE},
    {"board", LEVEL_BOARD},
};
static const char every_level[] =
    "hwthread, core, l1cache, l2cache, l3cache, numa, package (or socket), board";

static bool is_word(const char *at, size_t len, const char *word)
{
    return len == strlen(word) && strncasecmp(at, word, len) == 0;
}

static enum level find_level(const char *at, size_t len)
{
    for (size_t i = 0; i < sizeof(level_words) / sizeof(*level_words); i++)
        if (is_word(at, len, level_words[i].word))
            return level_words[i].level;
    return LEVEL_NONE;
}

const char *cmdline_level_word(enum level level)
{
    size_t i = 0;
    while (level_words[i].level != level)
        i++;
    return level_words[i].word;
}

/* ---- lists of hardware threads --------------------------------------------------------------- */

/* Adds a set to the list of the line. part: what its numbers are of. */
static int add_set(struct binding_request *b, enum level part, const char *set, struct error *err)
{
    static const char *const marks[LEVEL_COUNT] = {
        [LEVEL_HWTHREAD] = "", [LEVEL_CORE] = "C", [LEVEL_NUMA] = "N"};
    size_t n = strlen(b->list);
    if (n + strlen(set) + 3 > sizeof(b->list))
        return error_set(err, EINVAL, "the list is longer than %zu bytes", sizeof(b->list));
    snprintf(b->list + n, sizeof(b->list) - n, "%s%s%s", n ? ";" : "", marks[part], set);
    return 0;
}

/* "core:" and "numa:" before a list, of which *list goes behind it. */
static enum level take_part_word(const char **list, size_t *len)
{
    static const char *const words[] = {"core:", "numa:"};
    for (size_t i = 0; i < 2; i++)
        if (*len > 5 && strncasecmp(*list, words[i], 5) == 0) {
            *list += 5;
            *len -= 5;
            return i ? LEVEL_NUMA : LEVEL_CORE;
        }
    return LEVEL_HWTHREAD;
}

static int begin_list(struct binding_request *b, enum cpu_list_kind kind, struct error *err)
{
    if (b->list_kind != CPU_LIST_NONE)
        return error_set(err, EINVAL, "hardware threads are listed twice; keep one list");
    if (kind == CPU_LIST_EACH && b->policy == BIND_NONE)
        return error_set(err, EINVAL, "it contradicts '--bind-to none'; keep one");
    b->list_kind = kind;
    b->policy = kind == CPU_LIST_EACH ? BIND_TO : b->policy;
    return 0;
}

/* "0-3,8" of len bytes: all of them for all ranks together. */
static int list_only(struct binding_request *b, const char *at, size_t len, struct error *err)
{
    enum level part = take_part_word(&at, &len);
    AUTO_FREE char *text = must(strndup(at, len));
    AUTO(idset_free) struct idset set = {0};
    int rc = idset_parse(text, &set, err);
    if (rc == 0 && idset_count(&set) == 0)
        rc = error_set(err, EINVAL, "the list of hardware threads is empty");
    return rc < 0 || begin_list(b, CPU_LIST_ONLY, err) < 0 ? -1 : add_set(b, part, text, err);
}

/* A hexadecimal mask as a set: its lowest bit is hardware thread 0. */
static int read_mask(const char *text, struct idset *ret, struct error *err)
{
    const char *digits = strncasecmp(text, "0x", 2) == 0 ? text + 2 : text;
    size_t n = strlen(digits);
    if (n == 0 || strspn(digits, "0123456789abcdefABCDEF") != n)
        return error_set(err, EINVAL, "'%.60s' is not a hexadecimal mask", text);
    for (size_t i = 0; i < n; i++) {
        const char digit[2] = {digits[n - 1 - i], 0};
        unsigned long value = strtoul(digit, NULL, 16);
        for (unsigned bit = 0; bit < 4; bit++)
            if (value >> bit & 1)
                idset_add(ret, (unsigned)i * 4 + bit);
    }
    return idset_count(ret) > 0 ? 0 : error_set(err, EINVAL, "'%.60s' is an empty mask", text);
}

static int read_thread(const char *text, struct idset *ret, struct error *err)
{
    int64_t thread;
    char *end;
    if (strncasecmp(text, "0x", 2) == 0 && text[2]) { /* as srun takes it */
        unsigned long n = strtoul(text, &end, 16);
        thread = *end == 0 && n < IDSET_MAX ? (int64_t)n : -1;
        if (thread < 0)
            return error_set(err, EINVAL, "'%.60s' is no number of a hardware thread", text);
    } else if (number_parse(text, NULL, 0, IDSET_MAX - 1, &thread, err) < 0) {
        return -1;
    }
    idset_add(ret, (unsigned)thread);
    return 0;
}

static int read_set(const char *text, struct idset *ret, struct error *err)
{
    if (idset_parse(text, ret, err) < 0)
        return -1;
    return idset_count(ret) > 0
               ? 0
               : error_set(err, EINVAL, "a rank's list of hardware threads is empty");
}

/* "0*4" is four of it, as srun has it: how many; *item ends before. 0 with err. */
static unsigned long take_times(char *item, struct error *err)
{
    char *star = strchr(item, '*'), *end;
    if (!star)
        return 1;
    unsigned long n = strtoul(star + 1, &end, 10);
    *star = 0;
    if (star[1] < '1' || star[1] > '9' || *end || n > 4096) {
        error_set(err, EINVAL, "'%.60s' is not how often it is repeated", star + 1);
        return 0;
    }
    return n;
}

/* A list of len bytes, an item for each rank of a host. */
static int list_each(struct binding_request *b, enum level part, const char *at, size_t len,
                     const char *separator,
                     int (*read)(const char *text, struct idset *ret, struct error *err),
                     struct error *err)
{
    if (begin_list(b, CPU_LIST_EACH, err) < 0)
        return -1;
    for (const char *end = at + len;; at++) {
        size_t n = strcspn(at, separator);
        n = at + n > end ? (size_t)(end - at) : n;
        AUTO_FREE char *item = must(strndup(at, n));
        AUTO(idset_free) struct idset set = {0};
        unsigned long times = take_times(item, err);
        int rc = times ? read(item, &set, err) : -1;
        AUTO_FREE char *text = rc == 0 ? idset_format(&set) : NULL;
        if (!text)
            return -1;
        for (; times > 0; times--)
            if (add_set(b, part, text, err) < 0)
                return -1;
        at += n;
        if (at >= end)
            return 0;
    }
}

/* "6,2,0-3" of len bytes: a number for each rank of a host. */
static int list_numbers(struct binding_request *b, const char *at, size_t len, struct error *err)
{
    enum level part = take_part_word(&at, &len);
    char numbers[sizeof(b->list)] = "";
    size_t n = 0;
    for (const char *end = at + len; at < end; at++) {
        unsigned first, last;
        int used = 0;
        size_t item = strcspn(at, ",");
        item = at + item > end ? (size_t)(end - at) : item;
        bool is_range = sscanf(at, "%5u-%5u%n", &first, &last, &used) == 2 && used == (int)item &&
                        first <= last;
        for (; is_range && first <= last && n < sizeof(numbers) - 16; first++)
            n += (size_t)snprintf(numbers + n, 8, "%u,", first);
        if (!is_range && n + item < sizeof(numbers) - 16)
            n += (size_t)snprintf(numbers + n, item + 2, "%.*s,", (int)item, at);
        else if (!is_range || first <= last)
            return error_set(err, EINVAL, "the list is longer than %zu bytes", sizeof(numbers));
        at += item;
    }
    return list_each(b, part, numbers, n ? n - 1 : 0, ",", read_thread, err);
}

int cmdline_apply_cpu_set(void *target, const char *value, struct error *err)
{
    return list_only(&((struct cmdline *)target)->place.bind, value, strlen(value), err);
}

int cmdline_apply_cpu_list(void *target, const char *value, struct error *err)
{
    return list_numbers(&((struct cmdline *)target)->place.bind, value, strlen(value), err);
}

/* ---- --map-by -------------------------------------------------------------------------------- */

int placement_oversubscribe(struct placement_options *p, bool on, struct error *err)
{
    if (p->oversubscribe == !on)
        return error_set(err, EINVAL, "it contradicts '--%soversubscribe'; keep one",
                         on ? "no" : "");
    p->oversubscribe = on;
    return 0;
}

static int take_modifier(struct placement_options *p, const char *at, size_t len, struct error *err)
{
    struct binding_request *b = &p->bind;
    if (len > 3 && strncasecmp(at, "pe=", 3) == 0)
        return cmdline_set_count(&b->cores, at + 3, len - 3, err);
    if (is_word(at, len, "oversubscribe"))
        return placement_oversubscribe(p, true, err);
    if (is_word(at, len, "nooversubscribe"))
        return placement_oversubscribe(p, false, err);
    if (is_word(at, len, "span"))
        p->span = true;
    else if (is_word(at, len, "nolocal"))
        p->no_local = true;
    else if (is_word(at, len, "hwtcpus"))
        b->threads = true;
    else if (!is_word(at, len, "corecpus") && !is_word(at, len, "ordered") &&
             !is_word(at, len, "inherit") && !is_word(at, len, "noinherit"))
        return error_set(err, EINVAL,
                         "'%.*s' is no modifier; valid: pe=N, span, oversubscribe, "
                         "nooversubscribe, nolocal, hwtcpus, corecpus, ordered",
                         (int)(len < 60 ? len : 60), at);
    return 0;
}

/* ":pe=2,span:nolocal", or nothing. */
static int take_modifiers(struct placement_options *p, const char *at, struct error *err)
{
    while (*at) {
        size_t len = strcspn(at + 1, ",:");
        if (take_modifier(p, at + 1, len, err) < 0)
            return -1;
        at += 1 + len;
    }
    return 0;
}

static bool has_modifier(const char *at, const char *word)
{
    for (; *at; at += 1 + strcspn(at + 1, ",:"))
        if (is_word(at + 1, strcspn(at + 1, ",:"), word))
            return true;
    return false;
}

/* Open MPI's library shortens it when it spawns ranks. */
static bool is_host_word(const char *at, size_t len)
{
    return is_word(at, len, "node") || is_word(at, len, "host") || is_word(at, len, "n");
}

/* "ppr:N:part": how many bytes; 0 with err. */
static size_t take_ppr(struct placement_options *p, const char *value, struct error *err)
{
    const char *number = value + 4;
    size_t digits = strcspn(number, ":"), len;
    const char *part = number + digits + (number[digits] == ':');
    len = strcspn(part, ":");
    enum level level = find_level(part, len);
    if (is_host_word(part, len))
        return cmdline_set_count(&p->per_host, number, digits, err) < 0
                   ? 0
                   : (size_t)(part - value) + len;
    if (level == LEVEL_NONE) {
        error_set(err, EINVAL, "'%.60s' is not 'ppr:N:PART'; parts: node, %s", value, every_level);
        return 0;
    }
    p->bind.map = level;
    return cmdline_set_count(&p->bind.ppr, number, digits, err) < 0 ? 0
                                                                    : (size_t)(part - value) + len;
}

int placement_map_by(struct placement_options *p, const char *value, struct error *err)
{
    size_t len = strcspn(value, ":");
    if (is_word(value, len, "ppr") && value[len]) {
        len = take_ppr(p, value, err);
        return len == 0 ? -1 : take_modifiers(p, value + len, err);
    }
    if (len > 8 && strncasecmp(value, "pe-list=", 8) == 0) {
        bool ordered = has_modifier(value + len, "ordered");
        int rc = ordered ? list_numbers(&p->bind, value + 8, len - 8, err)
                         : list_only(&p->bind, value + 8, len - 8, err);
        return rc < 0 ? -1 : take_modifiers(p, value + len, err);
    }
    enum level level = find_level(value, len);
    if (len == 0 && value[0] == ':') /* modifiers of what is so without it */
        return take_modifiers(p, value, err);
    p->by_core = level == LEVEL_CORE;
    if (is_host_word(value, len))
        p->turn = 1;
    else if (is_word(value, len, "seq"))
        p->in_sequence = true;
    else if (level != LEVEL_NONE)
        p->bind.map = p->by_core ? LEVEL_NONE : level;
    else if (len > 3 && strncasecmp(value, "pe=", 3) == 0)
        return error_set(err, EINVAL, "is ':%.60s' meant? 'pe' is a modifier, as 'slot:pe=2'",
                         value);
    else if (is_word(value, len, "slot"))
        p->by_slot = true;
    else
        return error_set(err, EINVAL,
                         "'%.60s' is not in this release; write slot, node, seq, "
                         "rankfile:file=FILE, pe-list=LIST, %s, or 'ppr:N:' before node or one of "
                         "these, and modifiers as ':pe=2,span'",
                         value, every_level);
    return take_modifiers(p, value + len, err);
}

int cmdline_apply_rank_file(void *target, const char *value, struct error *err)
{
    struct placement_options *p = &((struct cmdline *)target)->place;
    if (!*value)
        return error_set(err, EINVAL, "the name of the file is empty");
    if (p->rank_file && strcmp(p->rank_file, value) != 0)
        return error_set(err, EINVAL, "'%.60s' contradicts '%.60s'; keep one rank file", value,
                         p->rank_file);
    p->rank_file = value;
    return 0;
}

static int take_rank_file(struct cmdline *c, const char *at, size_t len, struct error *err)
{
    return cmdline_apply_rank_file(c, cmdline_keep(c, strndup(at, len)), err);
}

/* "rankfile:file=PATH", as Open MPI 5 has it; behind it only modifiers of hosts. */
static int map_by_rank_file(struct cmdline *c, const char *at, struct error *err)
{
    c->place.needs_rank_file = true;
    while (*at) {
        size_t len = strcspn(at + 1, ",:");
        bool is_file = len > 5 && strncasecmp(at + 1, "file=", 5) == 0;
        if (is_file ? take_rank_file(c, at + 6, len - 5, err) < 0
                    : take_modifier(&c->place, at + 1, len, err) < 0)
            return -1;
        at += 1 + len;
    }
    return 0;
}

/* "pe-list=0-3,8:ordered", of cores. */
static int map_by_core_list(struct cmdline *c, const char *value, size_t len, struct error *err)
{
    bool ordered = has_modifier(value + len, "ordered"),
         is_alone = strcasecmp(value + len, ":ordered") == 0;
    AUTO_FREE char *cores = text_format("core:%.*s", (int)len - 8, value + 8);
    if (cmdline_apply_named(c, ordered ? "--cpu-list" : "--cpu-set", cores, err) < 0)
        return -1;
    return value[len] && !is_alone ? cmdline_apply_named(c, "--map-by", value + len, err) : 0;
}

int cmdline_apply_map_by(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    size_t len = strcspn(value, ":");
    c->place.says_map |= value[0] != ':' || c->napps > 1; /* modifiers change how, not where */
    if (is_word(value, len, "seq") && strncasecmp(value + len, ":file=", 6) == 0) {
        return cmdline_apply_named(c, "--hostfile", value + len + 6, err) < 0
                   ? -1
                   : cmdline_apply_named(c, "--map-by", "seq", err);
    }
    if (c->dialect == DIALECT_MPIRUN && len > 8 && strncasecmp(value, "pe-list=", 8) == 0)
        return map_by_core_list(c, value, len, err);
    return is_word(value, len, "rankfile") ? map_by_rank_file(c, value + len, err)
                                           : placement_map_by(&c->place, value, err);
}

int cmdline_apply_rank_by(void *target, const char *value, struct error *err)
{
    static const char *const words[] = {[RANK_BY_SLOT - 1] = "slot",
                                        [RANK_BY_NODE - 1] = "node",
                                        [RANK_BY_FILL - 1] = "fill",
                                        [RANK_BY_SPAN - 1] = "span",
                                        NULL};
    if (strcasecmp(value, "core") == 0 || strcasecmp(value, "hwthread") == 0)
        value = "fill"; /* part after part, as Open MPI 4 has it */
    struct placement_options *p = &((struct cmdline *)target)->place;
    enum level part = find_level(value, strlen(value));
    if (part != LEVEL_NONE && part == p->bind.map)
        value = "span"; /* one of each in turn, host after host, as Open MPI 4 has it */
    else if (part != LEVEL_NONE && strcmp(value, "fill") != 0)
        return error_set(err, EINVAL,
                         "'%.60s' is understood behind '--map-by %.60s'; for ranks that are dealt "
                         "to others write 'slot', 'fill' or 'span'",
                         value, value);
    for (int i = 0; words[i]; i++)
        if (strcasecmp(value, words[i]) == 0) {
            ((struct cmdline *)target)->place.rank_by = (enum rank_by)(i + 1);
            return 0;
        }
    return option_word(value, strlen(value), words, err);
}

/* ---- --bind-to ------------------------------------------------------------------------------- */

static int bind_modifier(struct binding_request *b, const char *at, size_t len, struct error *err)
{
    if (is_word(at, len, "overload-allowed") || is_word(at, len, "overload"))
        b->overload = true;
    else if (is_word(at, len, "if-supported"))
        b->if_supported = true;
    else if (!is_word(at, len, "no-overload") && !is_word(at, len, "report"))
        return error_set(
            err, EINVAL,
            "'%.*s' is no modifier; valid: overload-allowed, no-overload, if-supported, report",
            (int)(len < 60 ? len : 60), at);
    return 0;
}

int placement_bind_to(struct binding_request *b, const char *value, struct error *err)
{
    size_t len = strcspn(value, ":");
    enum level level = find_level(value, len);
    if (is_word(value, len, "none"))
        b->policy = BIND_NONE;
    else if (level != LEVEL_NONE)
        b->policy = BIND_TO;
    else
        return error_set(err, EINVAL, "unknown word '%.*s'; valid: none, %s",
                         (int)(len < 60 ? len : 60), value, every_level);
    b->to = level == LEVEL_CORE ? LEVEL_NONE : level;
    for (value += len; *value; value += 1 + len) {
        len = strcspn(value + 1, ":,");
        if (bind_modifier(b, value + 1, len, err) < 0)
            return -1;
    }
    return 0;
}

int cmdline_apply_bind(void *target, const char *value, struct error *err)
{
    struct placement_options *p = &((struct cmdline *)target)->place;
    p->says_bind = true;
    ((struct cmdline *)target)->report_bindings |= strcasestr(value, ":report") != NULL;
    if (strncasecmp(value, "cpu-list", 8) == 0 && (!value[8] || value[8] == ':'))
        return 0; /* to the cores of --cpu-list */
    return placement_bind_to(&p->bind, value, err);
}

/* "nodes=0,2-3" or "interleave=0-1", behind the '='. */
static int take_memory_nodes(struct binding_request *b, const char *list, struct error *err)
{
    AUTO(idset_free) struct idset set = {0};
    int rc = idset_parse(list, &set, err);
    if (rc == 0 && idset_count(&set) == 0)
        rc = error_set(err, EINVAL, "the list of memory nodes is empty");
    if (rc == 0 && strlen(list) >= sizeof(b->memory_nodes))
        rc = error_set(err, EINVAL, "the list is longer than %zu bytes", sizeof(b->memory_nodes));
    if (rc == 0)
        strcpy(b->memory_nodes, list);
    return rc;
}

int cmdline_apply_mem_bind(void *target, const char *value, struct error *err)
{
    static const char *const words[] = {[MEMORY_DEFAULT - 1] = "none",
                                        [MEMORY_LOCAL - 1] = "local",
                                        [MEMORY_INTERLEAVE - 1] = "interleave",
                                        [MEMORY_NODES - 1] = "nodes",
                                        NULL};
    struct placement_options *p = &((struct cmdline *)target)->place;
    size_t len = strcspn(value, "=");
    int word = option_word(value, len, words, err);
    if (word < 0)
        return -1;
    p->says_memory = true;
    p->bind.memory = (enum memory_bind)(word + 1);
    p->bind.memory_nodes[0] = 0;
    bool takes_nodes = p->bind.memory == MEMORY_INTERLEAVE || p->bind.memory == MEMORY_NODES;
    if (p->bind.memory == MEMORY_NODES && !value[len])
        return error_set(err, EINVAL, "write the nodes as 'nodes=0,2-3'");
    if (value[len] && !takes_nodes)
        return error_set(err, EINVAL, "'%s' takes no '%.60s'", words[word], value + len);
    return value[len] ? take_memory_nodes(&p->bind, value + len + 1, err) : 0;
}

/* ---- srun, and PALS -------------------------------------------------------------------------- */

/* "block", "cyclic", "plane=N", "*": over hosts. */
static int distribute_hosts(struct cmdline *c, const char *at, size_t len, struct error *err)
{
    c->place.even = is_word(at, len, "even");
    c->place.by_slot |= is_word(at, len, "block");
    if (len > 6 && strncasecmp(at, "plane=", 6) == 0)
        return cmdline_set_count(&c->place.turn, at + 6, len - 6, err);
    if (is_word(at, len, "cyclic"))
        c->place.turn = 1;
    else if (is_word(at, len, "arbitrary"))
        c->place.in_sequence = c->place.is_arbitrary = true;
    else if (!c->place.even && !is_word(at, len, "block") && !is_word(at, len, "*"))
        return error_set(err, EINVAL,
                         "unknown word '%.*s'; valid: block, even, cyclic, plane=N, arbitrary, and "
                         "behind ':' block or cyclic over packages",
                         (int)(len < 60 ? len : 60), at);
    return 0;
}

/* "block:cyclic": the second is over packages. */
int cmdline_apply_distribution(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    c->place.says_map = true;
    if (!value) { /* --bynode */
        c->place.turn = 1;
        return 0;
    }
    size_t len = strcspn(value, ":,");
    if (distribute_hosts(c, value, len, err) < 0)
        return -1;
    if (!value[len])
        return 0;
    const char *parts = value + len + 1;
    size_t n = strcspn(parts, ":,");
    if (is_word(parts, n, "cyclic")) {
        c->place.bind.map = LEVEL_PACKAGE;
        c->place.bind.in_turn = true;
    } else if (is_word(parts, n, "block")) {
        c->place.by_core = true;
    } else if (!is_word(parts, n, "*")) {
        n = 0;
    }
    /* over cores block is what is done anyway */
    if (n == 0 || (parts[n] && strcasecmp(parts + n + 1, "block") != 0))
        return option_note(&c->no_effect, value + len, strlen(value + len));
    return 0;
}

/* ",Pack" and ",NoPack" behind it. */
int cmdline_apply_srun_distribution(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    size_t len = strcspn(value, ",");
    AUTO_FREE char *how = must(strndup(value, len));
    if (value[len] && strcasecmp(value + len, ",pack") != 0 &&
        strcasecmp(value + len, ",nopack") != 0)
        return error_set(err, EINVAL, "'%.60s' is neither Pack nor NoPack", value + len + 1);
    c->place.packs = strcasecmp(value + len, ",pack") == 0;
    return cmdline_apply_distribution(c, how, err);
}

/* srun counts CPUs. */
int cmdline_apply_cpus(void *target, const char *value, struct error *err)
{
    struct placement_options *p = &((struct cmdline *)target)->place;
    p->says_map = true;
    p->bind.by_threads = true;
    return cmdline_set_count(&p->bind.cores, value, strlen(value), err);
}

static const struct {
    const char *word;
    enum bind_policy policy;
    enum level to, map;
} cpu_binds[] = {
    {"none", BIND_NONE, LEVEL_NONE, LEVEL_NONE},
    {"no", BIND_NONE, LEVEL_NONE, LEVEL_NONE},
    {"core", BIND_TO, LEVEL_NONE, LEVEL_NONE},
    {"cores", BIND_TO, LEVEL_NONE, LEVEL_NONE},
    {"depth", BIND_TO, LEVEL_NONE, LEVEL_NONE},
    {"rank", BIND_TO, LEVEL_HWTHREAD, LEVEL_NONE},
    {"thread", BIND_TO, LEVEL_HWTHREAD, LEVEL_NONE},
    {"threads", BIND_TO, LEVEL_HWTHREAD, LEVEL_NONE},
    {"socket", BIND_TO, LEVEL_PACKAGE, LEVEL_NONE},
    {"sockets", BIND_TO, LEVEL_PACKAGE, LEVEL_NONE},
    {"ldom", BIND_TO, LEVEL_NUMA, LEVEL_NONE},
    {"ldoms", BIND_TO, LEVEL_NUMA, LEVEL_NONE},
    {"numa", BIND_TO, LEVEL_NUMA, LEVEL_NONE},
    {"boards", BIND_TO, LEVEL_BOARD, LEVEL_NONE},
    {"rank_ldom", BIND_TO, LEVEL_NUMA, LEVEL_NUMA},
};

static int cpu_bind_word(struct binding_request *b, const char *value, struct error *err)
{
    for (size_t i = 0; i < sizeof(cpu_binds) / sizeof(*cpu_binds); i++)
        if (strcasecmp(value, cpu_binds[i].word) == 0) {
            b->policy = cpu_binds[i].policy;
            b->to = cpu_binds[i].to;
            if (cpu_binds[i].map != LEVEL_NONE) {
                b->map = cpu_binds[i].map;
                b->in_turn = true;
            }
            return 0;
        }
    return error_set(err, EINVAL,
                     "unknown word '%.60s'; valid: none, cores, threads, sockets, ldoms, "
                     "rank_ldom, map_cpu:LIST, mask_cpu:LIST, map_ldom:LIST, mask_ldom:LIST, "
                     "list:LIST:LIST, and before it verbose or quiet",
                     value);
}

int cmdline_apply_cpu_bind(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    size_t len = strcspn(value, ",");
    c->place.says_bind = true;
    bool verbose = is_word(value, len, "verbose") || is_word(value, len, "v");
    bool quiet = is_word(value, len, "quiet") || is_word(value, len, "q");
    c->report_bindings |= verbose;
    if ((verbose || quiet) && !value[len])
        return 0;
    if (value[len] && (verbose || quiet))
        value += len + 1;
    len = strcspn(value, ":");
    const char *list = value + len + (value[len] == ':');
    size_t n = strlen(list);
    struct binding_request *b = &c->place.bind;
    if (is_word(value, len, "map_cpu") && value[len])
        return list_each(b, LEVEL_HWTHREAD, list, n, ",", read_thread, err);
    if (is_word(value, len, "mask_cpu") && value[len])
        return list_each(b, LEVEL_HWTHREAD, list, n, ",", read_mask, err);
    if (is_word(value, len, "map_ldom") && value[len])
        return list_each(b, LEVEL_NUMA, list, n, ",", read_thread, err);
    if (is_word(value, len, "mask_ldom") && value[len])
        return list_each(b, LEVEL_NUMA, list, n, ",", read_mask, err);
    if (is_word(value, len, "list") && value[len]) /* as PALS: "list:0-3:4-7" */
        return list_each(b, LEVEL_HWTHREAD, list, n, ":", read_set, err);
    return cpu_bind_word(&c->place.bind, value, err);
}
