/* SPDX-License-Identifier: BSD-3-Clause */
/* method.c - what a manager would have executed itself, from its call of a starter method
 *
 * Grid Engine (8.1.9; sge_queue_conf(5), and its sources: what sge_shepherd and qrsh_starter
 * execute without a starter method) says in three variables what a job's shell would be:
 *
 *     SGE_STARTER_SHELL_START_MODE    how the script is started; set in every call
 *     SGE_STARTER_SHELL_PATH          the shell; empty in a task of qrsh
 *     SGE_STARTER_USE_LOGIN_SHELL     "true"
 *
 * and leaves out two things, which are known all the same: whether a job is a binary (qsub -b y),
 * and then without a shell (-shell no), stands in the spool's `config`; whether a task is without
 * one (qrsh -noshell) in the arguments of the parent, qrsh_starter. The words of a task come apart,
 * or as one command line, as they were written after qrsh.
 *
 * LSF hands over words that a shell has split already, or (JOB_STARTER = mpstarter "%USRCMD") one
 * command line.
 *
 * Torque (its sources of 2020, pbs_mom's start_exec.c) hands over the path of the job's shell, for
 * a script's, which is on its standard input by name, alone: without the dash of a login shell that
 * the shell would be called with. From 4.2.2 on it hands over the words of tm_spawn, too. All are
 * executed as they are. It sets PBS_ENVIRONMENT itself, behind what the user says. */
#include "starter/method.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fdio.h"
#include "common/log.h"
#include "model/outcome.h"
#include "starter/job-variables.h"
#include "starter/spool.h"

#define PLAIN_SHELL "/bin/sh"

struct method {
    const char *mode;  /* NULL: not Grid Engine */
    const char *shell; /* "" where the manager names none */
    int login;
    struct spool spool;
    /* what to execute */
    const char *file;
    char **words;
    const char *script; /* that the shell is to read; NULL: none */
};

int method_command(int argc, char **argv)
{
    if (argc < 2)
        return 0;
    if (strcmp(argv[1], "--method") == 0)
        return argc > 2 ? 2 : 0;
    if (argv[1][0] != '-')
        return 1;
    /* what Grid Engine puts before a script on standard input, and older ones before a command */
    if (getenv("SGE_STARTER_SHELL_START_MODE") &&
        (strcmp(argv[1], "-s") == 0 || strcmp(argv[1], "-c") == 0))
        return 1;
    return 0;
}

int method_is_starter(char **command)
{
    struct stat named, own;
    return !command[1] && strchr(command[0], '/') && stat(command[0], &named) == 0 &&
           stat("/proc/self/exe", &own) == 0 && named.st_dev == own.st_dev &&
           named.st_ino == own.st_ino;
}

/* ---- words ----------------------------------------------------------------------------------- */

static int mode_is(const struct method *m, const char *mode)
{
    return strcasecmp(m->mode, mode) == 0;
}

static size_t count(char **words)
{
    size_t n = 0;
    while (words[n])
        n++;
    return n;
}

/* One command line of words with blanks between, nothing quoted. empty: what stands for an empty
 * word. NULL: out of memory. */
static char *join(char **words, const char *empty)
{
    size_t n = 1;
    for (char **w = words; *w; w++)
        n += strlen(*w) + strlen(empty) + 1;
    char *line = calloc(1, n), *end = line;
    for (char **w = words; line && *w; w++)
        end = stpcpy(stpcpy(end, w == words ? "" : " "), **w ? *w : empty);
    return line;
}

static int execute(struct method *m, char **words)
{
    m->file = words[0];
    m->words = words;
    return 0;
}

/* Have the shell run `option` (NULL: none) and these words. */
static int execute_shell(struct method *m, const char *shell, char *option, char **words)
{
    char *name;
    size_t n = count(words);
    const char *slash = strrchr(shell, '/');
    if (asprintf(&name, "%s%s", m->login ? "-" : "", slash ? slash + 1 : shell) < 0 ||
        !(m->words = calloc(n + 3, sizeof(*m->words))))
        return -1;
    char **to = m->words;
    *to++ = name;
    if (option)
        *to++ = option;
    memcpy(to, words, n * sizeof(*words));
    m->file = shell;
    return 0;
}

/* The same of a command line; NULL: memory was out when it was made. */
static int execute_line(struct method *m, const char *shell, char *line)
{
    static char option[] = "-c";
    char *words[] = {line, NULL};
    return line ? execute_shell(m, shell, option, words) : -1;
}

/* ---- the managers ---------------------------------------------------------------------------- */

/* One word in which only a shell sees more than one, and that is no name of a program. */
static int is_line(char **words)
{
    if (words[1] || !strpbrk(words[0], " \t\n|&;<>()$`\\\"'*?[#~"))
        return 0;
    return !strchr(words[0], '/') || access(words[0], X_OK) < 0;
}

static const char *login_shell(void)
{
    const struct passwd *user = getpwuid(getuid());
    return user && user->pw_shell && user->pw_shell[0] ? user->pw_shell : PLAIN_SHELL;
}

/* Does qrsh_starter, our parent, use a shell? -1: the parent is none, or cannot be seen. */
static int parent_uses_shell(void)
{
    char path[32], words[4096];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)getppid());
    ssize_t n = file_read_at(AT_FDCWD, path, words, sizeof(words));
    const char *slash = n > 0 ? strrchr(words, '/') : NULL;
    if (n <= 0 || strcmp(slash ? slash + 1 : words, "qrsh_starter") != 0)
        return -1;
    const char *directory = words + strlen(words) + 1, *end = words + n;
    const char *last = directory < end ? directory + strlen(directory) + 1 : end;
    return last >= end || strcmp(last, "noshell") != 0;
}

static int plan_task(struct method *m, char **words)
{
    int shell = parent_uses_shell();
    if (shell < 0)
        shell = is_line(words);
    return shell ? execute_line(m, login_shell(), join(words, "")) : execute(m, words);
}

static int flag(const struct method *m, const char *name)
{
    const char *value = spool_value(&m->spool, name);
    return value && strtol(value, NULL, 10) != 0;
}

/* Where the spool is closed to users: the name of a script's copy there tells it from a command. */
static int is_binary(const struct method *m)
{
    const char *script = getenv("JOB_SCRIPT");
    if (spool_value(&m->spool, "handle_as_binary"))
        return flag(m, "handle_as_binary");
    return script && !strstr(script, "/job_scripts/");
}

static int plan_binary(struct method *m, char **words)
{
    /* here Grid Engine puts -s where the command should be */
    const char *command = getenv("JOB_SCRIPT");
    if (strcmp(words[0], "-s") == 0 && command)
        words[0] = (char *)command;
    return flag(m, "no_shell") ? execute(m, words) : execute_line(m, m->shell, join(words, "\"\""));
}

static int plan_job(struct method *m, char **words)
{
    if (is_binary(m))
        return plan_binary(m, words);
    if (mode_is(m, "script_from_stdin"))
        return execute_shell(m, m->shell, NULL, words);
    if (mode_is(m, "start_as_command"))
        return execute_line(m, m->shell, words[strcmp(words[0], "-c") == 0 && words[1]]);
    if (!mode_is(m, "posix_compliant")) /* unix_behavior, raw_exec */
        return execute(m, words);
    m->script = words[0];
    return execute_shell(m, m->shell, NULL, words);
}

static int plan(struct method *m, char **words)
{
    if (!m->mode)
        return is_line(words) ? execute_line(m, PLAIN_SHELL, words[0]) : execute(m, words);
    return m->shell[0] ? plan_job(m, words) : plan_task(m, words);
}

/* ---- what went wrong ------------------------------------------------------------------------- */

static int complain(const char *object, const char *reason, const char *advice, int code)
{
    char host[256] = "this host";
    gethostname(host, sizeof(host) - 1);
    log_error("on %s: run '%s': %s; %s", host, object, reason, advice);
    return code;
}

int method_is_refused(const char *command)
{
    if (geteuid() != 0 || !getenv("PBS_ENVIRONMENT"))
        return 0;
    complain(command, "mpstarter was called as root and does not become the job's user",
             "take $job_starter_run_privileged out of pbs_mom's configuration", EXIT_CODE_MPRUN);
    return 1;
}

/* The file is there: something that it needs is not. */
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

static int explain_missing(const struct method *m)
{
    if (m->words[0] != m->file) /* that is a shell's name */
        return complain(m->file, "there is no such shell here",
                        "name another one with qsub -S, or as 'shell' of the queue",
                        EXIT_CODE_NOT_FOUND);
    if (!strchr(m->file, '/'))
        return complain(m->file, "it is not in PATH", "write its whole path", EXIT_CODE_NOT_FOUND);
    if (access(m->file, F_OK) < 0)
        return complain(m->file, strerror(errno),
                        "is its path right, and its file system mounted on this host?",
                        EXIT_CODE_NOT_FOUND);
    return explain_interpreter(m->file);
}

static int explain(const struct method *m, int code)
{
    if (code == ENOENT || code == ENOTDIR)
        return explain_missing(m);
    if (code == EACCES)
        return complain(m->file, strerror(code),
                        "it has to be a file with permission to execute it (chmod +x), in a file "
                        "system that is not mounted noexec",
                        EXIT_CODE_CANNOT_EXEC);
    return complain(m->file, strerror(code),
                    code == E2BIG ? "give it fewer arguments, or a smaller environment"
                                  : "try it by hand on this host",
                    EXIT_CODE_CANNOT_EXEC);
}

int method_run(char **command)
{
    const char *shell = getenv("SGE_STARTER_SHELL_PATH");
    const char *login = getenv("SGE_STARTER_USE_LOGIN_SHELL");
    static struct method m; /* what it holds goes with the process, one way or the other */
    m = (struct method){.mode = getenv("SGE_STARTER_SHELL_START_MODE"),
                        .shell = shell ? shell : "",
                        .login = login && strcasecmp(login, "true") == 0};
    spool_read(&m.spool);
    if (plan(&m, command) < 0)
        return complain(command[0], strerror(ENOMEM), "the host has no memory left",
                        EXIT_CODE_MPRUN);
    if (m.script && access(m.script, R_OK) < 0)
        return complain(m.script, strerror(errno),
                        "the shell cannot read it: is its file system mounted on this host?",
                        errno == EACCES ? EXIT_CODE_CANNOT_EXEC : EXIT_CODE_NOT_FOUND);
    job_variables_set(&m.spool);
    /* a script without a first line that names an interpreter goes to /bin/sh, as without us */
    execvp(m.file, m.words);
    return explain(&m, errno);
}
