/* SPDX-License-Identifier: BSD-3-Clause */
/* pbs-private.h - for the files of pbs/ alone */
#pragma once

#include "rm-adapters/adapter.h"

/* The variable by which a starter finds its start parameters: "HOST NODE TASK FRAMED NAME": its
 * number in the step, the information of that name that mprun, task TASK on node NODE, has posted,
 * and whether pbs_mom wants packets. */
#define TM_START_VARIABLE "MPRUN_TM_START"
/* In Torque: the start parameters themselves, in hexadecimal digits. */
#define TM_PREAMBLE_VARIABLE "MPRUN_TM_PREAMBLE"

/* Returns the TM node of this process, and in *ret_nodes the number of nodes: TM counts lines,
 * PBS_NODENUM hosts. */
uint32_t pbs_own_node(uint32_t *ret_nodes);

/* Members of the adapter's table in tm-start.c, as adapter.h describes them. */
struct starting *tm_start(const struct start_request *request, struct error *err);
void tm_start_cancel(struct starting *s);
void tm_start_destroy(struct starting *s);
void tm_start_reported(struct starting *s, size_t host);
void tm_start_left(struct starting *s, size_t host);
void tm_start_abandon(struct starting *s, size_t host);
void tm_start_retry(struct starting *s, size_t host);
bool tm_start_hand_over(struct starting *s, size_t host, int *ret_fd);
void tm_start_describe(const struct start_request *request, const struct alloc_host *host,
                       char *buf, size_t n);
