/* SPDX-License-Identifier: BSD-3-Clause */
/* usage-now.h - what the ranks of this host use now, for mprun that asks (PRESENT_ASK) */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct other_processes;
struct ranks;
struct step_containment;
struct uplink;

struct current_usage {
    const struct ranks *ranks; /* NULL: there are none */
    const struct step_containment *containment;
    const struct other_processes *others;
    pid_t pmi_server; /* 0: there is none */
};

/* Answer PRESENT_ASK at once by PRESENT. -1: the message cannot be read. */
int current_usage_answer(struct uplink *up, const struct current_usage *c, const uint8_t *p,
                         size_t n);
