/* SPDX-License-Identifier: BSD-3-Clause */
/* job-worlds.h - worlds of other steps of the job, with whose ranks those of this step are
 * connected
 *
 * PMIx_Connect (Open MPI's MPI_Comm_connect and MPI_Comm_accept) names ranks by their namespaces. A
 * namespace that is not the step's own is looked up in the other steps as a name is (job-names.h).
 * The step that has it describes the world, which gets a number here, and every host of this step
 * registers it. From then on its ranks take part in collectives, and their data can be had: both
 * through the mprun of either step. A world is forgotten when it has ended, or its step is gone.
 *
 * Steps have numbers, too: those of job-names.c, which count from 1. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/mprun.pb-c.h"
#include "wire/messages/frame.h"

struct host_table;
struct world;
struct worlds;

/* Sends to the mprun of a step; 0: of all steps. */
typedef void (*job_worlds_send_f)(void *arg, uint32_t step, enum frame_type type,
                                  const ProtobufCMessage *m);
/* Every step has sent its part of a collective. Answers the hosts of this step with n bytes, or
 * with an error (status is not 0). */
typedef void (*job_worlds_answer_f)(void *arg, const Mprun__Collect *m, int status,
                                    const uint8_t *data, size_t n);

struct job_worlds { /* private to job-worlds.c */
    struct host_table *hosts;
    struct worlds *worlds; /* of this step */
    job_worlds_send_f send;
    void *send_arg;
    job_worlds_answer_f answer;
    void *answer_arg;
    struct other_world *others;
    uint32_t last_number, nothers;
    struct meeting *meetings; /* collectives of which this step has sent its part, */
    struct early *early;      /* and other steps' parts of collectives that lack ours */
    size_t bytes;             /* of these parts */
};

void job_worlds_init(struct job_worlds *j, struct host_table *hosts, struct worlds *worlds);
void job_worlds_on_send(struct job_worlds *j, job_worlds_send_f send, void *arg);
void job_worlds_on_answer(struct job_worlds *j, job_worlds_answer_f answer, void *arg);
void job_worlds_free(struct job_worlds *j);

/* ---- between steps --------------------------------------------------------------------------- */

/* The namespace of a world of this step; "": it has none, or has ended. */
const char *job_worlds_nspace(const struct job_worlds *j, uint32_t world);
/* Describes the world of this step with this namespace: a PmiWorld of *ret_n bytes, which the
 * caller frees. From then on all steps are told when it has ended. NULL: there is none. */
uint8_t *job_worlds_describe(struct job_worlds *j, const char *nspace, size_t *ret_n);
/* Take another step's answer to a lookup of nspace. Ignores an invalid description. */
void job_worlds_learn(struct job_worlds *j, uint32_t step, const char *nspace,
                      ProtobufCBinaryData description);
/* COLLECT, MODEX_REQUEST, MODEX_REPLY and WORLD_END of another step. False: not understood. */
bool job_worlds_frame(struct job_worlds *j, uint32_t step, enum frame_type type, const uint8_t *p,
                      size_t n);
/* A step is gone. Returns whether a world of it was known here and had not ended. */
bool job_worlds_step_gone(struct job_worlds *j, uint32_t step);

/* ---- in this step ---------------------------------------------------------------------------- */

/* All hosts of this step have their parts, n bytes, in a collective with other steps. */
void job_worlds_collect(struct job_worlds *j, const Mprun__Collect *m, const uint8_t *data,
                        size_t n);
/* MODEX_REQUEST of a host. False: the rank is of no other step. Changes *m. */
bool job_worlds_modex_request(const struct job_worlds *j, Mprun__ModexRequest *m);
/* MODEX_REPLY of a host for another step. Changes *m. */
void job_worlds_modex_reply(const struct job_worlds *j, Mprun__ModexReply *m);
void job_worlds_own_ended(struct job_worlds *j, const struct world *w);
