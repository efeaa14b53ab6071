/* SPDX-License-Identifier: BSD-3-Clause */
/* mppmi - serves PMIx to the ranks of one host
 *
 *     mppmi --fd N      started by mpstarter's worker, never by people
 *
 * Descriptor N is a socket to the worker. It lives as long as that socket does. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/number.h"
#include "pmix-server/client.h"
#include "pmix-server/dmodex.h"
#include "pmix-server/fence.h"
#include "pmix-server/nspace.h"
#include "pmix-server/server.h"
#include "pmix-server/warm.h"

/* Only the worker ends us: a signal to the job's processes is for the ranks to act on. */
static void ignore_signals(void)
{
    static const int signals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                                  SIGUSR2, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_IGN);
}

static void on_init(struct server *s, const void *message, struct error *err)
{
    server_start(s, message, err);
}

static void on_world(struct server *s, const void *message, struct error *err)
{
    if (!s->pmix_is_up)
        error_set(err, EPROTO, "take a world: PMI_INIT has not come");
    else
        nspace_register(s, message, err);
}

static void on_gone(struct server *s, const void *message, struct error *err)
{
    client_gone(s, message);
}

static void on_collected(struct server *s, const void *message, struct error *err)
{
    collective_answer(s, message);
}

static void on_modex_request(struct server *s, const void *message, struct error *err)
{
    dmodex_serve(s, message);
}

static void on_modex_reply(struct server *s, const void *message, struct error *err)
{
    dmodex_answer(s, message);
}

static void on_end(struct server *s, const void *message, struct error *err)
{
    server_end(s);
}

static const struct {
    const ProtobufCMessageDescriptor *descriptor; /* NULL: not for us */
    void (*act)(struct server *s, const void *message, struct error *err);
} actions[FRAME_TYPE_COUNT] = {
    [FRAME_PMI_INIT] = {&mprun__pmi_init__descriptor, on_init},
    [FRAME_PMI_WORLD] = {&mprun__pmi_world__descriptor, on_world},
    [FRAME_PMI_GONE] = {&mprun__pmi_gone__descriptor, on_gone},
    [FRAME_PMI_END] = {&mprun__pmi_end__descriptor, on_end},
    [FRAME_COLLECTED] = {&mprun__collected__descriptor, on_collected},
    [FRAME_MODEX_REQUEST] = {&mprun__modex_request__descriptor, on_modex_request},
    [FRAME_MODEX_REPLY] = {&mprun__modex_reply__descriptor, on_modex_reply},
};

static void on_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *payload,
                     size_t n)
{
    struct server *s = arg;
    struct error err = {.code = 0};
    ProtobufCMessage *m = NULL;
    if (s->exit_code) /* failed; what still comes in is of no use */
        return;
    if (!actions[type].descriptor)
        error_set(&err, EPROTO, "message %s is not for mppmi", frame_type_text(type));
    else if (!(m = protobuf_c_message_unpack(actions[type].descriptor, NULL, n, payload)))
        error_set(&err, EPROTO, "read message %s: it is damaged", frame_type_text(type));
    else
        actions[type].act(s, m, &err);
    if (m)
        protobuf_c_message_free_unpacked(m, NULL);
    if (err.text[0])
        server_fail(s, &err);
}

/* The worker is dead, and its ranks die. */
static void on_closed(void *arg, struct link *l, const struct error *why)
{
    struct server *s = arg;
    s->exit_code = 1;
    loop_stop(s->loop);
}

static const struct link_events events = {.frame = on_frame, .closed = on_closed};

static int parse_fd(int argc, char **argv, int *ret, struct error *err)
{
    int64_t fd;
    if (argc != 3 || strcmp(argv[1], "--fd"))
        return error_set(err, EINVAL, "usage: mppmi --fd N (mpstarter starts it)");
    if (number_parse(argv[2], "--fd", 3, 1 << 20, &fd, err) < 0)
        return -1;
    *ret = (int)fd;
    return 0;
}

static int open_server(struct server *s, int fd, struct error *err)
{
    static const struct link_options options = {.role = LINK_TRUSTED};
    warm_up(fd);
    s->loop = loop_create(err);
    if (!s->loop || server_prepare(s, err) < 0)
        return -1;
    s->link = link_create(s->loop, fd, fd, &options, "mpstarter", &events, s, err);
    return s->link ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct server s = {.worlds = NULL};
    struct error err;
    int fd = -1;
    log_open("mppmi", LOG_WARN);
    ignore_signals();
    if (parse_fd(argc, argv, &fd, &err) < 0 || open_server(&s, fd, &err) < 0) {
        log_error("%s", err.text);
        return 1;
    }
    loop_run(s.loop);
    server_stop(&s);
    _exit(s.exit_code);
}
