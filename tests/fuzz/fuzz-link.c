/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-link.c - any bytes from the other end of a connection: a link takes frames or dies with a
 * sentence, once, and is never open to who does not know the key
 *
 * The first byte of the input chooses the kind of link. */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/link/key-proof.h"
#include "wire/link/link.h"

struct peer {
    struct loop *loop;
    enum link_role role;
    unsigned frames, closed;
};

static int opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    MUST(!"open without the key");
    return 0;
}

static void frame(void *arg, struct link *l, enum frame_type type, const uint8_t *payload, size_t n)
{
    struct peer *p = arg;
    unsigned sum = 0;
    MUST(p->role == LINK_TRUSTED && !p->closed);
    MUST(type > FRAME_NONE && type < FRAME_TYPE_COUNT && n <= MESSAGE_MAX);
    for (size_t i = 0; i < n; i++) /* every byte is there */
        sum += payload[i];
    p->frames += 1 + (sum == 0);
}

static void closed(void *arg, struct link *l, const struct error *why)
{
    struct peer *p = arg;
    MUST(why->text[0] && !p->closed);
    p->closed = 1;
    loop_stop(p->loop);
}

static const struct link_events events = {.opened = opened, .frame = frame, .closed = closed};
static const uint8_t key[LINK_KEY] = "a key that no input can know";

/* A socket whose other end has sent data and will send no more. Returns that other end. */
static int sender(const uint8_t *data, size_t size, int *ret_other)
{
    int fds[2], room = (int)size * 2 + 65536;
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    ssize_t n = send(fds[0], data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)n; /* what does not fit is another input's business */
    shutdown(fds[0], SHUT_WR);
    *ret_other = fds[1];
    return fds[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum link_role roles[] = {LINK_TRUSTED, LINK_CONNECTOR, LINK_ACCEPTOR};
    static struct loop *loop;
    struct error err;
    if (!loop) {
        loop = loop_create(&err);
        MUST(loop && handshake_library_init(&err) == 0);
    }
    if (size == 0)
        return 0;
    struct peer peer = {.loop = loop, .role = roles[data[0] % 3]};
    struct link_options options = {
        .role = peer.role,
        .key = peer.role == LINK_TRUSTED ? NULL : key,
        .security = (enum link_security)((data[0] >> 6) % 3),
        .skip_noise = data[0] >> 7 && peer.role != LINK_TRUSTED,
    };
    int other, far = sender(data + 1, size - 1, &other);
    struct link *l = link_create(loop, other, other, &options, "fuzz", &events, &peer, &err);
    MUST(l);
    loop_run(loop);
    MUST(peer.closed == 1);
    link_destroy(l);
    close(far);
    return 0;
}
