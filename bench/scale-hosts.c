/* SPDX-License-Identifier: BSD-3-Clause */
/* scale-hosts - the starters of many hosts in one process, for bench/scale
 *
 * Each endpoint speaks the protocol as mpstarter does (starter/links/uplink.c and child-hosts.c,
 * starter/launcher-messages.c): it connects, proves the key, says HELLO, takes its place in the
 * tree, passes on what is not its own, and answers LAUNCH. There is no keeper, no cgroup, no PMI
 * server and no rank: ranks are said to run, and to have ended once those of all hosts run.
 * Preambles come one after the other on standard input.
 *
 * With an argument the hosts do a fence before that, with so many bytes from each: the parts are
 * gathered in the tree, and everybody gets all. How long that took is printed. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/log.h"
#include "model/rank-end.h"
#include "wire/link/key-proof.h"
#include "wire/link/listener.h"
#include "wire/messages/launch.h"
#include "wire/start-channel/preamble.h"
#include "wire/transport/address.h"
#include "wire/tree/gather.h"
#include "wire/tree/tree.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"
#include "wire/transport/dial.h"
#endif

#define CONNECT_SECONDS 30.0
enum { CONNECTS_A_TURN = 8 }; /* of the loop: others are served in between */

struct below {
    struct endpoint *endpoint;
    struct link *link; /* NULL: not there, or gone */
};

struct endpoint {
    struct simulation *s;
    uint32_t id;
    struct link *up, *first, *joining; /* as in starter/links/uplink.c */
    struct below *below;
    uint32_t first_below, nbelow, nlinked;
    struct listener *door;
    struct gather *gather; /* of collectives; NULL where nobody is below */
    unsigned launched : 1, killed : 1, reported : 1, released : 1, gone : 1;
};

struct simulation {
    struct loop *loop;
    struct buffer in;
    struct loop_io *in_io;
    struct loop_defer connects;
    struct preamble start; /* the same for all, but for the host's number */
    struct endpoint **endpoints;
    size_t nendpoints, connected, ngone; /* connected: those that were tried */
    char own_address[64];
    uint32_t fanout, nhosts;
    struct launch launch;
    int have_launch;
    size_t nstarted;
    struct gather_rules rules;
    size_t fence_bytes; /* of each host; 0: no fence */
    double fence_begun;
    size_t nfenced;
};

static void fails(const char *what, const struct error *why)
{
    fprintf(stderr, "scale-hosts: %s: %s\n", what, why->text);
    exit(1);
}

/* ---- messages up ----------------------------------------------------------------------------- */

static void send_hello(struct endpoint *e)
{
    Mprun__Hello m = MPRUN__HELLO__INIT;
    char name[32];
    snprintf(name, sizeof(name), "simulated%u", e->id);
    m.version = PACKAGE_VERSION;
    m.hostname = bytes_of(name);
    m.worker_pid = (uint64_t)getpid();
    m.allowed_threads = (char *)(uintptr_t) "0-63";
    m.allowed_cores = 64;
    m.memory = 1ull << 36;
    link_send(e->up, FRAME_HELLO, &m.base);
}

/* Without paths: should the simulation end before its time, mprun would remove what they name. */
static void send_ready(struct endpoint *e)
{
    static const char reason[] = "a text as long as those of two cgroups and a directory, such as "
                                 "/sys/fs/cgroup/system.slice/job.scope/mprun.abcdefghijkl-0/ranks";
    Mprun__Ready m = MPRUN__READY__INIT;
    m.cgroup_kind = (char *)(uintptr_t) "v2";
    m.tracking_reason = (char *)(uintptr_t)reason;
    m.cores = 64;
    link_send(e->up, FRAME_READY, &m.base);
}

static struct rank_name rank_of(const struct endpoint *e, uint32_t i)
{
    return rank_set_at(&e->s->launch.hosts[e->id].ranks, i);
}

static uint32_t ranks_of(const struct endpoint *e)
{
    return e->launched ? rank_set_count(&e->s->launch.hosts[e->id].ranks) : 0;
}

static void send_started(struct endpoint *e)
{
    for (uint32_t i = 0; i < ranks_of(e); i++) {
        Mprun__RankName name;
        Mprun__Started__Rank rank = MPRUN__STARTED__RANK__INIT, *list = &rank;
        Mprun__Started m = MPRUN__STARTED__INIT;
        rank_name_pack(rank_of(e, i), &name);
        rank.name = &name;
        rank.pid = 4711;
        rank.time_ns = loop_wallclock_ns();
        rank.bound_threads = (char *)(uintptr_t) "0";
        m.n_ranks = 1;
        m.ranks = &list;
        link_send(e->up, FRAME_STARTED, &m.base);
    }
}

static void fill_usage(struct packed_usage *ret)
{
    struct usage u = {0};
    usage_set(&u, USAGE_CPU_USER, 1000);
    usage_set(&u, USAGE_CPU_SYSTEM, 1000);
    usage_set(&u, USAGE_WALL, 10000);
    usage_set(&u, USAGE_RSS_PEAK, 1 << 20);
    usage_pack(&u, ret);
}

static void send_exited(struct endpoint *e, uint32_t i)
{
    Mprun__RankName name;
    struct packed_usage usage;
    Mprun__Exited m = MPRUN__EXITED__INIT;
    rank_name_pack(rank_of(e, i), &name);
    fill_usage(&usage);
    m.name = &name;
    m.cause = e->killed ? END_KILLED : END_OK;
    m.killed_by_us = e->killed;
    m.time_ns = loop_wallclock_ns();
    m.usage = &usage.message;
    link_send(e->up, FRAME_EXITED, &m.base);
}

static void send_report(struct endpoint *e)
{
    struct packed_usage usage;
    Mprun__Report m = MPRUN__REPORT__INIT;
    Mprun__Cleaned cleaned = MPRUN__CLEANED__INIT;
    fill_usage(&usage);
    m.starter = &usage.message;
    m.step = &usage.message;
    link_send(e->up, FRAME_REPORT, &m.base);
    link_send(e->up, FRAME_CLEANED, &cleaned.base);
}

/* ---- its life -------------------------------------------------------------------------------- */

/* As a starter does: when it was told to go, and all below have gone. */
static void maybe_gone(struct endpoint *e)
{
    struct simulation *s = e->s;
    if (!e->released || e->nlinked > 0 || e->gone)
        return;
    e->gone = 1;
    link_destroy(e->up);
    link_destroy(e->first);
    link_destroy(e->joining);
    listener_destroy(e->door);
    gather_destroy(e->gather);
    e->gather = NULL;
    e->up = e->first = e->joining = NULL;
    e->door = NULL;
    if (++s->ngone == s->nendpoints)
        loop_stop(s->loop);
}

static void end(struct endpoint *e)
{
    if (e->reported || !e->up)
        return;
    e->reported = 1;
    for (uint32_t i = 0; i < ranks_of(e); i++)
        send_exited(e, i);
    send_report(e);
}

/* mprun, or a host above, has gone: so do all below. */
static void let_go_all(struct endpoint *e)
{
    for (uint32_t i = 0; i < e->nbelow; i++) {
        link_destroy(e->below[i].link);
        e->below[i].link = NULL;
    }
    e->nlinked = 0;
    e->released = 1;
    maybe_gone(e);
}

/* ---- a fence --------------------------------------------------------------------------------- */

static int awaited(void *arg, uint32_t host)
{
    const struct endpoint *e = arg;
    return host == e->id || tree_way(e->id, host, e->s->fanout) != TREE_LAUNCHER;
}

static void gathered(void *arg, const Mprun__Collect *m)
{
    struct endpoint *e = arg;
    link_send(e->up, FRAME_COLLECT, &m->base);
}

static void collect(struct endpoint *e, const uint8_t *p, size_t n)
{
    struct error err;
    if (!e->gather)
        link_send_bytes(e->up, FRAME_COLLECT, p, n);
    else if (gather_add(e->gather, p, n, &err) < 0)
        fails("COLLECT", &err);
}

static void send_part(struct endpoint *e)
{
    struct simulation *s = e->s;
    Mprun__Collect m = MPRUN__COLLECT__INIT;
    Mprun__Collect__Part part = MPRUN__COLLECT__PART__INIT, *parts = &part;
    uint8_t *data = calloc(1, s->fence_bytes), *packed = malloc(s->fence_bytes + 256);
    if (!data || !packed)
        abort();
    part.host = e->id;
    part.data = (ProtobufCBinaryData){.len = s->fence_bytes, .data = data};
    m.signature = bytes_of("fence");
    m.n_parts = 1;
    m.parts = &parts;
    collect(e, packed, mprun__collect__pack(&m, packed));
    free(data);
    free(packed);
}

static void end_all(struct simulation *s)
{
    for (size_t i = 0; i < s->nendpoints; i++)
        end(s->endpoints[i]);
}

static void fence(struct simulation *s)
{
    s->fence_begun = loop_now();
    for (size_t i = 0; i < s->nendpoints; i++)
        send_part(s->endpoints[i]);
}

static void take_collected(struct endpoint *e, const uint8_t *p, size_t n)
{
    struct simulation *s = e->s;
    Mprun__Collected *m = mprun__collected__unpack(NULL, n, p);
    if (!m || m->status != 0 || m->data.len != s->nendpoints * s->fence_bytes)
        fails("COLLECTED", &(struct error){.text = "it is not what was sent"});
    mprun__collected__free_unpacked(m, NULL);
    if (++s->nfenced < s->nendpoints)
        return;
    fprintf(stderr, "fence of %zu bytes from each of %zu hosts: %.6f s\n", s->fence_bytes,
            s->nendpoints, loop_now() - s->fence_begun);
    end_all(s);
}

/* ---- those below ----------------------------------------------------------------------------- */

static void below_closed(void *arg, struct link *l, const struct error *why)
{
    struct below *b = arg;
    link_destroy(l);
    b->link = NULL;
    b->endpoint->nlinked--;
    maybe_gone(b->endpoint);
}

static void below_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct below *b = arg;
    if (type == FRAME_COLLECT)
        collect(b->endpoint, p, n);
    else if (b->endpoint->up)
        link_relay(b->endpoint->up, link_frame_host(l), type, p, n);
}

static const struct link_events below_events = {.frame = below_frame, .closed = below_closed};

static int arrived(void *arg, struct link *l, uint32_t host, struct error *why)
{
    struct endpoint *e = arg;
    if (host < e->first_below || host - e->first_below >= e->nbelow)
        return error_set(why, EINVAL, "host %u is not below this one", host);
    struct below *b = &e->below[host - e->first_below];
    if (b->link)
        return error_set(why, EBUSY, "host %u is here already", host);
    b->link = l;
    e->nlinked++;
    link_set_events(l, &below_events, b);
    return 0;
}

static void refused(void *arg, const char *peer, const struct error *why)
{
    fprintf(stderr, "scale-hosts: refused %s: %s\n", peer, why->text);
}

static const struct listen_events door_events = {.arrived = arrived, .refused = refused};

static int listen_below(struct endpoint *e, char address[ADDRESS_TEXT], struct error *err)
{
    struct simulation *s = e->s;
    char home[PREAMBLE_ADDRESSES], path[PREAMBLE_ADDRESSES + 32];
    if (s->own_address[0]) {
        unsigned port;
        int fd = address_listen(s->own_address, NULL, &port, err);
        if (fd >= 0)
            address_of_ip(s->own_address, port, address);
        return fd;
    }
    if (!address_home(s->start.addresses, home, sizeof(home)))
        return error_set(err, ENOENT, "no directory for its socket");
    snprintf(path, sizeof(path), "%s/link.%u", home, e->id);
    return address_listen_unix(path, address, err);
}

static void open_door(struct endpoint *e)
{
    struct simulation *s = e->s;
    struct error err;
    char address[ADDRESS_TEXT];
    Mprun__Door m = MPRUN__DOOR__INIT;
    int fd = listen_below(e, address, &err);
    enum link_security security =
        s->own_address[0] ? preamble_security(s->start.flags) : LINK_PLAIN;
    if (fd < 0)
        fails("open a door", &err);
    e->door = listener_create(s->loop, fd, s->start.key, security, &door_events, e);
    listener_resumable(e->door, &(struct link_options){.resume_seconds = s->start.link_grace});
    listener_expect(e->door, e->nbelow);
    m.addresses = address;
    link_send(e->up, FRAME_DOOR, &m.base);
}

/* ---- its place ------------------------------------------------------------------------------- */

static struct link *connect_to(struct endpoint *e, const char *addresses,
                               const struct link_events *events)
{
    struct simulation *s = e->s;
    struct error err;
    struct link_options o = {.role = LINK_CONNECTOR,
                             .key = s->start.key,
                             .host_id = e->id,
                             .security = preamble_security(s->start.flags),
                             .resume_seconds = s->start.link_grace,
                             .addresses = addresses};
    int fd = dial_wait(addresses, CONNECT_SECONDS, &err);
    if (fd >= 0 && !s->own_address[0])
        address_own(fd, s->own_address, sizeof(s->own_address));
    struct link *l = fd < 0 ? NULL : link_create(s->loop, fd, fd, &o, "above", events, e, &err);
    if (!l)
        fails("connect", &err);
    return l;
}

static void say_joined(struct link *l)
{
    Mprun__Joined m = MPRUN__JOINED__INIT;
    link_send(l, FRAME_JOINED, &m.base);
}

static const struct link_events up_events;

static int above_opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    struct endpoint *e = arg;
    e->first = e->up;
    e->up = l;
    e->joining = NULL;
    link_set_events(l, &up_events, e);
    say_joined(e->first);
    say_joined(e->up);
    if (e->nbelow > 0)
        open_door(e);
    return 0;
}

static void above_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
}

static void above_closed(void *arg, struct link *l, const struct error *why)
{
    fails("join the host above", why);
}

static const struct link_events above_events = {
    .opened = above_opened, .frame = above_frame, .closed = above_closed};

static void take_place(struct endpoint *e, const uint8_t *p, size_t n)
{
    struct simulation *s = e->s;
    Mprun__Place *m = mprun__place__unpack(NULL, n, p);
    if (!m)
        abort();
    s->fanout = m->fanout;
    s->nhosts = m->nhosts;
    e->first_below = tree_first_child(e->id, m->fanout, m->nhosts);
    e->nbelow = tree_children(e->id, m->fanout, m->nhosts);
    e->below = calloc(e->nbelow + 1, sizeof(*e->below));
    for (uint32_t i = 0; e->below && i < e->nbelow; i++)
        e->below[i].endpoint = e;
    s->rules = (struct gather_rules){.nhosts = m->nhosts, .awaited = awaited, .complete = gathered};
    if (e->nbelow > 0)
        e->gather = gather_create(&s->rules, e);
    if (!m->stay)
        e->joining = connect_to(e, m->parent_addresses, &above_events);
    else if (e->nbelow > 0)
        open_door(e);
    mprun__place__free_unpacked(m, NULL);
}

/* ---- from above ------------------------------------------------------------------------------ */

static void launch(struct endpoint *e, const uint8_t *p, size_t n)
{
    struct simulation *s = e->s;
    struct error err;
    if (!s->have_launch && launch_unpack(p, n, e->id, &s->launch, &err) < 0)
        fails("LAUNCH", &err); /* the same bytes for all: read once */
    s->have_launch = 1;
    e->launched = 1;
    send_ready(e);
    send_started(e);
    if (++s->nstarted < s->nendpoints)
        return;
    if (s->fence_bytes)
        fence(s);
    else
        end_all(s);
}

/* 1: it is for this host, too. */
static int pass_down(struct endpoint *e, uint32_t host, enum frame_type type, const uint8_t *p,
                     size_t n)
{
    if (host == e->id)
        return 1;
    for (uint32_t i = 0; host == FRAME_EVERY_HOST && i < e->nbelow; i++)
        if (e->below[i].link)
            link_relay(e->below[i].link, host, type, p, n);
    if (host == FRAME_EVERY_HOST)
        return 1;
    uint32_t way = tree_way(e->id, host, e->s->fanout);
    if (way != TREE_LAUNCHER && e->below[way - e->first_below].link)
        link_relay(e->below[way - e->first_below].link, host, type, p, n);
    return 0;
}

static void up_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct endpoint *e = arg;
    if (!pass_down(e, link_frame_host(l), type, p, n))
        return;
    switch (type) {
    case FRAME_PLACE:
        take_place(e, p, n);
        break;
    case FRAME_LAUNCH:
        launch(e, p, n);
        break;
    case FRAME_COLLECTED:
        take_collected(e, p, n);
        break;
    case FRAME_KILL:
        e->killed = 1;
        end(e);
        break;
    case FRAME_PING:
        link_send_bytes(l, FRAME_PONG, NULL, 0);
        break;
    case FRAME_RELEASE:
        e->released = 1;
        maybe_gone(e);
        break;
    default:
        break;
    }
}

static int up_opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    send_hello(arg);
    return 0;
}

static void up_closed(void *arg, struct link *l, const struct error *why)
{
    struct endpoint *e = arg;
    link_destroy(l);
    if (l == e->first) {
        e->first = NULL;
        return;
    }
    e->up = NULL;
    let_go_all(e);
}

static const struct link_events up_events = {
    .opened = up_opened, .frame = up_frame, .closed = up_closed};

/* ---- preambles ------------------------------------------------------------------------------- */

static void connect_some(void *arg)
{
    struct simulation *s = arg;
    for (int i = 0; i < CONNECTS_A_TURN && s->connected < s->nendpoints; i++) {
        struct endpoint *e = s->endpoints[s->connected++];
        e->up = connect_to(e, s->start.addresses, &up_events);
    }
    if (s->connected < s->nendpoints)
        loop_defer_schedule(&s->connects);
}

static void add_endpoint(struct simulation *s, uint32_t id)
{
    struct endpoint **grown = reallocarray(s->endpoints, s->nendpoints + 1, sizeof(*s->endpoints));
    struct endpoint *e = calloc(1, sizeof(*e));
    if (!grown || !e)
        abort();
    *e = (struct endpoint){.s = s, .id = id};
    s->endpoints = grown;
    s->endpoints[s->nendpoints++] = e;
}

/* The bytes of the first preamble of the input, or -1: it is not whole, or none. */
static int take_preamble(struct simulation *s, struct error *err)
{
    AUTO_CLOSE int fd = memfd_create("preamble", MFD_CLOEXEC);
    if (fd < 0 || fd_write_all(fd, buffer_ptr(&s->in), buffer_len(&s->in)) < 0 ||
        lseek(fd, 0, SEEK_SET) < 0)
        return error_errno(err, errno, "keep the input");
    return preamble_read(fd, &s->start, err) < 0 ? -1 : (int)lseek(fd, 0, SEEK_CUR);
}

static void input_ready(void *arg, int fd, unsigned events)
{
    struct simulation *s = arg;
    struct error err;
    int used;
    ssize_t n = buffer_read(&s->in, fd, 64 * 1024);
    if (n < 0)
        return;
    while (buffer_len(&s->in) && (used = take_preamble(s, &err)) > 0) {
        buffer_consume(&s->in, (size_t)used);
        add_endpoint(s, s->start.host_id);
    }
    if (n == 0) {
        if (buffer_len(&s->in))
            fails("start parameters", &err);
        loop_io_destroy(s->in_io);
        s->in_io = NULL;
    }
    if (s->connected < s->nendpoints)
        loop_defer_schedule(&s->connects);
}

static void raise_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

int main(int argc, char **argv)
{
    struct simulation s = {0};
    struct error err;
    if (argc == 2)
        s.fence_bytes = strtoul(argv[1], NULL, 10);
    raise_limit();
    signal(SIGPIPE, SIG_IGN);
    log_open("scale-hosts", LOG_WARN);
    s.loop = loop_create(&err);
    if (!s.loop || handshake_library_init(&err) < 0)
        fails("begin", &err);
    fd_set_nonblock(STDIN_FILENO, 1);
    s.in_io = loop_io_create(s.loop, STDIN_FILENO, LOOP_READ, input_ready, &s);
    loop_defer_init(&s.connects, s.loop, connect_some, &s);
    loop_run(s.loop);
    return 0;
}
