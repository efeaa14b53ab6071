/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-gpus.h - which GPUs ranks are told to use (CUDA_VISIBLE_DEVICES)
 *
 * Ranks use the GPUs that the job has on their host, or fewer where the user says so for the ranks
 * (-x). The value in mprun's own environment does not count: it names GPUs of mprun's host, whose
 * ids mean other GPUs elsewhere. Lists are ids with commas between them, as in
 * CUDA_VISIBLE_DEVICES: programs use what precedes the first entry that is no id ("-1"). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/step.h"
#include "starter/ranks/rank-environment.h"

enum gpus_verdict {
    GPUS_WITHIN,    /* every id that is named is granted; or none is named */
    GPUS_UNCHECKED, /* some are not named by number, but as UUIDs or MIG devices */
    GPUS_OUTSIDE,   /* a number was not granted */
};
enum gpus_verdict gpus_check(const char *named, const char *granted);

/* The value of CUDA_VISIBLE_DEVICES for ranks of the app: `granted`, or NULL: keep what the app
 * has, if anything. granted "": nothing was granted. is_launcher_host: the ranks run where mprun
 * does, so that mprun's own value means the same GPUs; it counts as the user's choice if all are
 * granted. */
const char *rank_gpus(const struct app *app, const char *granted, bool is_launcher_host);
/* The variables that tell ranks of the app their GPUs: that one, and with blanks between the ids
 * the one that the manager's own jobs have. "NAME=value" into ret; their number, at most 2. */
size_t rank_gpu_variables(const struct app *app, const struct step *s, const char *granted,
                          bool is_launcher_host, char ret[][RANK_VARIABLE_SIZE]);

/* Write a sentence about the first app with ranks on this host whose user's choice has this
 * verdict;
 * "" if there is none. */
void rank_gpus_sentence(const struct step *s, const struct placement *here, const char *granted,
                        enum gpus_verdict verdict, char *buf, size_t n);
