/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.c - options that are set by files and variables: mprun.conf(5) */
#include "launcher/cmdline/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/files/path.h"
#include "common/processes/spawn.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "launcher/cmdline/cmdline-private.h"
#include "launcher/cmdline/options/option-functions.h"
#include "launcher/cmdline/other-launchers/other-launchers.h"
#include "launcher/cmdline/word-lines.h"

/* ---- which options, and which of them say the same thing ------------------------------------- */

/* Each ends with NULL; an option may be in several. */
static const char *const families[][9] = {
    {"--map-by", "--bynode", "--byslot", "--distribution", "--npernode", "-N", "--nodes",
     "--rankfile"},
    {"--bind-to", "--cpu-bind", "--cpu-list"},
    {"--oversubscribe", "--nooversubscribe"},
    {"--quiet", "--verbose"},
    {"--tag-output", "--timestamp-output", "--prepend-pattern", "--ordered-output", "--output"},
    {"--outfile-pattern", "--errfile-pattern", "--output-filename"},
    {"--host", "--hostfile"},
    {"--mem", "--mem-per-rank"},
    {"--timeout", "--time"},
    {"--enable-recovery", "--kill-on-bad-exit", "--disable-recovery"},
    {"--stop-on-exec", "--stop-in-init"},
    {"--errfile-pattern", "--merge-stderr-to-stdout"},
};
enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

/* Options that make sense on one line alone, or for one program. */
static const char *const of_lines[] = {
    "--app",       "--multi-prog", "--help",     "--usage",      "--version",     "--translate",
    "--path",      "--self-test",  "--env-diff", "--json",       "--dry-run",     "--explain",
    "--as",        "--topology",   "--ranks",    "--stdin",      "--show-config", "--check",
    "--no-config", "--pty",        "--gmca",     "--env-remove", "--prepend-env", "--append-env",
    "--queue",     "--joblog",     "--resume",
};

static const struct option_def *find(const struct cmdline *c, const char *name)
{
    return options_find(c->reading.own_options, name, strlen(name));
}

static bool is_in_family(const struct cmdline *c, size_t family, const struct option_def *def)
{
    for (const char *const *name = families[family]; *name; name++)
        if (find(c, *name) == def)
            return true;
    return false;
}

/* Do both say the same? */
static bool is_akin(const struct cmdline *c, const struct option_def *a, const struct option_def *b)
{
    for (size_t i = 0; i < FAMILIES; i++)
        if (is_in_family(c, i, a) && is_in_family(c, i, b))
            return true;
    return a == b;
}

static bool is_set(const struct cmdline *c, const struct option_def *def, const char *source)
{
    if (cmdline_uses(c, def))
        return true;
    for (size_t i = 0; i < c->settings.n; i++)
        if (c->settings.list[i].option == def && c->settings.list[i].source != source)
            return true;
    return false;
}

/* source: the one that asks, whose own options do not count. */
static bool is_said(const struct cmdline *c, const struct option_def *def, const char *source)
{
    for (size_t i = 0; i < FAMILIES; i++)
        for (const char *const *name = families[i]; is_in_family(c, i, def) && *name; name++)
            if (is_set(c, find(c, *name), source))
                return true;
    return is_set(c, def, source);
}

/* By a program behind the first, which says it for itself. */
static bool is_said_later(const struct cmdline *c, const struct option_def *def)
{
    for (const struct option_def *d = c->reading.own_options; d->names; d++)
        if (cmdline_uses_later(c, d) && is_akin(c, d, def))
            return true;
    return false;
}

bool settings_have(const struct cmdline *c, const char *name)
{
    const struct option_def *def = find(c, name);
    return def && is_said(c, def, NULL);
}

/* The option of this name that may be set for all lines. */
static const struct option_def *settable(const struct cmdline *c, const char *name,
                                         struct error *err)
{
    const struct option_def *def = find(c, name);
    bool is_of_line =
        def && ((cmdline_is_app_option(def) && def->group && strcmp(def->group, PROGRAMS) == 0) ||
                option_is_refused(def));
    for (size_t i = 0; i < sizeof(of_lines) / sizeof(of_lines[0]); i++)
        is_of_line = is_of_line || (def && find(c, of_lines[i]) == def);
    if (def && !is_of_line)
        return def;
    return error_null(error_set(err, EINVAL,
                                def ? "option '%.60s' is for command lines alone"
                                    : "there is no option '%.60s'; 'mprun --help all' lists them",
                                name));
}

/* --check: the mistake is kept, and the next source is looked at. 0, or -1 without --check. */
static int keep_mistake(struct cmdline *c, const struct error *why)
{
    struct settings *s = &c->settings;
    for (size_t i = 0; i < s->nmistakes; i++) /* the administrator's file is read twice */
        if (strcmp(s->mistakes[i], why->text) == 0)
            return 0;
    if (!s->is_checked)
        return -1;
    s->mistakes = must(reallocarray(s->mistakes, s->nmistakes + 1, sizeof(*s->mistakes)));
    s->mistakes[s->nmistakes++] = cmdline_keep(c, strdup(why->text));
    return 0;
}

/* ---- one option ------------------------------------------------------------------------------ */

/* A switch may be off, so that no later source puts it on: 1; -1 with err: it is neither. */
static int is_off(const struct option_def *def, const char *value, struct error *err)
{
    if (def->argument || !value || !*value || !strcmp(value, "yes") || !strcmp(value, "1"))
        return 0;
    if (!strcmp(value, "no") || !strcmp(value, "0"))
        return 1;
    return error_set(err, EINVAL, "'%.60s' is neither 'yes' nor 'no', as a switch is", value);
}

static void add(struct cmdline *c, struct setting s, const char *name, const char *value)
{
    struct settings *all = &c->settings;
    AUTO_FREE char *quoted = value ? word_quote(value) : NULL;
    s.words = cmdline_keep(c, text_format("%s%s%s", name, value ? "=" : "", value ? quoted : ""));
    all->list = must(reallocarray(all->list, all->n + 1, sizeof(*all->list)));
    all->list[all->n++] = s;
}

static int check_locked(const struct cmdline *c, const struct setting *s, bool said,
                        const char *name, struct error *err)
{
    if (s->kind == SETTING_LOCKED && said)
        return error_set(err, EPERM,
                         "the administrator has locked '%.60s'; leave it, and what says the same, "
                         "out of the command line",
                         name);
    if ((s->kind != SETTING_VARIABLE && s->kind != SETTING_USERS_FILE) ||
        s->option->apply == cmdline_apply_genv)
        return 0;
    for (size_t i = 0; i < c->settings.n; i++) {
        const struct setting *other = &c->settings.list[i];
        if (other->kind == SETTING_LOCKED && is_akin(c, other->option, s->option))
            return error_set(err, EPERM,
                             "the administrator has locked '%.60s' in '%.200s'; leave it out", name,
                             other->source);
    }
    return 0;
}

/* Applies one option of a source that yields to what has been said before, also where the option
 * says it in other words: ":pe=2", ":oversubscribe", a list of hardware threads. */
static int apply_below(struct cmdline *c, const char *name, const char *value, struct error *err)
{
    const struct placement_options *said = &c->settings.said;
    struct placement_options *p = &c->place;
    bool has_cores = said->bind.cores, has_list = said->bind.list_kind != CPU_LIST_NONE;
    bool has_oversubscribe = said->oversubscribe >= 0;
    if (has_cores)
        p->bind.cores = 0;
    if (has_list) {
        p->bind.list_kind = CPU_LIST_NONE;
        p->bind.list[0] = 0;
    }
    if (has_oversubscribe)
        p->oversubscribe = -1;
    int rc = cmdline_apply_named(c, name, value, err);
    if (has_cores) {
        p->bind.cores = said->bind.cores;
        p->bind.by_threads = said->bind.by_threads;
    }
    if (has_list) {
        if (p->bind.list_kind != CPU_LIST_NONE)
            p->bind.policy = said->bind.policy;
        p->bind.list_kind = said->bind.list_kind;
        memcpy(p->bind.list, said->bind.list, sizeof(p->bind.list));
    }
    if (has_oversubscribe)
        p->oversubscribe = said->oversubscribe;
    return rc;
}

int settings_take(struct cmdline *c, enum setting_kind kind, const char *source, const char *name,
                  const char *value, struct error *err)
{
    struct settings *all = &c->settings;
    struct setting s = {.option = settable(c, name, err), .kind = kind, .source = source};
    int off = s.option ? is_off(s.option, value, err) : -1;
    if (off < 0)
        return -1;
    bool is_variable = s.option->apply == cmdline_apply_genv && value; /* each counts for itself */
    bool said = is_variable ? cmdline_setting_for(&c->reading.all_apps, value) != NULL
                            : is_said(c, s.option, source);
    if (check_locked(c, &s, said || (kind == SETTING_LOCKED && is_said_later(c, s.option)), name,
                     err) < 0)
        return -1;
    s.counts = !said;
    all->source = source;
    all->yields = kind != SETTING_LOCKED;
    int rc = 0;
    if (s.counts && !off)
        rc = (all->yields ? apply_below
                          : cmdline_apply_named)(c, name, s.option->argument ? value : NULL, err);
    all->source = NULL;
    if (rc < 0)
        return -1;
    add(c, s, name, value);
    return 0;
}

/* ---- variables ------------------------------------------------------------------------------- */

int settings_take_variables(struct cmdline *c, char *const env[], struct error *err)
{
    static const char prefix[] = "MPRUN_OPTION_";
    size_t len = sizeof(prefix) - 1;
    c->settings.said = c->place;
    for (; *env; env++) {
        if (strncmp(*env, prefix, len) != 0 || !strchr(*env, '='))
            continue;
        const char *variable = cmdline_keep(c, strndup(*env, strcspn(*env, "=")));
        AUTO_FREE char *name = text_format("--%s", variable + len);
        for (char *p = name; *p; p++)
            *p = *p == '_' ? '-' : (char)tolower((unsigned char)*p);
        int rc = settings_take(c, SETTING_VARIABLE, variable, name, strchr(*env, '=') + 1, err);
        if (rc < 0 && (error_context(err, "%.80s", variable), keep_mistake(c, err)) < 0)
            return -1;
    }
    return 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

struct file {
    struct cmdline *c;
    const char *path;
    bool is_sites;
    bool locked;  /* take what is locked, else the rest */
    bool is_here; /* the lines of this section count */
    bool is_first_look;
    const struct option_def **options; /* of the lines that count, noted at the first look */
    size_t n, at;                      /* how many; the one that is taken now */
};

/* "[slurm]": the lines behind it are for jobs of this manager. */
static int begin_section(struct file *f, const char *word, struct error *err)
{
    size_t len = strlen(word);
    if (len < 3 || word[len - 1] != ']')
        return error_set(err, EINVAL, "'%.60s' is no section, as '[slurm]' is", word);
    if (strcmp(word, "[locked]") == 0 && !f->is_sites)
        return error_set(err, EPERM, "only the administrator's file can lock options");
    if (strcmp(word, "[locked]") == 0 || strcmp(word, "[all]") == 0) {
        f->is_here = f->locked == (word[1] == 'l');
        return 0;
    }
    char why[256];
    const struct rm_adapter *rm = f->c->rm;
    for (size_t i = 0; rm_adapters[i]; i++) {
        if (strlen(rm_adapters[i]->name) != len - 2 ||
            strncmp(word + 1, rm_adapters[i]->name, len - 2) != 0)
            continue;
        if (!rm)
            rm = rm_adapter_detect(&f->c->hosts, why, sizeof(why));
        f->is_here = !f->locked && rm == rm_adapters[i];
        return 0;
    }
    return error_set(err, EINVAL, "'%.60s' is neither a resource manager, nor [all], nor [locked]",
                     word);
}

/* Notes the option of the next line that counts; at the second look: does a later line have the
 * same one? */
static bool is_superseded(struct file *f, const struct option_def *def)
{
    if (f->is_first_look) {
        f->options = must(reallocarray(f->options, f->n + 1, sizeof(*f->options)));
        f->options[f->n++] = def;
        return true;
    }
    f->at++;
    for (size_t i = f->at; def && def->repeat == OPTION_ONCE && i < f->n; i++)
        if (f->options[i] == def)
            return true;
    return false;
}

/* "--name value", "--name=value", "--switch", "--switch=no" */
static int take_line(void *arg, char **words, struct error *err)
{
    struct file *f = arg;
    if (words[0][0] == '[' && !words[1])
        return begin_section(f, words[0], err);
    AUTO_FREE char *name = must(strndup(words[0], strcspn(words[0], "=")));
    const char *value = strchr(words[0], '=') ? strchr(words[0], '=') + 1 : words[1];
    if (name[0] != '-' || (value == words[1] ? words[1] && words[2] : words[1] != NULL))
        return error_set(err, EINVAL,
                         "a line is one option, as '--kill-grace 30s', or a section, as '[slurm]'");
    if (!f->is_here)
        return settable(f->c, name, err) ? 0 : -1;
    enum setting_kind kind = f->locked     ? SETTING_LOCKED
                             : f->is_sites ? SETTING_SITES_FILE
                                           : SETTING_USERS_FILE;
    if (!is_superseded(f, find(f->c, name)))
        return settings_take(f->c, kind, f->path, name, value, err);
    if (!f->is_first_look)
        add(f->c, (struct setting){.option = find(f->c, name), .kind = kind, .source = f->path},
            name, value);
    return 0;
}

static void skip_line(void *arg, const struct error *why)
{
}

static void wrong_line(void *arg, const struct error *why)
{
    (void)keep_mistake(((struct file *)arg)->c, why);
}

/* No file is fine, also where it would be in a home that this user may not enter. */
static int take_file(struct cmdline *c, const char *path, bool is_sites, bool locked,
                     struct error *err)
{
    struct file f = {.c = c, .path = path, .is_sites = is_sites, .locked = locked};
    if (access(path, F_OK) < 0)
        return 0;
    f.is_here = !locked;
    f.is_first_look = true;
    (void)word_lines_check(path, take_line, skip_line, &f, err);
    f.is_here = !locked;
    f.is_first_look = false;
    c->settings.said = c->place;
    int rc = c->settings.is_checked ? word_lines_check(path, take_line, wrong_line, &f, err)
                                    : word_lines_read(path, take_line, &f, err);
    free(f.options);
    return rc < 0 ? keep_mistake(c, err) : 0;
}

/* Beside an installation that can be moved, else where it was configured to be. */
static char *sites_path(void)
{
    AUTO_FREE char *own = path_own_directory(NULL);
    AUTO_FREE char *beside = own ? text_format("%s/../etc/mprun/mprun.conf", own) : NULL;
    char *path = beside ? realpath(beside, NULL) : NULL;
    return path ? path : strdup(SYSCONFDIR "/mprun/mprun.conf");
}

int settings_take_locked(struct cmdline *c, struct error *err)
{
    c->settings.sites_file = cmdline_keep(c, sites_path());
    return take_file(c, c->settings.sites_file, true, true, err);
}

int settings_take_files(struct cmdline *c, char *const env[], struct error *err)
{
    const char *dir = spawn_env_value(env, "XDG_CONFIG_HOME"), *home = spawn_env_value(env, "HOME");
    bool has_dir = dir && *dir;
    if (has_dir || home) {
        const char *path =
            cmdline_keep(c, text_format("%s%s/mprun/mprun.conf", has_dir ? dir : home,
                                        has_dir ? "" : "/.config"));
        if (take_file(c, path, false, false, err) < 0)
            return -1;
    }
    return take_file(c, c->settings.sites_file, true, false, err);
}

/* ---- --show-config --------------------------------------------------------------------------- */

/* The value of an option that nobody has set; "": it has none. */
static void format_default(const struct option_def *def, char *to, size_t size)
{
    const void *at = (const char *)&option_defaults + def->member;
    to[0] = 0;
    if (def->kind == OPTION_COUNT && *(const uint32_t *)at)
        snprintf(to, size, "%u", *(const uint32_t *)at);
    else if (def->kind == OPTION_SECONDS && *(const double *)at > 0)
        snprintf(to, size, "%gs", *(const double *)at);
    else if (def->kind == OPTION_BYTES && *(const uint64_t *)at)
        snprintf(to, size, "%llu", *(const unsigned long long *)at);
    else if (def->kind == OPTION_WORD)
        snprintf(to, size, "%s", def->words[*(const unsigned *)at]);
}

static void print_defaults(const struct cmdline *c, FILE *out)
{
    char value[40];
    fprintf(out, "# built in\n");
    for (const struct option_def *def = c->reading.own_options; def->names; def++) {
        format_default(def, value, sizeof(value));
        if (value[0] && !is_said(c, def, NULL))
            fprintf(out, "# %.*s=%s\n", (int)strcspn(def->names, " "), def->names, value);
    }
}

void settings_print(const struct cmdline *c, FILE *out)
{
    const struct settings *s = &c->settings;
    const char *source = NULL;
    bool was_locked = false;
    for (size_t i = 0; i < s->n; i++) {
        const struct setting *one = &s->list[i];
        bool is_locked = one->kind == SETTING_LOCKED;
        if (!source || strcmp(one->source, source) != 0 || is_locked != was_locked)
            fprintf(out, "# %s%s\n", is_locked ? "locked in " : "", one->source);
        fprintf(out, one->counts ? "%s\n" : "# %s (another one counts)\n", one->words);
        source = one->source;
        was_locked = is_locked;
    }
    print_defaults(c, out);
}
