/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi2.c - the requests of PMI-2
 *
 * Protocol: MPICH's "PMI v2 wire protocol". A rank begins with a line of PMI-1. Then each message
 * is its length in six characters and "cmd=kvs-put;thrid=T;key=K;value=V;". An answer has the
 * command's name with "-response", the request's thrid, and rc, 0 if all went well. Requests of
 * several threads may be under way: for a fence, and for values that no rank has put yet. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text/number.h"
#include "pmix-server/server.h"
#include "pmix-server/simple-pmi/connection.h"
#include "pmix-server/simple-pmi/names.h"
#include "pmix-server/simple-pmi/spawn-request.h"
#include "pmix-server/world.h"

enum { LENGTH_SIZE = 6 };

/* A thread that waits until a rank of this host has put a value. */
struct node_waiter {
    LIST_ENTRY(node_waiter) link;
    struct connection *connection;
    char thread[PMI2_THREAD_MAX];
    char key[]; /* zero-terminated */
};

/* ---- answers --------------------------------------------------------------------------------- */

/* Returns a copy of the value with doubled semicolons, as on the wire; the caller frees it. NULL:
 * out of memory. */
static char *doubled(const char *value)
{
    char *text = malloc(2 * strlen(value) + 1), *to = text;
    for (; text && *value; value++) {
        if (*value == ';')
            *to++ = ';';
        *to++ = *value;
    }
    if (text)
        *to = 0;
    return text;
}

/* Answers the command. fmt: the fields after thrid, each with its semicolon. */
static void answer(struct connection *c, const char *command, const char *thread, const char *fmt,
                   ...) __attribute__((format(printf, 4, 5)));
static void answer(struct connection *c, const char *command, const char *thread, const char *fmt,
                   ...)
{
    AUTO_FREE char *fields = NULL, *message = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&fields, fmt, ap);
    va_end(ap);
    if (n >= 0)
        n = asprintf(&message, "%*dcmd=%s-response;%s%s%s%s", LENGTH_SIZE, 0, command,
                     *thread ? "thrid=" : "", thread, *thread ? ";" : "", fields);
    if (n < 0) {
        connection_refuse(c, "no memory to answer it");
        return;
    }
    char length[LENGTH_SIZE + 8];
    snprintf(length, sizeof(length), "%*d", LENGTH_SIZE, n - LENGTH_SIZE);
    memcpy(message, length, LENGTH_SIZE);
    connection_send(c, message, (size_t)n);
}

static const char *command_of(const struct pmi_fields *m)
{
    return pmi_field(m, "cmd");
}

static const char *thread_of(const struct pmi_fields *m)
{
    const char *thread = pmi_field(m, "thrid");
    return thread ? thread : "";
}

static void answer_rc(struct connection *c, const struct pmi_fields *m, const char *why_not)
{
    if (why_not)
        answer(c, command_of(m), thread_of(m), "rc=1;errmsg=%s;", why_not);
    else
        answer(c, command_of(m), thread_of(m), "rc=0;");
}

/* value NULL: there is none. */
static void answer_value(struct connection *c, const char *command, const char *thread,
                         const char *value)
{
    AUTO_FREE char *text = value ? doubled(value) : NULL;
    if (text)
        answer(c, command, thread, "found=TRUE;value=%s;rc=0;", text);
    else
        answer(c, command, thread, "found=FALSE;rc=0;");
}

/* ---- the job --------------------------------------------------------------------------------- */

static void cmd_fullinit(struct connection *c, const struct pmi_fields *m)
{
    const struct world *w = connection_world(c);
    const struct world_app *app = world_app_of(w, c->rank);
    char parent[SPACE_NAME_MAX], spawner[SPACE_NAME_MAX + 20] = "";
    if (w->is_spawned)
        snprintf(spawner, sizeof(spawner), "spawner-jobid=%s;",
                 space_name(c->pmi, w->parent.world, parent));
    answer(c, command_of(m), thread_of(m),
           "pmi-version=2;pmi-subversion=0;rank=%u;size=%u;appnum=%d;%sdebugged=FALSE;"
           "pmiverbose=FALSE;rc=0;",
           c->rank, w->nranks, app ? (int)(app - w->apps) : 0, spawner);
}

static void cmd_getid(struct connection *c, const struct pmi_fields *m)
{
    answer(c, command_of(m), thread_of(m), "jobid=%s;rc=0;", c->space->name);
}

static void cmd_finalize(struct connection *c, const struct pmi_fields *m)
{
    server_tell_client(c->pmi->server, connection_world(c), c->rank, 0);
    answer_rc(c, m, NULL);
}

/* Sends no answer. A rank that aborts alone (isworld=FALSE) ends itself; its exit code tells. */
static void cmd_abort(struct connection *c, const struct pmi_fields *m)
{
    const char *world = pmi_field(m, "isworld"), *text = pmi_field(m, "msg");
    int code;
    if (world && !strcmp(world, "FALSE"))
        return;
    if (!text)
        text = pmi_field(m, "message");
    if (pmi_number(m, "exitcode", INT32_MAX, &code) < 0)
        code = 1;
    server_tell_abort(c->pmi->server, connection_world(c), c->rank, code, text ? text : "", NULL,
                      0);
}

static void cmd_getjobattr(struct connection *c, const struct pmi_fields *m)
{
    const char *key = pmi_field(m, "key"), *value = NULL;
    char number[16];
    if (key && !strcmp(key, "universeSize")) {
        snprintf(number, sizeof(number), "%u", connection_world(c)->universe);
        value = connection_world(c)->universe ? number : NULL;
    } else if (key && !strcmp(key, "hasNameServ")) {
        value = "TRUE";
    } else if (key && !strcmp(key, "PMI_process_mapping")) {
        value = kvs_get(&c->space->kvs, key);
    }
    answer_value(c, command_of(m), thread_of(m), value);
}

/* ---- pairs of the job ------------------------------------------------------------------------ */

static void cmd_kvs_put(struct connection *c, const struct pmi_fields *m)
{
    answer_rc(c, m, space_put(c, pmi_field(m, "key"), pmi_field(m, "value")));
}

/* Ignores srcid, which is only a hint. */
static void cmd_kvs_get(struct connection *c, const struct pmi_fields *m)
{
    const char *job = pmi_field(m, "jobid"), *key = pmi_field(m, "key");
    if (!key || (job && *job && strcmp(job, c->space->name) != 0))
        answer_rc(c, m, "not_a_job_of_this_step");
    else
        answer_value(c, command_of(m), thread_of(m), kvs_get(&c->space->kvs, key));
}

static void cmd_kvs_fence(struct connection *c, const struct pmi_fields *m)
{
    if (!c->in_fence)
        snprintf(c->fence_thread, sizeof(c->fence_thread), "%s", thread_of(m));
    space_fence(c);
}

static void fence_done(struct connection *c)
{
    answer(c, "kvs-fence", c->fence_thread, "rc=0;");
}

/* ---- values for the ranks of this host ------------------------------------------------------- */

static void waiter_remove(struct node_waiter *w)
{
    LIST_REMOVE(w, link);
    w->connection->nwaiting--;
    free(w);
}

static void forget_waiters(struct connection *c)
{
    struct node_waiter *next;
    for (struct node_waiter *w = c->nwaiting ? LIST_FIRST(&c->space->waiters) : NULL; w; w = next) {
        next = LIST_NEXT(w, link);
        if (w->connection == c)
            waiter_remove(w);
    }
}

static int waiter_add(struct connection *c, const char *key, const char *thread)
{
    struct node_waiter *w =
        c->nwaiting < PMI2_WAITING_MAX ? malloc(sizeof(*w) + strlen(key) + 1) : NULL;
    if (!w)
        return -1;
    w->connection = c;
    snprintf(w->thread, sizeof(w->thread), "%s", thread);
    strcpy(w->key, key);
    c->nwaiting++;
    LIST_INSERT_HEAD(&c->space->waiters, w, link);
    return 0;
}

static void answer_waiters(struct space *s, const char *key, const char *value)
{
    struct node_waiter *next;
    for (struct node_waiter *w = LIST_FIRST(&s->waiters); w; w = next) {
        next = LIST_NEXT(w, link);
        if (strcmp(w->key, key) != 0)
            continue;
        answer_value(w->connection, "info-getnodeattr", w->thread, value);
        waiter_remove(w);
    }
}

static void cmd_putnodeattr(struct connection *c, const struct pmi_fields *m)
{
    const char *key = pmi_field(m, "key"), *value = pmi_field(m, "value");
    const char *why_not = space_put_node(c, key, value);
    answer_rc(c, m, why_not);
    if (!why_not)
        answer_waiters(c->space, key, value);
}

static void cmd_getnodeattr(struct connection *c, const struct pmi_fields *m)
{
    const char *key = pmi_field(m, "key"), *wait = pmi_field(m, "wait");
    const char *value = key ? kvs_get(&c->space->node, key) : NULL;
    if (!key || strlen(key) > PMI_KEY_MAX)
        answer_rc(c, m, "bad_key");
    else if (value || !wait || strcmp(wait, "TRUE") != 0)
        answer_value(c, command_of(m), thread_of(m), value);
    else if (waiter_add(c, key, thread_of(m)) < 0)
        answer_rc(c, m, "too_many_threads_wait");
}

/* ---- names ----------------------------------------------------------------------------------- */

static void cmd_publish(struct connection *c, const struct pmi_fields *m)
{
    names_publish(c, "name-publish", thread_of(m), pmi_field(m, "name"), pmi_field(m, "port"));
}

static void cmd_unpublish(struct connection *c, const struct pmi_fields *m)
{
    names_unpublish(c, "name-unpublish", thread_of(m), pmi_field(m, "name"));
}

static void cmd_lookup(struct connection *c, const struct pmi_fields *m)
{
    names_lookup(c, "name-lookup", thread_of(m), pmi_field(m, "name"));
}

/* Sends the port under two names: the specification and its clients differ. */
static void named(struct connection *c, const char *command, const char *thread,
                  pmix_status_t status, const char *port)
{
    AUTO_FREE char *text = doubled(port);
    if (status != PMIX_SUCCESS || !text)
        answer(c, command, thread, "rc=1;errmsg=%s;",
               status == PMIX_ERR_DUPLICATE_KEY ? "the_name_is_published_already"
               : status == PMIX_ERR_NOT_FOUND   ? "no_such_name"
                                                : "not_possible");
    else if (*port)
        answer(c, command, thread, "value=%s;port=%s;rc=0;", text, text);
    else
        answer(c, command, thread, "rc=0;");
}

/* ---- spawn ----------------------------------------------------------------------------------- */

static void cmd_spawn(struct connection *c, const struct pmi_fields *m)
{
    struct spawn_request *r = spawn_request_create();
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < m->n; i++) {
        if (strcmp(m->list[i].name, "subcmd") == 0)
            spawn_request_begin_program(r);
        rc = spawn_request_take(r, m->list[i].name, m->list[i].value);
    }
    if (rc == 0)
        connection_spawn(c, r, thread_of(m));
    else
        answer_rc(c, m, "bad_spawn");
    spawn_request_destroy(r);
}

/* MPICH's client ignores the rc of this answer: it sees an error only if there is no rc. */
static void spawned(struct connection *c, const char *thread, const struct world *world)
{
    char name[SPACE_NAME_MAX];
    if (world)
        answer(c, "spawn", thread, "rc=0;jobid=%s;nerrs=0;",
               space_name(c->pmi, world->number, name));
    else
        answer(c, "spawn", thread, "%serrmsg=no_ranks_were_started;",
               c->counts_length ? "" : "rc=1;");
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(struct connection *c, const struct pmi_fields *m);
} commands[] = {
    {"fullinit", cmd_fullinit},
    {"finalize", cmd_finalize},
    {"abort", cmd_abort},
    {"job-getid", cmd_getid},
    {"info-getjobattr", cmd_getjobattr},
    {"info-putnodeattr", cmd_putnodeattr},
    {"info-getnodeattr", cmd_getnodeattr},
    {"kvs-put", cmd_kvs_put},
    {"kvs-get", cmd_kvs_get},
    {"kvs-fence", cmd_kvs_fence},
    {"name-publish", cmd_publish},
    {"name-unpublish", cmd_unpublish},
    {"name-lookup", cmd_lookup},
    {"spawn", cmd_spawn},
};

static void run_message(struct connection *c, char *text)
{
    struct pmi_fields m;
    const char *name = pmi2_cut(text, &m) == 0 ? command_of(&m) : NULL;
    if (!name || strlen(thread_of(&m)) >= PMI2_THREAD_MAX || strchr(thread_of(&m), ';')) {
        connection_refuse(c, "a message that is no command of PMI-2");
        return;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(commands[i].name, name) == 0) {
            commands[i].run(c, &m);
            return;
        }
    answer_rc(c, &m, "mppmi_does_not_have_this_command");
}

/* Blanks may be on either side of the length: the specification and its clients differ. */
static int message_length(const char *bytes, size_t *ret)
{
    char text[LENGTH_SIZE + 1] = "", *number = text;
    int64_t length;
    memcpy(text, bytes, LENGTH_SIZE);
    number += strspn(number, " ");
    number[strcspn(number, " ")] = 0;
    if (number_parse(number, NULL, 1, PMI2_MESSAGE_MAX, &length, NULL) < 0)
        return -1;
    *ret = (size_t)length;
    return 0;
}

/* Returns the bytes at the end of a message that do not belong to it. MPICH's client counts the six
 * bytes of the length, too, and sends as many bytes more: its first message shows that. */
static size_t excess(struct connection *c, const char *message, size_t length)
{
    if (!c->has_sent)
        c->counts_length = length > LENGTH_SIZE && message[length - 1] != ';' &&
                           message[length - 1 - LENGTH_SIZE] == ';';
    c->has_sent = true;
    return c->counts_length && length > LENGTH_SIZE ? LENGTH_SIZE : 0;
}

static size_t take_message(struct connection *c, char *bytes, size_t n)
{
    size_t length;
    if (n < LENGTH_SIZE)
        return 0;
    if (message_length(bytes, &length) < 0) {
        connection_refuse(c,
                          "a message of PMI-2 that does not begin with its length, or is too long");
        return 0;
    }
    if (n < LENGTH_SIZE + length)
        return 0;
    size_t without = length - excess(c, bytes + LENGTH_SIZE, length);
    AUTO_FREE char *text = strndup(bytes + LENGTH_SIZE, without);
    if (!text || strlen(text) < without)
        connection_refuse(c, "a message of PMI-2 with a zero byte");
    else
        run_message(c, text);
    return LENGTH_SIZE + length;
}

const struct pmi_dialect pmi2_dialect = {
    .take = take_message,
    .fence_done = fence_done,
    .gone = forget_waiters,
    .named = named,
    .spawned = spawned,
};
