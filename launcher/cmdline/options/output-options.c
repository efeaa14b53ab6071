/* SPDX-License-Identifier: BSD-3-Clause */
/* output-options.c - where the output of ranks goes, and what stands before its lines */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "launcher/cmdline/cmdline-private.h"
#include "launcher/cmdline/options/option-functions.h"

/* A copy in which mprun's letter stands for that of another launcher. */
static const char *translate(struct cmdline *c, const char *value, char from, char to)
{
    char *text = must(strdup(value));
    for (char *at = text; (at = strchr(at, '%'));) {
        at += 1 + strspn(at + 1, "0123456789");
        if (*at == from)
            *at = to;
        at += *at != 0;
    }
    return cmdline_keep(c, text);
}

static int set_pattern(const char **to, const char *value, struct error *err)
{
    if (!*value)
        return error_set(err, EINVAL, "the name of the file is empty");
    *to = value;
    if (output_pattern_check(value, err) < 0)
        return -1;
    if (output_pattern_has(value, "t"))
        return error_set(err, EINVAL,
                         "'%%t' in '%.60s' is the time of each line, and no name of a file; write "
                         "'%%r' for the rank",
                         value);
    return 0;
}

int cmdline_apply_outfile(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    return set_pattern(&c->output.files.patterns[0], value, err);
}

int cmdline_apply_errfile(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    return set_pattern(&c->output.files.patterns[1], value, err);
}

/* Leave standard error to mprun's own, also where the file for standard output would take it. */
static int forget_errors(struct cmdline *c, const char *option)
{
    if (strcmp(option, "--errfile-pattern") == 0)
        c->output.files.patterns[1] = NULL;
    return 0;
}

/* "all": mprun's own, which is so anyway; "none": dropped. A number is the output of one task. */
static int apply_srun_pattern(struct cmdline *c, const char *option, const char *value,
                              struct error *err)
{
    if (strcmp(value, "all") == 0)
        return forget_errors(c, option);
    if (*value && value[strspn(value, "0123456789")] == 0)
        return error_set(err, EINVAL,
                         "'%.20s' is the output of one task; write '--tag-output' and choose by "
                         "grep, or a file for each, 'out.%%t'",
                         value);
    if (output_pattern_has(value, "s"))
        return error_set(
            err, EINVAL,
            "'%%s' in '%.60s' is the number of srun's step, which mprun has not; leave it out",
            value);
    char letter = output_pattern_has(value, "xAabc");
    if (letter)
        return error_set(err, EINVAL,
                         "'%%%c' in '%.60s' is not known to mprun; of srun's it knows %%t (task), "
                         "%%n (number of the node), %%N (its name), %%j (job) and %%u (user)",
                         letter, value);
    value = strcmp(value, "none") == 0 ? "/dev/null" : translate(c, value, 't', 'r');
    return cmdline_apply_named(c, option, value, err);
}

/* Without an option for them, errors go to the same file. */
static int apply_output(struct cmdline *c, const char *value,
                        int (*apply)(struct cmdline *c, const char *option, const char *value,
                                     struct error *err),
                        struct error *err)
{
    bool has_errors = c->output.says_errors;
    if (apply(c, "--outfile-pattern", value, err) < 0)
        return -1;
    return has_errors ? 0 : apply(c, "--errfile-pattern", value, err);
}

int cmdline_apply_srun_output(void *target, const char *value, struct error *err)
{
    return apply_output(target, value, apply_srun_pattern, err);
}

int cmdline_apply_srun_error(void *target, const char *value, struct error *err)
{
    ((struct cmdline *)target)->output.says_errors = true;
    return apply_srun_pattern(target, "--errfile-pattern", value, err);
}

/* flux's "out.{{task.id}}"; "none" and "kvs" are what goes to mprun's own. */
static int apply_flux_pattern(struct cmdline *c, const char *option, const char *value,
                              struct error *err)
{
    static const struct {
        const char *tag, *letter;
    } tags[] = {{"id", "%j"},        {"jobid", "%j"},     {"task.id", "%r"}, {"taskid", "%r"},
                {"task.rank", "%r"}, {"node.name", "%h"}, {"node.id", "%n"}};
    size_t n = sizeof(tags) / sizeof(tags[0]);
    struct text_writer text;
    if (strcmp(value, "none") == 0 || strcmp(value, "kvs") == 0)
        return forget_errors(c, option);
    FILE *out = text_begin(&text);
    for (const char *at = value; *at;) {
        size_t i = 0, len = strncmp(at, "{{", 2) == 0 ? strcspn(at + 2, "}") : 0;
        while (len && i < n && (strlen(tags[i].tag) != len || strncmp(at + 2, tags[i].tag, len)))
            i++;
        if (len && i == n) {
            free(text_end(&text));
            return error_set(
                err, EINVAL,
                "'%.40s' in '%.60s': known are {{id}}, {{task.id}}, {{node.name}} and {{node.id}}",
                at, value);
        }
        fputs(len ? tags[i].letter : *at == '%' ? "%%" : (const char[]){*at, 0}, out);
        at += len ? len + 2 + strspn(at + 2 + len, "}") : 1;
    }
    return cmdline_apply_named(c, option, cmdline_keep(c, text_end(&text)), err);
}

int cmdline_apply_flux_output(void *target, const char *value, struct error *err)
{
    return apply_output(target, value, apply_flux_pattern, err);
}

int cmdline_apply_flux_error(void *target, const char *value, struct error *err)
{
    ((struct cmdline *)target)->output.says_errors = true;
    return apply_flux_pattern(target, "--errfile-pattern", value, err);
}

/* Hydra's %p is the number of the host. */
int cmdline_apply_hydra_pattern(void *target, const char *option, const char *value,
                                struct error *err)
{
    return cmdline_apply_named(target, option, translate(target, value, 'p', 'n'), err);
}

/* srun's %t is the rank, %N its host. */
static int apply_input_pattern(struct cmdline *c, const char *value, struct error *err)
{
    value = translate(c, translate(c, value, 't', 'r'), 'N', 'h');
    value = cmdline_keep(c, text_format("file:%s", value));
    return cmdline_apply_named(c, "--stdin", value, err);
}

int cmdline_apply_srun_input(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    if (strcmp(value, "all") == 0 || strcmp(value, "none") == 0 ||
        (*value && value[strspn(value, "0123456789")] == 0))
        return cmdline_apply_named(c, "--stdin", value, err);
    if (c->dialect == DIALECT_FLUX && *value && value[strspn(value, "0123456789,-")] == 0)
        return cmdline_apply_named(c, "--stdin", value, err);
    if (strchr(value, '%'))
        return apply_input_pattern(c, value, err);
    c->stdin_file = value;
    return *value ? 0 : error_set(err, EINVAL, "the name of the file is empty");
}

/* Open MPI's "DIR[:nocopy]": DIR/1/rank.N/stdout, and a copy where it would go without it. */
int cmdline_apply_output_filename(void *target, const char *value, struct error *err)
{
    static const char *const known[] = {"nocopy", "copy", "nojobid", "raw", NULL};
    struct cmdline *c = target;
    const char *colon = strchr(value, ':');
    size_t len = colon ? (size_t)(colon - value) : strlen(value);
    bool no_job = colon && strstr(colon, "nojobid");
    if (len == 0)
        return error_set(err, EINVAL, "the name of the directory is empty");
    for (size_t n, at = len; value[at]; at += 1 + n) {
        n = strcspn(value + at + 1, ":,");
        AUTO_FREE char *word = must(strndup(value + at + 1, n));
        if (!is_any_of(word, known))
            return error_set(err, EINVAL,
                             "'%.60s' is not known behind the directory, but :nocopy, :copy, "
                             ":nojobid and :raw are",
                             value + at);
    }
    const char *pattern =
        cmdline_keep(c, text_format("%.*s%s/rank.%%R/%%s", (int)len, value, no_job ? "" : "/1"));
    c->output.files = (struct output_files_options){.patterns = {pattern, pattern},
                                                    .copy = !(colon && strstr(colon, "nocopy"))};
    return output_pattern_check(pattern, err);
}

/* "NAME:raw,copy", of which bytes go into NAME.3 at once anyway. */
static int take_output_file(struct cmdline *c, const char *value, struct error *err)
{
    int len = (int)strcspn(value, ":");
    if (len == 0)
        return error_set(err, EINVAL, "the name of the file is empty");
    for (const char *at = value + len; *at;) {
        size_t n = strcspn(at + 1, ":");
        bool copies = n == 4 && strncasecmp(at + 1, "copy", n) == 0;
        if (!copies && !(n == 6 && strncasecmp(at + 1, "nocopy", n) == 0) &&
            !(n == 3 && strncasecmp(at + 1, "raw", n) == 0))
            return error_set(
                err, EINVAL,
                "'%.60s' is not known behind file=NAME, but :nocopy, :copy and :raw are; for a "
                "pattern write '--outfile-pattern %.*s.out --errfile-pattern %.*s.err'",
                at, len, value, len, value);
        c->output.files.copy |= copies;
        at += 1 + n;
    }
    const char *pattern = cmdline_keep(c, text_format("%.*s.%%R", len, value));
    c->output.files.patterns[0] = c->output.files.patterns[1] = pattern;
    return output_pattern_check(pattern, err);
}

static int take_output_word(void *target, char *word, struct error *err)
{
    struct cmdline *c = target;
    static const char *const words[] = {"tag",          "rank",
                                        "tag-detailed", "tag-fullname",
                                        "timestamp",    "merge-stderr-to-stdout",
                                        "merge",        "merge-lines",
                                        "json",         NULL};
    if (strncmp(word, "dir=", 4) == 0)
        return cmdline_apply_output_filename(c, word + 4, err);
    if (strncmp(word, "directory=", 10) == 0)
        return cmdline_apply_output_filename(c, word + 10, err);
    if (strncmp(word, "file=", 5) == 0)
        return take_output_file(c, word + 5, err);
    if (strcasecmp(word, "xml") == 0)
        return error_set(err, EINVAL, "write 'json', which is an object for each line, or 'tag'");
    int i = option_word(word, strlen(word), words, err);
    if (i < 0 && c->dialect == DIALECT_MPRUN)
        return error_set(err, EINVAL,
                         "'%.60s' is none of tag, timestamp, merge-stderr-to-stdout, merge-lines, "
                         "json, dir=DIR and file=NAME; for files write '--outfile-pattern out.%%r' "
                         "and '--errfile-pattern err.%%r', or '--as srun' first on the line",
                         word);
    if (i < 0)
        return -1;
    c->output.lines.tag |= i < 4;
    c->output.lines.timestamp |= i == 4;
    c->output.merge_streams |= i == 5 || i == 6;
    c->output.merge_lines |= i == 7;
    c->output.lines.json |= i == 8;
    return 0;
}

int cmdline_apply_output_words(void *target, const char *value, struct error *err)
{
    return cmdline_each_item(value, ",", take_output_word, target, err);
}

int cmdline_apply_open_mode(void *target, const char *value, struct error *err)
{
    static const char *const words[] = {"truncate", "append", "t", "a", NULL};
    int i = option_word(value, strlen(value), words, err);
    ((struct cmdline *)target)->output.files.append = i == 1 || i == 3;
    return i < 0 ? -1 : 0;
}

int cmdline_apply_line_pattern(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    c->output.lines.pattern = value;
    return output_pattern_check(value, err);
}

static bool has_option(const struct cmdline *c, const char *name)
{
    return cmdline_uses(c, options_find(c->reading.own_options, name, strlen(name)));
}

int cmdline_check_output(const struct cmdline *c, struct error *err)
{
    bool has_pattern = has_option(c, "--outfile-pattern") || has_option(c, "--errfile-pattern");
    if (has_pattern && has_option(c, "--output-filename"))
        return error_set(err, EINVAL,
                         "--output-filename and patterns both name the files of ranks; keep one");
    const struct output_options *o = &c->output;
    const struct line_format *f = &o->lines;
    const char *const *to = o->files.patterns;
    if (o->merge_streams && to[1] && (!to[0] || strcmp(to[0], to[1]) != 0))
        return error_set(err, EINVAL,
                         "--merge-stderr-to-stdout leaves nothing for the file '%.60s' of standard "
                         "error; keep one of both",
                         to[1]);
    char letter = o->merge_lines && f->pattern ? output_pattern_has(f->pattern, "hNnpgq") : 0;
    if (f->json && (f->tag || f->timestamp || f->pattern || o->merge_lines))
        return error_set(err, EINVAL,
                         "an object of '--output json' has rank, host, stream and time of one line "
                         "of one rank; leave out %s",
                         o->merge_lines ? "--merge-lines"
                         : f->tag       ? "--tag-output"
                         : f->timestamp ? "--timestamp-output"
                                        : "--prepend-pattern");
    if (letter)
        return error_set(err, EINVAL,
                         "'%%%c' in '%.60s' differs among the ranks whose lines --merge-lines "
                         "merges; leave one of them out",
                         letter, f->pattern);
    return 0;
}
