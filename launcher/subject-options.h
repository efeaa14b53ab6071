/* SPDX-License-Identifier: BSD-3-Clause */
/* subject-options.h - what users say of each subject; the strings are the command line's */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/link/link.h"
#include "wire/transport/address.h"

enum transport {
    TRANSPORT_AUTO, /* unix where all hosts are this machine, else tcp */
    TRANSPORT_UNIX,
    TRANSPORT_TCP,
    TRANSPORT_STDIO,
};

extern const char *const transport_words[]; /* by enum transport; NULL-terminated */

struct host_link_options {
    enum transport transport;
    enum link_security security; /* of links between hosts; Unix sockets have none */
    const char *interface;       /* NULL: all */
    struct port_range ports;     /* 0, 0: any */
    double grace;                /* seconds that an interrupted link is waited for; 0: it is not */
    double heartbeat;            /* seconds of silence after which a host is named; 0: none is */
    uint32_t fanout;             /* hosts that one passes on to; 0: none */
};

/* How long agents stay, other than so many seconds: while there is a step; until the job ends; this
 * step starts none; KEEP_STEP where the manager has perhaps no room for two tasks, else KEEP_NO. */
enum { KEEP_STEP = 0, KEEP_JOB = -1, KEEP_NO = -2, KEEP_AS_NEEDED = -3 };

struct start_options {
    char **agent;         /* words of --agent; NULL: none */
    const char *prefix;   /* where mprun is installed on other machines; NULL: as here */
    int64_t tree;         /* from so many hosts on they start others; 0: never; -1: not said */
    double keep;          /* seconds that the job's agents stay without a step, or a KEEP_ */
    int wait_cores;       /* for those of other steps that wait, too */
    uint32_t concurrency; /* 0: the adapter's default */
    double timeout;       /* seconds that a host has to report back */
};

struct preload_options {
    bool binary, libs, clean;
    const char *const *files; /* nfiles lists with commas, of the argv that was parsed */
    size_t nfiles;
    uint64_t limit; /* bytes that a host keeps */
};

struct queue_options {
    const char *from; /* file, "-": standard input, ":::": words of the line; NULL: no queue */
    const char *log;  /* --joblog; NULL: none */
    uint32_t retries; /* of a command that fails */
    bool resume, progress;
};

struct debugging_options {
    const char *wrap;          /* NULL: none; valid words */
    const char *wrapped_ranks; /* idset; NULL: all */
    const char *daemon;        /* NULL: none; valid words */
    bool stop_on_exec, stop_in_init;
    bool stack_traces, report_state; /* at the end of --timeout */
};

enum report_usage {
    REPORT_USAGE_NONE,
    REPORT_USAGE,     /* many ranks are summarised */
    REPORT_USAGE_ALL, /* a row for every rank */
};

struct report_options {
    enum report_usage usage;
    bool launch, containment;
    const char *json; /* file, "-": standard output; NULL: none */
};
