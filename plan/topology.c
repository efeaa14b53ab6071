/* SPDX-License-Identifier: BSD-3-Clause */
/* topology.c - the machine through hwloc, and what of it may be used
 *
 * hwloc cuts to the cpuset of the process's cgroup, not to its affinity: both are applied here. No
 * I/O devices are looked for, no plugins loaded (they find I/O devices, and bring in graphics
 * libraries), and no discovery that binds this process to one processor after the other. */
#include "plan/topology.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/machine/cpus.h"
#include "common/files/fdio.h"
#include "common/must.h"
#include "common/text/number.h"
#include "common/text/text.h"

struct topology {
    hwloc_topology_t hw;
    struct idset usable; /* hardware threads by operating system index */
    char *xml;           /* hwloc's memory; NULL until asked for */
    int xml_len;
};

static void add_bitmap(struct idset *to, hwloc_const_bitmap_t from)
{
    for (int i = hwloc_bitmap_first(from); i >= 0; i = hwloc_bitmap_next(from, i))
        idset_add(to, (unsigned)i);
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

/* whole: with what the cpuset does not have. */
static int look(hwloc_topology_t *ret, bool whole, struct error *err)
{
    unsigned long flags = whole ? 1 : 0; /* INCLUDE_DISALLOWED, which 2.0 calls WHOLE_SYSTEM */
    int rc = init_without_plugins(ret);
    if (rc == 0) {
        hwloc_topology_set_io_types_filter(*ret, HWLOC_TYPE_FILTER_KEEP_NONE);
#if HWLOC_API_VERSION >= 0x00020500
        flags |= HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING;
#endif
        hwloc_topology_set_flags(*ret, flags);
        rc = hwloc_topology_load(*ret);
    }
    return rc < 0 ? error_errno(err, errno, "load the topology of this machine") : 0;
}

static hwloc_topology_t looked_at; /* by topology_look(); NULL: nothing */

void topology_look(void)
{
    if (!looked_at && look(&looked_at, false, NULL) < 0)
        looked_at = NULL;
}

/* The cpuset may have grown since. */
static bool has_all_allowed(hwloc_topology_t hw)
{
    AUTO(idset_free) struct idset known = {0}, allowed = {0};
    bool has = cpus_allowed(&allowed, NULL) == 0;
    add_bitmap(&known, hwloc_topology_get_allowed_cpuset(hw));
    idset_subtract(&allowed, &known);
    return has && idset_count(&allowed) == 0;
}

static int load(hwloc_topology_t *ret, struct error *err)
{
    if (!looked_at || !has_all_allowed(looked_at))
        return look(ret, false, err);
    *ret = looked_at;
    looked_at = NULL;
    return 0;
}

/* usable = the machine's threads, cut with cpuset, affinity and grant. */
static int find_usable(struct topology *t, const struct idset *granted, struct error *err)
{
    AUTO(idset_free) struct idset affinity = {0};
    add_bitmap(&t->usable, hwloc_topology_get_allowed_cpuset(t->hw));
    if (hwloc_topology_is_thissystem(t->hw)) {
        if (cpus_allowed(&affinity, err) < 0)
            return -1;
        idset_intersect(&t->usable, &affinity);
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

/* The file's first bytes decide: hwloc's XML, or hwloc's words for a synthetic machine. */
static int read_source(hwloc_topology_t hw, const char *source, struct error *err)
{
    AUTO_FREE char *text = file_slurp_at(AT_FDCWD, source, 1 << 24, NULL);
    if (!text && errno != ENOENT)
        return error_errno(err, errno, "read the topology '%s'", source);
    int rc = text && text[0] == '<' ? hwloc_topology_set_xml(hw, source)
                                    : hwloc_topology_set_synthetic(hw, text ? text : source);
    if (rc == 0)
        rc = hwloc_topology_load(hw);
    return rc == 0 ? 0
                   : error_set(err, EINVAL,
                               "read the topology '%.80s': it is neither a file that lstopo wrote "
                               "as XML, nor a synthetic topology as 'package:2 core:8 pu:2'",
                               source);
}

struct topology *topology_load_from(const char *source, struct error *err)
{
    struct topology *t = must(calloc(1, sizeof(*t)));
    if (init_without_plugins(&t->hw) < 0)
        error_errno(err, ENOMEM, "read the topology '%s'", source);
    else if (read_source(t->hw, source, err) == 0 && find_usable(t, NULL, err) == 0)
        return t;
    topology_destroy(t);
    return NULL;
}

struct topology *topology_load(const struct idset *granted, struct error *err)
{
    struct topology *t = must(calloc(1, sizeof(*t)));
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

static const hwloc_obj_type_t level_types[LEVEL_COUNT] = {
    [LEVEL_L1] = HWLOC_OBJ_L1CACHE,
    [LEVEL_L2] = HWLOC_OBJ_L2CACHE,
    [LEVEL_L3] = HWLOC_OBJ_L3CACHE,
    [LEVEL_PACKAGE] = HWLOC_OBJ_PACKAGE,
};

/* NUMA nodes with the same processors are one: the first. */
static int numa_of(const struct topology *t, hwloc_obj_t core)
{
    hwloc_obj_t node = NULL;
    while ((node = hwloc_get_next_obj_by_type(t->hw, HWLOC_OBJ_NUMANODE, node)))
        if (hwloc_bitmap_isincluded(core->cpuset, node->cpuset))
            return (int)node->logical_index;
    return -1;
}

/* Index of the core within its package; without packages, within the machine. */
static unsigned index_in_package(const struct topology *t, hwloc_obj_t core)
{
    hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(t->hw, HWLOC_OBJ_PACKAGE, core);
    if (!package)
        return core->logical_index;
    hwloc_obj_t first = hwloc_get_obj_inside_cpuset_by_type(t->hw, package->cpuset, core->type, 0);
    return first ? core->logical_index - first->logical_index : core->logical_index;
}

/* A machine without packages is one package; boards are not told apart. */
static void describe_place(const struct topology *t, hwloc_obj_t core, struct plan_core *ret)
{
    for (int l = LEVEL_L1; l < LEVEL_COUNT; l++) {
        hwloc_obj_t obj =
            level_types[l] ? hwloc_get_ancestor_obj_by_type(t->hw, level_types[l], core) : NULL;
        ret->at[l] = obj ? (int)obj->logical_index : -1;
    }
    ret->at[LEVEL_PACKAGE] = (int)package_of(t, core);
    ret->at[LEVEL_NUMA] = numa_of(t, core);
    ret->at[LEVEL_BOARD] = 0;
    ret->at[LEVEL_CORE] = (int)core->logical_index;
    ret->of_package = (int)index_in_package(t, core);
#if HWLOC_API_VERSION >= 0x00020400
    int kind = hwloc_cpukinds_get_by_cpuset(t->hw, core->cpuset, 0);
    ret->kind = kind > 0 ? kind : 0;
#endif
}

void topology_cores(const struct topology *t, struct plan_topology *ret)
{
    hwloc_obj_type_t type = core_type(t);
    int n = hwloc_get_nbobjs_by_type(t->hw, type);
    struct plan_topology found = {.cores = must(calloc((size_t)n + 1, sizeof(*found.cores)))};
    for (int i = 0; i < n; i++) {
        hwloc_obj_t obj = hwloc_get_obj_by_type(t->hw, type, (unsigned)i);
        struct plan_core *core = &found.cores[found.ncores];
        add_bitmap(&core->threads, obj->cpuset);
        idset_intersect(&core->threads, &t->usable);
        describe_place(t, obj, core);
        if (idset_count(&core->threads) > 0)
            found.ncores++;
        else
            idset_free(&core->threads);
    }
    *ret = found;
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

static int find_cores(const struct topology *t, const char *list, struct idset *ret,
                      struct error *err)
{
    for (const char *at = list; *at;) {
        unsigned package, core;
        int used = 0;
        if (sscanf(at, "%5u,%5u%n", &package, &core, &used) != 2 || !strchr(":", at[used]))
            return error_set(err, EINVAL, "granted cores '%.60s' are not 'socket,core:socket,core'",
                             list);
        hwloc_obj_t obj = core_at(t, package, core);
        if (obj)
            add_bitmap(ret, obj->cpuset);
        at += used;
        at += *at == ':';
    }
    return 0;
}

/* Managers count all cores of the machine, and *t has those of the cpuset alone. */
int topology_find_cores(const struct topology *t, const char *list, struct idset *ret,
                        struct error *err)
{
    struct topology whole;
    if (hwloc_bitmap_isequal(hwloc_topology_get_topology_cpuset(t->hw),
                             hwloc_topology_get_complete_cpuset(t->hw)))
        return find_cores(t, list, ret, err);
    int rc = look(&whole.hw, true, err);
    if (rc == 0) {
        rc = find_cores(&whole, list, ret, err);
        hwloc_topology_destroy(whole.hw);
    }
    return rc;
}

/* ---- words for a set of threads -------------------------------------------------------------- */

/* "package 0 cores 0-1, " for one package; nothing when no core of it is used. */
static void describe_package(FILE *f, const struct topology *t, int package,
                             const struct idset *threads)
{
    AUTO(idset_free) struct idset cores = {0};
    for (int id = idset_next(threads, 0); id >= 0; id = idset_next(threads, (unsigned)id + 1)) {
        hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(t->hw, (unsigned)id);
        hwloc_obj_t core = pu ? hwloc_get_ancestor_obj_by_type(t->hw, HWLOC_OBJ_CORE, pu) : NULL;
        if (core && package_of(t, core) == (unsigned)package)
            idset_add(&cores, index_in_package(t, core));
    }
    AUTO_FREE char *text = idset_format(&cores);
    size_t count = idset_count(&cores);
    if (count > 0)
        fprintf(f, "package %d core%s %s, ", package, plural(count), text);
}

char *topology_describe(const struct topology *t, const struct idset *threads)
{
    struct text_writer writer;
    AUTO_FREE char *list = idset_format(threads);
    FILE *f = text_begin(&writer);
    int packages = hwloc_get_nbobjs_by_type(t->hw, HWLOC_OBJ_PACKAGE);
    for (int p = 0; p < (packages > 0 ? packages : 1); p++)
        describe_package(f, t, p, threads);
    if (idset_count(threads) == 0)
        fputs("no hardware thread", f);
    else
        fprintf(f, "hardware thread%s %s", plural(idset_count(threads)), list);
    return text_end(&writer);
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* A core's hardware threads: 'B' in the set, '.' usable, '~' not. */
static void draw_core(FILE *f, const struct topology *t, hwloc_obj_t core,
                      const struct idset *threads)
{
    for (int i = hwloc_bitmap_first(core->cpuset); i >= 0; i = hwloc_bitmap_next(core->cpuset, i))
        fputc(idset_has(threads, (unsigned)i)      ? 'B'
              : idset_has(&t->usable, (unsigned)i) ? '.'
                                                   : '~',
              f);
}

char *topology_picture(const struct topology *t, const struct idset *threads)
{
    struct text_writer text;
    FILE *f = text_begin(&text);
    hwloc_obj_type_t type = core_type(t);
    int n = hwloc_get_nbobjs_by_type(t->hw, type);
    for (int i = 0; i < n; i++) {
        hwloc_obj_t core = hwloc_get_obj_by_type(t->hw, type, (unsigned)i);
        hwloc_obj_t next = hwloc_get_obj_by_type(t->hw, type, (unsigned)i + 1);
        if (i == 0)
            fputc('[', f);
        draw_core(f, t, core, threads);
        fputs(!next ? "]" : package_of(t, next) != package_of(t, core) ? "][" : "/", f);
    }
    return text_end(&text);
}

/* Do both lie in the same parts of these levels? */
static bool is_beside(const struct plan_core *a, const struct plan_core *b)
{
    return a->at[LEVEL_PACKAGE] == b->at[LEVEL_PACKAGE] && a->at[LEVEL_NUMA] == b->at[LEVEL_NUMA] &&
           a->at[LEVEL_L3] == b->at[LEVEL_L3] && a->kind == b->kind;
}

static void print_place(const struct plan_core *c, bool has_kinds, FILE *to)
{
    static const enum level shown[] = {LEVEL_PACKAGE, LEVEL_NUMA, LEVEL_L3};
    const char *between = "";
    for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
        if (c->at[shown[i]] >= 0) {
            fprintf(to, "%s%s %d", between, level_text(shown[i]), c->at[shown[i]]);
            between = ", ";
        }
    if (has_kinds)
        fprintf(to, ", %s cores", c->kind ? "performance" : "efficiency");
    fputc(':', to);
}

void topology_print(const struct topology *t, const char *indent, FILE *to)
{
    AUTO(plan_topology_free) struct plan_topology cores = {0};
    bool has_kinds = false;
    topology_cores(t, &cores);
    for (size_t i = 0; i < cores.ncores; i++)
        has_kinds |= cores.cores[i].kind > 0;
    for (size_t i = 0; i < cores.ncores; i++) {
        AUTO_FREE char *threads = idset_format(&cores.cores[i].threads);
        if (i == 0 || !is_beside(&cores.cores[i], &cores.cores[i - 1])) {
            fprintf(to, "%s%s", i ? "\n" : "", indent);
            print_place(&cores.cores[i], has_kinds, to);
        }
        fprintf(to, " [%s]", threads);
    }
    fputc('\n', to);
}
