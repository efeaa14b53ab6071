/* SPDX-License-Identifier: BSD-3-Clause */
/* gridengine.c - Grid Engine's starter_method, and what it left for a task on its host
 *
 * Grid Engine (8.1.9; sge_queue_conf(5), and its sources: what sge_shepherd and qrsh_starter
 * execute without a starter method) says in three variables what a job's shell would be:
 *
 *     SGE_STARTER_SHELL_START_MODE    how the script is started; set in every call
 *     SGE_STARTER_SHELL_PATH          the shell; empty in a task of qrsh
 *     SGE_STARTER_USE_LOGIN_SHELL     "true"
 *
 * Two things it does not say. Whether a job is a binary (qsub -b y), perhaps without a shell
 * (-shell no), stands in the spool's `config`. Whether a task is without a shell (qrsh -noshell)
 * stands in the arguments of the parent, qrsh_starter. The words of a task come apart or as one
 * command line, as they were written after qrsh. */
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "rm-adapters/gridengine/task-spool.h"
#include "rm-adapters/starter-side/starter-side.h"

static const char *start_mode(void)
{
    return getenv("SGE_STARTER_SHELL_START_MODE");
}

static bool gridengine_has_called(void)
{
    return start_mode() != NULL;
}

/* -s stands before a script on standard input, and before a command in older versions. */
static bool gridengine_is_own_option(const char *word)
{
    return strcmp(word, "-s") == 0 || strcmp(word, "-c") == 0;
}

/* ---- a task ---------------------------------------------------------------------------------- */

static const char *login_shell(void)
{
    const struct passwd *user = getpwuid(getuid());
    return user && user->pw_shell && user->pw_shell[0] ? user->pw_shell : "/bin/sh";
}

/* Does qrsh_starter, our parent, use a shell? -1: the parent is none, or cannot be seen. */
static int parent_uses_shell(void)
{
    char path[32], words[4096];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)getppid());
    ssize_t n = file_read_at(AT_FDCWD, path, words, sizeof(words));
    if (n <= 0 || strcmp(basename(words), "qrsh_starter") != 0)
        return -1;
    const char *directory = words + strlen(words) + 1, *end = words + n;
    const char *last = directory < end ? directory + strlen(directory) + 1 : end;
    return last >= end || strcmp(last, "noshell") != 0;
}

/* Joins words to a command line, with blanks between and nothing quoted. `empty` stands for an
 * empty word. */
static char *join(char **words, const char *empty)
{
    size_t n = 1;
    for (char **w = words; *w; w++)
        n += strlen(*w) + strlen(empty) + 1;
    char *line = must(calloc(1, n)), *end = line;
    for (char **w = words; *w; w++)
        end = stpcpy(stpcpy(end, w == words ? "" : " "), **w ? *w : empty);
    return line;
}

static void plan_task(struct job_command *c, char **words)
{
    int shell = parent_uses_shell();
    if (shell < 0)
        shell = job_command_is_line(words);
    if (shell)
        job_command_line(c, login_shell(), join(words, ""));
    else
        job_command_words(c, words);
}

/* ---- a job ----------------------------------------------------------------------------------- */

static bool flag(const struct task_spool *spool, const char *name)
{
    const char *value = task_spool_value(spool, name);
    return value && strtol(value, NULL, 10) != 0;
}

/* The name of a script's copy in the spool tells it from a command, where the spool is closed to
 * users. */
static bool is_binary(const struct task_spool *spool)
{
    const char *script = getenv("JOB_SCRIPT");
    if (task_spool_value(spool, "handle_as_binary"))
        return flag(spool, "handle_as_binary");
    return script && !strstr(script, "/job_scripts/");
}

static void plan_binary(struct job_command *c, const struct task_spool *spool, const char *shell,
                        char **words)
{
    /* here Grid Engine puts -s where the command should be */
    const char *command = getenv("JOB_SCRIPT");
    if (strcmp(words[0], "-s") == 0 && command)
        words[0] = (char *)command;
    if (flag(spool, "no_shell"))
        job_command_words(c, words);
    else
        job_command_line(c, shell, join(words, "\"\""));
}

static bool mode_is(const char *mode)
{
    return strcasecmp(start_mode(), mode) == 0;
}

static void plan_script(struct job_command *c, const char *shell, char **words)
{
    bool is_posix = mode_is("posix_compliant");
    if (is_posix)
        c->script = words[0];
    if (is_posix || mode_is("script_from_stdin"))
        job_command_shell(c, shell, NULL, words);
    else if (mode_is("start_as_command"))
        job_command_line(c, shell, words[strcmp(words[0], "-c") == 0 && words[1]]);
    else /* unix_behavior, raw_exec */
        job_command_words(c, words);
}

static void gridengine_plan(struct job_command *c, char **words)
{
    const char *shell = getenv("SGE_STARTER_SHELL_PATH");
    const char *login = getenv("SGE_STARTER_USE_LOGIN_SHELL");
    AUTO(task_spool_free) struct task_spool spool = {0};
    c->is_login = login && strcasecmp(login, "true") == 0;
    if (!shell || !shell[0]) {
        plan_task(c, words);
        return;
    }
    task_spool_read(&spool);
    if (is_binary(&spool))
        plan_binary(c, &spool, shell, words);
    else
        plan_script(c, shell, words);
}

/* ---- what a job can know of itself ----------------------------------------------------------- */

/* A task of qrsh -inherit has a PE but no file of hosts. Its variables have the numbers of its
 * host, or those of the job where that is the job's first host; `config` always has the host's.
 * Grid Engine writes 0 for a count that does not apply. */
static void gridengine_set_counts(job_count_fn set)
{
    const char *slots = getenv("NSLOTS");
    struct task_spool spool;
    if (!getenv("PE") || getenv("PE_HOSTFILE")) {
        set(JOB_SLOTS, slots);
        set(JOB_HOSTS, getenv("NHOSTS"));
    }
    task_spool_read(&spool);
    if (!set(JOB_HOST_SLOTS, task_spool_value(&spool, "host_slots")) && !getenv("PE"))
        set(JOB_HOST_SLOTS, slots);
    task_spool_free(&spool);
}

static bool gridengine_is_tracked(char *how, size_t n)
{
    unsigned group = task_spool_group();
    if (group > 0)
        snprintf(how, n, "rm:gid: Grid Engine counts them by their group %u", group);
    return group > 0;
}

const struct rm_starter_side rm_starter_side_gridengine = {
    .name = "gridengine",
    /* JOB_ID is a name that anybody may have taken: has_called() tells */
    .variables = {[JOB_ID] = "JOB_ID",
                  [JOB_TASK] = "SGE_TASK_ID",
                  [JOB_QUEUE] = "QUEUE",
                  [JOB_PE] = "PE",
                  [JOB_HOSTFILE] = "PE_HOSTFILE"},
    .set_counts = gridengine_set_counts,
    .has_called = gridengine_has_called,
    .is_own_option = gridengine_is_own_option,
    .plan = gridengine_plan,
    .shell_advice = "name another one with qsub -S, or as 'shell' of the queue",
    .is_tracked = gridengine_is_tracked,
};
