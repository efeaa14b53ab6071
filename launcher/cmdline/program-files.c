/* SPDX-License-Identifier: BSD-3-Clause */
/* program-files.c - files that name the programs of a step
 *
 * --app (Open MPI) and -configfile (MPI standard): a line has what stands between two ":" of a
 * command line. --multi-prog (srun): "0-3,5 ./a %t", "* ./b". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/text/idset.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "launcher/cmdline/cmdline-private.h"
#include "launcher/cmdline/other-launchers/other-launchers.h"
#include "launcher/cmdline/word-lines.h"

/* ---- parts of a command line ----------------------------------------------------------------- */

struct parts {
    struct cmdline *c;
    char **argv; /* of strings that c keeps */
    int argc;
};

static void add_word(struct parts *p, char *word)
{
    p->argv = must(reallocarray(p->argv, (size_t)p->argc + 2, sizeof(*p->argv)));
    p->argv[p->argc++] = (char *)(uintptr_t)cmdline_keep(p->c, word);
    p->argv[p->argc] = NULL;
}

static int take_part(void *arg, char **words, struct error *err)
{
    struct parts *p = arg;
    if (p->argc)
        add_word(p, strdup(":"));
    for (; *words; words++)
        if (strcmp(*words, ":") != 0 || words[1]) /* some end lines with it */
            add_word(p, strdup(*words));
    return 0;
}

int program_file_words(struct cmdline *c, const char *path, int *ret_argc, char *const **ret_argv,
                       struct error *err)
{
    struct parts p = {.c = c};
    int rc = word_lines_read(path, take_part, &p, err);
    if (rc == 0 && p.argc == 0)
        rc = error_set(err, EINVAL, "file '%.200s' names no program", path);
    if (p.argv)
        cmdline_keep(c, (char *)p.argv);
    *ret_argc = p.argc;
    *ret_argv = p.argv;
    return rc;
}

/* ---- programs by rank ------------------------------------------------------------------------ */

struct ranks_line {
    struct idset ranks; /* empty: all others */
    char **words;
};

struct by_rank {
    struct ranks_line *lines;
    size_t n;
};

static int take_ranks(void *arg, char **words, struct error *err)
{
    struct by_rank *b = arg;
    b->lines = must(reallocarray(b->lines, b->n + 1, sizeof(*b->lines)));
    struct ranks_line *l = &b->lines[b->n];
    size_t n = 0;
    *l = (struct ranks_line){0};
    if (!words[1])
        return error_set(err, EINVAL, "no program stands behind '%.60s'", words[0]);
    if (strcmp(words[0], "*") != 0 && idset_parse(words[0], &l->ranks, err) < 0)
        return -1;
    while (words[n])
        n++;
    l->words = must(calloc(n, sizeof(*l->words)));
    for (size_t i = 1; i < n; i++)
        l->words[i - 1] = must(strdup(words[i]));
    b->n++;
    return 0;
}

static const struct ranks_line *line_of(const struct by_rank *b, uint32_t rank)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->lines[i].ranks.words && idset_has(&b->lines[i].ranks, rank))
            return &b->lines[i];
    for (size_t i = 0; i < b->n; i++)
        if (!b->lines[i].ranks.words)
            return &b->lines[i];
    return NULL;
}

/* word with %t as the rank, and %o as its place among the line's ranks. */
static char *for_rank(const char *word, uint32_t rank, uint32_t offset)
{
    struct text_writer text;
    FILE *out = text_begin(&text);
    for (; *word; word++) {
        if (word[0] == '%' && (word[1] == 't' || word[1] == 'o'))
            fprintf(out, "%u", *++word == 't' ? rank : offset);
        else
            fputc(*word, out);
    }
    return text_end(&text);
}

static bool has_number(const struct ranks_line *l)
{
    for (char **w = l->words; *w; w++)
        if (strstr(*w, "%t") || strstr(*w, "%o"))
            return true;
    return false;
}

static void add_program(struct cmdline *c, const struct cmdline_app *like,
                        const struct ranks_line *l, uint32_t rank, uint32_t offset)
{
    struct parts p = {.c = c};
    for (char **w = l->words; *w; w++)
        add_word(&p, for_rank(*w, rank, offset));
    cmdline_keep(c, (char *)p.argv);
    *cmdline_add_app(c) = (struct cmdline_app){
        .nranks = 1, .argv = p.argv, .argc = (size_t)p.argc, .wdir = like->wdir};
}

static int add_programs(struct cmdline *c, const struct by_rank *b, uint32_t nranks,
                        struct error *err)
{
    const struct cmdline_app like = c->apps[0];
    c->napps = 0;
    const struct ranks_line *before = NULL;
    AUTO_FREE uint32_t *offsets = must(calloc(b->n + 1, sizeof(*offsets)));
    for (uint32_t rank = 0; rank < nranks; rank++) {
        const struct ranks_line *l = line_of(b, rank);
        if (!l)
            return error_set(err, EINVAL, "no line has rank %u of %u; '*' is all others", rank,
                             nranks);
        uint32_t offset = offsets[l - b->lines]++;
        if (l == before && !has_number(l))
            c->apps[c->napps - 1].nranks++;
        else
            add_program(c, &like, l, rank, offset);
        before = l;
    }
    return 0;
}

static int check_lines(const struct by_rank *b, struct error *err)
{
    for (size_t i = 0; i < b->n; i++)
        for (size_t k = 0; k < i; k++)
            for (int id = idset_next(&b->lines[i].ranks, 0); id >= 0;
                 id = idset_next(&b->lines[i].ranks, (unsigned)id + 1))
                if (idset_has(&b->lines[k].ranks, (unsigned)id))
                    return error_set(err, EINVAL, "rank %d is in programs %zu and %zu; keep one",
                                     id, k + 1, i + 1);
    return 0;
}

/* The highest rank of all lines, and one; 0: a line is for all others. */
static uint32_t count_ranks(const struct by_rank *b)
{
    uint32_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (!b->lines[i].ranks.words)
            return 0;
        for (int id = idset_next(&b->lines[i].ranks, 0); id >= 0;
             id = idset_next(&b->lines[i].ranks, (unsigned)id + 1))
            if ((uint32_t)id >= n)
                n = (uint32_t)id + 1;
    }
    return n;
}

/* Returns the tasks of the job of Slurm, or of its component that the line chooses; 0: it does not
 * say. */
static uint32_t tasks_of_job(const struct cmdline *c)
{
    const char *text = cmdline_slurm_value(c, environ, "SLURM_NTASKS");
    int64_t n;
    return text && number_parse(text, NULL, 1, CMDLINE_RANKS_MAX, &n, NULL) == 0 ? (uint32_t)n : 0;
}

int multi_prog_apply(struct cmdline *c, struct error *err)
{
    struct by_rank b = {0};
    const char *path = c->apps[0].argv[0];
    int rc = word_lines_read(path, take_ranks, &b, err);
    uint32_t nranks = c->apps[0].nranks;
    if (rc == 0 && (rc = check_lines(&b, err)) < 0)
        error_context(err, "file '%.200s'", path);
    if (rc == 0 && nranks == 0 && c->dialect == DIALECT_SRUN)
        nranks = tasks_of_job(c);
    if (rc == 0 && nranks == 0)
        nranks = count_ranks(&b);
    if (rc == 0 && nranks == 0)
        rc = error_set(err, EINVAL, "--multi-prog: write '-n N', as '*' is all other ranks");
    if (rc == 0 && (rc = add_programs(c, &b, nranks, err)) < 0)
        error_context(err, "file '%.200s'", path);
    for (size_t i = 0; i < b.n; i++) {
        idset_free(&b.lines[i].ranks);
        words_free(b.lines[i].words);
    }
    free(b.lines);
    return rc;
}
