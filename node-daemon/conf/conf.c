/* SPDX-License-Identifier: BSD-3-Clause */
/* conf.c - mprund.conf(5), read with libconfuse: what can be in it, the defaults, and what becomes
 * of it */
#include "node-daemon/conf/conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/text.h"
#include "containment/mprund-protocol.h"
#include "node-daemon/conf/conf-private.h"

/* ---- what libconfuse says -------------------------------------------------------------------- */

static struct error *messages; /* its error function has no argument of ours */

static void note_error(cfg_t *cfg, const char *fmt, va_list ap)
{
    char text[512];
    vsnprintf(text, sizeof(text), fmt, ap);
    if (messages && !messages->text[0]) /* the first one is the cause */
        error_set(messages, EINVAL, "%d: %s", cfg->line, text);
}

/* ---- what there is, and what becomes of it --------------------------------------------------- */

static cfg_t *new_cfg(void)
{
    static cfg_opt_t gridengine[] = {
        CFG_STR("spool", NULL, CFGF_NODEFAULT),
        CFG_STR("admin_user", "root", CFGF_NONE),
        CFG_STR("shepherd", CONF_SHEPHERD, CFGF_NONE),
        CFG_STR("execd", CONF_EXECD, CFGF_NONE),
        CFG_STR("qstat", NULL, CFGF_NODEFAULT),
        CFG_INT("qstat_seconds", 10, CFGF_NONE),
        CFG_STR("root", "/var/lib/gridengine", CFGF_NONE),
        CFG_STR("cell", "default", CFGF_NONE),
        CFG_INT("qmaster_port", 0, CFGF_NONE),
        CFG_INT("execd_port", 0, CFGF_NONE),
        CFG_STR("memory_complex", "m_mem_free", CFGF_NONE),
        CFG_STR("virtual_complex", "h_vmem", CFGF_NONE),
        CFG_STR("gpu_complex", "nvidia_gpu", CFGF_NONE),
        CFG_STR("memory_per_slot", "auto", CFGF_NONE),
        CFG_END(),
    };
    static cfg_opt_t slurm[] = {
        CFG_STR("spool", NULL, CFGF_NODEFAULT),
        CFG_END(),
    };
    static cfg_opt_t pbs[] = {
        CFG_STR("home", NULL, CFGF_NODEFAULT),
        CFG_END(),
    };
    static cfg_opt_t quarantine[] = {
        CFG_BOOL("spool", cfg_true, CFGF_NONE),
        CFG_BOOL("process_events", cfg_false, CFGF_NONE),
        CFG_INT("event_queue", 16384, CFGF_NONE),
        CFG_END(),
    };
    static cfg_opt_t rule[] = {
        CFG_STR("daemon", NULL, CFGF_NODEFAULT),
        CFG_STR("process", NULL, CFGF_NODEFAULT),
        CFG_STR("job", NULL, CFGF_NODEFAULT),
        CFG_STR("owner", NULL, CFGF_NODEFAULT),
        CFG_END(),
    };
    static cfg_opt_t gpu[] = {
        CFG_STR_LIST("files", "{}", CFGF_NONE),
        CFG_STR("cores", "", CFGF_NONE),
        CFG_END(),
    };
    static cfg_opt_t all[] = {
        CFG_STR("user", "mprund", CFGF_NONE),
        CFG_STR("cgroup", "/mprund", CFGF_NONE),
        CFG_STR("cgroup_version", "autodetect", CFGF_NONE),
        CFG_STR("cgroup_mount", NULL, CFGF_NODEFAULT),
        CFG_BOOL("cgroup_automount", cfg_true, CFGF_NONE),
        CFG_STR("systemd", "auto", CFGF_NONE),
        CFG_STR_LIST("subsystems", "{memory, pids, cpu, cpuset, freezer}", CFGF_NONE),
        CFG_STR("cores", "auto", CFGF_NONE),
        CFG_BOOL("node_rounding", cfg_false, CFGF_NONE),
        CFG_STR("system_cpus", "", CFGF_NONE),
        CFG_STR_LIST("lend_suspended", "{}", CFGF_NONE),
        CFG_STR_LIST("gpus", "{auto}", CFGF_NONE),
        CFG_STR_LIST("gpu_files", "{}", CFGF_NONE),
        CFG_SEC("gpu", gpu, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
        CFG_INT("max_connections", 64, CFGF_NONE),
        CFG_INT("user_connections", 8, CFGF_NONE),
        CFG_INT("user_rate", 100, CFGF_NONE),
        CFG_INT("max_descendants", 800, CFGF_NONE),
        CFG_INT("pids_per_slot", 4096, CFGF_NONE),
        CFG_INT("stuck_after", 10, CFGF_NONE),
        CFG_INT("retry", 30, CFGF_NONE),
        CFG_STR("sentinel_dir", "/run/mprun/sentinels", CFGF_NONE),
        CFG_STR("trace", NULL, CFGF_NODEFAULT),
        CFG_INT("bound_for", 86400, CFGF_NONE),
        CFG_STR("grant_key", NULL, CFGF_NODEFAULT),
        CFG_STR("fail", "closed", CFGF_NONE),
        CFG_SEC("gridengine", gridengine, CFGF_NODEFAULT),
        CFG_SEC("slurm", slurm, CFGF_NODEFAULT),
        CFG_SEC("pbs", pbs, CFGF_NODEFAULT),
        CFG_SEC("quarantine", quarantine, CFGF_NONE),
        CFG_SEC("rule", rule, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
        CFG_END(),
    };
    cfg_t *cfg = must(cfg_init(all, CFGF_NONE));
    cfg_set_error_function(cfg, note_error);
    conf_set_checks(cfg);
    return cfg;
}

/* The directory that this value of a section names; there may be none. "%h" in it is this host's
 * name, up to the first dot, as the execd has it. */
static const char *take_directory(cfg_t *cfg, const char *section, const char *name)
{
    cfg_t *sec = cfg_size(cfg, section) ? cfg_getsec(cfg, section) : NULL;
    const char *path = sec ? cfg_getstr(sec, name) : NULL;
    const char *mark = path ? strstr(path, "%h") : NULL;
    if (mark) {
        char host[256] = "";
        gethostname(host, sizeof(host) - 1);
        host[strcspn(host, ".")] = 0;
        AUTO_FREE char *whole = text_format("%.*s%s%s", (int)(mark - path), path, host, mark + 2);
        must_do(cfg_setstr(sec, name, whole));
        path = cfg_getstr(sec, name);
    }
    return path;
}

static void take_gridengine(cfg_t *ge, struct conf *c)
{
    c->ge_shepherd = cfg_getstr(ge, "shepherd");
    c->ge_execd = cfg_getstr(ge, "execd");
    (void)conf_find_user(cfg_getstr(ge, "admin_user"), &c->ge_admin); /* checked when it was read */
    c->ge_qstat = cfg_getstr(ge, "qstat");
    c->ge_root = cfg_getstr(ge, "root");
    c->ge_cell = cfg_getstr(ge, "cell");
    c->memory_complex = cfg_getstr(ge, "memory_complex");
    c->virtual_complex = cfg_getstr(ge, "virtual_complex");
    c->gpu_complex = cfg_getstr(ge, "gpu_complex");
    c->qmaster_port = cfg_getint(ge, "qmaster_port");
    c->execd_port = cfg_getint(ge, "execd_port");
    c->qstat_seconds = cfg_getint(ge, "qstat_seconds");
    (void)conf_memory(cfg_getstr(ge, "memory_per_slot"), &c->memory_per_slot, NULL); /* checked */
}

static void take_quarantine(cfg_t *cfg, struct conf *c)
{
    cfg_t *q = cfg_getsec(cfg, "quarantine");
    c->watch_spool = cfg_getbool(q, "spool");
    c->process_events = cfg_getbool(q, "process_events");
    c->event_queue = cfg_getint(q, "event_queue");
    c->nrules = cfg_size(cfg, "rule");
    c->rule = must(calloc(c->nrules + 1, sizeof(*c->rule)));
    for (unsigned i = 0; i < c->nrules; i++) {
        cfg_t *rule = cfg_getnsec(cfg, "rule", i);
        c->rule[i] = (struct conf_rule){.name = cfg_title(rule),
                                        .daemon = cfg_getstr(rule, "daemon"),
                                        .process = cfg_getstr(rule, "process"),
                                        .job = cfg_getstr(rule, "job"),
                                        .owner = cfg_getstr(rule, "owner")};
    }
}

static int take_values(cfg_t *cfg, struct conf *c, struct error *err)
{
    c->systemd = (enum conf_systemd)conf_choice("systemd", cfg_getstr(cfg, "systemd"));
    c->cgroup_version = (int)conf_choice("cgroup_version", cfg_getstr(cfg, "cgroup_version"));
    const char *mount = cfg_getstr(cfg, "cgroup_mount");
    c->cgroup_mount = mount ? mount : "";
    c->cgroup_automount = cfg_getbool(cfg, "cgroup_automount");
    for (unsigned i = 0; i < cfg_size(cfg, "subsystems"); i++) {
        unsigned bit = 0;
        (void)conf_subsystem(cfg_getnstr(cfg, "subsystems", i), &bit, NULL); /* checked */
        c->controllers |= bit;
    }
    c->max_connections = cfg_getint(cfg, "max_connections");
    c->user_connections = cfg_getint(cfg, "user_connections");
    c->user_rate = cfg_getint(cfg, "user_rate");
    c->max_descendants = cfg_getint(cfg, "max_descendants");
    c->pids_per_slot = cfg_getint(cfg, "pids_per_slot");
    c->stuck_after = (double)cfg_getint(cfg, "stuck_after");
    c->retry = (double)cfg_getint(cfg, "retry");
    c->bound_for = (double)cfg_getint(cfg, "bound_for");
    c->user = cfg_getstr(cfg, "user");
    c->fail_open = (int)conf_choice("fail", cfg_getstr(cfg, "fail"));
    c->cgroup = cfg_getstr(cfg, "cgroup");
    c->cores = (enum conf_cores)conf_choice("cores", cfg_getstr(cfg, "cores"));
    c->node_rounding = cfg_getbool(cfg, "node_rounding");
    c->sentinel_dir = cfg_getstr(cfg, "sentinel_dir");
    c->trace = cfg_getstr(cfg, "trace");
    c->grant_key = cfg_getstr(cfg, "grant_key");
    for (unsigned i = 0; i < cfg_size(cfg, "lend_suspended"); i++)
        c->lends |= conf_lend_bit(cfg_getnstr(cfg, "lend_suspended", i));
    if ((c->lends & LEND_CORES) && c->cores != CORES_AUTO)
        return error_set(
            err, EINVAL,
            "lend_suspended = {cores} needs cores = auto: a step that goes on may have "
            "to share cores for a while");
    (void)idset_parse(cfg_getstr(cfg, "system_cpus"), &c->system_cpus, NULL); /* checked */
    take_quarantine(cfg, c);
    if (conf_take_gpus(cfg, c, err) < 0)
        return -1;
    c->ge_spool = take_directory(cfg, "gridengine", "spool");
    c->slurm_spool = take_directory(cfg, "slurm", "spool");
    c->pbs_home = take_directory(cfg, "pbs", "home");
    if (c->ge_spool)
        take_gridengine(cfg_getsec(cfg, "gridengine"), c);
    return 0;
}

static int parse(cfg_t *cfg, const char *text, const char *path, struct error *err)
{
    struct error said = {0};
    messages = &said;
    int rc = cfg_parse_buf(cfg, text);
    messages = NULL;
    if (rc == CFG_SUCCESS)
        return 0;
    return error_set(err, EINVAL, "read configuration %s:%s", path, said.text);
}

static int read_values(const char *text, const char *path, struct conf *ret, struct error *err)
{
    struct conf c = {.file = new_cfg()};
    int rc = parse(c.file, text, path, err);
    if (rc == 0 && take_values(c.file, &c, err) < 0)
        rc = error_context(err, "read configuration '%s'", path);
    if (rc < 0)
        conf_free(&c);
    else
        *ret = c;
    return rc;
}

int conf_read(const char *path, int required, struct conf *ret, struct error *err)
{
    AUTO_FREE char *text = conf_file_text(path, err);
    if (!text && (errno != ENOENT || required))
        return -1;
    return read_values(text ? text : "\n", path, ret, err);
}

int conf_read_fd(int fd, struct conf *ret, struct error *err)
{
    AUTO_FREE char *text = conf_open_text(fd, err);
    return text ? read_values(text, CONF_PATH, ret, err) : -1;
}

void conf_free(struct conf *c)
{
    conf_free_gpus(c);
    idset_free(&c->system_cpus);
    free(c->rule);
    if (c->file)
        cfg_free(c->file);
    *c = (struct conf){.file = NULL};
}
