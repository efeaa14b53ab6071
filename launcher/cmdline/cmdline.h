/* SPDX-License-Identifier: BSD-3-Clause */
/* cmdline.h - mprun's command line: the user's words, as they were parsed
 *
 * Parsing has no side effects and reads only the words and the files of programs. One table
 * (option-table.c) gives parsing and --help; tests compare the manual page with it. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "launcher/cmdline/other-launchers/dialect.h"
#include "launcher/cmdline/options/placement-options.h"
#include "launcher/cmdline/settings.h"
#include "launcher/subject-options.h"
#include "launcher/io/output-options.h"
#include "model/step.h"
#include "rm-adapters/adapter.h"

enum { CMDLINE_RANKS_MAX = 1 << 20 };

/* The action when a step exceeds a limit: --on-limit. */
enum on_limit {
    ON_LIMIT_KILL_STEP, /* end all ranks */
    ON_LIMIT_KILL_RANK, /* end the rank that grew last; the others go on */
    ON_LIMIT_WARN,      /* say it once */
};

/* One program; ":" separates several. Strings belong to the argv that was parsed, or to struct
 * cmdline. */
struct cmdline_app {
    uint32_t nranks;   /* 0: not given (only possible with a single program) */
    char *const *argv; /* argc words of the caller's argv, not NULL-terminated */
    size_t argc;       /* at least 1 */
    const char *wdir;  /* NULL: mprun's own */
    /* -x in order: "NAME=VALUE", or "NAME" to keep what is here; "-NAME" to leave it out,
     * "<NAME=VALUE" and ">NAME=VALUE" to put VALUE and ':' before, or behind, what is here */
    const char **env;
    size_t nenv;
    size_t first_list, nlists; /* of hosts.lists: those of this program, where it has own ones */
    struct placement_options *place;      /* its own; NULL: the step's */
    struct placement_options *said_place; /* of it, what this part of the line says; NULL as well */
    struct limits *limits;                /* of each of its ranks; NULL: the step's */
    bool only; /* of mprun's environment ranks get only what env names, and the manager's */
};

/* The user asks for help, and about this. */
enum help_subject {
    HELP_NONE, /* the user does not ask */
    HELP_PROGRAMS,
    HELP_HOSTS,
    HELP_BINDING,
    HELP_LIMITS,
    HELP_OUTPUT,
    HELP_ENDING,
    HELP_DEBUGGING,
    HELP_FILES,
    HELP_OTHER,
    HELP_DIALECTS,
    HELP_ALL,
    HELP_SHORT, /* the options that are used most */
    HELP_USAGE, /* all, in few lines */
};

/* jsrun's; 0: not said */
struct resource_sets {
    uint32_t number, tasks, cores, per_host, per_socket;
    uint32_t packed; /* cores of a task */
    uint32_t turn;   /* tasks that each set gets in turn */
    bool shared;     /* a task has all cores of its set */
    bool all_cores;  /* of a host are a set's */
    bool all_hosts;  /* have a set, or per_host sets */
};

/* The state of reading a line. The rest of struct cmdline has all of it when the line is read. */
struct line_reading {
    /* Hears of each option that is applied by name; translation NULL: nobody listens. */
    struct translation *translation;
    void (*note_applied)(struct translation *t, const char *name, const char *value);
    bool has_bare_hosts;            /* the hosts stand before the program, as mpirun_rsh has it */
    struct option_def *options;     /* of the dialect, */
    bool *used;                     /* and which of them the line has */
    struct option_def *later;       /* of parts behind the first, */
    bool *later_used;               /* and which of them they have */
    struct option_def *own_options; /* of mprun's dialect, for cmdline_apply_named() */
    bool *own_used;                 /* and which of them the line has by other names, */
    bool *own_later_used;           /* and its parts behind the first */
    struct cmdline_app *app;        /* the program of this part */
    const char *program_file;       /* --app; else NULL */
    bool multi_prog;                /* the program is a file of programs */
    struct cmdline_app all_apps;    /* its env holds for each program that does not set the same */
    struct placement_options file_place; /* GPUs that the line has beside --app: every program's of
                                            the file. Others are the first program's */
    bool no_recovery;                    /* the line says that a rank's failure ends the step */
    /* settings.source of the limits that are set; NULL: the line */
    const char *limits_from[LIMIT_LEVEL_COUNT][LIMIT_KIND_COUNT];
    struct resource_sets sets; /* until they are applied as ranks and cores */
    struct { /* aprun's CPUs of a rank, and how many of them a core has; 0: not said */
        uint32_t depth, per_core;
    } cpus;
    struct { /* srun's GPUs, of which the number of ranks follows; 0: not said */
        uint32_t number, per_host, per_task, tasks;
        uint32_t cpus; /* of each, which its tasks get */
    } gpus;
};

struct cmdline {
    struct line_reading reading; /* launcher/cmdline/ alone uses it */
    enum dialect dialect;
    struct settings settings; /* of files and variables */
    struct cmdline_app *apps;
    size_t napps;
    char **texts; /* malloc'ed strings that env points to, beside argv; ntexts of them */
    size_t ntexts;
    uint32_t nranks;                /* of all apps; 0: one per slot */
    struct placement_options place; /* of programs without placement options of their own */
    bool own_hosts;                 /* programs behind the first name hosts: apps[].hosts */
    size_t step_lists;              /* of hosts.lists: those that were there before any program's */

    /* Options fill a part of the step; the rest of it is unset. */
    struct step step;

    const struct rm_adapter *rm; /* NULL: detect */
    struct host_request hosts;   /* its lists and files are this struct's */
    struct start_options start;
    struct host_link_options links;

    bool report_bindings;
    bool display_allocation, display_topology;

    struct output_options output;
    const char *stdin_file; /* mprun's standard input; NULL: what it has */
    const char *rank_input; /* the step's stdin_file; NULL: none */
    bool input_of_tools;    /* --stdin tool: mprun's own is not read */

    struct debugging_options debug;
    bool recovery; /* a rank's failure does not end the step */
    struct queue_options queue;
    uint32_t max_restarts; /* of each rank that fails; 0: none */

    struct preload_options preload;

    double timeout; /* seconds; 0: none */

    struct limits step_limits; /* --limit without a level: of all ranks of all hosts together */
    enum on_limit on_limit;

    struct report_options report;
    bool dry_run, explain, verbose, quiet;
    bool json;            /* --dry-run and --explain print JSON */
    bool show_plan;       /* print where ranks run, and run them */
    char *for_job;        /* options that only a manager could obey: "'-p', '-A'"; NULL: none */
    char *no_effect;      /* other options without effect; NULL: none */
    bool self_test;       /* --self-test: there is no program */
    const char *env_diff; /* --env-diff: a host, and there is no program; else NULL */
    bool translate;       /* print the line in mprun's own words */
    /* with help or version the rest of the line does not count, and there may be no program */
    enum help_subject help;
    bool version;
};

/* argv[0] may be the name of another launcher, whose dialect counts. 0, or -1 with a sentence; *ret
 * is empty then. */
int cmdline_parse(int argc, char *const argv[], struct cmdline *ret, struct error *err);
/* Apply the options that files and variables set and the line does not have (settings.h), and note
 * the names of other launchers' variables that have no effect. 0, or -1 with a sentence. */
int cmdline_take_environment(struct cmdline *c, char *const env[], struct error *err);
void cmdline_free(struct cmdline *c); /* what it holds, not itself */

/* Add an entry to the program's env as it is. */
void cmdline_add_variable(struct cmdline_app *app, const char *entry);

/* The environment of an app's ranks: base with the app's settings applied. A NULL-terminated array
 * of malloc'ed strings. */
char **cmdline_app_environ(const struct cmdline_app *app, char *const base[]);
/* Takes an environment and returns it with srun's variable for -c: the job's own one is not that of
 * a step with another number. */
char **cmdline_set_cpus_per_task(char **envp, uint32_t cpus);

/* The names of the variables that the app's settings give a value, in order: as above. */
char **cmdline_app_given(const struct cmdline_app *app);

/* The name beneath MPRUN_PRELOAD_DIR of a file of --preload-files: a relative one stays as it is (a
 * part of `path`), of an absolute one the last part. */
const char *cmdline_preload_name(const char *path);

/* "mprun --complete WORD...": write to out what the last word may be, for shells (complete.c). */
void cmdline_complete(int argc, char *const argv[], FILE *out);

/* The help for a program called `name`, wrapped to width columns. Caller frees. */
char *cmdline_help(const char *name, enum help_subject subject, size_t width);
/* mprun's table, and that of options for lines of other launchers alone; both end with names NULL.
 * Entries without apply are refused names, in no list. */
const struct option_def *cmdline_options(void);
const struct option_def *cmdline_peer_options(void);
