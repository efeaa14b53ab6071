/* SPDX-License-Identifier: BSD-3-Clause */
/* options.c - mprund's command line */
#include "node-daemon/command/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/number.h"
#include "node-daemon/supervisor/supervisor.h"

static int set_trace(void *target, const char *value, struct error *err)
{
    ((struct mprund_options *)target)->trace = value ? value : "-";
    return 0;
}

/* how: "enable", "disable" */
static int set_subsystem(void *target, const char *how, const char *value, struct error *err)
{
    struct mprund_options *o = target;
    bool enables = *how == 'e';
    unsigned bit;
    if (conf_subsystem(value, &bit, err) < 0)
        return -1;
    o->enable = enables ? o->enable | bit : o->enable & ~bit;
    o->disable = enables ? o->disable & ~bit : o->disable | bit;
    return 0;
}

static int set_pids(void *target, const char *value, struct error *err)
{
    int64_t n;
    if (number_parse(value, NULL, 1, INT32_MAX, &n, err) < 0)
        return -1;
    ((struct mprund_options *)target)->pids = (uint64_t)n;
    return 0;
}

#define SETS(kind_, member_) OPTION_SETS(OPTION_##kind_, struct mprund_options, member_)
#define SUBSYSTEM(how_)      .kind = OPTION_OTHER, .other = (how_), .apply_other = set_subsystem

const struct option_def mprund_option_defs[] = {
    {"--config", "FILE", "Daemon", "read this file instead of mprund.conf", SETS(TEXT, config)},
    {"--check", NULL, "Daemon",
     "say what the daemon would find here, and what to do about it, and exit", SETS(FLAG, check)},
    {"-D --daemon", NULL, "Daemon", "go into the background when ready", SETS(FLAG, background)},
    {"-p --pidfile", "FILE", "Daemon", "write the daemon's process id there", SETS(TEXT, pidfile)},
    {"-e --enable", "SUBSYSTEM", "Daemon", "jobs have this controller, too", OPTION_APPEND,
     SUBSYSTEM("enable")},
    {"-d --disable", "SUBSYSTEM", "Daemon", "jobs do not have this controller", OPTION_APPEND,
     SUBSYSTEM("disable")},
    {"-s --sentinel-dir", "DIR", "Daemon", "have a file there for each job that is in its cgroup",
     SETS(TEXT, sentinel_dir)},
    {"-t --tracefile", "[FILE]", "Daemon",
     "write every action there; without FILE to standard error", .apply = set_trace},
    {"-v --verbose", NULL, "Daemon", "say more", SETS(FLAG, verbose)},
    {"--make-key", "FILE", "Daemon", "make a key for grant_key there, and exit",
     SETS(TEXT, make_key)},
    {"--json", NULL, "Status", "a JSON document instead of a table", SETS(FLAG, json)},
    {"--job", "NAME", "Entering a job", "the job's name", SETS(TEXT, job)},
    {"--user", "NAME", "Entering a job", "the job's user, by name or number", SETS(TEXT, user)},
    {"--memory", "SIZE", "Entering a job", "limit the memory of all its processes on this host",
     SETS(BYTES, memory)},
    {"--pids", "N", "Entering a job", "limit its processes and threads on this host",
     .apply = set_pids},
    {"--cores", "N", "Entering a job", "give it N cores of this host that no other job has",
     SETS(COUNT, cores), .low = 1, .high = 65536},
    {"--gpus", "N", "Entering a job", "give it N GPUs of this host that no other job has",
     SETS(COUNT, gpus), .low = 1, .high = 65536},
    {"-h --help", NULL, "Help", "show this", SETS(FLAG, help)},
    {"-V --version", NULL, "Help", "show the version", SETS(FLAG, version)},
    {.names = NULL},
};

/* ---- words ----------------------------------------------------------------------------------- */

/* resolve is what the supervisor calls. */
static const char *const words[] = {"status", "sensor", "enter", "resolve", NULL};

static int is_word(const struct mprund_options *o, const char *word)
{
    return o->word && !strcmp(o->word, word);
}

static int check_word(const struct mprund_options *o, struct error *err)
{
    for (size_t i = 0; o->word && words[i]; i++)
        if (is_word(o, words[i]) && (strcmp(words[i], "resolve") != 0 || getenv(RESOLVE_VARIABLE)))
            return 0;
    return !o->word ? 0
                    : error_set(err, EINVAL, "unknown word '%s'; there are: status, sensor, enter",
                                o->word);
}

/* Options that a word needs and nothing else takes. */
static int check_use(const struct mprund_options *o, struct error *err)
{
    int is_enter = is_word(o, "enter");
    int given = o->job || o->user || o->memory != GRANT_UNLIMITED || o->pids != GRANT_UNLIMITED ||
                o->cores || o->gpus;
    if (!is_enter && given)
        return error_set(err, EINVAL,
                         "--job, --user, --memory, --pids, --cores and --gpus go with the word "
                         "enter");
    if (o->json && !is_word(o, "status"))
        return error_set(err, EINVAL, "--json goes with the word status");
    if (is_enter && (!o->job || !o->user || !o->command[0]))
        return error_set(err, EINVAL, "enter needs --job NAME, --user NAME and a command");
    if (is_enter && !grant_is_job_name(o->job))
        return error_set(err, EINVAL,
                         "--job %s: 1 to 40 letters, digits, '.' and '_' are wanted, the first a "
                         "letter or digit",
                         o->job);
    if (o->word && !is_enter && o->command[0])
        return error_set(err, EINVAL, "unexpected word '%s'", o->command[0]);
    return 0;
}

/* There the directory is another one, and standard error is closed. */
static int check_background(const struct mprund_options *o, struct error *err)
{
    if (!o->background)
        return 0;
    if (o->trace && o->trace[0] != '/')
        return error_set(err, EINVAL,
                         "--daemon with --tracefile needs the absolute path of a file");
    if (o->sentinel_dir && o->sentinel_dir[0] != '/')
        return error_set(err, EINVAL, "--daemon with --sentinel-dir needs an absolute path");
    if (o->pidfile && o->pidfile[0] != '/')
        return error_set(err, EINVAL, "--daemon with --pidfile needs an absolute path");
    if (o->config && o->config[0] != '/')
        return error_set(err, EINVAL, "--daemon with --config needs an absolute path");
    return 0;
}

int mprund_options_parse(int argc, char **argv, struct mprund_options *ret, struct error *err)
{
    *ret = (struct mprund_options){.memory = GRANT_UNLIMITED, .pids = GRANT_UNLIMITED};
    int at = options_parse(mprund_option_defs, argc, argv, 1, ret, err);
    if (at < 0)
        return -1;
    ret->word = argv[at];
    if (check_word(ret, err) < 0 ||
        (ret->word && (at = options_parse(mprund_option_defs, argc, argv, at + 1, ret, err)) < 0))
        return -1;
    ret->command = argv + at;
    return check_use(ret, err) < 0 ? -1 : check_background(ret, err);
}
