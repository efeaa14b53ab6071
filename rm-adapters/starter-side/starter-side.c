/* SPDX-License-Identifier: BSD-3-Clause */
/* starter-side.c - the resource managers that mpstarter knows, and questions to all */
#include "rm-adapters/starter-side/starter-side.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/must.h"
#include "common/text/text.h"
#include "common/text/words.h"

extern const struct rm_starter_side rm_starter_side_gridengine, rm_starter_side_pbs,
    rm_starter_side_slurm, rm_starter_side_torque;

/* LSF's JOB_STARTER hands over words that a shell has split already, or (JOB_STARTER = mpstarter
 * "%USRCMD") one command line: what mpstarter does with any command. A job that is no array has
 * index 0. */
static const struct rm_starter_side lsf = {
    .name = "lsf",
    .variables = {[JOB_ID] = "LSB_JOBID",
                  [JOB_TASK] = "LSB_JOBINDEX",
                  [JOB_QUEUE] = "LSB_QUEUE",
                  [JOB_SLOTS] = "LSB_DJOB_NUMPROC",
                  [JOB_HOSTFILE] = "LSB_DJOB_HOSTFILE"},
    .task_variables = (const char *const[]){"LSF_PM_TASKID=", NULL},
};

const struct rm_starter_side *const rm_starter_sides[] = {
    &rm_starter_side_gridengine, &lsf, &rm_starter_side_torque, &rm_starter_side_slurm,
    &rm_starter_side_pbs,        NULL,
};

const char rm_starter_side_help[] =
    "Name it as starter_method of a Grid Engine queue, JOB_STARTER of LSF or $job_starter of\n"
    "Torque; see mpstarter(1).\n";

const struct rm_starter_side *rm_starter_side_caller(void)
{
    for (size_t i = 0; rm_starter_sides[i]; i++)
        if (rm_starter_sides[i]->has_called && rm_starter_sides[i]->has_called())
            return rm_starter_sides[i];
    return NULL;
}

const struct rm_starter_side *rm_starter_side_of_job(void)
{
    for (size_t i = 0; rm_starter_sides[i]; i++) {
        const struct rm_starter_side *m = rm_starter_sides[i];
        const char *id = m->variables[JOB_ID];
        if (id && getenv(id) && (!m->has_called || m->has_called()))
            return m;
    }
    return NULL;
}

int rm_starter_side_task_number(unsigned *ret)
{
    for (size_t i = 0; rm_starter_sides[i]; i++)
        if (rm_starter_sides[i]->task_number && rm_starter_sides[i]->task_number(ret) == 0)
            return 0;
    return -1;
}

int rm_starter_side_open_start(int *ret_fd, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && rm_starter_sides[i]; i++)
        if (rm_starter_sides[i]->open_start)
            rc = rm_starter_sides[i]->open_start(ret_fd, err);
    return rc;
}

static const struct rm_starter_side *counts_sessions(void)
{
    for (size_t i = 0; rm_starter_sides[i]; i++)
        if (rm_starter_sides[i]->counts_sessions && rm_starter_sides[i]->counts_sessions())
            return rm_starter_sides[i];
    return NULL;
}

bool rm_starter_side_counts_sessions(void)
{
    return counts_sessions();
}

int rm_starter_side_attach_session(pid_t pid, struct error *err)
{
    const struct rm_starter_side *m = counts_sessions();
    return m ? m->attach_session(pid, err) : 0;
}

bool rm_starter_side_is_tracked(char *how, size_t n)
{
    for (size_t i = 0; rm_starter_sides[i]; i++)
        if (rm_starter_sides[i]->is_tracked && rm_starter_sides[i]->is_tracked(how, n))
            return true;
    return false;
}

bool rm_starter_side_is_task_variable(const char *entry)
{
    for (size_t i = 0; rm_starter_sides[i]; i++)
        if (rm_starter_sides[i]->task_variables &&
            begins_with_any(entry, rm_starter_sides[i]->task_variables))
            return true;
    return false;
}

/* ---- what to execute ------------------------------------------------------------------------- */

void job_command_words(struct job_command *c, char **words)
{
    c->file = words[0];
    c->words = words;
}

void job_command_shell(struct job_command *c, const char *shell, char *option, char **words)
{
    size_t n = 0;
    while (words[n])
        n++;
    char **to = c->words = must(calloc(n + 3, sizeof(*c->words)));
    *to++ = text_format("%s%s", c->is_login ? "-" : "", basename(shell));
    if (option)
        *to++ = option;
    memcpy(to, words, n * sizeof(*words));
    c->file = shell;
}

void job_command_line(struct job_command *c, const char *shell, char *line)
{
    static char option[] = "-c";
    char *words[] = {line, NULL};
    job_command_shell(c, shell, option, words);
}

bool job_command_is_line(char *const *words)
{
    if (words[1] || !strpbrk(words[0], " \t\n|&;<>()$`\\\"'*?[#~"))
        return false;
    return !strchr(words[0], '/') || access(words[0], X_OK) < 0;
}
