/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-gpus.h - which GPUs ranks are told to use (CUDA_VISIBLE_DEVICES and others)
 *
 * Ranks use the GPUs that the job has on their host, or fewer where the user says so for the ranks
 * (-x). The value in mprun's own environment does not count: it names GPUs of mprun's host, whose
 * ids mean other GPUs elsewhere. Lists are ids with commas between them, as in
 * CUDA_VISIBLE_DEVICES: programs use what precedes the first entry that is no id ("-1"). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/step.h"
#include "starter/binding/host-gpus.h"
#include "starter/ranks/rank-environment.h"

enum gpus_verdict {
    GPUS_WITHIN,    /* every id that is named is granted; or none is named */
    GPUS_UNCHECKED, /* some are not named by number, but as UUIDs or MIG devices */
    GPUS_OUTSIDE,   /* a number was not granted */
};
enum gpus_verdict gpus_check(const char *named, const char *granted);

struct rank_gpus {         /* the GPUs that ranks are to have here */
    const char *ids;       /* with commas between them; "": nothing was granted */
    unsigned kinds;        /* bits 1 << enum gpu_kind: whose variables are to name them */
    bool is_ranks_own;     /* --gpus-per-rank: only what the user gives for the ranks goes first */
    bool is_launcher_host; /* the ranks run where mprun does, so that mprun's own value means the
                              same GPUs; it counts as the user's choice if all are granted */
};
/* The value of this variable for ranks of the app: `ids`, or NULL: keep what the app has, if
 * anything. */
const char *rank_gpus(const struct app *app, const char *variable, const struct rank_gpus *g);
/* The variables that tell ranks of the app their GPUs: those, and with blanks between the ids the
 * one that the manager's own jobs have. "NAME=value" into ret; their number, at most 1 + GPU_KINDS.
 */
size_t rank_gpu_variables(const struct app *app, const struct step *s, const struct rank_gpus *g,
                          char ret[][RANK_VARIABLE_SIZE]);

/* Write a sentence about the first app with ranks on this host whose user's choice has this
 * verdict;
 * "" if there is none. */
void rank_gpus_sentence(const struct step *s, const struct placement *here, const char *granted,
                        enum gpus_verdict verdict, char *buf, size_t n);
