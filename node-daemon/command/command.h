/* SPDX-License-Identifier: BSD-3-Clause */
/* command.h - functions that the files of mprund's command share */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/text/options.h"
#include "containment/mprund-protocol.h"
#include "node-daemon/conf/conf.h"

/* ---- options.c: the command line ------------------------------------------------------------- */

struct mprund_options {
    const char *config;       /* NULL: the default, which need not exist */
    const char *pidfile;      /* NULL: none */
    const char *sentinel_dir; /* NULL: the configuration's */
    const char *trace;        /* the same; "-": standard error */
    unsigned enable, disable; /* subsystems, beside the configuration's: bits as in struct conf */
    const char *make_key;     /* NULL: none */
    bool check, background, verbose, help, version;
    const char *word; /* "status", "sensor", "enter"; NULL: be the daemon */
    bool json;        /* of status */
    /* of enter */
    const char *job, *user;
    uint64_t memory, pids; /* GRANT_UNLIMITED: none */
    uint32_t cores, gpus;  /* 0: not given */
    char **command;
};

extern const struct option_def mprund_option_defs[];
/* 0, or -1 with err: wrong use. */
int mprund_options_parse(int argc, char **argv, struct mprund_options *ret, struct error *err);

/* ---- check.c: `mprund --check`, would the daemon work here? ---------------------------------- */

/* Print a line for each thing that the daemon needs: verdict, object, remedy. Changes nothing. c:
 * the configuration read from `file`; NULL: err says why it could not be read. Returns the number
 * of things that are wrong. */
unsigned check_print(const struct conf *c, const char *file, const struct error *err);

/* ---- status.c: `mprund status`, the running daemon's jobs ------------------------------------ */

struct status {
    struct grant_answer *job; /* those that the caller may see */
    size_t n;
    struct grant_answer all; /* numbers of the whole host */
};

/* Ask the daemon, waiting 5 s for each answer: 0, or -1 with err and nothing to free. */
int status_ask(struct status *ret, struct error *err);
void status_free(struct status *s);
/* status-words.c: words of an answer's numbers: "gridengine", "running"; "?" */
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

/* ---- systemd.c: a place for jobs that systemd leaves alone ----------------------------------- */

#define SYSTEMD_SCOPE_CGROUP "/system.slice/mprund-jobs.scope"

/* Is this host to have the jobs of cgroup v2 in a scope of systemd's? By default where it runs
 * systemd and cgroup v2 is mounted. */
int systemd_is_wanted(const struct conf *c);
/* The name in cgroup v2 of a delegated scope that exists whether the daemon does or not: made where
 * it is missing, with a process that does nothing but keep it. Waits for systemd. 0, or -1 with
 * err. */
int systemd_scope(const char **ret_cgroup, struct error *err);
/* The process in the scope (`mprund hold`): reports that it runs, and waits for ever. */
int systemd_hold(void);

/* ---- the others ------------------------------------------------------------------------------ */

/* daemonize.c: go on as a process of a session of its own; the caller's process waits until
 * ready_tell() and exits with 0, or with the exit code of this one when that ends before. *ret is
 * for ready_tell(). 0, or -1. */
int daemonize(int *ret, struct error *err);
/* enter.c: `mprund enter`: have the running daemon put this process, root's, into the job, and
 * become the command. Returns only on failure: -1 with err. */
int enter_and_exec(const struct mprund_options *o, struct error *err);
/* resolve.c: the configuration as the options change it. 0, or -1 with err. */
int resolve_settings(const struct mprund_options *o, struct conf *ret, struct error *err);
/* `mprund resolve`: prepare what root alone can, and give it to the supervisor, at START_CONTROL.
 * what: as supervisor/supervisor.h has it. 0, or -1 with err. */
int resolve(const struct mprund_options *o, const char *what, struct error *err);
