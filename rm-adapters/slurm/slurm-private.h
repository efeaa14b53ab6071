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

/* What steps of mprun have to ask for to have all GPUs of their nodes. */
struct step_gres {
    char *all;      /* for --gres, where all nodes have as many; NULL: they have not, or nothing */
    uint32_t *gpus; /* instead: of each host of the allocation, which needs a step of its own */
};
/* Asks scontrol, where the job may need it. step_gres_free() empties *ret. */
void slurm_step_gres(const struct allocation *a, struct step_gres *ret);
/* The same of what 'scontrol -d show job' says. */
void slurm_gres_of_answer(const char *answer, const struct allocation *a, struct step_gres *ret);
void step_gres_free(struct step_gres *g);
