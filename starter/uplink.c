/* SPDX-License-Identifier: BSD-3-Clause */
/* uplink.c - see uplink.h */
#include "starter/uplink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/login-session.h"
#include "common/path.h"
#include "common/proc.h"
#include "starter/frames.h"
#include "starter/orphan.h"
#include "starter/tree.h"
#include "starter/worker.h"
#include "wire/address.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#define CONNECT_SECONDS  30.0
#define FALLBACK_SECONDS 10.0 /* the same where there is another way */
#define LATER_SECONDS    8    /* who is above gives up first, and says who is lost */
#define ASK_SECONDS      30   /* for mprun to allow that */

/* ---- the first words ------------------------------------------------------------------------- */

static void log_to_launcher(void *arg, enum log_level level, const char *text)
{
    struct worker *w = arg;
    Mprun__Log m = MPRUN__LOG__INIT;
    m.level = level;
    m.text = (char *)(uintptr_t)text;
    link_send(w->up, FRAME_LOG, &m.base);
}

static void send_hello(struct worker *w)
{
    Mprun__Hello m = MPRUN__HELLO__INIT;
    struct sysinfo si;
    char session[80];
    AUTO_FREE char *allowed = idset_format(&w->allowed);
    m.protocol = PROTOCOL_VERSION;
    m.version = PACKAGE_VERSION;
    m.host_id = w->start.host_id;
    m.hostname = bytes_of(w->hostname);
    m.worker_pid = (uint64_t)getpid();
    m.keeper_pid = (uint64_t)w->keeper;
    m.uid = geteuid();
    m.boot_id = (char *)(uintptr_t)proc_boot_id();
    m.allowed_threads = allowed ? allowed : (char *)(uintptr_t) "";
    m.allowed_cores = cpus_count_cores(&w->allowed);
    if (sysinfo(&si) == 0)
        m.memory = (uint64_t)si.totalram * si.mem_unit;
    m.why_stdio = w->why_stdio;
    login_session_find(session, sizeof(session));
    m.login_session = session;
    m.tracking = w->contain.level;
    m.tracking_reason = w->contain.reason;
    link_send(w->up, FRAME_HELLO, &m.base);
}

static void probed(void *arg, const struct error *err)
{
    struct worker *w = arg;
    if (w->up)
        send_hello(w);
}

static void say_hello(struct worker *w)
{
    const pid_t self[] = {w->pid, w->keeper};
    if (w->start.flags & PREAMBLE_EXPLAIN)
        contain_probe(&w->contain, w->loop, self, sizeof(self) / sizeof(self[0]), probed, w);
    else
        send_hello(w);
}

void uplink_job_asked(void *arg)
{
    struct worker *w = arg;
    struct error e;
    if (cpus_allowed(&w->allowed, &e) < 0)
        log_warn("on %s: %s", w->hostname, e.text);
    if (w->hello_waits && w->up)
        say_hello(w);
    w->hello_waits = 0;
}

static int up_opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    struct worker *w = arg;
    log_set_sink(log_to_launcher, w);
    w->hello_waits = w->contain.asked.state == ASKED_NOW;
    if (!w->hello_waits)
        say_hello(w);
    return 0;
}

/* ---- nobody above -----------------------------------------------------------------------------
 */

/* mprun holds a lock on its directory as long as it lives (launcher/home.c). */
static int is_locked(const char *path)
{
    AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return dir < 0 || flock(dir, LOCK_EX | LOCK_NB) < 0;
}

/* Its sockets are of no use to anybody; all hosts of this machine may try the same. Addresses are
 * foreign input: nothing is removed but a directory of a step of ours. Who has lost a host above
 * only does not know whether mprun has gone. */
static void remove_launcher_home(struct worker *w, int mprun_has_gone)
{
    char path[PREAMBLE_ADDRESSES];
    struct stat st;
    struct error e;
    if (!address_home(w->start.addresses, path, sizeof(path)))
        return;
    const char *name = strrchr(path, '/');
    if (!name || strncmp(name + 1, "mprun-", 6) != 0 || lstat(path, &st) < 0 ||
        !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (!mprun_has_gone && is_locked(path)))
        return;
    if (path_remove_tree(path, &e) < 0)
        log_warn("on %s: %s", w->hostname, e.text);
}

static void no_launcher(struct worker *w, const struct error *why, int mprun_has_gone, double grace)
{
    char text[1200];
    w->exit_code = EXIT_CODE_MPRUN;
    if (w->state == HOST_STARTING)
        snprintf(text, sizeof(text), "on %s: no link to mprun: %s", w->hostname, why->text);
    else
        snprintf(text, sizeof(text), "on %s: the link to mprun is gone (%s); %s", w->hostname,
                 why->text, w->state < HOST_REPORTED ? "ending its ranks" : "its ranks have ended");
    log_error("%s", text);
    remove_launcher_home(w, mprun_has_gone);
    tree_cut(w);
    if (w->io)
        rank_io_set_link(w->io, NULL);
    ending_kill(w, grace, text);
}

void uplink_give_up(struct worker *w, const struct error *why, int mprun_has_gone, double grace)
{
    if (!w->up) {
        ending_kill(w, grace, why->text);
        return;
    }
    log_set_sink(NULL, NULL);
    link_destroy(w->up);
    w->up = NULL;
    no_launcher(w, why, mprun_has_gone, grace);
    if (w->state == HOST_CLEANED)
        worker_exit(w, w->exit_code);
    loop_defer_schedule(w->step);
}

static void up_closed(void *arg, struct link *l, const struct error *why)
{
    struct worker *w = arg;
    struct error copy = *why;
    if (l == w->first) { /* mprun has seen that the host above is reached */
        w->first = NULL;
        link_destroy(l);
        return;
    }
    uplink_give_up(w, &copy, w->orphan == NULL, ORPHAN_KILL_SECONDS);
}

static void up_lost(void *arg, struct link *l, const struct error *why)
{
    orphan_link_lost(((struct worker *)arg)->orphan);
}

static void up_resumed(void *arg, struct link *l, double seconds)
{
    orphan_link_back(((struct worker *)arg)->orphan);
}

static void up_writable(void *arg, struct link *l)
{
    struct worker *w = arg;
    if (w->io)
        rank_io_writable(w->io);
    loop_defer_schedule(w->step);
}

static const struct link_events up_events = {
    .opened = up_opened,
    .frame = frames_take,
    .writable = up_writable,
    .lost = up_lost,
    .resumed = up_resumed,
    .closed = up_closed,
};

static struct link_options link_options(const struct worker *w)
{
    return (struct link_options){
        .role = LINK_CONNECTOR,
        .key = w->start.key,
        .host_id = w->start.host_id,
        .security = preamble_security(w->start.flags),
        .resume_seconds = w->start.link_grace ? w->start.link_grace + LATER_SECONDS : 0,
        .addresses = w->start.addresses,
    };
}

/* ---- the host above -------------------------------------------------------------------------- */

/* From now on everything goes this way; what mprun has sent on the first link still comes. */
static int above_opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    struct worker *w = arg;
    w->first = w->up;
    w->up = l;
    w->joining = NULL;
    link_set_events(l, &up_events, w);
    tree_link_opened(w);
    return 0;
}

static void above_closed(void *arg, struct link *l, const struct error *why)
{
    struct worker *w = arg;
    w->joining = NULL;
    if (w->up)
        tree_link_failed(w, why->text);
    link_destroy(l);
}

static void above_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
}

static const struct link_events above_events = {
    .opened = above_opened, .frame = above_frame, .closed = above_closed};

int uplink_connect_above(struct worker *w, const char *addresses, double timeout, struct error *err)
{
    struct link_options o = link_options(w);
    o.addresses = addresses;
    int fd = address_connect(addresses, timeout, err);
    if (fd < 0)
        return -1;
    w->joining = link_create(w->loop, fd, fd, &o, "the host above", &above_events, w, err);
    return w->joining ? 0 : -1;
}

/* ---- mprun ----------------------------------------------------------------------------------- */

/* Why the start channel has to do is said as soon as there is a link. */
static int ask_for_start_channel(struct worker *w, const struct error *why)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    char answer;
    if (fd_write_all(STDOUT_FILENO, PREAMBLE_ASK, strlen(PREAMBLE_ASK)) < 0 ||
        poll(&p, 1, ASK_SECONDS * 1000) != 1 || read(STDIN_FILENO, &answer, 1) != 1 ||
        answer != PREAMBLE_YES[0])
        return -1;
    w->start.flags |= PREAMBLE_STDIO;
    snprintf(w->why_stdio, sizeof(w->why_stdio), "%s", why->text);
    return 0;
}

static int connect_by_address(struct worker *w, struct error *err)
{
    int fallback = (w->start.flags & PREAMBLE_FALLBACK) != 0;
    int fd =
        address_connect(w->start.addresses, fallback ? FALLBACK_SECONDS : CONNECT_SECONDS, err);
    if (fd >= 0) {
        address_own(fd, w->own_address, sizeof(w->own_address));
        return fd;
    }
    if (!fallback || ask_for_start_channel(w, err) < 0)
        remove_launcher_home(w, 1);
    return -1;
}

int uplink_connect(struct worker *w, struct error *err)
{
    int in = -1, out;
    if (!(w->start.flags & PREAMBLE_STDIO))
        in = out = connect_by_address(w, err);
    if (w->start.flags & PREAMBLE_STDIO) {
        in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    }
    if (in < 0)
        return -1;
    struct link_options o = link_options(w);
    if (w->start.flags & PREAMBLE_STDIO)
        o.security = LINK_PLAIN; /* the start channel's own business */
    w->up = link_create(w->loop, in, out, &o, "mprun", &up_events, w, err);
    return w->up ? 0 : -1;
}
