/* SPDX-License-Identifier: BSD-3-Clause */
/* rank-gpus.h - which GPUs ranks are told to use: those that the job has on their host, or fewer of
 * them where the user says so for the ranks
 *
 * What mprun merely has in its environment is no such wish: there its own host's GPUs stand, and
 * the ids of other hosts are others. Lists are ids with commas between them, as
 * CUDA_VISIBLE_DEVICES has them: programs use what precedes the first one that is none ("-1"). */
#ifndef STARTER_RANK_GPUS_H
#define STARTER_RANK_GPUS_H

#include <stddef.h>

#include "model/step.h"

enum gpus_verdict {
    GPUS_WITHIN,    /* all that are named are granted ones; or none is named */
    GPUS_UNCHECKED, /* some are named in another way than by their number: UUIDs, MIG devices */
    GPUS_OUTSIDE,   /* a number is not among those that were granted */
};
enum gpus_verdict gpus_check(const char *named, const char *granted);

/* What ranks of the app are to have in CUDA_VISIBLE_DEVICES: `granted`, or NULL: what the app has
 * there, if anything, as where nothing was granted (""). its_own: the ranks run where mprun does,
 * so that what mprun itself has there means the same GPUs, and is a choice when all are granted
 * ones. */
const char *rank_gpus(const struct app *app, const char *granted, int its_own);

/* The sentence for the first app with ranks on this host whose user's choice is to be judged so;
 * "" where there is none. */
void rank_gpus_sentence(const struct step *s, const struct placement *here, const char *granted,
                        enum gpus_verdict verdict, char *buf, size_t n);

#endif
