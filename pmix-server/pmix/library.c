/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmix-server/pmix/library.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <hwloc.h>
#include <pmix.h>

#include "common/log.h"
#include "common/files/path.h"
#include "common/cleanup.h"
#include "pmix-server/pmix/infos.h"
#include "pmix-server/pmix/nspace.h"
#include "pmix-server/tunables.h"
#include "pmix-server/server.h"

static atomic_uint polls; /* of the library's threads, so far */
static _Thread_local bool is_own_thread;

/* Removes variables that an outer launcher has set for mppmi as one of its own processes: the
 * library would obey them, for example a security mode. A user's begin with PMIX_MCA_. */
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

/* The library's shared memory consists of files; `ulimit -f` may keep them too small. */
static void share_by_sending(void)
{
    setenv("PMIX_MCA_gds", "hash", 0);
}

/* Credentials other than a rank's own word depend on what runs on the host, and tell nothing that
 * the kernel has not told (library-socket.c). */
void library_be_foreseeable(void)
{
    share_by_sending();
    setenv("PMIX_MCA_psec", "native", 0);
}

/* Has the library keep no output that no rank or tool wants; 0 would mean no limit. */
static void keep_no_output(void)
{
    setenv("PMIX_MCA_pmix_max_iof_cache", "1", 0);
}

struct hwloc_topology *library_prepare(struct error *err)
{
    hwloc_topology_t topology = NULL;
    struct rlimit size;
    is_own_thread = true;
    /* All three threads share one heap, which is small and never given back. */
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, HEAP_KEEP);
    mallopt(M_MMAP_THRESHOLD, HEAP_KEEP);
    /* Plug-ins of hwloc load X11, OpenCL and libxml2; a topology in memory needs none of them. */
    setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 0);
    forget_outer_pmix();
    if (getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY)
        share_by_sending();
    keep_no_output();
    if (hwloc_topology_init(&topology) < 0)
        error_errno(err, errno, "make a topology");
    return topology;
}

static int load_topology(hwloc_topology_t topology, ProtobufCBinaryData xml, struct error *err)
{
    /* hwloc wants the terminating zero to be counted. */
    AUTO_FREE char *text = strndup((const char *)xml.data, xml.len);
    if (!text)
        return error_errno(err, ENOMEM, "read the topology");
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    int rc = hwloc_topology_set_xmlbuffer(topology, text, (int)strlen(text) + 1);
    if (rc == 0)
        rc = hwloc_topology_load(topology);
    return rc == 0 ? 0 : error_errno(err, errno, "read the topology");
}

/* The server's own name is no secret: ranks see it in the server's address. */
static void server_keys(const struct server *s, pmix_topology_t *topology, struct infos *to)
{
    char name[PMIX_MAX_NSLEN + 1];
    bool no = false;
    snprintf(name, sizeof(name), "mppmi.%.200s", s->hostname);
    infos_string(to, PMIX_SERVER_NSPACE, name);
    infos_rank(to, PMIX_SERVER_RANK, 0);
    infos_string(to, PMIX_SERVER_TMPDIR, s->directory);
    infos_string(to, PMIX_SYSTEM_TMPDIR, s->directory);
    infos_string(to, PMIX_HOSTNAME, s->hostname);
    infos_true(to, PMIX_SERVER_SHARE_TOPOLOGY);
    infos_true(to, PMIX_SERVER_TOOL_SUPPORT);
    infos_add(to, PMIX_IOF_LOCAL_OUTPUT, &no, PMIX_BOOL); /* mppmi has nowhere to write output */
    if (topology)
        infos_topology(to, PMIX_TOPOLOGY2, topology);
}

int library_start(struct hwloc_topology *topology, struct server *s,
                  ProtobufCBinaryData topology_xml, struct error *err)
{
    struct infos keys = {.v = NULL};
    if (topology_xml.len && load_topology(topology, topology_xml, err) < 0)
        return -1;
    pmix_topology_t shared = {.source = (char *)"hwloc", .topology = topology};
    server_keys(s, topology_xml.len ? &shared : NULL, &keys);
    pmix_status_t rc = keys.status;
    if (rc == PMIX_SUCCESS)
        rc = PMIx_server_init(upcalls_for(s), keys.v, keys.n);
    infos_free(&keys);
    if (rc == PMIX_SUCCESS)
        events_pass_alerts(s);
    return rc == PMIX_SUCCESS
               ? 0
               : error_set(err, EIO, "start the PMIx library: %s", PMIx_Error_string(rc));
}

/* ---- the end --------------------------------------------------------------------------------- */

/* epoll_wait(2), counted: a program's own functions go before the C library's. */
__attribute__((visibility("default"))) int epoll_wait(int fd, struct epoll_event *e, int n, int ms)
{
    if (!is_own_thread)
        polls++;
    return (int)syscall(SYS_epoll_pwait, fd, e, n, ms, NULL, 0);
}

/* A tool may wait for the answer to the request that has ended the step. The library has written
 * all its answers once it has polled twice; each call wakes it. */
static void write_answers(const struct server *s)
{
    for (unsigned before = polls; polls && polls - before < 2;)
        nspace_deregister_all(s);
}

/* Does not end the library in order: that would also free memory and remove files that go with the
 * directory, half a millisecond, and as much for each world that no rank has connected to. */
void library_stop(const struct server *s)
{
    struct error err;
    if (s->had_clients)
        write_answers(s);
    if (s->directory && path_remove_tree(s->directory, &err) < 0)
        log_warn("%s", err.text);
}
