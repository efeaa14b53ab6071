/* SPDX-License-Identifier: BSD-3-Clause */
/* The PMIx library's beginning and end. A library that has to look at the machine itself takes ten
 * times as long to start, so the starter's topology is handed to it, and it shares it with the
 * ranks. */
#include "pmix-server/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmix.h>
#include <pmix_server.h>

#include "common/log.h"
#include "common/path.h"
#include "pmix-server/bridge.h"
#include "pmix-server/infos.h"
#include "pmix-server/nspace.h"
#include "pmix-server/publish.h"
#include "pmix-server/requests.h"
#include "pmix-server/upcalls.h"

/* What another launcher set for us as one of its processes is not for the library to act on: it
 * takes its security mode from there, among others. Parameters a user sets begin with PMIX_MCA_. */
static void forget_outer_pmix(void)
{
    char **e = environ;
    while (*e) {
        char name[64];
        size_t n = strcspn(*e, "=");
        if (strncmp(*e, "PMIX_", 5) || !strncmp(*e, "PMIX_MCA_", 9) || n >= sizeof(name)) {
            e++;
            continue;
        }
        memcpy(name, *e, n);
        name[n] = 0;
        unsetenv(name); /* the next one moves here */
    }
}

int server_prepare(struct server *s, struct error *err)
{
    /* Plug-ins of hwloc bring X11, OpenCL and libxml2 with them; a file of a topology needs none.
     */
    setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 0);
    forget_outer_pmix();
    s->bridge = bridge_create(s->loop, err);
    s->requests = s->bridge ? requests_create(s->loop, err) : NULL;
    s->store = s->requests ? store_create(err) : NULL;
    if (!s->store)
        return -1;
    if (hwloc_topology_init(&s->topology) < 0)
        return error_errno(err, errno, "make a topology");
    return 0;
}

static int load_topology(struct server *s, ProtobufCBinaryData xml, struct error *err)
{
    /* hwloc wants the terminating zero to be counted. */
    char *text = strndup((const char *)xml.data, xml.len);
    if (!text)
        return error_errno(err, ENOMEM, "read the topology");
    hwloc_topology_set_flags(s->topology, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
    hwloc_topology_set_all_types_filter(s->topology, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_io_types_filter(s->topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    int rc = hwloc_topology_set_xmlbuffer(s->topology, text, (int)strlen(text) + 1);
    if (rc == 0)
        rc = hwloc_topology_load(s->topology);
    int code = errno;
    free(text);
    return rc == 0 ? 0 : error_errno(err, code, "read the topology");
}

/* The server's own name is no secret: ranks see it in the address they connect to. */
static void server_keys(const struct server *s, pmix_topology_t *topology, struct infos *to)
{
    char name[PMIX_MAX_NSLEN + 1];
    snprintf(name, sizeof(name), "mppmi.%.200s", s->hostname);
    infos_string(to, PMIX_SERVER_NSPACE, name);
    infos_rank(to, PMIX_SERVER_RANK, 0);
    infos_string(to, PMIX_SERVER_TMPDIR, s->directory);
    infos_string(to, PMIX_SYSTEM_TMPDIR, s->directory);
    infos_string(to, PMIX_HOSTNAME, s->hostname);
    infos_true(to, PMIX_SERVER_SHARE_TOPOLOGY);
    if (topology)
        infos_topology(to, PMIX_TOPOLOGY2, topology);
}

static int start_library(struct server *s, pmix_topology_t *topology, struct error *err)
{
    struct infos keys = {.v = NULL};
    server_keys(s, topology, &keys);
    pmix_status_t rc = keys.status;
    if (rc == PMIX_SUCCESS)
        rc = PMIx_server_init(upcalls_for(s), keys.v, keys.n);
    infos_free(&keys);
    if (rc != PMIX_SUCCESS)
        return error_set(err, EIO, "start the PMIx library: %s", PMIx_Error_string(rc));
    s->pmix_is_up = 1;
    return 0;
}

int server_start(struct server *s, const Mprun__PmiInit *m, struct error *err)
{
    if (s->directory)
        return error_set(err, EEXIST, "start the PMIx library: it is running already");
    s->directory = strndup(m->directory.data ? (char *)m->directory.data : "", m->directory.len);
    s->hostname = strndup(m->hostname.data ? (char *)m->hostname.data : "", m->hostname.len);
    if (!s->directory || !s->hostname)
        return error_errno(err, ENOMEM, "start the PMIx library");
    if (s->directory[0] != '/' || !s->hostname[0])
        return error_set(err, EINVAL, "start the PMIx library: no directory, or no name, given");
    if (!m->topology_xml.len)
        return start_library(s, NULL, err);
    if (load_topology(s, m->topology_xml, err) < 0)
        return -1;
    pmix_topology_t topology = {.source = (char *)"hwloc", .topology = s->topology};
    return start_library(s, &topology, err);
}

void server_fail(struct server *s, const struct error *err)
{
    log_error("%s", err->text);
    Mprun__PmiFailed m = MPRUN__PMI_FAILED__INIT;
    m.text = (char *)err->text;
    link_send(s->link, FRAME_PMI_FAILED, &m.base);
    link_flush(s->link);
    s->exit_code = 1;
    loop_stop(s->loop);
}

void server_end(struct server *s)
{
    s->ending = 1;
    if (!s->registering)
        loop_stop(s->loop);
}

/* What an orderly end of the library would do more is to free memory and to remove the files that
 * go with the directory: half a millisecond, and as much for a world that no rank has connected to.
 */
void server_stop(struct server *s)
{
    struct error err;
    if (s->had_clients)
        nspace_deregister_all(s);
    if (s->directory && path_remove_tree(s->directory, &err) < 0)
        log_warn("%s", err.text);
}
