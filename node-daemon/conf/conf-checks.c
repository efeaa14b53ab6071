/* SPDX-License-Identifier: BSD-3-Clause */
/* conf-checks.c - which values mprund.conf(5) takes, and the sentence for those it does not
 *
 * They are checked as they are read, so that a message has the line. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text/number.h"
#include "containment/cgroup/controllers.h"
#include "containment/cgroup/dir.h"
#include "containment/mprund-protocol.h"
#include "node-daemon/conf/conf-private.h"

enum { RULE_NAME_MAX = 16, WORD_MAX = 32 };

static const struct {
    const char *name;
    long min, max;
} numbers[] = {
    {"max_connections", 1, 1024},
    {"user_connections", 1, 256},
    {"user_rate", 1, 100000},
    {"max_descendants", 4, 1000000},
    {"pids_per_slot", 0, 1 << 22},
    {"stuck_after", 1, 3600},
    {"retry", 1, 3600},
    {"bound_for", 1, 31536000},
    {"quarantine|event_queue", 64, 1 << 20},
    {"gridengine|qstat_seconds", 1, 600},
    {"gridengine|qmaster_port", 0, 65535},
    {"gridengine|execd_port", 0, 65535},
};

static int check_number(cfg_t *cfg, cfg_opt_t *opt)
{
    const char *name = cfg_opt_name(opt), *bar;
    size_t i = 0;
    while (strcmp((bar = strchr(numbers[i].name, '|')) ? bar + 1 : numbers[i].name, name) != 0)
        i++;
    long v = cfg_opt_getnint(opt, cfg_opt_size(opt) - 1);
    if (v >= numbers[i].min && v <= numbers[i].max)
        return 0;
    cfg_error(cfg, "%s = %ld: from %ld to %ld is allowed", name, v, numbers[i].min, numbers[i].max);
    return -1;
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
    {"memory", CGROUP_MEMORY},   {"pids", CGROUP_PIDS},       {"cpu", CGROUP_CPU},
    {"cpuset", CGROUP_CPUSET},   {"freezer", CGROUP_FREEZER}, {"cpuacct", CGROUP_CPU},
    {"io", CGROUP_IO},           {"blkio", CGROUP_IO},        {"devices", CGROUP_DEVICES},
    {"net_cls", CGROUP_NET_CLS},
};

int conf_subsystem(const char *word, unsigned *ret, struct error *err)
{
    for (size_t i = 0; i < sizeof(subsystems) / sizeof(subsystems[0]); i++)
        if (!strcmp(word, subsystems[i].word)) {
            *ret = CGROUP_BIT(subsystems[i].is);
            return 0;
        }
    return error_set(err, EINVAL,
                     "'%.40s' is none of memory, pids, cpu, cpuacct, cpuset, freezer, blkio (io), "
                     "devices, net_cls",
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

/* The value is one of a few words; its number is the place of the word in the list. */
static const struct choice {
    const char *name;
    const char *words[5];
} choices[] = {
    {"systemd",
     {[SYSTEMD_AUTO] = "auto", [SYSTEMD_YES] = "yes", [SYSTEMD_TRY] = "try", [SYSTEMD_NO] = "no"}},
    {"cgroup_version", {"autodetect", "v1", "v2"}},
    {"cores", {[CORES_AUTO] = "auto", [CORES_EXCLUSIVE] = "exclusive", [CORES_OFF] = "off"}},
    {"fail", {"closed", "open"}},
};

static const struct choice *find_choice(const char *name)
{
    const struct choice *c = choices;
    while (strcmp(c->name, name) != 0)
        c++;
    return c;
}

unsigned conf_choice(const char *name, const char *word)
{
    const struct choice *c = find_choice(name);
    unsigned i = 0;
    while (c->words[i] && strcmp(word, c->words[i]) != 0)
        i++;
    return i;
}

static int check_choice(cfg_t *cfg, cfg_opt_t *opt)
{
    const char *name = cfg_opt_name(opt), *v = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
    const char *const *words = find_choice(name)->words;
    char list[64] = "";
    if (v && words[conf_choice(name, v)])
        return 0;
    for (size_t i = 0, len = 0; words[i]; i++)
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
                                i == 0         ? ""
                                : words[i + 1] ? ", "
                                               : " or ",
                                words[i]);
    cfg_error(cfg, "%s = %s: %s is allowed", name, v ? v : "", list);
    return -1;
}

unsigned conf_lend_bit(const char *word)
{
    return !strcmp(word, "cores") ? LEND_CORES : !strcmp(word, "gpus") ? LEND_GPUS : 0;
}

static int check_lend(cfg_t *cfg, cfg_opt_t *opt)
{
    const char *v = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
    if (v && conf_lend_bit(v))
        return 0;
    cfg_error(cfg, "lend_suspended: '%s' is neither cores nor gpus", v ? v : "");
    return -1;
}

int conf_memory(const char *word, uint64_t *ret, struct error *err)
{
    *ret = !strcmp(word, "auto") ? CONF_MEMORY_AUTO : 0;
    if (*ret || !strcmp(word, "none"))
        return 0;
    return size_parse(word, "memory_per_slot", ret, err);
}

static int check_memory(cfg_t *cfg, cfg_opt_t *opt)
{
    const char *v = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
    struct error e = {.text = ""};
    uint64_t bytes;
    if (v && conf_memory(v, &bytes, &e) == 0)
        return 0;
    cfg_error(cfg, "%s; auto and none are allowed, too", e.text);
    return -1;
}

static int check_cpus(cfg_t *cfg, cfg_opt_t *opt)
{
    const char *v = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
    AUTO(idset_free) struct idset set = {0};
    struct error e = {.text = ""};
    int rc = idset_parse(v ? v : "", &set, &e);
    if (rc < 0)
        cfg_error(cfg, "%s = \"%s\": %s", cfg_opt_name(opt), v ? v : "", e.text);
    return rc;
}

/* They are written with commas between them, into environments. */
static int check_gpu_id(cfg_t *cfg, const char *setting, const char *v)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  "._:/-";
    if (v && *v && strlen(v) <= GPU_ID_MAX && strspn(v, allowed) == strlen(v))
        return 0;
    cfg_error(cfg, "%s: '%s' is no id: at most %d letters, digits and . _ : / - are allowed",
              setting, v ? v : "", GPU_ID_MAX);
    return -1;
}

static int check_gpu(cfg_t *cfg, cfg_opt_t *opt)
{
    return check_gpu_id(cfg, "gpus", cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1));
}

static int check_gpu_section(cfg_t *cfg, cfg_opt_t *opt)
{
    return check_gpu_id(cfg, "gpu", cfg_title(cfg_opt_getnsec(opt, cfg_opt_size(opt) - 1)));
}

/* "/dev/nvidia0", "195:0" */
static int check_device(cfg_t *cfg, cfg_opt_t *opt)
{
    unsigned major, minor;
    int end = 0;
    const char *v = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
    if (v && (v[0] == '/' || (sscanf(v, "%7u:%7u%n", &major, &minor, &end) == 2 && !v[end])))
        return 0;
    cfg_error(cfg, "%s: '%s' is neither a path nor MAJOR:MINOR", cfg_opt_name(opt), v ? v : "");
    return -1;
}

int conf_find_user(const char *name, uid_t *ret)
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
    if (v && conf_find_user(v, &uid) == 0)
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

static const struct {
    const char *name;
    cfg_validate_callback_t check;
} checks[] = {
    {"user", check_word},
    {"cgroup", check_path},
    {"cgroup_version", check_choice},
    {"cgroup_mount", check_path},
    {"systemd", check_choice},
    {"subsystems", check_controller},
    {"cores", check_choice},
    {"fail", check_choice},
    {"system_cpus", check_cpus},
    {"lend_suspended", check_lend},
    {"gpus", check_gpu},
    {"gpu_files", check_device},
    {"gpu", check_gpu_section},
    {"gpu|files", check_device},
    {"gpu|cores", check_cpus},
    {"sentinel_dir", check_path},
    {"trace", check_path},
    {"slurm|spool", check_path},
    {"pbs|home", check_path},
    {"gridengine|spool", check_path},
    {"gridengine|shepherd", check_path},
    {"gridengine|execd", check_path},
    {"gridengine|admin_user", check_user},
    {"gridengine|qstat", check_path},
    {"gridengine|root", check_path},
    {"gridengine|cell", check_word},
    {"gridengine|memory_complex", check_word},
    {"gridengine|virtual_complex", check_word},
    {"gridengine|gpu_complex", check_word},
    {"gridengine|memory_per_slot", check_memory},
    {"grant_key", check_path},
    {"rule", check_rule},
    {"rule|daemon", check_path},
    {"rule|process", check_path},
    {"rule|job", check_variable},
    {"rule|owner", check_variable},
};

void conf_set_checks(cfg_t *cfg)
{
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        cfg_set_validate_func(cfg, numbers[i].name, check_number);
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
        cfg_set_validate_func(cfg, checks[i].name, checks[i].check);
}
