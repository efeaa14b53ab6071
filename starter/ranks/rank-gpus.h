/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-gpus.h - which GPUs ranks are told to use (CUDA_VISIBLE_DEVICES and others)
 *
 * Ranks use the GPUs that the job has on their host, or fewer if the user says so for the ranks
 * (-x). mprun's own environment does not count: its ids name GPUs of mprun's host, and other GPUs
 * elsewhere. A list has ids separated by commas, as CUDA_VISIBLE_DEVICES has; programs use the
 * entries before the first one that is no id ("-1"). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/step.h"
#include "starter/binding/host-gpus.h"
#include "starter/ranks/rank-environment.h"

enum gpus_verdict {
    GPUS_WITHIN,    /* every GPU that the list names is granted; or it names none */
    GPUS_UNCHECKED, /* the list names some as UUIDs or MIG devices, not by number */
    GPUS_OUTSIDE,   /* the list names a number that was not granted */
};
/* Compares the list `named` with the list `granted`. */
enum gpus_verdict gpus_check(const char *named, const char *granted);

struct rank_gpus {         /* the GPUs that ranks are to have here */
    const char *ids;       /* separated by commas; "": nothing was granted */
    unsigned kinds;        /* bits 1 << enum gpu_kind: the variables that are to name them */
    bool is_ranks_own;     /* --gpus-per-rank: only what the user sets for the ranks goes first */
    bool is_launcher_host; /* the ranks run on mprun's host, where mprun's own value means the same
                              GPUs; it counts as the user's choice if all are granted */
};
/* Returns the value of this variable for ranks of the app: `ids`; or NULL: keep what the app has,
 * if anything. */
const char *rank_gpus(const struct app *app, const char *variable, const struct rank_gpus *g);
/* Writes the variables that tell ranks of the app their GPUs, as "NAME=value": those of `kinds`,
 * and the one that the manager's own jobs have, with blanks between the ids. Returns their number,
 * at most 1 + GPU_KINDS. */
size_t rank_gpu_variables(const struct app *app, const struct step *s, const struct rank_gpus *g,
                          char ret[][RANK_VARIABLE_SIZE]);

/* Writes a sentence about the first app with ranks on this host where the user's choice has this
 * verdict; "" if there is none. */
void rank_gpus_sentence(const struct step *s, const struct placement *here, const char *granted,
                        enum gpus_verdict verdict, char *buf, size_t n);
