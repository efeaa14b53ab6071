/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/statvfs.h>

#include "common/cleanup.h"
#include "common/processes/fault.h"
#include "common/log.h"
#include "common/must.h"
#include "common/files/path.h"
#include "common/processes/reaper.h"
#include "common/processes/spawn.h"
#include "model/rank-end.h"
#include "model/step.h"
#include "starter/containment/step-containment.h"
#include "starter/host-directories.h"
#include "starter/io/rank-io.h"
#include "starter/links/uplink.h"
#include "starter/pmi/pmi-private.h"
#include "starter/pmi/pmix-variables.h"
#include "starter/tunables.h"
#include "starter/services.h"
#include "starter/ending/step-end.h"
#include "wire/messages/launch.h"
#include "wire/messages/values.h"
#include "wire/mprun.pb-c.h"

extern char **environ;

/* ---- answers that are due -------------------------------------------------------------------- */

/* Counts seconds one by one: if this process was stopped for a while, that counts as one second.
 * The server was then stopped as well, and still has its time. */
static void expect_answer(struct pmi_server *p)
{
    p->silent = 0;
    if (!loop_timer_is_active(&p->watch))
        loop_timer_start(&p->watch, 1, 1);
}

bool pmi_server_owes_answer(const struct pmi_server *p)
{
    return p->pid > 0 && (p->gone_asked || p->is_asked_to_end || p->refuses || !p->link);
}

static void answer_due(void *arg)
{
    struct pmi_server *p = arg;
    bool is_starting = p->worlds_asked > 0;
    bool is_due = pmi_server_owes_answer(p);
    if (p->pid <= 0 || (!is_starting && !is_due)) {
        loop_timer_stop(&p->watch);
        return;
    }
    if (++p->silent < (is_due ? PMI_ANSWER_SECONDS : PMI_READY_SECONDS))
        return;
    loop_timer_stop(&p->watch);
    pmi_server_kill(p);
}

/* ---- messages -------------------------------------------------------------------------------- */

static int take_ready(void *server, void *message)
{
    struct pmi_server *p = server;
    const Mprun__PmiReady *m = message;
    if (p->worlds_asked)
        p->worlds_asked--;
    p->has_served = true;
    if (m->world > 0 || !p->ranks_are_ready)
        p->events->ready(p->arg, m->world, strings_unpack(m->env, m->n_env));
    p->ranks_are_ready = true;
    return 0;
}

/* Without room for its files the PMIx library says only "ERROR": adds the cause. */
static void explain_space(const char *directory, char *text, size_t size)
{
    struct statvfs fs;
    if (statvfs(directory, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < PMI_SPACE_NEEDED)
        snprintf(text, size, "; there is no space left where '%s' is", directory);
}

static void cannot_serve(const struct pmi_server *p, const char *why)
{
    char text[1024], space[200] = "";
    if (host_directories_memory(p->services->directories)[0])
        explain_space(host_directories_memory(p->services->directories), space, sizeof(space));
    snprintf(text, sizeof(text), "the PMI server on %s cannot serve: %s%s", p->host_name, why,
             space);
    step_end_cannot_run(p->services->end, EXIT_CODE_MPRUN, text);
}

static int take_failed(void *server, void *message)
{
    const Mprun__PmiFailed *m = message;
    cannot_serve(server, m->text);
    return 0;
}

static int take_client(void *server, void *message)
{
    struct pmi_server *p = server;
    const Mprun__PmiClient *m = message;
    p->events->client(p->arg, rank_name_unpack(m->name), m->connected);
    if (!p->has_told_client && p->services->up->link) {
        p->has_told_client = true;
        uplink_send(p->services->up, FRAME_PMI_CLIENT, &m->base);
    }
    return 0;
}

static int take_gone(void *server, void *message)
{
    struct pmi_server *p = server;
    const Mprun__PmiGone *m = message;
    if (p->gone_asked)
        p->gone_asked--;
    p->events->rank_gone(p->arg, rank_name_unpack(m->name));
    return 0;
}

static int take_collect(void *server, const uint8_t *payload, size_t n)
{
    struct pmi_server *p = server;
    p->events->collect(p->arg, payload, n);
    return 0;
}

static int take_output(void *server, const uint8_t *payload, size_t n)
{
    struct pmi_server *p = server;
    struct bulk_header h;
    struct error e;
    if (bulk_header_unpack(payload, n, &h, &e) < 0)
        return -1;
    if (rank_io_spend(p->services->io, h.stream, n - BULK_HEADER))
        uplink_send_bytes(p->services->up, FRAME_OUTPUT, payload, n);
    return 0;
}

static const struct frame_handler handlers[FRAME_TYPE_COUNT] = {
    [FRAME_OUTPUT] = {.take_bytes = take_output}, [FRAME_PMI_READY] = {.take = take_ready},
    [FRAME_PMI_FAILED] = {.take = take_failed},   [FRAME_PMI_CLIENT] = {.take = take_client},
    [FRAME_PMI_GONE] = {.take = take_gone},       [FRAME_COLLECT] = {.take_bytes = take_collect},
};

static void not_understood(struct pmi_server *p, enum frame_type type)
{
    char text[256];
    snprintf(text, sizeof(text),
             "the PMI server (mppmi, pid %d) on %s sent a message (%s) that the starter cannot "
             "read; are both of the same version?",
             (int)p->pid, p->host_name, frame_type_text(type));
    step_end_cannot_run(p->services->end, EXIT_CODE_MPRUN, text);
}

static bool is_passed_up(enum frame_type type)
{
    return type == FRAME_MODEX_REQUEST || type == FRAME_MODEX_REPLY || type == FRAME_ABORTED ||
           type == FRAME_PMI_EVENT || type == FRAME_NAME_REQUEST || type == FRAME_SPAWN ||
           type == FRAME_SIGNAL || type == FRAME_RANK_TABLE || type == FRAME_HOSTS_USAGE ||
           type == FRAME_OUTPUT_WANTED || type == FRAME_OUTPUT_CREDIT || type == FRAME_INPUT_PUSH;
}

static void frame(void *arg, struct link *l, enum frame_type type, const uint8_t *payload, size_t n)
{
    struct pmi_server *p = arg;
    p->silent = 0;
    if (is_passed_up(type))
        uplink_send_bytes(p->services->up, type, payload, n);
    else if (frame_handle(handlers, type, p, payload, n) < 0)
        not_understood(p, type);
}

static void closed(void *arg, struct link *l, const struct error *why)
{
    struct pmi_server *p = arg;
    link_destroy(take_ptr(p->link)); /* the exit status tells of the server's end */
    expect_answer(p);
}

static const struct link_events link_events = {.frame = frame, .closed = closed};

/* ---- life ------------------------------------------------------------------------------------ */

/* Says why the step cannot go on, with the exit code; NULL: the server ended as it should. */
static const char *why_ended(const struct pmi_server *p, pid_t pid, int status, char *text,
                             size_t size, int *ret_code)
{
    char how[320];
    *ret_code = EXIT_CODE_MPRUN;
    if ((p->is_asked_to_end && !p->refuses) || (p->was_killed && p->services->end->has_begun))
        return NULL;
    if (p->was_killed)
        snprintf(how, sizeof(how), "did not answer and was killed");
    else
        *ret_code =
            oom_kills_describe_end(&p->services->containment->oom_kills, status, how, sizeof(how));
    snprintf(text, size, "the PMI server (mppmi, pid %d) on %s %s; ending the step", (int)pid,
             p->host_name, how);
    return text;
}

static void server_ended(void *arg, pid_t pid, int status, const struct rusage *usage)
{
    struct pmi_server *p = arg;
    char text[640];
    int code;
    fault_register("mppmi", 0);
    if (p->link)
        link_read_rest(p->link); /* the server may have said why */
    p->pid = 0;
    p->usage = *usage;
    const char *why = why_ended(p, pid, status, text, sizeof(text), &code);
    p->events->ended(p->arg, why, code);
}

/* Lists what the server inherits beside standard error: its link to us, and the ranks' sockets. */
static int *inherited(const struct first_contact *c, int link, size_t *ret_n)
{
    size_t n = 0;
    int *fds = must(calloc(c->nconnections + 3, sizeof(*fds)));
    fds[n++] = link;
    if (c->pmix_fd >= 0)
        fds[n++] = c->pmix_fd;
    if (c->simple_pmi_fd >= 0)
        fds[n++] = c->simple_pmi_fd;
    for (size_t i = 0; i < c->nconnections; i++)
        if (c->connections[i].fd >= 0)
            fds[n++] = c->connections[i].fd;
    *ret_n = n;
    return fds;
}

static int spawn_server(struct pmi_server *p, int fd, int text_fd, struct error *err)
{
    char number[16];
    char *argv[] = {"mppmi", "--fd", number, NULL};
    struct spawn s;
    snprintf(number, sizeof(number), "%d", fd);
    spawn_init(&s);
    s.path = p->path;
    s.argv = argv;
    s.envp = environ;
    s.fds[2] = text_fd;
    AUTO_FREE int *fds = inherited(&p->contact, fd, &s.nkeep_fds);
    s.keep_fds = fds;
    s.parent_death_signal = SIGKILL;
    pid_t pid = spawn_process(&s, NULL, err);
    if (pid < 0)
        return -1;
    p->pid = pid;
    fault_register("mppmi", p->pid);
    reaper_add(p->services->reaper, p->pid, server_ended, p);
    return 0;
}

static int start(struct pmi_server *p, struct error *err)
{
    struct link_options trusted = {.role = LINK_TRUSTED};
    AUTO_CLOSE int theirs = -1;
    AUTO_CLOSE int text_write = -1;
    int pair[2];
    p->listens_instead = false;
    loop_timer_stop(&p->late);
    if (server_stderr_open(p, &text_write, err) < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, errno, "connect to the PMI server");
    theirs = pair[1];
    p->link =
        link_create(p->services->loop, pair[0], pair[0], &trusted, "mppmi", &link_events, p, err);
    if (!p->link || spawn_server(p, theirs, text_write, err) < 0)
        return error_context(err, "start the PMI server");
    pmi_init_send(p);
    pmi_server_add_world(p, p->services);
    first_contact_close(&p->contact);
    return 0;
}

/* The server is needed now. */
static void need(void *arg)
{
    struct pmi_server *p = arg;
    struct error err;
    if (p->listens_instead && start(p, &err) < 0)
        cannot_serve(p, err.text);
}

static void no_rank_has_asked(void *arg)
{
    struct pmi_server *p = arg;
    if (!p->services->end->has_begun)
        need(p);
}

struct pmi_server *pmi_server_create(const struct starter_services *services,
                                     const struct pmi_server_events *events, void *arg,
                                     struct error *err)
{
    static const char *const beside[] = {"mppmi", "../pmix-server/mppmi", NULL};
    AUTO_FREE char *path = path_find_helper(beside, PKGLIBEXECDIR "/mppmi", err);
    if (!path)
        return NULL;
    struct pmi_server *p = must(calloc(1, sizeof(*p)));
    *p = (struct pmi_server){.services = services,
                             .events = events,
                             .arg = arg,
                             .host_name = services->hostname,
                             .path = take_ptr(path),
                             .text.fd = -1};
    loop_timer_init(&p->watch, services->loop, answer_due, p);
    loop_timer_init(&p->late, services->loop, no_rank_has_asked, p);
    return p;
}

void pmi_server_destroy(struct pmi_server *p)
{
    if (!p)
        return;
    if (p->pid > 0)
        reaper_remove(p->services->reaper, p->pid);
    link_destroy(p->link);
    server_stderr_close(p);
    first_contact_close(&p->contact);
    loop_timer_stop(&p->watch);
    loop_timer_stop(&p->late);
    free(p->path);
    free(p);
}

/* ---- what the worker asks of it -------------------------------------------------------------- */

/* Returns the ranks' variables; NULL: ranks have to wait for the server's. */
static char **foresee_variables(const struct pmi_server *p)
{
    const struct step *step = &p->services->launch->step;
    const struct pmix_world world = {step->nspace, p->host_name, p->directory,
                                     p->contact.pmix_port};
    if (!(step->pmi & PMI_KIND_PMIX))
        return strings_unpack(NULL, 0);
    uint32_t most = step->pmi_is_expected ? PMIX_SENDS_RANKS : PMIX_SENDS_RANKS_IF_ASKED;
    return step->nranks <= most ? pmix_variables_foresee(p->path, &world) : NULL;
}

void pmi_server_begin(struct pmi_server *p)
{
    const struct launch *l = p->services->launch;
    struct error err;
    p->host_name = launch_here(l)->host;
    p->listens_instead = true;
    pmi_directory_make(p);
    if (first_contact_open(&p->contact, p->services->loop, p->directory, l->step.pmi, need, p,
                           &err) < 0) {
        cannot_serve(p, err.text);
        return;
    }
    char **env = foresee_variables(p);
    if (env) {
        p->ranks_are_ready = true;
        p->events->ready(p->arg, 0, env);
    } else {
        first_contact_leave_pmix(&p->contact);
    }
    if (!env || l->step.pmi_is_expected)
        need(p);
    else
        loop_timer_start(&p->late, PMI_LATE_SECONDS, 0);
}

bool pmi_server_has_ended(const struct pmi_server *p)
{
    return !p->listens_instead && !p->link;
}

void pmi_server_add_world(struct pmi_server *p, const struct starter_services *world)
{
    need(p);
    if (!p->link)
        return;
    pmi_world_send(p, world);
    p->worlds_asked++;
    expect_answer(p);
}

int pmi_server_connect_rank(struct pmi_server *p, struct rank_name rank, struct error *err)
{
    if (p->listens_instead)
        return first_contact_connect(&p->contact, rank, err);
    int fd = simple_pmi_connect(&p->contact.simple_pmi, rank), why = errno;
    if (fd >= 0)
        return fd;
    if (why == ECONNREFUSED || why == EPIPE || why == ECONNRESET) { /* it is about to end */
        p->refuses = true;
        expect_answer(p);
    }
    return error_errno(err, why, "connect to the PMI server at '%s'",
                       p->contact.simple_pmi.sun_path);
}

bool pmi_server_rank_gone(struct pmi_server *p, struct rank_name rank)
{
    Mprun__PmiGone m = MPRUN__PMI_GONE__INIT;
    Mprun__RankName name;
    if (p->listens_instead && first_contact_has_words(&p->contact, rank))
        need(p);
    if (!p->pid)
        return false;
    rank_name_pack(rank, &name);
    m.name = &name;
    if (!p->link)
        return true; /* the server is about to end, and ended() answers for all ranks */
    link_send(p->link, FRAME_PMI_GONE, &m.base);
    p->gone_asked++;
    if (p->gone_asked == 1)
        expect_answer(p);
    return true;
}

void pmi_server_pass_down(struct pmi_server *p, enum frame_type type, const uint8_t *payload,
                          size_t n)
{
    need(p);
    if (p->link)
        link_send_bytes(p->link, type, payload, n);
}

void pmi_server_end(struct pmi_server *p)
{
    if (p->is_asked_to_end)
        return;
    p->is_asked_to_end = true;
    if (p->listens_instead) { /* no rank has needed it */
        p->listens_instead = false;
        loop_timer_stop(&p->late);
        first_contact_close(&p->contact);
        return;
    }
    expect_answer(p);
    if (p->link)
        link_send_bytes(p->link, FRAME_PMI_END, NULL, 0);
}

void pmi_server_kill(struct pmi_server *p)
{
    if (p->pid <= 0)
        return;
    log_warn("the PMI server (mppmi, pid %d) on %s does not answer; killing it", (int)p->pid,
             p->host_name);
    p->was_killed = true;
    kill(p->pid, SIGKILL);
}
