/* SPDX-License-Identifier: BSD-3-Clause */
/* mprund - the node daemon: a cgroup for every job, on hosts whose resource manager makes none
 *
 * This is its command. The daemon itself is several processes (doc/design/12-security.md): the
 * command becomes the one that starts the others. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "common/files/path.h"
#include "node-daemon/command/command.h"
#include "node-daemon/lib/logging.h"
#include "node-daemon/lib/syscalls.h"
#include "node-daemon/signer/token.h"
#include "node-daemon/supervisor/supervisor.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Codes of exit, as in mprund(8). */
enum { CODE_OK = 0, CODE_FAILED = 1, CODE_USAGE = 2, CODE_STUCK = 3, CODE_RUNS_ALREADY = 4 };

/* ---- being the daemon ------------------------------------------------------------------------ */

/* Becomes the supervisor, which has the configuration read by these same words. */
static int exec_supervisor(const struct mprund_options *o, int ready, int argc, char **argv,
                           struct error *err)
{
    static const char *const beside[] = {"mprund-supervisor", NULL};
    char number[16], self[PATH_MAX];
    char *program = path_find_helper(beside, PKGLIBEXECDIR "/mprund-supervisor", err);
    char **words = must(calloc((size_t)argc + 6, sizeof(*words))), **w = words;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (!program)
        return -1;
    if (n < 0)
        return error_errno(err, errno, "start the daemon");
    self[n] = 0;
    snprintf(number, sizeof(number), "%d", ready);
    *w++ = program;
    *w++ = number;
    *w++ = (char *)(o->pidfile ? o->pidfile : "");
    *w++ = (char *)(o->verbose ? "1" : "0");
    *w++ = (char *)(o->background ? "1" : "0");
    *w++ = self;
    for (int i = 1; i < argc; i++)
        *w++ = argv[i];
    if (syscalls_restrict_all(err) < 0) /* a kernel without filters */
        log_warn("%s", err->text);
    execv(program, words);
    return error_errno(err, errno, "exec '%s'", program);
}

static int be_daemon(const struct mprund_options *o, int argc, char **argv)
{
    struct error e;
    int ready = -1;
    if (!o->background || daemonize(&ready, &e) == 0)
        (void)exec_supervisor(o, ready, argc, argv, &e);
    log_error("%s", e.text);
    return CODE_FAILED;
}

static int check(const struct mprund_options *o)
{
    AUTO(conf_free) struct conf conf = {.file = NULL};
    struct error e;
    int is_read = resolve_settings(o, &conf, &e) == 0;
    unsigned wrong = check_print(is_read ? &conf : NULL, o->config ? o->config : CONF_PATH, &e);
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
           text);
    return CODE_OK;
}

static int make_key(const char *path)
{
    struct error e;
    umask(022);
    if (token_key_make(path, &e) == 0)
        return CODE_OK;
    log_error("%s", e.text);
    return CODE_FAILED;
}

static int run(int argc, char **argv)
{
    struct mprund_options o;
    struct error e;
    if (argc == 2 && !strcmp(argv[1], "hold")) /* by mprund itself: see systemd.c */
        return systemd_hold();
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
        return be_daemon(&o, argc, argv);
    const char *what = !strcmp(o.word, "resolve") ? getenv(RESOLVE_VARIABLE) : NULL;
    if (what) {
        if (resolve(&o, what, &e) == 0)
            return CODE_OK;
        log_error("%s", e.text);
        return CODE_FAILED;
    }
    int code = !strcmp(o.word, "enter")    ? enter_and_exec(&o, &e)
               : !strcmp(o.word, "sensor") ? status_print_numbers(&e)
                                           : status_print(o.json, &e);
    if (code < 0)
        log_error("%s", e.text);
    return code < 0 ? CODE_FAILED : code ? CODE_STUCK : CODE_OK;
}

/* What could not be printed is no success. */
int main(int argc, char **argv)
{
    fd_open_standard();
    int code = run(argc, argv);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    log_error("write to standard output: %s", strerror(errno));
    return CODE_FAILED;
}
