/* SPDX-License-Identifier: BSD-3-Clause */
/* options.h - a table of options, from which come parsing, --help and the test of the manual
 *
 * Accepted: "-n 4", "-n4" (one letter), "--np 4", "--np=4", and every name that has two dashes with
 * one ("-np 4", as mpirun's have). Names cannot be abbreviated; the error of an unknown name shows
 * the nearest one. Parsing stops at the first word that is no option (the program), behind
 * "--", or at ":" (the next program). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

enum option_repeat {
    OPTION_ONCE,   /* unless said otherwise: two uses with different values are an error that shows
                      both */
    OPTION_APPEND, /* every use counts (-x, --hostfile) */
};

/* How the value of an option becomes a member of the target without a function of its own. */
enum option_kind {
    OPTION_APPLIED, /* `apply` is called */
    OPTION_FLAG,    /* bool: true; of a switch */
    OPTION_TEXT,    /* const char *: the word itself, of at least `low` bytes */
    OPTION_COUNT,   /* uint32_t: a number from low to high */
    OPTION_SECONDS, /* double, at least low, and at most high unless that is 0 */
    OPTION_BYTES,   /* uint64_t */
    OPTION_WORD,    /* an enum: the place of the value in `words` */
    OPTION_NOTED,   /* char *: a list of such options as typed, "'-p', '-A'"; of malloc() */
    OPTION_OTHER,   /* `apply_other` is called with `other`, which says what the option means */
};

/* Applies a use of an option to the target: 0, or -1 with err, before which the option's name is
 * put. value: NULL for a switch; a value made of two words is valid during the call. */
typedef int option_fn(void *target, const char *value, struct error *err);

struct option_def {
    const char *names;    /* as typed, the main one first: "-n --np" */
    const char *argument; /* "N"; NULL: a switch; "[FILE]": may be left out where only options
                             follow; "[=N]": only behind a '='; apply gets NULL for an argument
                             that is left out; "NAME VALUE": two words, apply gets NAME=VALUE;
                             "NAME[=]VALUE": two words, or one */
    const char *group;    /* heading in --help: "Starting" */
    const char *help;     /* one sentence without its full stop */
    enum option_repeat repeat;
    option_fn *apply; /* NULL: other launchers have this name and this one refuses it; help says
                         what to do instead, and the name is in no list */
    /* Instead, by OPTION_SETS(), and its bounds. */
    enum option_kind kind;
    size_t member; /* offset in the target */
    uint32_t low, high;
    const char *const *words; /* NULL-terminated; where `apply` reads the value: those that may
                                 begin it, for completion; NULL: none */
    const char *also;         /* more names, accepted as the others and in no list; NULL: none */
    const char *other;
    int (*apply_other)(void *target, const char *other, const char *value, struct error *err);
    bool *used;        /* set at the first use; NULL: nobody asks */
    bool apart;        /* a value that is no number is never glued to a letter: "-ofile" */
    unsigned variants; /* the caller's, for tables that are made from this one */
};

#define OPTION_SETS(kind_, type, member_) .kind = (kind_), .member = offsetof(type, member_)

/* Parse argv[from..argc), and apply each use in order: the index of the first word that was not
 * used, or -1 with err. defs ends with an entry whose names is NULL, and whose help, if it has one,
 * says what to do with a name that is like none of the table. */
int options_parse(const struct option_def *defs, int argc, char *const argv[], int from,
                  void *target, struct error *err);
/* Do two entries do the same with a value, whatever their names? */
bool options_are_same(const struct option_def *a, const struct option_def *b);
/* Is this a name that is refused? */
bool option_is_refused(const struct option_def *def);
/* One use of an option on a line. */
struct option_use {
    const struct option_def *def;
    const char *name; /* as typed, name_len bytes of argv */
    size_t name_len;
    const char *value; /* NULL: none */
    char *joined;      /* the memory of a value of two words, which the caller frees; else NULL */
};
/* Read the use that begins at argv[*at], which is moved behind it, and apply nothing: 1; 0: no
 * option stands there (*at is moved behind "--"); -1 with err. */
int options_next(const struct option_def *defs, int argc, char *const argv[], int *at,
                 struct option_use *ret, struct error *err);
/* The entry that has this name, as typed ("--np", "-np"), or NULL. */
const struct option_def *options_find(const struct option_def *defs, const char *name, size_t len);
/* All options by group, wrapped to width columns. The caller frees it. */
char *options_help(const struct option_def *defs, size_t width);
/* The index of word[0..len) in words (NULL-terminated), or -1 with the valid ones in err. */
int option_word(const char *word, size_t len, const char *const words[], struct error *err);
/* Append a name to a list as OPTION_NOTED does. 0 */
int option_note(char **list, const char *name, size_t len);
