/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/plain-machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"

static int read_list(int system, const char *path, struct idset *ret)
{
    char text[4096];
    idset_free(ret);
    return file_read_at(system, path, text, sizeof(text)) > 0 ? idset_parse(text, ret, NULL) : -1;
}

static int read_list_of(int system, unsigned thread, const char *list, struct idset *ret)
{
    char path[80];
    snprintf(path, sizeof(path), "cpu/cpu%u/%s", thread, list);
    return read_list(system, path, ret);
}

static unsigned first_thread(const struct plan_core *core)
{
    return (unsigned)idset_next(&core->threads, 0);
}

static struct plan_core *add_core(struct plan_topology *t)
{
    struct plan_core *core = &t->cores[t->ncores];
    for (int level = LEVEL_NONE; level < LEVEL_COUNT; level++)
        core->at[level] = level == LEVEL_CORE ? (int)t->ncores : -1;
    t->ncores++;
    return core;
}

static bool read_cores(int system, const struct idset *usable, struct plan_topology *t)
{
    AUTO(idset_free) struct idset left = {0};
    idset_copy(&left, usable);
    t->cores = must(calloc(idset_count(usable) + 1, sizeof(*t->cores)));
    for (int i = idset_next(&left, 0); i >= 0; i = idset_next(&left, (unsigned)i + 1)) {
        struct plan_core *core = add_core(t);
        if (read_list_of(system, (unsigned)i, "topology/thread_siblings_list", &core->threads) <
                0 ||
            idset_next(&core->threads, 0) != i)
            return false;
        idset_intersect(&core->threads, usable);
        idset_subtract(&left, &core->threads);
    }
    return true;
}

static bool is_together(const struct plan_topology *t, const struct idset *part)
{
    unsigned begins = 0;
    bool was = false;
    for (size_t i = 0; i < t->ncores; i++) {
        bool is = idset_has(part, first_thread(&t->cores[i]));
        begins += is && !was;
        was = is;
    }
    return begins <= 1;
}

/* Each part is read once. */
static bool are_together(int system, const struct plan_topology *t, const char *list)
{
    AUTO(idset_free) struct idset part = {0}, seen = {0};
    bool are = true;
    for (size_t i = 0; are && i < t->ncores; i++) {
        unsigned thread = first_thread(&t->cores[i]);
        if (idset_has(&seen, thread))
            continue;
        if (read_list_of(system, thread, list, &part) < 0)
            break; /* there are no such parts */
        are = is_together(t, &part);
        idset_unite(&seen, &part);
    }
    return are;
}

static bool nodes_are_together(int system, const struct plan_topology *t)
{
    char path[64];
    AUTO(idset_free) struct idset nodes = {0}, node = {0};
    bool are = true;
    read_list(system, "node/online", &nodes);
    for (int i = idset_next(&nodes, 0); are && i >= 0; i = idset_next(&nodes, (unsigned)i + 1)) {
        snprintf(path, sizeof(path), "node/node%d/cpulist", i);
        read_list(system, path, &node);
        are = is_together(t, &node);
    }
    return are;
}

/* hwloc tells kinds of cores by these files. */
static bool are_alike(int system, const struct plan_topology *t)
{
    static const char *const files[] = {"cpu_capacity", "cpufreq/cpuinfo_max_freq",
                                        "cpufreq/base_frequency"};
    char path[80], first[32], text[32];
    for (size_t f = 0; f < sizeof(files) / sizeof(*files); f++)
        for (size_t i = 0; i < t->ncores; i++) {
            snprintf(path, sizeof(path), "cpu/cpu%u/%s", first_thread(&t->cores[i]), files[f]);
            if (file_read_at(system, path, i ? text : first, sizeof(text)) < 0) {
                if (i)
                    return false;
                break;
            }
            if (i && strcmp(text, first) != 0)
                return false;
        }
    return true;
}

bool plain_machine_cores(int system, const struct idset *usable, struct plan_topology *ret)
{
    struct plan_topology t = {0};
    if (read_cores(system, usable, &t) && are_alike(system, &t) &&
        are_together(system, &t, "topology/core_siblings_list") &&
        are_together(system, &t, "cache/index3/shared_cpu_list") &&
        nodes_are_together(system, &t)) {
        *ret = t;
        return true;
    }
    plan_topology_free(&t);
    return false;
}

bool plain_machine_cut(const struct plan_topology *all, const struct idset *usable,
                       struct plan_topology *ret)
{
    struct plan_topology t = {.cores = must(calloc(all->ncores + 1, sizeof(*t.cores)))};
    for (size_t i = 0; i < all->ncores; i++) {
        if (!idset_intersects(&all->cores[i].threads, usable))
            continue;
        if (!idset_has(usable, first_thread(&all->cores[i]))) {
            plan_topology_free(&t);
            return false;
        }
        struct plan_core *core = add_core(&t);
        idset_copy(&core->threads, &all->cores[i].threads);
        idset_intersect(&core->threads, usable);
    }
    *ret = t;
    return true;
}

/* ---- this machine ---------------------------------------------------------------------------- */

static struct { /* by plain_machine_look() */
    struct idset usable;
    struct plan_topology cores;
    bool is_plain;
} looked;

static bool read_here(const struct idset *usable, struct plan_topology *ret)
{
    AUTO_CLOSE int system = open("/sys/devices/system", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return plain_machine_cores(system, usable, ret);
}

void plain_machine_look(const struct idset *usable)
{
    if (idset_count(&looked.usable) > 0)
        return;
    idset_copy(&looked.usable, usable);
    looked.is_plain = read_here(usable, &looked.cores);
}

bool plain_machine_here(const struct idset *usable, struct plan_topology *ret)
{
    AUTO(idset_free) struct idset unknown = {0};
    idset_copy(&unknown, usable);
    idset_subtract(&unknown, &looked.usable);
    if (looked.is_plain && idset_count(&unknown) == 0)
        return plain_machine_cut(&looked.cores, usable, ret);
    return !idset_equal(usable, &looked.usable) && read_here(usable, ret);
}
