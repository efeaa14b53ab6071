/* SPDX-License-Identifier: BSD-3-Clause */
/* tool.h - the command lines of all tools: options and words in any order, --help, --version, one
 * sentence about an error */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/text/options.h"

enum { TOOL_OK = 0, TOOL_FAILED = 1, TOOL_USAGE = 2 }; /* exit codes; a tool may have more */

/* The first member of what a tool's options write to. */
struct tool_request {
    bool help, version;
};

struct tool {
    const char *name; /* "mpbind" */
    const struct option_def *options;
    const char *usage;      /* --help: the text before the options, */
    const char *exit_codes; /* and the one behind them */
    /* Takes the nth word (from 0) that is no option. -1 with err. */
    int (*take_word)(void *request, size_t n, char *word, struct error *err);
    /* Called behind the last of `words` words, but not for --help and --version. -1 with err. */
    int (*check)(void *request, size_t words, struct error *err);
};

/* The lines of --help and --version in a table of options. */
#define TOOL_OPTIONS                                                                               \
    {"-h --help", NULL, "Help", "This text", OPTION_SETS(OPTION_FLAG, struct tool_request, help)}, \
    {                                                                                              \
        "-V --version", NULL, "Help", "The version",                                               \
            OPTION_SETS(OPTION_FLAG, struct tool_request, version)                                 \
    }

/* Parses argv into *request, which has its defaults. Texts stay argv's. -1 with err. */
int tool_parse(const struct tool *t, int argc, char **argv, void *request, struct error *err);
char *tool_help(const struct tool *t, size_t width); /* caller frees */
/* Parses, runs and reports: the program's exit code. run returns one; if not 0, with err. */
int tool_main(const struct tool *t, int argc, char **argv, void *request,
              int (*run)(const void *request, struct error *err));
