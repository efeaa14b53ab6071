/* SPDX-License-Identifier: BSD-3-Clause */
/* cpus.c - what may this process run on, and which hardware threads are one core?
 *
 * For those who need no more than that: a topology library costs more than the rest of a local
 * start. */
#include "common/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/fdio.h"

static const char sysfs_path[] = "/sys/devices/system/cpu";

static int add_cpu_set(struct idset *ret, const cpu_set_t *set, size_t size)
{
    enum { WORD = 8 * sizeof(unsigned long) };
    const unsigned long *words = (const unsigned long *)set;
    for (size_t cpu = 0; cpu < 8 * size; cpu++)
        if (words[cpu / WORD] == 0)
            cpu |= WORD - 1;
        else if (CPU_ISSET_S(cpu, size, set) && idset_add(ret, (unsigned)cpu) < 0)
            return -1;
    return 0;
}

int cpus_allowed(struct idset *ret, struct error *err)
{
    return cpus_of_process(0, ret, err);
}

int cpus_of_process(pid_t pid, struct idset *ret, struct error *err)
{
    /* the kernel refuses a set that is smaller than its own with EINVAL */
    for (unsigned ncpus = 1024; ncpus <= IDSET_MAX; ncpus *= 2) {
        size_t size = CPU_ALLOC_SIZE(ncpus);
        AUTO_FREE cpu_set_t *set = calloc(1, size);
        struct idset allowed = {0};
        if (!set)
            return error_errno(err, ENOMEM, "read the affinity of a process");
        if (sched_getaffinity(pid, size, set) < 0) {
            if (errno == EINVAL)
                continue;
            return error_errno(err, errno, "read the affinity of a process");
        }
        if (add_cpu_set(&allowed, set, size) < 0) {
            idset_free(&allowed);
            return error_errno(err, ENOMEM, "read the affinity of a process");
        }
        idset_free(ret);
        *ret = allowed;
        return 0;
    }
    return error_set(err, EINVAL, "read the affinity of a process: more than %d threads",
                     IDSET_MAX);
}

void cpus_free_cores(struct idset *cores, size_t n)
{
    for (size_t i = 0; i < n; i++)
        idset_free(&cores[i]);
    free(cores);
}

/* All hardware threads of the core that has this one. */
static int read_siblings(int sysfs, unsigned thread, struct idset *ret)
{
    char path[64], text[4096];
    snprintf(path, sizeof(path), "cpu%u/topology/thread_siblings_list", thread);
    if (sysfs >= 0 && file_read_at(sysfs, path, text, sizeof(text)) > 0 &&
        idset_parse(text, ret, NULL) == 0 && idset_has(ret, thread))
        return 0;
    idset_free(ret);
    return idset_add(ret, thread);
}

int cpus_group_cores(int sysfs, const struct idset *threads, struct idset **ret, size_t *ret_n,
                     struct error *err)
{
    AUTO(idset_free) struct idset left = {0};
    size_t n = 0, max = idset_count(threads);
    struct idset *cores = calloc(max ? max : 1, sizeof(*cores));
    if (!cores || idset_copy(&left, threads) < 0)
        goto no_memory;
    for (int t = idset_next(&left, 0); t >= 0; t = idset_next(&left, (unsigned)t + 1)) {
        struct idset *core = &cores[n++];
        if (read_siblings(sysfs, (unsigned)t, core) < 0)
            goto no_memory;
        idset_intersect(core, &left); /* left has t, so the core is not empty */
        idset_subtract(&left, core);
    }
    *ret = cores;
    *ret_n = n;
    return 0;

no_memory:
    cpus_free_cores(cores, n);
    return error_errno(err, ENOMEM, "group hardware threads into cores");
}

static int group_here(const struct idset *threads, struct idset **ret, size_t *ret_n,
                      struct error *err)
{
    AUTO_CLOSE int sysfs = open(sysfs_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return cpus_group_cores(sysfs, threads, ret, ret_n, err);
}

static size_t count_common(const struct idset *a, const struct idset *b)
{
    size_t n = 0;
    for (int t = idset_next(a, 0); t >= 0; t = idset_next(a, (unsigned)t + 1))
        n += idset_has(b, (unsigned)t);
    return n;
}

/* The kernel is asked once for all threads that this process may use: a step asks about them, and
 * then about some of them. */
unsigned cpus_count_cores(const struct idset *threads)
{
    static struct idset known, *cores;
    static size_t ncores;
    unsigned n = 0;
    if (count_common(threads, &known) < idset_count(threads)) {
        cpus_free_cores(cores, ncores);
        cores = NULL;
        ncores = 0;
        if (idset_copy(&known, threads) < 0 || group_here(threads, &cores, &ncores, NULL) < 0) {
            idset_free(&known);
            return (unsigned)idset_count(threads);
        }
    }
    for (size_t i = 0; i < ncores; i++)
        n += count_common(&cores[i], threads) > 0;
    return n;
}

static int add_all(struct idset *to, const struct idset *from)
{
    for (int t = idset_next(from, 0); t >= 0; t = idset_next(from, (unsigned)t + 1))
        if (idset_add(to, (unsigned)t) < 0)
            return -1;
    return 0;
}

int cpus_deal_cores(const struct idset *cores, size_t ncores, unsigned nparts, struct idset *parts,
                    struct error *err)
{
    for (unsigned i = 0; i < nparts && ncores > 0; i++) {
        size_t first = i * ncores / nparts, end = (i + 1) * ncores / nparts;
        if (end == first)
            end = first + 1; /* fewer cores than parts */
        for (size_t c = first; c < end; c++) {
            if (add_all(&parts[i], &cores[c]) < 0) {
                for (unsigned k = 0; k <= i; k++)
                    idset_free(&parts[k]);
                return error_errno(err, ENOMEM, "split cores into %u parts", nparts);
            }
        }
    }
    return 0;
}

int cpus_split(const struct idset *threads, unsigned nparts, struct idset *parts, struct error *err)
{
    struct idset *cores;
    size_t n;
    if (group_here(threads, &cores, &n, err) < 0)
        return -1;
    int rc = cpus_deal_cores(cores, n, nparts, parts, err);
    cpus_free_cores(cores, n);
    return rc;
}
