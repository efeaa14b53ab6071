/* SPDX-License-Identifier: BSD-3-Clause */
#include "launcher/queue/command-list.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "model/cannot-start.h"

enum { LISTS_MAX = 9, COMMANDS_MAX = 10 * 1000 * 1000 };

/* Takes both. */
static void add_command(struct command_list *l, char **argv, char *text)
{
    bool is_full = !(l->n & (l->n - 1)); /* 0, 1, 2, 4, ... */
    if (is_full)
        l->commands = must(reallocarray(l->commands, l->n ? 2 * l->n : 1, sizeof(*l->commands)));
    l->commands[l->n++] = (struct listed_command){argv, text};
}

/* ---- lines that are commands ----------------------------------------------------------------- */

/* As make decides it: quotes are understood here, too. */
static bool needs_shell(const char *line)
{
    AUTO_FREE char *first = must(strndup(line, strcspn(line, " \t")));
    size_t name = strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return strpbrk(line, "#;*?[]&|<>(){}$`^~!") || line[name] == '=' || is_shell_command(first);
}

static int take_line(struct command_list *l, const char *line, struct error *err)
{
    char **argv;
    if (line[0] == '#')
        return 0;
    if (needs_shell(line)) {
        argv = must(calloc(4, sizeof(*argv)));
        argv[0] = must(strdup("/bin/sh"));
        argv[1] = must(strdup("-c"));
        argv[2] = must(strdup(line));
    } else if (!(argv = words_split(line, err))) {
        return -1;
    }
    add_command(l, argv, must(strdup(line)));
    return 0;
}

/* ---- a program with arguments ---------------------------------------------------------------- */

struct arguments { /* of one command */
    const char *of[LISTS_MAX];
    size_t n;
    size_t number; /* of the command, from 1 */
};

static void put_part(FILE *to, const char *argument, const char *part)
{
    const char *slash = strrchr(argument, '/'), *base = slash ? slash + 1 : argument;
    const char *from = part[0] == '/' ? base : argument, *dot = strrchr(base, '.');
    size_t n = strlen(from);
    if (strcmp(part, "//") == 0) {
        from = slash ? argument : ".";
        n = slash > argument ? (size_t)(slash - argument) : 1; /* "." or "/" */
    } else if (part[0] && part[strlen(part) - 1] == '.' && dot) {
        n = (size_t)(dot - from);
    }
    fwrite(from, 1, n, to);
}

/* Writes the argument that `name`, the text between "{" and "}", stands for. False: for none. */
static bool put_argument(FILE *to, const char *name, const struct arguments *a)
{
    static const char *const parts[] = {"", ".", "/", "//", "/."};
    size_t list = 0, part = 0;
    bool names_list = isdigit((unsigned char)*name);
    if (names_list)
        list = (size_t)(*name++ - '0');
    if (strcmp(name, "#") == 0) {
        fprintf(to, "%zu", a->number);
        return true;
    }
    while (part < sizeof(parts) / sizeof(*parts) && strcmp(parts[part], name) != 0)
        part++;
    if (part == sizeof(parts) / sizeof(*parts) || list > a->n || (names_list && !list))
        return false;
    for (size_t i = list ? list - 1 : 0; i < (list ? list : a->n); i++) {
        if (i && !list)
            fputc(' ', to);
        put_part(to, a->of[i], name);
    }
    return true;
}

/* The word with arguments in their places. Sets *has_place if it has any. */
static char *fill_word(const char *word, const struct arguments *a, bool *has_place)
{
    struct text_writer text;
    FILE *to = text_begin(&text);
    while (*word) {
        char name[5] = "";
        const char *end = word[0] == '{' ? strchr(word, '}') : NULL;
        bool is_place = false;
        if (end && end - word <= (ptrdiff_t)sizeof(name)) {
            memcpy(name, word + 1, (size_t)(end - word - 1));
            is_place = put_argument(to, name, a);
        }
        *has_place |= is_place;
        if (!is_place)
            fputc(*word, to);
        word = is_place ? end + 1 : word + 1;
    }
    return text_end(&text);
}

/* In one line. */
static char *join_words(char *const *words)
{
    struct text_writer text;
    FILE *to = text_begin(&text);
    for (; *words; words++) {
        AUTO_FREE char *quoted = word_quote(*words);
        for (const char *at = quoted; *at; at++)
            fputs(*at == '\n' ? "\\n" : (char[]){*at, 0}, to);
        fputs(words[1] ? " " : "", to);
    }
    return text_end(&text);
}

static void add_filled(struct command_list *l, char *const *program, size_t nprogram,
                       const struct arguments *a)
{
    bool has_place = false;
    char **argv = must(calloc(nprogram + a->n + 1, sizeof(*argv)));
    for (size_t i = 0; i < nprogram; i++)
        argv[i] = fill_word(program[i], a, &has_place);
    for (size_t i = 0; !has_place && i < a->n; i++)
        argv[nprogram + i] = must(strdup(a->of[i]));
    add_command(l, argv, join_words(argv));
}

/* ---- where they come from -------------------------------------------------------------------- */

static int take_lines(FILE *f, char *const *program, size_t nprogram, struct command_list *l,
                      struct error *err)
{
    AUTO_FREE char *line = NULL;
    size_t size = 0;
    ssize_t n;
    for (size_t number = 1; (n = getline(&line, &size, f)) >= 0; number++) {
        if (memchr(line, 0, (size_t)n))
            return error_set(err, EINVAL, "line %zu has a NUL byte: that is no text", number);
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            line[--n] = 0;
        const char *text = nprogram ? line : line + strspn(line, " \t");
        struct arguments a = {.of = {text}, .n = 1, .number = l->n + 1};
        if (*text && nprogram)
            add_filled(l, program, nprogram, &a);
        else if (*text && take_line(l, text, err) < 0)
            return error_context(err, "line %zu", number);
    }
    return ferror(f) ? error_errno(err, errno, "read it") : 0;
}

static int take_file(const char *path, char *const *program, size_t nprogram,
                     struct command_list *l, struct error *err)
{
    bool is_input = strcmp(path, "-") == 0;
    FILE *f = is_input ? stdin : fopen(path, "re");
    int rc = f ? take_lines(f, program, nprogram, l, err) : error_errno(err, errno, "open it");
    if (f && !is_input)
        fclose(f);
    return rc < 0 ? error_context(err, "--queue: file '%.200s'", path) : 0;
}

/* words: from the first ":::" on. */
static int take_lists(char *const *program, size_t nprogram, char *const *words, size_t nwords,
                      struct command_list *l, struct error *err)
{
    struct { /* words from..to, and the one whose turn it is */
        size_t from, to, at;
    } lists[LISTS_MAX];
    size_t nlists = 0, total = 1;
    for (size_t i = 0; i < nwords; i++)
        if (strcmp(words[i], ":::") != 0)
            lists[nlists - 1].to = i + 1;
        else if (nlists < LISTS_MAX)
            lists[nlists++] = (typeof(lists[0])){i + 1, i + 1, i + 1};
        else
            return error_set(err, EINVAL, "--queue: at most %d lists (':::') can be", LISTS_MAX);
    for (size_t i = 0; i < nlists; i++) {
        total *= lists[i].to - lists[i].from;
        if (!total || total > COMMANDS_MAX)
            return error_set(err, EINVAL, "--queue: %s",
                             total ? "the lists make too many commands"
                                   : "a ':::' has no words behind it; is a variable unset?");
    }
    for (; total > 0; total--) {
        struct arguments a = {.n = nlists, .number = l->n + 1};
        for (size_t i = 0; i < nlists; i++)
            a.of[i] = words[lists[i].at];
        add_filled(l, program, nprogram, &a);
        for (size_t i = nlists; i-- > 0 && ++lists[i].at == lists[i].to;)
            lists[i].at = lists[i].from;
    }
    return 0;
}

int command_list_read(const char *from, char *const *words, size_t nwords, struct command_list *ret,
                      struct error *err)
{
    size_t nprogram = 0;
    bool has_lists = strcmp(from, ":::") == 0;
    *ret = (struct command_list){.n = 0};
    while (nprogram < nwords && strcmp(words[nprogram], ":::") != 0)
        nprogram++;
    if (has_lists && (!nprogram || nprogram == nwords))
        return error_set(err, EINVAL,
                         "--queue ::: needs a program and its arguments; write 'mprun --queue ::: "
                         "./solve {} ::: A B C'");
    if (!has_lists && nprogram < nwords)
        return error_set(err, EINVAL,
                         "--queue takes the arguments from '%.200s', and the line has ':::', too; "
                         "keep one ('--queue :::')",
                         from);
    int rc = has_lists ? take_lists(words, nprogram, words + nprogram, nwords - nprogram, ret, err)
                       : take_file(from, words, nprogram, ret, err);
    return rc == 0 && !ret->n
               ? error_set(err, EINVAL, "--queue: file '%.200s' has no commands", from)
               : rc;
}

void command_list_free(struct command_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        words_free(l->commands[i].argv);
        free(l->commands[i].text);
    }
    free(l->commands);
    *l = (struct command_list){.n = 0};
}
