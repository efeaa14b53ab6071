/* SPDX-License-Identifier: BSD-3-Clause */
/* topology-module.c - topology.h for mprun and mpstarter, which seldom need it
 *
 * hwloc and the libraries that it brings take a third of a program's start, and most steps need no
 * more than their cores (plain-machine.h). So topology.c is a module, which is loaded by the first
 * call. A function that has a topology finds the module loaded. */
#include <dlfcn.h>
#include <errno.h>

#include "common/cleanup.h"
#include "common/files/path.h"
#include "plan/topology.h"

static void *load_module(struct error *err)
{
    static const char *const beside[] = {"../plan/topology.so", "../libexec/mprun/topology.so",
                                         "topology.so", NULL};
    AUTO_FREE char *path = path_find_helper(beside, PKGLIBEXECDIR "/topology.so", err);
    void *module = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (path && !module)
        error_set(err, ELIBACC, "%.200s", dlerror());
    if (!module)
        error_context(err, "load hwloc, to see the topology");
    return module;
}

static void *find(const char *function, struct error *err)
{
    static void *module;
    if (!module)
        module = load_module(err);
    return module ? dlsym(module, function) : NULL;
}

struct topology *topology_load(const struct idset *granted, struct error *err)
{
    struct topology *(*fn)(const struct idset *, struct error *) = find(__func__, err);
    return fn ? fn(granted, err) : NULL;
}

struct topology *topology_load_from(const char *source, struct error *err)
{
    struct topology *(*fn)(const char *, struct error *) = find(__func__, err);
    return fn ? fn(source, err) : NULL;
}

void topology_look(void)
{
    void (*fn)(void) = find(__func__, NULL);
    if (fn)
        fn();
}

const char *topology_xml(struct topology *t, size_t *ret_len)
{
    const char *(*fn)(struct topology *, size_t *) = find(__func__, NULL);
    return fn(t, ret_len);
}

int topology_find_cores(const struct topology *t, const char *list, struct idset *ret,
                        struct error *err)
{
    int (*fn)(const struct topology *, const char *, struct idset *, struct error *) =
        find(__func__, err);
    return fn(t, list, ret, err);
}

int topology_cut(struct topology *t, const struct idset *granted, struct error *err)
{
    int (*fn)(struct topology *, const struct idset *, struct error *) = find(__func__, err);
    return fn(t, granted, err);
}

void topology_destroy(struct topology *t)
{
    void (*fn)(struct topology *) = t ? find(__func__, NULL) : NULL;
    if (fn)
        fn(t);
}

void topology_cores(const struct topology *t, struct plan_topology *ret)
{
    void (*fn)(const struct topology *, struct plan_topology *) = find(__func__, NULL);
    fn(t, ret);
}

char *topology_describe(const struct topology *t, const struct idset *threads)
{
    char *(*fn)(const struct topology *, const struct idset *) = find(__func__, NULL);
    return fn(t, threads);
}

char *topology_picture(const struct topology *t, const struct idset *threads)
{
    char *(*fn)(const struct topology *, const struct idset *) = find(__func__, NULL);
    return fn(t, threads);
}

void topology_print(const struct topology *t, const char *indent, FILE *to)
{
    void (*fn)(const struct topology *, const char *, FILE *) = find(__func__, NULL);
    fn(t, indent, to);
}
