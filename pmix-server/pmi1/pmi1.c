/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi1.c - the requests of PMI-1, and the first line of PMI-2 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/step.h"
#include "pmix-server/server.h"
#include "pmix-server/simple-pmi/connection.h"
#include "pmix-server/simple-pmi/names.h"
#include "pmix-server/simple-pmi/spawn-request.h"
#include "pmix-server/world.h"
#include "common/cleanup.h"

static void answer(struct connection *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void answer(struct connection *c, const char *fmt, ...)
{
    char line[PMI1_LINE_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
    va_end(ap);
    if (n < 0 || n >= (int)sizeof(line) - 1)
        return;
    line[n++] = '\n';
    connection_send(c, line, (size_t)n);
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Sets the version that this rank uses from now on, if the step offers it. */
static bool takes_version(struct connection *c, int version)
{
    unsigned pmi = connection_world(c)->pmi;
    if (version == 1)
        return pmi & PMI_KIND_PMI1;
    if (version != 2 || !(pmi & PMI_KIND_PMI2))
        return false;
    c->dialect = &pmi2_dialect;
    return true;
}

static void cmd_init(struct connection *c, const struct pmi_fields *l)
{
    int version;
    if (pmi_number(l, "pmi_version", 1000, &version) < 0 || !takes_version(c, version)) {
        answer(c, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1");
        return;
    }
    server_tell_client(c->pmi->server, connection_world(c), c->rank, 1);
    answer(c, "cmd=response_to_init pmi_version=%d pmi_subversion=%d rc=0", version, version == 1);
}

static void cmd_maxes(struct connection *c, const struct pmi_fields *l)
{
    answer(c, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d", PMI_NAME_MAX, PMI_KEY_MAX,
           PMI_VALUE_MAX);
}

static void cmd_appnum(struct connection *c, const struct pmi_fields *l)
{
    const struct world *w = connection_world(c);
    const struct world_app *app = world_app_of(w, c->rank);
    answer(c, "cmd=appnum appnum=%d", app ? (int)(app - w->apps) : 0);
}

static void cmd_universe_size(struct connection *c, const struct pmi_fields *l)
{
    uint32_t n = connection_world(c)->universe;
    answer(c, "cmd=universe_size size=%d", n ? (int)n : -1); /* -1: MPI has no MPI_UNIVERSE_SIZE */
}

static void cmd_my_kvsname(struct connection *c, const struct pmi_fields *l)
{
    answer(c, "cmd=my_kvsname kvsname=%s", c->space->name);
}

static bool is_our_kvs(const struct connection *c, const struct pmi_fields *l)
{
    const char *name = pmi_field(l, "kvsname");
    return name && !strcmp(name, c->space->name);
}

static void cmd_put(struct connection *c, const struct pmi_fields *l)
{
    const char *why_not = is_our_kvs(c, l)
                              ? space_put(c, pmi_field(l, "key"), pmi_field(l, "value"))
                              : "not_the_kvs_of_this_world";
    if (why_not)
        answer(c, "cmd=put_result rc=-1 msg=%s", why_not);
    else
        answer(c, "cmd=put_result rc=0 msg=success");
}

static void cmd_get(struct connection *c, const struct pmi_fields *l)
{
    const char *key = pmi_field(l, "key");
    const char *value = key && is_our_kvs(c, l) ? kvs_get(&c->space->kvs, key) : NULL;
    if (value)
        answer(c, "cmd=get_result rc=0 msg=success value=%s", value);
    else
        answer(c, "cmd=get_result rc=-1 msg=key_not_found value=unknown");
}

/* The version that init answers has no groups yet. */
static void cmd_barrier_in(struct connection *c, const struct pmi_fields *l)
{
    if (pmi_field(l, "group"))
        answer(c, "cmd=barrier_out rc=-1 msg=barriers_of_groups_are_not_supported");
    else
        space_fence(c);
}

static void barrier_out(struct connection *c)
{
    answer(c, "cmd=barrier_out");
}

static void cmd_finalize(struct connection *c, const struct pmi_fields *l)
{
    server_tell_client(c->pmi->server, connection_world(c), c->rank, 0);
    answer(c, "cmd=finalize_ack");
}

/* Sends no answer: the rank waits until it is killed. */
static void cmd_abort(struct connection *c, const struct pmi_fields *l)
{
    int code;
    if (pmi_number(l, "exitcode", INT32_MAX, &code) < 0)
        code = 1;
    server_tell_abort(c->pmi->server, connection_world(c), c->rank, code, "", NULL, 0);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void cmd_publish(struct connection *c, const struct pmi_fields *l)
{
    names_publish(c, "publish", "", pmi_field(l, "service"), pmi_field(l, "port"));
}

static void cmd_unpublish(struct connection *c, const struct pmi_fields *l)
{
    names_unpublish(c, "unpublish", "", pmi_field(l, "service"));
}

static void cmd_lookup(struct connection *c, const struct pmi_fields *l)
{
    names_lookup(c, "lookup", "", pmi_field(l, "service"));
}

static void named(struct connection *c, const char *command, const char *thread,
                  pmix_status_t status, const char *port)
{
    bool fits = strlen(port) <= PMI_VALUE_MAX; /* PMI-2 and PMIx publish longer ones, too */
    if (status == PMIX_SUCCESS && fits)
        answer(c, "cmd=%s_result info=ok rc=0 msg=success%s%s", command, *port ? " port=" : "",
               port);
    else
        answer(c, "cmd=%s_result info=fail rc=1 msg=%s", command,
               status == PMIX_ERR_DUPLICATE_KEY ? "key_already_present"
               : status == PMIX_ERR_NOT_FOUND   ? "service_not_found"
                                                : "not_possible");
}

/* ---- spawn ----------------------------------------------------------------------------------- */

static void spawned(struct connection *c, const char *thread, const struct world *world)
{
    if (world)
        answer(c, "cmd=spawn_result rc=0");
    else
        answer(c, "cmd=spawn_result rc=-1 msg=no_ranks_were_started");
}

static void end_spawn(struct connection *c)
{
    spawn_request_destroy(take_ptr(c->spawn));
}

static void begin_program(struct connection *c)
{
    if (!c->spawn)
        c->spawn = spawn_request_create();
    c->in_program = true;
    spawn_request_begin_program(c->spawn);
}

/* Takes a line of a program: its value is the rest of the line, with its blanks. "spawnssofar"
 * counts the programs up to this one. */
static int take_program_line(struct connection *c, char *line)
{
    char *value = strchr(line, '=');
    if (!value)
        return -1;
    *value++ = 0;
    if (strcmp(line, "totspawns") == 0)
        c->spawns_left += atoi(value);
    else if (strcmp(line, "spawnssofar") == 0)
        c->spawns_left -= atoi(value);
    return spawn_request_take(c->spawn, line, value);
}

/* A spawn has lines from "mcmd=spawn" to "endcmd" for each program, and one answer after the last
 * program. Returns false if the line belongs to no spawn. */
static bool take_spawn(struct connection *c, char *line)
{
    bool begins = strcmp(line, "mcmd=spawn") == 0;
    int rc = 0;
    if (!c->in_program && !begins)
        return false;
    if (begins) {
        c->spawns_left = 0;
        begin_program(c);
    } else if (strcmp(line, "endcmd") != 0) {
        rc = take_program_line(c, line);
    } else {
        c->in_program = false;
    }
    if (rc < 0) {
        connection_refuse(c, "a spawn with a line that cannot be, or with too many");
    } else if (!c->in_program && c->spawns_left <= 0) {
        connection_spawn(c, c->spawn, "");
        end_spawn(c);
    }
    return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(struct connection *c, const struct pmi_fields *l);
} commands[] = {
    {"init", cmd_init},
    {"get_maxes", cmd_maxes},
    {"get_appnum", cmd_appnum},
    {"get_universe_size", cmd_universe_size},
    {"get_my_kvsname", cmd_my_kvsname},
    {"put", cmd_put},
    {"get", cmd_get},
    {"barrier_in", cmd_barrier_in},
    {"finalize", cmd_finalize},
    {"abort", cmd_abort},
    {"publish_name", cmd_publish},
    {"unpublish_name", cmd_unpublish},
    {"lookup_name", cmd_lookup},
};

static void run_line(struct connection *c, char *line)
{
    if (take_spawn(c, line))
        return;
    struct pmi_fields l;
    const char *name = pmi1_cut(line, &l) == 0 ? pmi_field(&l, "cmd") : NULL;
    if (!name) {
        connection_refuse(c, "a line that is no command of PMI-1");
        return;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i].name, name) != 0)
            continue;
        commands[i].run(c, &l);
        return;
    }
    connection_refuse(c, "a command that mppmi does not have");
}

static size_t take_line(struct connection *c, char *bytes, size_t n)
{
    char *end = memchr(bytes, '\n', n);
    bool is_too_long = (end ? (size_t)(end - bytes) : n) >= PMI1_LINE_MAX;
    if (is_too_long)
        connection_refuse(c, "a line of PMI-1 that is too long");
    if (is_too_long || !end)
        return 0;
    *end = 0;
    run_line(c, bytes);
    return (size_t)(end + 1 - bytes);
}

const struct pmi_dialect pmi1_dialect = {
    .take = take_line, .fence_done = barrier_out, .named = named, .spawned = spawned};
