/* SPDX-License-Identifier: BSD-3-Clause */
/* status.h - `mprund status`: the running daemon's jobs, for people and for programs */
#pragma once

#include <stddef.h>

#include "containment/mprund-protocol.h"

struct status {
    struct grant_answer *job; /* those that the caller may see */
    size_t n;
    struct grant_answer all; /* numbers of the whole host */
};

/* Ask the daemon, waiting 5 s for each answer: 0, or -1 with err and nothing to free. */
int status_ask(struct status *ret, struct error *err);
void status_free(struct status *s);
/* Words of an answer's numbers: "gridengine", "running"; "?" */
const char *status_manager(uint32_t manager);
const char *status_state(uint32_t state);
const char *status_cores(uint32_t how); /* enum grant_cores */
/* The name of the job's user; "": the name service does not know it, or nobody says yet whose the
 * job is. Valid until the next call. */
const char *status_user(const struct grant_answer *a);

/* Ask and print, a table or a JSON document: 0, 1 when a job is stuck, or -1 with err. */
int status_print(int as_json, struct error *err);
/* `mprund sensor`: ask and print the host's numbers, a line NAME:VALUE each, for
 * share/gridengine/load-sensor. 0, or -1 with err. */
int status_print_numbers(struct error *err);
/* status-json.c */
int status_write_json(const struct status *s, struct error *err);
