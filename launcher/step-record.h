/* SPDX-License-Identifier: BSD-3-Clause */
/* step-record.h - what hosts and ranks of the step have said of themselves so far
 *
 * Messages of starters fill it; reports, status and failures read it. Hosts are counted among those
 * that have ranks, as on the wire. */
#pragma once

#include <stdbool.h>

#include "launcher/report/report.h"
#include "launcher/step-plan.h"
#include "wire/messages/values.h"

struct step_record;

/* NULL: out of memory. */
struct step_record *step_record_create(const struct step_plan *plan);
void step_record_destroy(struct step_record *r); /* NULL is fine */

/* ---- hosts ----------------------------------------------------------------------------------- */

/* Facts that a host's starter has said, beside those of reports. */
struct host_facts {
    char *kernel_name, *version, *allowed_threads; /* HELLO's; NULL before it */
    uint64_t memory;                               /* bytes of the machine */
    pid_t worker;                                  /* 0 before HELLO */
    char **cgroup_paths, **directories; /* READY's: what the host makes, and must not leave behind;
                                           NULL-terminated; NULL before it */
    uint32_t started, ended;            /* ranks */
};

const struct host_facts *step_record_facts(const struct step_record *r, uint32_t host);
const struct report_host *step_record_host(const struct step_record *r, uint32_t host);
void step_record_hello(struct step_record *r, uint32_t host, const Mprun__Hello *m);
void step_record_ready(struct step_record *r, uint32_t host, const Mprun__Ready *m);
void step_record_report(struct step_record *r, uint32_t host, const Mprun__Report *m);
/* The host has got so far now; the first time counts. */
void step_record_reached(struct step_record *r, uint32_t host, enum launch_phase phase);
bool step_record_has_report(const struct step_record *r, uint32_t host);

/* ---- ranks ----------------------------------------------------------------------------------- */

/* NULL: the step has no such rank. */
const struct report_rank *step_record_rank(const struct step_record *r, struct rank_name name);
/* False: it had been started before. */
bool step_record_started(struct step_record *r, struct rank_name name, pid_t pid,
                         uint64_t start_ns);
/* text: the starter's words on the end, "" for none. False: the rank had ended before. */
bool step_record_ended(struct step_record *r, const struct rank_end *end, const Mprun__Usage *usage,
                       const char *text);
const char *step_record_end_text(const struct step_record *r, struct rank_name name); /* or NULL */
/* The end of this rank has another cause than the record says. */
void step_record_change_cause(struct step_record *r, struct rank_name name, enum end_cause cause);

struct rank_counts {
    uint32_t started, ended;
    uint32_t known; /* started or ended */
};
struct rank_counts step_record_counts(const struct step_record *r);

/* ---- the start of the step ------------------------------------------------------------------- */

void step_record_count_message(struct step_record *r); /* a host has sent one */
void step_record_note_starts(struct step_record *r, size_t under_way);
void step_record_planned(struct step_record *r);
void step_record_launch_sent(struct step_record *r);
void step_record_all_running(struct step_record *r, size_t links);
const struct report_launch *step_record_launch(const struct step_record *r);

/* Sets the hosts, ranks and start of a report; they stay the record's. */
void step_record_fill(const struct step_record *r, struct report *ret);
