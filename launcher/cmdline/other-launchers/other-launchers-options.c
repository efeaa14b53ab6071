/* SPDX-License-Identifier: BSD-3-Clause */
/* other-launchers-options.c - options that mprun takes only on lines of other launchers
 *
 * mprun translates an option, does it anyway, accepts it without effect with one note, or refuses
 * it and says what to write instead. Those without IN() have one meaning wherever they are
 * known. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "launcher/cmdline/cmdline-private.h"
#include "launcher/cmdline/options/option-functions.h"
#include "launcher/cmdline/other-launchers/other-launchers.h"
#include "launcher/cmdline/word-lines.h"

static int anyway(void *target, const char *value, struct error *err)
{
    return 0; /* what is asked for is so without it */
}

static int apply_disable_recovery(void *target, const char *value, struct error *err)
{
    return cmdline_apply_kill_on_bad_exit(target, NULL, err);
}

/* ---- Open MPI -------------------------------------------------------------------------------- */

static int apply_with_ft(void *target, const char *value, struct error *err)
{
    if (strcmp(value, "none") == 0 || strcmp(value, "no") == 0)
        return 0;
    return cmdline_apply_named(target, "--enable-recovery", NULL, err) < 0
               ? -1
               : cmdline_apply_named(target, "-x", "OMPI_MCA_mpi_ft_enable=1", err);
}

/* A word of --runtime-options, "NAME" or "NAME=VALUE". */
static int take_runtime_option(void *target, char *word, struct error *err)
{
    static const struct {
        const char *name, *option;
        bool has_value, is_off; /* is_off: it counts where its value is false */
    } known[] = {
        {"donotlaunch", "--dry-run", false, false},
        {"recoverable", "--enable-recovery", false, false},
        {"continuous", "--enable-recovery", false, false},
        {"error-nonzero-status", "--enable-recovery", false, true},
        {"abort-nonzero-exit", "--enable-recovery", false, true},
        {"timeout", "--timeout", true, false},
        {"report-state-on-timeout", "--report-state-on-timeout", false, false},
        {"get-stack-traces", "--get-stack-traces", false, false},
        {"stop-on-exec", "--stop-on-exec", false, false},
        {"stop-in-init", "--stop-in-init", false, false},
        {"exec-agent", "--wrap", true, false},
    };
    char *value = strchr(word, '=');
    if (value)
        *value++ = 0;
    bool is_false = value && (*value == '0' || strncasecmp(value, "f", 1) == 0 ||
                              strncasecmp(value, "n", 1) == 0);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcasecmp(word, known[i].name) == 0)
            return !known[i].has_value && is_false != known[i].is_off
                       ? 0
                       : cmdline_apply_named(target, known[i].option,
                                             known[i].has_value ? value : NULL, err);
    return option_note(&((struct cmdline *)target)->no_effect, word, strlen(word));
}

static int apply_runtime_options(void *target, const char *value, struct error *err)
{
    return cmdline_each_item(value, ",", take_runtime_option, target, err);
}

static int apply_prtemca(void *target, const char *value, struct error *err)
{
    return mca_apply_to_launcher(target, value, err);
}

static int apply_path(void *target, const char *value, struct error *err)
{
    char setting[4096];
    if (!*value)
        return error_set(err, EINVAL, "the list of directories is empty; is a variable unset?");
    if (snprintf(setting, sizeof(setting), "PATH=%s", value) >= (int)sizeof(setting))
        return error_set(err, EINVAL, "'%.60s...' is longer than %zu bytes", value,
                         sizeof(setting) - 6);
    return cmdline_apply_named(target, "--prepend-env", setting, err);
}

/* A parameter of the launcher or of the ranks. */
static int apply_parameter(struct cmdline *c, const char *name, size_t len, const char *value,
                           struct error *err)
{
    const char *kept = cmdline_keep(c, text_format("OMPI_MCA_%.*s=%s", (int)len, name, value));
    return mca_is_launchers(kept + 9) ? mca_apply_to_launcher(c, kept + 9, err)
                                      : cmdline_apply_named(c, "--genv", kept, err);
}

static bool is_mca(const char *word)
{
    static const char *const names[] = {"mca", "gmca", "omca", "gomca", "prtemca", NULL};
    return *word == '-' && is_any_of(word + strspn(word, "-"), names);
}

/* "NAME = VALUE", or "-mca NAME VALUE" and "-x NAME=VALUE". */
static int take_tune_line(void *arg, char **words, struct error *err)
{
    struct cmdline *c = arg;
    if (words[0][0] != '-') {
        size_t len = strcspn(words[0], "=");
        char **next = words + 1;
        const char *value = words[0][len] ? words[0] + len + 1 : *next ? *next++ : "";
        if (*value == '=') /* "= VALUE" or "=VALUE" */
            value = value[1] ? value + 1 : *next ? *next++ : "";
        else if (!*value && *next)
            value = *next++;
        return *next ? error_set(err, EINVAL, "'%.60s' is too much behind NAME = VALUE", *next)
                     : apply_parameter(c, words[0], len, value, err);
    }
    for (; *words; words++) {
        bool mca = is_mca(*words);
        if (mca && words[1] && words[2]) {
            if (apply_parameter(c, words[1], strlen(words[1]), words[2], err) < 0)
                return -1;
            words += 2;
        } else if (strcmp(*words, "-x") == 0 && words[1]) {
            if (strchr(*++words, '=') && cmdline_apply_named(c, "--genv", *words, err) < 0)
                return -1;
        } else {
            return error_set(
                err, EINVAL,
                "'%.60s' is neither NAME = VALUE, nor -mca NAME VALUE, nor -x NAME=VALUE", *words);
        }
    }
    return 0;
}

static int take_tune_file(void *target, char *path, struct error *err)
{
    return word_lines_read(path, take_tune_line, target, err) < 0
               ? error_context(err, "write its parameters as '--mca NAME VALUE'")
               : 0;
}

static int apply_tune(void *target, const char *value, struct error *err)
{
    return cmdline_each_item(value, ",", take_tune_file, target, err);
}

/* ---- Hydra and Intel MPI --------------------------------------------------------------------- */

/* "user:0+4,1+5": a list for each rank of a host. */
static int bind_to_lists(struct cmdline *c, const char *lists, struct error *err)
{
    char how[512] = "list:";
    size_t n = strlen(how);
    if (n + strlen(lists) >= sizeof(how))
        return error_set(err, EINVAL, "'%.60s...' is longer than %zu bytes", lists, sizeof(how));
    for (; *lists; lists++)
        how[n++] = *lists == ',' ? ':' : *lists == '+' ? ',' : *lists;
    how[n] = 0;
    return cmdline_apply_named(c, "--cpu-bind", how, err);
}

/* "core:2" binds a rank to two cores. */
static int apply_hydra_bind(void *target, const char *value, struct error *err)
{
    size_t len = strcspn(value, ":");
    const char *number = value[len] ? value + len + 1 : "";
    if (strncmp(value, "user:", 5) == 0)
        return bind_to_lists(target, value + 5, err);
    if (strcmp(value, "rr") == 0)
        return error_set(err, EINVAL,
                         "'rr' goes by the kernel's numbers of hardware threads; write 'core' or "
                         "'hwthread', or 'user:0,1,2,3'");
    if (*number && number[strspn(number, "0123456789")] == 0) {
        char how[64];
        snprintf(how, sizeof(how), ":pe=%.20s,hwtcpus", number);
        if (strncmp(value, "hwthread:", 9) == 0)
            return cmdline_apply_named(target, "--map-by", how, err) < 0
                       ? -1
                       : cmdline_apply_named(target, "--bind-to", "hwthread", err);
        if (strncmp(value, "core:", 5) != 0)
            return error_set(err, EINVAL,
                             "'%.60s' binds ranks to several parts; write '%.*s' for one, or "
                             "'core:N' for N cores",
                             value, (int)len, value);
        if (cmdline_apply_named(target, "--cpus-per-rank", number, err) < 0)
            return -1;
        value = "core";
    }
    return cmdline_apply_named(target, "--bind-to", value, err);
}

/* ibrun's number of tasks, of all hosts of the job, that are left out before the first one. */
static int apply_offset(void *target, const char *value, struct error *err)
{
    if (value[strspn(value, "0")] == 0 && *value)
        return 0;
    return error_set(err, EINVAL,
                     "'%.60s' counts tasks; write '--relative N' for the number of hosts that are "
                     "left out, and '--nodes N' for how many are used; steps that run at the same "
                     "time have cores of their own anyway",
                     value);
}

/* "CORE", which ranks have, or a value of its own. */
static int apply_rlimit(void *target, const char *value, struct error *err)
{
    if (!strpbrk(value, "=-*"))
        return 0;
    return error_set(err, EINVAL,
                     "'%.60s': ranks have mprun's limits; set them by ulimit before the line, or "
                     "write '--limit rank:core=0' or another of --help limits",
                     value);
}

/* "CMD:0,3" of one tool: it is started for these ranks. */
static int apply_gtool(void *target, const char *value, struct error *err)
{
    const char *colon = strrchr(value, ':'), *ranks = colon ? colon + 1 : "";
    AUTO_FREE char *command = colon ? strndup(value, (size_t)(colon - value)) : NULL;
    bool is_all = strcmp(ranks, "all") == 0;
    if (!command || strchr(value, ';') ||
        (!is_all && (!*ranks || ranks[strspn(ranks, "0123456789,-")])))
        return error_set(err, EINVAL,
                         "'%.60s' is not 'CMD:RANKS' of one tool; write '--wrap CMD --ranks 0,1', "
                         "or without --ranks for all",
                         value);
    return cmdline_apply_named(target, "--wrap", command, err) < 0 ? -1
           : is_all                                                ? 0
                    : cmdline_apply_named(target, "--ranks", ranks, err);
}

/* ssh and rsh are called as --agent calls them. */
static int apply_launcher_exec(void *target, const char *value, struct error *err)
{
    const char *slash = strrchr(value, '/'), *name = slash ? slash + 1 : value;
    if (strstr(name, "ssh") || strstr(name, "rsh"))
        return cmdline_apply_named(target, "--agent", value, err);
    return error_set(err, EINVAL,
                     "write '--agent CMD' for a program that is called as 'CMD HOST COMMAND'; what "
                     "managers have of their own is found, and '--rm RM' chooses one");
}

/* "bind:numa" is near the core; "firsttouch" is what the kernel does. */
static int apply_hydra_mem(void *target, const char *value, struct error *err)
{
    size_t len = strcspn(value, ":");
    if (strcmp(value, "firsttouch") == 0)
        value = "none";
    else if (len == 4 && strncmp(value, "bind", 4) == 0)
        value = "local";
    else if (len == 10 && value[10] && strncmp(value, "interleave", 10) == 0)
        value = "interleave";
    else if (len == 4 && strncmp(value, "list", 4) == 0)
        return error_set(err, EINVAL,
                         "'%.60s' has nodes for each rank of a host; write 'nodes=0-1' for all "
                         "ranks, or 'local' for those near each rank's cores",
                         value);
    return cmdline_apply_named(target, "--mem-bind", value, err);
}

/* Cores are the step's business, others the job's. */
static int take_tres(void *target, char *item, struct error *err)
{
    struct cmdline *c = target;
    bool is_cores = strncmp(item, "cpu:", 4) == 0 || strncmp(item, "cpu=", 4) == 0;
    return is_cores ? cmdline_apply_cpus(c, item + 4, err)
                    : option_note(&c->for_job, item, strlen(item));
}

/* "cpu:4,gres/gpu:1" */
static int apply_tres_per_task(void *target, const char *value, struct error *err)
{
    return cmdline_each_item(value, ",", take_tres, target, err);
}

/* ---- srun ------------------------------------------------------------------------------------ */

static int apply_het_group(void *target, const char *value, struct error *err)
{
    char name[48];
    if (((struct cmdline *)target)->napps > 1 || value[strspn(value, "0123456789")])
        return error_set(err, EINVAL,
                         "programs of one line run in one component of the job; write a line for "
                         "each component, with '&' behind all but the last");
    snprintf(name, sizeof(name), "slurm:%.30s", value);
    return cmdline_apply_named(target, "--rm", name, err);
}

/* ---- aprun ----------------------------------------------------------------------------------- */

/* "6,2,0-1": a hardware thread for each rank; "0-3:4-7": a list for each. */
static int bind_each(struct cmdline *c, const char *value, struct error *err)
{
    char how[4096];
    if (value[0] < '0' || value[0] > '9' || strlen(value) >= sizeof(how) - 8)
        return error_set(
            err, EINVAL,
            "'%.60s' is neither cpu, depth, numa_node, none, nor a list of hardware threads",
            value);
    if (!strchr(value, ':'))
        return cmdline_apply_named(c, "--cpu-list", value, err);
    snprintf(how, sizeof(how), "list:%s", value);
    return cmdline_apply_named(c, "--cpu-bind", how, err);
}

/* "-cc cpu", "depth", "numa_node", "none", or a list. */
static int apply_cc(void *target, const char *value, struct error *err)
{
    if (strcmp(value, "cpu") == 0 || strcmp(value, "depth") == 0 || strcmp(value, "core") == 0)
        return cmdline_apply_named(target, "--bind-to", "core", err);
    if (strcmp(value, "none") == 0)
        return cmdline_apply_named(target, "--bind-to", "none", err);
    if (strcmp(value, "numa_node") == 0)
        return cmdline_apply_named(target, "--bind-to", "numa", err);
    return bind_each(target, value, err);
}

/* The first NUMA nodes of each host are used. */
static int apply_numa_count(void *target, const char *value, struct error *err)
{
    char how[32];
    uint32_t n = 0;
    if (cmdline_set_count(&n, value, strlen(value), err) < 0)
        return -1;
    snprintf(how, sizeof(how), n > 1 ? "0-%u" : "0", n - 1);
    return cmdline_apply_other(target, "--cpu-set numa:@", how, err);
}

/* Hardware threads of a core that count as CPUs. */
static int apply_cpus_per_core(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    if (strcmp(value, "0") == 0 || strcmp(value, "1") == 0)
        return 0;
    return cmdline_set_count(&c->reading.cpus.per_core, value, strlen(value), err);
}

static int apply_depth(void *target, const char *value, struct error *err)
{
    return cmdline_set_count(&((struct cmdline *)target)->reading.cpus.depth, value, strlen(value),
                             err);
}

int cmdline_settle_cpus(struct cmdline *c, struct error *err)
{
    uint32_t per_core = c->reading.cpus.per_core ? c->reading.cpus.per_core : 1,
             depth = c->reading.cpus.depth;
    char how[48];
    if (!depth && per_core == 1)
        return 0;
    c->reading.cpus.depth = 0; /* another program has its own */
    if (depth <= 1 && per_core > 1)
        return cmdline_apply_named(c, "--map-by", ":hwtcpus", err);
    snprintf(how, sizeof(how), depth % per_core ? ":pe=%u,hwtcpus" : "%u",
             depth % per_core ? depth : depth / per_core);
    return cmdline_apply_named(c, depth % per_core ? "--map-by" : "--cpus-per-rank", how, err);
}

/* "-m 1500", "1500M", "2gh": h and hs ask for huge pages. */
static int apply_aprun_memory(void *target, const char *value, struct error *err)
{
    char size[32];
    size_t len = strspn(value, "0123456789kKmMgG.");
    bool bare = value[len ? len - 1 : 0] >= '0' && value[len ? len - 1 : 0] <= '9';
    if (strcasecmp(value + len, "h") != 0 && strcasecmp(value + len, "hs") != 0 && value[len])
        return error_set(err, EINVAL, "'%.60s' is no size such as 1500, 2g or 2gh", value);
    snprintf(size, sizeof(size), "%.*s%s", (int)(len < 24 ? len : 24), value, bare ? "M" : "");
    return cmdline_apply_named(target, "--mem-per-rank", size, err);
}

/* ---- jsrun: resource sets -------------------------------------------------------------------- */

static int apply_rs(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    c->reading.sets.all_hosts = strcmp(value, "ALL_HOSTS") == 0;
    return c->reading.sets.all_hosts
               ? 0
               : cmdline_set_count(&c->reading.sets.number, value, strlen(value), err);
}

static int apply_rs_cores(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    c->reading.sets.all_cores = strcmp(value, "ALL_CPUS") == 0;
    return c->reading.sets.all_cores
               ? 0
               : cmdline_set_count(&c->reading.sets.cores, value, strlen(value), err);
}

/* "none", "rs", "packed:N", "proportional-packed:N". */
static int apply_jsrun_bind(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    const char *packed = strstr(value, "packed");
    if (strcmp(value, "none") == 0)
        return cmdline_apply_named(c, "--bind-to", "none", err);
    c->reading.sets.shared = strcmp(value, "rs") == 0;
    if (packed && packed[6] == ':')
        return cmdline_set_count(&c->reading.sets.packed, packed + 7, strlen(packed + 7), err);
    if (c->reading.sets.shared || (packed && !packed[6]))
        return 0;
    return error_set(err, EINVAL, "'%.60s' is neither none, nor rs, nor packed:N", value);
}

static int apply_launch_distribution(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    if (strcmp(value, "packed") == 0)
        return 0;
    if (strncmp(value, "plane:", 6) == 0)
        return cmdline_set_count(&c->reading.sets.turn, value + 6, strlen(value + 6), err);
    if (strcmp(value, "cyclic") == 0)
        return cmdline_set_count(&c->reading.sets.turn, "1", 1, err);
    return error_set(err, EINVAL, "'%.60s' is neither packed, nor cyclic, nor plane:N", value);
}

static int apply_exit_on_error(void *target, const char *value, struct error *err)
{
    return strcmp(value, "0") == 0 ? cmdline_apply_named(target, "--enable-recovery", NULL, err)
                                   : 0;
}

/* ---- flux run -------------------------------------------------------------------------------- */

/* "0-3;4-7": hardware threads of each task, or hexadecimal masks. */
static int apply_flux_map(struct cmdline *c, const char *value, struct error *err)
{
    char how[4096];
    bool is_mask = strncmp(value, "0x", 2) == 0;
    size_t n = (size_t)snprintf(how, sizeof(how), "%s:%s", is_mask ? "mask_cpu" : "list", value);
    if (n >= sizeof(how))
        return error_set(err, EINVAL, "the map is longer than %zu bytes", sizeof(how) - 10);
    for (char *at = how; (at = strchr(at, ';'));)
        *at = is_mask ? ',' : ':';
    return cmdline_apply_named(c, "--cpu-bind", how, err);
}

static int apply_shell_option(void *target, const char *value, struct error *err)
{
    if (strcmp(value, "cpu-affinity=on") == 0 || strcmp(value, "output.mode=truncate") == 0 ||
        strcmp(value, "exit-timeout=none") == 0)
        return 0;
    if (strcmp(value, "output.mode=append") == 0)
        return cmdline_apply_named(target, "--open-mode", "append", err);
    if (strcmp(value, "pty") == 0 || strcmp(value, "pty.interactive") == 0)
        return cmdline_apply_named(target, "--pty", NULL, err);
    if (strncmp(value, "output.stdout.path=", 19) == 0)
        return cmdline_apply_flux_output(target, value + 19, err);
    if (strncmp(value, "output.stderr.path=", 19) == 0)
        return cmdline_apply_flux_error(target, value + 19, err);
    if (strncmp(value, "output.stdout.type=", 19) == 0 ||
        strncmp(value, "output.stderr.type=", 19) == 0)
        return 0; /* the path says it */
    if (strncmp(value, "cpu-affinity=map:", 17) == 0)
        return apply_flux_map(target, value + 17, err);
    if (strcmp(value, "pmi=off") == 0 || strcmp(value, "pmi=none") == 0)
        return cmdline_apply_named(target, "--pmi", "none", err);
    if (strncmp(value, "pmi=", 4) == 0 || strncmp(value, "mpi=", 4) == 0 ||
        strcmp(value, "exit-on-error") == 0 || strcmp(value, "rlimit") == 0)
        return 0; /* mprun offers all, and does so */
    if (strcmp(value, "cpu-affinity=off") == 0)
        return cmdline_apply_named(target, "--bind-to", "none", err);
    if (strcmp(value, "cpu-affinity=per-task") == 0)
        return cmdline_apply_named(target, "--bind-to", "core", err);
    return option_note(&((struct cmdline *)target)->no_effect, value, strlen(value));
}

/* "VAR=VALUE"; other rules choose variables, of which ranks have all. */
static int apply_env_rule(void *target, const char *value, struct error *err)
{
    if (strcmp(value, "*") == 0)
        return 0; /* all, which ranks have anyway */
    if (strchr(value, '=') && strchr(value, '$'))
        return error_set(err, EINVAL,
                         "'%.60s': flux replaces the variable, and mprun leaves that to the shell; "
                         "write it in double quotes",
                         value);
    if (strchr(value, '=') && value[0] != '-')
        return cmdline_apply_named(target, "-x", value, err);
    if (strcmp(value, "-*") == 0)
        return cmdline_apply_named(target, "--export", "NONE", err);
    if (value[0] == '-' && value[1] && !strpbrk(value, "*?[/"))
        return cmdline_apply_named(target, "--env-remove", value + 1, err);
    return error_set(err, EINVAL,
                     "'%.60s' chooses variables, but ranks get all; write '--env-remove NAME' for "
                     "one that they are not to have",
                     value);
}

/* "block", "cyclic:2", "hostfile:FILE". */
static int apply_taskmap(void *target, const char *value, struct error *err)
{
    char how[48];
    if (strcmp(value, "block") == 0)
        return 0;
    if (strncmp(value, "hostfile:", 9) == 0)
        return cmdline_apply_named(target, "--hostfile", value + 9, err) < 0
                   ? -1
                   : cmdline_apply_named(target, "--map-by", "seq", err);
    if (strncmp(value, "cyclic", 6) != 0 || !strchr(":", value[6]))
        return error_set(err, EINVAL,
                         "'%.60s' is neither block, nor cyclic, nor cyclic:N, nor hostfile:FILE; a "
                         "map by hand is a file of '--rankfile FILE'",
                         value);
    snprintf(how, sizeof(how), value[6] ? "plane=%.30s" : "cyclic", value[6] ? value + 7 : "");
    return cmdline_apply_named(target, "--distribution", how, err);
}

/* A number alone is minutes. */
static int apply_time_limit(void *target, const char *value, struct error *err)
{
    char text[48];
    bool bare = value[strspn(value, "0123456789.")] == 0;
    snprintf(text, sizeof(text), "%.40s%s", value, bare ? "m" : "");
    return strcmp(value, "0") == 0 ? 0 : cmdline_apply_named(target, "--timeout", text, err);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define OPENMPI   "Open MPI"
#define HYDRA     "Hydra and Intel MPI"
#define SRUN_ONLY "srun"
#define OTHERS    "Others"

#define SETS(kind_, member_) OPTION_SETS(OPTION_##kind_, struct cmdline, member_)

/* For the manager; for nobody; done anyway. */
#define FOR_JOB(names_, arg_, in_)                                                                 \
    {                                                                                              \
        .names = (names_), .argument = (arg_), .repeat = OPTION_APPEND, SETS(NOTED, for_job),      \
        .variants = (in_), .help = "For the command that submits the job; no effect here"          \
    }
#define NO_EFFECT(names_, arg_, in_)                                                               \
    {                                                                                              \
        .names = (names_), .argument = (arg_), .repeat = OPTION_APPEND, SETS(NOTED, no_effect),    \
        .variants = (in_), .help = "No effect, which is said once"                                 \
    }
#define ANYWAY(names_, arg_, in_)                                                                  \
    {                                                                                              \
        .names = (names_), .argument = (arg_), .repeat = OPTION_APPEND, .apply = anyway,           \
        .variants = (in_), .help = "So without it"                                                 \
    }
#define IS(names_, arg_, in_, apply_, help_)                                                       \
    {                                                                                              \
        .names = (names_), .argument = (arg_), .variants = (in_), .apply = (apply_),               \
        .help = (help_)                                                                            \
    }
/* A function for several options. */
#define BY(names_, arg_, in_, apply_, which_, help_)                                               \
    {                                                                                              \
        .names = (names_), .argument = (arg_), .variants = (in_), OPTION_BY(apply_, which_),       \
        .help = (help_)                                                                            \
    }
/* Another option. */
#define MEANS(names_, arg_, in_, other_, help_)                                                    \
    {                                                                                              \
        .names = (names_), .argument = (arg_), .variants = (in_), OPTION_AS(other_),               \
        .help = (help_)                                                                            \
    }
/* A number of a resource set. */
#define COUNTS(names_, member_, help_)                                                             \
    {                                                                                              \
        .names = (names_), .argument = "N", .variants = IN(JSRUN),                                 \
        SETS(COUNT, reading.sets.member_), .low = 1, .high = CMDLINE_RANKS_MAX, .help = (help_)    \
    }
#define REFUSED(names_, in_, help_)                                                                \
    {                                                                                              \
        .names = (names_), .variants = (in_), .help = (help_)                                      \
    }

static const struct option_def table[] = {
    /* Open MPI 4 and 5 */
    MEANS("--pernode", NULL, 0, "--npernode 1", "-N 1"),
    MEANS("--npersocket --ntasks-per-socket", "N", 0, "--map-by ppr:@:socket",
          "--map-by ppr:N:socket"),
    MEANS("--ppr", "WHAT", 0, "--map-by ppr:@", "--map-by ppr:WHAT"),
    MEANS("--bysocket", NULL, 0, "--map-by socket", "--map-by socket"),
    MEANS("--bind-to-core", NULL, 0, "--bind-to core", "--bind-to core"),
    MEANS("--bind-to-socket", NULL, 0, "--bind-to socket", "--bind-to socket"),
    {"--prtemca", "NAME VALUE", NULL, "As --mca of a parameter of the launcher", OPTION_APPEND,
     .apply = apply_prtemca},
    {"--pmixmca --gpmixmca", "NAME VALUE", NULL, "-x PMIX_MCA_NAME=VALUE", OPTION_APPEND,
     OPTION_AS("-x PMIX_MCA_@")},
    {"--omca --gomca", "NAME VALUE", NULL, "--mca NAME VALUE", OPTION_APPEND,
     .apply = cmdline_apply_mca},
    {"--display-map --display-allocation --display-devel-map --display-devel-allocation "
     "--display-diffable-map --display-topo --print-rank-map",
     NULL, NULL, "Print the map and run", SETS(FLAG, show_plan)},
    {"--nolocal --skip-launch-node", NULL, NULL, "Use all hosts but this one",
     SETS(FLAG, place.no_local)},
    IS("--with-ft", "WHAT", 0, apply_with_ft, "--enable-recovery -x OMPI_MCA_mpi_ft_enable=1"),
    {"--path", "DIRS", NULL, "--prepend-env PATH=DIRS", OPTION_APPEND, .apply = apply_path},
    {"--output-directory", "DIR", NULL, "--output-filename DIR",
     .apply = cmdline_apply_output_filename},
    IS("--tune --am --amca", "FILE", IN(MPRUN) | IN(MPIRUN), apply_tune,
       "--mca NAME VALUE and -x NAME=VALUE of its lines"),
    {"--spawn-timeout", "SECONDS", NULL, "--start-timeout", SETS(SECONDS, start.timeout), .low = 1},
    REFUSED("--stop-in-app --enable-debug-at-launch --with-proctable", 0,
            "write '--stop-on-exec' or '--stop-in-init'"),
    REFUSED("--launcher-hostfile --dvm-hostfile", 0, "write '--hostfile FILE'"),
    REFUSED("--cpus-per-node", 0, "write '--npernode N' for ranks of a host"),
    REFUSED(
        "--preload-files-dest-dir", 0,
        "leave it out: files of --preload-files are in the directory that MPRUN_PRELOAD_DIR names"),
    REFUSED("--display-comm --display-comm-finalize", 0,
            "the MPI library prints it: write '--mca ompi_display_comm mpi_init'"),
    ANYWAY("--noprefix --no-app-prefix --fwd-environment", NULL, 0),
    IS("--disable-recovery", NULL, 0, apply_disable_recovery, "So without it"),
    NO_EFFECT("--leave-session-attached --debug-daemons --debug-daemons-file --debug-devel "
              "--show-progress --use-regexp --enable-instant-on-support --novm --do-not-resolve "
              "--fwd-mpirun-port --hetero-nodes --no-ready-msg --report-child-jobs-separately "
              "--homo-nodes --hetero-apps --do-not-aggregate-help --test-suicide --no-quiet",
              NULL, 0),
    NO_EFFECT("-d", NULL, IN(MPIRUN)),
    NO_EFFECT("--launch-agent --personality --max-vm-size --cartofile --dvm --hnp --ompi-server "
              "--dvm-uri --forward-signals --report-events --keepalive --namespace "
              "--stream-buffering --pset --gpu-support --session-id --alloc-id --num-connect-hosts",
              "VALUE", 0),
    {"--runtime-options --rtos", "LIST", NULL, "The options of mprun that do the same",
     OPTION_APPEND, .apply = apply_runtime_options},
    NO_EFFECT("-cf", "FILE", IN(MPIRUN)),
    REFUSED("--report-pid --report-uri", 0, "write 'mprun ... & echo $! >FILE'"),
    REFUSED("--set-cwd-to-session-dir", 0,
            "write: mprun sh -c 'cd $TMPDIR && exec ./a'; TMPDIR is a directory of the step"),
    REFUSED("--loadbalance", 0,
            "write '--map-by node', or '--npernode N' for N ranks on each host"),
    REFUSED("--index-argv-by-rank --output-proctable --parsable --parseable", 0,
            "leave it out: mprun has nothing like it"),
    REFUSED("--add-host --add-hostfile", 0,
            "write all hosts with '--host HOSTS' or '--hostfile FILE'"),
    MEANS("--slot-list", "LIST", 0, "--cpu-set core:@", "--cpu-set core:LIST"),
    REFUSED("--xml --xml-file", 0, "write '--tag-output', or '--report-json FILE' for the result"),

    /* Hydra and Intel MPI; the MPI standard's mpiexec; mpirun_rsh */
    {"--set-env", "NAME[=]VALUE", NULL, "-x NAME=VALUE", OPTION_APPEND,
     .apply = cmdline_apply_pair},
    {"--envlist", "LIST", NULL, "--export LIST for one program", OPTION_APPEND,
     .apply = cmdline_apply_envlist},
    {"--genvlist", "LIST", NULL, "--export LIST", OPTION_APPEND, .apply = cmdline_apply_genvlist},
    IS("--envnone", NULL, 0, cmdline_apply_envlist, "--export NONE for one program"),
    IS("--genvnone", NULL, 0, cmdline_apply_genvlist, "--export NONE"),
    {"--bind-to", "WHAT", NULL, "--bind-to; core:N is N cores, user:LIST a list for each rank",
     .apply = apply_hydra_bind, .variants = IN(MPIEXEC)},
    BY("--outfile-pattern", "FILE", IN(MPIEXEC), cmdline_apply_hydra_pattern, "--outfile-pattern",
       "--outfile-pattern; %p is the host's number, %n"),
    BY("--errfile-pattern", "FILE", IN(MPIEXEC), cmdline_apply_hydra_pattern, "--errfile-pattern",
       "--errfile-pattern; %p is the host's number, %n"),
    BY("--prepend-pattern --prefix-pattern", "TEXT", IN(MPIEXEC), cmdline_apply_hydra_pattern,
       "--prepend-pattern", "--prepend-pattern; %p is the host's number, %n"),
    MEANS("-rr", NULL, 0, "--map-by node", "--map-by node"),
    MEANS("--localonly --local", NULL, 0, "--rm local", "--rm local"),
    NO_EFFECT("--launcher --bootstrap --rmk --topolib --demux --nameserver --order-nodes "
              "--localhost --arch --hostos --branch-count --tmpdir",
              "VALUE", 0),
    NO_EFFECT("--bootstrap-exec-args --launcher-exec-args", "ARGS", 0),
    ANYWAY("-export -export-all --envall --enable-auto-cleanup --abort-on-failure", NULL, 0),
    MEANS("--no-abort-on-failure", NULL, IN(MPIEXEC), "--enable-recovery", "--enable-recovery"),
    MEANS("--tune", "FILE", IN(MPIEXEC), "--genv I_MPI_TUNING_BIN=@",
          "-genv I_MPI_TUNING_BIN FILE"),
    IS("-o", "N", IN(MPIEXEC), apply_offset, "of ibrun: --relative, but where it is 0"),
    {"--gwdir", "DIR", NULL, "--wdir", .apply = cmdline_apply_wdir, .variants = IN(MPIEXEC)},
    {"--gpath", "DIRS", NULL, "--path", OPTION_APPEND, .apply = apply_path,
     .variants = IN(MPIEXEC)},
    {"--ghost", "HOSTS", NULL, "--host", OPTION_APPEND, .apply = cmdline_apply_host,
     .variants = IN(MPIEXEC)},
    {"--machinelist", "FILE", NULL, "--hostfile", OPTION_APPEND, OPTION_AS("--hostfile @"),
     .variants = IN(MPIEXEC)},
    REFUSED("--gumask", 0, "ranks have mprun's umask; write 'umask 027' before the line"),
    REFUSED("--tva --tvsu --gdba --gdb-ia -dbg", IN(MPIEXEC),
            "start the debugger as the program: 'mprun -n 1 --pty gdb ./a', 'mprun -n 1 --pty gdb "
            "./a : -n 3 ./a'"),
    REFUSED("--trace-imbalance --trace_imbalance", 0,
            "it is for libraries of Intel MPI; set what it sets: 'source itacvars.sh' and '--env "
            "LD_PRELOAD=libVTim.so'"),
    REFUSED("--output-from", IN(MPIEXEC),
            "write '--outfile-pattern out.%r', a file for each rank, or '--tag-output'"),
    REFUSED("-sg -spare", IN(MPIEXEC), "leave it out: mprun moves no ranks to other hosts"),
    REFUSED("--rsh-exec", 0, "write '--agent CMD'"),
    NO_EFFECT("--enable-hostname-propagation --static-mpi --prot --fastssh --use-xlauncher "
              "--mpispawn -sshx --startup-barrier --prefork --impi-info",
              NULL, IN(MPIEXEC)),
    NO_EFFECT("--gpu-subdevs-per-proc --hybrid-hosts --xlauncher-width --bootstrap-persist",
              "VALUE", IN(MPIEXEC)),
    {"--transfer", NULL, NULL, "--preload-binary", SETS(FLAG, preload.binary),
     .variants = IN(MPIEXEC)},
    NO_EFFECT("--enable-x --disable-x --profile --pmi-port --disable-hostname-propagation "
              "--localroot --ilp64 --static_mpi --cleanup --legacy --show",
              NULL, 0),
    NO_EFFECT("--pmi-connect --pmi-aggregate --pmi-noaggregate --noconf", NULL, 0),
    NO_EFFECT("--dpm", NULL, IN(MPIEXEC)),
    NO_EFFECT("--memory-alloc-kinds", "VALUE", 0),
    REFUSED("--file", 0, "programs in a file are for --app, hosts in a file for '--hostfile FILE'"),
    NO_EFFECT("-ssh --line-buffer --no-vni --single-node-vni --no-transfer --procinfo", NULL,
              IN(MPIEXEC)),
    NO_EFFECT("--gpu-bind --gpu-bind-mem --pmi-version --network", "VALUE", IN(MPIEXEC)),
    NO_EFFECT("--silent-abort --aps --mps --psm --psm2 --psm3 --mxm --ofi --tmi --dapl --ib --IB "
              "--rdma --RDMA --PSM --PSM2 --MXM --OFI --TMI --DAPL --gm --GM --mx --MX",
              NULL, IN(MPIEXEC) | IN(MPIRUN)),
    REFUSED("--ckpointlib --ckpoint-prefix --ckpoint-interval --ckpoint-num --ckpoint", 0,
            "mprun makes no checkpoints; the program has to"),
    {"--info", NULL, NULL, "--version", SETS(FLAG, version), .variants = IN(MPIEXEC)},
    REFUSED("-rsh", IN(MPIEXEC), "write '--agent rsh'"),
    REFUSED("--soft", 0, "write '--np N': the number of ranks is not chosen from a range"),
    REFUSED("--initial-errhandler", 0,
            "call MPI_Comm_set_errhandler in the program; the first rank that fails ends the step"),
    IS("--gtool", "CMD:RANKS", 0, apply_gtool, "--wrap CMD --ranks RANKS"),
    REFUSED("--gtoolfile", 0, "write '--wrap valgrind --ranks 0,1', or without --ranks for all"),
    IS("--launcher-exec --bootstrap-exec", "CMD", IN(MPIEXEC), apply_launcher_exec, "--agent CMD"),
    IS("--pmi", "NAME", IN(MPIEXEC), cmdline_apply_mpi_plugin, "--pmi; cray is all"),
    {"--membind --mem-bind", "HOW", NULL, "--mem-bind", .apply = apply_hydra_mem,
     .variants = IN(MPIEXEC) | IN(MPIRUN)},
    {"--exclude-hosts", "HOSTS", NULL, "--exclude", OPTION_APPEND, .apply = cmdline_apply_exclude,
     .variants = IN(MPIEXEC)},
    NO_EFFECT("--use-app-topology", "VALUE", IN(MPIEXEC) | IN(MPIRUN)),
    REFUSED("--umask", 0, "ranks have mprun's umask; write 'umask 027' before the line"),
    REFUSED("--nice", 0, "ranks have mprun's priority; write 'nice -n 10' before mprun"),
    REFUSED("--hosts-group", 0, "write '--host HOSTS', in which 'n[1-4]' is n1 to n4"),
    REFUSED("--genvexcl --envexcl", 0, "write '--env-remove NAME'"),
    REFUSED("--check_mpi --check-mpi --trace --mpitune --trace-pt2pt --trace-collectives", 0,
            "it is for libraries of Intel MPI; set what it sets: 'source itacvars.sh' and '--env "
            "LD_PRELOAD=libVTmc.so'"),
    REFUSED("--binding", 0, "write '--bind-to core', '--map-by HOW' or '--bind-to none'"),

    /* srun: what concerns a step */
    {"--bcast", "[=PATH]", NULL, "--preload-binary", SETS(FLAG, preload.binary)},
    {"--mem-bind --mem_bind --membind", "HOW", NULL,
     "--mem-bind; maps, masks and preferences have no effect", .apply = cmdline_apply_srun_mem_bind,
     .variants = IN(SRUN)},
    {"--send-libs", "[=yes]", NULL, "--preload-libs", SETS(FLAG, preload.libs)},
    IS("--het-group --pack-group", "N", 0, apply_het_group, "--rm slurm:N"),
    IS("--tres-per-task", "LIST", IN(SRUN), apply_tres_per_task, "--cpus-per-rank N for cpu:N"),
    ANYWAY("--propagate", "[=LIST]", 0),
    IS("--hint", "HOW", IN(SRUN), cmdline_apply_hint, "-c counts cores where it is nomultithread"),
    IS("--threads-per-core", "N", IN(SRUN), cmdline_apply_threads_per_core,
       "-c counts cores where it is 1"),
    BY("--gpus -G", "N", IN(SRUN), cmdline_apply_gpus, "--gpus",
       "-n N, of tasks of each or for each"),
    BY("--gpus-per-node", "N", IN(SRUN), cmdline_apply_gpus, "--gpus-per-node",
       "--npernode, of tasks of each"),
    BY("--gpus-per-task", "N", IN(SRUN), cmdline_apply_gpus, "--gpus-per-task",
       "--gpus-per-rank in a job of Slurm; -n, of --gpus"),
    BY("--cpus-per-gpu", "N", IN(SRUN), cmdline_apply_gpus, "--cpus-per-gpu",
       "-c, of --gpus-per-task or --ntasks-per-gpu"),
    BY("--ntasks-per-gpu", "N", IN(SRUN), cmdline_apply_gpus, "--ntasks-per-gpu", "-n, of --gpus"),
    IS("--gres", "LIST", IN(SRUN), cmdline_apply_gres, "as --gpus-per-node where it names GPUs"),
    NO_EFFECT("--accel-bind --acctg-freq --gpu-bind --gres-flags --msg-timeout --slurmd-debug "
              "--bcast-exclude --threads --cpu-freq --mcs-label --tres-bind --wait --treewidth",
              "VALUE", IN(SRUN)),
    NO_EFFECT("--compress --resv-ports --x11", "[=VALUE]", IN(SRUN)),
    NO_EFFECT("-T -W", "VALUE", IN(SRUN)),
    NO_EFFECT("--no-kill -k --immediate -I", "[=VALUE]", IN(SRUN)),
    NO_EFFECT("--quit-on-interrupt --preserve-env -E -vv -vvv --vvvv --whole --async "
              "--external-launcher --interactive --stepmgr",
              NULL, IN(SRUN)),
    IS("--exclusive", "[=user]", IN(SRUN), cmdline_apply_exclusive,
       "--wait-cores; with a value it is for the command that submits the job"),
    NO_EFFECT("--exact", NULL, IN(SRUN)),
    NO_EFFECT("--ignore-signals --mem-update --resources --ipus --ear --ear-policy --ear-cpufreq "
              "--ear-verbose --ear-tag --gpu_bind",
              "VALUE", IN(SRUN)),
    REFUSED("--uenv --view", IN(SRUN), "start mprun within it: uenv run IMAGE -- mprun -n 4 ./a"),
    REFUSED("--environment", IN(SRUN),
            "start the container as the program: 'mprun -n 4 apptainer exec IMAGE ./a'"),
    NO_EFFECT("--wait-for-children --spread-segments", NULL, IN(SRUN)),
    FOR_JOB("--partition --account --qos --reservation --constraint --job-name --licenses "
            "--dependency --begin --clusters --comment --deadline --delay-boot --mail-type "
            "--mail-user --mem-per-cpu --mincpus --priority --profile --switches --tmp --wckey "
            "--power --sockets-per-node --cores-per-socket --extra-node-info --core-spec "
            "--thread-spec --gpus-per-socket --mem-per-gpu --gpu-freq --network --burst-buffer "
            "--bb --bbf --prefer --segment --oom-kill-step --export-file --cluster-constraint "
            "--extra -p -A -C -J -L -d -b -M -B -S",
            "VALUE", IN(SRUN)),
    FOR_JOB("--nice", "[=N]", IN(SRUN)),
    FOR_JOB("-s --oversubscribe --consolidate-segments --hold -H --contiguous --reboot "
            "--spread-job --use-min-nodes --no-allocate -Z --disable-status -X --no-shell",
            NULL, IN(SRUN)),
    FOR_JOB("--time-min --jobid --ntasks-per-core", "VALUE", IN(SRUN)),
    FOR_JOB("--signal", "SIGNAL", IN(SRUN)),
    FOR_JOB("-q", "QOS", IN(SRUN)),
    REFUSED("--prolog --epilog --task-prolog --task-epilog", 0,
            "write it into the script before or behind the line; for each rank: mprun sh -c '. "
            "./PROLOG; exec ./a'"),
    REFUSED("--uid --gid", 0, "mprun runs as the user that calls it; leave it out"),
    REFUSED("--container --container-image --container-mounts --container-name --container-workdir "
            "--container-env --no-container-mount-home --container-writable --container-entrypoint "
            "--container-id",
            0, "start the container as the program: 'mprun -n 4 apptainer exec IMAGE ./a'"),

    /* aprun */
    IS("-cc --cc --cpu-binding", "HOW", IN(APRUN), apply_cc, "--bind-to core, numa or none"),
    MEANS("-sl --sl --numa-node-list", "LIST", IN(APRUN), "--cpu-set numa:@",
          "--cpu-set numa:LIST"),
    IS("-sn --sn --numa-nodes-per-node", "N", IN(APRUN), apply_numa_count, "--cpu-set numa:0-N"),
    {"--pes", "N", NULL, "-n", .apply = cmdline_apply_np, .variants = IN(APRUN)},
    MEANS("--pes-per-node", "N", IN(APRUN), "--npernode @", "--npernode"),
    IS("-d --cpus-per-pe", "N", IN(APRUN), apply_depth, "--cpus-per-rank"),
    IS("-j --cpus-per-cu", "N", IN(APRUN), apply_cpus_per_core,
       "-d counts hardware threads, of which N are of a core"),
    MEANS("-S --pes-per-numa-node", "N", IN(APRUN), "--map-by ppr:@:numa", "--map-by ppr:N:numa"),
    MEANS("-l --node-list-file", "FILE", IN(APRUN), "--hostfile @", "--hostfile"),
    MEANS("-t --cpu-time-limit", "SECONDS", IN(APRUN), "--limit rank:cput=@",
          "--limit rank:cput=SECONDS"),
    {"-e --environment-override", "NAME=VALUE", NULL, "-x", OPTION_APPEND,
     .apply = cmdline_apply_env, .variants = IN(APRUN)},
    IS("-m --memory-per-pe", "SIZE", IN(APRUN), apply_aprun_memory,
       "--mem-per-rank; a number alone is megabytes"),
    {"-L --node-list", "LIST", NULL, "--host", OPTION_APPEND, .apply = cmdline_apply_host,
     .variants = IN(APRUN)},
    {"-E", "LIST", NULL, "--exclude", OPTION_APPEND, .apply = cmdline_apply_exclude,
     .variants = IN(APRUN)},
    NO_EFFECT("-r --specialized-cpus -F --access-mode -p --protection-domain -a --architecture -D "
              "-R --relaunch --zone-sort -P --pipes -M",
              "VALUE", IN(APRUN)),
    NO_EFFECT("-ss --ss --strict-memory-containment -b --bypass-app-transfer -B --batch-args -T "
              "--sync-output -C --reconnect -y -z -k",
              NULL, IN(APRUN)),
    REFUSED("-cp --cpu-binding-file", IN(APRUN),
            "write '--cpu-bind list:0-3:4-7' with the hardware threads of each rank of a host"),
    REFUSED("-mpmd-env --mpmd-env", IN(APRUN), "write '-x NAME=VALUE' before the program"),

    /* jsrun */
    IS("-n --nrs", "N", IN(JSRUN), apply_rs, "the number of resource sets"),
    COUNTS("-a --tasks_per_rs", tasks, "ranks in each"),
    IS("-c --cpu_per_rs", "N", IN(JSRUN), apply_rs_cores, "cores of each"),
    COUNTS("-r --rs_per_host", per_host, "resource sets on each host"),
    COUNTS("-K --rs_per_socket", per_socket, "--map-by ppr:N:socket"),
    IS("-b --bind", "HOW", IN(JSRUN), apply_jsrun_bind,
       "--rank-sets, --cpus-per-rank or --bind-to none"),
    IS("-d --launch_distribution", "HOW", IN(JSRUN), apply_launch_distribution,
       "--rank-sets RANKS:CORES:turn=N"),
    {"-p --np", "N", NULL, "-n", .apply = cmdline_apply_np, .variants = IN(JSRUN)},
    {"-E --env", "NAME[=VALUE]", NULL, "-x", OPTION_APPEND, .apply = cmdline_apply_env,
     .variants = IN(JSRUN)},
    {"-h --chdir", "DIR", NULL, "--wdir", .apply = cmdline_apply_wdir, .variants = IN(JSRUN)},
    {"-D --env_no_propagate", "NAME", NULL, "--env-remove", OPTION_APPEND,
     OPTION_BY(cmdline_apply_marked, "-"), .variants = IN(JSRUN)},
    {"-x --exclude_hosts", "HOSTS", NULL, "--exclude", OPTION_APPEND,
     .apply = cmdline_apply_exclude, .variants = IN(JSRUN)},
    IS("-X --exit_on_error", "N", IN(JSRUN), apply_exit_on_error, "--enable-recovery where N is 0"),
    REFUSED("-F --env_eval", IN(JSRUN), "write '--env NAME=VALUE'"),
    NO_EFFECT("-g --gpu_per_rs -l --latency_priority -M --smpiargs -m --memory_per_rs", "VALUE",
              IN(JSRUN)),
    NO_EFFECT("-i --immediate --use_spindle -Z --zero_index --pmi_1", NULL, IN(JSRUN)),
    NO_EFFECT("-P --progress -j --stepid", "VALUE", IN(JSRUN)),
    REFUSED("--use_reservation --use_resources -J --save_resources -S --allocate_only --stage_in",
            IN(JSRUN),
            "leave it out: each line takes the cores that it needs and that no other step of the "
            "job has; '--host HOSTS' chooses hosts"),
    REFUSED("--erf_output", IN(JSRUN), "write '--dry-run', which prints where ranks would run"),
    REFUSED("-R --show_options --launch_node_task -T", IN(JSRUN),
            "leave it out: mprun has nothing like it; '--dry-run' shows what a line would do"),
    REFUSED("--mpmd", IN(JSRUN), "write the programs on the line: 'mprun -n 1 ./a : -n 7 ./b'"),
    REFUSED("--stdio_stdout -o --stdio_stderr -k", IN(JSRUN),
            "write '--outfile-pattern out.%r' and '--errfile-pattern err.%r'"),
    REFUSED("--stdio_input -t", IN(JSRUN), "write '<FILE' behind the line"),
    REFUSED("--stdio_mode -e", IN(JSRUN), "leave it out: mprun collects the output of all ranks"),
    REFUSED("-U --erf_input -f --appfile", IN(JSRUN),
            "write the programs on the line: 'mprun -n 1 ./a : -n 7 ./b'"),

    /* flux run */
    {"-o --setopt", "OPTION", NULL, "--bind-to for cpu-affinity", OPTION_APPEND,
     .apply = apply_shell_option, .variants = IN(FLUX)},
    {"--env", "RULE", NULL, "-x NAME=VALUE", OPTION_APPEND, .apply = apply_env_rule,
     .variants = IN(FLUX)},
    {"--cwd", "DIR", NULL, "--wdir", .apply = cmdline_apply_wdir, .variants = IN(FLUX)},
    {"--label-io -l", NULL, NULL, "--tag-output", SETS(FLAG, output.lines.tag),
     .variants = IN(FLUX)},
    IS("-t --time-limit", "TIME", IN(FLUX), apply_time_limit,
       "--timeout; a number alone is minutes"),
    FOR_JOB("--queue -q --bank -B --job-name --urgency --requires --setattr --begin-time "
            "--dependency --gpus-per-task -g --gpus-per-node --flags --conf --mem --time",
            "VALUE", IN(FLUX)),
    FOR_JOB("-x --exclusive", NULL, IN(FLUX)),
    NO_EFFECT("-vv -vvv", NULL, IN(FLUX)),
    FOR_JOB("-S", "VALUE", IN(FLUX)),
    IS("--taskmap", "HOW", IN(FLUX), apply_taskmap, "--distribution"),
    NO_EFFECT("--parent", NULL, IN(FLUX)),
    {"--rlimit --rlimits", "NAME[=VALUE]", NULL, "Ranks have mprun's limits", OPTION_APPEND,
     .apply = apply_rlimit},
    REFUSED("--env-file", IN(FLUX), "write '. ./FILE' before the line, or '--env NAME=VALUE'"),
    REFUSED("--tasks-per-core --cores --nslots --cores-per-slot --gpus-per-slot", IN(FLUX),
            "write '--np N' for the number of tasks; '--cores-per-task N' are the cores of each, "
            "'--tasks-per-node N' those of a node"),
    REFUSED("--progress --jps --log --log-stderr --cc --bcc --dump --add-brokers --broker-opt "
            "--broker-opts --debug-emulate --list-plugins",
            IN(FLUX), "it is not for 'flux run', which mprun stands in for; leave it out"),
    NO_EFFECT("--wait --watch", NULL, IN(FLUX)),
    NO_EFFECT("--wait-event", "NAME", IN(FLUX)),
    REFUSED("--add-file", 0, "write '--preload-files LIST'"),

    /* no launcher's: words that users try, and what they mean */
    REFUSED("--nprocs --num-procs --numprocs --nproc --num-processes --processes --procs --nranks "
            "--num-ranks --num-tasks --tasks --world-size --nproc-total --pes --npes --mpi-procs",
            0, "write '--np N'"),
    REFUSED(
        "--ranks-per-node --ranks-per-host --procs-per-node --procs-per-host --processes-per-node "
        "--processes-per-host --proc-per-node --nproc-per-node --nproc_per_node --tasks-per-host "
        "--ntasks-per-host --pes-per-node --mpiprocs --ranks-per-machine",
        0, "write '--npernode N'"),
    REFUSED("--nnodes --num-nodes --numnodes --nhosts --num-hosts --node-count --number-of-nodes",
            0, "write '--nodes N'"),
    REFUSED("--cores --ncores --cpus --ncpus --cores-per-rank --threads-per-rank "
            "--threads-per-task --threads-per-process --threads-per-proc --cores-per-proc "
            "--cores-per-process --cpus-per-process --ncpus-per-task --nthreads --num-threads "
            "--omp-threads --omp-num-threads --ompthreads",
            0, "write '--cpus-per-rank N'; OpenMP asks for threads by '--env OMP_NUM_THREADS=N'"),
    REFUSED("--memory --max-memory --memory-limit --mem-limit --max-mem --mem-per-node "
            "--memory-per-node --mem-per-host --mem-per-task --mem-per-proc --mem-per-process "
            "--memory-per-rank --memory-per-task --memory-per-process",
            0, "write '--mem-per-rank SIZE'"),
    REFUSED("--walltime --wall-time --wall-limit --time-limit --timelimit --max-time --max-runtime "
            "--runtime --run-time --duration",
            0, "write '--timeout TIME'"),
    REFUSED("--kill-timeout --kill-delay --kill-wait --grace-time --grace-period --term-timeout", 0,
            "write '--kill-grace TIME'"),
    REFUSED("--cwd --workdir --work-dir --working-dir --working-directory --workingdir --directory "
            "--current-working-directory --start-dir --rundir",
            0, "write '--wdir DIR'"),
    REFUSED(
        "--setenv --envvar --env-var --envs --environment --variable --define --export-env --envar",
        0, "write '--env NAME=VALUE'"),
    REFUSED("--unsetenv --remove-env --no-env --env-unset --del-env", 0,
            "write '--env-remove NAME'"),
    REFUSED("--export-all --exportall --copy-env --pass-env --inherit-env --all-env --forward-env",
            0,
            "leave it out: ranks get mprun's whole environment; '--export NONE' gives them none"),
    REFUSED("--host-file --hosts-file --hostsfile --machine-file --machinesfile --machines-file "
            "--machines --node-file --nodesfile --nodes-file --nodelist-file --hostlist-file",
            0, "write '--hostfile FILE'"),
    REFUSED("--host-list --node-list --hostnames --host-names --nodenames --node-names --servers",
            0, "write '--host HOSTS'"),
    REFUSED("--exclude-hosts --exclude-nodes --exclude-host --exclude-node --skip-hosts "
            "--without-hosts --except",
            0, "write '--exclude HOSTS'"),
    REFUSED("--affinity --cpu-affinity --core-affinity --pin --pinning --core-binding --core-bind "
            "--process-binding --binding-policy --bind-cores --bind-to-cores --bind --cpubind",
            0, "write '--bind-to core', '--bind-to numa' or '--bind-to none'"),
    REFUSED("--nobind --no-bind --no-binding --unbound --bind-none --bind-to-none --no-affinity "
            "--no-pin --no-pinning",
            0, "write '--bind-to none'"),
    REFUSED(
        "--bind-to-hwthread --bind-to-numa --bind-to-board --bind-to-package", 0,
        "write '--bind-to hwthread', '--bind-to numa', '--bind-to board' or '--bind-to package'"),
    REFUSED("--cpuset --cpu-ids --core-list --cores-list --taskset --physcpubind", 0,
            "write '--cpu-set LIST'"),
    REFUSED(
        "--mapping --placement --place --layout --round-robin --roundrobin --scatter --cyclic "
        "--process-mapping --mapping-policy",
        0,
        "write '--map-by node' for a rank on each host in turn, or '--map-by slot' to fill hosts"),
    REFUSED("--label-output --labels --prefix-output --prefix-rank --rank-prefix --tag-lines "
            "--prepend-ranks --show-ranks --output-label",
            0, "write '--tag-output'"),
    REFUSED("--stdout --stdout-file --output-file --outfile --out-file --log-file --logfile "
            "--log-dir --logdir --output-dir --outdir --redirect-output",
            0,
            "write '--outfile-pattern out.%r', a file for each rank; '>FILE' behind the line is "
            "one file"),
    REFUSED("--stderr --stderr-file --error-file --errfile --err-file", 0,
            "write '--errfile-pattern err.%r'"),
    REFUSED("--merge-output --join-output --combine-output --stderr-to-stdout --redirect-stderr "
            "--merge-stderr",
            0, "write '--merge-stderr-to-stdout'"),
    REFUSED("--stdin-file --input-file --infile --in-file", 0,
            "write '<FILE' behind the line; '--stdin all' gives it to all ranks"),
    REFUSED("--silent --no-output --no-messages", 0, "write '--quiet'"),
    REFUSED("--log-level --loglevel --debug-level --verbosity --trace-level", 0,
            "write '--verbose'"),
    REFUSED(
        "--plan --simulate --no-launch --dont-launch --no-run --pretend --preview --noop --no-exec",
        0, "write '--dry-run'"),
    REFUSED("--show-map --print-map --show-bindings --show-binding --print-bindings "
            "--print-binding --show-affinity",
            0, "write '--report-bindings', or '--dry-run' to start nothing"),
    REFUSED("--keep-going --no-abort --ignore-errors --continue-on-error --no-kill-on-error "
            "--fault-tolerant",
            0, "write '--enable-recovery'"),
    REFUSED("--abort-on-error --kill-on-error --exit-on-error --fail-fast --stop-on-error "
            "--kill-others",
            0, "leave it out: when a rank fails, mprun ends the others"),
    REFUSED("--restart --restarts --retry --rerun --requeue", 0,
            "write '--max-restarts N': a rank that fails is started again"),
    REFUSED(
        "--ssh-agent --ssh-command --ssh-cmd --ssh-args --remote-shell --rsh-agent --rsh-command",
        0, "write '--agent CMD' for a program that is called as 'CMD HOST COMMAND'"),
    REFUSED("--network-interface --netdev --if-include --tcp-interface --hca", 0,
            "write '--interface eth0' for mprun's own connections; the MPI library has settings of "
            "its own"),
    REFUSED("--port --ports --port-start --tcp-ports", 0, "write '--port-range LOW-HIGH'"),
    REFUSED("--copy-binary --broadcast --stage-in --copy-files --transfer-files --push-files", 0,
            "write '--preload-binary' for the program, '--preload-files LIST' for others"),
    REFUSED("--gdb --lldb --ddt --totalview --vtune --valgrind --strace --perf --nsys --profiler",
            0,
            "start the tool as the program: 'mprun -n 4 valgrind ./a', or for some ranks '--np 4 "
            "--wrap valgrind --ranks 0'"),
    REFUSED("--scheduler --resource-manager --batch-system", 0,
            "write '--rm slurm', or another that '--help hosts' shows"),
    REFUSED("--statistics --stats --usage-report --accounting --resource-usage --report-file", 0,
            "write '--report usage', or '--report-json FILE'"),
    REFUSED("--config --config-file --conf", 0,
            "options for all lines are in mprun.conf(5), and programs in the file of --app"),
    REFUSED("--ngpus --num-gpus --gpus-per-host", 0,
            "ask the resource manager for them, and write '--gpus-per-rank N' for ranks that are "
            "to have GPUs of their own"),
    REFUSED("--no-smt --no-hyperthreads --nomultithread --smt --hyperthreads", 0,
            "write '--bind-to core' for a core of each rank, '--bind-to hwthread' for a hardware "
            "thread"),
    REFUSED("--background --detach --daemonize", 0, "write '&' behind the line"),
    REFUSED("--user --run-as --run-as-user", 0,
            "leave it out: mprun runs as the user that calls it"),
    {.names = NULL},
};

/* An option about ranks or cores belongs to the program that stands behind it. */
bool cmdline_is_app_option(const struct option_def *def)
{
    static option_fn *const places[] = {
        anyway,          apply_hydra_bind,    apply_cc,         apply_depth,
        apply_het_group, apply_cpus_per_core, apply_numa_count, apply_disable_recovery};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (def->apply == places[i])
            return true;
    if (def->apply_other == cmdline_apply_other)
        def = options_find(cmdline_options(), def->other, strcspn(def->other, " "));
    return cmdline_is_own_app_option(def) || (def->kind == OPTION_NOTED && !def->apply);
}

bool cmdline_is_needless(const struct option_def *def)
{
    return def->apply == anyway || def->apply == apply_disable_recovery;
}

const struct option_def *cmdline_peer_options(void)
{
    return table;
}
