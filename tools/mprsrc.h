/* SPDX-License-Identifier: BSD-3-Clause */
/* mprsrc.h - what the parts of mprsrc know of each other */
#ifndef TOOLS_MPRSRC_H
#define TOOLS_MPRSRC_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/options.h"
#include "rm-adapters/gridengine-job.h"
#include "rm-adapters/resources.h"

enum mprsrc_exit { /* mprsrc(1), EXIT STATUS */
                   MPRSRC_OK = 0,
                   MPRSRC_FAILED = 1,
                   MPRSRC_USAGE = 2,
                   MPRSRC_NO_JOB = 3,
                   MPRSRC_NO_HOST = 4,
                   MPRSRC_DAMAGED = 5,
                   MPRSRC_QSTAT = 6,
};

enum mprsrc_mode { MODE_USERENV, MODE_PROLOG, MODE_EPILOG };

struct mprsrc_options {
    enum mprsrc_mode mode;
    int mode_given;
    int only;
    const char *host; /* NULL: all */
    uint32_t job;     /* 0: from standard input */
    uint32_t task;    /* 0: not given */
    int json, help, version;
    const char *pe_hostfile, *qstat;
    double timeout; /* seconds for each qstat */
    struct resource_names names;
};

extern const struct option_def mprsrc_option_table[];
/* 0, or -1 with a sentence. Texts are argv's. */
int mprsrc_options_parse(int argc, char **argv, struct mprsrc_options *ret, struct error *err);
char *mprsrc_help(size_t width); /* caller frees */

/* What qstat prints with these arguments (NULL-terminated, argv[0] left out), within o->timeout and
 * GRIDENGINE_XML_MAX; caller frees. NULL with err. */
char *mprsrc_qstat(const struct mprsrc_options *o, const char *const arguments[], size_t *ret_len,
                   struct error *err);

/* Is this process one of that job? Then *ret_task is its task by the environment, 1 without tasks.
 */
int mprsrc_is_own_job(uint32_t job, uint32_t *ret_task);
/* Hosts of a job whose document names none, from where they can be had. An exit code. */
int mprsrc_find_hosts(const struct mprsrc_options *o, struct gridengine_job *job,
                      struct error *err);

/* Fill in which GPUs of this host the job has, if only their number is known, and mprund says so.
 */
void mprsrc_ask_daemon(const struct gridengine_job *job, struct resource_devices *gpus);

/* What was found out, as it is printed. */
struct mprsrc_result {
    const struct mprsrc_options *options;
    const struct gridengine_job *job;
    const struct resources *resources;
    const struct resource_host *host; /* the one that is asked for, or NULL: all */
};
void mprsrc_print_shell(FILE *to, const struct mprsrc_result *r);
int mprsrc_print_json(const struct mprsrc_result *r, struct error *err);

#endif
