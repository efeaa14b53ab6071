/* SPDX-License-Identifier: BSD-3-Clause */
/* cmdline-private.h - between the table of options and the parser that uses it */
#pragma once

#include <stdbool.h>

#include "common/text/options.h"
#include "launcher/cmdline/cmdline.h"
#include "launcher/cmdline/dialect.h"

/* The target of all options is the struct cmdline; `app` is the program whose part of the line is
 * read. */

extern const struct cmdline option_defaults;

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

/* Hand text, which is malloc'ed, to c, which frees it. Returns text. */
const char *cmdline_keep(struct cmdline *c, char *text);

/* Calls take with each part of the list, which it may change, until take fails. 0, or -1. */
int cmdline_each_item(const char *list, const char *separator,
                      int (*take)(void *arg, char *item, struct error *err), void *arg,
                      struct error *err);

/* Apply another option, "--map-by ppr:@:socket" with '@' where the value goes; for OPTION_OTHER. */
int cmdline_apply_other(void *target, const char *other, const char *value, struct error *err);
#define OPTION_BY(apply_, which_) .kind = OPTION_OTHER, .other = (which_), .apply_other = (apply_)
#define OPTION_AS(other_)         OPTION_BY(cmdline_apply_other, other_)

/* Calls take with the index of each word of a list with commas. */
int cmdline_each_word(const char *value, const char *const words[],
                      int (*take)(struct cmdline *c, int word, struct error *err),
                      struct cmdline *c, struct error *err);

/* Parse value[0..len) as a number into *count. -1 with err, also if *count has another one (not
 * 0). */
int cmdline_set_count(uint32_t *count, const char *value, size_t len, struct error *err);

/* One limit, unless an earlier source of settings has it. -1 with err, also if the line has given
 * it another amount. */
int cmdline_set_limit(struct cmdline *c, enum limit_level level, enum limit_kind k,
                      const struct limit *l, struct error *err);

/* --limit: "mem=30G,cput=100h". */
option_fn cmdline_apply_limit;

/* Set a variable, "NAME=VALUE" or "NAME" as -x has it, for the ranks of this program, which keeps
 * the pointer. */
int cmdline_set_variable(struct cmdline_app *app, const char *value, struct error *err);
/* The setting "NAME=VALUE" of this program for the variable of `entry`, "NAME" or "NAME=..."; NULL:
 * it has none. */
const char *cmdline_setting_for(const struct cmdline_app *app, const char *entry);

/* Options of other launchers: what struct option_def calls (other-launchers-values.c). */
option_fn cmdline_apply_mca, cmdline_apply_gmca, cmdline_apply_pair, cmdline_apply_genv,
    cmdline_apply_envlist, cmdline_apply_genvlist;
/* mark: see struct cmdline_app. */
int cmdline_apply_marked(void *target, const char *mark, const char *value, struct error *err);
option_fn cmdline_apply_export, cmdline_apply_rank_by, cmdline_apply_bind, cmdline_apply_cpu_set,
    cmdline_apply_cpu_list, cmdline_apply_map_by, cmdline_apply_mem_bind, cmdline_apply_rank_file,
    cmdline_apply_distribution, cmdline_apply_srun_distribution, cmdline_apply_cpus,
    cmdline_apply_cpu_bind, cmdline_apply_kill_on_bad_exit;

/* Files of output (output-options.c). */
option_fn cmdline_apply_outfile, cmdline_apply_errfile, cmdline_apply_srun_output,
    cmdline_apply_srun_error, cmdline_apply_srun_input, cmdline_apply_flux_output,
    cmdline_apply_flux_error;
int cmdline_apply_hydra_pattern(void *target, const char *option, const char *value,
                                struct error *err);
option_fn cmdline_apply_output_filename, cmdline_apply_output_words, cmdline_apply_open_mode,
    cmdline_apply_line_pattern;
int cmdline_check_output(const struct cmdline *c, struct error *err);
/* Do the options of the whole line agree? 0, or -1 with err. */
int cmdline_check_agreement(const struct cmdline *c, struct error *err);

/* Options that only srun has so (srun-values.c). */
option_fn cmdline_apply_nodes, cmdline_apply_megabytes, cmdline_apply_srun_mem_bind,
    cmdline_apply_minutes, cmdline_apply_mpi_plugin;

/* The value that this variable of Slurm's has for the component of a heterogeneous job that the
 * line chooses, or for the job where it chooses none. NULL: it is not set. */
const char *cmdline_slurm_value(const struct cmdline *c, char *const env[], const char *name);

/* The words of --pmi for a name of srun's --mpi, which they are if it is no plugin of Slurm's. */
const char *cmdline_mpi_plugin(const char *name);

int cmdline_apply_gpus(void *target, const char *option, const char *value, struct error *err);
option_fn cmdline_apply_gres, cmdline_apply_hint, cmdline_apply_threads_per_core;

/* Make c->own_options, unless they are there. */
void cmdline_make_own_options(struct cmdline *c);
/* Add a program, of which nothing is said yet. */
struct cmdline_app *cmdline_add_app(struct cmdline *c);
/* Take mpirun_rsh's hosts from argv[at] on, one for each rank, where no option has named any: the
 * index behind them, or -1 with err. */
int cmdline_take_bare_hosts(struct cmdline *c, int argc, char *const argv[], int at,
                            struct error *err);
/* Is argv[at] no program, but the "run" of "flux run"? */
bool cmdline_is_subcommand(const struct cmdline *c, int argc, char *const argv[], int at);
/* Does this option of another launcher ask for what mprun does anyway? */
bool cmdline_is_needless(const struct option_def *def);
/* Is argv[at] a variable "NAME=VALUE" before the program, as mpirun_rsh has it? */
bool cmdline_has_bare_variable(const struct cmdline *c, int argc, char *const argv[], int at);
/* Apply aprun's CPUs of the program whose part of the line is read. 0, or -1 with err. */
int cmdline_settle_cpus(struct cmdline *c, struct error *err);
/* Apply jsrun's resource sets of the first program as ranks and cores. 0, or -1 with err. */
int cmdline_settle_sets(struct cmdline *c, struct error *err);
/* Where a line of srun has no number of tasks: that of its GPUs. 0, or -1 with err. */
int cmdline_take_gpu_ranks(struct cmdline *c, struct error *err);
/* Where it has no GPUs either: the number of tasks of the job. */
int cmdline_take_slurm_ranks(struct cmdline *c, const char *value, struct error *err);
/* Where the environment has none either: one task on each node. 0, or -1 with err. */
int cmdline_take_srun_ranks(struct cmdline *c, struct error *err);
/* Where a line of flux has no number of tasks: one, or one on each node. 0, or -1 with err. */
int cmdline_take_flux_ranks(struct cmdline *c, struct error *err);
/* The word of a part of a host, as --map-by and --bind-to have it. */
const char *cmdline_level_word(enum level level);
/* Apply an option of mprun's own dialect as if the line had it. Copies value (NULL: a switch). */
int cmdline_apply_named(struct cmdline *c, const char *name, const char *value, struct error *err);
/* Has the line this option of c->own_options, by whatever name? */
bool cmdline_uses(const struct cmdline *c, const struct option_def *own);
int environment_apply(struct cmdline *c, char *const env[], struct error *err);

/* The words of a file whose lines are parts of a command line, ":" between them; both are c's. */
int program_file_words(struct cmdline *c, const char *path, int *ret_argc, char *const **ret_argv,
                       struct error *err);
/* The one program is a file of srun's --multi-prog: replace it by the programs in the file. */
int multi_prog_apply(struct cmdline *c, struct error *err);

/* Does a setting "NAME=VALUE" of an MCA parameter steer Open MPI's launcher? */
bool mca_is_launchers(const char *setting);
/* mprun's option for this setting; NULL: there is none. */
const char *mca_option(const char *setting);
/* Apply what the setting says, or note that it has no effect. */
int mca_apply_to_launcher(struct cmdline *c, const char *setting, struct error *err);

option_fn cmdline_apply_np, cmdline_apply_wdir, cmdline_apply_env, cmdline_apply_host,
    cmdline_apply_exclude;

/* Does this option belong to one program, and not to the whole step? */
bool cmdline_is_app_option(const struct option_def *def);
bool cmdline_is_peers_app_option(const struct option_def *def);
