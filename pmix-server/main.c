/* SPDX-License-Identifier: BSD-3-Clause */
/* mppmi - serves PMIx to the ranks of one host
 *
 *     mppmi --fd N        started by mpstarter's worker, never by people
 *     mppmi --variables   when mprun is built: writes what ranks are told before mppmi runs
 *
 * Descriptor N is a socket to the worker. It lives as long as that socket does. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/processes/own-stack.h"
#include "common/text/words.h"
#include "common/text/number.h"
#include "pmix-server/pmix/library.h"
#include "pmix-server/pmix/library-socket.h"
#include "pmix-server/pmix/nspace.h"
#include "pmix-server/pmix/print-variables.h"
#include "pmix-server/pmix/publish.h"
#include "pmix-server/pmix/spawn.h"
#include "pmix-server/server.h"
#include "pmix-server/simple-pmi/simple-pmi.h"

/* Only the worker ends mppmi; signals to the job's processes are for its ranks. */
static void ignore_signals(void)
{
    static const int signals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,
                                  SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGXFSZ};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_IGN);
}

struct mppmi {
    struct server server;
    struct hwloc_topology *topology;
};

static void on_init(struct mppmi *p, const void *message, struct error *err)
{
    const Mprun__PmiInit *m = message;
    if (server_init(&p->server, m, err) < 0)
        return;
    if (m->pmix_fd) {
        library_socket_use((int)m->pmix_fd);
        library_be_foreseeable();
    }
    if (m->simple_pmi_fd)
        simple_pmi_listen(&p->server, (int)m->simple_pmi_fd);
    library_start(p->topology, &p->server, m->topology_xml, err);
}

static void on_world(struct mppmi *p, const void *message, struct error *err)
{
    const Mprun__PmiWorld *m = message;
    if (!p->server.directory)
        error_set(err, EPROTO, "take a world: PMI_INIT has not come");
    else if (m->of_other_step)
        nspace_register_other(&p->server, m);
    else
        nspace_register(&p->server, message, err);
}

/* The answer has to come after everything that the rank has still sent. */
static void on_gone(struct mppmi *p, const void *message, struct error *err)
{
    const Mprun__PmiGone *m = message;
    if (!m->name)
        return;
    simple_pmi_rank_gone(&p->server.simple_pmi, m->name->world, m->name->rank);
    server_tell_gone(&p->server, m->name);
}

static void on_collected(struct mppmi *p, const void *message, struct error *err)
{
    collective_answer(&p->server, message);
}

static void on_modex_request(struct mppmi *p, const void *message, struct error *err)
{
    dmodex_serve(&p->server, message);
}

static void on_modex_reply(struct mppmi *p, const void *message, struct error *err)
{
    dmodex_answer(&p->server, message);
}

static void on_name_reply(struct mppmi *p, const void *message, struct error *err)
{
    publish_answer(&p->server, message);
}

static void on_spawned(struct mppmi *p, const void *message, struct error *err)
{
    spawn_answer(&p->server, message);
}

static void on_world_end(struct mppmi *p, const void *message, struct error *err)
{
    const Mprun__WorldEnd *m = message;
    nspace_end(&p->server, m->world);
}

static void on_event(struct mppmi *p, const void *message, struct error *err)
{
    event_take(&p->server, message);
}

static void on_rank_table(struct mppmi *p, const void *message, struct error *err)
{
    query_take_table(&p->server, message);
}

static void on_hosts_usage(struct mppmi *p, const void *message, struct error *err)
{
    query_take_usage(&p->server, message);
}

static void on_input_pushed(struct mppmi *p, const void *message, struct error *err)
{
    push_answer(&p->server, message);
}

static void on_end(struct mppmi *p, const void *message, struct error *err)
{
    server_end(&p->server);
}

/* NULL: the message is not for mppmi. */
static void (*const actions[FRAME_TYPE_COUNT])(struct mppmi *p, const void *message,
                                               struct error *err) = {
    [FRAME_PMI_INIT] = on_init,           [FRAME_PMI_WORLD] = on_world,
    [FRAME_PMI_GONE] = on_gone,           [FRAME_PMI_END] = on_end,
    [FRAME_COLLECTED] = on_collected,     [FRAME_MODEX_REQUEST] = on_modex_request,
    [FRAME_NAME_REPLY] = on_name_reply,   [FRAME_SPAWNED] = on_spawned,
    [FRAME_WORLD_END] = on_world_end,     [FRAME_RANK_TABLE] = on_rank_table,
    [FRAME_HOSTS_USAGE] = on_hosts_usage, [FRAME_INPUT_PUSHED] = on_input_pushed,
    [FRAME_PMI_EVENT] = on_event,         [FRAME_MODEX_REPLY] = on_modex_reply,
};

static void on_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *payload,
                     size_t n)
{
    struct mppmi *p = arg;
    struct error err = {.code = 0};
    ProtobufCMessage *m = NULL;
    if (p->server.exit_code) /* the server has failed: ignore further messages */
        return;
    if (type == FRAME_OUTPUT && iof_take(&p->server, payload, n) == 0)
        return;
    if (!actions[type])
        error_set(&err, EPROTO, "message %s is not for mppmi", frame_type_text(type));
    else if (!(m = frame_unpack(type, payload, n)))
        error_set(&err, EPROTO, "read message %s: it is damaged", frame_type_text(type));
    else
        actions[type](p, m, &err);
    protobuf_c_message_free_unpacked(m, NULL);
    if (err.text[0])
        server_fail(&p->server, &err);
}

/* The worker is dead, and its ranks die with it; or a rank has asked for more than a message takes.
 */
static void on_closed(void *arg, struct link *l, const struct error *why)
{
    struct mppmi *p = arg;
    if (why->code == EMSGSIZE)
        log_error("%s", why->text);
    server_lose(&p->server);
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

static int run_program(int argc, char **argv)
{
    struct mppmi p = {.topology = NULL};
    struct error err;
    int fd = -1;
    log_open("mppmi", LOG_WARN);
    log_set_escape(text_escape);
    ignore_signals();
    if (argc == 2 && strcmp(argv[1], "--variables") == 0)
        _exit(print_variables());
    if (parse_fd(argc, argv, &fd, &err) < 0 || !(p.topology = library_prepare(&err)) ||
        server_open(&p.server, fd, &events, &err) < 0) {
        log_error("%s", err.text);
        return 1;
    }
    loop_run(p.server.loop);
    library_stop(&p.server);
    _exit(p.server.exit_code);
}

int main(int argc, char **argv)
{
    return own_stack_run(run_program, argc, argv);
}
