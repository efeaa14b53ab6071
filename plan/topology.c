/* SPDX-License-Identifier: BSD-3-Clause */
/* topology.c - the machine through hwloc, and what of it may be used
 *
 * hwloc cuts to the cpuset of the process's cgroup, not to its affinity: both are applied here. No
 * I/O devices are looked for, no plugins loaded (they find I/O devices, and bring in graphics
 * libraries), and no discovery that binds this process to one processor after the other. */
#include "plan/topology.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/number.h"

struct topology {
    hwloc_topology_t hw;
    struct idset usable; /* hardware threads by operating system index */
    char *xml;           /* hwloc's memory; NULL until asked for */
    int xml_len;
};

static int add_bitmap(struct idset *to, hwloc_const_bitmap_t from)
{
    for (int i = hwloc_bitmap_first(from); i >= 0; i = hwloc_bitmap_next(from, i))
        if (idset_add(to, (unsigned)i) < 0)
            return -1;
    return 0;
}

/* hwloc looks for its plugins while it makes a topology, and can be told where only by this
 * variable. It is put back: nobody's environment changes. */
static int init_without_plugins(hwloc_topology_t *ret)
{
    static const char name[] = "HWLOC_PLUGINS_PATH";
    const char *value = getenv(name);
    AUTO_FREE char *before = value ? strdup(value) : NULL;
    setenv(name, "/nonexistent", 1);
    int rc = hwloc_topology_init(ret);
    if (before)
        setenv(name, before, 1);
    else
        unsetenv(name);
    return rc;
}

static int load(hwloc_topology_t *ret, struct error *err)
{
    int rc = init_without_plugins(ret);
    if (rc == 0) {
        hwloc_topology_set_io_types_filter(*ret, HWLOC_TYPE_FILTER_KEEP_NONE);
#if HWLOC_API_VERSION >= 0x00020500
        hwloc_topology_set_flags(*ret, HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING);
#endif
        rc = hwloc_topology_load(*ret);
    }
    return rc < 0 ? error_errno(err, errno, "load the topology of this machine") : 0;
}

/* usable = the machine's threads, cut with cpuset, affinity and grant. */
static int find_usable(struct topology *t, const struct idset *granted, struct error *err)
{
    struct idset affinity = {0};
    if (add_bitmap(&t->usable, hwloc_topology_get_allowed_cpuset(t->hw)) < 0)
        return error_errno(err, ENOMEM, "read the topology of this machine");
    if (hwloc_topology_is_thissystem(t->hw)) {
        if (cpus_allowed(&affinity, err) < 0)
            return -1;
        idset_intersect(&t->usable, &affinity);
        idset_free(&affinity);
    }
    return topology_cut(t, granted, err);
}

int topology_cut(struct topology *t, const struct idset *granted, struct error *err)
{
    if (granted)
        idset_intersect(&t->usable, granted);
    if (idset_count(&t->usable) > 0)
        return 0;
    AUTO_FREE char *text = granted ? idset_format(granted) : NULL;
    return error_set(err, ENODEV,
                     "use the granted hardware threads '%s': this process may run on none of them",
                     text ? text : "");
}

struct topology *topology_load(const struct idset *granted, struct error *err)
{
    struct topology *t = calloc(1, sizeof(*t));
    if (!t) {
        error_errno(err, ENOMEM, "load the topology of this machine");
        return NULL;
    }
    if (load(&t->hw, err) < 0 || find_usable(t, granted, err) < 0) {
        topology_destroy(t);
        return NULL;
    }
    return t;
}

void topology_destroy(struct topology *t)
{
    if (!t)
        return;
    if (t->xml)
        hwloc_free_xmlbuffer(t->hw, t->xml);
    if (t->hw)
        hwloc_topology_destroy(t->hw);
    idset_free(&t->usable);
    free(t);
}

const char *topology_xml(struct topology *t, size_t *ret_len)
{
    if (!t->xml && hwloc_topology_export_xmlbuffer(t->hw, &t->xml, &t->xml_len, 0) < 0) {
        t->xml = NULL;
        return NULL;
    }
    if (ret_len)
        *ret_len = (size_t)t->xml_len - 1; /* hwloc counts the NUL */
    return t->xml;
}

/* Machines whose kernel tells nothing of cores have hardware threads only. */
static hwloc_obj_type_t core_type(const struct topology *t)
{
    return hwloc_get_nbobjs_by_type(t->hw, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

static unsigned package_of(const struct topology *t, hwloc_obj_t core)
{
    hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(t->hw, HWLOC_OBJ_PACKAGE, core);
    return package ? package->logical_index : 0;
}

int topology_cores(const struct topology *t, struct plan_topology *ret, struct error *err)
{
    hwloc_obj_type_t type = core_type(t);
    int n = hwloc_get_nbobjs_by_type(t->hw, type);
    struct plan_topology found = {.cores = calloc((size_t)n + 1, sizeof(*found.cores))};
    for (int i = 0; found.cores && i < n; i++) {
        hwloc_obj_t obj = hwloc_get_obj_by_type(t->hw, type, (unsigned)i);
        struct plan_core *core = &found.cores[found.ncores];
        if (add_bitmap(&core->threads, obj->cpuset) < 0) {
            plan_topology_free(&found);
            break;
        }
        idset_intersect(&core->threads, &t->usable);
        core->package = package_of(t, obj);
        if (idset_count(&core->threads) > 0)
            found.ncores++;
        else
            idset_free(&core->threads);
    }
    if (!found.cores)
        return error_errno(err, ENOMEM, "read the cores of this machine");
    *ret = found;
    return 0;
}

/* ---- cores by socket and number -------------------------------------------------------------- */

/* NULL: there is none. A machine without packages is one. */
static hwloc_obj_t core_at(const struct topology *t, unsigned package, unsigned core)
{
    hwloc_obj_t p = hwloc_get_nbobjs_by_type(t->hw, HWLOC_OBJ_PACKAGE) > 0
                        ? hwloc_get_obj_by_type(t->hw, HWLOC_OBJ_PACKAGE, package)
                        : (package == 0 ? hwloc_get_root_obj(t->hw) : NULL);
    return p ? hwloc_get_obj_inside_cpuset_by_type(t->hw, p->cpuset, core_type(t), core) : NULL;
}

int topology_find_cores(const struct topology *t, const char *list, struct idset *ret,
                        struct error *err)
{
    for (const char *at = list; *at;) {
        unsigned package, core;
        int used = 0;
        if (sscanf(at, "%5u,%5u%n", &package, &core, &used) != 2 || !strchr(":", at[used]))
            return error_set(err, EINVAL, "granted cores '%.60s' are not 'socket,core:socket,core'",
                             list);
        hwloc_obj_t obj = core_at(t, package, core);
        if (obj && add_bitmap(ret, obj->cpuset) < 0)
            return error_errno(err, ENOMEM, "find the granted cores");
        at += used;
        at += *at == ':';
    }
    return 0;
}

/* ---- words for a set of threads -------------------------------------------------------------- */

/* Index of the core within its package; without packages, within the machine. */
static unsigned index_in_package(const struct topology *t, hwloc_obj_t core)
{
    hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(t->hw, HWLOC_OBJ_PACKAGE, core);
    if (!package)
        return core->logical_index;
    hwloc_obj_t first =
        hwloc_get_obj_inside_cpuset_by_type(t->hw, package->cpuset, HWLOC_OBJ_CORE, 0);
    return first ? core->logical_index - first->logical_index : core->logical_index;
}

/* "package 0 cores 0-1, " for one package; nothing when no core of it is used. */
static int describe_package(FILE *f, const struct topology *t, int package,
                            const struct idset *threads)
{
    struct idset cores = {0};
    for (int id = idset_next(threads, 0); id >= 0; id = idset_next(threads, (unsigned)id + 1)) {
        hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(t->hw, (unsigned)id);
        hwloc_obj_t core = pu ? hwloc_get_ancestor_obj_by_type(t->hw, HWLOC_OBJ_CORE, pu) : NULL;
        if (core && package_of(t, core) == (unsigned)package &&
            idset_add(&cores, index_in_package(t, core)) < 0)
            return -1;
    }
    AUTO_FREE char *text = idset_format(&cores);
    size_t count = idset_count(&cores);
    idset_free(&cores);
    if (text && count > 0)
        fprintf(f, "package %d core%s %s, ", package, plural(count), text);
    return text ? 0 : -1;
}

char *topology_describe(const struct topology *t, const struct idset *threads)
{
    char *text = NULL;
    size_t len;
    AUTO_FREE char *list = idset_format(threads);
    FILE *f = open_memstream(&text, &len);
    int ok = f && list;
    int packages = hwloc_get_nbobjs_by_type(t->hw, HWLOC_OBJ_PACKAGE);
    for (int p = 0; ok && p < (packages > 0 ? packages : 1); p++)
        ok = describe_package(f, t, p, threads) == 0;
    if (ok && idset_count(threads) == 0)
        fputs("no hardware thread", f);
    else if (ok)
        fprintf(f, "hardware thread%s %s", plural(idset_count(threads)), list);
    if (f && (fclose(f) != 0 || !ok)) {
        free(text);
        return NULL;
    }
    return text;
}
