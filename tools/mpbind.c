/* SPDX-License-Identifier: BSD-3-Clause */
/* mpbind - a job's cores and limits of memory on this host, before or after it has come
 *
 * It asks mprund, which alone writes to cgroups. Root asks for whatever it likes; a user may wait
 * for its own job. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/mpbind.h"

#include "common/cleanup.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/number.h"
#include "common/tty.h"
#include "containment/grant.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

enum { ANSWER_MS = 5000, PAUSE_MS = 50, RESTART_MS = 2000 };

static void pause_ms(long ms)
{
    struct timespec t = {.tv_nsec = ms * 1000000};
    nanosleep(&t, NULL);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* A socket where nobody listens is that of a daemon which is being started again; a busy one is
 * asked again. An open connection, or -1 with err. */
static int send_patiently(const struct grant_request *q, struct error *err)
{
    for (int waited = 0;; waited += PAUSE_MS) {
        int fd = grant_send(NULL, q, err);
        if (fd >= 0 || (errno != ECONNREFUSED && errno != EAGAIN) || waited >= RESTART_MS)
            return fd;
        pause_ms(PAUSE_MS);
    }
}

static int find_user(const char *user, uint32_t *ret, struct error *err)
{
    struct passwd *pw = getpwnam(user);
    int64_t uid = pw ? (int64_t)pw->pw_uid : 0;
    if (!pw && number_parse(user, NULL, 1, UINT32_MAX - 1, &uid, NULL) < 0)
        return error_set(err, EINVAL, "--user %s: there is no such user, and it is no number",
                         user);
    *ret = (uint32_t)uid;
    return uid ? 0 : error_set(err, EINVAL, "--user %s: no job is root's", user);
}

static int fill_request(const struct mpbind_options *o, struct grant_request *q, struct error *err)
{
    static const enum grant_bind what[] = {[BIND_TO] = GRANT_BIND_TO,
                                           [BIND_UNLIMIT] = GRANT_BIND_UNLIMIT,
                                           [BIND_WAIT] = GRANT_BIND_HAVE,
                                           [BIND_FORGET] = GRANT_BIND_FORGET};
    grant_request_init(q, GRANT_BIND, GRANT_ANY);
    q->bind = what[o->action];
    q->memory = o->memory;
    q->virtual_memory = o->virtual_memory;
    q->cores = o->cores;
    snprintf(q->job, sizeof(q->job), "%s", o->job);
    return o->user ? find_user(o->user, &q->uid, err) : 0;
}

/* One answer; an exit code. */
static int ask(const struct grant_request *q, struct error *err)
{
    struct grant_answer a;
    AUTO_CLOSE int fd = send_patiently(q, err);
    if (fd < 0)
        return errno == EPERM ? MPBIND_REFUSED : MPBIND_NO_DAEMON;
    if (grant_receive(fd, ANSWER_MS, &a, err) < 0)
        return MPBIND_NO_DAEMON;
    if (a.result != GRANT_OK) {
        error_set(err, EPERM, "mprund says: %s", a.text);
        return MPBIND_REFUSED;
    }
    return MPBIND_OK;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int is_named(const struct grant_answer *a, const char *job)
{
    size_t n = strlen(job);
    int is_number = job[strspn(job, "0123456789")] == 0;
    return !strcmp(a->job, job) ||
           (is_number && !strncmp(a->job, job, n) && !strcmp(a->job + n, ".1"));
}

/* Is the job here, with all that will be known of it? 1, 0, or -1 with err. */
static int is_ready(const char *job, struct error *err)
{
    struct grant_request q;
    struct grant_answer a;
    int ready = 0;
    grant_request_init(&q, GRANT_STATUS, GRANT_ANY);
    AUTO_CLOSE int fd = send_patiently(&q, err);
    if (fd < 0)
        return -1;
    while (grant_receive(fd, ANSWER_MS, &a, err) == 0) {
        if (a.result == GRANT_BUSY)
            return 0;
        if (a.result != GRANT_MORE)
            return a.result == GRANT_OK ? ready : error_set(err, EPERM, "mprund says: %s", a.text);
        ready |= is_named(&a, job) && a.state == GRANT_RUNNING && !a.pending;
    }
    return -1;
}

static int wait_for(const struct mpbind_options *o, struct error *err)
{
    double end = now() + o->wait;
    int ready;
    while ((ready = is_ready(o->job, err)) == 0 && now() < end)
        pause_ms(PAUSE_MS);
    if (ready < 0)
        return MPBIND_NO_DAEMON;
    if (!ready)
        error_set(err, ETIMEDOUT, "it was not ready within %g s", o->wait);
    return ready ? MPBIND_OK : MPBIND_NOT_IN_TIME;
}

/* ---- the program ----------------------------------------------------------------------------- */

static int run(const struct mpbind_options *o, struct error *err)
{
    static const char *const doing[] = {[BIND_TO] = "bind",
                                        [BIND_UNLIMIT] = "unlimit",
                                        [BIND_WAIT] = "wait for",
                                        [BIND_FORGET] = "forget"};
    struct grant_request q;
    if (fill_request(o, &q, err) < 0)
        return MPBIND_USAGE;
    int code = o->action == BIND_WAIT && geteuid() != 0 ? MPBIND_OK : ask(&q, err);
    if (code == MPBIND_OK && o->action == BIND_WAIT)
        code = wait_for(o, err);
    if (code != MPBIND_OK)
        error_context(err, "%s job %s", doing[o->action], o->job);
    return code;
}

static int print_help(void)
{
    AUTO_FREE char *text = mpbind_help((size_t)tty_width(STDOUT_FILENO));
    fputs(text ? text : "", stdout);
    return fflush(stdout) == 0 ? MPBIND_OK : MPBIND_REFUSED;
}

static int print_version(void)
{
    printf("mpbind %s\n", PACKAGE_VERSION);
    return fflush(stdout) == 0 ? MPBIND_OK : MPBIND_REFUSED;
}

int main(int argc, char **argv)
{
    struct mpbind_options o;
    struct error e = {.text = ""};
    fd_open_standard();
    log_open("mpbind", LOG_NOTE);
    if (mpbind_options_parse(argc, argv, &o, &e) < 0) {
        log_error("%s (mpbind --help shows how)", e.text);
        return MPBIND_USAGE;
    }
    if (o.help || o.version)
        return o.help ? print_help() : print_version();
    int code = run(&o, &e);
    if (code != MPBIND_OK)
        log_error("%s", e.text);
    return code;
}
