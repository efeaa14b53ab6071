/* SPDX-License-Identifier: BSD-3-Clause */
/* options.h - mprund's command line */
#pragma once

#include <stdint.h>

#include "common/options.h"

struct mprund_options {
    const char *config;       /* NULL: the default, which need not exist */
    const char *pidfile;      /* NULL: none */
    const char *sentinel_dir; /* NULL: the configuration's */
    const char *trace;        /* the same; "-": standard error */
    unsigned enable, disable; /* subsystems, beside the configuration's: bits as in struct conf */
    const char *make_key;     /* NULL: none */
    int check, background, verbose, help, version;
    const char *word; /* "status", "sensor", "enter"; NULL: be the daemon */
    int json;         /* of status */
    /* of enter */
    const char *job, *user;
    uint64_t memory, pids; /* GRANT_UNLIMITED: none */
    uint32_t cores, gpus;  /* 0: not given */
    char **command;
};

extern const struct option_def mprund_option_defs[];
/* 0, or -1 with err: wrong use. */
int mprund_options_parse(int argc, char **argv, struct mprund_options *ret, struct error *err);
