/* SPDX-License-Identifier: BSD-3-Clause */
/* resolve.c - `mprund resolve`: root reads the configuration, makes and opens what only root can,
 * hands it to the supervisor, and ends
 *
 * Its only input is root's: the configuration, and the users that it names. */
#include "node-daemon/command/command.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "containment/cgroup/mounts.h"
#include "node-daemon/command/make-ground.h"
#include "node-daemon/conf/conf-private.h"
#include "node-daemon/lib/start.h"
#include "node-daemon/lib/trace.h"
#include "node-daemon/signer/token.h"
#include "node-daemon/supervisor/supervisor.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

enum { BACKLOG = 512 }; /* with fewer, those that connect again and again push others out */

/* ---- settings -------------------------------------------------------------------------------- */

static const char *conf_path(const struct mprund_options *o)
{
    return o->config ? o->config : CONF_PATH;
}

int resolve_settings(const struct mprund_options *o, struct conf *ret, struct error *err)
{
    if (conf_read(conf_path(o), o->config != NULL, ret, err) < 0)
        return -1;
    ret->controllers = (ret->controllers | o->enable) & ~o->disable;
    if (o->trace)
        ret->trace = o->trace;
    if (o->sentinel_dir)
        ret->sentinel_dir = o->sentinel_dir;
    return 0;
}

/* ---- gifts ----------------------------------------------------------------------------------- */

/* Takes fd. */
static int give(enum gift gift, unsigned which, int fd, struct error *err)
{
    AUTO_CLOSE int taken = fd;
    struct gift_record r = {.head = record_head(gift, 0), .which = which};
    return record_send(START_CONTROL, &r, sizeof(r), taken) == 0
               ? 0
               : error_errno(err, errno, "hand the configuration to the supervisor");
}

/* A copy of the text: the processes that are not root's may not be able to read the file. */
static int give_conf(const struct mprund_options *o, struct error *err)
{
    struct error none;
    AUTO_FREE char *text = conf_file_text(conf_path(o), &none);
    AUTO_CLOSE int fd = memfd_create("mprund.conf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || (text && fd_write_all(fd, text, strlen(text)) < 0) || fchmod(fd, 0644) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
        return error_errno(err, errno, "copy the configuration");
    return give(GIFT_CONF, 0, take_fd(&fd), err);
}

static int give_ground(const struct mprund_options *o, const struct conf *c, struct plan_ground *p,
                       struct error *err)
{
    struct ground g;
    const char *v2_cgroup = c->cgroup;
    char text[GROUND_TEXT_MAX];
    cgroup_mounts_keep_to(c->cgroup_mount);
    if (systemd_is_wanted(c) && systemd_scope(&v2_cgroup, err) < 0) {
        if (c->systemd != SYSTEMD_TRY)
            return -1;
        log_warn("%s; systemd = try: jobs are in cgroup '%s'", err->text, c->cgroup);
    }
    if (ground_open(&g, c->cgroup, v2_cgroup, c->cgroup_version, c->controllers,
                    c->cgroup_automount ? GROUND_MAKE : GROUND_MAKE_BELOW, err) < 0)
        return -1;
    snprintf(p->cgroup, sizeof(p->cgroup), "%s", g.cgroup);
    snprintf(p->v2_cgroup, sizeof(p->v2_cgroup), "%s", g.v2_cgroup);
    p->nparts = (uint32_t)g.n;
    p->asked = c->controllers;
    p->enable = o->enable;
    p->disable = o->disable;
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < g.n; i++) {
        p->part[i].version = (uint32_t)g.part[i].driver->version;
        p->part[i].controllers = g.part[i].controllers;
        snprintf(p->part[i].path, sizeof(p->part[i].path), "%s", g.part[i].path);
        log_note("jobs are in cgroup v%d '%s'%s", g.part[i].driver->version, g.part[i].path,
                 i ? ", too" : "");
        rc = give(GIFT_GROUND, i, take_fd(&g.part[i].fd), err);
    }
    unsigned lacks = ground_lacks(&g, c->controllers);
    if (rc == 0 && lacks)
        log_note("jobs do not have %s: " GROUND_LACKS_ADVICE, ground_words(lacks, text));
    ground_close(&g);
    return rc;
}

/* ---- sentinels, trace, key ------------------------------------------------------------------- */

static int open_sentinels(const char *dir, const struct plan *p, struct error *err)
{
    struct stat st;
    if (mkdir(dir, 0755) < 0 && errno != EEXIST)
        return error_errno(err, errno, "make the directory of sentinels '%s'", dir);
    AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, errno, "open the directory of sentinels '%s'", dir);
    if ((st.st_uid != 0 && st.st_uid != p->uid) || (st.st_mode & 022))
        return error_set(err, EPERM,
                         "open the directory of sentinels '%s': it must be root's and writable to "
                         "nobody else",
                         dir);
    if (fchown(fd, p->uid, (gid_t)-1) < 0)
        return error_errno(err, errno, "give the directory of sentinels '%s' to user %u", dir,
                           (unsigned)p->uid);
    return take_fd(&fd);
}

/* That these cannot be had is no reason to have no jobs. */
static int give_optional(const struct conf *c, const struct plan *p, struct error *err)
{
    struct error e;
    int sentinels = open_sentinels(c->sentinel_dir, p, &e);
    if (sentinels < 0)
        log_error("%s", e.text);
    else if (give(GIFT_SENTINELS, 0, sentinels, err) < 0)
        return -1;
    int trace = c->trace ? trace_file(c->trace, &e) : -1;
    if (c->trace && trace < 0)
        log_error("%s", e.text);
    return trace >= 0 ? give(GIFT_TRACE, 0, trace, err) : 0;
}

static int give_key(const struct conf *c, struct error *err)
{
    struct token_key key = {.set = 0};
    if (!c->grant_key)
        return 0;
    int rc = token_key_read(c->grant_key, &key, err); /* here, to say what is wrong with it */
    explicit_bzero(&key, sizeof(key));
    int fd = rc < 0 ? -1 : open(c->grant_key, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (rc == 0 && fd < 0)
        return error_errno(err, errno, "open key '%s'", c->grant_key);
    return rc < 0 ? -1 : give(GIFT_KEY, 0, fd, err);
}

/* ---- sockets --------------------------------------------------------------------------------- */

/* The receiver of a descriptor may have to close it, and can be kept waiting by that for as long as
 * a user likes (SO_LINGER). Linux 6.16 refuses to send one; accepted sockets inherit this. */
static void refuse_descriptors(int fd)
{
    (void)setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &(int){0}, sizeof(int));
}

static int listen_at(const char *path, mode_t mode, struct error *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(at.sun_path))
        return error_errno(err, ENAMETOOLONG, "listen at '%s'", path);
    strcpy(at.sun_path, path);
    (void)unlink(path);
    mode_t before = umask(0777);
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int rc = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&at, sizeof(at));
    umask(before);
    refuse_descriptors(fd);
    if (rc < 0 || chmod(path, mode) < 0 || listen(fd, BACKLOG) < 0)
        return error_errno(err, errno, "listen at '%s'", path);
    return take_fd(&fd);
}

static int give_sockets(struct error *err)
{
    int users = listen_at(GRANT_SOCKET, 0666, err);
    if (users < 0 || give(GIFT_SOCKET, 0, users, err) < 0)
        return -1;
    int roots = listen_at(GRANT_ROOT_SOCKET, 0600, err);
    return roots < 0 ? -1 : give(GIFT_ROOT_SOCKET, 0, roots, err);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int find_user(const struct conf *c, struct plan *p, struct error *err)
{
    const struct passwd *pw = getpwnam(c->user);
    if (!pw || pw->pw_uid == 0)
        return error_set(err, EINVAL,
                         pw ? "user = \"%s\": a user other than root is wanted"
                            : "user = \"%s\": there is no such user (useradd --system "
                              "--no-create-home --shell /usr/sbin/nologin %s)",
                         c->user, c->user);
    p->uid = pw->pw_uid;
    p->reads_roots = c->pbs_home != NULL;
    p->gid = pw->pw_gid;
    return 0;
}

static int give_all(const struct mprund_options *o, const char *what, const struct conf *c,
                    struct error *err)
{
    struct gift_record all = {.head = record_head(GIFT_ALL, 0)};
    static struct plan plan; /* large */
    bool is_start = !strcmp(what, RESOLVE_START), is_reload = !strcmp(what, RESOLVE_RELOAD);
    plan.head = record_head(GIFT_ALL, 0);
    plan.verbose = (uint32_t)o->verbose;
    plan.to_syslog = (uint32_t)o->background;
    if (find_user(c, &plan, err) < 0 || (is_start && give_ground(o, c, &plan.ground, err) < 0) ||
        ((is_start || is_reload) && (give_conf(o, err) < 0 || give_key(c, err) < 0)) ||
        give_optional(c, &plan, err) < 0 || (!is_reload && give_sockets(err) < 0))
        return -1;
    if (record_send(START_CONTROL, &all, sizeof(all), -1) < 0 ||
        record_send(START_CONTROL, &plan, sizeof(plan), -1) < 0)
        return error_errno(err, errno, "hand the configuration to the supervisor");
    return 0;
}

int resolve(const struct mprund_options *o, const char *what, struct error *err)
{
    AUTO(conf_free) struct conf conf = {.file = NULL};
    (void)fcntl(START_CONTROL, F_SETFD, FD_CLOEXEC);
    return resolve_settings(o, &conf, err) < 0 ? -1 : give_all(o, what, &conf, err);
}
