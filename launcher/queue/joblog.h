/* SPDX-License-Identifier: BSD-3-Clause */
/* joblog.h - the file of --joblog: a line for each command that has ended, in GNU parallel's format
 *
 *     Seq Host Starttime JobRuntime Send Receive Exitval Signal Command
 *
 * Tabs separate. Seq is the command's number from 1. Times are seconds. Send and Receive are 0. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

struct joblog_line {
    size_t number;
    const char *host; /* of the command's first rank */
    uint64_t start_ns, end_ns;
    int code, signal; /* 0, 0: the command has succeeded */
    const char *command;
};

/* Calls take for each line of the file, with number, code, signal and command. A file that is not
 * there has no lines. A last line without its end, of which a full disk or a kill has left a part,
 * does not count: *ret_size has the bytes before it. 0, or -1 with err. */
int joblog_read(const char *path,
                int (*take)(void *arg, const struct joblog_line *l, struct error *err), void *arg,
                long *ret_size, struct error *err);
/* Opens it for more lines behind the first `size` bytes; 0: empties it. NULL with err. The caller
 * closes it. */
FILE *joblog_open(const char *path, long size, struct error *err);
/* 0, or -1 with errno. */
int joblog_write(FILE *f, const struct joblog_line *l);
