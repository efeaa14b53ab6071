/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/processes/sanitizers.h"
#include "node-daemon/reader/inquiry.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "common/files/path.h"
#include "common/text/words.h"
#include "containment/mprund-protocol.h"

enum {
    AT_ONCE = 4,
    WAITING_MAX = 4096,
    ENV_MAX = 6,
    DESCRIPTORS_MAX = 256,
    PROCESSES_MAX = 4096, /* of that user in all, here */
    DESCRIPTORS_CLOSED = 4096
};
#if HAS_ADDRESS_SANITIZER
static const rlim_t ADDRESSES_MAX = RLIM_INFINITY; /* for its shadow */
#else
static const rlim_t ADDRESSES_MAX = (rlim_t)1 << 30;
#endif
/* Beyond the time of the tool itself, in which mprund-qstat says that it took too long. */
static const double MARGIN_S = 1, REAP_S = 0.05;

#define INSTALLED PKGLIBEXECDIR "/mprund-qstat"

struct inquiry {
    struct inquiry *next;
    struct inquiries *all;
    char job[GRANT_JOB_MAX];
    pid_t pid; /* 0: it waits */
    int fd;
    struct loop_io *io;
    struct loop_timer timer;
    size_t n;
    struct inquiry_record record;
    int told;
};

struct inquiries {
    struct loop *loop;
    const struct conf *conf;
    char *path;
    inquiry_fn fn;
    void *arg;
    struct inquiry *first, **last;
    size_t running, waiting;
};

const char *inquiry_fault(const struct inquiry_record *r, size_t n)
{
    struct demand d;
    if (n != sizeof(*r) || r->magic != INQUIRY_MAGIC || r->failed > INQUIRY_NO_SUCH_JOB)
        return "it is no answer";
    if (!memchr(r->text, 0, sizeof(r->text)))
        return "its text has no end";
    if (!r->failed && demand_get(r->demand, &d) < 0)
        return "what it says is no demand";
    return NULL;
}

/* ---- the process ----------------------------------------------------------------------------- */

struct prepared { /* before the fork: afterwards only system calls are made */
    char job[GRANT_JOB_MAX], seconds[24];
    char root[600], cell[300], qmaster[32], execd[32];
    char *argv[10], *envp[ENV_MAX];
};

static void prepare(struct prepared *p, const struct inquiries *q, const struct inquiry *i)
{
    const struct conf *c = q->conf;
    char **e = p->envp;
    snprintf(p->job, sizeof(p->job), "%s", i->job);
    snprintf(p->seconds, sizeof(p->seconds), "%ld", c->qstat_seconds);
    snprintf(p->root, sizeof(p->root), "SGE_ROOT=%s", c->ge_root);
    snprintf(p->cell, sizeof(p->cell), "SGE_CELL=%s", c->ge_cell);
    snprintf(p->qmaster, sizeof(p->qmaster), "SGE_QMASTER_PORT=%ld", c->qmaster_port);
    snprintf(p->execd, sizeof(p->execd), "SGE_EXECD_PORT=%ld", c->execd_port);
    *e++ = (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    *e++ = p->root;
    *e++ = p->cell;
    if (c->qmaster_port)
        *e++ = p->qmaster;
    if (c->execd_port)
        *e++ = p->execd;
    *e = NULL;
    const char *words[] = {q->path,           c->ge_qstat,        p->job,         p->seconds,
                           c->memory_complex, c->virtual_complex, c->gpu_complex, NULL};
    memcpy(p->argv, words, sizeof(words));
}

static int set_limits(const struct conf *c)
{
    const struct {
        int what;
        rlim_t most;
    } limits[] = {{RLIMIT_CORE, 0},
                  {RLIMIT_FSIZE, 0},
                  {RLIMIT_AS, ADDRESSES_MAX},
                  {RLIMIT_CPU, (rlim_t)c->qstat_seconds},
                  {RLIMIT_NPROC, PROCESSES_MAX},
                  {RLIMIT_NOFILE, DESCRIPTORS_MAX}};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct rlimit l = {limits[i].most, limits[i].most};
        if (setrlimit((__rlimit_resource_t)limits[i].what, &l) < 0)
            return -1;
    }
    return 0;
}

/* Users can make this process large, so it must not inherit the daemon's protection from being
 * killed for want of memory. */
static int be_killed_as_others(void)
{
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* else the file is root's */
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    int rc = fd >= 0 && write(fd, "0", 1) == 1 ? 0 : -1;
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

/* The reader, which starts this, is not root. */
static int gain_no_privileges(void)
{
    return geteuid() == 0 ? -1 : prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static void plain_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (int s = 1; s < NSIG; s++)
        (void)signal(s, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_others(void)
{
    if (fd_close_from(3, false) == 0)
        return;
    for (int fd = 3; fd < DESCRIPTORS_CLOSED; fd++) /* before 5.9; all are closed by exec anyhow */
        (void)close(fd);
}

/* Its own session, so that all of it can be killed (mprund-qstat and qstat are in one process
 * group), and nothing of the daemon's: no descriptor, no variable, no signal, no right. */
static void become_qstat(const struct prepared *p, const struct conf *c, int to, pid_t parent)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (setsid() < 0 || chdir("/") < 0 || null < 0 || dup2(null, 0) < 0 || dup2(to, 1) < 0 ||
        dup2(null, 2) < 0)
        _exit(126);
    umask(077);
    plain_signals();
    close_others();
    if (be_killed_as_others() < 0 || set_limits(c) < 0 || gain_no_privileges() < 0)
        _exit(126);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent)
        _exit(126);
    execve(p->argv[0], p->argv, p->envp);
    _exit(127);
}

/* ---- one inquiry ----------------------------------------------------------------------------- */

static void inquiry_free(struct inquiry *i)
{
    struct inquiries *q = i->all;
    struct inquiry **at = &q->first;
    while (*at != i)
        at = &(*at)->next;
    *at = i->next;
    if (!i->next)
        q->last = at;
    loop_io_destroy(i->io);
    loop_timer_stop(&i->timer);
    cleanup_close(&i->fd);
    free(i);
}

static void start_more(struct inquiries *q);

/* Killed, with all that it started; it is waited for without waiting. */
static void reap(void *arg)
{
    struct inquiry *i = arg;
    struct inquiries *q = i->all;
    if (waitpid(i->pid, NULL, WNOHANG) == 0) {
        loop_timer_start(&i->timer, REAP_S, 0);
        return;
    }
    inquiry_free(i);
    q->running--;
    start_more(q);
}

static void tell(struct inquiry *i, const struct demand *d, const struct error *err)
{
    if (i->told)
        return;
    i->told = 1;
    i->all->fn(i->all->arg, i->job, d, err);
}

static void inquiry_end(struct inquiry *i, const struct demand *d, const struct error *err)
{
    loop_io_destroy(take_ptr(i->io));
    (void)kill(-i->pid, SIGKILL);
    (void)kill(i->pid, SIGKILL); /* where it has no session yet */
    loop_timer_stop(&i->timer);
    loop_timer_init(&i->timer, i->all->loop, reap, i);
    tell(i, d, err);
    loop_timer_start(&i->timer, 0, 0);
}

static void time_over(void *arg)
{
    struct inquiry *i = arg;
    struct error e;
    error_set(&e, ETIMEDOUT, "no answer within %ld s", i->all->conf->qstat_seconds);
    inquiry_end(i, NULL, &e);
}

/* The words of the helper go to logs and terminals: a helper that was taken over by what it read
 * has cleaned nothing. */
static void judge(struct inquiry *i)
{
    struct error e;
    struct demand d;
    const char *fault = inquiry_fault(&i->record, i->n);
    if (!fault)
        text_make_printable(i->record.text, strlen(i->record.text));
    if (i->n == 0)
        error_set(&e, EIO, "'%s' ended without a word", i->all->path);
    else if (fault)
        error_set(&e, EPROTO, "'%s' gave an answer that is none: %s", i->all->path, fault);
    else if (i->record.failed)
        error_set(&e, i->record.failed == INQUIRY_NO_SUCH_JOB ? ESRCH : EIO, "%s", i->record.text);
    else if (demand_get(i->record.demand, &d) == 0) {
        inquiry_end(i, &d, NULL);
        return;
    }
    inquiry_end(i, NULL, &e);
}

static void answer_ready(void *arg, int fd, unsigned events)
{
    struct inquiry *i = arg;
    char *at = (char *)&i->record + i->n;
    char more;
    size_t room = sizeof(i->record) - i->n;
    ssize_t n = room ? read(fd, at, room) : read(fd, &more, 1);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0 && room) {
        i->n += (size_t)n;
        return;
    }
    if (n > 0) /* it says more than a record */
        i->n++;
    judge(i);
}

static int inquiry_start(struct inquiry *i, struct error *err)
{
    struct inquiries *q = i->all;
    struct prepared p;
    int ends[2];
    prepare(&p, q, i);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return error_errno(err, errno, "make a pipe");
    AUTO_CLOSE int from = ends[0], to = ends[1];
    (void)fcntl(to, F_SETFL, 0); /* the other end may wait */
    i->io = loop_io_create(q->loop, from, LOOP_READ, answer_ready, i);
    loop_timer_init(&i->timer, q->loop, time_over, i);
    pid_t self = getpid();
    i->pid = fork();
    if (i->pid == 0)
        become_qstat(&p, q->conf, to, self);
    if (i->pid < 0) {
        i->pid = 0;
        return error_errno(err, errno, "start '%s'", q->path);
    }
    i->fd = take_fd(&from);
    loop_timer_start(&i->timer, (double)q->conf->qstat_seconds + MARGIN_S, 0);
    return 0;
}

static void start_more(struct inquiries *q)
{
    struct inquiry *i = q->first;
    while (i && q->running < AT_ONCE) {
        struct inquiry *next = i->next;
        struct error e;
        if (i->pid == 0) {
            q->waiting--;
            if (inquiry_start(i, &e) == 0) {
                q->running++;
            } else {
                tell(i, NULL, &e);
                inquiry_free(i);
            }
        }
        i = next;
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct inquiries *inquiries_create(struct loop *l, const struct conf *conf, const char *path,
                                   inquiry_fn fn, void *arg)
{
    static const char *const beside[] = {"mprund-qstat", NULL};
    struct inquiries *q = must(malloc(sizeof(*q)));
    char *program = path ? must(strdup(path)) : path_find_helper(beside, INSTALLED, NULL);
    if (!program)
        program = must(strdup(INSTALLED)); /* to say that it is not there */
    *q = (struct inquiries){
        .loop = l, .conf = conf, .path = program, .fn = fn, .arg = arg, .last = &q->first};
    return q;
}

void inquiries_destroy(struct inquiries *q)
{
    if (!q)
        return;
    while (q->first) {
        if (q->first->pid > 0) {
            (void)kill(-q->first->pid, SIGKILL);
            (void)kill(q->first->pid, SIGKILL);
            (void)waitpid(q->first->pid, NULL, WNOHANG); /* whoever is next has it otherwise */
        }
        inquiry_free(q->first);
    }
    free(q->path);
    free(q);
}

int inquiries_ask(struct inquiries *q, const char *job, struct error *err)
{
    if (q->waiting >= WAITING_MAX)
        return error_errno(err, EBUSY, "ask about job %s", job);
    struct inquiry *i = must(calloc(1, sizeof(*i)));
    i->all = q;
    i->fd = -1;
    snprintf(i->job, sizeof(i->job), "%s", job);
    *q->last = i;
    q->last = &i->next;
    q->waiting++;
    start_more(q);
    return 0;
}
