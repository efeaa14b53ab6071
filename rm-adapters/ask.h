/* SPDX-License-Identifier: BSD-3-Clause */
/* ask.h - what a manager's own command says, within a time and a size
 *
 * It is waited for, as nothing else is in mprun: only before the step begins, and where it has
 * failed already. */
#ifndef RM_ADAPTERS_ASK_H
#define RM_ADAPTERS_ASK_H

#include <stddef.h>

#include "common/buffer.h"
#include "common/error.h"

struct ask {
    const char *path; /* what to execute; no search in PATH */
    char *const *argv;
    char *const *envp; /* NULL: ours */
    double seconds;    /* until it has ended, not only said all */
    size_t max;        /* more bytes of output are an error */
    int same_group;    /* it stays in our process group, whose end is for others to bring */
};

struct ask_answer {
    struct buffer said;   /* its standard output */
    struct buffer errors; /* the beginning of its standard error */
    int status;           /* as waitpid() gives it */
};

/* Run it to its end, whatever that is. 0 with *ret, to be freed with ask_answer_free(); or -1 with
 * err, and nothing to free: it could not be run, ETIMEDOUT, EFBIG. Then it was killed, where it has
 * a process group of its own with that. */
int ask_run(const struct ask *a, struct ask_answer *ret, struct error *err);
void ask_answer_free(struct ask_answer *answer);

/* Run a program for at most so many seconds. What it wrote to its standard output, cut to n - 1
 * bytes, is in buf; 0, or -1 with err when it could not run, took too long (ETIMEDOUT), said more
 * than a MiB, or failed. */
int ask_command(const char *path, char *const argv[], double seconds, char *buf, size_t n,
                struct error *err);

#endif
