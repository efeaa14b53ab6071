/* SPDX-License-Identifier: BSD-3-Clause */
/* options.h - one table of options gives parsing, --help, and what tests hold the manual to
 *
 * Accepted: "-n 4", "-n4" (one letter), "--np 4", "--np=4", and every name that has two dashes with
 * one ("-np 4", as mpirun's have). Names are not abbreviated: an unknown one is answered with the
 * nearest known one. Parsing stops at the first word that is no option (the program), behind "--"
 * (which is used up), or at ":" (the next program). */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stddef.h>

#include "common/error.h"

enum option_repeat {
    OPTION_ONCE,   /* given twice with different values: an error that shows both */
    OPTION_APPEND, /* every use counts (-x, --hostfile) */
};

struct option_def {
    const char *names;    /* as typed, the main one first: "-n --np" */
    const char *argument; /* "N"; NULL: a switch; "[FILE]": may be left out where nothing follows
                             but options, and is NULL for apply then; "[=N]": only behind a '=',
                             else NULL; "NAME VALUE": two words, for apply NAME=VALUE */
    const char *group;    /* heading in --help: "Starting" */
    const char *help;     /* one sentence without its full stop */
    enum option_repeat repeat;
    /* Apply a use. value is NULL for a switch; that of two words is gone after the call. The error
     * needs no option name: it is put before. NULL: a name that other launchers have and this one
     * refuses; help is the sentence that says what to do instead. It is in no list and is nobody's
     * nearest. */
    int (*apply)(void *target, const char *value, struct error *err);
};

/* Parse argv[from..argc): the index of the first word that was not used, or -1. defs ends with an
 * entry whose names is NULL. Applies in order. */
int options_parse(const struct option_def *defs, int argc, char *const argv[], int from,
                  void *target, struct error *err);
/* All options by group, wrapped to width columns. Caller frees. */
char *options_help(const struct option_def *defs, size_t width);
/* The definition that has this name, as typed ("--np", "-np"), or NULL. */
const struct option_def *options_find(const struct option_def *defs, const char *name, size_t len);
/* The nearest of candidates (NULL-terminated) to word, or NULL when none is near. */
const char *nearest_word(const char *word, const char *const candidates[]);

#endif
