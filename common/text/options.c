/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/text/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/text/near-words.h"
#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/text/text.h"

/* ---- names ----------------------------------------------------------------------------------- */

/* One name of a list "--np -np -n" after the other: its length, 0 at the end. *at is moved to it
 * first; begin with the list itself, go on with *at + length. */
static size_t next_name(const char **at)
{
    while (**at == ' ')
        ++*at;
    return (size_t)(strchrnul(*at, ' ') - *at);
}

bool option_is_refused(const struct option_def *def)
{
    return !def->apply && def->kind == OPTION_APPLIED;
}

static bool is_known(const struct option_def *def)
{
    return !option_is_refused(def);
}

bool options_are_same(const struct option_def *a, const struct option_def *b)
{
    return a->apply == b->apply && a->kind == b->kind && a->member == b->member &&
           a->apply_other == b->apply_other && (!a->other || strcmp(a->other, b->other) == 0);
}

/* dashes: how many of the known name's dashes are left off ("-word" for "--word": 1). */
static bool is_among(const char *names, const char *name, size_t len, size_t dashes)
{
    for (size_t n; (n = next_name(&names)) > 0; names += n)
        if (n == len + dashes && memcmp(names + dashes, name, len) == 0)
            return true;
    return false;
}

static bool has_name(const struct option_def *def, const char *name, size_t len, size_t dashes)
{
    return is_among(def->names, name, len, dashes) ||
           (def->also && is_among(def->also, name, len, dashes));
}

const struct option_def *options_find(const struct option_def *defs, const char *name, size_t len)
{
    /* a name that is in the table as typed comes before one that only lacks a dash */
    for (size_t dashes = 0; dashes <= (len > 2 && name[0] == '-' && name[1] != '-'); dashes++)
        for (const struct option_def *d = defs; d->names; d++)
            if (has_name(d, name, len, dashes))
                return d;
    return NULL;
}

/* ---- the nearest ----------------------------------------------------------------------------- */

/* The candidate (NULL-terminated list) that is nearest to word, or NULL when none is near. */
static const char *nearest_word(const char *word, const char *const candidates[])
{
    const char *best = NULL;
    size_t least = SIZE_MAX;
    for (; *candidates; candidates++) {
        size_t d = word_badness(word, *candidates, strlen(*candidates));
        if (d < least) {
            least = d;
            best = *candidates;
        }
    }
    return best;
}

struct near_name {
    const char *text; /* `len` bytes of a table's names; NULL: none is near */
    size_t len;
    const struct option_def *def;
};

/* The nearest name of the whole table; of equally near ones a known name before a refused one. */
static struct near_name nearest_name(const struct option_def *defs, const char *word)
{
    struct near_name best = {.text = NULL};
    size_t least = SIZE_MAX;
    for (; defs->names; defs++) {
        const char *at = defs->names;
        for (size_t n; (n = next_name(&at)) > 0; at += n) {
            size_t d = word_badness(word, at, n);
            if (d < least || (d == least && best.def && !is_known(best.def) && is_known(defs))) {
                least = d;
                best = (struct near_name){at, n, defs};
            }
        }
    }
    return best;
}

/* ---- parsing --------------------------------------------------------------------------------- */

#define USE_NAME(u) (int)(u)->name_len, (u)->name

/* A name with its value directly behind it: "-np4". */
static const struct option_def *find_glued(const struct option_def *defs, const char *word,
                                           size_t *ret_len)
{
    size_t len = strcspn(word, "0123456789");
    const struct option_def *def = len > 2 && word[len] ? options_find(defs, word, len) : NULL;
    *ret_len = len;
    return def && is_known(def) && def->argument ? def : NULL;
}

/* As nearest_name(), of a word with one dash that may be a name with two. */
static struct near_name nearest_long(const struct option_def *defs, const char *word)
{
    char name[NEAREST_MAX + 2];
    if (strlen(word) < 4 || word[1] == '-' ||
        snprintf(name, sizeof(name), "-%s", word) >= (int)sizeof(name))
        return (struct near_name){.text = NULL};
    return nearest_name(defs, name);
}

/* What the end of the table says of names that are like none. */
static const char *advice_on_others(const struct option_def *defs)
{
    while (defs->names)
        defs++;
    return defs->help ? defs->help : "no option is like it";
}

/* "-lx" or "-lN2", of a switch and another option. */
static bool is_cluster(const struct option_def *defs, const char *word)
{
    const char second[] = {'-', word[1] ? word[2] : 0, 0};
    const struct option_def *letter = word[1] == '-' ? NULL : options_find(defs, word, 2);
    bool is_short = strlen(word) == 3 || strpbrk(word, "0123456789");
    return letter && is_known(letter) && !letter->argument && !letter->apart && is_short &&
           options_find(defs, second, 2);
}

static int unknown(const struct option_def *defs, const char *word, struct error *err)
{
    size_t len;
    if (find_glued(defs, word, &len))
        return error_set(err, EINVAL,
                         "unknown option '%.60s'; a value is a word of its own: '%.*s %.40s'", word,
                         (int)len, word, word + len);
    if (word[1 + strspn(word + 1, "0123456789")] == 0 && options_find(defs, "-n", 2))
        return error_set(err, EINVAL, "unknown option '%.60s'; is '-n %.60s' meant?", word,
                         word + 1);
    if (is_cluster(defs, word))
        return error_set(err, EINVAL,
                         "unknown option '%.60s'; options do not share a dash: write '%.2s -%.60s'",
                         word, word, word + 2);
    AUTO_FREE char *name = must(strndup(word, strcspn(word, "=")));
    struct near_name near = nearest_name(defs, name);
    if (!near.text)
        near = nearest_long(defs, name);
    if (!near.text)
        return error_set(err, EINVAL, "unknown option '%.60s'; %s", word, advice_on_others(defs));
    if (!is_known(near.def))
        return error_set(err, EINVAL, "unknown option '%.60s'; if '%.*s' is meant: %s", word,
                         (int)near.len, near.text, near.def->help);
    return error_set(err, EINVAL, "unknown option '%.60s'; the nearest is '%.*s'", word,
                     (int)near.len, near.text);
}

/* Is word a slip of a known long name that begins with the same letter, "-machinfile"? */
static bool is_slip(const struct option_def *defs, const char *word)
{
    struct near_name near = nearest_long(defs, word);
    return near.text && is_known(near.def) && near.len > 3 && near.text[2] == word[1];
}

/* "-n4": the value of a one-letter option. A number begins with no letter: "-nolocal" is another
 * name and not -n with the value "olocal"; nor is "-xml" -x with the name of a variable. */
static bool is_attached(const struct option_def *defs, const struct option_def *letter,
                        const char *word)
{
    const char *value = word + 2;
    if (!is_known(letter) || !letter->argument)
        return 0;
    if (strcmp(letter->argument, "N") == 0)
        return !isalpha((unsigned char)*value);
    if (strncmp(letter->argument, "NAME[=", 6) == 0)
        return strchr(value, '=') != NULL;
    return !letter->apart && !is_slip(defs, word);
}

/* Find the option that word uses: 0, or -1: it is unknown. */
static int recognise(const struct option_def *defs, const char *word, struct option_use *ret,
                     struct error *err)
{
    size_t len = strcspn(word, "="), first = strcspn(word, " \t");
    if (first < len && options_find(defs, word, first))
        return error_set(err, EINVAL,
                         "'%.60s' is one word: leave out the quotes around an option and its value",
                         word);
    *ret = (struct option_use){.def = options_find(defs, word, len), .name = word, .name_len = len};
    if (ret->def) {
        ret->value = word[len] ? word + len + 1 : NULL;
        return 0;
    }
    const struct option_def *letter = word[1] == '-' ? NULL : options_find(defs, word, 2);
    if (letter && is_attached(defs, letter, word)) {
        *ret = (struct option_use){.def = letter, .name = word, .name_len = 2, .value = word + 2};
        return 0;
    }
    return unknown(defs, word, err);
}

/* The value of an option that stands in the next word; NULL when that is something else. */
static const char *value_in(const struct option_def *defs, const char *next,
                            const struct option_use *u, struct error *err)
{
    const char *what = u->def->argument;
    if (!next || strcmp(next, ":") == 0)
        error_set(err, EINVAL, "option '%.*s' needs a value: '%.*s %s'", USE_NAME(u), USE_NAME(u),
                  what);
    else if (strncmp(next, "--", 2) == 0 || options_find(defs, next, strcspn(next, "=")))
        error_set(err, EINVAL,
                  "option '%.*s' needs a value ('%.*s %s'), but the option '%.60s' follows",
                  USE_NAME(u), USE_NAME(u), what, next);
    else
        return next;
    return NULL;
}

/* *seen is the value of the first use; of a switch "yes" or "no". */
static int check_repeat(const struct option_use *u, const char **seen, struct error *err)
{
    const char *value = u->value || u->def->argument ? u->value : "yes";
    if (u->def->repeat == OPTION_APPEND || !value)
        return 0;
    if (*seen && strcmp(*seen, value) != 0)
        return error_set(err, EINVAL,
                         "option '%.*s' is given twice, with '%.60s' and with '%.60s'; keep one",
                         USE_NAME(u), *seen, value);
    *seen = value;
    return 0;
}

int option_word(const char *word, size_t len, const char *const words[], struct error *err)
{
    char copy[64], list[256] = "";
    for (int i = 0; words[i]; i++)
        if (strlen(words[i]) == len && strncasecmp(words[i], word, len) == 0)
            return i;
    for (int i = 0; words[i]; i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "", words[i]);
    snprintf(copy, sizeof(copy), "%.*s", (int)(len < 60 ? len : 60), word);
    const char *near = nearest_word(copy, words);
    if (len == 0)
        return error_set(err, EINVAL, "a word is missing; valid: %s", list);
    if (near)
        return error_set(err, EINVAL, "unknown word '%s', the nearest is '%s'; valid: %s", copy,
                         near, list);
    return error_set(err, EINVAL, "unknown word '%s'; valid: %s", copy, list);
}

int option_note(char **list, const char *name, size_t len)
{
    text_append(list, ", ", "'%.*s'", (int)(len < 60 ? len : 60), name);
    return 0;
}

static int set_seconds(const struct option_def *def, double *to, const char *value,
                       struct error *err)
{
    if (duration_parse(value, NULL, to, err) < 0)
        return -1;
    if (*to < def->low)
        return error_set(err, EINVAL, "'%.60s' is too short; the least is %u second%s", value,
                         def->low, plural(def->low));
    if (def->high && *to > def->high)
        return error_set(err, EINVAL, "'%.60s' is too long; the most is %u second%s", value,
                         def->high, plural(def->high));
    return 0;
}

static int set_member(const struct option_use *u, void *target, struct error *err)
{
    const struct option_def *def = u->def;
    const char *value = u->value;
    void *to = (char *)target + def->member;
    int64_t n;
    switch (def->kind) {
    case OPTION_FLAG:
        *(bool *)to = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)to = value;
        return !value || strlen(value) >= def->low ? 0
                                                   : error_set(err, EINVAL, "the name is empty");
    case OPTION_SECONDS:
        return set_seconds(def, to, value, err);
    case OPTION_NOTED:
        return option_note(to, u->name, u->name_len);
    case OPTION_OTHER:
        return def->apply_other(target, def->other, value, err);
    case OPTION_BYTES:
        return size_parse(value, NULL, to, err);
    case OPTION_WORD:
        n = option_word(value, strlen(value), def->words, err);
        *(unsigned *)to = n < 0 ? 0 : (unsigned)n;
        return n < 0 ? -1 : 0;
    default:
        if (number_parse(value, NULL, def->low, def->high, &n, err) < 0)
            return -1;
        *(uint32_t *)to = (uint32_t)n;
        return 0;
    }
}

/* A variable without a value leaves nothing on the line: "-n $N ./a". */
static bool is_next_word(const struct option_use *u)
{
    return u->value && u->def->argument && strcmp(u->def->argument, "N") == 0 &&
           strchr(u->value, '/');
}

static int apply_use(const struct option_use *u, const char **seen, void *target, struct error *err)
{
    bool is_off = !u->def->argument && u->def->used && u->value && strcmp(u->value, "no") == 0;
    if (!u->def->argument && u->value && !is_off)
        return error_set(err, EINVAL, "option '%.*s' takes no value, but has '%.60s'", USE_NAME(u),
                         u->value);
    if (check_repeat(u, seen, err) < 0)
        return -1;
    if (u->def->used)
        *u->def->used = true;
    if (is_off) /* no other source of options puts it on */
        return 0;
    if ((u->def->apply ? u->def->apply(target, u->value, err) : set_member(u, target, err)) == 0)
        return 0;
    if (is_next_word(u))
        error_set(err, EINVAL,
                  "'%.60s' follows, which is not a number; is a variable before it unset?",
                  u->value);
    if (u->value && *u->value && u->value[strlen(u->value) - 1] == '\r')
        error_set(err, EINVAL,
                  "'%.60s' ends with a carriage return, as lines of Windows do; 'dos2unix SCRIPT' "
                  "takes them out of a script",
                  u->value);
    if (u->value && u->value[0] == '$')
        error_set(err, EINVAL,
                  "'%.60s' is as typed: in '...' quotes the shell replaces nothing; write it "
                  "without, or in double quotes",
                  u->value);
    return error_context(err, "option '%.*s'", USE_NAME(u));
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1];
}

static bool may_be_left_out(const struct option_def *def, const char *next)
{
    if (def->argument[0] != '[')
        return 0;
    return def->argument[1] == '=' || !next || is_option(next);
}

static bool may_be_pair(const struct option_def *def)
{
    return def->argument && strcmp(def->argument, "NAME[=]VALUE") == 0;
}

static bool is_pair(const struct option_def *def)
{
    return may_be_pair(def) ||
           (def->argument && def->argument[0] != '[' && strchr(def->argument, ' '));
}

/* The value of a use whose own words end before argv[*at], which is moved behind it. */
static int read_value(const struct option_def *defs, struct option_use *u, int argc,
                      char *const argv[], int *at, struct error *err)
{
    const char *word = *at < argc ? argv[*at] : NULL;
    if (!u->def->argument)
        return 0;
    if (!u->value && !may_be_left_out(u->def, word)) {
        if (!(u->value = value_in(defs, word, u, err)))
            return -1;
        word = ++*at < argc ? argv[*at] : NULL;
    }
    if (!is_pair(u->def) || (may_be_pair(u->def) && strchr(u->value, '=')))
        return 0;
    if (strchr(u->value, '='))
        return error_set(err, EINVAL, "option '%.*s': '%.60s' is no name; write '%.*s %s'",
                         USE_NAME(u), u->value, USE_NAME(u), u->def->argument);
    if (!value_in(defs, word, u, err))
        return -1;
    u->value = u->joined = text_format("%s=%s", u->value, word);
    ++*at;
    return 0;
}

int options_next(const struct option_def *defs, int argc, char *const argv[], int *at,
                 struct option_use *ret, struct error *err)
{
    *ret = (struct option_use){.def = NULL};
    if (*at >= argc || !is_option(argv[*at]))
        return 0;
    if (strcmp(argv[*at], "--") == 0) {
        ++*at;
        return 0;
    }
    if (recognise(defs, argv[(*at)++], ret, err) < 0)
        return -1;
    if (!is_known(ret->def))
        return error_set(err, EINVAL, "option '%.*s': %s", USE_NAME(ret), ret->def->help);
    return read_value(defs, ret, argc, argv, at, err) < 0 ? -1 : 1;
}

int options_parse(const struct option_def *defs, int argc, char *const argv[], int from,
                  void *target, struct error *err)
{
    size_t ndefs = 0;
    int at = from, rc;
    while (defs[ndefs].names)
        ndefs++;
    AUTO_FREE const char **seen = must(calloc(ndefs + 1, sizeof(*seen)));
    do {
        struct option_use u;
        rc = options_next(defs, argc, argv, &at, &u, err);
        if (rc > 0 && apply_use(&u, &seen[u.def - defs], target, err) < 0)
            rc = -1;
        free(u.joined);
    } while (rc > 0);
    return rc < 0 ? -1 : at;
}

/* ---- help ------------------------------------------------------------------------------------ */

enum { HELP_COLUMN = 28 };

/* text from column `column` on, wrapped at blanks; the cursor stands at column `at`. */
static void print_wrapped(FILE *out, const char *text, size_t at, size_t column, size_t width)
{
    while (*(text += strspn(text, " "))) {
        size_t len = strcspn(text, " ");
        if (at > column && at + 1 + len > width) {
            fputc('\n', out);
            at = 0;
        }
        int gap = at < column ? (int)(column - at) : 1;
        if (at == column)
            gap = 0;
        fprintf(out, "%*s%.*s", gap, "", (int)len, text);
        at += (size_t)gap + len;
        text += len;
    }
    fputc('\n', out);
}

/* "  --np, -np, -n N" : the columns it took */
static size_t print_names(FILE *out, const struct option_def *def, size_t width)
{
    const char *at = def->names;
    size_t used = 2;
    fputs("  ", out);
    for (size_t n; (n = next_name(&at)) > 0; at += n) {
        if (used > 2 && used + 2 + n > width) {
            fputs(",\n    ", out);
            used = 4;
        } else if (used > 2) {
            fputs(", ", out);
            used += 2;
        }
        fprintf(out, "%.*s", (int)n, at);
        used += n;
    }
    if (def->argument)
        used += (size_t)fprintf(out, "%s%s",
                                def->argument[0] == '[' && def->argument[1] == '=' ? "" : " ",
                                def->argument);
    return used;
}

static void print_option(FILE *out, const struct option_def *def, size_t width)
{
    size_t at = print_names(out, def, width);
    if (at + 2 > HELP_COLUMN) {
        fputc('\n', out);
        at = 0;
    }
    print_wrapped(out, def->help, at, HELP_COLUMN, width);
}

/* Has an earlier option the same group? Then it is printed already. */
static bool group_done(const struct option_def *defs, const struct option_def *at)
{
    for (; defs < at; defs++)
        if (is_known(defs) && strcmp(defs->group, at->group) == 0)
            return 1;
    return 0;
}

char *options_help(const struct option_def *defs, size_t width)
{
    struct text_writer text;
    FILE *out = text_begin(&text);
    if (width < HELP_COLUMN + 20)
        width = HELP_COLUMN + 20;
    for (const struct option_def *g = defs; g->names; g++) {
        if (!is_known(g) || group_done(defs, g))
            continue;
        fprintf(out, "%s%s:\n", g == defs ? "" : "\n", g->group);
        for (const struct option_def *d = g; d->names; d++)
            if (is_known(d) && strcmp(d->group, g->group) == 0)
                print_option(out, d, width);
    }
    return text_end(&text);
}
