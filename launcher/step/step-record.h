/* SPDX-License-Identifier: BSD-3-Clause */
/* step-record.h - the facts that hosts have sent about themselves and their ranks so far
 *
 * Messages of starters fill it; reports, status and failures read it. Hosts are counted among those
 * that have ranks, as on the wire. */
#pragma once

#include <stdbool.h>

#include "launcher/report/report.h"
#include "launcher/step/step-plan.h"
#include "wire/messages/values.h"

/* Facts that a host's starter has said, beside those of reports. */
struct host_facts {
    char *kernel_name, *version, *allowed_threads; /* HELLO's; NULL before it */
    uint64_t memory;                               /* bytes of the machine */
    pid_t worker;                                  /* 0 before HELLO */
    char **cgroup_paths, **directories; /* READY's: what the host makes, and must not leave behind;
                                           NULL-terminated; NULL before it */
    char *bind_reason;                  /* READY's */
    struct limits rank_limits;          /* READY's, with held_by */
    uint32_t started, ended;            /* ranks of world 0 */
};

struct rank_counts { /* of all worlds */
    uint32_t started, ended;
    uint32_t known; /* started or ended */
};

struct former_rank { /* an incarnation that has failed and was followed by another */
    struct former_rank *next;
    struct report_rank row;
    struct rank_facts *facts; /* private to step-record.c */
};

struct world_record { /* the ranks of a world, by their numbers in it */
    struct world_record *next;
    uint32_t number, nranks;
    struct report_rank *ranks;   /* the last incarnation of each */
    struct former_rank *formers; /* in no order; of worlds whose rows are wanted */
    struct rank_facts *endings;  /* private to step-record.c */
};

/* Everybody may read it; step-record.c writes, and the step's files beside it note times of the
 * launch and count messages. */
struct step_record {
    const struct step_plan *plan;
    struct report_launch launch;
    struct host_facts *facts;    /* of each host */
    struct report_host *hosts;   /* of each host */
    struct world_record *worlds; /* in the order of their numbers */
    uint32_t nranks;             /* of all worlds so far */
    uint32_t nformers;           /* of all worlds */
    struct rank_counts counts;
    uint64_t nmessages;
};

void step_record_init(struct step_record *r, const struct step_plan *plan);
void step_record_free(struct step_record *r); /* what it holds, not itself; zero is fine */

struct world;
/* The ranks of one more world. */
void step_record_add_world(struct step_record *r, const struct world *world);
/* All ranks of the world have ended well. Its rows are kept only for a report that is wanted. */
void step_record_world_ended(struct step_record *r, uint32_t world);

/* ---- hosts ----------------------------------------------------------------------------------- */

void step_record_hello(struct step_record *r, uint32_t host, const Mprun__Hello *m);
void step_record_ready(struct step_record *r, uint32_t host, const Mprun__Ready *m);
void step_record_report(struct step_record *r, uint32_t host, const Mprun__Report *m);
/* The same for some ranks of the host alone. */
void step_record_rank_reports(struct step_record *r, uint32_t host, const Mprun__Report *m);
/* Note that the host has reached this phase now; only the first call counts. */
void step_record_reached(struct step_record *r, uint32_t host, enum launch_phase phase);

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Returns the row of a rank's last incarnation, whichever the name has; NULL: no such rank, or its
 * world's rows are not kept. */
const struct report_rank *step_record_rank(const struct step_record *r, struct rank_name name);
/* False: it had been started before. */
bool step_record_started(struct step_record *r, struct rank_name name,
                         const Mprun__Started__Rank *m);
/* text: the starter's words on the end, "" for none. False: the rank had ended before. */
bool step_record_ended(struct step_record *r, const struct rank_end *end, const Mprun__Usage *usage,
                       const char *text);
/* The rank, which has ended, is started again: its row is of the next incarnation now, which has
 * not been started. The row before is kept if a report is wanted. Returns the new name. */
struct rank_name step_record_restart(struct step_record *r, struct rank_name name);
const char *step_record_end_text(const struct step_record *r, struct rank_name name); /* or NULL */
/* With --explain and --dry-run: the cores of a rank in words, "" for a rank that is not bound;
 * NULL: not known. */
const char *step_record_bound_text(const struct step_record *r, struct rank_name name);
/* The end of this rank has another cause than the record says. */
void step_record_change_cause(struct step_record *r, struct rank_name name, enum end_cause cause);

/* ---- --dry-run: what a host would say -------------------------------------------------------- */

/* How the host would deal its cores to its ranks. */
void step_record_foreseen(struct step_record *r, uint32_t host, const char *bind_reason);
/* The cores of a rank: hardware threads, "" for none in particular, and the same in words. */
void step_record_foreseen_rank(struct step_record *r, struct rank_name name, const char *threads,
                               const char *text);

/* ---- the start of the step ------------------------------------------------------------------- */

void step_record_note_starts(struct step_record *r, size_t under_way);
void step_record_all_running(struct step_record *r, size_t links);
