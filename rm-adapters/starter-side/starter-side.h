/* SPDX-License-Identifier: BSD-3-Clause */
/* starter-side.h - what mpstarter knows of resource managers, on the host of a task
 *
 * adapter.h is mprun's side. This side serves a process inside a job: it reads variables and files
 * that the manager left for the task, runs no command and asks nobody. Every host loads it, so it
 * links no parser library. The file is starter-side/NAME.c, the list is in starter-side.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"

/* A job's facts about itself: MPRUN_JOB_* of mpstarter(1). */
enum job_variable {
    JOB_RM,
    JOB_ID,
    JOB_TASK,
    JOB_QUEUE,
    JOB_PE,
    JOB_SLOTS,
    JOB_HOSTS,
    JOB_HOST_SLOTS,
    JOB_HOSTFILE,
    JOB_VMEM,
    JOB_CPU_TIME,
    JOB_CPUS,
    JOB_VARIABLES
};

/* Set a count of the job, unless the text is NULL or no number above 0. True: it is set. */
typedef bool (*job_count_fn)(enum job_variable v, const char *text);

/* How a job's words are executed: by themselves, or by a shell. */
struct job_command {    /* filled by the functions below; nothing of it is freed: exec follows */
    bool is_login;      /* a shell is called as a login shell; set by the caller, before */
    const char *file;   /* a path, or a name that is looked up in PATH */
    char **words;       /* NULL-terminated; words[0] is not `file` where that is a shell */
    const char *script; /* file that the shell is to read; NULL: none; set by the caller */
};

/* The variable of a task that is to be the job's agent, where all tasks have the same start
 * parameters. */
#define START_AS_AGENT "MPRUN_START_AS_AGENT"

struct rm_starter_side {
    const char *name; /* value of MPRUN_JOB_RM */

    /* The manager's own variable for each of a job's; NULL: it has none, or one that means
     * something else. A manager without the one for JOB_ID is never taken for the job's. */
    const char *variables[JOB_VARIABLES];
    /* Set the counts that no variable gives. Called after those of `variables`. NULL: none. */
    void (*set_counts)(job_count_fn set);

    /* Did the manager call this process as its starter method? Then the job is this manager's, and
     * plan() decides. NULL: unknown; the job is this manager's if its variable for JOB_ID is
     * set. */
    bool (*has_called)(void);
    /* Does the manager write this word, which begins with a dash, before a command? Called only
     * after has_called() said yes. NULL: it writes none. */
    bool (*is_own_option)(const char *word);
    /* Decide what the manager would have executed for these words (NULL-terminated; plan may change
     * them, and the command keeps them). Called only after has_called() said yes; NULL where that
     * is NULL. */
    void (*plan)(struct job_command *ret, char **words);
    /* Must this process not become a job, because it would have rights that are not the job's? The
     * reason, and in *ret_advice what the administrator does. NULL, or a NULL function: it may. */
    const char *(*refusal)(const char **ret_advice);
    const char *shell_advice; /* how a job names another shell, where its own is missing */

    /* Get the number that the manager gave this task among those that were started with it, from 0.
     * 0, or -1: it gave none. NULL: it never does. */
    int (*task_number)(unsigned *ret);
    /* Where mprun left the start parameters with the manager: opens a descriptor to read them from,
     * the caller's. 1; 0: they are not there, but on standard input; -1 with err. NULL: 0. */
    int (*open_start)(int *ret_fd, struct error *err);
    /* Does the manager count the processes of this task by their session? NULL: it counts all. */
    bool (*counts_sessions)(void);
    /* Where sessions count: a process has got a new session: have the manager count it, too. Waits
     * for the manager, some seconds at most. 0, also where the process has ended; or -1 with
     * err. */
    int (*attach_session)(pid_t pid, struct error *err);
    /* Does the manager hold this process by something of its own? True with a sentence that says by
     * what, where there is evidence that the user cannot forge. NULL: no evidence is known. */
    bool (*is_tracked)(char *how, size_t n);

    /* Variables with the machine's numbers of the GPUs of this host's tasks, NULL-terminated: the
     * first that is set counts. Those in CUDA_VISIBLE_DEVICES are others where the manager's cgroup
     * shows no other GPUs. NULL: none. */
    const char *const *gpu_numbers;

    /* Beginnings of "NAME=VALUE" entries that describe one task, NULL-terminated: ranks do not get
     * what mprun has of them. NULL: none. */
    const char *const *task_variables;
};

/* Where an administrator names mpstarter as starter method: the end of `mpstarter --help`. */
extern const char rm_starter_side_help[];

/* NULL-terminated. */
extern const struct rm_starter_side *const rm_starter_sides[];

/* The manager that called this process as its starter method; NULL: none that can be told. */
const struct rm_starter_side *rm_starter_side_caller(void);
/* The manager whose job this process is in, as far as variables tell; NULL: none. */
const struct rm_starter_side *rm_starter_side_of_job(void);
/* The number of this task, as some manager gave it. 0, or -1: none did. */
int rm_starter_side_task_number(unsigned *ret);
/* open_start of the first manager that has the start parameters: 1, 0 or -1. */
int rm_starter_side_open_start(int *ret_fd, struct error *err);
/* counts_sessions of some manager, and its attach_session. */
bool rm_starter_side_counts_sessions(void);
int rm_starter_side_attach_session(pid_t pid, struct error *err);
/* Does a manager hold this process? True with the first one's sentence. */
bool rm_starter_side_is_tracked(char *how, size_t n);
/* Does "NAME=VALUE" describe one task of some manager? */
bool rm_starter_side_is_task_variable(const char *entry);

/* Execute the words, which the command keeps. */
void job_command_words(struct job_command *c, char **words);
/* Have the shell run `option` (NULL: none) and these words. */
void job_command_shell(struct job_command *c, const char *shell, char *option, char **words);
/* Have the shell run one command line. */
void job_command_line(struct job_command *c, const char *shell, char *line);
/* Is this one word, in which only a shell sees more than one, and which names no program? */
bool job_command_is_line(char *const *words);
