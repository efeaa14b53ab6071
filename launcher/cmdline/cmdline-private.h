/* SPDX-License-Identifier: BSD-3-Clause */
/* cmdline-private.h - between the parser and the tables of options that it uses */
#pragma once

#include <stdbool.h>

#include "common/text/options.h"
#include "launcher/cmdline/cmdline.h"
#include "launcher/cmdline/other-launchers/dialect.h"

/* The target of all options is the struct cmdline; `app` is the program whose part of the line is
 * read. */

/* Groups of options, which are subjects of --help (help.c). */
#define PROGRAMS  "Programs (one set for each program of the line)"
#define PLACE     "Where ranks run"
#define CORES     "Cores"
#define LIMITS    "Limits and containment"
#define STREAMS   "Output and input"
#define ENDING    "Ending and reporting"
#define DEBUGGING "Debuggers and tools"
#define PRELOAD   "Files that are brought to the hosts"
#define OTHER     "Other"

extern const char *const help_subjects[]; /* from HELP_PROGRAMS on; NULL-terminated */

/* ---- named-options.c ------------------------------------------------------------------------- */

/* Hand text, which is malloc'ed, to c, which frees it. Returns text. */
const char *cmdline_keep(struct cmdline *c, char *text);
/* Apply an option of c->reading.own_options as if the line had it. Copies value (NULL: a switch).
 */
int cmdline_apply_named(struct cmdline *c, const char *name, const char *value, struct error *err);
int cmdline_apply_number(struct cmdline *c, const char *name, uint64_t value, struct error *err);
/* Has the line this option of c->reading.own_options, by whatever name? */
bool cmdline_uses(const struct cmdline *c, const struct option_def *own);
/* Has a part behind the first it? */
bool cmdline_uses_later(const struct cmdline *c, const struct option_def *own);
/* The setting "NAME=VALUE" of this program for the variable of `entry`, "NAME" or "NAME=..."; NULL:
 * it has none. */
const char *cmdline_setting_for(const struct cmdline_app *app, const char *entry);
/* Add a program, of which nothing is said yet. */
struct cmdline_app *cmdline_add_app(struct cmdline *c);

/* ---- bare-words.c ---------------------------------------------------------------------------- */

/* Take mpirun_rsh's hosts from argv[at] on, one for each rank, where no option has named any: the
 * index behind them, or -1 with err. */
int cmdline_take_bare_hosts(struct cmdline *c, int argc, char *const argv[], int at,
                            struct error *err);
/* Is argv[at] a variable "NAME=VALUE" before the program, as mpirun_rsh has it? */
bool cmdline_has_bare_variable(const struct cmdline *c, int argc, char *const argv[], int at);
/* Is argv[at] no program, but the "run" of "flux run"? */
bool cmdline_is_subcommand(const struct cmdline *c, int argc, char *const argv[], int at);
/* -1 with err: argv[at] is a subcommand of flux that starts no ranks of this line. */
int cmdline_check_subcommand(const struct cmdline *c, int argc, char *const argv[], int at,
                             struct error *err);
/* -1 with err: the word is surely no program. */
int cmdline_check_program(const char *word, struct error *err);
/* -1 with the reason why no program ends at argv[end]. */
int cmdline_no_program(const struct cmdline *c, int end, int argc, char *const argv[],
                       struct error *err);

/* ---- the line -------------------------------------------------------------------------------- */

/* Make c->reading.own_options, unless they are there. */
void cmdline_make_own_options(struct cmdline *c);
/* Gives the program of the part that was just read the hosts and cores that this part names. step:
 * what the first part says; before: hosts.nlists before this part. 0, or -1 with err. */
int cmdline_take_own_place(struct cmdline *c, const struct placement_options *step, size_t before,
                           struct error *err);
/* Applies the options of files and variables to programs that have options of their own, too. */
void cmdline_inherit_settings(struct cmdline *c);
/* Does this option belong to one program, and not to the whole step? */
bool cmdline_is_app_option(const struct option_def *def);

/* Do the options of the whole line agree? 0, or -1 with err. */
int cmdline_check_agreement(const struct cmdline *c, struct error *err);
int cmdline_check_output(const struct cmdline *c, struct error *err);

/* The words of a file whose lines are parts of a command line, ":" between them; both are c's. */
int program_file_words(struct cmdline *c, const char *path, int *ret_argc, char *const **ret_argv,
                       struct error *err);
/* The one program is a file of srun's --multi-prog: replace it by the programs in the file. */
int multi_prog_apply(struct cmdline *c, struct error *err);
