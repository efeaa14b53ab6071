/* SPDX-License-Identifier: BSD-3-Clause */
/* hostfile-syntaxes.c - a line is a host, in the syntax of the first line that shows one */
#include "rm-adapters/hosts/hostlist.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/text/number.h"
#include "common/text/words.h"

enum syntax { SYNTAX_ANY, SYNTAX_OPENMPI, SYNTAX_HYDRA, SYNTAX_GRIDENGINE };

static const char *const syntax_names[] = {
    [SYNTAX_ANY] = "any",
    [SYNTAX_OPENMPI] = "Open MPI's ('host slots=4')",
    [SYNTAX_HYDRA] = "Hydra's ('host:4')",
    [SYNTAX_GRIDENGINE] = "Grid Engine's ('host 4 queue cores')",
};

struct reader {
    const char *path;
    unsigned line;
    enum syntax syntax;
    unsigned syntax_line; /* the line that showed the syntax */
    struct hostlist *list;
};

/* A word of a line. */
struct word {
    const char *at;
    size_t len;
};

static struct word next_word(const char **at, const char *end)
{
    while (*at < end && strchr(" \t\r\f\v", **at))
        ++*at;
    struct word w = {.at = *at};
    while (*at < end && !strchr(" \t\r\f\v", **at))
        ++*at;
    w.len = (size_t)(*at - w.at);
    return w;
}

static int take_syntax(struct reader *r, enum syntax s, struct error *err)
{
    if (r->syntax == SYNTAX_ANY) {
        r->syntax = s;
        r->syntax_line = r->line;
    }
    if (r->syntax == s)
        return 0;
    return error_set(err, EINVAL,
                     "it is in %s syntax, but line %u is in %s; write the whole file in one",
                     syntax_names[s], r->syntax_line, syntax_names[r->syntax]);
}

/* ---- Open MPI: key=value --------------------------------------------------------------------- */

static bool is_one_of(struct word w, const char *const names[])
{
    for (size_t i = 0; names[i]; i++)
        if (strlen(names[i]) == w.len && memcmp(names[i], w.at, w.len) == 0)
            return true;
    return false;
}

static int apply_key(struct word key, struct word value, struct hostlist_entry *e,
                     struct error *err)
{
    static const char *const slots[] = {"slots", "cpu", "cpus", "count", "np", NULL};
    static const char *const most[] = {"max_slots", "max-slots", "slots_max",
                                       "slots-max", "max_cpus",  "max-cpus",
                                       "max_count", "max-count", NULL};
    static const char *const users[] = {"user", "username", "user-name", "user_name", NULL};
    char k[64], v[64];
    int64_t n;
    word_shown(key.at, key.len, k);
    if (is_one_of(key, users))
        return error_set(err, EINVAL, "'%s=' is not understood; write the host as 'USER@HOST'", k);
    uint32_t *to = is_one_of(key, slots) ? &e->slots : is_one_of(key, most) ? &e->max_slots : NULL;
    if (!to)
        return error_set(err, EINVAL,
                         "'%s=' is not understood; expected is 'slots=N' or 'max_slots=N'", k);
    if (*to)
        return error_set(err, EINVAL, "'%s=' is given twice; keep one", k);
    if (number_parse(word_shown(value.at, value.len, v), k, 1, HOSTLIST_SLOTS_MAX, &n, err) < 0)
        return -1;
    *to = (uint32_t)n;
    return 0;
}

/* Read "slots=4", "slots = 4", "slots= 4". */
static int take_settings(const char *at, const char *end, struct hostlist_entry *e,
                         struct error *err)
{
    for (struct word w = next_word(&at, end); w.len; w = next_word(&at, end)) {
        const char *equals = memchr(w.at, '=', w.len);
        char shown[64];
        struct word key = {w.at, equals ? (size_t)(equals - w.at) : w.len};
        if (!equals) {
            struct word sign = next_word(&at, end);
            if (!sign.len || sign.at[0] != '=')
                return error_set(err, EINVAL,
                                 "'%s' is not understood; expected is 'slots=N' or 'max_slots=N'; "
                                 "each host has a line of its own",
                                 word_shown(w.at, w.len, shown));
            equals = sign.at;
            w = sign;
        }
        struct word value = {equals + 1, (size_t)(w.at + w.len - equals - 1)};
        if (!value.len)
            value = next_word(&at, end);
        if (apply_key(key, value, e, err) < 0)
            return -1;
    }
    if (e->max_slots && e->max_slots < (e->slots ? e->slots : 1))
        return error_set(err, EINVAL, "max_slots=%u is less than its %u slot%s", e->max_slots,
                         e->slots ? e->slots : 1, plural(e->slots ? e->slots : 1));
    return 0;
}

/* ---- Grid Engine: four columns --------------------------------------------------------------- */

/* "0,0:0,1": sockets and cores. */
static bool is_core_list(struct word w)
{
    size_t numbers = 0;
    for (size_t at = 0; at < w.len; at++) {
        size_t digits = 0;
        while (at < w.len && w.at[at] >= '0' && w.at[at] <= '9' && digits < 5)
            at++, digits++;
        if (!digits || (at < w.len && w.at[at] != (numbers % 2 ? ':' : ',')))
            return false;
        numbers++;
        if (at + 1 == w.len)
            return false;
    }
    return numbers && numbers % 2 == 0;
}

static int take_cores(struct word w, struct hostlist_entry *e, struct error *err)
{
    static const char *const none[] = {"UNDEFINED", "NULL", "<NULL>", "(null)", "NONE", NULL};
    char shown[64];
    if (is_one_of(w, none))
        return 0;
    if (!is_core_list(w))
        return error_set(err, EINVAL,
                         "'%s' are no cores; expected is 'socket,core:socket,core' or UNDEFINED",
                         word_shown(w.at, w.len, shown));
    e->cores = w.at;
    e->cores_len = w.len;
    return 0;
}

static int take_columns(struct word number, const char *at, const char *end,
                        struct hostlist_entry *e, struct error *err)
{
    char n[64], host[64];
    int64_t slots;
    struct word queue = next_word(&at, end), cores = next_word(&at, end);
    struct word more = next_word(&at, end);
    word_shown(number.at, number.len, n);
    word_shown(e->name, e->len, host);
    if (!queue.len)
        return error_set(err, EINVAL, "'%s' stands alone; write '%s slots=%s' or '%s:%s'", n, host,
                         n, host, n);
    if (!cores.len || more.len)
        return error_set(
            err, EINVAL,
            "it has %s than the four columns of Grid Engine: host, slots, queue, cores",
            more.len ? "more" : "less");
    if (number_parse(n, "slots", 1, HOSTLIST_SLOTS_MAX, &slots, err) < 0)
        return -1;
    e->slots = (uint32_t)slots;
    return take_cores(cores, e, err);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Does a number follow the name, or has it the brackets that are needed only before one? */
static bool has_number(struct word name)
{
    return name.len && (name.at[0] == '[' || memchr(name.at, ':', name.len));
}

/* The syntax of a line, from its first two words. */
static enum syntax line_syntax(struct word name, struct word second)
{
    if (has_number(name))
        return SYNTAX_HYDRA;
    if (!second.len)
        return SYNTAX_ANY;
    return second.at[0] >= '0' && second.at[0] <= '9' ? SYNTAX_GRIDENGINE : SYNTAX_OPENMPI;
}

static int take_number(struct word name, struct word second, struct hostlist_entry *e,
                       struct error *err)
{
    char shown[64];
    if (second.len)
        return error_set(err, EINVAL, "'%s' behind a host with ':' is not understood",
                         word_shown(second.at, second.len, shown));
    return hostlist_split(name.at, name.len, &e->len, &e->slots, err);
}

static int take_line(struct reader *r, const char *line, const char *end, struct error *err)
{
    char source[64];
    const char *at = line, *file = strrchr(r->path, '/');
    struct word name = next_word(&at, end);
    const char *behind_name = at;
    struct word second = next_word(&at, end);
    struct hostlist_entry e = {.name = name.at, .len = name.len, .source = source};
    if (!name.len)
        return 0;
    snprintf(source, sizeof(source), "host file '%.24s' line %u", file ? file + 1 : r->path,
             r->line);
    enum syntax s = line_syntax(name, second);
    if (s != SYNTAX_ANY && take_syntax(r, s, err) < 0)
        return -1;
    int rc = 0;
    if (s == SYNTAX_HYDRA)
        rc = take_number(name, second, &e, err);
    else if (s == SYNTAX_OPENMPI)
        rc = take_settings(behind_name, end, &e, err);
    else if (s == SYNTAX_GRIDENGINE)
        rc = take_columns(second, at, end, &e, err);
    return rc < 0 ? -1 : hostlist_add_range(r->list, &e, err);
}

int hostfile_parse(const char *text, size_t n, const char *path, struct hostlist *l,
                   struct error *err)
{
    struct reader r = {.path = path, .list = l};
    const char *end = text + n;
    size_t mentions = 0;
    if (memchr(text, 0, n))
        return error_set(err, EINVAL, "host file '%.200s' is no text: it has a NUL byte", path);
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3; /* some editors mark UTF-8 so */
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        const char *comment = memchr(text, '#', (size_t)(stop - text));
        const char *last = comment ? comment : stop, *at = text;
        r.line++;
        mentions += next_word(&at, last).len > 0;
        if (take_line(&r, text, last, err) < 0)
            return error_context(err, "host file '%.200s' line %u", path, r.line);
        text = newline ? newline + 1 : end;
    }
    return mentions ? 0
                    : error_set(err, EINVAL, "host file '%.200s' names no host: it is empty%s",
                                path, n ? " but for comments and blanks" : "");
}

int hostfile_read(const char *path, struct hostlist *l, struct error *err)
{
    size_t n;
    AUTO_FREE char *text = file_slurp_at(AT_FDCWD, path, HOSTFILE_MAX, &n);
    if (text)
        return hostfile_parse(text, n, path, l, err);
    if (errno == EFBIG)
        return error_set(err, EFBIG, "host file '%.200s' is longer than %d MiB; is it a host file?",
                         path, HOSTFILE_MAX >> 20);
    return error_errno(err, errno, "read host file '%.200s'", path);
}
