/* SPDX-License-Identifier: BSD-3-Clause */
/* job-names.c - see job-names.h
 *
 * Two steps that connect to each other at the same time have two links, and ask twice: each has one
 * number for both. By the holder, the one that comes later connects. */
#include "launcher/worlds/job-names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "launcher/socket-directory.h"
#include "launcher/step/step-plan.h"
#include "launcher/tunables.h"
#include "launcher/worlds/job-worlds.h"
#include "launcher/worlds/name-service.h"
#include "wire/link/link.h"
#include "wire/messages/names.h"
#include "wire/transport/address.h"
#include "wire/transport/dial.h"

struct job_peer { /* another step of the job */
    struct job_peer *next;
    struct job_names *all;
    char step[64];         /* "": it has not said yet */
    uint32_t number;       /* of the step; 0: as well */
    struct dial *dial;     /* NULL: it is connected */
    struct link *link;     /* NULL: it is not yet */
    bool is_ours;          /* the link is; else the control socket's */
    bool is_by_holder;     /* it was met by the holder, */
    uint8_t key[LINK_KEY]; /* and wants a proof of this */
    uint64_t *owed;        /* numbers of the lookups that it has not answered */
    size_t nowed, cap;
};

static void peer_free(struct job_peer *p)
{
    if (p->link)
        name_service_step_gone(p->all->names, p->link);
    dial_destroy(p->dial);
    if (p->is_ours)
        link_destroy(p->link);
    free(p->owed);
    explicit_bzero(p->key, sizeof(p->key));
    free(p);
}

/* Are all other steps known, and is each of them linked, or lost? */
static bool has_all(const struct job_names *j)
{
    const struct job_peer *p = j->peers;
    while (p && p->link && link_is_open(p->link))
        p = p->next;
    return !p && !j->meeting.holder_owes;
}

static void look_around(struct job_names *j)
{
    if (!loop_timer_is_active(&j->joining) || !has_all(j))
        return;
    loop_timer_stop(&j->joining);
    name_service_steps_known(j->names);
}

static void waited_enough(void *arg)
{
    const struct job_names *j = arg;
    name_service_steps_known(j->names);
}

static void peer_lose(struct job_peer *p, const char *why)
{
    struct job_peer **at = &p->all->peers;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    struct job_names *j = p->all;
    log_debug("step %s answers no lookups: %s", p->step, why);
    if (p->link && p->number && job_worlds_step_gone(p->all->worlds, p->number))
        log_warn("step %s of the job, with whose ranks those of this step are connected, is gone: "
                 "MPI may wait for their messages for ever",
                 p->step);
    for (size_t i = 0; i < p->nowed; i++)
        name_service_step_reply(p->all->names, p->owed[i], NULL, true);
    peer_free(p);
    look_around(j);
}

static struct job_peer *peer_of_step(const struct job_names *j, const char *step)
{
    struct job_peer *p = j->peers;
    while (p && strcmp(p->step, step) != 0)
        p = p->next;
    return p;
}

static void peer_name(struct job_peer *p, const char *step)
{
    const struct job_peer *other_link = peer_of_step(p->all, step);
    p->number = other_link ? other_link->number : ++p->all->last_number;
    snprintf(p->step, sizeof(p->step), "%s", step);
}

static struct job_peer *peer_add(struct job_names *j)
{
    struct job_peer *p = must(calloc(1, sizeof(*p)));
    p->all = j;
    p->next = j->peers;
    j->peers = p;
    return p;
}

static struct job_peer *peer_of_link(const struct job_names *j, const struct link *l)
{
    struct job_peer *p = j->peers;
    while (p && p->link != l)
        p = p->next;
    return p;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void owe(struct job_peer *p, uint64_t number)
{
    if (p->nowed == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 16;
        p->owed = must(reallocarray(p->owed, p->cap, sizeof(*p->owed)));
    }
    p->owed[p->nowed++] = number;
}

/* False: it was not asked, or has answered. */
static bool owe_no_more(struct job_peer *p, uint64_t number)
{
    for (size_t i = 0; i < p->nowed; i++)
        if (p->owed[i] == number) {
            p->owed[i] = p->owed[--p->nowed];
            return true;
        }
    return false;
}

/* If it waits, the step waits for each name by itself: others may have the rest. */
static void send_lookup(struct job_peer *p, uint64_t number, const Mprun__NameRequest *m)
{
    Mprun__NameRequest copy = *m;
    copy.id = number;
    if (m->wanted)
        copy.n_names = copy.wanted = 1;
    for (; copy.names < m->names + m->n_names; copy.names += copy.n_names)
        link_send(p->link, FRAME_NAME_REQUEST, &copy.base);
}

static void pass_waiting(void *peer, uint64_t number, const Mprun__NameRequest *m)
{
    send_lookup(peer, number, m);
}

static void send_word(struct job_peer *p, enum name_request what, uint64_t number)
{
    Mprun__NameRequest m = MPRUN__NAME_REQUEST__INIT;
    const struct step_plan *plan = p->all->plan;
    char job[100];
    snprintf(job, sizeof(job), "%s %s", plan->adapter->name, plan->alloc.job_id);
    m.what = what;
    m.id = number;
    m.job = job;
    m.step = (char *)(uintptr_t)plan->step.id;
    link_send(p->link, FRAME_NAME_REQUEST, &m.base);
}

/* ---- links that we make ---------------------------------------------------------------------- */

static void peer_frame(void *arg, struct link *l, enum frame_type type, const uint8_t *bytes,
                       size_t n)
{
    struct job_peer *p = arg;
    if (!job_names_frame(p->all, l, type, bytes, n))
        peer_lose(p, "protocol error");
}

static void peer_closed(void *arg, struct link *l, const struct error *why)
{
    peer_lose(arg, why->text);
}

static int peer_opened(void *arg, struct link *l, uint32_t host_id, struct error *why)
{
    const struct job_peer *p = arg;
    look_around(p->all);
    return 0;
}

static const struct link_events peer_events = {
    .opened = peer_opened, .frame = peer_frame, .closed = peer_closed};

static void connected(void *arg, int fd, const struct error *why)
{
    struct job_peer *p = arg;
    const struct link_options o = {.role = p->is_by_holder ? LINK_CONNECTOR : LINK_TRUSTED,
                                   .key = p->key,
                                   .security = p->is_by_holder ? LINK_ENCRYPT : LINK_PLAIN};
    struct error e = {.text = "it is another user's"};
    if (fd < 0)
        e = *why;
    else if (p->is_by_holder || address_is_peer_of(fd, geteuid()))
        p->link = link_create(p->all->loop, fd, fd, &o, "another mprun", &peer_events, p, &e);
    else
        close(fd);
    if (!p->link) {
        peer_lose(p, e.text);
        return;
    }
    p->is_ours = true;
    dial_destroy(take_ptr(p->dial));
    send_word(p, NAME_JOIN, 0);
    name_service_tell_waiting(p->all->names, pass_waiting, p);
    look_around(p->all);
}

static struct job_peer *peer_connect(struct job_names *j, const char *step, const char *addresses)
{
    struct job_peer *p = peer_add(j);
    peer_name(p, step);
    p->dial = dial_create(j->loop, addresses, NULL, NEIGHBOUR_SECONDS, connected, p);
    return p;
}

static void found_step(void *arg, const char *path)
{
    struct job_names *j = arg;
    char control[300], address[ADDRESS_TEXT];
    const char *step = strrchr(path, '/') + sizeof("mprun-");
    if (peer_of_step(j, step) ||
        snprintf(control, sizeof(control), "%s/control", path) >= (int)sizeof(control) ||
        access(control, F_OK) < 0 || address_of_path("unix", control, address) < 0)
        return;
    peer_connect(j, step, address);
}

/* ---- steps on other hosts -------------------------------------------------------------------- */

/* An mprun that has proved our key. */
static void take_mprun(void *arg, struct link *l)
{
    struct job_peer *p = peer_add(arg);
    p->link = l;
    p->is_ours = true;
    link_set_events(l, &peer_events, p);
    name_service_tell_waiting(p->all->names, pass_waiting, p);
}

static void met_step(void *arg, const char *step, const char *addresses, const uint8_t *key)
{
    struct job_names *j = arg;
    if (peer_of_step(j, step))
        return;
    struct job_peer *p = peer_connect(j, step, addresses);
    p->is_by_holder = true;
    memcpy(p->key, key, LINK_KEY);
}

static void heard(void *arg)
{
    look_around(arg);
}

static const struct meeting_events meeting_events = {
    .arrived = take_mprun, .met = met_step, .heard = heard};

/* ---- what the name service asks for ---------------------------------------------------------- */

static bool join(void *arg)
{
    struct job_names *j = arg;
    bool is_first = !j->has_joined;
    if (is_first)
        socket_directory_others(j->directory, found_step, j);
    j->has_joined = true;
    bool meets = meeting_begin(&j->meeting);
    if ((is_first || meets) && !has_all(j))
        loop_timer_start(&j->joining, NEIGHBOUR_SECONDS, 0);
    return !loop_timer_is_active(&j->joining);
}

static size_t ask(void *arg, uint64_t number, const Mprun__NameRequest *m)
{
    struct job_names *j = arg;
    size_t n = 0;
    for (struct job_peer *p = j->peers; p; p = p->next) {
        owe(p, number);
        n++;
        if (p->link)
            send_lookup(p, number, m);
    }
    return n;
}

static void forget(void *arg, uint64_t number)
{
    struct job_names *j = arg;
    for (struct job_peer *p = j->peers; p; p = p->next) {
        owe_no_more(p, number);
        if (p->link)
            send_word(p, NAME_FORGET, number);
    }
}

static void reply(void *link, const Mprun__NameReply *m)
{
    link_send(link, FRAME_NAME_REPLY, &m->base);
}

static const char *nspace(void *arg, uint32_t world)
{
    const struct job_names *j = arg;
    return job_worlds_nspace(j->worlds, world);
}

static const struct name_steps steps = {
    .join = join, .ask = ask, .forget = forget, .reply = reply, .nspace = nspace};

/* ---- what worlds of other steps need --------------------------------------------------------- */

static void send_to_step(void *arg, uint32_t step, enum frame_type type, const ProtobufCMessage *m)
{
    const struct job_names *j = arg;
    const struct job_peer *p = j->peers;
    for (; p; p = p->next) {
        if (!p->link || !p->number || (step && p->number != step))
            continue;
        link_send(p->link, type, m);
        if (step)
            return;
    }
}

/* The namespace that a name asks for; NULL: it is another name. */
static const char *nspace_of_name(const Mprun__Name *name)
{
    size_t n = strlen(NAME_OF_WORLD);
    return strncmp(name->key, NAME_OF_WORLD, n) == 0 ? name->key + n : NULL;
}

static void describe_world(struct job_names *j, struct link *to, const Mprun__NameRequest *m)
{
    Mprun__NameReply answer = MPRUN__NAME_REPLY__INIT;
    Mprun__Name name = MPRUN__NAME__INIT, *names[] = {&name};
    AUTO_FREE uint8_t *world =
        job_worlds_describe(j->worlds, nspace_of_name(m->names[0]), &name.value.len);
    name.key = m->names[0]->key;
    name.value.data = world;
    answer.id = m->id;
    answer.status = world ? NAME_OK : NAME_NOT_FOUND;
    answer.n_names = world ? 1 : 0;
    answer.names = names;
    link_send(to, FRAME_NAME_REPLY, &answer.base);
}

/* The hosts need to know that it was found; the world itself they get before. */
static void learn_worlds(struct job_peer *p, const Mprun__NameReply *m)
{
    for (size_t i = 0; i < m->n_names; i++)
        if (nspace_of_name(m->names[i])) {
            job_worlds_learn(p->all->worlds, p->number, nspace_of_name(m->names[i]),
                             m->names[i]->value);
            m->names[i]->value.len = 0;
        }
}

/* ---- what other steps say -------------------------------------------------------------------- */

/* A step that has connected to us. */
static bool take_join(struct job_names *j, struct link *tool, const Mprun__NameRequest *m)
{
    char job[100];
    struct job_peer *p = peer_of_link(j, tool);
    snprintf(job, sizeof(job), "%s %s", j->plan->adapter->name, j->plan->alloc.job_id);
    if (strcmp(job, m->job) != 0 || !m->step[0] || (p && p->number))
        return false;
    if (!p) {
        p = peer_add(j);
        p->link = tool;
        name_service_tell_waiting(j->names, pass_waiting, p);
    }
    peer_name(p, m->step);
    return true;
}

static bool take_request(struct job_names *j, struct link *tool, const Mprun__NameRequest *m)
{
    if (m->what == NAME_JOIN)
        return take_join(j, tool, m);
    const struct job_peer *p = peer_of_link(j, tool);
    bool is_peer = p && p->number;
    if (is_peer && m->what == NAME_LOOKUP && m->n_names == 1 && nspace_of_name(m->names[0])) {
        describe_world(j, tool, m);
        return true;
    }
    return is_peer && name_service_step_request(j->names, tool, m) == 0;
}

static bool take_reply(struct job_names *j, const struct link *tool, const Mprun__NameReply *m)
{
    struct job_peer *p = peer_of_link(j, tool);
    if (!p || !p->number)
        return false;
    bool was_asked = owe_no_more(p, m->id);
    if (was_asked)
        learn_worlds(p, m);
    name_service_step_reply(j->names, m->id, m, was_asked);
    return true;
}

bool job_names_frame(struct job_names *j, struct link *tool, enum frame_type type,
                     const uint8_t *bytes, size_t n)
{
    const struct job_peer *p = peer_of_link(j, tool);
    if (type != FRAME_NAME_REQUEST && type != FRAME_NAME_REPLY)
        return p && p->number && job_worlds_frame(j->worlds, p->number, type, bytes, n);
    Mprun__NameRequest *request =
        type == FRAME_NAME_REQUEST ? mprun__name_request__unpack(NULL, n, bytes) : NULL;
    Mprun__NameReply *reply =
        type == FRAME_NAME_REPLY ? mprun__name_reply__unpack(NULL, n, bytes) : NULL;
    bool is_known = j->names->steps && ((request && take_request(j, tool, request)) ||
                                        (reply && take_reply(j, tool, reply)));
    mprun__name_request__free_unpacked(request, NULL);
    mprun__name_reply__free_unpacked(reply, NULL);
    return is_known;
}

void job_names_tool_gone(struct job_names *j, struct link *tool)
{
    struct job_peer *p = peer_of_link(j, tool);
    if (p)
        peer_lose(p, "it is gone");
}

/* ---- life ------------------------------------------------------------------------------------ */

void job_names_init(struct job_names *j, struct loop *loop, const struct step_plan *plan,
                    const struct socket_directory *directory, struct name_service *names,
                    struct job_worlds *worlds)
{
    *j = (struct job_names){
        .loop = loop, .plan = plan, .directory = directory, .names = names, .worlds = worlds};
    meeting_init(&j->meeting, loop, plan, &meeting_events, j);
    loop_timer_init(&j->joining, loop, waited_enough, j);
    job_worlds_on_send(worlds, send_to_step, j);
    if (plan->alloc.job_id[0])
        name_service_set_steps(names, &steps, j);
}

void job_names_close(struct job_names *j)
{
    loop_timer_stop(&j->joining);
    meeting_close(&j->meeting);
    while (j->peers) {
        struct job_peer *p = j->peers;
        j->peers = p->next;
        peer_free(p);
    }
}
