/* SPDX-License-Identifier: BSD-3-Clause */
#include "starter/links/uplink.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "common/cleanup.h"
#include "common/processes/fault.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "common/files/path.h"
#include "starter/tunables.h"
#include "starter/services.h"
#include "wire/mprun.pb-c.h"
#include "wire/transport/address.h"
#include "wire/transport/dial.h"

/* ---- events ---------------------------------------------------------------------------------- */

static int up_opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    struct uplink *u = arg;
    u->events->opened(u->arg);
    return 0;
}

static void up_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct uplink *u = arg;
    u->events->frame(u->arg, l, type, p, n);
}

static void up_writable(void *arg, struct link *l)
{
    struct uplink *u = arg;
    u->events->writable(u->arg);
}

static void up_lost(void *arg, struct link *l, const struct error *why)
{
    struct uplink *u = arg;
    if (u->parent_events)
        u->parent_events->interrupted(u->parent_arg);
}

static void up_resumed(void *arg, struct link *l, double seconds)
{
    struct uplink *u = arg;
    if (u->parent_events)
        u->parent_events->resumed(u->parent_arg);
}

static void up_closed(void *arg, struct link *l, const struct error *why)
{
    struct uplink *u = arg;
    struct error copy = *why;
    if (l == u->first) { /* mprun has seen that the parent is reached */
        u->first = NULL;
        link_destroy(l);
        return;
    }
    u->events->closed(u->arg, &copy);
}

static const struct link_events up_events = {
    .opened = up_opened,
    .frame = up_frame,
    .writable = up_writable,
    .lost = up_lost,
    .resumed = up_resumed,
    .closed = up_closed,
};

static struct link_options link_options(const struct uplink *u)
{
    const struct preamble *p = &u->start;
    return (struct link_options){
        .role = LINK_CONNECTOR,
        .key = p->key,
        .host_id = p->host_id,
        .security = preamble_security(p->flags),
        .resume_seconds = p->link_grace ? p->link_grace + LINK_GRACE_EXTRA_SECONDS : 0,
        .addresses = p->addresses,
    };
}

/* ---- the parent host ------------------------------------------------------------------------- */

static int parent_opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    struct uplink *u = arg;
    u->first = u->link;
    u->link = l;
    u->joining = NULL;
    link_set_events(l, &up_events, u);
    u->parent_events->reached(u->parent_arg);
    return 0;
}

static void parent_closed(void *arg, struct link *l, const struct error *why)
{
    struct uplink *u = arg;
    u->joining = NULL;
    if (u->link)
        u->parent_events->failed(u->parent_arg, why->text);
    link_destroy(l);
}

static void parent_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p,
                         size_t n)
{
}

static const struct link_events parent_events = {
    .opened = parent_opened, .frame = parent_frame, .closed = parent_closed};

int uplink_connect_parent(struct uplink *u, const char *addresses,
                          const struct uplink_parent_events *events, void *arg, struct error *err)
{
    struct link_options o = link_options(u);
    u->parent_events = events;
    u->parent_arg = arg;
    o.addresses = addresses;
    int fd = dial_wait(addresses, PARENT_CONNECT_SECONDS, err);
    if (fd < 0)
        return -1;
    u->joining =
        link_create(u->services->loop, fd, fd, &o, "the host above", &parent_events, u, err);
    return u->joining ? 0 : -1;
}

void uplink_send_joined(struct uplink *u, const char *why_not)
{
    Mprun__Joined m = MPRUN__JOINED__INIT;
    m.why_not = (char *)(uintptr_t)why_not;
    if (u->first)
        link_send(u->first, FRAME_JOINED, &m.base);
    uplink_send(u, FRAME_JOINED, &m.base);
}

/* ---- mprun ----------------------------------------------------------------------------------- */

/* mprun locks its directory as long as it lives. */
static bool is_locked(const char *path)
{
    AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return dir < 0 || flock(dir, LOCK_EX | LOCK_NB) < 0;
}

/* Removes mprun's directory of sockets if mprun was killed; several hosts of its machine may try.
 * The address is foreign input: remove only a directory of a step of this user. */
static void remove_launcher_home(const struct uplink *u, bool mprun_has_gone)
{
    char path[PREAMBLE_ADDRESSES];
    struct stat st;
    struct error e;
    if (!address_home(u->start.addresses, path, sizeof(path)))
        return;
    const char *name = strrchr(path, '/');
    if (!name || strncmp(name + 1, "mprun-", 6) != 0 || lstat(path, &st) < 0 ||
        !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (!mprun_has_gone && is_locked(path)))
        return;
    if (path_remove_tree(path, &e) < 0)
        log_warn("on %s: %s", u->services->hostname, e.text);
}

/* Asks mprun for the start channel as the link. HELLO carries `why`. */
static int ask_for_start_channel(struct uplink *u, const struct error *why)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    char answer;
    if (fd_write_all(STDOUT_FILENO, PREAMBLE_ASK, strlen(PREAMBLE_ASK)) < 0 ||
        poll(&p, 1, ASK_STDIO_SECONDS * 1000) != 1 || read(STDIN_FILENO, &answer, 1) != 1 ||
        answer != PREAMBLE_YES[0])
        return -1;
    u->is_start_channel = true;
    snprintf(u->why_start_channel, sizeof(u->why_start_channel), "%s", why->text);
    return 0;
}

static int connect_by_address(struct uplink *u, struct error *err)
{
    bool has_fallback = u->start.flags & PREAMBLE_FALLBACK;
    int fd = dial_wait(u->start.addresses,
                       has_fallback ? CONNECT_FALLBACK_SECONDS : CONNECT_SECONDS, err);
    if (fd >= 0) {
        address_own(fd, u->own_address, sizeof(u->own_address));
        return fd;
    }
    if (!has_fallback || ask_for_start_channel(u, err) < 0)
        remove_launcher_home(u, true);
    return -1;
}

int uplink_connect(struct uplink *u, struct error *err)
{
    int in = -1, out;
    if (!u->is_start_channel)
        in = out = connect_by_address(u, err);
    if (u->is_start_channel) {
        in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    }
    if (in < 0)
        return -1;
    struct link_options o = link_options(u);
    u->link = link_create(u->services->loop, in, out, &o, "mprun", &up_events, u, err);
    return u->link ? 0 : -1;
}

/* ---- life ------------------------------------------------------------------------------------ */

void uplink_init(struct uplink *u, const struct starter_services *services, struct preamble *start,
                 const struct uplink_events *events, void *arg)
{
    *u = (struct uplink){.services = services,
                         .start = *start,
                         .events = events,
                         .arg = arg,
                         .is_start_channel = start->flags & PREAMBLE_STDIO};
    explicit_bzero(start->key, sizeof(start->key));
}

void uplink_close(struct uplink *u)
{
    link_destroy(u->link);
    link_destroy(u->first);
    link_destroy(u->joining);
    uplink_forget_key(u);
}

void uplink_forget_key(struct uplink *u)
{
    sodium_memzero(u->start.key, sizeof(u->start.key));
}

void uplink_cut(struct uplink *u, bool mprun_has_gone)
{
    link_destroy(take_ptr(u->link));
    remove_launcher_home(u, mprun_has_gone);
}

/* ---- sending --------------------------------------------------------------------------------- */

void uplink_send(struct uplink *u, enum frame_type type, const ProtobufCMessage *m)
{
    if (u->link)
        link_send(u->link, type, m);
}

void uplink_send_bytes(struct uplink *u, enum frame_type type, const void *p, size_t n)
{
    if (u->link)
        link_send_bytes(u->link, type, p, n);
}

void uplink_flush(struct uplink *u)
{
    if (u->link)
        link_flush(u->link);
}

void uplink_fault_point(struct uplink *u, const char *phase)
{
    if (FAULT_BUILD)
        uplink_flush(u);
    fault_point(phase);
}
