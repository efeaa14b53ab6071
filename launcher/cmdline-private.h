/* SPDX-License-Identifier: BSD-3-Clause */
/* cmdline-private.h - between the table of options and the parser that uses it */
#ifndef LAUNCHER_CMDLINE_PRIVATE_H
#define LAUNCHER_CMDLINE_PRIVATE_H

#include "common/options.h"
#include "launcher/cmdline.h"

/* What an option is applied to. */
struct cmdline_target {
    struct cmdline *line;
    struct cmdline_app *app; /* the program whose part of the line is read */
};

/* The index of value in words (NULL-terminated), or -1 with the valid ones in err. */
int cmdline_choice(const char *value, const char *const words[], struct error *err);

/* value[0..len) as a number of ranks or cores into *count, where another one (not 0) is refused. */
int cmdline_set_count(uint32_t *count, const char *value, size_t len, struct error *err);

/* Set a variable, "NAME=VALUE" or "NAME" as -x has it, for the ranks of this program, which keeps
 * the pointer. */
int cmdline_set_variable(struct cmdline_app *app, const char *value, struct error *err);
/* Has this program a setting for the variable that `entry`, "NAME=VALUE", sets? NULL: no. */
const char *cmdline_setting_for(const struct cmdline_app *app, const char *entry);

/* Options of other launchers: what struct option_def calls (cmdline-peers.c). */
int cmdline_apply_mca(void *target, const char *value, struct error *err);
int cmdline_apply_gmca(void *target, const char *value, struct error *err);
int cmdline_apply_pair(void *target, const char *value, struct error *err);
int cmdline_apply_genv(void *target, const char *value, struct error *err);
int cmdline_apply_export(void *target, const char *value, struct error *err);
int cmdline_apply_map_by(void *target, const char *value, struct error *err);
int cmdline_apply_cpu_bind(void *target, const char *value, struct error *err);
int cmdline_apply_kill_on_bad_exit(void *target, const char *value, struct error *err);

/* Does this option belong to one program, and not to the whole step? */
int cmdline_is_app_option(const struct option_def *def);

#endif
