/* SPDX-License-Identifier: BSD-3-Clause */
/* srun-words.h - parses lines of srun's standard error: meaning and tasks
 *
 * Slurm 22.05, srun --label. Three kinds of lines come:
 *
 *     2: mpstarter: on n3: ...                              a task's own standard error
 *     srun: error: n[1-2]: tasks 0-1: Exited with exit code 1
 *     srun: error: n3: task 2: Killed                       how tasks have ended
 *     srun: error: Unable to create step for job 9: ...     srun's own, some with a node's name */
#pragma once

#include <stddef.h>

#include "common/text/idset.h"

enum srun_says {
    SRUN_TASK_SAID,   /* `task` wrote `text` */
    SRUN_TASKS_ENDED, /* `tasks` have ended with `status`, for which srun has the word `text` */
    SRUN_SAID,        /* srun itself says `text`, without "srun: error: " */
};

struct srun_line {
    enum srun_says says;
    size_t task;
    struct idset tasks; /* the caller frees it */
    int status;         /* as from waitpid() */
    const char *text;   /* in the line */
};

/* Reads one line, without its newline. */
void srun_line_read(const char *line, struct srun_line *ret);
/* Does the text have this name as a word of its own: "failed on node n1: ..."? */
int srun_text_has_name(const char *text, const char *name);
