/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/simple-pmi/names.h"

#include <string.h>

#include "pmix-server/pmix/publish.h"
#include "pmix-server/server.h"
#include "pmix-server/simple-pmi/connection.h"
#include "pmix-server/world.h"

static void done(pmix_status_t status, void *cbdata)
{
    struct caller call;
    struct connection *c = caller_take(cbdata, &call);
    if (c)
        c->dialect->named(c, call.command, call.thread, status, "");
}

static void found(pmix_status_t status, pmix_pdata_t data[], size_t n, void *cbdata)
{
    struct caller call;
    struct connection *c = caller_take(cbdata, &call);
    const char *port = status == PMIX_SUCCESS && n == 1 && data[0].value.type == PMIX_STRING
                           ? data[0].value.data.string
                           : NULL; /* PMIx publishes other things than ports, too */
    if (port && strlen(port) > PMI2_MESSAGE_MAX)
        port = NULL;
    if (c)
        c->dialect->named(c, call.command, call.thread, port ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND,
                          port ? port : "");
}

static struct caller *call_of(const struct connection *c, const char *command, const char *thread,
                              pmix_proc_t *ret)
{
    PMIX_LOAD_PROCID(ret, connection_world(c)->nspace, c->rank);
    return caller_create(c, command, thread);
}

void names_publish(struct connection *c, const char *command, const char *thread,
                   const char *service, const char *port)
{
    pmix_proc_t proc;
    struct caller *call = call_of(c, command, thread, &proc);
    pmix_status_t rc = PMIX_ERR_BAD_PARAM;
    pmix_info_t info;
    if (service && port && strlen(service) <= PMIX_MAX_KEYLEN) {
        PMIX_INFO_LOAD(&info, service, port, PMIX_STRING);
        rc = publish_upcall(c->pmi->server, &proc, &info, 1, done, call);
        PMIX_INFO_DESTRUCT(&info);
    }
    if (rc != PMIX_SUCCESS)
        done(rc, call);
}

void names_unpublish(struct connection *c, const char *command, const char *thread,
                     const char *service)
{
    char *keys[] = {(char *)(uintptr_t)service, NULL};
    pmix_proc_t proc;
    struct caller *call = call_of(c, command, thread, &proc);
    pmix_status_t rc = PMIX_ERR_BAD_PARAM;
    if (service)
        rc = unpublish_upcall(c->pmi->server, &proc, keys, done, call);
    if (rc != PMIX_SUCCESS)
        done(rc, call);
}

void names_lookup(struct connection *c, const char *command, const char *thread,
                  const char *service)
{
    char *keys[] = {(char *)(uintptr_t)service, NULL};
    pmix_proc_t proc;
    struct caller *call = call_of(c, command, thread, &proc);
    pmix_status_t rc = PMIX_ERR_BAD_PARAM;
    if (service)
        rc = lookup_upcall(c->pmi->server, &proc, keys, NULL, 0, found, call);
    if (rc != PMIX_SUCCESS)
        found(rc, NULL, 0, call);
}
