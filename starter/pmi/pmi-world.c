/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi-world.c - tells mppmi of its host and of the world; see pmi-private.h */
#include "starter/pmi/pmi-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/must.h"
#include "plan/topology.h"
#include "starter/binding/rank-binding.h"
#include "starter/host-directories.h"
#include "starter/services.h"
#include "wire/messages/launch.h"
#include "wire/messages/placements.h"
#include "wire/messages/values.h"

/* Makes mppmi's directory in memory: mppmi makes some twenty files, which on a disk take longer
 * than everything else that it does. */
void pmi_directory_make(struct pmi_server *p)
{
    snprintf(p->directory, sizeof(p->directory), "%s/p",
             host_directories_memory(p->services->directories));
    mkdir(p->directory, 0700);
}

/* Tools look for it in the main directory. */
static void show_tools(const struct pmi_server *p)
{
    char name[160];
    const char *home = host_directories_main(p->services->directories, NULL);
    snprintf(name, sizeof(name), "%s/p", home ? home : "");
    if (strcmp(p->directory, name) != 0 && symlink(p->directory, name) < 0)
        log_debug("make '%s' for tools: %s", name, strerror(errno));
}

/* This process looks at the topology, while mppmi loads its libraries: that would need longer to
 * load it itself. */
void pmi_init_send(const struct pmi_server *p)
{
    enum { MAX = 64 };
    const struct starter_services *s = p->services;
    struct topology *has = s->binding->topology, *own = has ? NULL : topology_load(NULL, NULL);
    Mprun__PmiInit m = MPRUN__PMI_INIT__INIT;
    ProtobufCBinaryData variables[MAX];
    size_t n = 0;
    show_tools(p);
    m.directory = bytes_of(p->directory);
    m.hostname = bytes_of(launch_here(s->launch)->host);
    m.step_id = bytes_of(s->launch->step.id);
    if (has || own) {
        const char *xml = topology_xml(has ? has : own, &n);
        m.topology_xml =
            (ProtobufCBinaryData){.len = xml ? n : 0, .data = (uint8_t *)(uintptr_t)xml};
    }
    for (char **v = s->pmi_env; v && *v && m.n_variables < MAX; v++)
        variables[m.n_variables++] = bytes_of(*v);
    m.variables = variables;
    if (m.n_variables)
        m.pmix_fd = (uint32_t)p->contact.pmix_fd;
    if (p->contact.simple_pmi_fd >= 0)
        m.simple_pmi_fd = (uint32_t)p->contact.simple_pmi_fd;
    link_send(p->link, FRAME_PMI_INIT, &m.base);
    topology_destroy(own);
}

static char *bound_threads(const struct rank_binding *b, uint32_t local)
{
    const struct idset *threads = rank_binding_threads(b, local);
    return must(threads ? idset_format(threads) : strdup(""));
}

struct packed_connection {
    Mprun__PmiConnection message;
    Mprun__RankName name;
};

/* Packs the connections of ranks that were started before mppmi. Returns their number. */
static size_t connections_pack(const struct first_contact *c, struct packed_connection *all,
                               Mprun__PmiConnection **list)
{
    size_t n = 0;
    for (size_t i = 0; i < c->nconnections; i++) {
        if (c->connections[i].fd < 0)
            continue;
        mprun__pmi_connection__init(&all[n].message);
        rank_name_pack(c->connections[i].name, &all[n].name);
        all[n].message.name = &all[n].name;
        all[n].message.fd = (uint32_t)c->connections[i].fd;
        list[n] = &all[n].message;
        n++;
    }
    return n;
}

void pmi_world_send(const struct pmi_server *p, const struct starter_services *s)
{
    const struct launch *l = s->launch;
    uint32_t n = rank_set_count(&l->hosts[l->host_index].ranks);
    Mprun__PmiWorld m = MPRUN__PMI_WORLD__INIT;
    Mprun__RankName parent;
    char own[160];
    AUTO(packed_placements_free) struct packed_placements hosts;
    struct packed_apps apps;
    size_t early = p->contact.nconnections + 1;
    AUTO_FREE struct packed_connection *connections = must(calloc(early, sizeof(*connections)));
    AUTO_FREE Mprun__PmiConnection **list = must(calloc(early, sizeof(*list)));
    AUTO_FREE char **bound = must(calloc(n + 1, sizeof(*bound)));
    placements_pack(l->hosts, l->nhosts, &hosts);
    apps_pack(&l->step, false, &apps);
    m.n_connections = connections_pack(&p->contact, connections, list);
    m.connections = list;
    for (uint32_t i = 0; i < n; i++)
        bound[i] = bound_threads(s->binding, i);
    snprintf(own, sizeof(own), "%s/s%u", host_directories_memory(s->directories), l->world);
    mkdir(own, 0700);
    m.universe = l->step.universe;
    rank_name_pack(l->parent, &parent);
    m.parent = l->has_parent ? &parent : NULL;
    m.preput = (ProtobufCBinaryData){.len = l->npreput, .data = l->preput};
    m.world = l->world;
    m.nspace = (char *)(uintptr_t)l->step.nspace;
    m.nranks = l->step.nranks;
    m.n_hosts = hosts.n;
    m.hosts = hosts.list;
    m.host_index = l->host_index;
    m.n_bound_threads = n;
    m.bound_threads = bound;
    m.directory = bytes_of(own);
    m.n_apps = apps.n;
    m.apps = apps.list;
    m.pmi = l->step.pmi;
    link_send(p->link, FRAME_PMI_WORLD, &m.base);
    packed_apps_free(&apps);
    for (uint32_t i = 0; i < n; i++)
        free(bound[i]);
}
