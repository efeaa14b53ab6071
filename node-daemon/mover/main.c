/* SPDX-License-Identifier: BSD-3-Clause */
/* mprund-mover - the only part of mprund that makes, limits, fills, kills and removes jobs' cgroups
 *
 * It is root, so it is small: it answers questions of fixed size (lib/mover-protocol.h) of two
 * other processes, one after the other, keeps nothing, opens no file of a user's, asks no name
 * service and reads no configuration. It reads from the kernel itself which process it has to
 * move. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "node-daemon/lib/logging.h"
#include "node-daemon/mover/mover.h"

struct mover {
    struct start start;
    struct ground ground;
    struct mover_request q; /* they are large, and there is one at a time */
    struct mover_answer a;
};

/* ---- questions ------------------------------------------------------------------------------- */

static int note(struct mover *m, struct error *err)
{
    struct cgroup_at d = ground_at(&m->ground, 0, m->q.dir);
    size_t n = strlen(m->q.name);
    if (n == 0 || strspn(m->q.name, "abcdefghijklmnopqrstuvwxyz") != n)
        return error_set(err, EINVAL, "note something at '%s': a name is wanted", m->q.dir);
    if (m->q.head.what == MOVER_NOTE ? at_note(d, m->q.name, m->q.text) < 0
                                     : at_read_note(d, m->q.name, m->a.text, sizeof(m->a.text)) < 0)
        return error_errno(err, errno, "note '%s' at cgroup '%s'", m->q.name, m->q.dir);
    return 0;
}

/* v1: cpus and memory nodes as the cgroup above has them where there are none; exclusive: and the
 * cpus no sibling's. In v2 all of this is as it was made. */
static int prepare(struct mover *m, struct error *err)
{
    for (size_t i = 0; i < m->ground.n; i++) {
        const struct ground_part *p = &m->ground.part[i];
        struct cgroup_at here = ground_at(&m->ground, i, ".");
        if (p->driver->version != 1 || !(p->controllers & CGROUP_BIT(CGROUP_CPUSET)))
            continue;
        if (p->driver->prepare(ground_at(&m->ground, i, ".."), here, p->controllers) < 0)
            return error_errno(err, errno, "give cpus and memory nodes to cgroup '%s'", p->path);
        if (m->q.exclusive && at_write(here, "cpuset.cpu_exclusive", "1") < 0)
            return error_errno(err, errno, "make the cpus of cgroup '%s' exclusive", p->path);
    }
    return 0;
}

static int ask_who(struct mover *m, int fd, bool is_socket, struct error *err)
{
    AUTO(identity_close) struct identity who = {.proc = -1};
    if ((is_socket ? identity_of_socket : identity_of_directory)(fd, &who, err) < 0)
        return -1;
    if (m->q.head.what == MOVER_WHERE)
        return enter_where(&m->ground, &who, &m->a, err);
    return enter_job(&m->ground, &who, is_socket, m->q.dir, (enum mover_part)m->q.part, err);
}

static bool has_ends(const struct mover_request *q)
{
    return memchr(q->dir, 0, sizeof(q->dir)) && memchr(q->name, 0, sizeof(q->name)) &&
           memchr(q->text, 0, sizeof(q->text)) && q->ndevices <= CGROUP_DEVICES_MAX;
}

static int answer(struct mover *m, enum role who, int fd, struct error *err)
{
    const struct mover_request *q = &m->q;
    bool names_job = q->head.what != MOVER_WHERE && q->head.what != MOVER_PREPARE;
    if (!has_ends(q) || (names_job && !ground_is_job(q->dir)) ||
        (who != ROLE_FRONT && q->head.what != MOVER_ENTER))
        return error_set(err, EINVAL, "the mover is asked for what it does not do");
    switch (q->head.what) {
    case MOVER_MAKE:
        return job_make(&m->ground, q, &m->a, err);
    case MOVER_MARK:
        return job_mark(&m->ground, q->dir, (enum mover_mark)q->mark, err);
    case MOVER_LIMIT:
        return job_limit(&m->ground, q, &m->a, err);
    case MOVER_CPUS:
    case MOVER_MEMS:
        return job_set_cpus(&m->ground, q, err);
    case MOVER_DEVICES:
        return job_hold_devices(&m->ground, q, err);
    case MOVER_NOTE:
    case MOVER_READ_NOTE:
        return note(m, err);
    case MOVER_OWN:
        return job_own(&m->ground, q->dir, q->uid, err);
    case MOVER_WHERE:
    case MOVER_ENTER:
        return ask_who(m, fd, who == ROLE_FRONT, err);
    case MOVER_END:
        return job_end(&m->ground, q, &m->a, err);
    case MOVER_PREPARE:
        return prepare(m, err);
    default:
        return error_set(err, EINVAL, "the mover is asked for what it does not know");
    }
}

/* A link that breaks is closed: the supervisor gives another one. */
static void serve(struct mover *m, enum role who)
{
    struct error e = {.code = 0};
    AUTO_CLOSE int fd = -1;
    int *link = &m->start.link[who];
    int rc = record_receive(*link, &m->q, sizeof(m->q), &fd);
    if (rc > 0) {
        memset(&m->a, 0, sizeof(m->a));
        rc = answer(m, who, fd, &e);
        cleanup_close(&fd); /* before front closes its own: this is not to be a user's last one */
        m->a.head = record_head(rc < 0 ? (uint32_t)(e.code ? e.code : EIO) : 0, m->q.head.id);
        if (rc < 0)
            snprintf(m->a.text, sizeof(m->a.text), "%s", e.text);
        if (record_send(*link, &m->a, sizeof(m->a), -1) == 0)
            return;
    }
    cleanup_close(link);
    *link = -1;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int run(struct mover *m)
{
    static const enum role askers[] = {ROLE_FRONT, ROLE_WATCH};
    enum gift gift;
    unsigned which;
    for (;;) {
        struct pollfd p[] = {{.fd = START_CONTROL, .events = POLLIN},
                             {.fd = m->start.link[ROLE_FRONT], .events = POLLIN},
                             {.fd = m->start.link[ROLE_WATCH], .events = POLLIN}};
        if (poll(p, 3, -1) < 0 && errno != EINTR)
            return 1;
        for (size_t i = 1; i < 3; i++)
            if (p[i].revents)
                serve(m, askers[i - 1]);
        if (p[0].revents && start_take(&m->start, &gift, &which) < 0)
            return 0; /* the supervisor has gone */
    }
}

int main(void)
{
    static struct mover m;
    struct error e;
    fd_open_standard();
    umask(022);
    logging_open(LOG_NOTE, 0);
    if (start_receive(&m.start, &e) < 0) {
        log_error("%s", e.text);
        return 1;
    }
    logging_open(LOG_NOTE, (int)m.start.plan.to_syslog);
    ground_of_start(&m.start, &m.ground);
    return run(&m);
}
