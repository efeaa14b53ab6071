/* SPDX-License-Identifier: BSD-3-Clause */
/* conf.c - mprund.conf(5), read with libconfuse: what can be in it, the defaults, and what becomes
 * of it */
#include "node-daemon/conf/conf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
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
        CFG_STR("shepherd_needs_mprund", NULL, CFGF_NODEFAULT), /* an earlier one */
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
    cfg_t *cfg = cfg_init(all, CFGF_NONE);
    if (!cfg)
        return NULL;
    cfg_set_error_function(cfg, note_error);
    conf_set_checks(cfg);
    return cfg;
}

/* "%h" in the manager's directory is this host's name, up to the first dot, as the execd has it. */
static char *with_host(const char *path)
{
    char host[256] = "", *whole = NULL;
    const char *mark = strstr(path, "%h");
    if (!mark)
        return strdup(path);
    gethostname(host, sizeof(host) - 1);
    host[strcspn(host, ".")] = 0;
    if (asprintf(&whole, "%.*s%s%s", (int)(mark - path), path, host, mark + 2) < 0)
        return NULL;
    return whole;
}

static int take_qstat(cfg_t *ge, struct conf *c, struct error *err)
{
    const char *qstat = cfg_getstr(ge, "qstat");
    c->ge_qstat = qstat ? strdup(qstat) : NULL;
    c->ge_root = strdup(cfg_getstr(ge, "root"));
    c->ge_cell = strdup(cfg_getstr(ge, "cell"));
    c->memory_complex = strdup(cfg_getstr(ge, "memory_complex"));
    c->virtual_complex = strdup(cfg_getstr(ge, "virtual_complex"));
    c->gpu_complex = strdup(cfg_getstr(ge, "gpu_complex"));
    c->qmaster_port = cfg_getint(ge, "qmaster_port");
    c->execd_port = cfg_getint(ge, "execd_port");
    c->qstat_seconds = cfg_getint(ge, "qstat_seconds");
    (void)conf_memory(cfg_getstr(ge, "memory_per_slot"), &c->memory_per_slot, NULL); /* checked */
    if ((qstat && !c->ge_qstat) || !c->ge_root || !c->ge_cell || !c->memory_complex ||
        !c->virtual_complex || !c->gpu_complex)
        return error_errno(err, ENOMEM, "read the section gridengine");
    return 0;
}

static int take_gridengine(cfg_t *cfg, struct conf *c, struct error *err)
{
    cfg_t *ge = cfg_size(cfg, "gridengine") ? cfg_getsec(cfg, "gridengine") : NULL;
    if (!ge || !cfg_getstr(ge, "spool"))
        return 0;
    c->ge_spool = with_host(cfg_getstr(ge, "spool"));
    c->ge_shepherd = strdup(cfg_getstr(ge, "shepherd"));
    c->ge_execd = strdup(cfg_getstr(ge, "execd"));
    (void)conf_find_user(cfg_getstr(ge, "admin_user"), &c->ge_admin); /* checked when it was read */
    if (!c->ge_spool || !c->ge_shepherd || !c->ge_execd)
        return error_errno(err, ENOMEM, "read the section gridengine");
    return take_qstat(ge, c, err);
}

/* The directory that this value of a section names; there may be none. */
static int take_directory(cfg_t *cfg, const char *section, const char *name, char **ret,
                          struct error *err)
{
    cfg_t *sec = cfg_size(cfg, section) ? cfg_getsec(cfg, section) : NULL;
    const char *path = sec ? cfg_getstr(sec, name) : NULL;
    if (path && !(*ret = with_host(path)))
        return error_errno(err, ENOMEM, "read the section %s", section);
    return 0;
}

static int take_rule(cfg_t *cfg, struct conf_rule *r)
{
    r->name = strdup(cfg_title(cfg));
    r->daemon = strdup(cfg_getstr(cfg, "daemon"));
    r->process = strdup(cfg_getstr(cfg, "process"));
    r->job = strdup(cfg_getstr(cfg, "job"));
    r->owner = strdup(cfg_getstr(cfg, "owner"));
    return r->name && r->daemon && r->process && r->job && r->owner ? 0 : -1;
}

static int take_quarantine(cfg_t *cfg, struct conf *c)
{
    cfg_t *q = cfg_getsec(cfg, "quarantine");
    const char *to = cfg_getstr(cfg, "trace");
    c->watch_spool = cfg_getbool(q, "spool");
    c->process_events = cfg_getbool(q, "process_events");
    c->event_queue = cfg_getint(q, "event_queue");
    c->sentinel_dir = strdup(cfg_getstr(cfg, "sentinel_dir"));
    c->trace = to ? strdup(to) : NULL;
    c->rule = calloc(cfg_size(cfg, "rule") + 1, sizeof(*c->rule));
    if (!c->sentinel_dir || (to && !c->trace) || !c->rule)
        return -1;
    c->nrules = cfg_size(cfg, "rule");
    for (unsigned i = 0; i < c->nrules; i++)
        if (take_rule(cfg_getnsec(cfg, "rule", i), &c->rule[i]) < 0)
            return -1;
    return 0;
}

static int take_values(cfg_t *cfg, struct conf *c, struct error *err)
{
    const char *systemd = cfg_getstr(cfg, "systemd");
    c->systemd = !strcmp(systemd, "yes")   ? SYSTEMD_YES
                 : !strcmp(systemd, "try") ? SYSTEMD_TRY
                 : !strcmp(systemd, "no")  ? SYSTEMD_NO
                                           : SYSTEMD_AUTO;
    const char *version = cfg_getstr(cfg, "cgroup_version"); /* checked */
    c->cgroup_version = version[0] == 'v' ? version[1] - '0' : 0;
    const char *mount = cfg_getstr(cfg, "cgroup_mount");
    c->cgroup_mount = strdup(mount ? mount : "");
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
    c->user = strdup(cfg_getstr(cfg, "user"));
    c->fail_open = !strcmp(cfg_getstr(cfg, "fail"), "open");
    c->cgroup = strdup(cfg_getstr(cfg, "cgroup"));
    c->cores = (enum conf_cores)conf_core_word(cfg_getstr(cfg, "cores"));
    c->node_rounding = cfg_getbool(cfg, "node_rounding");
    for (unsigned i = 0; i < cfg_size(cfg, "lend_suspended"); i++)
        c->lends |= conf_lend_bit(cfg_getnstr(cfg, "lend_suspended", i));
    if ((c->lends & LEND_CORES) && c->cores != CORES_AUTO)
        return error_set(
            err, EINVAL,
            "lend_suspended = {cores} needs cores = auto: a step that goes on may have "
            "to share cores for a while");
    const char *key = cfg_getstr(cfg, "grant_key");
    c->grant_key = key ? strdup(key) : NULL;
    if (!c->user || !c->cgroup || !c->cgroup_mount ||
        idset_parse(cfg_getstr(cfg, "system_cpus"), &c->system_cpus, NULL) < 0 ||
        take_quarantine(cfg, c) < 0 || (key && !c->grant_key))
        return error_errno(err, ENOMEM, "read the configuration");
    if (conf_take_gpus(cfg, c, err) < 0 || take_gridengine(cfg, c, err) < 0 ||
        take_directory(cfg, "slurm", "spool", &c->slurm_spool, err) < 0)
        return -1;
    return take_directory(cfg, "pbs", "home", &c->pbs_home, err);
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
    struct conf c = {0};
    cfg_t *cfg = new_cfg();
    if (!cfg)
        return error_errno(err, ENOMEM, "read configuration '%s'", path);
    int rc = parse(cfg, text, path, err);
    if (rc == 0 && take_values(cfg, &c, err) < 0)
        rc = error_context(err, "read configuration '%s'", path);
    cfg_free(cfg);
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
    free(c->user);
    free(c->cgroup);
    free(c->cgroup_mount);
    free(c->ge_spool);
    free(c->ge_shepherd);
    free(c->ge_execd);
    free(c->sentinel_dir);
    free(c->trace);
    for (size_t i = 0; i < c->nrules; i++) {
        struct conf_rule *r = &c->rule[i];
        free(r->name);
        free(r->daemon);
        free(r->process);
        free(r->job);
        free(r->owner);
    }
    free(c->rule);
    free(c->ge_qstat);
    free(c->ge_root);
    free(c->ge_cell);
    free(c->memory_complex);
    free(c->virtual_complex);
    free(c->gpu_complex);
    free(c->slurm_spool);
    free(c->pbs_home);
    free(c->grant_key);
    explicit_bzero(c, sizeof(*c)); /* the key */
}
