/* SPDX-License-Identifier: BSD-3-Clause */
/* check.c - `mprund --check`: would the daemon work here?
 *
 * It asks the same questions as the daemon when it starts, and does nothing but look: an
 * administrator runs it before the first start, and after each change. */
#include "node-daemon/command/command.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "containment/cgroup/mounts.h"
#include "node-daemon/reader/evidence-sources.h"
#include "node-daemon/reader/ge-spool.h"
#include "node-daemon/command/make-ground.h"
#include "node-daemon/reader/inquiry.h"
#include "node-daemon/signer/token.h"
#include "node-daemon/supervisor/lock.h"
#include "rm-adapters/processes/ask-manager.h"

enum verdict { OK, WARNING, WRONG };

struct check {
    const struct conf *conf;
    uid_t uid; /* of `user`; 0: there is none */
    gid_t gid;
    unsigned wrong;
};

__attribute__((format(printf, 3, 4))) static void say(struct check *c, enum verdict verdict,
                                                      const char *fmt, ...)
{
    static const char *const words[] = {[OK] = "ok", [WARNING] = "warning", [WRONG] = "wrong"};
    va_list ap;
    c->wrong += verdict == WRONG;
    printf("%-9s", words[verdict]);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
}

/* ---- the host -------------------------------------------------------------------------------- */

static void check_ground(struct check *c)
{
    struct ground g;
    struct error e;
    char text[GROUND_TEXT_MAX];
    cgroup_mounts_keep_to(c->conf->cgroup_mount);
    int scope = systemd_is_wanted(c->conf);
    if (ground_open(&g, c->conf->cgroup, scope ? SYSTEMD_SCOPE_CGROUP : c->conf->cgroup,
                    c->conf->cgroup_version, c->conf->controllers, GROUND_LOOK, &e) < 0) {
        say(c, WRONG, "%s", e.text);
        return;
    }
    for (size_t i = 0; i < g.n; i++)
        say(c, OK, "cgroup v%d: '%s'%s, with %s%s", g.part[i].driver->version, g.part[i].path,
            i ? "" : " tracks jobs", ground_words(g.part[i].controllers, text),
            scope && i == 0 ? "; systemd makes it" : "");
    unsigned lacks = ground_lacks(&g, c->conf->controllers);
    if (lacks)
        say(c, WARNING, "jobs will not have %s: " GROUND_LACKS_ADVICE, ground_words(lacks, text));
    ground_close(&g);
}

static void check_socket(struct check *c)
{
    struct status s;
    struct error e;
    if (lock_directory(GRANT_SOCKET, false, &e) < 0) {
        say(c, WRONG, "%s", e.text);
        return;
    }
    say(c, OK, "socket: '%s'", GRANT_SOCKET);
    if (status_ask(&s, &e) == 0) {
        say(c, OK, "mprund runs here already; jobs: %u", (unsigned)s.all.jobs);
        status_free(&s);
    } else if (errno == ENOENT || errno == ECONNREFUSED) {
        say(c, OK, "no mprund runs here yet");
    } else {
        say(c, WARNING, "an mprund runs here and does not answer: %s", e.text);
    }
}

/* ---- the user -------------------------------------------------------------------------------- */

static void check_user(struct check *c)
{
    const char *name = c->conf->user;
    const struct passwd *pw = getpwnam(name);
    if (!pw || pw->pw_uid == 0) {
        say(c, WRONG,
            pw ? "user: '%s' is root: name another one, who owns nothing"
               : "user: there is no '%s': useradd --system --no-create-home --shell "
                 "/usr/sbin/nologin %s",
            name, name);
        return;
    }
    c->uid = pw->pw_uid;
    c->gid = pw->pw_gid;
    say(c, OK, "user: '%s'", name);
}

/* Exec takes away what root keeps of itself to come back. */
static int become_user(const struct check *c, struct error *err)
{
    return setgroups(0, NULL) < 0 || setresgid(c->gid, c->gid, 0) < 0 ||
                   setresuid(c->uid, c->uid, 0) < 0
               ? error_errno(err, errno, "become user '%s'", c->conf->user)
               : 0;
}

static void become_root(void)
{
    (void)!setresuid(0, 0, 0);
    (void)!setresgid(0, 0, 0);
}

/* ---- Grid Engine ----------------------------------------------------------------------------- */

static void check_program(struct check *c, const char *setting, const char *path)
{
    if (access(path, X_OK) == 0)
        say(c, OK, "%s: '%s'", setting, path);
    else
        say(c, WRONG, "%s: '%s' cannot be run: %s; set `%s`", setting, path, strerror(errno),
            setting);
}

/* By the user who reads it. */
static void check_spool(struct check *c)
{
    const struct conf *conf = c->conf;
    struct error e;
    if (become_user(c, &e) < 0) {
        say(c, WRONG, "execd: %s", e.text);
        return;
    }
    AUTO_CLOSE int jobs = ge_spool_active_jobs(conf);
    if (jobs < 0)
        say(c, WRONG,
            "execd: '%s/active_jobs': %s; set `spool` to the execd's spool directory on this host, "
            "and `admin_user` to its owner (no other user may write there); user '%s' has to be "
            "able to read it",
            conf->ge_spool, strerror(errno), conf->user);
    else if (ge_spool_execd(conf) < 0)
        say(c, WARNING, "execd: '%s' is its spool directory, but no execd runs here",
            conf->ge_spool);
    else
        say(c, OK, "execd: runs here, with the spool directory '%s'", conf->ge_spool);
    become_root();
}

struct asked {
    struct check *check;
    struct loop *loop;
    int answered;
};

/* That there is no job 1 is an answer as good as any. */
static void qstat_answered(void *arg, const char *job, const struct demand *demand,
                           const struct error *err)
{
    struct asked *a = arg;
    a->answered = demand || err->code == ESRCH;
    if (a->answered)
        say(a->check, OK, "qstat: '%s' answers", a->check->conf->ge_qstat);
    else
        say(a->check, WRONG,
            "qstat: %s; is this host a submit host, and are `qstat`, `root`, `cell` and the ports "
            "right?",
            err->text);
    loop_stop(a->loop);
}

/* 1: it answers. */
static int ask_qstat(struct check *c)
{
    struct error e;
    struct asked a = {.check = c, .loop = loop_create(&e)};
    struct inquiries *q =
        a.loop ? inquiries_create(a.loop, c->conf, NULL, qstat_answered, &a) : NULL;
    if (q && become_user(c, &e) == 0 && inquiries_ask(q, "1.1", &e) == 0)
        loop_run(a.loop);
    else
        say(c, WRONG, "qstat: %s", e.text);
    become_root();
    inquiries_destroy(q);
    loop_destroy(a.loop);
    return a.answered;
}

/* The value of a line "NAME   VALUE" of qconf's: caller frees. NULL: there is none. */
static char *value_of(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = text; at; at = (at = strchr(at, '\n')) ? at + 1 : NULL)
        if (!strncmp(at, name, n) && (at[n] == ' ' || at[n] == '\t')) {
            at += n + strspn(at + n, " \t");
            return must(strndup(at, strcspn(at, "\n")));
        }
    return NULL;
}

/* Is a path of the program, which can be executed here, in a list "A,B"? */
static bool names_program(const char *list, const char *program)
{
    AUTO_FREE char *words = must(strdup(list));
    char *next = NULL;
    for (char *path = strtok_r(words, ", \t", &next); path; path = strtok_r(NULL, ", \t", &next)) {
        const char *slash = strrchr(path, '/');
        if (slash && !strcmp(slash + 1, program) && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

static void check_setting(struct check *c, const char *text, const char *name, const char *program,
                          const char *without)
{
    AUTO_FREE char *value = value_of(text, name);
    if (value && names_program(value, program))
        say(c, OK, "%s: '%s'", name, value);
    else
        say(c, WARNING, "%s is '%.200s', which is no path of %s on this host (qconf -mconf): %s",
            name, value ? value : "", program, without);
}

static int ask_as_user(const struct check *c, const char *path, char *const argv[], char *buf,
                       size_t n, struct error *err)
{
    double seconds = (double)c->conf->qstat_seconds;
    int rc = become_user(c, err) < 0 ? -1 : ask_command(path, argv, seconds, buf, n, err);
    become_root();
    return rc;
}

/* qconf is beside qstat, and gets what qstat gets from the daemon. */
static void ask_qconf(struct check *c)
{
    const struct conf *conf = c->conf;
    char text[16384], path[PATH_MAX], port[16];
    char *argv[] = {path, (char *)"-sconf", NULL};
    struct error e;
    int n = (int)(strrchr(conf->ge_qstat, '/') - conf->ge_qstat);
    snprintf(path, sizeof(path), "%.*s/qconf", n, conf->ge_qstat);
    setenv("SGE_ROOT", conf->ge_root, 1);
    setenv("SGE_CELL", conf->ge_cell, 1);
    snprintf(port, sizeof(port), "%ld", conf->qmaster_port);
    if (conf->qmaster_port)
        setenv("SGE_QMASTER_PORT", port, 1);
    if (ask_as_user(c, path, argv, text, sizeof(text), &e) < 0) {
        say(c, WARNING, "shepherd_cmd and load_sensor: '%s -sconf': %s", path, e.text);
        return;
    }
    check_setting(c, text, "shepherd_cmd", "mprun-shepherd",
                  "mprund finds jobs a moment after they begin");
    check_setting(c, text, "load_sensor", "load-sensor", "a job that is stuck closes no queue");
}

static void check_key(struct check *c)
{
    struct token_key key = {.set = 0};
    struct error e;
    if (!c->conf->grant_key)
        say(c, WARNING,
            "grant_key: none, so m_mem_free does not limit a job on its other hosts; "
            "mprund --make-key FILE makes one");
    else if (token_key_read(c->conf->grant_key, &key, &e) < 0)
        say(c, WRONG, "grant_key: %s", e.text);
    else
        say(c, OK, "grant_key: '%s'; is it the same file on all hosts?", c->conf->grant_key);
    explicit_bzero(&key, sizeof(key));
}

static void check_gridengine(struct check *c)
{
    const struct conf *conf = c->conf;
    char path[PATH_MAX];
    if (!conf->ge_spool) {
        say(c, OK, "gridengine: the configuration has no such section, or no `spool` in it%s",
            conf->slurm_spool || conf->pbs_home
                ? ""
                : "; only `mprund enter` and `rule` sections bring jobs");
        return;
    }
    if (c->uid)
        check_spool(c);
    check_program(c, "execd", conf->ge_execd);
    check_program(c, "shepherd", conf->ge_shepherd);
    check_key(c);
    if (!conf->ge_qstat) {
        say(c, WARNING, "qstat: none, so m_mem_free limits no job");
        return;
    }
    snprintf(path, sizeof(path), "%s/%s/common", conf->ge_root, conf->ge_cell);
    if (access(path, R_OK | X_OK) < 0)
        say(c, WRONG, "cell: '%s': %s; set `root` and `cell` to SGE_ROOT and SGE_CELL", path,
            strerror(errno));
    else
        say(c, OK, "cell: '%s'", path);
    if (c->uid && ask_qstat(c))
        ask_qconf(c);
}

/* No job has the number 0; -1: nobody can say. */
static void check_slurm(struct check *c)
{
    const struct conf *conf = c->conf;
    const struct evidence_source *slurm = evidence_of(conf, GRANT_SLURM);
    struct error e;
    if (!slurm || !c->uid)
        return;
    if (become_user(c, &e) < 0) {
        say(c, WRONG, "slurmd: %s", e.text);
        return;
    }
    if (slurm->is_known(conf, "0") < 0)
        say(c, WRONG,
            "slurmd: '%s': %s; set `spool` of the section slurm to SlurmdSpoolDir on this host; it "
            "has to be root's, and user '%s' has to be able to read it",
            conf->slurm_spool, strerror(errno), conf->user);
    else
        say(c, OK, "slurmd: its spool directory is '%s'", conf->slurm_spool);
    become_root();
}

/* The reader may read what is root's alone there. */
static void check_pbs(struct check *c)
{
    const struct conf *conf = c->conf;
    const struct evidence_source *pbs = evidence_of(conf, GRANT_PBS);
    if (!pbs)
        return;
    if (pbs->is_known(conf, "0") < 0)
        say(c, WRONG,
            "pbs_mom: '%s/mom_priv/jobs': %s; set `home` of the section pbs to PBS_HOME on this "
            "host; that directory has to be root's",
            conf->pbs_home, strerror(errno));
    else
        say(c, OK, "pbs_mom: its home is '%s'", conf->pbs_home);
}

/* ---- all of it ------------------------------------------------------------------------------- */

unsigned check_print(const struct conf *conf, const char *file, const struct error *err)
{
    struct check c = {.conf = conf};
    if (!conf) {
        say(&c, WRONG, "%s", err->text);
        return c.wrong;
    }
    if (access(file, F_OK) == 0)
        say(&c, OK, "configuration: '%s'", file);
    else
        say(&c, OK, "configuration: there is no '%s', so all settings are the defaults", file);
    if (geteuid() != 0) {
        say(&c, WRONG, "mprund runs as root: only root can check more");
        return c.wrong;
    }
    check_ground(&c);
    check_socket(&c);
    check_user(&c);
    check_gridengine(&c);
    check_slurm(&c);
    check_pbs(&c);
    return c.wrong;
}
