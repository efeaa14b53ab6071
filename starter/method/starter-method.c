/* SPDX-License-Identifier: BSD-3-Clause */
/* starter-method.c - from a manager's call of a starter method to the job's exec
 *
 * The manager's adapter knows which program the manager would have executed itself
 * (rm-adapters/starter-side/starter-side.h). If no adapter recognises the manager, mpstarter
 * executes the words as they are, or by a shell if they are one command line. */
#include "starter/method/starter-method.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/machine/cpus.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "model/rank-end.h"
#include "rm-adapters/starter-side/starter-side.h"

#define PLAIN_SHELL "/bin/sh"

int method_command(int argc, char **argv)
{
    if (argc < 2)
        return 0;
    if (strcmp(argv[1], "--method") == 0)
        return argc > 2 ? 2 : 0;
    if (argv[1][0] != '-')
        return 1;
    const struct rm_starter_side *m = rm_starter_side_caller();
    return m && m->is_own_option && m->is_own_option(argv[1]);
}

bool method_is_starter(char **command)
{
    struct stat named, own;
    return !command[1] && strchr(command[0], '/') && stat(command[0], &named) == 0 &&
           stat("/proc/self/exe", &own) == 0 && named.st_dev == own.st_dev &&
           named.st_ino == own.st_ino;
}

static void plan(const struct rm_starter_side *m, struct job_command *ret, char **words)
{
    if (m && m->plan)
        m->plan(ret, words);
    else if (job_command_is_line(words))
        job_command_line(ret, PLAIN_SHELL, words[0]);
    else
        job_command_words(ret, words);
}

/* ---- MPRUN_JOB_*: the job under one set of names, whatever the manager ----------------------- */

static const char *const names[JOB_VARIABLES] = {
    [JOB_RM] = "MPRUN_JOB_RM",
    [JOB_ID] = "MPRUN_JOB_ID",
    [JOB_TASK] = "MPRUN_JOB_TASK",
    [JOB_QUEUE] = "MPRUN_JOB_QUEUE",
    [JOB_PE] = "MPRUN_JOB_PE",
    [JOB_SLOTS] = "MPRUN_JOB_SLOTS",
    [JOB_HOSTS] = "MPRUN_JOB_HOSTS",
    [JOB_HOST_SLOTS] = "MPRUN_JOB_HOST_SLOTS",
    [JOB_HOSTFILE] = "MPRUN_JOB_HOSTFILE",
    [JOB_VMEM] = "MPRUN_JOB_VMEM",
    [JOB_CPU_TIME] = "MPRUN_JOB_CPU_TIME",
    [JOB_CPUS] = "MPRUN_JOB_CPUS",
};

static void set(enum job_variable v, const char *value)
{
    if (value && value[0])
        setenv(names[v], value, 1);
}

static bool set_count(enum job_variable v, const char *value)
{
    if (!value || strtol(value, NULL, 10) <= 0)
        return false;
    set(v, value);
    return true;
}

static void set_limit(enum job_variable v, int resource)
{
    struct rlimit limit;
    char text[24];
    if (getrlimit(resource, &limit) < 0 || limit.rlim_max == RLIM_INFINITY)
        return;
    snprintf(text, sizeof(text), "%" PRIu64, (uint64_t)limit.rlim_max);
    set(v, text);
}

static void set_cpus(void)
{
    AUTO(idset_free) struct idset allowed = {0};
    if (cpus_allowed(&allowed, NULL) == 0) {
        AUTO_FREE char *text = idset_format(&allowed);
        set(JOB_CPUS, text);
    }
}

static void set_from_manager(const struct rm_starter_side *m)
{
    set(JOB_RM, m->name);
    for (size_t v = 0; v < JOB_VARIABLES; v++)
        if (m->variables[v] && v != JOB_TASK)
            set((enum job_variable)v, getenv(m->variables[v]));
    /* "undefined" or 0 where the job is no array */
    if (m->variables[JOB_TASK])
        set_count(JOB_TASK, getenv(m->variables[JOB_TASK]));
    if (m->set_counts)
        m->set_counts(set_count);
}

/* Puts MPRUN_JOB_* into the environment, from what the manager has told this process (its variables
 * and files) and from limits. Starts no program for that. Removes variables that are not known, as
 * they come from the environment in which the job was submitted. mpstarter(1) has the names. */
static void set_job_variables(void)
{
    const struct rm_starter_side *m = rm_starter_side_of_job();
    for (size_t v = 0; v < JOB_VARIABLES; v++)
        unsetenv(names[v]);
    if (m)
        set_from_manager(m);
    set_limit(JOB_VMEM, RLIMIT_AS);
    set_limit(JOB_CPU_TIME, RLIMIT_CPU);
    set_cpus();
}

/* ---- what went wrong ------------------------------------------------------------------------- */

static int complain(const char *object, const char *reason, const char *advice, int code)
{
    char host[256] = "this host";
    gethostname(host, sizeof(host) - 1);
    log_error("on %s: run '%s': %s; %s", host, object, reason, advice);
    return code;
}

bool method_is_refused(const char *command)
{
    for (size_t i = 0; rm_starter_sides[i]; i++) {
        const struct rm_starter_side *m = rm_starter_sides[i];
        const char *advice, *reason = m->refusal ? m->refusal(&advice) : NULL;
        if (reason) {
            complain(command, reason, advice, EXIT_CODE_MPRUN);
            return true;
        }
    }
    return false;
}

/* The file is there, but something that it needs is not. */
static int explain_interpreter(const char *file)
{
    char line[256], reason[300];
    const char *advice = "mend its first line, or install that on this host";
    if (file_read_at(AT_FDCWD, file, line, sizeof(line)) <= 0 || strncmp(line, "#!", 2) != 0)
        return complain(file, "the loader that it names does not exist here",
                        "build it for this machine", EXIT_CODE_NOT_FOUND);
    char *at = line + 2 + strspn(line + 2, " \t"), *end = at + strcspn(at, "\n");
    *end = '\0';
    if (end > at && end[-1] == '\r') {
        end[-1] = '\0';
        advice = "that line ends in a carriage return, as on Windows: convert the file (dos2unix)";
    }
    at[strcspn(at, " \t")] = '\0';
    snprintf(reason, sizeof(reason), "its interpreter '%s' does not exist here", at);
    return complain(file, reason, advice, EXIT_CODE_NOT_FOUND);
}

static int explain_missing(const struct job_command *c, const char *shell_advice)
{
    if (c->words[0] != c->file) /* that is a shell's name */
        return complain(c->file, "there is no such shell here",
                        shell_advice ? shell_advice : "install it", EXIT_CODE_NOT_FOUND);
    if (!strchr(c->file, '/'))
        return complain(c->file, "it is not in PATH", "write its whole path", EXIT_CODE_NOT_FOUND);
    if (access(c->file, F_OK) < 0)
        return complain(c->file, strerror(errno),
                        "is its path right, and its file system mounted on this host?",
                        EXIT_CODE_NOT_FOUND);
    return explain_interpreter(c->file);
}

static int explain(const struct job_command *c, const char *shell_advice, int code)
{
    if (code == ENOENT || code == ENOTDIR)
        return explain_missing(c, shell_advice);
    if (code == EACCES)
        return complain(c->file, strerror(code),
                        "it has to be a file with permission to execute it (chmod +x), in a file "
                        "system that is not mounted noexec",
                        EXIT_CODE_CANNOT_EXEC);
    return complain(c->file, strerror(code),
                    code == E2BIG ? "give it fewer arguments, or a smaller environment"
                                  : "try it by hand on this host",
                    EXIT_CODE_CANNOT_EXEC);
}

int method_run(char **command)
{
    static struct job_command c; /* what it holds goes with the process, one way or the other */
    const struct rm_starter_side *m = rm_starter_side_caller();
    plan(m, &c, command);
    if (c.script && access(c.script, R_OK) < 0)
        return complain(c.script, strerror(errno),
                        "the shell cannot read it: is its file system mounted on this host?",
                        errno == EACCES ? EXIT_CODE_CANNOT_EXEC : EXIT_CODE_NOT_FOUND);
    set_job_variables();
    /* a script without a first line that names an interpreter goes to /bin/sh, as without us */
    execvp(c.file, c.words);
    return explain(&c, m ? m->shell_advice : NULL, errno);
}
