/* SPDX-License-Identifier: BSD-3-Clause */
/* report.h - what a step used: the facts, their sums, and the reports
 *
 *     report.c         sums and ratios
 *     report-text.c    the report for people
 *     report-launch.c  for people: how the start of the step went
 *     report-json.c    for programs: share/report-schema.json, explained in doc/report.md
 *     write-reports.c    the reports that were asked for, from the record of the step
 *
 * Unknown is absent: a field that is not known is "-" in the tables and missing in JSON, a column
 * that nobody knows is dropped, and a sum is known only when all its parts are. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/error.h"
#include "model/limits.h"
#include "model/rank-end.h"
#include "model/rank-name.h"
#include "model/step.h"
#include "model/usage.h"

struct step_plan;
struct cmdline;
struct step_record;

/* All strings and arrays are the caller's and stay; a NULL string is unknown. */
struct report_rank {
    struct rank_name name;
    uint32_t host;              /* index in hosts */
    pid_t pid;                  /* 0: never started */
    uint64_t start_ns;          /* CLOCK_REALTIME at its host; 0: unknown */
    const struct rank_end *end; /* NULL: unknown */
    const char *bound_threads;  /* idset; "" not bound; NULL unknown */
    uint32_t cores;             /* cores it is bound to; 0: not bound, or unknown */
    struct limits limits;       /* with held_by */
    struct usage usage;
};

/* The phases of each host's start, until its ranks run. */
enum launch_phase {
    LAUNCH_BEGUN,    /* its start client was started */
    LAUNCH_REPORTED, /* its starter said HELLO */
    LAUNCH_PLACED,   /* it has its place in the tree */
    LAUNCH_READY,    /* after LAUNCH: contained, bound, PMI server ready */
    LAUNCH_RUNNING,  /* all its ranks were started */
    LAUNCH_PHASE_COUNT,
};

struct launch_phase_words {
    const char *key;  /* for programs */
    const char *text; /* for people */
};
extern const struct launch_phase_words launch_phase_words[LAUNCH_PHASE_COUNT];

struct report_host {
    const char *name;
    float reached[LAUNCH_PHASE_COUNT]; /* seconds since the step began; 0: never */
    int ready;                         /* 0: it never got so far; what follows means nothing */
    enum tracking tracking;
    const char *tracking_reason; /* why no stronger one; "" at the strongest */
    const char *cgroup_kind;     /* "v1", "v2", "hybrid"; "" none */
    struct limits limits;        /* of the step on this host, with held_by */
    uint32_t cores;              /* that ranks may use here, */
    const char *threads;         /* with their hardware threads: an idset */
    const char *memory_nodes;    /* idset: NUMA nodes for their memory; NULL: unknown */
    const char *gpus;            /* that the job has here by mprund; NULL: none */
    enum devices_held gpus_held;
    const char *gpus_why; /* ranks have GPUs of their own: why they can open others'; NULL */
    struct usage starter; /* keeper, worker and mppmi */
    struct usage others;  /* processes of the ranks that no rank could be named for */
    struct usage total;   /* all of the step's ranks here, where a cgroup knows it */
};

/* The start of the step as a whole; times in seconds since the step began, 0: never. */
struct report_launch {
    double known;          /* hosts and places of ranks */
    double sent;           /* LAUNCH */
    double running;        /* all ranks were started */
    uint32_t fanout;       /* of the tree; 0: every host is linked to mprun */
    uint32_t depth;        /* levels of hosts */
    size_t links;          /* of mprun itself */
    size_t starts_at_once; /* the most that were under way */
    uint64_t messages;     /* of hosts, taken by mprun until all ranks were started */
    double cpu;            /* seconds of mprun's own until then */
};

struct report {
    const char *version; /* of mprun */
    const char *step_id;
    const char *job_id; /* "": none */
    const char *adapter;
    const char *command;       /* as typed, without mprun's options */
    uint64_t start_ns, end_ns; /* of the step, CLOCK_REALTIME */
    int exit_code;
    const struct rank_end *first_failure; /* NULL: none, or not a rank's */
    const char *failure_text;             /* the sentence the user saw; NULL: none */
    double sample_period;                 /* seconds; 0: no samples */
    struct limits limits;                 /* of the whole step, with held_by */
    bool has_own_limits;                  /* ranks of one program have others than another's */
    struct usage launcher;
    struct report_launch launch;
    const struct report_rank *ranks;
    size_t nranks;
    const struct report_host *hosts;
    size_t nhosts;
};

/* Sums of the facts. */
struct report_host_sum {
    struct usage usage; /* ranks and others; the host's total where it is known exactly */
    int memory_exact;   /* USAGE_MEMORY_PEAK is one exact peak, no sum of peaks */
    uint32_t nranks;
    size_t any_rank;            /* index of one of them */
    uint32_t cores;             /* used to the full these would be efficiency 1; 0: unknown */
    uint64_t first_ns, last_ns; /* its ranks ran from then to then, as far as it is known */
    bool has_later;             /* some began later: of other worlds, or restarted */
    double at_once;             /* how many of them ran at the same time, on average */
};
struct report_sums {
    struct report_host_sum *hosts;
    struct report_host_sum ranks; /* of all hosts */
    struct usage mprun;           /* mprun itself, starters, mppmi */
    struct usage step;            /* ranks and mprun: what the resource manager should have seen */
};
void report_sums_create(const struct report *r, struct report_sums *ret);
void report_sums_free(struct report_sums *s);

/* CPU time over wall time x cores, or -1 when one of them is unknown. */
double report_efficiency(const struct usage *u, double cores);
/* Cores that a rank's efficiency is measured by: those it is bound to, else its share of the
 * host's; 0: unknown. */
double report_rank_cores(const struct report *r, const struct report_sums *s, size_t rank);
const char *report_cause_key(enum end_cause cause); /* of the report for programs */
/* How a rank ended, in a word or two: "ok", "code 3", "signal 11 (SEGV)". Returns buf. */
const char *report_end_text(const struct rank_end *e, char *buf, size_t n);

enum { REPORT_ROWS_MAX = 32 }; /* more ranks, or hosts, than this are summarised */

/* The report for people, of several lines. all: a row for every rank and host, however many there
 * are. */
void report_print(const struct report *r, bool all, FILE *out);
/* Only its head, and what was held how. */
void report_print_containment(const struct report *r, FILE *out);
/* The report for programs, into a file that is replaced in one go ("-": standard output). 0, or -1
 * with err. */
int report_write_json(const struct report *r, const char *path, struct error *err);

/* ---- the start ------------------------------------------------------------------------------- */

enum { LAUNCH_SLOWEST = 3 };

/* A phase over all hosts. */
struct launch_sum {
    size_t hosts;               /* that got so far; 0: the times mean nothing */
    double first, median, last; /* seconds since the step began */
    size_t nslowest;            /* hosts that took the longest from the phase before, */
    struct {                    /* the slowest first */
        size_t host;
        double seconds;
    } slowest[LAUNCH_SLOWEST];
};

void launch_sum(const struct report *r, enum launch_phase phase, struct launch_sum *ret);
void report_print_launch(const struct report *r, FILE *out); /* for people */

/* ---- parts that others print, too ------------------------------------------------------------ */

/* "memory of a rank limited to 64 MiB, held by cgroup; ..."; "" when none is set. */
void report_limits_text(const struct limits *l, enum limit_level level, char *buf, size_t n);
struct json;
/* Puts the limits that are set, with what holds them, into an object as "limits". foreseen: their
 * level, where no host has said yet what holds them: what may; else NULL. */
void report_put_limits(struct json *in, const struct limits *l, const enum limit_level *foreseen);

/* ---- write-reports.c ------------------------------------------------------------------------- */

/* Before the step: can the file of --report-json be written, as far as is known? 0, or -1. */
int step_report_check(const struct cmdline *cmd, struct error *err);
/* Writes the reports that the command line asks for, with the user's umask. first: the rank's
 * failure that ended the step; text: the sentence on the step's end, "" for none. Returns 0, or -1
 * with one of the errors. */
int step_report_write(const struct step_plan *plan, const struct step_record *record,
                      const struct rank_end *first, const char *text, int exit_code,
                      struct error *err);
