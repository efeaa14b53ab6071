/* SPDX-License-Identifier: BSD-3-Clause */
/* test-choose-cores.c - which cores a job gets: near each other, and with room left for the next
 * one; and a simulation of 10,000 jobs with the figure that this is worth */
#include "node-daemon/front/host/host-cores.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CORES_MAX = 128 };

/* packages of nodes of caches of cores */
static void make_host(struct host_cores *h, unsigned packages, unsigned nodes, unsigned caches,
                      unsigned cores)
{
    h->n = packages * nodes * caches * cores;
    h->core = calloc(h->n, sizeof(*h->core));
    for (unsigned i = 0; i < h->n; i++) {
        unsigned *group = h->core[i].group;
        idset_add(&h->core[i].threads, i);
        group[NEAR_CACHE] = i / cores;
        group[NEAR_NODE] = h->core[i].node = i / (cores * caches);
        group[NEAR_PACKAGE] = i / (cores * caches * nodes);
        group[NEAR_HOST] = 0;
    }
    h->groups[NEAR_CACHE] = packages * nodes * caches;
    h->groups[NEAR_NODE] = packages * nodes;
    h->groups[NEAR_PACKAGE] = packages;
    h->groups[NEAR_HOST] = 1;
}

static void set_of(const struct host_cores *h, const char *list, unsigned char *ret)
{
    struct idset threads = {0};
    assert_int_equal(idset_parse(list, &threads, NULL), 0);
    host_cores_of_threads(h, &threads, ret);
    idset_free(&threads);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct {
    const char *what;
    unsigned packages, nodes, caches, cores;
    const char *free;
    size_t want;
    const char *chosen; /* NULL: too few are free */
} rows[] = {
    {"a serial job", 2, 1, 1, 4, "0-7", 1, "0"},
    {"none", 2, 1, 1, 4, "0-7", 0, ""},
    {"not more than there are", 2, 1, 1, 4, "0-6", 8, NULL},
    {"all of them", 2, 1, 1, 4, "0-7", 8, "0-7"},
    {"the node in which least is left over", 2, 1, 1, 4, "1-3,4-5", 2, "4-5"},
    {"a whole node is kept for who needs it", 2, 1, 1, 4, "3,4-7", 1, "3"},
    {"one node where one is enough, though another cache begins earlier", 2, 1, 2, 2, "1,2,4-7", 3,
     "4-6"},
    {"one cache of the node", 1, 1, 2, 2, "1,2-3", 2, "2-3"},
    {"the rest goes where it fits best", 1, 1, 3, 2, "0-1,3,4-5", 3, "0-1,3"},
    {"one package where no node is enough", 2, 2, 1, 2, "0,2,4-7", 3, "4-6"},
    {"two packages where one is not enough: the fuller one first", 2, 1, 1, 4, "0,4-7", 5, "0,4-7"},
    {"of equal nodes that of the package with less room", 2, 2, 1, 2, "0-1,2-3,4-5", 2, "4-5"},
};

static void rows_are_as_they_should(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct host_cores h;
        unsigned char free_set[CORES_MAX], chosen[CORES_MAX];
        struct idset is = {0};
        make_host(&h, rows[i].packages, rows[i].nodes, rows[i].caches, rows[i].cores);
        set_of(&h, rows[i].free, free_set);
        int rc = choose_cores(&h, free_set, rows[i].want, chosen);
        assert_int_equal(rc, rows[i].chosen ? 0 : -1);
        host_cores_threads(&h, chosen, &is);
        char *text = idset_format(&is);
        if (strcmp(text, rows[i].chosen ? rows[i].chosen : "") != 0)
            fail_msg("%s: '%s', not '%s'", rows[i].what, text, rows[i].chosen);
        free(text);
        idset_free(&is);
        host_cores_free(&h);
    }
}

/* ---- properties ------------------------------------------------------------------------------ */

static uint64_t seed;

static unsigned any(unsigned below) /* xorshift: the same on every machine */
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed % below);
}

static size_t most_in(const struct host_cores *h, const unsigned char *set, enum nearness kind)
{
    size_t most = 0, in[CORES_MAX] = {0};
    for (size_t i = 0; i < h->n; i++)
        if (set[i] && ++in[h->core[i].group[kind]] > most)
            most = in[h->core[i].group[kind]];
    return most;
}

/* With node_rounding: whole nodes of the pool, that were free as a whole. */
static void check_whole_nodes(const struct host_cores *h, const unsigned char *pool,
                              const unsigned char *free_set, size_t want)
{
    unsigned char whole[CORES_MAX], chosen[CORES_MAX];
    memcpy(whole, free_set, h->n);
    host_cores_keep_whole_nodes(h, pool, whole);
    int rc = choose_cores(h, whole, want, chosen);
    host_cores_complete_nodes(h, pool, chosen);
    for (unsigned node = 0; node < h->groups[NEAR_NODE]; node++) {
        size_t in_pool = 0, is_free = 0, given = 0, kept = 0;
        for (size_t i = 0; i < h->n; i++) {
            bool in = h->core[i].group[NEAR_NODE] == node;
            in_pool += in && pool[i];
            is_free += in && pool[i] && free_set[i];
            kept += in && whole[i];
            given += in && chosen[i];
        }
        assert_int_equal(kept, in_pool == is_free ? in_pool : 0);
        assert_true(given == 0 || (given == in_pool && kept == in_pool));
    }
    assert_true(rc < 0 || host_cores_count(h, chosen) >= want);
}

static void check_choice(const struct host_cores *h, const unsigned char *free_set, size_t want)
{
    unsigned char chosen[CORES_MAX];
    int rc = choose_cores(h, free_set, want, chosen);
    assert_int_equal(rc, want <= host_cores_count(h, free_set) ? 0 : -1);
    assert_int_equal(host_cores_count(h, chosen), rc == 0 ? want : 0);
    for (size_t i = 0; i < h->n; i++)
        assert_true(!chosen[i] || free_set[i]);
    if (rc < 0)
        return;
    /* where one node, or one package, has room for it, it is in one */
    for (enum nearness kind = NEAR_NODE; kind <= NEAR_PACKAGE; kind++)
        if (most_in(h, free_set, kind) >= want)
            assert_int_equal(most_in(h, chosen, kind), want);
    /* within one node the same is so for a cache */
    if (h->groups[NEAR_NODE] == 1 && most_in(h, free_set, NEAR_CACHE) >= want)
        assert_int_equal(most_in(h, chosen, NEAR_CACHE), want);
}

static void whatever_is_free_a_choice_is_of_that_and_near(void **state)
{
    seed = 20260101;
    for (int round = 0; round < 3000; round++) {
        struct host_cores h;
        unsigned char free_set[CORES_MAX], pool[CORES_MAX];
        make_host(&h, 1 + any(3), 1 + any(3), 1 + any(3), 1 + any(4));
        unsigned density = 1 + any(4);
        for (size_t i = 0; i < h.n; i++)
            free_set[i] = any(4) < density;
        check_choice(&h, free_set, any((unsigned)h.n + 2));
        for (size_t i = 0; i < h.n; i++) {
            pool[i] = any(8) > 0;
            free_set[i] = pool[i] && any(8) > 0;
        }
        check_whole_nodes(&h, pool, free_set, any((unsigned)h.n + 2));
        host_cores_free(&h);
    }
}

/* ---- simulation ------------------------------------------------------------------------------ */

enum { ARRIVALS = 10000, RUNNING_MAX = CORES_MAX };

struct running {
    unsigned char cores[CORES_MAX];
    uint64_t ends;
};

struct host {
    struct host_cores cores;
    unsigned char free[CORES_MAX];
    struct running job[RUNNING_MAX];
    size_t jobs;
    size_t fitted, in_one_node; /* jobs that one node could hold, and those that one holds */
};

typedef int (*choose_fn)(const struct host_cores *h, const unsigned char *free_set, size_t n,
                         unsigned char *ret);

static int first_fit(const struct host_cores *h, const unsigned char *free_set, size_t n,
                     unsigned char *ret)
{
    memset(ret, 0, h->n);
    for (size_t i = 0; i < h->n && n > 0; i++)
        if (free_set[i]) {
            ret[i] = 1;
            n--;
        }
    return n ? -1 : 0;
}

static void give_back(struct host *host, uint64_t now)
{
    for (size_t i = 0; i < host->jobs;) {
        if (host->job[i].ends > now) {
            i++;
            continue;
        }
        for (size_t c = 0; c < host->cores.n; c++)
            host->free[c] |= host->job[i].cores[c];
        host->job[i] = host->job[--host->jobs];
    }
}

/* 0: the manager would not start it now */
static int begin(struct host *host, choose_fn choose, size_t want, uint64_t ends)
{
    struct running *job = &host->job[host->jobs];
    if (choose(&host->cores, host->free, want, job->cores) < 0)
        return 0;
    for (size_t c = 0; c < host->cores.n; c++) {
        assert_true(!job->cores[c] || host->free[c]); /* exclusive */
        host->free[c] &= !job->cores[c];
    }
    size_t a_node = host->cores.n / host->cores.groups[NEAR_NODE];
    if (want > 1 && want <= a_node) { /* a serial job cannot be split */
        host->fitted++;
        host->in_one_node += most_in(&host->cores, job->cores, NEAR_NODE) == want;
    }
    job->ends = ends;
    host->jobs++;
    return 1;
}

/* Mostly small jobs, some as large as a node, a few larger, first come, first served. gap: time
 * from one to the next, on the average; with 0 there is always one that waits. *ret_load: which
 * part of the cores was busy. */
static double simulate(const struct host_cores *cores, choose_fn choose, unsigned gap,
                       double *ret_load)
{
    static const unsigned sizes[] = {1, 1, 1, 1, 2, 2, 2, 4, 4, 4, 6, 8, 8, 12, 16, 24};
    enum { LASTS = 2000 }; /* at most */
    struct host host = {.cores = *cores};
    uint64_t now = 0, arrives = 0, work = 0;
    memset(host.free, 1, host.cores.n);
    seed = 31415926;
    for (unsigned i = 0; i < ARRIVALS; i++) {
        size_t want = sizes[any(sizeof(sizes) / sizeof(sizes[0]))];
        uint64_t lasts = 1 + any(LASTS);
        arrives += any(2 * gap + 1);
        now = now < arrives ? arrives : now;
        for (give_back(&host, now); !begin(&host, choose, want, now + lasts); give_back(&host, now))
            now++;
        work += want * lasts;
    }
    *ret_load = (double)work / (double)(now * host.cores.n);
    return (double)host.in_one_node / (double)host.fitted;
}

static void of_10000_jobs_few_are_split(void **state)
{
    static const struct {
        unsigned packages, nodes, cores; /* nodes a package, cores a node */
        unsigned gap;
        double bound, better; /* part in one node, and than first fit */
    } rows[] = {
        {2, 1, 32, 200, 0.96, 0.15}, {2, 2, 16, 200, 0.96, 0.30}, {2, 1, 32, 130, 0.88, 0.15},
        {2, 2, 16, 130, 0.85, 0.30}, {2, 1, 32, 0, 0.76, 0.12},   {2, 2, 16, 0, 0.66, 0.20},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct host_cores h;
        double load, first_load;
        make_host(&h, rows[i].packages, rows[i].nodes, 1, rows[i].cores);
        double best = simulate(&h, choose_cores, rows[i].gap, &load);
        double first = simulate(&h, first_fit, rows[i].gap, &first_load);
        print_message("%u nodes of %u cores, %2.0f %% busy, 10000 jobs: of those that a node can "
                      "hold %.1f %% are in one (first fit: %.1f %%)\n",
                      h.groups[NEAR_NODE], rows[i].cores, 100 * load, 100 * best, 100 * first);
        assert_true(load == first_load); /* the same jobs at the same times */
        assert_true(best >= rows[i].bound);
        assert_true(best >= first + rows[i].better);
        host_cores_free(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_as_they_should),
        cmocka_unit_test(whatever_is_free_a_choice_is_of_that_and_near),
        cmocka_unit_test(of_10000_jobs_few_are_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
