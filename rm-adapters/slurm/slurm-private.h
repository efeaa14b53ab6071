/* SPDX-License-Identifier: BSD-3-Clause */
/* slurm-private.h - for the files of slurm/ alone */
#pragma once

#include "rm-adapters/adapter.h"

/* The variable of tasks with the numbers of their hosts, "0-3,7": task i is that of the i-th. */
#define SRUN_HOSTS_VARIABLE "MPRUN_SRUN_HOSTS"

/* Members of the adapter's table in srun.c, as adapter.h describes them. */
struct starting *srun_start(const struct start_request *request, struct error *err);
void srun_cancel(struct starting *s);
void srun_destroy(struct starting *s);
void srun_reported(struct starting *s, size_t host);
void srun_left(struct starting *s, size_t host);
void srun_abandon(struct starting *s, size_t host);
void srun_retry(struct starting *s, size_t host);
bool srun_hand_over(struct starting *s, size_t host, int *ret_fd);
void srun_describe(const struct start_request *request, const struct alloc_host *host, char *buf,
                   size_t n);
void srun_advise(const char *words, char *buf, size_t n);
bool srun_is_noise(const char *line);

/* What a step of that job has to ask for with --gres to have all GPUs of its nodes; asks scontrol
 * where the job may need it. The caller frees it. NULL: nothing. */
char *slurm_step_gres(const char *job);
/* The same of what 'scontrol -d show job' says. */
char *slurm_gres_of_answer(const char *answer);
