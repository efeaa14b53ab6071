/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/pmix/library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwloc.h>
#include <pmix.h>
#include <pmix_server.h>

#include "common/log.h"
#include "common/path.h"
#include "pmix-server/pmix/infos.h"
#include "pmix-server/pmix/nspace.h"
#include "pmix-server/pmix/upcalls.h"
#include "pmix-server/server.h"

struct library {
    hwloc_topology_t topology; /* as the starter gave it */
    bool is_up;
};

/* An outer launcher has set these for mppmi as one of its own processes; the library would act on
 * them, its security mode among others. Parameters that a user sets begin with PMIX_MCA_. */
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

struct library *library_prepare(struct error *err)
{
    /* Plug-ins of hwloc load X11, OpenCL and libxml2; a topology in memory needs none of them. */
    setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 0);
    forget_outer_pmix();
    struct library *l = calloc(1, sizeof(*l));
    if (l && hwloc_topology_init(&l->topology) == 0)
        return l;
    error_errno(err, l ? errno : ENOMEM, "make a topology");
    free(l);
    return NULL;
}

static int load_topology(struct library *l, ProtobufCBinaryData xml, struct error *err)
{
    /* hwloc wants the terminating zero to be counted. */
    char *text = strndup((const char *)xml.data, xml.len);
    if (!text)
        return error_errno(err, ENOMEM, "read the topology");
    hwloc_topology_set_flags(l->topology, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
    hwloc_topology_set_all_types_filter(l->topology, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_io_types_filter(l->topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    int rc = hwloc_topology_set_xmlbuffer(l->topology, text, (int)strlen(text) + 1);
    if (rc == 0)
        rc = hwloc_topology_load(l->topology);
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

int library_start(struct library *l, struct server *s, ProtobufCBinaryData topology_xml,
                  struct error *err)
{
    struct infos keys = {.v = NULL};
    if (topology_xml.len && load_topology(l, topology_xml, err) < 0)
        return -1;
    pmix_topology_t topology = {.source = (char *)"hwloc", .topology = l->topology};
    server_keys(s, topology_xml.len ? &topology : NULL, &keys);
    pmix_status_t rc = keys.status;
    if (rc == PMIX_SUCCESS)
        rc = PMIx_server_init(upcalls_for(s), keys.v, keys.n);
    infos_free(&keys);
    if (rc != PMIX_SUCCESS)
        return error_set(err, EIO, "start the PMIx library: %s", PMIx_Error_string(rc));
    l->is_up = true;
    return 0;
}

bool library_is_up(const struct library *l)
{
    return l && l->is_up;
}

/* An orderly end of the library would also free memory and remove the files that go with the
 * directory: half a millisecond, and as much for a world that no rank has connected to. */
void library_stop(const struct server *s)
{
    struct error err;
    if (s->had_clients)
        nspace_deregister_all(s);
    if (s->directory && path_remove_tree(s->directory, &err) < 0)
        log_warn("%s", err.text);
}
