/* SPDX-License-Identifier: BSD-3-Clause */
/* environment.c - variables by which users tell other launchers what options say */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/processes/spawn.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "launcher/cmdline/cmdline-private.h"
#include "launcher/cmdline/other-launchers/other-launchers.h"

static const struct {
    const char *variable, *option;
    unsigned dialects; /* 0: all */
    bool is_switch;
} variables[] = {
    {"MPIEXEC_TIMEOUT", "--timeout", 0, false},
    {"MPIEXEC_PORT_RANGE", "--port-range", 0, false},
    {"MPICH_PORT_RANGE", "--port-range", 0, false},
    {"HYDRA_HOST_FILE", "--hostfile", 0, false},
    {"I_MPI_HYDRA_HOST_FILE", "--hostfile", 0, false},
    {"HYDRA_IFACE", "--interface", 0, false},
    {"I_MPI_HYDRA_IFACE", "--interface", 0, false},
    {"I_MPI_PERHOST", "--npernode", 0, false},
    {"I_MPI_JOB_TIMEOUT", "--timeout", 0, false},
    {"SLURM_LABELIO", "--tag-output", IN(SRUN), true},
    {"SLURM_CPU_BIND", "--cpu-bind", IN(SRUN), false},
    {"SLURM_DISTRIBUTION", "--distribution", IN(SRUN), false},
    {"SRUN_CPUS_PER_TASK", "--cpus-per-rank", IN(SRUN), false},
    {"SLURM_CPUS_PER_TASK", "--cpus-per-rank", IN(SRUN), false},
    {"SLURM_NTASKS_PER_NODE", "--npernode", IN(SRUN), false},
    {"SLURM_MPI_TYPE", "--pmi", IN(SRUN), false},
    {"SLURM_GPUS_PER_TASK", "--gpus-per-rank", IN(SRUN), false},
    {"SLURM_OVERCOMMIT", "--oversubscribe", IN(SRUN), true},
    {"SLURM_KILL_BAD_EXIT", "--kill-on-bad-exit", IN(SRUN), false},
    {"SLURM_OPEN_MODE", "--open-mode", IN(SRUN), false},
};

/* Of srun's variables: Slurm itself sets none of these, and mprun does not do what they say. */
static const char *const sruns_others[] = {"SLURM_BCAST=",
                                           "SLURM_EPILOG=",
                                           "SLURM_EXCLUSIVE=",
                                           "SLURM_EXIT_ERROR=",
                                           "SLURM_PROLOG=",
                                           "SLURM_EXIT_IMMEDIATE=",
                                           "SLURM_REMOTE_CWD=",
                                           "SLURM_SEND_LIBS=",
                                           "SLURM_STDERRMODE=",
                                           "SLURM_STDINMODE=",
                                           "SLURM_STDOUTMODE=",
                                           "SLURM_TASK_EPILOG=",
                                           "SLURM_TASK_PROLOG=",
                                           "SLURM_TIMELIMIT=",
                                           "SLURM_WAIT=",
                                           "SLURM_WORKING_DIR=",
                                           "SRUN_CONTAINER=",
                                           "SRUN_EXPORT_ENV=",
                                           NULL};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Set by managers, and by Open MPI's mpirun and mprun themselves, in every job and rank. */
static bool is_launchers_own(const char *parameter)
{
    static const char *const own[] = {"plm_slurm_args=",
                                      "ess=",
                                      "ess_",
                                      "orte_app_num=",
                                      "orte_bound_at_launch=",
                                      "orte_ess_",
                                      "orte_externally_bound=",
                                      "orte_hnp_uri=",
                                      "orte_jobfam_session_dir=",
                                      "orte_launch=",
                                      "orte_local_daemon_uri=",
                                      "orte_num_nodes=",
                                      "orte_precondition_transports=",
                                      "orte_top_session_dir=",
                                      "schizo=^orte",
                                      NULL};
    return begins_with_any(parameter, own);
}

static int apply_parameter(struct cmdline *c, const char *entry, const char *setting,
                           struct error *err)
{
    const char *option = mca_option(setting);
    if (!mca_is_launchers(setting) || is_launchers_own(setting))
        return 0;
    if (!option)
        return option_note(&c->no_effect, entry, strcspn(entry, "="));
    return settings_have(c, option) ? 0 : mca_apply_to_launcher(c, setting, err);
}

static bool has_extra_args(const char *entry)
{
    size_t len = strcspn(entry, "=");
    return len > 11 && strncmp(entry + len - 11, "_EXTRA_ARGS", 11) == 0;
}

/* "low:high" of a range of ports, as Hydra has it; masks that srun set for a task of its own. */
static int apply_variable(struct cmdline *c, size_t i, const char *value, struct error *err)
{
    AUTO_FREE char *copy = must(strdup(value));
    char *colon = strchr(copy, ':');
    if (strcmp(variables[i].option, "--port-range") == 0 && colon)
        *colon = '-';
    if (strcmp(variables[i].option, "--cpu-bind") == 0 && strstr(value, "mask_cpu"))
        return 0;
    if (strcmp(variables[i].option, "--cpus-per-rank") == 0) { /* srun counts hardware threads */
        free(copy);
        copy = text_format("%st", value);
    }
    if (strcmp(variables[i].option, "--gpus-per-rank") == 0) {
        free(copy);
        copy = text_format("%u", cmdline_count_gpus(value));
    }
    if (strcmp(variables[i].option, "--pmi") == 0) {
        free(copy);
        copy = must(strdup(cmdline_mpi_plugin(value)));
    }
    bool is_limit = strcmp(variables[i].option, "--timeout") == 0; /* 0: none */
    if ((variables[i].is_switch || is_limit) && (strcmp(value, "0") == 0 || *value == '-'))
        return 0;
    return settings_take(c, SETTING_OTHER_LAUNCHERS, variables[i].variable, variables[i].option,
                         variables[i].is_switch ? NULL : copy, err);
}

/* srun's file of hosts, a rank for each of its lines. */
static int take_slurm_hosts(struct cmdline *c, const char *value, struct error *err)
{
    bool counts = c->dialect == DIALECT_SRUN || c->place.is_arbitrary;
    if (!counts || !*value || c->place.turn || c->hosts.nlists || c->hosts.nfiles)
        return 0;
    c->place.in_sequence = true;
    return settings_take(c, SETTING_OTHER_LAUNCHERS, "SLURM_HOSTFILE", "--hostfile", value, err);
}

/* The job's tasks, and what one of its CPUs is. */
static int take_job_of_slurm(struct cmdline *c, const char *entry, const char *value,
                             struct error *err)
{
    if (begins(entry, "SLURM_HINT="))
        c->place.one_thread |= strcmp(value, "nomultithread") == 0;
    else if (begins(entry, "SLURM_THREADS_PER_CORE="))
        c->place.one_thread |= strcmp(value, "1") == 0;
    else if (begins(entry, "SLURM_NTASKS="))
        return cmdline_take_slurm_ranks(c, value, err);
    return 0;
}

static const char *component_of(const struct cmdline *c)
{
    return c->rm == &rm_adapter_slurm ? c->hosts.argument : NULL;
}

const char *cmdline_slurm_value(const struct cmdline *c, char *const env[], const char *name)
{
    const char *component = component_of(c);
    AUTO_FREE char *whole =
        text_format("%s%s%.20s", name, component ? "_HET_GROUP_" : "", component ? component : "");
    return spawn_env_value(env, whole);
}

/* In a heterogeneous job a component's variables of the job end with its number; those without one
 * are of the first component. Returns the entry as the chosen component has it, which is in *made
 * if it is another one; NULL: the component has none. */
static const char *of_component(const struct cmdline *c, const char *entry, char *const env[],
                                char **made)
{
    static const char *const all[] = {"SLURM_NTASKS", "SLURM_CPUS_PER_TASK",
                                      "SLURM_NTASKS_PER_NODE", NULL};
    size_t len = strcspn(entry, "="), i = 0;
    while (all[i] && !(strlen(all[i]) == len && begins(entry, all[i])))
        i++;
    if (!all[i] || !component_of(c))
        return entry;
    const char *value = cmdline_slurm_value(c, env, all[i]);
    return value ? *made = text_format("%s=%s", all[i], value) : NULL;
}

static bool is_any(const char *value, const char *const words[])
{
    while (*words && strcasecmp(value, *words) != 0)
        words++;
    return *words != NULL;
}

/* I_MPI_PIN_DOMAIN: what each rank is bound to; NULL: mprun has nothing like it. "omp" is what
 * mprun does. */
static const char *part_of_domain(const char *value)
{
    static const struct {
        const char *word, *part;
    } parts[] = {{"core", "core"},      {"socket", "package"}, {"sock", "package"},
                 {"numa", "numa"},      {"node", "numa"},      {"cache", "l3cache"},
                 {"cache3", "l3cache"}, {"cache2", "l2cache"}, {"cache1", "l1cache"}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strcasecmp(value, parts[i].word) == 0)
            return parts[i].part;
    return NULL;
}

/* I_MPI_PIN=0 binds nothing; what else begins so chooses cores in a way of its own. */
static int take_pinning(struct cmdline *c, const char *entry, size_t len, const char *value,
                        struct error *err)
{
    static const char *const off[] = {"0", "off", "no", "disable", NULL};
    static const char *const on[] = {"1", "on", "yes", "enable", "omp", "omp:compact", NULL};
    const char *option = NULL;
    bool is_list = begins(entry, "I_MPI_PIN_PROCESSOR_LIST=");
    char name[32];
    snprintf(name, sizeof(name), "%.*s", (int)len, entry);
    if (len == 9 && is_any(value, off)) {
        option = "--bind-to";
        value = "none";
    } else if (is_list && value[strspn(value, "0123456789,-")] == 0) {
        option = "--cpu-list";
    } else if (is_list && strcasecmp(value, "allcores") == 0) {
        option = "--bind-to";
        value = "core";
    } else if (begins(entry, "I_MPI_PIN_DOMAIN=[") && value[strlen(value) - 1] == ']') {
        option = "--cpu-bind";
        value = cmdline_keep(c, text_format("mask_cpu:%.*s", (int)strlen(value) - 2, value + 1));
    } else if (begins(entry, "I_MPI_PIN_DOMAIN=") && part_of_domain(value)) {
        option = "--bind-to";
        value = part_of_domain(value);
    } else if ((len == 9 || begins(entry, "I_MPI_PIN_DOMAIN=")) && is_any(value, on)) {
        return 0;
    }
    if (!option)
        return option_note(&c->no_effect, entry, len);
    return settings_take(c, SETTING_OTHER_LAUNCHERS, cmdline_keep(c, strdup(name)), option, value,
                         err);
}

static int take_entry(struct cmdline *c, const char *entry, bool is_lines, struct error *err)
{
    size_t len = strcspn(entry, "=");
    const char *value = entry[len] ? entry + len + 1 : "";
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        if (strlen(variables[i].variable) != len || !begins(entry, variables[i].variable))
            continue;
        bool here = !variables[i].dialects || variables[i].dialects & 1U << c->dialect;
        return here && *value ? apply_variable(c, i, value, err) : 0;
    }
    if (len == 14 && begins(entry, "SLURM_HOSTFILE"))
        return take_slurm_hosts(c, value, err);
    if (c->dialect == DIALECT_SRUN && begins_with_any(entry, sruns_others))
        return option_note(&c->no_effect, entry, len);
    if (begins(entry, "SLURM_") && c->dialect == DIALECT_SRUN && *value)
        return take_job_of_slurm(c, entry, value, err);
    if (begins(entry, "OMPI_MCA_") || begins(entry, "PRTE_MCA_"))
        return apply_parameter(c, entry, entry + 9, err);
    if (begins(entry, "I_MPI_PIN") && (is_lines || c->dialect == DIALECT_MPIEXEC))
        return take_pinning(c, entry, len, value, err);
    if ((begins(entry, "HYDRA_") || begins(entry, "I_MPI_HYDRA_")) && !has_extra_args(entry))
        return option_note(&c->no_effect, entry, len);
    return 0;
}

/* Variables that the line sets for the ranks, and that steer Intel's and MPICH's launcher. */
static int take_lines_own(struct cmdline *c, const struct cmdline_app *app, struct error *err)
{
    bool is_intels = c->dialect == DIALECT_MPIEXEC || c->dialect == DIALECT_MPIRUN;
    for (size_t i = 0; is_intels && i < app->nenv; i++)
        if ((begins(app->env[i], "I_MPI_") || begins(app->env[i], "HYDRA_")) &&
            strchr(app->env[i], '=') && take_entry(c, app->env[i], true, err) < 0)
            return error_context(err, "%.*s", (int)(strcspn(app->env[i], "=") % 60), app->env[i]);
    return 0;
}

int environment_apply(struct cmdline *c, char *const env[], struct error *err)
{
    c->settings.said = c->place;
    if (c->napps && take_lines_own(c, &c->apps[0], err) < 0)
        return -1;
    for (char *const *at = env; *at; at++) {
        AUTO_FREE char *made = NULL;
        const char *entry = of_component(c, *at, env, &made);
        if (entry && !(c->napps && cmdline_setting_for(&c->apps[0], entry)) &&
            take_entry(c, entry, false, err) < 0)
            return error_context(err, "%.*s", (int)(strcspn(entry, "=") % 60), entry);
    }
    return 0;
}
