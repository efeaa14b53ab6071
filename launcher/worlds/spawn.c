/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn.c - see spawn.h */
#include "launcher/worlds/spawn.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "common/text/text.h"
#include "common/text/words.h"
#include "launcher/hosts/host-links.h"
#include "launcher/outcome/verdict.h"
#include "launcher/preload/preload.h"
#include "launcher/step/step-record.h"
#include "launcher/subject-options.h"
#include "launcher/worlds/spawn-place.h"
#include "launcher/worlds/worlds.h"
#include "wire/messages/launch.h"

struct spawn_wait {
    struct spawn_wait *next;
    struct host *host;
    uint64_t id;
    uint32_t world;
    struct rank_name parent;
    struct preload *preload; /* files that are to be brought before; NULL: none, or their turn */
    Mprun__Spawn *request;   /* to be launched with them */
};

static void wait_free(struct spawn_wait *w)
{
    preload_destroy(w->preload);
    if (w->request)
        mprun__spawn__free_unpacked(w->request, NULL);
    free(w);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void answer(struct host *to, uint64_t id, uint32_t world, const char *why_not)
{
    Mprun__Spawned m = MPRUN__SPAWNED__INIT;
    m.id = id;
    m.world = world;
    m.why_not = (char *)(uintptr_t)why_not;
    host_send(to, FRAME_SPAWNED, &m.base);
}

static void refuse(struct host *to, uint64_t id, struct rank_name parent, const char *why)
{
    char name[RANK_NAME_TEXT], who[RANK_NAME_TEXT + 8] = "a tool";
    if (parent.rank != RANK_ALL)
        snprintf(who, sizeof(who), "rank %s", rank_name_format(parent, name));
    log_warn("%s on %s asks for more ranks (MPI_Comm_spawn), and gets none: %s", who, to->name,
             why);
    answer(to, id, 0, why);
}

static struct spawn_wait *take_wait(struct spawner *s, const struct world *world)
{
    for (struct spawn_wait **at = &s->waiting; *at; at = &(*at)->next)
        if ((*at)->world == world->number) {
            struct spawn_wait *w = *at;
            *at = w->next;
            return w;
        }
    return NULL;
}

/* ---- the programs ---------------------------------------------------------------------------- */

static bool has_name(const char *entry, const char *name)
{
    size_t n = strcspn(name, "=");
    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

/* Sets "NAME=VALUE" in envp, which has room for one more at n. Takes entry. */
static size_t set_variable(char **envp, size_t n, char *entry)
{
    for (size_t i = 0; i < n; i++)
        if (has_name(envp[i], entry)) {
            free(envp[i]);
            envp[i] = entry;
            return n;
        }
    envp[n] = entry;
    return n + 1;
}

/* The environment of the parent's program, with what the message sets. */
static char **make_environment(const struct app *parent, const Mprun__Spawn__App *m)
{
    size_t n = words_count(parent->envp);
    char **envp = must(calloc(n + m->n_env + 2, sizeof(*envp)));
    for (size_t i = 0; i < n; i++)
        envp[i] = must(strdup(parent->envp[i]));
    for (size_t i = 0; i < m->n_env; i++) {
        char *entry = bytes_dup(&m->env[i]);
        if (entry && strchr(entry, '='))
            n = set_variable(envp, n, entry);
        else
            free(entry);
    }
    return envp;
}

/* Programs are looked for in these directories first. */
static void search_path(struct app *app, const char *directories)
{
    size_t n = 0;
    const char *old = "";
    for (; app->envp[n]; n++)
        if (has_name(app->envp[n], "PATH"))
            old = app->envp[n] + strlen("PATH=");
    char *entry = text_format("PATH=%s%s%s", directories, *old ? ":" : "", old);
    app->envp = must(reallocarray(app->envp, n + 2, sizeof(*app->envp)));
    app->envp[set_variable(app->envp, n, entry)] = NULL;
}

static char *make_directory(const struct app *parent, const char *wanted)
{
    if (wanted[0] == '/' || !wanted[0])
        return must(strdup(wanted[0] ? wanted : parent->directory));
    return text_format("%s/%s", parent->directory, wanted);
}

static int make_app(const struct app *parent, const Mprun__Spawn__App *m, uint32_t world,
                    uint32_t first, struct app *ret, struct error *err)
{
    AUTO_FREE char *cwd = bytes_dup(&m->directory), *path = spawn_key(m, "path");
    AUTO_FREE char *wdir = spawn_key(m, "wdir");
    if (m->n_argv == 0 || m->argv[0].len == 0)
        return error_set(err, EINVAL, "no program is named");
    ret->argv = strings_unpack(m->argv, m->n_argv);
    ret->envp = make_environment(parent, m);
    ret->given_env = must(calloc(1, sizeof(*ret->given_env)));
    ret->directory = make_directory(parent, wdir ? wdir : cwd ? cwd : "");
    must_do(rank_set_add_block(&ret->ranks, world, first, m->count));
    if (!ret->argv)
        return error_set(err, EINVAL, "an argument of the program has a NUL byte");
    if (path)
        search_path(ret, path);
    return 0;
}

/* A tool's is that of the first rank. */
static const struct app *program_of(const struct world *world, struct rank_name rank)
{
    for (size_t i = 0; i < world->napps; i++)
        if (rank.rank == RANK_ALL || rank_set_has(&world->apps[i].ranks, rank))
            return &world->apps[i];
    return NULL;
}

/* ---- a new world ----------------------------------------------------------------------------- */

struct fresh { /* a world that is being made */
    struct app *apps;
    size_t napps;
    struct rank_set *hosts;
    uint32_t nranks;
};

static void fresh_free(struct fresh *f, size_t nhosts)
{
    for (size_t i = 0; i < f->napps; i++)
        app_free(&f->apps[i]);
    free(f->apps);
    for (size_t i = 0; f->hosts && i < nhosts; i++)
        rank_set_free(&f->hosts[i]);
    free(f->hosts);
}

/* old: the world that asks; NULL: mprun itself does. */
static int make_fresh(struct spawner *s, const Mprun__Spawn *m, const struct world *old,
                      struct fresh *f, struct error *err)
{
    const struct app *program = !m->parent ? s->hosts->plan->step.apps
                                : old      ? program_of(old, rank_name_unpack(m->parent))
                                           : NULL;
    size_t nhosts = s->hosts->plan->nused;
    uint32_t number = s->worlds->last_number + 1;
    f->apps = must(calloc(m->n_apps + 1, sizeof(*f->apps)));
    f->hosts = must(calloc(nhosts + 1, sizeof(*f->hosts)));
    if (!program || m->n_apps == 0)
        return error_set(err, EINVAL, "no program is named");
    for (size_t i = 0; i < m->n_apps; i++) {
        const Mprun__Spawn__App *a = m->apps[i];
        f->napps = i + 1;
        if (a->count == 0 || a->count > LAUNCH_RANKS_MAX - f->nranks)
            return error_set(err, EINVAL, "%" PRIu32 " ranks cannot be", a->count);
        if (make_app(program, a, number, f->nranks, &f->apps[i], err) < 0 ||
            spawn_place(s->hosts, s->worlds, a, m->parent ? program->directory : NULL, number,
                        f->nranks, f->hosts, &f->apps[i], err) < 0)
            return -1;
        f->nranks += a->count;
    }
    return 0;
}

/* A rank asks for the world, and is its parent: not a tool (RANK_ALL), nor mprun itself. */
static bool is_of_rank(const Mprun__Spawn *m)
{
    return m->parent && m->parent->rank != RANK_ALL;
}

/* An MPI asks, and waits for MPI_Init of the new ranks: by PMI-1 or PMI-2, or Open MPI. */
static bool is_of_mpi(const Mprun__Spawn *m)
{
    static const char port[] = "OMPI_PARENT_PORT=";
    bool is_of_open_mpi = false;
    for (size_t i = 0; i < m->n_apps; i++)
        for (size_t k = 0; k < m->apps[i]->n_env; k++)
            is_of_open_mpi |= m->apps[i]->env[k].len >= strlen(port) &&
                              memcmp(m->apps[i]->env[k].data, port, strlen(port)) == 0;
    return m->pmi || is_of_open_mpi;
}

/* The same bytes for all hosts, as the first LAUNCH. */
static void launch(struct spawner *s, const struct world *world, const Mprun__Spawn *m)
{
    const struct step_plan *p = s->hosts->plan;
    AUTO_FREE struct placement *hosts = must(calloc(p->nused + 1, sizeof(*hosts)));
    struct launch l = {
        .step = p->step, /* borrowed */
        .world = world->number,
        .has_parent = is_of_rank(m),
        .parent = rank_name_unpack(m->parent),
        .preput = m->preput.data, /* borrowed, too */
        .npreput = m->preput.len,
        .hosts = hosts,
        .nhosts = p->nused,
        .report_bindings = p->cmd->report_bindings,
        .same_machine = p->same_machine,
    };
    size_t n;
    for (size_t i = 0; i < p->nused; i++) {
        hosts[i] = p->placements[i];
        hosts[i].ranks = world->ranks[i];
        hosts[i].slots = NULL;
        if (rank_set_count(&world->ranks[i]))
            l.step.oversubscribed |= s->worlds->busy[i] > p->used.hosts[i].slots.value;
    }
    l.step.apps = world->apps;
    l.step.napps = world->napps;
    l.step.nranks = world->nranks;
    l.step.universe = step_plan_universe(p, world->nranks);
    if (m->pmi)
        l.step.pmi &= m->pmi;
    if (m->parent || l.step.stdin_target != STDIN_FILE)
        l.step.stdin_target = STDIN_NONE;
    if (m->parent)
        l.step.wrapper.argv = NULL;
    l.step.terminal = false;
    strcpy(l.step.nspace, world->nspace);
    AUTO_FREE uint8_t *packed = launch_pack(&l, &n);
    explicit_bzero(l.step.nspace, sizeof(l.step.nspace));
    hosts_broadcast_bytes(s->hosts, FRAME_LAUNCH, packed, n);
}

/* ---- files that the new ranks are to find ---------------------------------------------------- */

static bool is_true(const char *value)
{
    return value && *value && strcmp(value, "false") && strcmp(value, "no") && strcmp(value, "0");
}

/* Those of the first program that names some are for all of them, as Open MPI has it; on this
 * machine they are there. */
static int read_preload(struct spawner *s, const Mprun__Spawn *m, const struct fresh *f,
                        struct preload **ret, struct error *err)
{
    const struct step_plan *p = s->hosts->plan;
    struct preload_options o = {.limit = p->cmd->preload.limit};
    AUTO_FREE char *files = NULL;
    int code;
    for (size_t i = 0; i < m->n_apps && !p->same_machine; i++) {
        AUTO_FREE char *binary = spawn_key(m->apps[i], "preload_binary");
        o.binary |= is_true(binary);
        if (!files || !*files) {
            free(files);
            files = spawn_key(m->apps[i], "preload_files");
        }
    }
    const char *list = files;
    o.files = &list;
    o.nfiles = files && *files;
    const struct preload_request what = {.options = &o,
                                         .world = s->worlds->last_number + 1,
                                         .apps = f->apps,
                                         .napps = f->napps,
                                         .directory = f->apps[0].directory,
                                         .spawned = is_of_rank(m)};
    return preload_create(s->hosts, s->verdict, &what, ret, &code, err);
}

void spawner_kill(const struct spawner *s, struct world *world)
{
    Mprun__WorldKill m = MPRUN__WORLD_KILL__INIT;
    m.world = world->number;
    world->is_killed = true;
    hosts_broadcast(s->hosts, FRAME_WORLD_KILL, &m.base);
}

/* One world's files after the other's: the oldest request is the last one. */
static void bring_next(struct spawner *s)
{
    for (struct spawn_wait *w = s->waiting; w && !s->bringing; w = w->next)
        if (w->preload && (!w->next || !w->next->preload))
            s->bringing = w;
    if (!s->bringing)
        return;
    preload_destroy(*s->preload);
    *s->preload = take_ptr(s->bringing->preload);
    preload_begin(*s->preload);
}

void spawner_brought(struct spawner *s)
{
    struct spawn_wait *w = s->bringing;
    if (!w || !preload_done(*s->preload))
        return;
    s->bringing = NULL;
    if (!verdict_is_ending(s->verdict)) {
        struct world *world = worlds_find(s->worlds, w->world);
        launch(s, world, w->request);
        if (world->is_killed) /* no host knew it before */
            spawner_kill(s, world);
    }
    bring_next(s);
}

/* NULL with err. *ret: with the world's files, before which it is not launched. */
static struct world *begin(struct spawner *s, const Mprun__Spawn *m, struct preload **ret,
                           struct error *err)
{
    struct fresh f = {0};
    const struct world *old =
        m->parent ? worlds_find(s->worlds, rank_name_unpack(m->parent).world) : NULL;
    struct world *world = NULL;
    bool is_over = m->parent && s->record->counts.ended == s->record->nranks; /* a tool asks */
    if (verdict_is_ending(s->verdict) || is_over)
        error_set(err, ECANCELED, "the step is ending");
    else if (old && old->is_killed && is_of_rank(m)) /* it has asked before it was killed */
        error_set(err, ECANCELED, "it is being killed");
    else if (make_fresh(s, m, old, &f, err) == 0 && read_preload(s, m, &f, ret, err) == 0)
        world =
            worlds_add(s->worlds, f.hosts, f.nranks, f.apps, f.napps, is_of_rank(m) ? old : NULL);
    if (world) {
        f.apps = NULL; /* the world's now */
        f.napps = 0;
        step_record_add_world(s->record, world);
        if (!*ret)
            launch(s, world, m);
    }
    fresh_free(&f, s->hosts->plan->nused);
    return world;
}

int spawner_start(struct spawner *s, char *const *argv, const char *const *variables,
                  size_t nvariables, uint32_t n, uint32_t *ret_world, struct error *err)
{
    Mprun__Spawn m = MPRUN__SPAWN__INIT;
    Mprun__Spawn__App app = MPRUN__SPAWN__APP__INIT, *apps[] = {&app};
    size_t nwords = words_count(argv);
    struct preload *none = NULL;
    AUTO_FREE ProtobufCBinaryData *texts = must(calloc(nwords + nvariables + 1, sizeof(*texts)));
    for (size_t i = 0; i < nwords + nvariables; i++) {
        const char *text = i < nwords ? argv[i] : variables[i - nwords];
        texts[i] = (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
    }
    app.n_argv = nwords;
    app.argv = texts;
    app.n_env = nvariables;
    app.env = texts + nwords;
    app.count = n;
    m.n_apps = 1;
    m.apps = apps;
    const struct world *world = begin(s, &m, &none, err);
    *ret_world = world ? world->number : 0;
    return world ? 0 : -1;
}

void spawner_request(struct spawner *s, struct host *from, const Mprun__Spawn *m)
{
    struct error err;
    struct preload *preload = NULL;
    struct world *world = begin(s, m, &preload, &err);
    if (!world) {
        preload_destroy(preload);
        refuse(from, m->id, rank_name_unpack(m->parent), err.text);
        return;
    }
    world->is_starting = true;
    world->is_awaited = is_of_mpi(m);
    struct spawn_wait *wait = must(malloc(sizeof(*wait)));
    *wait = (struct spawn_wait){.next = s->waiting,
                                .host = from,
                                .id = m->id,
                                .world = world->number,
                                .parent = rank_name_unpack(m->parent),
                                .preload = preload};
    s->waiting = wait;
    if (preload) {
        size_t n = mprun__spawn__get_packed_size(m);
        AUTO_FREE uint8_t *packed = must(malloc(n + 1));
        mprun__spawn__pack(m, packed);
        wait->request = must(mprun__spawn__unpack(NULL, n, packed));
        bring_next(s);
    }
}

void spawner_look(struct spawner *s, struct world *world)
{
    if (!world->is_starting || world->known < world->nranks)
        return;
    struct spawn_wait *wait = take_wait(s, world);
    world->is_starting = false;
    if (!wait)
        return;
    answer(wait->host, wait->id, world->number, "");
    wait_free(wait);
}

bool spawner_failed(struct spawner *s, struct world *world, const char *text)
{
    struct spawn_wait *wait = world->is_starting ? take_wait(s, world) : NULL;
    if (!wait)
        return world->has_failed;
    world->is_starting = false;
    world->has_failed = true;
    spawner_kill(s, world);
    refuse(wait->host, wait->id, wait->parent, text);
    wait_free(wait);
    return true;
}

void spawner_free(struct spawner *s)
{
    while (s->waiting) {
        struct spawn_wait *next = s->waiting->next;
        wait_free(s->waiting);
        s->waiting = next;
    }
}
