/* SPDX-License-Identifier: BSD-3-Clause */
/* cmdline-private.h - between the table of options and the parser that uses it */
#pragma once

#include <stdbool.h>

#include "common/options.h"
#include "launcher/cmdline/cmdline.h"
#include "launcher/cmdline/dialect.h"

/* The target of all options is the struct cmdline; `app` is the program whose part of the line is
 * read. */

extern const struct cmdline option_defaults;

/* Calls take with the index of each word of a list with commas. */
int cmdline_each_word(const char *value, const char *const words[],
                      int (*take)(struct cmdline *c, int word, struct error *err),
                      struct cmdline *c, struct error *err);

/* value[0..len) as a number of ranks or cores into *count, where another one (not 0) is refused. */
int cmdline_set_count(uint32_t *count, const char *value, size_t len, struct error *err);

/* --limit: "mem=30G,cput=100h". */
int cmdline_apply_limit(void *target, const char *value, struct error *err);

/* Set a variable, "NAME=VALUE" or "NAME" as -x has it, for the ranks of this program, which keeps
 * the pointer. */
int cmdline_set_variable(struct cmdline_app *app, const char *value, struct error *err);

/* Options of other launchers: what struct option_def calls (other-launchers-values.c). */
int cmdline_apply_mca(void *target, const char *value, struct error *err);
int cmdline_apply_gmca(void *target, const char *value, struct error *err);
int cmdline_apply_pair(void *target, const char *value, struct error *err);
int cmdline_apply_genv(void *target, const char *value, struct error *err);
int cmdline_apply_export(void *target, const char *value, struct error *err);
int cmdline_apply_map_by(void *target, const char *value, struct error *err);
int cmdline_apply_distribution(void *target, const char *value, struct error *err);
int cmdline_apply_cpu_bind(void *target, const char *value, struct error *err);
int cmdline_apply_kill_on_bad_exit(void *target, const char *value, struct error *err);

/* Options that only srun has so (srun-values.c). */
int cmdline_apply_nodes(void *target, const char *value, struct error *err);
int cmdline_apply_megabytes(void *target, const char *value, struct error *err);
int cmdline_apply_minutes(void *target, const char *value, struct error *err);

/* Does this option belong to one program, and not to the whole step? */
bool cmdline_is_app_option(const struct option_def *def);
