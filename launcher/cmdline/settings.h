/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.h - options that are set by files and variables, for lines that do not have them
 *
 * The sources, from the one that counts most: options that the administrator's file locks; the
 * line; MPRUN_OPTION_NAME; variables of other launchers; the user's file; the administrator's file.
 * Some options say the same thing in other words, as --bynode and --map-by: the first source that
 * has one of them counts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/error.h"
#include "launcher/cmdline/options/placement-options.h"

struct cmdline;
struct option_def;

enum setting_kind {
    SETTING_LOCKED,
    SETTING_VARIABLE,
    SETTING_OTHER_LAUNCHERS,
    SETTING_USERS_FILE,
    SETTING_SITES_FILE,
};

/* One option of a source. */
struct setting {
    const struct option_def *option; /* of mprun's own dialect */
    enum setting_kind kind;
    const char *source; /* the file, or the variable */
    const char *words;  /* as a file has it */
    bool counts;        /* neither the line nor an earlier source has it */
};

/* In a struct cmdline, which holds the strings. */
struct settings {
    struct setting *list;
    size_t n;
    const char *sites_file; /* the administrator's */
    const char *source;     /* while an option is applied: where it is from; NULL: the line */
    bool yields;            /* and what an earlier source has set stays as it is */
    struct placement_options said; /* by the line and the sources before this one */
    bool is_shown;                 /* --show-config */
    bool is_checked;               /* --check: mistakes are collected, */
    const char **mistakes;         /* nmistakes of them */
    size_t nmistakes;
    bool are_ignored; /* --no-config */
};

/* The functions return 0, or -1 with err. */

/* Apply the options that the administrator locks. It is an error if the line has one of them. */
int settings_take_locked(struct cmdline *c, struct error *err);
/* Apply the variables MPRUN_OPTION_NAME of env. */
int settings_take_variables(struct cmdline *c, char *const env[], struct error *err);
/* Apply the user's file, and then the administrator's. */
int settings_take_files(struct cmdline *c, char *const env[], struct error *err);
/* Apply one option, unless an earlier source has it. value: NULL: a switch. */
int settings_take(struct cmdline *c, enum setting_kind kind, const char *source, const char *name,
                  const char *value, struct error *err);
/* Has the line or an earlier source this option of mprun's, or one that says the same? */
bool settings_have(const struct cmdline *c, const char *name);
/* Print all settings as lines of a file, with their sources as comments, and as comments the values
 * of options that nobody has set. */
void settings_print(const struct cmdline *c, FILE *out);
