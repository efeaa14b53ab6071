/* SPDX-License-Identifier: BSD-3-Clause */
/* mprund-signer - the only part of mprund that holds the key of grants
 *
 * It signs what front asks it to, and says what a grant says that was signed with the key: one
 * question at a time, nothing kept between them. It runs as an ordinary user and reads no file but
 * the key, which root has opened for it. A record that is malformed ends it. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "node-daemon/lib/logging.h"
#include "node-daemon/lib/syscalls.h"
#include "node-daemon/lib/signer-protocol.h"
#include "node-daemon/lib/start.h"

struct signer {
    struct start start;
    struct token_key key;
    sigset_t waiting; /* signals that are blocked while it waits */
};

static volatile sig_atomic_t ends;

static void on_term(int signo)
{
    ends = 1;
}

/* The key is wiped first. SIGTERM comes while the signer waits, and never else. */
static void end_by_signal(sigset_t *ret_else)
{
    sigset_t term;
    const struct sigaction act = {.sa_handler = on_term};
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &term, ret_else);
    (void)sigaction(SIGTERM, &act, NULL);
}

/* ---- the key --------------------------------------------------------------------------------- */

static int take_key(struct signer *s, struct error *err)
{
    AUTO_CLOSE int fd = take_fd(&s->start.of[GIFT_KEY]);
    return fd < 0 ? 0 : token_key_read_fd(fd, "grant_key", &s->key, err);
}

/* ---- questions ------------------------------------------------------------------------------- */

static bool is_whole(const struct signer_record *r)
{
    return (r->head.what == SIGNER_SIGN || r->head.what == SIGNER_OPEN) &&
           memchr(r->token.job, 0, sizeof(r->token.job)) &&
           memchr(r->token.cell, 0, sizeof(r->token.cell)) &&
           memchr(r->token.host, 0, sizeof(r->token.host)) && memchr(r->text, 0, sizeof(r->text)) &&
           r->token.demand.n <= DEMAND_PARTS;
}

static int answer(const struct signer *s, const struct signer_record *q, struct signer_record *a,
                  struct error *err)
{
    int64_t now = (int64_t)time(NULL);
    return q->head.what == SIGNER_SIGN ? token_sign(&s->key, &q->token, now, a->text, err)
                                       : token_open(&s->key, q->text, now, &a->token, err);
}

static void drop_link(struct signer *s)
{
    cleanup_close(&s->start.link[ROLE_FRONT]);
}

/* 0, or -1: what came is no question. When front has gone its next one comes as a gift. */
static int serve(struct signer *s)
{
    struct signer_record q, a;
    struct error e;
    AUTO_CLOSE int fd = -1;
    int link = s->start.link[ROLE_FRONT], got = record_receive(link, &q, sizeof(q), &fd);
    if (got == 0)
        drop_link(s);
    if (got <= 0 || !is_whole(&q))
        return got == 0 ? 0 : -1;
    memset(&a, 0, sizeof(a));
    if (answer(s, &q, &a, &e) < 0) {
        a.code = e.code;
        snprintf(a.why, sizeof(a.why), "%.255s", e.text);
    }
    a.head = record_head(q.head.what, q.head.id);
    if (record_send(link, &a, sizeof(a), -1) < 0)
        drop_link(s);
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int run(struct signer *s)
{
    enum gift gift;
    unsigned which;
    while (!ends) {
        struct pollfd p[] = {{.fd = START_CONTROL, .events = POLLIN},
                             {.fd = s->start.link[ROLE_FRONT], .events = POLLIN}};
        if (ppoll(p, 2, NULL, &s->waiting) < 0)
            continue;
        if (p[1].revents && serve(s) < 0) {
            log_error("the signer got a record that is none, and ends");
            return 1;
        }
        if (p[0].revents && start_take(&s->start, &gift, &which) < 0)
            return 0; /* the supervisor has gone */
    }
    return 0;
}

static int begin(struct signer *s, struct error *err)
{
    end_by_signal(&s->waiting);
    if (start_receive(&s->start, err) < 0)
        return -1;
    logging_open(s->start.plan.verbose ? LOG_DEBUG : LOG_NOTE, s->start.plan.to_syslog != 0);
    if (syscalls_restrict(ROLE_SIGNER, err) < 0)
        log_warn("%s", err->text);
    if (take_key(s, err) < 0)
        return -1;
    return start_tell(TOLD_READY) < 0 ? error_errno(err, errno, "tell that the signer is ready")
                                      : 0;
}

int main(void)
{
    static struct signer s;
    struct error e;
    fd_open_standard();
    logging_open(LOG_NOTE, 0);
    int rc = begin(&s, &e);
    if (rc < 0)
        log_error("%s", e.text);
    int code = rc < 0 ? 1 : run(&s);
    explicit_bzero(&s.key, sizeof(s.key));
    return code;
}
