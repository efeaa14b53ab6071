/* SPDX-License-Identifier: BSD-3-Clause */
/* other-launchers.h - options, variables and parameters of other launchers: what they say, said to
 * mprun */
#pragma once

#include "launcher/cmdline/cmdline-private.h"

/* Values that several launchers have (other-launchers-values.c). */
option_fn cmdline_apply_mca, cmdline_apply_gmca, cmdline_apply_pair, cmdline_apply_genv,
    cmdline_apply_envlist, cmdline_apply_genvlist, cmdline_apply_export,
    cmdline_apply_kill_on_bad_exit;
/* mark: see struct cmdline_app. */
int cmdline_apply_marked(void *target, const char *mark, const char *value, struct error *err);

/* Options that only srun has so (srun-values.c). */
option_fn cmdline_apply_nodes, cmdline_apply_megabytes, cmdline_apply_srun_mem_bind,
    cmdline_apply_minutes, cmdline_apply_mpi_plugin, cmdline_apply_gres, cmdline_apply_hint,
    cmdline_apply_exclusive, cmdline_apply_threads_per_core;
int cmdline_apply_gpus(void *target, const char *option, const char *value, struct error *err);
/* The words of --pmi for a name of srun's --mpi, which they are if it is no plugin of Slurm's. */
const char *cmdline_mpi_plugin(const char *name);

/* Where a line of srun has no number of tasks: that of its GPUs. 0, or -1 with err. */
/* "4", "a100:4", "volta:2,kepler:1": how many. */
uint32_t cmdline_count_gpus(const char *value);
int cmdline_take_gpu_ranks(struct cmdline *c, struct error *err);
/* Where it has no GPUs either: the number of tasks of the job. */
int cmdline_take_slurm_ranks(struct cmdline *c, const char *value, struct error *err);
/* Where the environment has none either: one task on each node. 0, or -1 with err. */
int cmdline_take_srun_ranks(struct cmdline *c, struct error *err);

/* Apply aprun's CPUs of the program whose part of the line is read. 0, or -1 with err. */
int cmdline_settle_cpus(struct cmdline *c, struct error *err);
/* Apply jsrun's resource sets of the first program as ranks and cores. 0, or -1 with err. */
int cmdline_settle_sets(struct cmdline *c, struct error *err);
/* Where a line of flux has no number of tasks: one, or one on each node. 0, or -1 with err. */
int cmdline_take_flux_ranks(struct cmdline *c, struct error *err);
/* Does this option of another launcher ask for what mprun does anyway? */
bool cmdline_is_needless(const struct option_def *def);

/* Apply what variables of other launchers say (environment.c). 0, or -1 with err. */
int environment_apply(struct cmdline *c, char *const env[], struct error *err);
/* The value that this variable of Slurm's has for the component of a heterogeneous job that the
 * line chooses, or for the job where it chooses none. NULL: it is not set. */
const char *cmdline_slurm_value(const struct cmdline *c, char *const env[], const char *name);

/* Does a setting "NAME=VALUE" of an MCA parameter steer Open MPI's launcher? */
bool mca_is_launchers(const char *setting);
/* mprun's option for this setting; NULL: there is none. */
const char *mca_option(const char *setting);
/* Apply what the setting says, or note that it has no effect. */
int mca_apply_to_launcher(struct cmdline *c, const char *setting, struct error *err);
