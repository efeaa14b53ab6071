/* SPDX-License-Identifier: BSD-3-Clause */
/* option-functions.h - what mprun's own options do with their values, and steps of it that several
 * of them have in common */
#pragma once

#include "common/text/options.h"
#include "launcher/cmdline/cmdline-private.h"

extern const struct cmdline option_defaults;

/* Calls take with each part of the list, which it may change, until take fails. 0, or -1. */
int cmdline_each_item(const char *list, const char *separator,
                      int (*take)(void *arg, char *item, struct error *err), void *arg,
                      struct error *err);

/* Calls take with the index of each word of a list with commas. */
int cmdline_each_word(const char *value, const char *const words[],
                      int (*take)(struct cmdline *c, int word, struct error *err),
                      struct cmdline *c, struct error *err);

/* Apply another option, "--map-by ppr:@:socket" with '@' where the value goes; for OPTION_OTHER. */
int cmdline_apply_other(void *target, const char *other, const char *value, struct error *err);
#define OPTION_BY(apply_, which_) .kind = OPTION_OTHER, .other = (which_), .apply_other = (apply_)
#define OPTION_AS(other_)         OPTION_BY(cmdline_apply_other, other_)

/* Parse value[0..len) as a number into *count. -1 with err, also if *count has another one (not
 * 0). */
int cmdline_set_count(uint32_t *count, const char *value, size_t len, struct error *err);

/* One limit, unless an earlier source of settings has it. -1 with err, also if the line has given
 * it another amount. */
int cmdline_set_limit(struct cmdline *c, enum limit_level level, enum limit_kind k,
                      const struct limit *l, struct error *err);

/* Set a variable, "NAME=VALUE" or "NAME" as -x has it, for the ranks of this program, which keeps
 * the pointer. */
int cmdline_set_variable(struct cmdline_app *app, const char *value, struct error *err);

/* The word of a part of a host, as --map-by and --bind-to have it. */
const char *cmdline_level_word(enum level level);

/* Does this option of the table belong to one program, and not to the whole step? */
bool cmdline_is_own_app_option(const struct option_def *def);

/* --limit: "mem=30G,cput=100h". */
option_fn cmdline_apply_limit;

/* Programs and hosts (option-table.c). */
option_fn cmdline_apply_np, cmdline_apply_wdir, cmdline_apply_env, cmdline_apply_host,
    cmdline_apply_exclude;

/* Where ranks run, and on which cores (binding-values.c). */
option_fn cmdline_apply_rank_by, cmdline_apply_bind, cmdline_apply_cpu_set, cmdline_apply_cpu_list,
    cmdline_apply_map_by, cmdline_apply_mem_bind, cmdline_apply_rank_file,
    cmdline_apply_distribution, cmdline_apply_srun_distribution, cmdline_apply_cpus,
    cmdline_apply_cpu_bind;

/* Files of output (output-options.c). */
option_fn cmdline_apply_outfile, cmdline_apply_errfile, cmdline_apply_srun_output,
    cmdline_apply_srun_error, cmdline_apply_srun_input, cmdline_apply_flux_output,
    cmdline_apply_flux_error;
int cmdline_apply_hydra_pattern(void *target, const char *option, const char *value,
                                struct error *err);
option_fn cmdline_apply_output_filename, cmdline_apply_output_words, cmdline_apply_open_mode,
    cmdline_apply_line_pattern;
