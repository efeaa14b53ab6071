/* SPDX-License-Identifier: BSD-3-Clause */
/* mprsrc.h - what the files of mprsrc share */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/buffer.h"
#include "rm-adapters/gridengine/job-resources.h"
#include "tools/tool.h"

/* mprsrc(1), EXIT STATUS; the first three are those of every tool */
enum mprsrc_exit {
    MPRSRC_OK = TOOL_OK,
    MPRSRC_FAILED = TOOL_FAILED,
    MPRSRC_USAGE = TOOL_USAGE,
    MPRSRC_NO_JOB = 3,
    MPRSRC_NO_HOST = 4,
    MPRSRC_DAMAGED = 5,
    MPRSRC_QSTAT = 6,
};

enum mprsrc_mode { MODE_USERENV, MODE_PROLOG, MODE_EPILOG };

struct mprsrc_options { /* texts are argv's */
    struct tool_request request;
    enum mprsrc_mode mode;
    int mode_given;
    bool only;
    const char *host; /* NULL: all */
    uint32_t job;     /* 0: from standard input */
    uint32_t task;    /* 0: not given */
    bool json;
    const char *pe_hostfile, *qstat;
    const char *user; /* that root becomes */
    bool is_roots;    /* it was root's at first */
    double timeout;   /* seconds for each qstat */
    struct resource_names names;
};

extern const struct tool mprsrc_tool; /* mprsrc-options.c */
struct mprsrc_options mprsrc_defaults(void);

/* For root: become o->user for good, without groups and capabilities. 0, or -1 with err. */
int mprsrc_become_user(const struct mprsrc_options *o, struct error *err);

/* Runs qstat with these words (NULL-terminated, from argv[0] on) within o->timeout. 0 with its
 * output, 1 to GRIDENGINE_XML_MAX bytes that the caller frees; or -1. */
int mprsrc_qstat(const struct mprsrc_options *o, const char *const words[], struct buffer *ret,
                 struct error *err);

/* The job that this process is in, by JOB_ID or, in a session without it, by its shepherd; 0: none.
 * Such a session then has the job's variables. */
uint32_t mprsrc_own_job(const struct mprsrc_options *o);
/* Returns true when this process is one of that job. *ret_task is its task, 1 without tasks. */
bool mprsrc_is_own_job(uint32_t job, uint32_t *ret_task);
/* Finds the hosts of a job whose document names none. Returns an exit code. */
int mprsrc_find_hosts(const struct mprsrc_options *o, struct gridengine_job *job,
                      struct error *err);

/* The facts that can be printed. */
struct mprsrc_result {
    const struct mprsrc_options *options;
    const struct gridengine_job *job;
    const struct resources *resources;
    const struct resource_host *host; /* the host that the user asked for; NULL: all */
    const struct resource_host *held; /* the host on which a cgroup holds the job to */
    uint64_t held_memory;             /* so many bytes; NULL: none that is known */
};
void mprsrc_print_shell(FILE *to, const struct mprsrc_result *r);
int mprsrc_print_json(const struct mprsrc_result *r, struct error *err);
