/* SPDX-License-Identifier: BSD-3-Clause */
/* help.c - --help of all options or of a subject, and --usage, from the table of options */
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/text.h"
#include "launcher/cmdline/cmdline-private.h"

const char *const help_subjects[] = {
    "programs",  "hosts", "binding", "limits",   "output", "ending",
    "debugging", "files", "other",   "dialects", "all",    NULL,
};

static const char *const groups[HELP_DIALECTS] = {
    [HELP_PROGRAMS] = PROGRAMS,   [HELP_HOSTS] = PLACE,    [HELP_BINDING] = CORES,
    [HELP_LIMITS] = LIMITS,       [HELP_OUTPUT] = STREAMS, [HELP_ENDING] = ENDING,
    [HELP_DEBUGGING] = DEBUGGING, [HELP_FILES] = PRELOAD,  [HELP_OTHER] = OTHER,
};

static const char most_used[] =
    "  -n N                      start N ranks; without it, one for each granted slot\n"
    "  --npernode N              start at most N ranks on a host\n"
    "  -x NAME[=VALUE]           set a variable for the ranks\n"
    "  --host n1:2,n2            use these hosts; --hostfile FILE: those of a file\n"
    "  --map-by HOW              slot, node, core, numa, package, ppr:2:numa, seq\n"
    "  --bind-to WHAT            none, hwthread, core, l3cache, numa, package\n"
    "  --cpus-per-rank N         N cores for each rank\n"
    "  --mem-per-rank SIZE       limit the memory of each rank\n"
    "  --tag-output              begin each line with its rank; --outfile-pattern: files\n"
    "  --timeout TIME            end the step after TIME\n"
    "  --report usage            at the end, what ranks and hosts used\n"
    "  --dry-run                 print which rank would run where; --explain: and why\n"
    "  --help SUBJECT            programs, hosts, binding, limits, output, ending,\n"
    "                            debugging, files, other, dialects; all\n";

/* The options of the dialect about this; the caller frees them. */
static struct option_def *options_about(enum dialect d, enum help_subject subject)
{
    struct option_def *defs = dialect_options(cmdline_options(), NULL, d), *to = defs;
    for (const struct option_def *from = defs; from->names; from++)
        if (subject == HELP_ALL || (from->group && strcmp(from->group, groups[subject]) == 0))
            *to++ = *from;
    *to = (struct option_def){.names = NULL};
    return defs;
}

/* Those that mean something else to this launcher, under its name. */
static char *help_of_dialect(enum dialect d, const char *heading, size_t width)
{
    AUTO_FREE struct option_def *defs = dialect_options(cmdline_options(), NULL, d);
    struct option_def *to = defs;
    for (const struct option_def *from = defs; from->names; from++)
        if (from->variants) {
            *to = *from;
            to++->group = heading;
        }
    *to = (struct option_def){.names = NULL};
    return options_help(defs, width);
}

static char *help_of_dialects(const char *name, size_t width)
{
    struct text_writer text;
    FILE *out = text_begin(&text);
    fprintf(
        out,
        "%s reads a line as another launcher does with '--as LAUNCHER' as its first option, or\n"
        "by a link with the launcher's name. These options mean something else then; what is\n"
        "not here means the same to all, and doc/migrating.md has examples.\n",
        name);
    for (int d = DIALECT_MPRUN + 1; dialect_words[d]; d++) {
        char heading[64];
        snprintf(heading, sizeof(heading), "--as %s", dialect_words[d]);
        AUTO_FREE char *options = help_of_dialect((enum dialect)d, heading, width);
        fprintf(out, "\n%s", options);
    }
    return text_end(&text);
}

static char *help_with(const char *name, const char *options)
{
    return must(
        text_format("Usage: %1$s [OPTION...] PROGRAM [ARGUMENT...] [: [OPTION...] PROGRAM ...]\n"
                    "Run a parallel program on the hosts and cores of this job, contained and\n"
                    "accounted for.\n"
                    "\n"
                    "  %1$s ./solver                          one rank for each granted slot\n"
                    "  %1$s -n 4 --tag-output ./solver        four ranks, output tagged by rank\n"
                    "  %1$s --host n1:2,n2:2 ./solver         four ranks on two hosts, by ssh\n"
                    "  %1$s -n 1 ./master : -n 7 ./worker     two programs in one MPI world\n"
                    "\n"
                    "%2$s\n"
                    "Exit code: 0, or that of the first rank that failed, 128+N for signal N; 124\n"
                    "timeout, 125 %1$s failed or was used wrongly, 126 the program cannot be\n"
                    "executed, 127 it was not found. More is in mprun(1).\n",
                    name, options));
}

static enum dialect dialect_of(const char *name)
{
    struct dialect_use use;
    (void)dialect_find(1, (char *const[]){(char *)(uintptr_t)name}, &use, NULL);
    return use.dialect;
}

static char *usage(const char *name, size_t width)
{
    AUTO_FREE struct option_def *defs = options_about(dialect_of(name), HELP_ALL);
    struct text_writer text;
    size_t at;
    FILE *out = text_begin(&text);
    at = (size_t)fprintf(out, "Usage: %s", name);
    for (const struct option_def *d = defs; d->names; d++) {
        int names = (int)strcspn(d->names, " ");
        char one[128];
        if (option_is_refused(d))
            continue;
        size_t n = (size_t)snprintf(one, sizeof(one), "[%.*s%s%s]", names, d->names,
                                    d->argument && d->argument[0] != '[' ? " " : "",
                                    d->argument ? d->argument : "");
        bool wraps = at + 1 + n > width;
        fprintf(out, "%s%s", wraps ? "\n    " : " ", one);
        at = (wraps ? 4 : at + 1) + n;
    }
    fprintf(out, "\n    PROGRAM [ARGUMENT...] [: [OPTION...] PROGRAM [ARGUMENT...]]...\n");
    return text_end(&text);
}

char *cmdline_help(const char *name, enum help_subject subject, size_t width)
{
    if (subject == HELP_USAGE)
        return usage(name, width);
    if (subject == HELP_DIALECTS)
        return help_of_dialects(name, width);
    if (subject == HELP_SHORT)
        return help_with(name, most_used);
    AUTO_FREE struct option_def *defs = options_about(dialect_of(name), subject);
    AUTO_FREE char *options = options_help(defs, width);
    return subject == HELP_ALL ? help_with(name, options) : take_ptr(options);
}
