/* SPDX-License-Identifier: BSD-3-Clause */
/* mprund - the node daemon: a cgroup for every job, on hosts whose resource manager makes none
 *
 * All state is the tree of cgroups, so the daemon can be killed and started again at any time. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fdio.h"
#include "node-daemon/command/check.h"
#include "node-daemon/conf/conf.h"
#include "node-daemon/command/daemonize.h"
#include "node-daemon/command/enter.h"
#include "node-daemon/reader/evidence-sources.h"
#include "node-daemon/front/jobs.h"
#include "node-daemon/lib/logging.h"
#include "node-daemon/command/options.h"
#include "node-daemon/watch/quarantine.h"
#include "node-daemon/front/refine.h"
#include "node-daemon/front/sentinel.h"
#include "node-daemon/front/server.h"
#include "node-daemon/command/status.h"
#include "node-daemon/command/systemd.h"
#include "node-daemon/lib/trace.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Codes of exit, as in mprund(8). */
enum { CODE_OK = 0, CODE_FAILED = 1, CODE_USAGE = 2, CODE_STUCK = 3, CODE_RUNS_ALREADY = 4 };

struct daemon {
    struct mprund_options options;
    struct conf conf;
    struct loop *loop;
    struct ground ground;
    struct jobs *jobs;
    struct refine *refine;
    struct requests requests;
    struct server *server;
    struct quarantine *quarantine;
};

/* ---- configuration ----------------------------------------------------------------------------
 */

/* A text of the command line instead of the file's. */
static int replace(char **text, const char *by)
{
    if (!by)
        return 0;
    free(*text);
    return (*text = strdup(by)) ? 0 : -1;
}

static const char *conf_path(const struct mprund_options *o)
{
    return o->config ? o->config : CONF_PATH;
}

static int read_settings(const struct mprund_options *o, struct conf *ret, struct error *err)
{
    if (conf_read(conf_path(o), o->config != NULL, ret, err) < 0)
        return -1;
    ret->controllers = (ret->controllers | o->enable) & ~o->disable;
    if (replace(&ret->trace, o->trace) == 0 && replace(&ret->sentinel_dir, o->sentinel_dir) == 0)
        return 0;
    conf_free(ret);
    return error_errno(err, ENOMEM, "read the configuration");
}

static int read_conf(const struct mprund_options *o, struct conf *ret, struct error *err)
{
    if (read_settings(o, ret, err) < 0)
        return -1;
    int rc = ret->grant_key ? token_key_read(ret->grant_key, &ret->key, err) : 0;
    if (rc < 0)
        conf_free(ret);
    return rc;
}

/* What looks for jobs, and what it writes of them, as the configuration has it. A trace, or
 * sentinels, that cannot be are no reason to have no jobs. */
static int start_quarantine(struct daemon *d, struct error *err)
{
    struct error e;
    if (trace_open(d->conf.trace, &e) < 0)
        log_error("%s", e.text);
    sentinel_begin(&d->requests.sentinels, d->conf.sentinel_dir, d->jobs);
    d->quarantine = quarantine_create(d->loop, &d->requests, err);
    return d->quarantine ? 0 : -1;
}

/* What the old configuration had done and the new one has elsewhere, or otherwise. */
static void undo(struct daemon *d, const struct conf *new)
{
    struct error e;
    if (strcmp(new->sentinel_dir, d->conf.sentinel_dir) != 0)
        sentinel_clear(d->requests.sentinels);
    if (new->cores != d->conf.cores &&new->cores == CORES_EXCLUSIVE &&
        ground_prepare(&d->ground, 1, &e) < 0)
        log_warn("%s", e.text);
}

/* What can change while it runs changes; where the jobs are cannot. */
static void reload(struct daemon *d)
{
    struct conf new;
    struct error e;
    if (read_conf(&d->options, &new, &e) < 0) {
        log_error("%s; going on with the old one", e.text);
        return;
    }
    if (strcmp(new.cgroup, d->conf.cgroup) != 0 || new.controllers != d->conf.controllers ||
        new.systemd != d->conf.systemd)
        log_warn("cgroup, subsystems and systemd are as they were until mprund is started again");
    free(new.cgroup);
    new.cgroup = take_ptr(d->conf.cgroup);
    new.controllers = d->conf.controllers;
    new.systemd = d->conf.systemd;
    undo(d, &new);
    quarantine_destroy(take_ptr(d->quarantine));
    conf_free(&d->conf);
    d->conf = new;
    if (start_quarantine(d, &e) < 0)
        log_error("%s", e.text);
    log_note("the configuration was read again");
}

/* ---- running ----------------------------------------------------------------------------------
 */

static void on_signal(void *arg, int signo)
{
    struct daemon *d = arg;
    if (signo == SIGHUP)
        reload(d);
    else
        loop_stop(d->loop);
}

static int job_is_known(void *arg, enum grant_manager manager, const char *name)
{
    const struct daemon *d = arg;
    const struct evidence_source *s = evidence_of(&d->conf, manager);
    return s ? s->is_known(&d->conf, name) : -1;
}

static void job_ended(void *arg, const struct job *job)
{
    const struct daemon *d = arg;
    sentinel_remove(d->requests.sentinels, job);
}

static void job_is_awaited(void *arg, struct job *job)
{
    struct daemon *d = arg;
    if (d->refine)
        refine_awaited(d->refine, job);
}

static void job_is_made(void *arg, struct job *job, const struct evidence *e)
{
    struct daemon *d = arg;
    refine_made(d->refine, job, e);
}

static void is_settled(void *arg)
{
    struct daemon *d = arg;
    server_settled(d->server);
}

static int daemon_open(struct daemon *d, struct error *err)
{
    struct jobs_watch watch = {.made = job_is_made,
                               .is_known = job_is_known,
                               .awaited = job_is_awaited,
                               .ended = job_ended,
                               .arg = d};
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    if (!(d->loop = loop_create(err)) || loop_signals(d->loop, &signals, on_signal, d, err) < 0)
        return -1;
    /* before anything is done that another daemon may be doing */
    if (!(d->server = server_create(d->loop, GRANT_SOCKET, &d->requests, err)))
        return -1;
    const char *v2_cgroup = d->conf.cgroup;
    if (systemd_is_wanted(&d->conf) && systemd_scope(&v2_cgroup, err) < 0)
        return -1;
    if (ground_open(&d->ground, d->conf.cgroup, v2_cgroup, d->conf.controllers, GROUND_MAKE, err) <
        0)
        return -1;
    if (!(d->jobs = jobs_create(d->loop, &d->ground, &d->conf, &watch, err)))
        return -1;
    if (!(d->refine = refine_create(d->loop, d->jobs, &d->conf, is_settled, d, err)))
        return -1;
    d->requests = (struct requests){.jobs = d->jobs,
                                    .refine = d->refine,
                                    .ground = &d->ground,
                                    .conf = &d->conf,
                                    .sentinels = -1};
    if (server_listen(d->server, err) < 0 || start_quarantine(d, err) < 0)
        return -1;
    refine_resume(d->refine);
    return 0;
}

static void daemon_close(struct daemon *d)
{
    quarantine_destroy(d->quarantine);
    cleanup_close(&d->requests.sentinels);
    server_destroy(d->server);
    refine_destroy(d->refine);
    jobs_destroy(d->jobs);
    ground_close(&d->ground);
    loop_destroy(d->loop);
}

static void tell_ground(const struct ground *g, unsigned wanted, size_t jobs)
{
    char text[GROUND_TEXT_MAX];
    unsigned lacks = ground_lacks(g, wanted);
    for (size_t i = 0; i < g->n; i++)
        log_note("jobs are in cgroup v%d '%s'%s", g->part[i].driver->version, g->part[i].path,
                 i ? ", too" : "");
    if (lacks)
        log_note("jobs do not have %s: " GROUND_LACKS_ADVICE, ground_words(lacks, text));
    if (jobs)
        log_note("%zu job%s here from before", jobs, jobs == 1 ? " was" : "s were");
}

static int run(struct daemon *d, struct error *err)
{
    int ready = -1;
    if (d->options.background && daemonize(&ready, err) < 0)
        return -1;
    if (daemon_open(d, err) < 0 ||
        (d->options.pidfile && pidfile_write(d->options.pidfile, err) < 0))
        return -1;
    tell_ground(&d->ground, d->conf.controllers, jobs_count(d->jobs));
    if (d->options.background)
        logging_open(log_level(), 1);
    daemon_ready(ready);
    loop_run(d->loop);
    log_note("ends; jobs go on");
    if (d->options.pidfile)
        (void)unlink(d->options.pidfile);
    return 0;
}

static int be_daemon(const struct mprund_options *o)
{
    struct daemon d = {.options = *o, .requests = {.sentinels = -1}};
    struct error e;
    if (read_conf(o, &d.conf, &e) < 0) {
        log_error("%s", e.text);
        return CODE_FAILED;
    }
    int rc = run(&d, &e);
    if (rc < 0)
        log_error("%s", e.text);
    daemon_close(&d);
    conf_free(&d.conf);
    return rc == 0 ? CODE_OK : e.code == EADDRINUSE ? CODE_RUNS_ALREADY : CODE_FAILED;
}

static int check(const struct mprund_options *o)
{
    struct conf conf;
    struct error e;
    int is_read = read_settings(o, &conf, &e) == 0;
    unsigned wrong = check_print(is_read ? &conf : NULL, conf_path(o), &e);
    if (is_read)
        conf_free(&conf);
    return wrong ? CODE_FAILED : CODE_OK;
}

static int show_help(void)
{
    AUTO_FREE char *text = options_help(mprund_option_defs, 80);
    printf("usage: mprund [options]\n"
           "       mprund status [--json]\n"
           "       mprund sensor\n"
           "       mprund enter --job NAME --user NAME [options] COMMAND...\n\n%s\n"
           "The configuration is '" CONF_PATH "'.\n",
           text ? text : "");
    return CODE_OK;
}

static int make_key(const char *path)
{
    struct error e;
    if (token_key_make(path, &e) == 0)
        return CODE_OK;
    log_error("%s", e.text);
    return CODE_FAILED;
}

int main(int argc, char **argv)
{
    struct mprund_options o;
    struct error e;
    fd_open_standard();
    if (argc == 2 && !strcmp(argv[1], "hold")) /* by mprund itself: see systemd.c */
        return systemd_hold();
    umask(022);
    logging_open(LOG_NOTE, 0);
    if (mprund_options_parse(argc, argv, &o, &e) < 0) {
        log_error("%s (mprund --help shows the options)", e.text);
        return CODE_USAGE;
    }
    if (o.help)
        return show_help();
    if (o.version)
        return printf("mprund (mprun) %s\n", PACKAGE_VERSION) < 0;
    if (o.verbose)
        logging_open(LOG_DEBUG, 0);
    if (o.check)
        return check(&o);
    if (o.make_key)
        return make_key(o.make_key);
    if (!o.word)
        return be_daemon(&o);
    int code = !strcmp(o.word, "enter")    ? enter_and_exec(&o, &e)
               : !strcmp(o.word, "sensor") ? status_print_numbers(&e)
                                           : status_print(o.json, &e);
    if (code < 0)
        log_error("%s", e.text);
    return code < 0 ? CODE_FAILED : code ? CODE_STUCK : CODE_OK;
}
