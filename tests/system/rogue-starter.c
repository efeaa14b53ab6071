/* SPDX-License-Identifier: BSD-3-Clause */
/* rogue-starter.c - an mpstarter that knows the key and says what no starter says; for rogue.bats
 *
 * $ROGUE: what, and the type of a frame by name:
 *     junk TYPE     after HELLO, bytes that are no message
 *     empty TYPE    after HELLO, the message with nothing in it
 *     first TYPE    the same in the place of HELLO
 *     code0         CANNOT_RUN with exit code 0
 *     wrap          after LAUNCH, a rank that ended by signal 128, then a report and all that
 *     flood         after HELLO, a message in parts without end
 * Then it waits for the end of the link. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/rank-end.h"
#include "wire/link/key-proof.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"
#include "wire/start-channel/preamble.h"
#include "wire/transport/address.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#include "wire/transport/dial.h"
#endif

struct rogue {
    struct loop *loop;
    struct preamble start;
    char what[16];
    enum frame_type type;
};

static void hello(const struct rogue *r, struct link *l)
{
    Mprun__Hello m = MPRUN__HELLO__INIT;
    m.version = PACKAGE_VERSION;
    m.hostname = bytes_of("rogue");
    link_send(l, FRAME_HELLO, &m.base);
}

static int opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    static const uint8_t junk[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                   0xff, 0xff, 0xff, 0xff, 0xff};
    struct rogue *r = arg;
    if (strcmp(r->what, "first") == 0) {
        link_send_bytes(l, r->type, NULL, 0);
        return 0;
    }
    hello(r, l);
    if (strcmp(r->what, "junk") == 0)
        link_send_bytes(l, r->type, junk, sizeof(junk));
    else if (strcmp(r->what, "empty") == 0)
        link_send_bytes(l, r->type, NULL, 0);
    else if (strcmp(r->what, "code0") == 0) {
        Mprun__CannotRun m = MPRUN__CANNOT_RUN__INIT;
        Mprun__Cleaned cleaned = MPRUN__CLEANED__INIT;
        m.text = "no reason";
        link_send(l, FRAME_CANNOT_RUN, &m.base);
        link_send(l, FRAME_CLEANED, &cleaned.base);
    } else if (strcmp(r->what, "flood") == 0) {
        size_t n = MESSAGE_MAX;
        uint8_t *much = calloc(1, n);
        for (int i = 0; much && i < 3; i++)
            link_send_bytes(l, FRAME_STARTED, much, n);
        free(much);
    }
    return 0;
}

static void wrap(struct link *l)
{
    Mprun__Exited e = MPRUN__EXITED__INIT;
    Mprun__RankName name = MPRUN__RANK_NAME__INIT;
    Mprun__Report report = MPRUN__REPORT__INIT;
    Mprun__Cleaned cleaned = MPRUN__CLEANED__INIT;
    e.name = &name;
    e.cause = END_SIGNAL;
    e.code = 128;
    e.time_ns = 1;
    link_send(l, FRAME_EXITED, &e.base);
    link_send(l, FRAME_REPORT, &report.base);
    link_send(l, FRAME_CLEANED, &cleaned.base);
}

static void frame(void *arg, struct link *l, enum frame_type type, const uint8_t *p, size_t n)
{
    struct rogue *r = arg;
    if (type == FRAME_LAUNCH && strcmp(r->what, "wrap") == 0)
        wrap(l);
    if (type == FRAME_RELEASE)
        loop_stop(r->loop);
}

static void closed(void *arg, struct link *l, const struct error *why)
{
    loop_stop(((struct rogue *)arg)->loop);
}

int main(void)
{
    static const struct link_events events = {.opened = opened, .frame = frame, .closed = closed};
    struct rogue r = {.type = FRAME_NONE};
    struct error e;
    char type[32] = "none";
    const char *rogue = getenv("ROGUE");
    signal(SIGPIPE, SIG_IGN);
    if (!rogue || sscanf(rogue, "%15s %31s", r.what, type) < 1 ||
        write(STDOUT_FILENO, PREAMBLE_READY, strlen(PREAMBLE_READY)) < 0 ||
        preamble_read(STDIN_FILENO, &r.start, &e) < 0 || handshake_library_init(&e) < 0 ||
        !(r.loop = loop_create(&e)))
        return 1;
    while (r.type < FRAME_TYPE_COUNT && strcmp(frame_type_text(r.type), type) != 0)
        r.type++;
    struct link_options o = {
        .role = LINK_CONNECTOR, .key = r.start.key, .host_id = r.start.host_id};
    int fd = dial_wait(r.start.addresses, 5, &e);
    if (fd < 0)
        return 1;
    struct link *l = link_create(r.loop, fd, fd, &o, "mprun", &events, &r, &e);
    if (!l)
        return 1;
    loop_run(r.loop);
    link_destroy(l);
    loop_destroy(r.loop);
    return 0;
}
