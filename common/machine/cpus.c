/* SPDX-License-Identifier: BSD-3-Clause */
/* cpus.c - what may this process run on, and which hardware threads are one core?
 *
 * For those who need no more than that: a topology library costs more than the rest of a local
 * start. */
#include "common/machine/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/files/fdio.h"
#include "common/must.h"

static const char sysfs_path[] = "/sys/devices/system/cpu";

int cpus_of(pid_t thread, struct idset *ret)
{
    /* the kernel refuses a set that is smaller than its own with EINVAL */
    for (unsigned ncpus = 1024; ncpus <= IDSET_MAX; ncpus *= 2) {
        idset_free(ret);
        must_do(idset_add_range(ret, 0, ncpus - 1)); /* makes room */
        if (sched_getaffinity(thread, ncpus / 8, (void *)ret->words) == 0)
            return 0;
        if (errno != EINVAL)
            break;
    }
    idset_free(ret);
    return -1;
}

int cpus_bind(pid_t thread, const struct idset *to)
{
    return sched_setaffinity(thread, to->nwords * sizeof(*to->words), (const void *)to->words);
}

int cpus_allowed(struct idset *ret, struct error *err)
{
    return cpus_of(0, ret) == 0 ? 0 : error_errno(err, errno, "read the affinity of this process");
}

void cpus_free_cores(struct idset *cores, size_t n)
{
    for (size_t i = 0; i < n; i++)
        idset_free(&cores[i]);
    free(cores);
}

/* All hardware threads of the core that has this one. */
static void read_siblings(int sysfs, unsigned thread, struct idset *ret)
{
    char path[64], text[4096];
    snprintf(path, sizeof(path), "cpu%u/topology/thread_siblings_list", thread);
    if (sysfs >= 0 && file_read_at(sysfs, path, text, sizeof(text)) > 0 &&
        idset_parse(text, ret, NULL) == 0 && idset_has(ret, thread))
        return;
    idset_free(ret);
    idset_add(ret, thread);
}

void cpus_group_cores(int sysfs, const struct idset *threads, struct idset **ret, size_t *ret_n)
{
    AUTO(idset_free) struct idset left = {0};
    struct idset *cores = must(calloc(idset_count(threads) + 1, sizeof(*cores)));
    size_t n = 0;
    idset_copy(&left, threads);
    IDSET_FOREACH (t, &left) {
        struct idset *core = &cores[n++];
        read_siblings(sysfs, (unsigned)t, core);
        idset_intersect(core, &left); /* left has t, so the core is not empty */
        idset_subtract(&left, core);
    }
    *ret = cores;
    *ret_n = n;
}

static void group_here(const struct idset *threads, struct idset **ret, size_t *ret_n)
{
    AUTO_CLOSE int sysfs = open(sysfs_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cpus_group_cores(sysfs, threads, ret, ret_n);
}

/* The kernel is asked once for all threads that this process may use: a step asks about them, and
 * then about some of them. */
unsigned cpus_count_cores(const struct idset *threads)
{
    static struct idset known, *cores;
    static size_t ncores;
    AUTO(idset_free) struct idset unknown = {0};
    unsigned n = 0;
    idset_copy(&unknown, threads);
    idset_subtract(&unknown, &known);
    if (idset_count(&unknown) > 0) {
        cpus_free_cores(cores, ncores);
        idset_copy(&known, threads);
        group_here(threads, &cores, &ncores);
    }
    for (size_t i = 0; i < ncores; i++)
        n += idset_intersects(&cores[i], threads);
    return n;
}

void cpus_deal_cores(const struct idset *cores, size_t ncores, unsigned nparts, struct idset *parts)
{
    for (unsigned i = 0; i < nparts && ncores > 0; i++) {
        size_t first = i * ncores / nparts, end = (i + 1) * ncores / nparts;
        if (end == first)
            end = first + 1; /* fewer cores than parts */
        for (size_t c = first; c < end; c++)
            idset_unite(&parts[i], &cores[c]);
    }
}

void cpus_split(const struct idset *threads, unsigned nparts, struct idset *parts)
{
    struct idset *cores;
    size_t n;
    group_here(threads, &cores, &n);
    cpus_deal_cores(cores, n, nparts, parts);
    cpus_free_cores(cores, n);
}
