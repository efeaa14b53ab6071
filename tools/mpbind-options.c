/* SPDX-License-Identifier: BSD-3-Clause */
/* mpbind-options.c - the one table of mpbind's options, and its words */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/mpbind.h"

#include "common/number.h"
#include "containment/mprund-protocol.h"

/* ---- what they do ---------------------------------------------------------------------------- */

static int set_action(struct mpbind_options *o, enum mpbind_action action, struct error *err)
{
    if (o->action_given && o->action != action)
        return error_set(err, EINVAL, "another thing to do was given before; keep one");
    o->action = action;
    o->action_given = 1;
    return 0;
}

static int apply_unlimit(void *target, const char *value, struct error *err)
{
    return set_action(target, BIND_UNLIMIT, err);
}

static int apply_forget(void *target, const char *value, struct error *err)
{
    return set_action(target, BIND_FORGET, err);
}

static int apply_wait(void *target, const char *value, struct error *err)
{
    struct mpbind_options *o = target;
    if (duration_parse(value, NULL, &o->wait, err) < 0)
        return -1;
    return set_action(o, BIND_WAIT, err);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define INSTEAD "Instead of limits"
#define JOB     "The job"

static const struct option_def option_table[] = {
    {"--unlimit", NULL, INSTEAD,
     "Give the job what the resource manager's own daemon (sge_execd) has here; CORES, MEM and "
     "VMEM may follow and are not looked at",
     OPTION_ONCE, .apply = apply_unlimit},
    {"--wait", "TIME", INSTEAD,
     "Wait until the job has its cgroup with its limits; root has it made if need be", OPTION_ONCE,
     .apply = apply_wait},
    {"--forget", NULL, INSTEAD, "Remove a job that was made here in advance and did not come",
     OPTION_ONCE, .apply = apply_forget},
    {"--try-cores", NULL, JOB,
     "When the job cannot have CORES here, say so and give it its limits of memory all the same",
     OPTION_ONCE, OPTION_SETS(OPTION_FLAG, struct mpbind_options, try_cores)},
    {"--user", "NAME", JOB,
     "Whose the job is, by name or number, where it is not here yet; without it the manager's "
     "word counts, when it comes",
     OPTION_ONCE, OPTION_SETS(OPTION_TEXT, struct mpbind_options, user)},
    TOOL_OPTIONS,
    {.names = NULL},
};

/* ---- the words ------------------------------------------------------------------------------- */

static int take_size(const char *text, const char *what, uint64_t *ret, struct error *err)
{
    *ret = GRANT_UNLIMITED;
    return strcmp(text, "0") == 0 ? 0 : size_parse(text, what, ret, err);
}

static int take_limits(struct mpbind_options *o, struct error *err)
{
    int64_t cores;
    if (number_parse(o->words[1], "CORES", 0, UINT16_MAX, &cores, err) < 0 ||
        take_size(o->words[2], "MEM", &o->memory, err) < 0 ||
        take_size(o->words[3], "VMEM", &o->virtual_memory, err) < 0)
        return -1;
    o->cores = (uint32_t)cores;
    return 0;
}

static int take_word(void *request, size_t n, char *word, struct error *err)
{
    struct mpbind_options *o = request;
    if (n == MPBIND_WORDS)
        return error_set(err, EINVAL, "unexpected word '%.60s'", word);
    o->words[n] = word;
    return 0;
}

static int check(void *request, size_t n, struct error *err)
{
    struct mpbind_options *o = request;
    if (n == 0)
        return error_set(err, EINVAL, "which job? JOB[.TASK] is missing");
    if (!grant_is_job_name(o->words[0]))
        return error_set(err, EINVAL,
                         "'%.60s' is no job: 1 to 40 letters, digits, '.' and '_' are wanted, the "
                         "first a letter or digit",
                         o->words[0]);
    if (o->action == BIND_TO && n != MPBIND_WORDS)
        return error_set(err, EINVAL,
                         "JOB[.TASK] CORES MEM VMEM are wanted, 0 for what is not to be limited");
    if (o->try_cores && o->action != BIND_TO)
        return error_set(err, EINVAL, "--try-cores: no CORES are given here; leave it out");
    if (n > 1 && (o->action == BIND_WAIT || o->action == BIND_FORGET))
        return error_set(err, EINVAL, "'%.60s': one job is enough", o->words[1]);
    return o->action == BIND_TO ? take_limits(o, err) : 0;
}

const struct tool mpbind_tool = {
    .name = "mpbind",
    .options = option_table,
    .take_word = take_word,
    .check = check,
    .hint = " (mpbind --help shows how)",
    .usage =
        "Usage: mpbind [OPTION...] JOB[.TASK] CORES MEM VMEM\n"
        "       mpbind --unlimit|--wait TIME|--forget JOB[.TASK]\n"
        "Give a job's processes on this host, all together, cores and limits of memory (MEM), and\n"
        "of memory and swap (VMEM); 0 is no limit. Asks mprund, as root. The job need not have\n"
        "come to this host yet: it finds what was given to it.\n"
        "\n"
        "Examples:\n"
        "  mpbind 23.4 4 1073741824 0              four cores, 1 GiB, no limit of virtual memory\n"
        "  mpbind --user traine 23.4 8 16G 20G     on a host that the job will come to\n"
        "  mpbind --unlimit 23.4 0 0 0             as sge_execd itself\n"
        "  mpbind --wait 10s $JOB_ID               in a prolog\n",
    .exit_codes =
        "Exit code: 0 done; 1 mprund refused or could not, 2 wrong use, 3 no mprund runs\n"
        "here, 4 the job was not ready in time. More is in mpbind(8).\n",
};
