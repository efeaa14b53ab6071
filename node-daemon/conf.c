/* SPDX-License-Identifier: BSD-3-Clause */
/* conf.c - mprund.conf(5), read with libconfuse
 *
 * Values are checked as they are read, so that a message has the line. A file that others can write
 * is refused: what is in it decides where root writes. */
#include "node-daemon/conf.h"

#include <confuse.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fdio.h"
#include "containment/cgroup-parts.h"
#include "containment/grant.h"

enum { FILE_MAX = 1 << 20, RULE_NAME_MAX = 16, WORD_MAX = 32 };

/* ---- what libconfuse says ---------------------------------------------------------------------
 */

static struct error *messages; /* its error function has no argument of ours */

static void note_error(cfg_t *cfg, const char *fmt, va_list ap)
{
    char text[512];
    vsnprintf(text, sizeof(text), fmt, ap);
    if (messages && !messages->text[0]) /* the first one is the cause */
        error_set(messages, EINVAL, "%d: %s", cfg->line, text);
}

/* ---- values -----------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    long min, max;
} ranges[] = {
    {"max_connections", 1, 1024},    {"user_connections", 1, 256}, {"user_rate", 1, 100000},
    {"max_descendants", 4, 1000000}, {"stuck_after", 1, 3600},     {"retry", 1, 3600},
    {"event_queue", 64, 1 << 20},    {"bound_for", 1, 31536000},   {"qmaster_port", 0, 65535},
    {"execd_port", 0, 65535},        {"qstat_seconds", 1, 600},
};

static int check_number(cfg_t *cfg, cfg_opt_t *opt)
{
    long v = cfg_opt_getnint(opt, cfg_opt_size(opt) - 1);
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (!strcmp(ranges[i].name, cfg_opt_name(opt)) &&
            (v < ranges[i].min || v > ranges[i].max)) {
            cfg_error(cfg, "%s = %ld: from %ld to %ld is allowed", ranges[i].name, v, ranges[i].min,
                      ranges[i].max);
            return -1;
        }
    return 0;
}

/* Absolute, no empty part, none that begins with a dot. */
static int is_plain_path(const char *path)
{
    if (path[0] != '/' || !path[1])
        return 0;
    for (const char *p = path; *p; p += 1 + strcspn(p + 1, "/"))
        if (p[1] == 0 || p[1] == '/' || p[1] == '.')
            return 0;
    return strlen(path) < CGROUP_PATH_MAX / 4;
}

static int check_path(cfg_t *cfg, cfg_opt_t *opt)
{
    const char *v = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
    if (v && is_plain_path(v))
        return 0;
    cfg_error(cfg, "%s = \"%s\": an absolute path is wanted, no part of which begins with a dot",
              cfg_opt_name(opt), v ? v : "");
    return -1;
}

static const struct {
    const char *word;
    enum cgroup_controller is;
} subsystems[] = {
    {"memory", CGROUP_MEMORY}, {"pids", CGROUP_PIDS},       {"cpu", CGROUP_CPU},
    {"cpuset", CGROUP_CPUSET}, {"freezer", CGROUP_FREEZER}, {"cpuacct", CGROUP_CPU},
};

int conf_subsystem(const char *word, unsigned *ret, struct error *err)
{
    for (size_t i = 0; i < sizeof(subsystems) / sizeof(subsystems[0]); i++)
        if (!strcmp(word, subsystems[i].word)) {
            *ret = CGROUP_BIT(subsystems[i].is);
            return 0;
        }
    if (!strcmp(word, "blkio") || !strcmp(word, "devices") || !strcmp(word, "net_cls"))
        return error_set(err, EINVAL, "mprund makes no use of '%s'", word);
    return error_set(err, EINVAL, "'%.40s' is none of memory, pids, cpu, cpuacct, cpuset, freezer",
                     word);
}

static int check_controller(cfg_t *cfg, cfg_opt_t *opt)
{
    struct error e;
    unsigned bit;
    const char *v = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
    if (v && conf_subsystem(v, &bit, &e) == 0)
        return 0;
    cfg_error(cfg, "subsystems: %s", v ? e.text : "there is none");
    return -1;
}

/* A shell's, and short: the environment of processes is looked through for it. */
static int check_variable(cfg_t *cfg, cfg_opt_t *opt)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    const char *v = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
    if (v && *v && strlen(v) < 64 && strspn(v, letters) == strlen(v) && !strchr("0123456789", *v))
        return 0;
    cfg_error(cfg, "%s = \"%s\": the name of an environment variable is wanted", cfg_opt_name(opt),
              v ? v : "");
    return -1;
}

/* Called when a section is whole. */
static int check_rule(cfg_t *cfg, cfg_opt_t *opt)
{
    static const char *const wanted[] = {"daemon", "process", "job", "owner"};
    cfg_t *rule = cfg_opt_getnsec(opt, cfg_opt_size(opt) - 1);
    const char *name = cfg_title(rule);
    if (!grant_is_job_name(name) || strlen(name) > RULE_NAME_MAX) {
        cfg_error(cfg, "rule %.40s: at most %d letters and digits are wanted", name, RULE_NAME_MAX);
        return -1;
    }
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (!cfg_getstr(rule, wanted[i])) {
            cfg_error(cfg, "rule %s: there is no %s", name, wanted[i]);
            return -1;
        }
    return 0;
}

static int check_systemd(cfg_t *cfg, cfg_opt_t *opt)
{
    const char *v = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
    if (v && (!strcmp(v, "auto") || !strcmp(v, "yes") || !strcmp(v, "no")))
        return 0;
    cfg_error(cfg, "systemd = %s: auto, yes or no is allowed", v ? v : "");
    return -1;
}

static const char *const core_words[] = {
    [CORES_AUTO] = "auto", [CORES_EXCLUSIVE] = "exclusive", [CORES_OFF] = "off"};
enum { CORE_WORDS = sizeof(core_words) / sizeof(core_words[0]) };

static unsigned core_word(const char *word)
{
    unsigned i = 0;
    while (i < CORE_WORDS && strcmp(word, core_words[i]) != 0)
        i++;
    return i;
}

static int check_cores(cfg_t *cfg, cfg_opt_t *opt)
{
    const char *v = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
    if (v && core_word(v) < CORE_WORDS)
        return 0;
    cfg_error(cfg, "cores = %s: auto, exclusive or off is allowed", v ? v : "");
    return -1;
}

static int check_cpus(cfg_t *cfg, cfg_opt_t *opt)
{
    const char *v = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
    struct idset set = {0};
    struct error e = {.text = ""};
    int rc = idset_parse(v ? v : "", &set, &e);
    idset_free(&set);
    if (rc < 0)
        cfg_error(cfg, "%s = \"%s\": %s", cfg_opt_name(opt), v ? v : "", e.text);
    return rc;
}

/* They are written with commas between them, into environments. */
static int check_gpu(cfg_t *cfg, cfg_opt_t *opt)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  "._:/-";
    const char *v = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
    if (v && *v && strlen(v) <= GPU_ID_MAX && strspn(v, allowed) == strlen(v))
        return 0;
    cfg_error(cfg, "gpus: '%s' is no id: at most %d letters, digits and . _ : / - are allowed",
              v ? v : "", GPU_ID_MAX);
    return -1;
}

static int find_user(const char *name, uid_t *ret)
{
    struct passwd *pw = getpwnam(name);
    if (!pw)
        return -1;
    *ret = pw->pw_uid;
    return 0;
}

static int check_user(cfg_t *cfg, cfg_opt_t *opt)
{
    const char *v = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
    uid_t uid;
    if (v && find_user(v, &uid) == 0)
        return 0;
    cfg_error(cfg, "%s = \"%s\": there is no such user", cfg_opt_name(opt), v ? v : "");
    return -1;
}

/* A name that goes to other programs as a word. */
static int check_word(cfg_t *cfg, cfg_opt_t *opt)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const char *v = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
    if (v && *v && *v != '-' && *v != '.' && strlen(v) < WORD_MAX && strspn(v, safe) == strlen(v))
        return 0;
    cfg_error(cfg, "%s = \"%s\": letters, digits and '._-' are wanted", cfg_opt_name(opt),
              v ? v : "");
    return -1;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static void set_checks(cfg_t *cfg)
{
    static const struct {
        const char *name;
        cfg_validate_callback_t check;
    } checks[] = {
        {"max_connections", check_number},
        {"user_connections", check_number},
        {"user_rate", check_number},
        {"max_descendants", check_number},
        {"stuck_after", check_number},
        {"retry", check_number},
        {"bound_for", check_number},
        {"cgroup", check_path},
        {"systemd", check_systemd},
        {"subsystems", check_controller},
        {"cores", check_cores},
        {"system_cpus", check_cpus},
        {"gpus", check_gpu},
        {"sentinel_dir", check_path},
        {"trace", check_path},
        {"quarantine|event_queue", check_number},
        {"gridengine|spool", check_path},
        {"gridengine|shepherd", check_path},
        {"gridengine|execd", check_path},
        {"gridengine|admin_user", check_user},
        {"gridengine|qstat", check_path},
        {"gridengine|qstat_user", check_user},
        {"gridengine|qstat_seconds", check_number},
        {"gridengine|root", check_path},
        {"gridengine|cell", check_word},
        {"gridengine|qmaster_port", check_number},
        {"gridengine|execd_port", check_number},
        {"gridengine|memory_complex", check_word},
        {"gridengine|virtual_complex", check_word},
        {"gridengine|gpu_complex", check_word},
        {"grant_key", check_path},
        {"rule", check_rule},
        {"rule|daemon", check_path},
        {"rule|process", check_path},
        {"rule|job", check_variable},
        {"rule|owner", check_variable},
    };
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
        cfg_set_validate_func(cfg, checks[i].name, checks[i].check);
}

static cfg_t *new_cfg(void)
{
    static cfg_opt_t gridengine[] = {
        CFG_STR("spool", NULL, CFGF_NODEFAULT),
        CFG_STR("admin_user", "root", CFGF_NONE),
        CFG_STR("shepherd", CONF_SHEPHERD, CFGF_NONE),
        CFG_STR("execd", CONF_EXECD, CFGF_NONE),
        CFG_BOOL("shepherd_needs_mprund", cfg_false, CFGF_NONE),
        CFG_STR("qstat", NULL, CFGF_NODEFAULT),
        CFG_STR("qstat_user", "nobody", CFGF_NONE),
        CFG_INT("qstat_seconds", 10, CFGF_NONE),
        CFG_STR("root", "/var/lib/gridengine", CFGF_NONE),
        CFG_STR("cell", "default", CFGF_NONE),
        CFG_INT("qmaster_port", 0, CFGF_NONE),
        CFG_INT("execd_port", 0, CFGF_NONE),
        CFG_STR("memory_complex", "m_mem_free", CFGF_NONE),
        CFG_STR("virtual_complex", "h_vmem", CFGF_NONE),
        CFG_STR("gpu_complex", "nvidia_gpu", CFGF_NONE),
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
    static cfg_opt_t all[] = {
        CFG_STR("cgroup", "/mprund", CFGF_NONE),
        CFG_STR("systemd", "auto", CFGF_NONE),
        CFG_STR_LIST("subsystems", "{memory, pids, cpu, cpuset, freezer}", CFGF_NONE),
        CFG_STR("cores", "auto", CFGF_NONE),
        CFG_STR("system_cpus", "", CFGF_NONE),
        CFG_STR_LIST("gpus", "{auto}", CFGF_NONE),
        CFG_INT("max_connections", 64, CFGF_NONE),
        CFG_INT("user_connections", 8, CFGF_NONE),
        CFG_INT("user_rate", 100, CFGF_NONE),
        CFG_INT("max_descendants", 10000, CFGF_NONE),
        CFG_INT("stuck_after", 10, CFGF_NONE),
        CFG_INT("retry", 30, CFGF_NONE),
        CFG_STR("sentinel_dir", "/run/mprun/sentinels", CFGF_NONE),
        CFG_STR("trace", NULL, CFGF_NODEFAULT),
        CFG_INT("bound_for", 86400, CFGF_NONE),
        CFG_STR("grant_key", NULL, CFGF_NODEFAULT),
        CFG_SEC("gridengine", gridengine, CFGF_NODEFAULT),
        CFG_SEC("quarantine", quarantine, CFGF_NONE),
        CFG_SEC("rule", rule, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
        CFG_END(),
    };
    cfg_t *cfg = cfg_init(all, CFGF_NONE);
    if (!cfg)
        return NULL;
    cfg_set_error_function(cfg, note_error);
    set_checks(cfg);
    return cfg;
}

/* "%h" in the execd's directory is this host's name, up to the first dot, as the execd has it. */
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

/* Nobody's group is the user's; who asks as root asks with too much. */
static int take_qstat_user(const char *name, struct conf *c, struct error *err)
{
    struct passwd *pw = getpwnam(name);
    if (c->ge_qstat && (!pw || pw->pw_uid == 0))
        return error_set(err, EINVAL, "qstat_user = %s: %s", name,
                         pw ? "a user other than root is wanted" : "there is no such user");
    c->qstat_uid = pw ? pw->pw_uid : 0;
    c->qstat_gid = pw ? pw->pw_gid : 0;
    return 0;
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
    if ((qstat && !c->ge_qstat) || !c->ge_root || !c->ge_cell || !c->memory_complex ||
        !c->virtual_complex || !c->gpu_complex)
        return error_errno(err, ENOMEM, "read the section gridengine");
    return take_qstat_user(cfg_getstr(ge, "qstat_user"), c, err);
}

static int take_gridengine(cfg_t *cfg, struct conf *c, struct error *err)
{
    cfg_t *ge = cfg_size(cfg, "gridengine") ? cfg_getsec(cfg, "gridengine") : NULL;
    if (!ge || !cfg_getstr(ge, "spool"))
        return 0;
    c->ge_spool = with_host(cfg_getstr(ge, "spool"));
    c->ge_shepherd = strdup(cfg_getstr(ge, "shepherd"));
    c->ge_execd = strdup(cfg_getstr(ge, "execd"));
    c->ge_shepherd_needs_mprund = cfg_getbool(ge, "shepherd_needs_mprund");
    (void)find_user(cfg_getstr(ge, "admin_user"), &c->ge_admin); /* checked when it was read */
    if (!c->ge_spool || !c->ge_shepherd || !c->ge_execd)
        return error_errno(err, ENOMEM, "read the section gridengine");
    return take_qstat(ge, c, err);
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

static int take_gpus(cfg_t *cfg, struct conf *c)
{
    unsigned n = cfg_size(cfg, "gpus");
    c->gpus = calloc(n + 1, sizeof(*c->gpus));
    for (unsigned i = 0; c->gpus && i < n; i++)
        if (!(c->gpus[i] = strdup(cfg_getnstr(cfg, "gpus", i))))
            return -1;
    return c->gpus ? 0 : -1;
}

static int take_values(cfg_t *cfg, struct conf *c, struct error *err)
{
    const char *systemd = cfg_getstr(cfg, "systemd");
    c->systemd = !strcmp(systemd, "yes")  ? SYSTEMD_YES
                 : !strcmp(systemd, "no") ? SYSTEMD_NO
                                          : SYSTEMD_AUTO;
    for (unsigned i = 0; i < cfg_size(cfg, "subsystems"); i++) {
        unsigned bit = 0;
        (void)conf_subsystem(cfg_getnstr(cfg, "subsystems", i), &bit, NULL); /* checked */
        c->controllers |= bit;
    }
    c->max_connections = cfg_getint(cfg, "max_connections");
    c->user_connections = cfg_getint(cfg, "user_connections");
    c->user_rate = cfg_getint(cfg, "user_rate");
    c->max_descendants = cfg_getint(cfg, "max_descendants");
    c->stuck_after = (double)cfg_getint(cfg, "stuck_after");
    c->retry = (double)cfg_getint(cfg, "retry");
    c->bound_for = (double)cfg_getint(cfg, "bound_for");
    c->cgroup = strdup(cfg_getstr(cfg, "cgroup"));
    c->cores = (enum conf_cores)core_word(cfg_getstr(cfg, "cores"));
    const char *key = cfg_getstr(cfg, "grant_key");
    c->grant_key = key ? strdup(key) : NULL;
    if (!c->cgroup || idset_parse(cfg_getstr(cfg, "system_cpus"), &c->system_cpus, NULL) < 0 ||
        take_gpus(cfg, c) < 0 || take_quarantine(cfg, c) < 0 || (key && !c->grant_key))
        return error_errno(err, ENOMEM, "read the configuration");
    return take_gridengine(cfg, c, err);
}

/* The text of a file that only root, or who runs this, can have written; caller frees. NULL with
 * err; errno ENOENT: it is not there. */
static char *read_text(const char *path, struct error *err)
{
    struct stat st;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0) {
        error_errno(err, errno, "read configuration '%s'", path);
        return NULL;
    }
    if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX) {
        error_set(err, EINVAL, "read configuration '%s': not a file of at most 1 MiB", path);
        return NULL;
    }
    if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 022)) {
        error_set(err, EPERM,
                  "read configuration '%s': it must belong to root and be writable to nobody else "
                  "(chown root, chmod 644)",
                  path);
        return NULL;
    }
    char *text = calloc(1, (size_t)st.st_size + 1);
    if (!text || (st.st_size && fd_read_all(fd, text, (size_t)st.st_size) < 0)) {
        error_errno(err, text ? errno : ENOMEM, "read configuration '%s'", path);
        free(text);
        return NULL;
    }
    return text;
}

/* libconfuse (3.3) counts the lines of comments several times, and messages would name wrong ones.
 */
static void blank_comments(char *text)
{
    char quote = 0;
    for (char *p = text; *p; p++) {
        if (quote && *p == '\\' && p[1])
            p++;
        else if (quote)
            quote = *p == quote ? 0 : quote;
        else if (*p == '"' || *p == '\'')
            quote = *p;
        else if (*p == '#')
            for (; *p && *p != '\n'; p++)
                *p = ' ';
        if (!*p)
            return;
    }
}

static int parse(cfg_t *cfg, const char *path, struct error *err)
{
    struct error said = {0};
    AUTO_FREE char *text = read_text(path, err);
    if (!text)
        return -1;
    blank_comments(text);
    messages = &said;
    int rc = cfg_parse_buf(cfg, text);
    messages = NULL;
    if (rc == CFG_SUCCESS)
        return 0;
    return error_set(err, EINVAL, "read configuration %s:%s", path, said.text);
}

int conf_read(const char *path, int required, struct conf *ret, struct error *err)
{
    struct conf c = {0};
    cfg_t *cfg = new_cfg();
    if (!cfg)
        return error_errno(err, ENOMEM, "read configuration '%s'", path);
    int rc = parse(cfg, path, err);
    if (rc < 0 && errno == ENOENT && !required)
        rc = 0;
    if (rc == 0 && take_values(cfg, &c, err) < 0)
        rc = error_context(err, "read configuration '%s'", path);
    cfg_free(cfg);
    if (rc < 0)
        conf_free(&c);
    else
        *ret = c;
    return rc;
}

void conf_free(struct conf *c)
{
    for (char **id = c->gpus; id && *id; id++)
        free(*id);
    free(c->gpus);
    idset_free(&c->system_cpus);
    free(c->cgroup);
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
    free(c->grant_key);
    explicit_bzero(c, sizeof(*c)); /* the key */
}
