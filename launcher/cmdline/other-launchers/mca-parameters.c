/* SPDX-License-Identifier: BSD-3-Clause */
/* mca-parameters.c - parameters of Open MPI that steer its launcher
 *
 * "--mca NAME VALUE" is meant for the MPI library, which reads it in the ranks, or for Open MPI's
 * mpirun. The latter are options of mprun, or are named as having no effect. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "launcher/cmdline/cmdline-private.h"
#include "launcher/cmdline/options/option-functions.h"
#include "launcher/cmdline/other-launchers/other-launchers.h"

enum kind {
    VALUE,     /* the option has the same value */
    SWITCH,    /* the option is a switch, for 1 or true */
    OFF,       /* a switch, for 0 or false */
    HOSTS,     /* a file of hosts, or "none" */
    CORE_LIST, /* numbers of cores */
    AGENT,     /* "ssh : rsh": the first is taken */
};

static const struct {
    const char *name, *option;
    enum kind kind;
} steering[] = {
    {"rmaps_base_mapping_policy", "--map-by", VALUE},
    {"rmaps_default_mapping_policy", "--map-by", VALUE},
    {"rmaps_base_ranking_policy", "--rank-by", VALUE},
    {"rmaps_default_ranking_policy", "--rank-by", VALUE},
    {"hwloc_base_binding_policy", "--bind-to", VALUE},
    {"hwloc_default_binding_policy", "--bind-to", VALUE},
    {"hwloc_base_cpu_set", "--cpu-set", CORE_LIST},
    {"hwloc_base_cpu_list", "--cpu-set", CORE_LIST},
    {"hwloc_default_cpu_list", "--cpu-set", CORE_LIST},
    {"hwloc_base_report_bindings", "--report-bindings", SWITCH},
    {"hwloc_base_use_hwthreads_as_cpus", "--use-hwthread-cpus", SWITCH},
    {"orte_report_bindings", "--report-bindings", SWITCH},
    {"prte_report_bindings", "--report-bindings", SWITCH},
    {"rmaps_base_oversubscribe", "--oversubscribe", SWITCH},
    {"rmaps_base_no_oversubscribe", "--nooversubscribe", SWITCH},
    {"rmaps_base_no_schedule_local", "--nolocal", SWITCH},
    {"rmaps_base_cpus_per_rank", "--cpus-per-rank", VALUE},
    {"rmaps_base_cpus_per_proc", "--cpus-per-rank", VALUE},
    {"rmaps_ppr_n_pernode", "--npernode", VALUE},
    {"rmaps_rank_file_path", "--rankfile", VALUE},
    {"orte_default_hostfile", "--hostfile", HOSTS},
    {"prte_default_hostfile", "--hostfile", HOSTS},
    {"orte_tag_output", "--tag-output", SWITCH},
    {"orte_timestamp_output", "--timestamp-output", SWITCH},
    {"orte_output_filename", "--output-filename", VALUE},
    {"orte_enable_recovery", "--enable-recovery", SWITCH},
    {"orte_abort_on_non_zero_status", "--enable-recovery", OFF},
    {"orte_startup_timeout", "--start-timeout", VALUE},
    {"oob_tcp_if_include", "--interface", VALUE},
    {"prte_if_include", "--interface", VALUE},
    {"plm_rsh_agent", "--agent", AGENT},
    {"plm_ssh_agent", "--agent", AGENT},
    {"orte_rsh_agent", "--agent", AGENT},
};

/* Frameworks and prefixes of the launcher; of a framework also the choice of its components. */
static const char *const launcher_prefixes[] = {"plm",
                                                "rmaps",
                                                "ras",
                                                "odls",
                                                "ess",
                                                "iof",
                                                "grpcomm",
                                                "routed",
                                                "state",
                                                "rml",
                                                "errmgr",
                                                "oob",
                                                "schizo",
                                                "filem",
                                                "snapc",
                                                "rtc",
                                                "regx",
                                                "orte",
                                                "prte",
                                                "propagate",
                                                "hwloc_base",
                                                "hwloc_default",
                                                "mca_base_env_list"};

static bool is_launchers(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(launcher_prefixes) / sizeof(launcher_prefixes[0]); i++) {
        size_t n = strlen(launcher_prefixes[i]);
        if (len >= n && strncmp(name, launcher_prefixes[i], n) == 0 && (len == n || name[n] == '_'))
            return true;
    }
    return false;
}

static bool is_on(const char *value)
{
    return atoi(value) > 0 || strcasecmp(value, "true") == 0 || strcasecmp(value, "yes") == 0 ||
           strcasecmp(value, "t") == 0 || strcasecmp(value, "enabled") == 0;
}

/* "ssh -p 22 : rsh": up to the colon. */
static size_t first_agent(const char *value)
{
    const char *colon = strstr(value, " : ");
    if (!colon)
        colon = strchr(value, ':');
    size_t n = colon ? (size_t)(colon - value) : strlen(value);
    while (n && isspace((unsigned char)value[n - 1]))
        n--;
    return n;
}

static int apply_steering(struct cmdline *c, size_t which, const char *value, struct error *err)
{
    const char *option = steering[which].option;
    AUTO_FREE char *agent = NULL;
    switch (steering[which].kind) {
    case SWITCH:
        return is_on(value) ? cmdline_apply_named(c, option, NULL, err) : 0;
    case OFF:
        return is_on(value) ? 0 : cmdline_apply_named(c, option, NULL, err);
    case HOSTS:
        return strcmp(value, "none") == 0 ? 0 : cmdline_apply_named(c, option, value, err);
    case CORE_LIST:
        return cmdline_apply_other(c, "--cpu-set core:@", value, err);
    case AGENT:
        agent = must(strndup(value, first_agent(value)));
        return cmdline_apply_named(c, option, agent, err);
    default:
        return cmdline_apply_named(c, option, value, err);
    }
}

/* "A;B=1": as -x A -x B=1 */
static int take_env(void *target, char *setting, struct error *err)
{
    return strchr(setting, '=') ? cmdline_apply_named(target, "--genv", setting, err) : 0;
}

bool mca_is_launchers(const char *setting)
{
    return is_launchers(setting, strcspn(setting, "="));
}

enum { STEERING = sizeof(steering) / sizeof(steering[0]) };

/* STEERING: no option does it. */
static size_t find_steering(const char *setting)
{
    size_t len = strcspn(setting, "="), i = 0;
    while (i < STEERING &&
           (strlen(steering[i].name) != len || strncmp(setting, steering[i].name, len) != 0))
        i++;
    return i;
}

const char *mca_option(const char *setting)
{
    size_t i = find_steering(setting);
    return i < STEERING ? steering[i].option : NULL;
}

int mca_apply_to_launcher(struct cmdline *c, const char *setting, struct error *err)
{
    size_t len = strcspn(setting, "="), i = find_steering(setting);
    const char *value = setting + len + (setting[len] == '=');
    int rc = i < STEERING ? apply_steering(c, i, value, err) : 1;
    if (rc == 1 && len == 17 && strncmp(setting, "mca_base_env_list", len) == 0)
        rc = cmdline_each_item(value, ";", take_env, c, err);
    if (rc == 1)
        rc = option_note(&c->no_effect, setting, len);
    return rc < 0 ? error_context(err, "parameter '%.*s'", (int)(len < 60 ? len : 60), setting) : 0;
}
