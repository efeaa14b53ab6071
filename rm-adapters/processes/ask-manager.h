/* SPDX-License-Identifier: BSD-3-Clause */
/* ask-manager.h - runs a manager's own command and reads its answer, within a time and a size
 *
 * The caller waits, as nowhere else in mprun: before the step, and after its start failed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/buffer.h"
#include "common/error.h"

struct ask {
    const char *path; /* of the program; PATH is not searched */
    char *const *argv;
    char *const *envp; /* NULL: this process's own */
    double seconds;    /* that the program has until its end */
    size_t max;        /* bytes of its output; more are an error */
    bool same_group;   /* it stays in the caller's process group, and others see to its end */
};

struct ask_answer {
    struct buffer said;   /* its standard output */
    struct buffer errors; /* the beginning of its standard error */
    int status;           /* as waitpid() gives it */
};

/* Run the program to its end, whatever its exit code. 0 with *ret, which ask_answer_free() empties.
 * Or -1 with err and nothing to free: it could not be run, ETIMEDOUT, EFBIG; then it was killed,
 * with its process group where it has one of its own. */
int ask_run(const struct ask *a, struct ask_answer *ret, struct error *err);
void ask_answer_free(struct ask_answer *answer);

/* Run a program for at most so many seconds. buf gets what it wrote to its standard output, cut to
 * n - 1 bytes, with a NUL. 0, or -1 with err: it could not be run, took too long (ETIMEDOUT), wrote
 * more than a MiB, or failed. */
int ask_command(const char *path, char *const argv[], double seconds, char *buf, size_t n,
                struct error *err);
