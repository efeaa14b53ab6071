/* SPDX-License-Identifier: BSD-3-Clause */
/* final-report.h - REPORT: what the ranks of this host, and the starter itself, have used */
#pragma once

#include <sys/types.h>

struct other_processes;
struct pmi_server;
struct rank_binding;
struct ranks;
struct step_containment;
struct uplink;

struct final_report {
    struct ranks *ranks;                /* NULL: there are none */
    const struct rank_binding *binding; /* NULL: not chosen */
    const struct step_containment *containment;
    const struct other_processes *others;
    const struct pmi_server *pmi; /* NULL: no PMI */
    pid_t keeper;
};

/* Nothing is sent without a link, or when memory is out. */
void final_report_send(struct uplink *up, const struct final_report *f);
