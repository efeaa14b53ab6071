/* SPDX-License-Identifier: BSD-3-Clause */
/* option-table.c - the one table of mprun's options, and what each of them does
 *
 * Synonyms are the spellings of Open MPI's mpirun, Hydra's mpiexec and srun where they mean the
 * same thing. Names that mean something else there, or nothing here yet, are refused with the way
 * out instead of being guessed at. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/cmdline/cmdline-private.h"
#include "launcher/cmdline/options/option-functions.h"
#include "launcher/cmdline/other-launchers/other-launchers.h"

#include "common/cleanup.h"
#include "common/text/idset.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/files/path.h"
#include "common/text/words.h"
#include "rm-adapters/adapter.h"

/* ---- words ----------------------------------------------------------------------------------- */

static int not_empty(const char *value, const char *what, struct error *err)
{
    return *value ? 0 : error_set(err, EINVAL, "the name of %s is empty", what);
}

/* ---- programs -------------------------------------------------------------------------------- */

int cmdline_apply_np(void *target, const char *value, struct error *err)
{
    int64_t n;
    if (number_parse(value, NULL, 1, CMDLINE_RANKS_MAX, &n, err) < 0)
        return -1;
    ((struct cmdline *)target)->reading.app->nranks = (uint32_t)n;
    return 0;
}

int cmdline_apply_wdir(void *target, const char *value, struct error *err)
{
    ((struct cmdline *)target)->reading.app->wdir = value;
    return not_empty(value, "the directory", err);
}

int cmdline_apply_env(void *target, const char *value, struct error *err)
{
    return cmdline_set_variable(((struct cmdline *)target)->reading.app, value, err);
}

/* ---- where ----------------------------------------------------------------------------------- */

/* To srun it is a number of hosts. */
static int apply_short_per_host(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    c->place.short_per_host = value;
    c->place.says_map = true;
    return cmdline_set_count(&c->place.per_host, value, strlen(value), err);
}

/* Hydra's words for all of them: SYSTEM, INFINITE. */
static int apply_universe(void *target, const char *value, struct error *err)
{
    static const char *const all[] = {"all", "SYSTEM", "INFINITE"};
    struct cmdline *c = target;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strcasecmp(value, all[i]) == 0) {
            c->place.universe = CMDLINE_RANKS_MAX;
            return 0;
        }
    return cmdline_set_count(&c->place.universe, value, strlen(value), err);
}

static int apply_per_host(void *target, const char *value, struct error *err)
{
    ((struct cmdline *)target)->place.says_map = true;
    return cmdline_set_count(&((struct cmdline *)target)->place.per_host, value, strlen(value),
                             err);
}

enum { FANOUT_MAX = 4096, DAY = 86400 };

static int apply_rm(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    const char *names[32];
    size_t n = 0, len = strcspn(value, ":");
    while (rm_adapters[n] && n < sizeof(names) / sizeof(*names) - 2) {
        names[n] = rm_adapters[n]->name;
        n++;
    }
    names[n] = "none";
    names[n + 1] = NULL;
    int i = option_word(value, len, names, err);
    if (i < 0)
        return -1;
    c->hosts.no_manager = (size_t)i == n;
    if (c->hosts.no_manager && value[len])
        return error_set(err, EINVAL, "'none' takes no '%.60s'", value + len);
    c->rm = rm_adapters[i]; /* of "none" it is NULL: one that is found */
    c->hosts.argument = value[len] ? value + len + 1 : NULL;
    return 0;
}

static int append(const char *const **list, size_t *n, const char *value)
{
    const char **grown = must(reallocarray((void *)(uintptr_t)*list, *n + 1, sizeof(*grown)));
    grown[(*n)++] = value;
    *list = grown;
    return 0;
}

int cmdline_apply_host(void *target, const char *value, struct error *err)
{
    struct host_request *h = &((struct cmdline *)target)->hosts;
    if (((struct cmdline *)target)->dialect == DIALECT_APRUN &&
        value[strspn(value, "0123456789,-")] == 0)
        return error_set(err, EINVAL,
                         "'%.60s' are numbers of nodes; write the names of the hosts, 'nid00024'",
                         value);
    if (strchr(value, '/'))
        return error_set(
            err, EINVAL,
            "'%.60s' is no list of hosts, but looks like a file; write '--hostfile %.60s'", value,
            value);
    return append(&h->lists, &h->nlists, value);
}

int cmdline_apply_exclude(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    return append(&c->place.excluded, &c->place.nexcluded, value);
}

static int apply_hostfile(void *target, const char *value, struct error *err)
{
    struct host_request *h = &((struct cmdline *)target)->hosts;
    if (not_empty(value, "the file", err) < 0)
        return -1;
    return append(&h->files, &h->nfiles, value);
}

/* As the mprun of Sun's HPC ClusterTools had it; srun has another one. */
static int apply_short_hostfile(void *target, const char *value, struct error *err)
{
    static const char *const srun_words[] = {"block", "cyclic", "plane", "arbitrary"};
    size_t n = strcspn(value, ":=,");
    for (size_t i = 0; i < sizeof(srun_words) / sizeof(srun_words[0]); i++)
        if (strlen(srun_words[i]) == n && strncmp(value, srun_words[i], n) == 0 &&
            access(value, F_OK) < 0)
            return error_set(
                err, EINVAL,
                "it is the file of hosts; for what srun's -m means write '--distribution %.60s'",
                value);
    return apply_hostfile(target, value, err);
}

static int apply_agent(void *target, const char *value, struct error *err)
{
    ((struct cmdline *)target)->start.agent = words_split(value, err);
    return ((struct cmdline *)target)->start.agent ? 0 : -1;
}

static int apply_prefix(void *target, const char *value, struct error *err)
{
    ((struct cmdline *)target)->start.prefix = value;
    if (value[0] != '/')
        return error_set(err, EINVAL, "'%.60s' is no absolute path; it is one of other machines",
                         value);
    return strchr(value, '\n') ? error_set(err, EINVAL, "the path has a newline") : 0;
}

static int apply_start_tree(void *target, const char *value, struct error *err)
{
    int64_t n;
    if (number_parse(value, NULL, 0, UINT32_MAX, &n, err) < 0)
        return -1;
    ((struct cmdline *)target)->start.tree = n;
    return 0;
}

static int apply_keep(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    if (strcmp(value, "no") == 0)
        c->start.keep = KEEP_NO;
    else if (strcmp(value, "step") == 0)
        c->start.keep = KEEP_STEP;
    else if (strcmp(value, "job") == 0)
        c->start.keep = KEEP_JOB;
    else if (duration_parse(value, NULL, &c->start.keep, err) < 0)
        return error_set(err, EINVAL,
                         "'%.60s' is none of job, step and no, and not a time such as 90, 5m or 1h",
                         value);
    return 0;
}

static int apply_command(void *target, const char *which, const char *value, struct error *err)
{
    struct debugging_options *d = &((struct cmdline *)target)->debug;
    char **words = words_split(value, err);
    *(*which == 'w' ? &d->wrap : &d->daemon) = value;
    words_free(words);
    return words ? 0 : -1;
}

static int apply_ranks(void *target, const char *value, struct error *err)
{
    AUTO(idset_free) struct idset ranks = {0};
    ((struct cmdline *)target)->debug.wrapped_ranks = value;
    if (idset_parse(value, &ranks, err) < 0)
        return -1;
    bool is_empty = idset_count(&ranks) == 0;
    return is_empty ? error_set(err, EINVAL, "the list of ranks is empty") : 0;
}

static int apply_port_range(void *target, const char *value, struct error *err)
{
    struct port_range *p = &((struct cmdline *)target)->links.ports;
    const char *dash = strpbrk(value, "-:");
    char low_text[64];
    int64_t low, high;
    snprintf(low_text, sizeof(low_text), "%.*s",
             dash && dash - value < 60 ? (int)(dash - value) : 60, value);
    if (number_parse(low_text, NULL, 1, 65535, &low, err) < 0)
        return -1;
    high = low;
    if (dash && number_parse(dash + 1, NULL, 1, 65535, &high, err) < 0)
        return -1;
    if (high < low)
        return error_set(err, EINVAL, "'%.60s' ends before it begins", value);
    *p = (struct port_range){(unsigned)low, (unsigned)high};
    return 0;
}

static const char *const security_words[] = {
    [LINK_PLAIN] = "none", [LINK_ENCRYPT] = "encrypt", [LINK_MAC] = "mac", NULL};

const char *const transport_words[] = {
    [TRANSPORT_AUTO] = "auto",
    [TRANSPORT_UNIX] = "unix",
    [TRANSPORT_TCP] = "tcp",
    [TRANSPORT_STDIO] = "stdio",
    NULL,
};

/* no: "no", or "" */
static int apply_oversubscribe(void *target, const char *no, const char *value, struct error *err)
{
    return placement_oversubscribe(&((struct cmdline *)target)->place, !*no, err);
}

/* ---- cores and containment ------------------------------------------------------------------- */

/* "4" cores, or "8t" hardware threads. */
static int apply_rank_cores(void *target, const char *value, struct error *err)
{
    struct placement_options *p = &((struct cmdline *)target)->place;
    size_t len = strlen(value);
    p->says_map = true;
    p->bind.by_threads = len > 1 && value[len - 1] == 't';
    return cmdline_set_count(&p->bind.cores, value, len - p->bind.by_threads, err);
}

/* "2" GPUs; "1/2", "0.5" of one. */
static int apply_rank_gpus(void *target, const char *value, struct error *err)
{
    struct binding_request *b = &((struct cmdline *)target)->place.bind;
    double part = strspn(value, "0123456789.") == strlen(value) ? strtod(value, NULL) : 0;
    if (strncmp(value, "1/", 2) != 0 && !(part > 0 && part < 1))
        return cmdline_set_count(&b->gpus, value, strlen(value), err);
    uint32_t sharers = part >= 1.0 / GPU_SHARERS_MAX ? (uint32_t)(1 / part) : 0;
    if (part == 0 && cmdline_set_count(&sharers, value + 2, strlen(value + 2), err) < 0)
        return -1;
    if (sharers == 0 || sharers > GPU_SHARERS_MAX)
        return error_set(err, EINVAL, "'%.60s': at most %d ranks share a GPU", value,
                         GPU_SHARERS_MAX);
    b->gpus = sharers == 1;
    b->gpu_sharers = sharers > 1 ? sharers : 0;
    return 0;
}

/* "4:7:each=1:turn=1" */
static int apply_rank_sets(void *target, const char *value, struct error *err)
{
    struct placement_options *p = &((struct cmdline *)target)->place;
    struct binding_request *b = &p->bind;
    size_t n = strcspn(value, ":");
    const char *cores = value + n + (value[n] == ':');
    size_t len = strcspn(cores, ":");
    p->says_map = true;
    if (cmdline_set_count(&b->set_ranks, value, n, err) < 0 ||
        cmdline_set_count(&b->set_cores, cores, len, err) < 0)
        return -1;
    for (const char *at = cores + len; *at; at += 1 + strcspn(at + 1, ":")) {
        size_t word = strcspn(at + 1, ":");
        uint32_t *to = strncmp(at + 1, "each=", 5) == 0   ? &b->cores
                       : strncmp(at + 1, "turn=", 5) == 0 ? &b->set_turn
                                                          : NULL;
        if (!to)
            return error_set(err, EINVAL, "'%.60s' is neither each=N nor turn=N", at + 1);
        if (cmdline_set_count(to, at + 6, word - 5, err) < 0)
            return -1;
        if (to == &b->cores && b->cores > b->set_cores)
            return error_set(err, EINVAL, "each=%u is more than the %u core%s of a set", b->cores,
                             b->set_cores, b->set_cores == 1 ? "" : "s");
    }
    return 0;
}

static const char *const containment_words[] = {
    [TRACK_RANK] = "rank",
    [TRACK_STEP] = "step",
    [TRACK_RM] = "rm",
    [TRACK_TREE] = "tree",
    "memory",
    "cpuset",
    "pids",
    "devices",
    NULL,
};

static int take_containment(struct cmdline *c, int word, struct error *err)
{
    struct containment_request *r = &c->step.containment;
    int *const limits[] = {&r->memory, &r->cpuset, &r->pids, &r->devices};
    if (word > TRACK_TREE) {
        *limits[word - TRACK_TREE - 1] = 1;
        return 0;
    }
    if (r->tracking_set && (int)r->tracking != word)
        return error_set(err, EINVAL, "'%s' and '%s' contradict each other; keep one",
                         containment_words[r->tracking], containment_words[word]);
    r->tracking_set = 1;
    r->tracking = (enum tracking)word;
    return 0;
}

static int apply_containment(void *target, const char *value, struct error *err)
{
    return cmdline_each_word(value, containment_words, take_containment, target, err);
}

/* srun counts megabytes where no unit is written. */
static int check_size(const char *value, struct error *err)
{
    if (!value[0] || value[strspn(value, "0123456789")] || strlen(value) >= 7 || atoi(value) <= 0)
        return 0;
    return error_set(
        err, EINVAL,
        "'%.60s' would be bytes; are megabytes meant, as srun counts them? Write '%.60sM'", value,
        value);
}

static int set_memory(void *target, enum limit_level level, const char *value, struct error *err)
{
    struct limit l = {.set = 1};
    if (check_size(value, err) < 0 || size_parse(value, NULL, &l.value, err) < 0)
        return -1;
    return cmdline_set_limit(target, level, LIMIT_MEMORY, &l, err);
}

static int apply_mem_per_rank(void *target, const char *value, struct error *err)
{
    return set_memory(target, LIMIT_OF_RANK, value, err);
}

static int apply_mem(void *target, const char *value, struct error *err)
{
    return set_memory(target, LIMIT_OF_HOST, value, err);
}

static const char *const on_limit_words[] = {
    [ON_LIMIT_KILL_STEP] = "kill-step",
    [ON_LIMIT_KILL_RANK] = "kill-rank",
    [ON_LIMIT_WARN] = "warn",
    NULL,
};

static const char *const color_words[] = {
    [COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never", NULL};

static const char *const cgroup_version_words[] = {"autodetect", "v1", "v2", NULL};
static const char *const oom_kill_words[] = {"rank", "process", NULL};

/* ---- output and input ------------------------------------------------------------------------ */

static int check_rank_input(const char *path, struct error *err)
{
    const char *letter = strchr(path, '%');
    while (letter && (letter[1] == 'r' || letter[1] == 'h'))
        letter = strchr(letter + 1, '%');
    if (letter)
        return error_set(err, EINVAL,
                         "'%.2s' in '%.60s' stands for nothing; %%r is the rank, %%h its host",
                         letter, path);
    return not_empty(path, "the file", err);
}

static int apply_cgroup_mount(void *target, const char *value, struct error *err)
{
    char *to = ((struct cmdline *)target)->step.containment.mount;
    size_t n = sizeof(((struct cmdline *)target)->step.containment.mount);
    if (value[0] != '/' || (size_t)snprintf(to, n, "%s", value) >= n)
        return error_set(err, EINVAL,
                         "'%.60s': an absolute directory of at most %zu characters is wanted",
                         value, n - 1);
    for (size_t len = strlen(to); len > 0 && to[len - 1] == '/'; len--)
        to[len - 1] = 0;
    return 0;
}

static int apply_stdin(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    int64_t rank = 0;
    c->input_of_tools = strncmp(value, "tool:", 5) == 0 || strcmp(value, "tool") == 0;
    if (c->input_of_tools)
        value = value[4] ? value + 5 : "0";
    if (c->input_of_tools && strcmp(value, "all") != 0 && !isdigit((unsigned char)value[0]))
        return error_set(err, EINVAL, "'tool:%.60s' names no rank; write tool:N or 'tool:all'",
                         value);
    if (strcmp(value, "all") == 0) {
        c->step.stdin_target = STDIN_ALL;
    } else if (strcmp(value, "none") == 0) {
        c->step.stdin_target = STDIN_NONE;
    } else if (value[0] >= '0' && value[0] <= '9' && strpbrk(value, ",-")) {
        return error_set(err, EINVAL,
                         "'%.60s': one rank gets the input, or all do; write 'all', or '--stdin "
                         "file:PATH', which each rank reads by itself",
                         value);
    } else if (value[0] >= '0' && value[0] <= '9') {
        if (number_parse(value, NULL, 0, CMDLINE_RANKS_MAX - 1, &rank, err) < 0)
            return -1;
        c->step.stdin_target = STDIN_RANK;
    } else if (strncmp(value, "file:", 5) == 0) {
        c->step.stdin_target = STDIN_FILE;
        c->rank_input = value + 5;
        return check_rank_input(value + 5, err);
    } else {
        return error_set(err, EINVAL,
                         "'%.60s' is neither a rank's number, nor 'all', nor 'none', nor "
                         "file:PATH, nor 'tool' or tool:N",
                         value);
    }
    c->step.stdin_rank = (uint32_t)rank;
    return 0;
}

/* ---- MPI ------------------------------------------------------------------------------------- */

static int take_pmi(struct cmdline *c, int word, struct error *err)
{
    static const unsigned kinds[] = {0, PMI_KIND_PMIX, PMI_KIND_PMI1, PMI_KIND_PMI2};
    c->step.pmi |= kinds[word];
    return 0;
}

static const char *const pmi_words[] = {"none", "pmix", "pmi1", "pmi2", NULL};

static int apply_pmi(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    c->step.pmi = 0;
    if (cmdline_each_word(value, pmi_words, take_pmi, c, err) < 0)
        return -1;
    if (c->step.pmi && strcasestr(value, "none"))
        return error_set(err, EINVAL, "'none' stands alone, but the list is '%.60s'", value);
    return 0;
}

/* ---- the end, and reports -------------------------------------------------------------------- */

static int apply_timeout(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    if (duration_parse(value, NULL, &c->timeout, err) < 0)
        return -1;
    if (c->timeout == 0)
        return error_set(err, EINVAL,
                         "'%.60s' would end the step at once; leave it out for no limit", value);
    return 0;
}

static int apply_heartbeat(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    if (duration_parse(value, NULL, &c->links.heartbeat, err) < 0)
        return -1;
    if (c->links.heartbeat > DAY)
        return error_set(err, EINVAL, "'%.60s' is longer than a day", value);
    if (c->links.heartbeat > 0 && c->links.heartbeat < 1)
        return error_set(err, EINVAL, "'%.60s' is less than a second; 0 is never", value);
    return 0;
}

static int take_report(struct cmdline *c, int word, struct error *err)
{
    if (word == 2)
        c->report.launch = 1;
    else if (word == 3)
        c->report.containment = 1;
    else
        c->report.usage = word ? REPORT_USAGE_ALL : REPORT_USAGE;
    return 0;
}

static const char *const report_words[] = {"usage", "usage=all", "launch", "containment", NULL};

static int apply_report(void *target, const char *value, struct error *err)
{
    return cmdline_each_word(value, report_words, take_report, target, err);
}

static int take_display(struct cmdline *c, int word, struct error *err)
{
    bool *const wanted[] = {
        &c->display_allocation, &c->display_allocation, &c->show_plan,
        &c->show_plan,          &c->show_plan,          &c->report_bindings,
        &c->report_bindings,    &c->display_topology,   &c->display_topology,
    };
    *wanted[word] = true;
    return 0;
}

static const char *const display_words[] = {"allocation", "alloc", "map",  "map-devel", "map-diff",
                                            "bindings",   "bind",  "topo", "cpus",      NULL};

/* "map:parseable,bind": mprun has one form of each. */
static int apply_display(void *target, const char *value, struct error *err)
{
    AUTO_FREE char *words = must(strdup(value));
    for (char *colon; (colon = strchr(words, ':'));)
        memmove(colon, colon + strcspn(colon, ","), strlen(colon + strcspn(colon, ",")) + 1);
    return cmdline_each_word(words, display_words, take_display, target, err);
}

/* ---- files that are brought to the hosts ----------------------------------------------------- */

const char *cmdline_preload_name(const char *path)
{
    if (path[0] == '/')
        return strrchr(path, '/') + 1;
    while (path[0] == '.' && path[1] == '/')
        for (path += 2; *path == '/';)
            path++;
    return path;
}

/* Beneath the directory in which hosts keep it, it must stay. */
static int check_preload_name(void *target, char *name, struct error *err)
{
    if (!*name)
        return error_set(err, EINVAL, "the name of a file is missing");
    if (strlen(name) >= PATH_MAX)
        return error_set(err, EINVAL, "'%.60s...' is too long for the name of a file", name);
    if (path_is_beneath(cmdline_preload_name(name)))
        return 0;
    return error_set(err, EINVAL,
                     "'%.200s' leads out of this directory, so that hosts have no place for it; "
                     "write it from '/' on to bring it by its last name",
                     name);
}

static int apply_preload_files(void *target, const char *value, struct error *err)
{
    struct cmdline *c = target;
    if (cmdline_each_item(value, ",", check_preload_name, c, err) < 0)
        return -1;
    return append(&c->preload.files, &c->preload.nfiles, value);
}

/* ---- mprun itself ---------------------------------------------------------------------------- */

/* dialect_find() has found it where it counts. */
static int apply_as(void *target, const char *value, struct error *err)
{
    enum dialect d;
    if (dialect_named(value, &d) && d == ((struct cmdline *)target)->dialect)
        return 0;
    return error_set(err, EINVAL,
                     "it says how the other words are read; put it before them, '--as %.20s ...'",
                     value);
}

static int apply_help(void *target, const char *value, struct error *err)
{
    int subject = value ? option_word(value, strlen(value), help_subjects, err) : 0;
    ((struct cmdline *)target)->help =
        value ? (enum help_subject)(HELP_PROGRAMS + subject) : HELP_SHORT;
    return subject < 0 ? -1 : 0;
}

static int apply_usage(void *target, const char *value, struct error *err)
{
    ((struct cmdline *)target)->help = HELP_USAGE;
    return 0;
}

static int apply_anyway(void *target, const char *value, struct error *err)
{
    return 0; /* what is asked for is so without it */
}

/* ---- the table ------------------------------------------------------------------------------- */

#define SETS(kind_, member_) OPTION_SETS(OPTION_##kind_, struct cmdline, member_)
/* Words that may begin a value. */
#define VALUES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define REFUSED(names_, help_)                                                                     \
    {                                                                                              \
        .names = (names_), .help = (help_)                                                         \
    }

static const struct option_def table[] = {
    {"-n --np --n --ntasks", "N", PROGRAMS, "Start N ranks; without it, one for each slot",
     .apply = cmdline_apply_np},
    {"-x --env", "NAME[=VALUE]", PROGRAMS,
     "Set a variable for the ranks; NAME alone passes the one that is here, as all others are",
     OPTION_APPEND, .apply = cmdline_apply_env, .also = "--x"},
    {"-env", "NAME[=]VALUE", PROGRAMS, "The same, as Hydra has it", OPTION_APPEND,
     .apply = cmdline_apply_pair},
    {"--mca", "NAME VALUE", PROGRAMS,
     "Set a parameter of Open MPI for the ranks, the variable OMPI_MCA_NAME", OPTION_APPEND,
     .apply = cmdline_apply_mca},
    {"--genv", "NAME[=]VALUE", PROGRAMS, "As -env, for all programs of the line", OPTION_APPEND,
     .apply = cmdline_apply_genv},
    {"--gmca", "NAME VALUE", PROGRAMS, "As --mca, for all programs of the line", OPTION_APPEND,
     .apply = cmdline_apply_gmca},
    {"--env-remove", "NAME", PROGRAMS, "Leave a variable out of the ranks' environment",
     OPTION_APPEND, OPTION_BY(cmdline_apply_marked, "-"), .also = "--unset-env"},
    {"--prepend-env", "NAME[=]VALUE", PROGRAMS,
     "Put VALUE and a colon before what the variable has", OPTION_APPEND,
     OPTION_BY(cmdline_apply_marked, "<")},
    {"--append-env", "NAME[=]VALUE", PROGRAMS, "Put a colon and VALUE behind what it has",
     OPTION_APPEND, OPTION_BY(cmdline_apply_marked, ">")},
    {"--app", "FILE", PROGRAMS,
     "Take the programs from FILE, in which each line is a part such as '-n 2 ./a'",
     SETS(TEXT, reading.program_file), .low = 1, .also = "--configfile --appfile"},
    {"--multi-prog", NULL, PROGRAMS,
     "As srun: the program is a file with lines such as '0-3 ./a %t', '* ./b'",
     SETS(FLAG, reading.multi_prog)},
    {"--queue", "FILE", PROGRAMS,
     "Run each line of FILE ('-': standard input) as a command, as many at a time as there are "
     "slots for; with a program the lines are its arguments, in place of {}; with ':::' they are "
     "on the line: ./a {} ::: 1 2 3",
     SETS(TEXT, queue.from), .low = 1},
    {"--joblog", "FILE", PROGRAMS,
     "Write a line into FILE for each command of --queue that has ended, as GNU parallel does",
     SETS(TEXT, queue.log), .low = 1},
    {"--resume --resume-failed", NULL, PROGRAMS,
     "Leave out the commands of --queue that have succeeded by the file of --joblog",
     SETS(FLAG, queue.resume)},
    {"--retries", "N", PROGRAMS,
     "Run a command of --queue that fails again, at most N times; 0 by default",
     SETS(COUNT, queue.retries), .low = 0, .high = 1000000},
    {"--progress --bar", NULL, PROGRAMS,
     "Show on the terminal how many commands of --queue have ended, run and failed",
     SETS(FLAG, queue.progress)},
    {"--export", "LIST", PROGRAMS,
     "As srun: 'ALL,NAME=VALUE' sets variables for all programs of the line; without ALL they get "
     "no others but the resource manager's",
     OPTION_APPEND, .apply = cmdline_apply_export},
    {"--wdir --wd --chdir -D", "DIR", PROGRAMS,
     "Start the ranks in DIR; without it, in mprun's directory", .apply = cmdline_apply_wdir},

    {"--npernode --ntasks-per-node --ppn --perhost", "N", PLACE, "Start at most N ranks on a host",
     .apply = apply_per_host, .also = "--tasks-per-node -grr"},
    {"-N", "N", PLACE,
     "As --npernode; without -n, which srun's lines have besides a number of hosts",
     .apply = apply_short_per_host, .variants = IN(MPRUN)},
    {"-N --N", "N", PLACE, "Start at most N ranks on a host", .apply = apply_per_host,
     .variants = IN(MPIRUN) | IN(MPIEXEC) | IN(APRUN)},
    {"--nodes", "N", PLACE, "Use N hosts, and give each of them as many ranks",
     .apply = cmdline_apply_nodes},
    {"--relative", "N", PLACE, "Leave the first N hosts of the job out",
     SETS(COUNT, place.first_host), .low = 0, .high = CMDLINE_RANKS_MAX},
    {"-r", "N", PLACE, "The same as --relative", SETS(COUNT, place.first_host), .low = 0,
     .high = CMDLINE_RANKS_MAX, .variants = IN(SRUN)},
    {"-N", "N", PLACE, "The same as --nodes", .apply = cmdline_apply_nodes,
     .variants = IN(SRUN) | IN(FLUX)},
    {"--universe", "N", PLACE,
     "Have room for N ranks with those that the program starts (MPI_Comm_spawn); 'all': for as "
     "many as the job has slots",
     .apply = apply_universe, .also = "--usize"},
    {"--map-by --mapby", "HOW", PLACE,
     "Fill hosts in order (slot, the default), start a rank on each host in turn (node), a rank "
     "for each line of the host file (seq) or of a rank file (rankfile:file=FILE), or deal the "
     "ranks of a host to its parts: hwthread, core, l1cache, l2cache, l3cache, numa, package; "
     "'ppr:N:PART' is N ranks to each; with ':pe=M' behind it each rank has M cores",
     .apply = cmdline_apply_map_by,
     .words = VALUES("slot", "node", "seq", "ppr:", "hwthread", "core", "l1cache", "l2cache",
                     "l3cache", "numa", "package", "board")},
    {"--rankfile -rf", "FILE", PLACE,
     "Start each rank on the host and the cores that FILE says: 'rank 0=n1 slot=1:0-2'",
     .apply = cmdline_apply_rank_file},
    {"--rank-by --rankby", "HOW", PLACE,
     "Number ranks host after host (slot), one of each host in turn (node), or part after part "
     "(fill), one of each part of all hosts in turn (span)",
     .apply = cmdline_apply_rank_by, .words = VALUES("slot", "node", "fill", "span")},
    {"--bynode", NULL, PLACE, "The same as --map-by node", .apply = cmdline_apply_distribution},
    {"--byslot", NULL, PLACE, "Fill hosts in order, as without it", SETS(FLAG, place.by_slot)},
    {"--distribution", "HOW", PLACE,
     "block fills hosts in order, even gives each as many ranks, cyclic is --map-by node, plane=N "
     "starts N ranks on each in turn; behind ':' block or cyclic over packages",
     .apply = cmdline_apply_distribution, .words = VALUES("block", "even", "cyclic", "plane=")},
    {"--rm", "RM[:ARG]", PLACE,
     "Use this resource manager instead of the one that is found; 'local' is this machine, "
     "'local:2' lets it pose as two hosts, 'ssh' reaches the hosts that are named, 'none' looks "
     "for no manager",
     .apply = apply_rm},
    {"--host -H --hosts --hostlist -w --nodelist", "HOSTS", PLACE,
     "Use these hosts, by ssh where there is no resource manager: 'n1:2,n2' has two slots on n1 "
     "and one on n2; with --hostfile, use these of its hosts",
     OPTION_APPEND, .apply = cmdline_apply_host, .also = "--H"},
    {"-m", "FILE", PLACE, "The same as --hostfile", OPTION_APPEND, .apply = apply_short_hostfile,
     .variants = IN(MPRUN) | IN(MPIRUN) | IN(MPIEXEC)},
    {"-m --distribution", "HOW", PLACE,
     "The same as --distribution, but block is even, and without it ranks are dealt even:cyclic",
     .apply = cmdline_apply_srun_distribution, .words = VALUES("block", "cyclic", "plane="),
     .variants = IN(SRUN)},
    {"--exclude", "HOSTS", PLACE, "Use no host of HOSTS", OPTION_APPEND,
     .apply = cmdline_apply_exclude},
    {"-x --exclude", "HOSTS", PLACE, "The same", OPTION_APPEND, .apply = cmdline_apply_exclude,
     .variants = IN(SRUN)},
    {"--hostfile --machinefile -f --default-hostfile -F --nodefile", "FILE", PLACE,
     "Use the hosts of FILE; Open MPI's, Hydra's, PBS's and Grid Engine's syntax are understood",
     OPTION_APPEND, .apply = apply_hostfile, .also = "--machine"},
    {"--agent", "CMD", PLACE,
     "Start hosts by 'CMD HOST COMMAND' instead of ssh; CMD may have options",
     .apply = apply_agent},
    {"--start-tree", "N", PLACE,
     "From N hosts on, hosts start others where the manager can; 0: never",
     .apply = apply_start_tree},
    {"--keep", "TIME|job|step|no", PLACE,
     "Keep mpstarter on the hosts for other mprun of the job: TIME after the last one, until the "
     "job ends, or, by default, for those at the same time where the manager needs that",
     .apply = apply_keep, .words = VALUES("job", "step", "no")},
    {"--start-concurrency", "N", PLACE, "Start at most N hosts at once; 64 by default",
     SETS(COUNT, start.concurrency), .low = 1, .high = 4096},
    {"--start-timeout", "TIME", PLACE,
     "A host that has not reported back after TIME ends the step; 120 seconds by default",
     SETS(SECONDS, start.timeout), .low = 1},
    {"--prefix", "DIR", PLACE,
     "On other machines mprun is installed in DIR; without it, in the same place as here",
     .apply = apply_prefix},
    {"--oversubscribe --overcommit -O", NULL, PLACE, "Allow more ranks than slots",
     OPTION_BY(apply_oversubscribe, "")},
    {"--nooversubscribe --no-oversubscribe", NULL, PLACE, "Never start more ranks than slots",
     OPTION_BY(apply_oversubscribe, "no")},
    {"--transport", "KIND", PLACE,
     "Connect the hosts by auto, unix, tcp, or stdio (through the start channel, without a port)",
     SETS(WORD, links.transport), .words = transport_words},
    {"--interface --iface", "LIST", PLACE,
     "Listen on these interfaces, addresses or networks alone: eth0, 10.0.0.1, 10.0.0.0/8",
     SETS(TEXT, links.interface), .low = 1},
    {"--port-range", "LOW-HIGH", PLACE, "Listen on a port of this range",
     .apply = apply_port_range},
    {"--fanout", "N", PLACE,
     "Link at most N hosts (32 by default) to mprun itself, and N further ones to each host; 0: "
     "all to mprun",
     SETS(COUNT, links.fanout), .low = 0, .high = FANOUT_MAX},
    {"--link-security", "KIND", PLACE,
     "Protect connections between hosts: encrypt (the default), mac (against changes only), or "
     "none",
     SETS(WORD, links.security), .words = security_words},

    {"--bind-to --bindto", "WHAT", CORES,
     "Bind each rank to none, hwthread, core, l1cache, l2cache, l3cache, numa, package or board; "
     "without it, core where there are enough cores",
     .apply = cmdline_apply_bind,
     .words = VALUES("none", "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "package",
                     "board")},
    {"--cpus-per-rank --cpus-per-task --cpus-per-proc --tpp", "N", CORES,
     "Give each rank N cores, and as many slots; 'Nt' is the cores with N hardware threads; "
     "without it, OMP_NUM_THREADS cores where there are enough, else one",
     .apply = apply_rank_cores, .also = "--cores-per-task --depth"},
    {"--rank-sets", "RANKS:CORES[:each=N][:turn=N]", CORES,
     "Let each RANKS ranks share CORES cores of a host, as jsrun's resource sets; each has N of "
     "them with each=N; with turn=N each set of a host gets N ranks in turn",
     .apply = apply_rank_sets},
    {"--gpus-per-rank --gpus-per-proc", "GPUS", CORES,
     "Give each rank so many of its host's GPUs, near its cores; 1/2 or 0.5: two ranks share one",
     .apply = apply_rank_gpus, .also = "--gpus-per-process"},
    {"-c", "N", CORES, "The same as --cpus-per-rank", .apply = apply_rank_cores,
     .variants = IN(FLUX)},
    {"-c --cpus-per-task", "N", CORES, "The same as --cpus-per-rank Nt",
     .apply = cmdline_apply_cpus, .variants = IN(SRUN)},
    {"-c --c", "N", CORES, "The same as -n", .apply = cmdline_apply_np, .variants = IN(MPIRUN)},
    {"-d", "N", CORES, "The same as --cpus-per-rank", .apply = apply_rank_cores,
     .variants = IN(MPIEXEC)},
    {"--cpu-bind", "WHAT", CORES,
     "As srun: none, cores, threads, sockets, ldoms, rank_ldom, map_cpu:LIST, mask_cpu:LIST, "
     "map_ldom:LIST, mask_ldom:LIST, list:LIST:LIST, or verbose, which reports bindings",
     .apply = cmdline_apply_cpu_bind,
     .words = VALUES("none", "cores", "threads", "sockets", "ldoms", "rank_ldom",
                     "map_cpu:", "mask_cpu:", "map_ldom:", "mask_ldom:", "verbose"),
     .also = "--cpu_bind"},
    {"--cpu-set", "LIST", CORES,
     "Use these hardware threads of each host alone; 'core:0-3' are cores and 'numa:0' NUMA nodes, "
     "in the machine's order",
     .apply = cmdline_apply_cpu_set},
    {"--cpu-set", "LIST", CORES, "The same, of cores", OPTION_AS("--cpu-set core:@"),
     .variants = IN(MPIRUN)},
    {"--cpu-list", "LIST", CORES,
     "Bind the first rank of a host to the first hardware thread of LIST, and so on; 'core:' and "
     "'numa:' as above",
     .apply = cmdline_apply_cpu_list},
    {"--cpu-list", "LIST", CORES, "The same, of cores", OPTION_AS("--cpu-list core:@"),
     .variants = IN(MPIRUN)},
    {"--mem-bind --membind", "HOW", CORES,
     "Take memory near the core that uses it (local), in turn of all NUMA nodes (interleave), only "
     "of these (nodes=LIST), or as the kernel does (none)",
     .apply = cmdline_apply_mem_bind},
    {"--overlap", NULL, CORES, "Bind ranks to cores that your other steps have, too",
     SETS(FLAG, step.overlap)},
    {"--wait-cores", NULL, CORES,
     "Wait until the job's other mprun with --wait-cores that were first leave as many slots as "
     "the ranks take",
     SETS(FLAG, start.wait_cores)},
    {"--report-bindings", NULL, CORES, "Print the cores of each rank as the kernel reports them",
     SETS(FLAG, report_bindings)},
    {"--mem-per-rank", "SIZE", LIMITS, "Limit the memory of each rank",
     .apply = apply_mem_per_rank},
    {"--mem", "SIZE", LIMITS, "Limit the memory of all ranks of a host together",
     .apply = apply_mem},
    {"--mem", "SIZE", LIMITS, "The same; a number alone is megabytes, and 0 no limit",
     .apply = cmdline_apply_megabytes, .variants = IN(SRUN)},
    {"--limit", "LIST", LIMITS,
     "Limit all ranks of all hosts together: 'mem=30G,cput=100h'; 'host:mem=8G' those of each "
     "host, 'rank:mem=2G' each rank; mem is memory, memsw memory and swap, vmem address space, "
     "cput CPU time, wall wall time, procs processes, and for ranks files, core, file",
     OPTION_APPEND, .apply = cmdline_apply_limit,
     .words = VALUES("mem=", "vmem=", "cput=", "procs=")},
    {"--on-limit", "WHAT", LIMITS,
     "When a limit is exceeded: kill-step (the default) ends all ranks, kill-rank the one that "
     "grew last or exceeded its own, warn none",
     SETS(WORD, on_limit), .words = on_limit_words},
    {"--oom-kill", "WHAT", LIMITS,
     "When a rank is out of memory, let the kernel end all of the rank's processes (rank, the "
     "default) or one (process)",
     SETS(WORD, step.containment.oom_kills_one), .words = oom_kill_words},
    {"--cgroup-version", "WHICH", LIMITS,
     "Make cgroups of version v1 or v2 alone, where a host has both; the default is autodetect",
     SETS(WORD, step.containment.cgroup_version), .words = cgroup_version_words},
    {"--cgroup-mount", "DIRECTORY", LIMITS,
     "Look for cgroups at this mount point, or below it, alone", .apply = apply_cgroup_mount},
    {"--cgroup-automount", NULL, LIMITS,
     "As root, let the cgroups above mprun's own give all controllers that they have",
     SETS(FLAG, step.containment.automount)},
    {"--ignore-systemd", NULL, LIMITS,
     "Do not ask systemd for a scope in which cgroups can be made",
     SETS(FLAG, step.containment.ignore_systemd)},
    {"--containment", "LIST", LIMITS,
     "Require tracking by rank, step or rm, or choose tree; and cgroups for memory, cpuset, pids, "
     "devices; a host that cannot is an error",
     .apply = apply_containment, .words = containment_words},
    {"--pmi --mpi", "LIST", LIMITS,
     "Offer MPI programs pmix, pmi1, pmi2 (the default is all), or none", .apply = apply_pmi,
     .words = pmi_words},
    {"--mpi", "NAME", LIMITS, "As --pmi, by the names of Slurm's plugins",
     .apply = cmdline_apply_mpi_plugin, .variants = IN(SRUN)},

    {"--tag-output --label -l -prepend-rank", NULL, STREAMS,
     "Begin each line of output with its rank", SETS(FLAG, output.lines.tag)},
    {"--color", "WHEN", STREAMS,
     "Colour what stands before lines by rank: auto (at a terminal, the default), always or never",
     SETS(WORD, output.lines.color), .words = color_words},
    {"--timestamp-output", NULL, STREAMS,
     "Begin each line of output with the time at which it was written",
     SETS(FLAG, output.lines.timestamp)},
    {"--prepend-pattern", "TEXT", STREAMS,
     "Begin each line with TEXT, in which %r is the rank, %h its host, %s the stream, %j the job",
     .apply = cmdline_apply_line_pattern, .also = "--prefix-pattern"},
    {"--ordered-output", NULL, STREAMS, "Write lines whole, with nothing before them",
     SETS(FLAG, output.lines.whole)},
    {"--outfile-pattern", "FILE", STREAMS,
     "Write standard output into files here: 'out/%h.%r' has a file for each rank",
     .apply = cmdline_apply_outfile},
    {"--errfile-pattern", "FILE", STREAMS, "The same for standard error",
     .apply = cmdline_apply_errfile},
    {"--open-mode", "HOW", STREAMS, "Make these files anew (truncate, the default), or append",
     .apply = cmdline_apply_open_mode, .words = VALUES("truncate", "append")},
    {"--output-filename", "DIR", STREAMS,
     "As mpirun: write DIR/1/rank.N/stdout and stderr, and a copy here; not with 'DIR:nocopy'",
     .apply = cmdline_apply_output_filename},
    {"--merge-stderr-to-stdout", NULL, STREAMS, "Write both to standard output",
     SETS(FLAG, output.merge_streams)},
    {"-o --output", "FILE", STREAMS,
     "The same as --outfile-pattern, and --errfile-pattern unless that is given",
     .apply = cmdline_apply_srun_output, .variants = IN(SRUN)},
    {"--output", "FILE", STREAMS, "The same, with {{id}}, {{task.id}}, {{node.name}}",
     .apply = cmdline_apply_flux_output, .variants = IN(FLUX)},
    {"-e --error", "FILE", STREAMS, "The same as --errfile-pattern",
     .apply = cmdline_apply_srun_error, .variants = IN(SRUN)},
    {"--error", "FILE", STREAMS, "The same", .apply = cmdline_apply_flux_error,
     .variants = IN(FLUX)},
    {"-i --input", "FILE", STREAMS, "Read standard input from FILE, or as --stdin says",
     .apply = cmdline_apply_srun_input, .variants = IN(SRUN)},
    {"--input", "FILE", STREAMS, "The same", .apply = cmdline_apply_srun_input,
     .variants = IN(FLUX)},
    {"-l --label", NULL, STREAMS, "Begin each line of output with its rank and a colon",
     OPTION_AS("--prepend-pattern %R: "), .variants = IN(SRUN)},
    {"--first-failure", NULL, STREAMS,
     "At the end, show the last lines of the rank that failed first",
     SETS(FLAG, output.first_failure)},
    {"--merge-lines", NULL, STREAMS,
     "Write a line that ranks write alike once, with their numbers: '[0-63] text'",
     SETS(FLAG, output.merge_lines)},
    {"--output", "LIST", STREAMS,
     "Any of json (an object for each line), tag, timestamp, merge-lines, merge-stderr-to-stdout, "
     "dir=DIR, file=NAME",
     OPTION_APPEND, .apply = cmdline_apply_output_words, .variants = IN(MPRUN) | IN(MPIRUN)},
    {"--stdin", "WHO", STREAMS,
     "Give standard input to this rank (0 by default), to all, or to none; 'file:in.%r': each rank "
     "reads a file of its host; 'tool', 'tool:N', 'tool:all': what PMIx tools push",
     .apply = apply_stdin, .words = VALUES("all", "none", "file:", "tool")},
    {"--pty", NULL, STREAMS, "Give that rank a terminal, as an interactive program wants it",
     SETS(FLAG, step.terminal)},

    {"--timeout", "TIME", ENDING,
     "End the step after TIME (seconds, 1h30m, 1:30:00) with exit code 124",
     .apply = apply_timeout},
    {"-t --time", "TIME", ENDING, "The same as --timeout; a number alone is minutes",
     .apply = cmdline_apply_minutes, .variants = IN(SRUN)},
    {"--enable-recovery --continuous -disable-auto-cleanup", NULL, ENDING,
     "When a rank fails, say so and let the other ranks go on; a rank that calls MPI_Abort still "
     "ends the step",
     SETS(FLAG, recovery)},
    {"--max-restarts", "N", ENDING,
     "Start a rank that fails before it calls MPI_Init again, at most N times; 0 by default",
     SETS(COUNT, max_restarts), .low = 0, .high = 1000000},
    {"--link-grace", "TIME", ENDING,
     "Wait so long (60 s by default) for a host whose network gives no answer; 0: not at all",
     SETS(SECONDS, links.grace), .high = DAY},
    {"--heartbeat", "TIME", ENDING,
     "Name a host whose mpstarter says nothing for so long (6 s by default), which ends nothing; "
     "0: never",
     .apply = apply_heartbeat, SETS(SECONDS, links.heartbeat)},
    {"--kill-grace", "TIME", ENDING,
     "When ranks are ended, wait this long between TERM and KILL; 10 seconds by default",
     SETS(SECONDS, step.kill_grace)},
    {"--report", "LIST", ENDING,
     "At the end, print the usage of ranks and hosts (usage), how the start went (launch), or what "
     "held the ranks and their limits (containment)",
     .apply = apply_report, .words = report_words},
    {"--report-json", "FILE", ENDING,
     "At the end, write the usage and outcome of everything to FILE (- is standard output)",
     SETS(TEXT, report.json), .low = 1},

    {"--wrap", "CMD", DEBUGGING,
     "Start 'CMD PROGRAM ARGUMENT...' instead of the program; %r in CMD is the rank, %h the host",
     OPTION_BY(apply_command, "wrap")},
    {"--ranks", "LIST", DEBUGGING, "Let --wrap be for these ranks alone: 0,3-5",
     .apply = apply_ranks},
    {"--stop-on-exec", NULL, DEBUGGING,
     "Stop each rank before its first instruction, until a debugger or SIGCONT continues it",
     SETS(FLAG, debug.stop_on_exec)},
    {"--stop-in-init", NULL, DEBUGGING, "The same, in MPI_Init", SETS(FLAG, debug.stop_in_init)},
    {"--debug-daemon", "CMD", DEBUGGING,
     "When all ranks run, start CMD once on each host; MPRUN_PROCTABLE names a file with all ranks",
     OPTION_BY(apply_command, "daemon")},
    {"--get-stack-traces", NULL, DEBUGGING,
     "Print where all ranks are when --timeout is over, or when mprun gets SIGQUIT, which then "
     "ends nothing",
     SETS(FLAG, debug.stack_traces)},
    {"--stuck", "TIME", DEBUGGING,
     "Name ranks that use no CPU and do no I/O for so long, and where they wait",
     SETS(SECONDS, step.stuck_time), .low = 1, .high = DAY},
    {"--report-state-on-timeout", NULL, DEBUGGING,
     "When --timeout is over, print which ranks run and what they use",
     SETS(FLAG, debug.report_state)},

    {"--preload-binary", NULL, PRELOAD, "Bring the programs to the hosts, which need not have them",
     SETS(FLAG, preload.binary)},
    {"--preload-libs", NULL, PRELOAD,
     "Bring the shared libraries that the programs need and that are not the system's",
     SETS(FLAG, preload.libs)},
    {"--preload-files", "LIST", PRELOAD,
     "Bring these files, with commas between them, into the directory that MPRUN_PRELOAD_DIR names",
     OPTION_APPEND, .apply = apply_preload_files},
    {"--preload-limit", "SIZE", PRELOAD,
     "Let a host keep so many bytes of files for later steps; 1 GiB by default",
     SETS(BYTES, preload.limit)},
    {"--preload-clean", NULL, PRELOAD,
     "Remove what the hosts have kept, before anything is brought", SETS(FLAG, preload.clean)},

    {"--dry-run --do-not-launch", NULL, OTHER,
     "Print which rank would run where, and start nothing", SETS(FLAG, dry_run)},
    {"--topology", "FILE", OTHER,
     "With --dry-run: plan for hosts with the topology of FILE, which lstopo wrote, or of words as "
     "'package:2 core:8 pu:2'",
     SETS(TEXT, place.topology), .low = 1},
    {"--display", "LIST", OTHER,
     "Print allocation, map, bindings or topo (a picture of the cores) before the ranks start",
     .apply = apply_display, .words = display_words},
    {"--translate", NULL, OTHER,
     "Print the line in mprun's own words, with comments on what changes, and run no program",
     SETS(FLAG, translate)},
    {"--explain", NULL, OTHER,
     "Look at every host, print what was found and decided with the reasons, and run no "
     "instruction of the programs",
     SETS(FLAG, explain)},
    {"--json", NULL, OTHER, "With --dry-run or --explain: print it for programs, as JSON",
     SETS(FLAG, json)},
    {"--env-diff", "HOST", OTHER,
     "Print how the environment of a rank on HOST differs from the present one; run no program",
     SETS(TEXT, env_diff), .low = 1},
    {"--self-test", NULL, OTHER,
     "Check on these hosts that ranks start, are counted and limited, and leave nothing; within 20 "
     "s, a line for each check",
     SETS(FLAG, self_test)},
    {"--verbose -v", NULL, OTHER, "Say more", SETS(FLAG, verbose)},
    {"--quiet -q -Q", NULL, OTHER, "Say nothing but warnings and errors", SETS(FLAG, quiet)},
    {"--allow-run-as-root --genvall -envall --unbuffered -u --exact --exclusive --bycore", NULL,
     OTHER,
     "Accepted and not needed: mprun runs as any user, passes its whole environment and each byte "
     "at once, and steps have cores of their own",
     .apply = apply_anyway},
    {"--kill-on-bad-exit -K", "[=1]", OTHER,
     "Accepted and not needed: when a rank fails, mprun ends the others; with '=0' it does not, as "
     "with --enable-recovery",
     .apply = cmdline_apply_kill_on_bad_exit},
    {"--show-config", NULL, OTHER,
     "Print the options that files and variables set, with their sources, and the values of "
     "others; run no program",
     SETS(FLAG, settings.is_shown)},
    {"--check", NULL, OTHER,
     "Name every mistake in the files and variables that set options; run no program",
     SETS(FLAG, settings.is_checked)},
    {"--no-config", NULL, OTHER,
     "Use no file mprun.conf and no variable MPRUN_OPTION_NAME, but what the administrator has "
     "locked",
     SETS(FLAG, settings.are_ignored)},
    {"--help -h", "[SUBJECT]", OTHER,
     "Print the options that are used most; of a subject: programs, hosts, binding, limits, "
     "output, ending, debugging, files, other, dialects; or all",
     .apply = apply_help, .words = help_subjects},
    {"--usage", NULL, OTHER, "Print all options in few lines", .apply = apply_usage},
    {"--version -V", NULL, OTHER, "Print the version", SETS(FLAG, version)},

    REFUSED("-c --c", "it is the number of ranks to mpirun and of cores per rank to srun; write "
                      "'--np N' for ranks, '--cpus-per-rank N' for cores"),
    {"--as", "LAUNCHER", OTHER,
     "Read the line as this launcher does: mprun, mpirun, mpiexec, srun, aprun, jsrun, flux; "
     "stands before all others",
     .apply = apply_as, .words = dialect_words},
    REFUSED("--launcher-exec --bootstrap-exec --rsh --plm-rsh-agent",
            "write '--agent CMD' for a program that is called as 'CMD HOST COMMAND'"),
    REFUSED(
        "--partition -p --account -A --qos --reservation --constraint -C --jobid --job-name -J "
        "--licenses -L --dependency",
        "it says what the resource manager is to do; give it to the command that submits the job, "
        "and leave it out here; with '--as srun' first on the line it is left out for you"),
    REFUSED("-rankmap", "write '--map-by seq', which starts a rank for each line of the host file, "
                        "or '--rankfile FILE'"),
    REFUSED("--pmix-prefix", "not needed: mprun finds its PMI server beside itself"),
    REFUSED(
        "--gres --gpus -G --gpus-per-task --gpus-per-node --gpu-bind --tres-per-task --cpu-freq",
        "ask the resource manager for them, and write '--gpus-per-rank N' for ranks that are to "
        "have GPUs of their own"),
    REFUSED("--mem-per-cpu", "write '--mem-per-rank SIZE'"),
    REFUSED("-o --error -e",
            "write '--outfile-pattern out.%r' and '--errfile-pattern err.%r' for files, or "
            "'--tag-output'; or '--as srun' or '--as mpirun' first on the line"),
    REFUSED("--input -i", "write '<FILE' behind the line; '--stdin N', '--stdin all' or '--stdin "
                          "none' says who reads it"),
    REFUSED("--print-all-exitcodes", "write '--report usage=all', which has the end of each rank"),
    REFUSED("--test-only", "write '--dry-run'"),
    REFUSED("--debug --debugger --tv -gdb -ddd --xterm",
            "start the debugger as the program: 'mprun -n 1 --pty gdb ./a', 'mprun -n 1 --pty gdb "
            "./a : -n 3 ./a'"),
    REFUSED("-t --time", "write '--timeout TIME'; a number alone is seconds, not minutes"),
    REFUSED("--wait -W",
            "leave it out: mprun waits for all ranks, and when one fails it ends them"),
    REFUSED("--signal", "not in this release: send mprun the signal, and all ranks have it"),
    {"-s", NULL, PRELOAD, "The same as --preload-binary", SETS(FLAG, preload.binary),
     .variants = IN(MPIRUN)},
    {"-s", "WHO", STREAMS, "The same as --stdin", .apply = apply_stdin,
     .words = VALUES("all", "none"), .variants = IN(MPIEXEC)},
    REFUSED("-s", "it is --preload-binary to mpirun, --stdin to mpiexec and --oversubscribe to "
                  "srun; write that"),
    {"--use-hwthread-cpus", NULL, CORES, "Count hardware threads, and not cores: --map-by :hwtcpus",
     SETS(FLAG, place.bind.threads)},
    REFUSED("--ntasks-per-core --cores-per-socket --sockets-per-node --threads-per-core --hint",
            "this release counts ranks by host or socket: '--npernode N', '--map-by ppr:K:socket'; "
            "'--bind-to core' binds each to a core"),
    REFUSED("--resv-ports --immediate -I --comment", "mprun has no need of it; leave it out"),
    REFUSED("--no-kill -k", "when a host fails, the step ends; '--enable-recovery' lets other "
                            "ranks go on when a rank fails"),
    {.names = NULL,
     .help = "no option is like it; leave it out, or if it is the program's, write it behind the "
             "program's name; see '--help all'"},
};

const struct option_def *cmdline_options(void)
{
    return table;
}

bool cmdline_is_own_app_option(const struct option_def *def)
{
    return def->apply == cmdline_apply_np || def->apply == cmdline_apply_env ||
           def->apply == cmdline_apply_wdir || def->apply == cmdline_apply_pair ||
           def->apply == cmdline_apply_mca || def->apply == cmdline_apply_host ||
           def->apply == cmdline_apply_map_by || def->apply == cmdline_apply_mem_bind ||
           def->apply == cmdline_apply_bind || def->apply == apply_per_host ||
           def->apply == apply_short_per_host || def->apply == apply_rank_cores ||
           def->apply == cmdline_apply_cpus || def->apply == apply_mem_per_rank ||
           def->apply == cmdline_apply_limit || def->apply == apply_rank_sets ||
           def->apply == apply_rank_gpus || def->apply == cmdline_apply_cpu_bind ||
           def->apply_other == cmdline_apply_marked;
}
