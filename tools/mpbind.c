/* SPDX-License-Identifier: BSD-3-Clause */
/* mpbind - a job's cores and limits of memory on this host, before or after it has come
 *
 * It asks mprund, which alone writes to cgroups. Root asks for whatever it likes; a user may wait
 * for its own job. */
#include <stdbool.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/mpbind.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "common/number.h"
#include "containment/mprund-protocol.h"

enum { ANSWER_MS = 5000, ANSWER_LEAST_MS = 1000, PAUSE_MS = 50, RESTART_MS = 2000 };

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
    q->bind = o->try_cores ? GRANT_BIND_TRY : what[o->action];
    q->memory = o->memory;
    q->virtual_memory = o->virtual_memory;
    q->cores = o->cores;
    snprintf(q->job, sizeof(q->job), "%s", o->words[0]);
    return o->user ? find_user(o->user, &q->uid, err) : 0;
}

/* Why mprund did not answer: an exit code. */
static int no_answer(int code)
{
    if (code == ENOENT || code == ECONNREFUSED)
        return MPBIND_NO_DAEMON;
    /* it is slow, busy, or was started again in between */
    return code == EAGAIN || code == EPIPE || code == ECONNRESET ? MPBIND_NOT_IN_TIME
                                                                 : MPBIND_REFUSED;
}

/* Asks, and waits for one answer for so many ms. Returns an exit code. */
static int ask(const struct grant_request *q, int ms, struct grant_answer *ret, struct error *err)
{
    AUTO_CLOSE int fd = send_patiently(q, err);
    if (fd < 0 || grant_receive(fd, ms, ret, err) < 0)
        return no_answer(errno);
    if (ret->result == GRANT_OK)
        return MPBIND_OK;
    error_set(err, EPERM, "mprund says: %s", ret->text);
    return ret->result == GRANT_BUSY ? MPBIND_NOT_IN_TIME : MPBIND_REFUSED;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool is_named(const struct grant_answer *a, const char *job)
{
    size_t n = strlen(job);
    int is_number = job[strspn(job, "0123456789")] == 0;
    return !strcmp(a->job, job) ||
           (is_number && !strncmp(a->job, job, n) && !strcmp(a->job + n, ".1"));
}

/* Is the job here, with all that will be known of it? An exit code; with MPBIND_NOT_IN_TIME err's
 * text says why, or is "": it is not yet. */
static int look(const char *job, int ms, struct error *err)
{
    struct grant_request q;
    struct grant_answer a;
    int ready = 0;
    grant_request_init(&q, GRANT_STATUS, GRANT_ANY);
    err->text[0] = 0;
    AUTO_CLOSE int fd = send_patiently(&q, err);
    if (fd < 0)
        return no_answer(errno);
    while (grant_receive(fd, ms, &a, err) == 0) {
        if (a.result == GRANT_OK)
            return ready ? MPBIND_OK : MPBIND_NOT_IN_TIME;
        if (a.result != GRANT_MORE) {
            error_set(err, EPERM, "mprund says: %s", a.text);
            return a.result == GRANT_BUSY ? MPBIND_NOT_IN_TIME : MPBIND_REFUSED;
        }
        ready |= is_named(&a, job) && a.state == GRANT_RUNNING && !a.pending;
    }
    return no_answer(errno);
}

/* How long an answer is waited for, ms: no longer than there is time, but a second always. */
static int answer_ms(double end)
{
    double left = (end - now()) * 1000;
    return left > ANSWER_MS ? ANSWER_MS : left > ANSWER_LEAST_MS ? (int)left : ANSWER_LEAST_MS;
}

/* As root the job is made first. An mprund that does not answer is asked again until the time is
 * over. An exit code. */
static int wait_for(const struct mpbind_options *o, const struct grant_request *q,
                    struct error *err)
{
    double end = now() + o->wait;
    struct grant_answer a;
    int code, is_made = geteuid() != 0;
    for (;;) {
        if (!is_made)
            is_made = (code = ask(q, answer_ms(end), &a, err)) == MPBIND_OK;
        if (is_made)
            code = look(o->words[0], answer_ms(end), err);
        if (code != MPBIND_NOT_IN_TIME || now() >= end)
            break;
        pause_ms(PAUSE_MS);
    }
    if (code == MPBIND_NOT_IN_TIME && err->text[0])
        error_context(err, "it was not ready within %g s", o->wait);
    else if (code == MPBIND_NOT_IN_TIME)
        error_set(err, ETIMEDOUT, "it was not ready within %g s", o->wait);
    return code;
}

/* ---- binding --------------------------------------------------------------------------------- */

static int bind_now(const struct mpbind_options *o, const struct grant_request *q,
                    struct error *err)
{
    struct grant_answer a;
    int code = ask(q, ANSWER_MS, &a, err);
    if (code == MPBIND_OK && o->try_cores && a.text[0])
        log_note("job %s: its cores are left as they are: %s", o->words[0], a.text);
    return code == MPBIND_NOT_IN_TIME ? MPBIND_REFUSED : code;
}

/* ---- the program ----------------------------------------------------------------------------- */

static int run(const void *request, struct error *err)
{
    const struct mpbind_options *o = request;
    static const char *const doing[] = {[BIND_TO] = "bind",
                                        [BIND_UNLIMIT] = "unlimit",
                                        [BIND_WAIT] = "wait for",
                                        [BIND_FORGET] = "forget"};
    struct grant_request q;
    if (fill_request(o, &q, err) < 0)
        return MPBIND_USAGE;
    int code = o->action == BIND_WAIT ? wait_for(o, &q, err) : bind_now(o, &q, err);
    if (code != MPBIND_OK)
        error_context(err, "%s job %s", doing[o->action], o->words[0]);
    return code;
}

int main(int argc, char **argv)
{
    struct mpbind_options o = {.action = BIND_TO};
    return tool_main(&mpbind_tool, argc, argv, &o, run);
}
