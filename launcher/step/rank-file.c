/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/step/rank-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "plan/slot-list.h"
#include "rm-adapters/hosts/requested-hosts.h"

static const char blanks[] = " \t\r\f\v";

void rank_file_free(struct rank_file *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        free(f->ranks[i].host);
        free(f->ranks[i].cores);
    }
    free(f->ranks);
    *f = (struct rank_file){.n = 0};
}

/* ---- a line ---------------------------------------------------------------------------------- */

/* Skips blanks and `word`, in any case. Returns false where something else stands there. */
static bool take_word(const char **at, const char *word)
{
    const char *from = *at + strspn(*at, blanks);
    bool is_there = strncasecmp(from, word, strlen(word)) == 0;
    *at = is_there ? from + strlen(word) : *at;
    return is_there;
}

/* The text up to blanks or `stop`. */
static size_t take_text(const char **at, char stop, const char **ret)
{
    const char end[] = {' ', '\t', '\r', '\f', '\v', stop, 0};
    *ret = *at + strspn(*at, blanks);
    size_t len = strcspn(*ret, end);
    *at = *ret + len;
    return len;
}

static struct rank_file_rank *rank_at(struct rank_file *f, uint32_t rank)
{
    if (rank >= f->n) {
        f->ranks = must(reallocarray(f->ranks, (size_t)rank + 1, sizeof(*f->ranks)));
        memset(f->ranks + f->n, 0, (rank + 1 - f->n) * sizeof(*f->ranks));
        f->n = rank + 1;
    }
    return &f->ranks[rank];
}

/* "+n2" is a number, anything else a name. */
static int take_host(const char *at, size_t len, struct rank_file_rank *to, struct error *err)
{
    char shown[64];
    int64_t n;
    word_shown(at, len, shown);
    if (len && at[0] == '+') {
        if (len < 3 || (at[1] | 0x20) != 'n' ||
            number_parse(shown + 2, NULL, 0, HOSTLIST_HOSTS_MAX - 1, &n, err) < 0)
            return error_set(err, EINVAL,
                             "'%s' is no host; write its name, or '+n0' for the first host of the "
                             "step, '+n1' for the second",
                             shown);
        to->relative = (uint32_t)n;
        return 0;
    }
    if (!len)
        return error_set(err, EINVAL, "no host stands behind '='");
    to->host = must(strndup(at, len));
    return 0;
}

/* Behind the host: "slot=1:0-2". A rank without it may use all cores. */
static int take_cores(const char *at, struct rank_file_rank *to, struct error *err)
{
    const char *cores = "*", *rest = at + strspn(at, blanks);
    size_t len = 1;
    if (*rest) {
        bool has_slot = take_word(&at, "slot") && (take_word(&at, "s=") || take_word(&at, "="));
        len = has_slot ? take_text(&at, 0, &cores) : 0;
        if (!len || at[strspn(at, blanks)])
            return error_set(
                err, EINVAL,
                "'%.60s' is not understood; expected is 'slot=CORES', without blanks in CORES",
                rest);
    }
    to->cores = must(strndup(cores, len));
    return slot_list_check(cores, len, err);
}

/* "rank 0=n1 slot=1:0-2", without a comment. */
static int take_line(struct rank_file *f, const char *at, unsigned line, struct error *err)
{
    const char *number, *host;
    char shown[64];
    int64_t rank;
    if (!at[strspn(at, blanks)])
        return 0;
    const char *whole = at;
    size_t len = take_word(&at, "rank") ? take_text(&at, '=', &number) : 0;
    if (!len || !take_word(&at, "="))
        return error_set(err, EINVAL, "'%.60s' is not 'rank N=HOST slot=CORES'", whole);
    if (number_parse(word_shown(number, len, shown), "rank", 0, IDSET_MAX - 1, &rank, err) < 0)
        return -1;
    if ((uint32_t)rank < f->n && f->ranks[rank].line)
        return error_set(err, EINVAL, "rank %s has line %u already", shown, f->ranks[rank].line);
    struct rank_file_rank *to = rank_at(f, (uint32_t)rank);
    to->line = line;
    len = take_text(&at, 0, &host);
    return take_host(host, len, to, err) < 0 ? -1 : take_cores(at, to, err);
}

/* ---- the file -------------------------------------------------------------------------------- */

static int check_ranks(const struct rank_file *f, const char *path, struct error *err)
{
    if (f->n == 0)
        return error_set(err, EINVAL, "rank file '%.200s' places no rank", path);
    for (uint32_t i = 0; i < f->n; i++)
        if (!f->ranks[i].line)
            return error_set(err, EINVAL,
                             "rank file '%.200s' places rank %u, but has no line for rank %u", path,
                             f->n - 1, i);
    return 0;
}

static int parse(const char *text, size_t n, const char *path, struct rank_file *ret,
                 struct error *err)
{
    const char *end = text + n;
    unsigned line = 0;
    *ret = (struct rank_file){.path = path};
    if (memchr(text, 0, n))
        return error_set(err, EINVAL, "rank file '%.200s' is no text: it has a NUL byte", path);
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        const char *comment = memchr(text, '#', (size_t)(stop - text));
        AUTO_FREE char *words = must(strndup(text, (size_t)((comment ? comment : stop) - text)));
        line++;
        if (take_line(ret, words, line, err) < 0)
            return error_context(err, "rank file '%.200s' line %u", path, line);
        text = newline ? newline + 1 : end;
    }
    return check_ranks(ret, path, err);
}

int rank_file_read(const char *path, struct rank_file *ret, struct error *err)
{
    size_t n;
    AUTO_FREE char *text = file_slurp_at(AT_FDCWD, path, HOSTFILE_MAX, &n);
    *ret = (struct rank_file){.n = 0};
    return text ? parse(text, n, path, ret, err)
                : error_errno(err, errno, "read rank file '%.200s'", path);
}

/* ---- what it says ---------------------------------------------------------------------------- */

/* The hosts of the ranks, each mentioned once for each of its ranks. */
static int list_hosts(const struct rank_file *f, const struct allocation *a, struct hostlist *l,
                      struct error *err)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const struct rank_file_rank *r = &f->ranks[i];
        if (!r->host && a && r->relative >= a->nhosts)
            return error_set(err, EINVAL,
                             "rank file '%.200s' line %u: '+n%u' is no host of this step, which "
                             "has %zu (+n0 is the first)",
                             f->path, r->line, r->relative, a->nhosts);
        if (!r->host && !a)
            continue;
        const char *name = r->host ? r->host : a->hosts[r->relative].name;
        if (hostlist_add_slots(l, name, 1, "rank file", err) < 0)
            return error_context(err, "rank file '%.200s' line %u", f->path, r->line);
    }
    return 0;
}

char *rank_file_hosts(const struct rank_file *f, struct error *err)
{
    AUTO(hostlist_free) struct hostlist l = {.stated = 0};
    struct text_writer text;
    FILE *out = text_begin(&text);
    int rc = list_hosts(f, NULL, &l, err);
    for (uint32_t i = 0; rc == 0 && i < f->n; i++) /* "+n1" takes a slot of the second of these */
        if (!f->ranks[i].host && f->ranks[i].relative < l.allocation.nhosts)
            l.allocation.hosts[f->ranks[i].relative].slots.value++;
    for (size_t i = 0; i < l.allocation.nhosts; i++)
        fprintf(out, "%s%s:%u", i ? "," : "", l.allocation.hosts[i].name,
                l.allocation.hosts[i].slots.value);
    AUTO_FREE char *list = text_end(&text);
    return rc < 0 ? NULL : take_ptr(list);
}

int rank_file_place(const struct rank_file *f, const struct allocation *a, uint32_t **ret,
                    struct error *err)
{
    AUTO(hostlist_free) struct hostlist l = {.stated = 0};
    int rc = list_hosts(f, a, &l, err);
    if (rc == 0)
        rc = named_indices(&l, a, ret, err);
    return rc;
}

char *rank_file_cores(const struct rank_file *f, const struct rank_set *ranks)
{
    struct text_writer text;
    FILE *out = text_begin(&text);
    for (uint32_t i = 0; i < rank_set_count(ranks); i++)
        fprintf(out, "%s%s", i ? " " : "", f->ranks[rank_set_at(ranks, i).rank].cores);
    return text_end(&text);
}
