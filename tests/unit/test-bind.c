/* SPDX-License-Identifier: BSD-3-Clause */
/* test-bind.c - which hardware threads each rank gets, on topologies written by hand */
#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct bind_case {
    const char *cores; /* usable threads of each core: "0;1"; "0;1/1": one of them, a share */
    const char *busy;  /* or NULL */
    enum bind_policy policy;
    uint32_t nranks;
    const char *ranks; /* threads of each rank, "" where not bound; NULL: an error */
    const char *says;
};

static const struct bind_case cases[] = {
    {"0;1", NULL, BIND_DEFAULT, 1, "0", "bound to cores: 1 rank, 2 cores"},
    {"0;1", NULL, BIND_DEFAULT, 2, "0;1", "bound to cores: 2 ranks, 2 cores"},
    {"0;1", NULL, BIND_DEFAULT, 3, ";;", "not bound: 3 ranks on 2 cores"},
    {"0;1", NULL, BIND_NONE, 2, ";", "not bound: asked for"},
    {"0;1", NULL, BIND_TO, 2, "0;1", "bound to cores: 2 ranks, 2 cores"},
    {"0;1", NULL, BIND_TO, 3, NULL,
     "bind 3 ranks to cores: only 2 cores may be used here, and ranks would have to share them; "
     "start at most 2 here, or use --bind-to none"},
    {"4", NULL, BIND_TO, 1, "4", "1 rank, 1 core"},
    {"0;1", NULL, BIND_DEFAULT, 0, NULL, "no ranks"},
    /* two hardware threads a core: a rank gets what is allowed of its core */
    {"0,4;1,5;2,6;3,7", NULL, BIND_DEFAULT, 4, "0,4;1,5;2,6;3,7", "4 ranks, 4 cores"},
    {"0,4;5;3", NULL, BIND_DEFAULT, 3, "0,4;5;3", "3 ranks, 3 cores"},
    {"0,4;5;3", NULL, BIND_DEFAULT, 4, ";;;", "not bound: 4 ranks on 3 cores"},
    {"6-7", NULL, BIND_TO, 2, NULL, "only 1 core may be used"},
    /* other steps: free cores first */
    {"0;1;2;3", "0", BIND_DEFAULT, 2, "1;2", "bound to cores: 2 ranks, 4 cores"},
    {"0;1;2;3", "0-1", BIND_DEFAULT, 2, "2;3", "bound"},
    {"0;1;2;3", "1,3", BIND_DEFAULT, 3, ";;", "not bound: 3 ranks on 2 free of 4 cores"},
    {"0;1;2;3", "0-3", BIND_DEFAULT, 1, "", "not bound: 1 rank on 0 free of 4 cores"},
    {"0;1;2;3", "1,3", BIND_TO, 3, "0;2;1", "1 core shared with other steps"},
    {"0;1;2;3", "0-3", BIND_TO, 2, "0;1", "2 cores shared with other steps"},
    {"0,4;1,5", "4", BIND_DEFAULT, 1, "1,5", "bound"}, /* half a core is a busy core */
    {"0;1", "8-15", BIND_DEFAULT, 2, "0;1", "bound to cores: 2 ranks, 2 cores"},
    {"0;1", "0", BIND_NONE, 1, "", "not bound: asked for"},
    /* two of four are the job's, whichever; four of four are all */
    {"0;1;2;3/2", NULL, BIND_DEFAULT, 2, ";",
     "not bound: which 2 of 4 cores the job has was not said"},
    {"0;1;2;3/2", "0-3", BIND_DEFAULT, 1, "", "not bound: which 2 of 4 cores"},
    {"0;1;2;3/2", NULL, BIND_TO, 2, "0;1", "bound to cores: 2 ranks, 4 cores"},
    {"0;1;2;3/2", NULL, BIND_NONE, 2, ";", "not bound: asked for"},
    {"0;1;2;3/4", NULL, BIND_DEFAULT, 2, "0;1", "bound"},
    {"0;1/4", NULL, BIND_DEFAULT, 2, "0;1", "bound"}, /* it was confined to them */
    /* nothing usable */
    {"", NULL, BIND_DEFAULT, 1, "", "not bound: 1 rank on 0 cores"},
    {"", NULL, BIND_TO, 1, NULL, "only 0 cores may be used"},
};

/* Several cores for a rank: near ones, as the machine has them. */
static const struct {
    uint32_t each;
    struct bind_case c;
} several[] = {
    {2, {"0;1;2;3", NULL, BIND_DEFAULT, 2, "0-1;2-3", "bound to cores: 2 ranks of 2 cores, 4"}},
    {3, {"0,4;1,5;2,6;3,7", NULL, BIND_DEFAULT, 1, "0-2,4-6", "1 rank of 3 cores, 4 cores"}},
    {3, {"0;1;2;3", NULL, BIND_DEFAULT, 2, ";", "not bound: 2 ranks of 3 cores on 4 cores"}},
    {3, {"0;1;2;3", "1", BIND_DEFAULT, 1, "0,2-3", "bound"}},
    {3, {"0;1;2;3", "1-2", BIND_DEFAULT, 1, "", "not bound: 1 rank of 3 cores on 2 free of 4"}},
    {3, {"0;1;2;3", "1-2", BIND_TO, 1, "0-1,3", "1 core shared with other steps"}},
    {3, {"0;1;2;3", NULL, BIND_TO, 2, NULL, "bind 2 ranks of 3 cores to cores: only 4 cores may"}},
    {3, {"0;1;2;3", NULL, BIND_TO, 2, NULL, "have to share them; start at most 1 here"}},
    {4294967295u, {"0;1", NULL, BIND_DEFAULT, 4, ";;;", "not bound"}},
    {2, {"0;1", NULL, BIND_NONE, 1, "", "not bound: asked for"}},
};

/* As many cores as have the threads of a rank, where the job has not all threads of each core. */
static const struct {
    uint32_t each;
    struct bind_case c;
} threads[] = {
    {2, {"0,4;1,5;2,6", NULL, BIND_DEFAULT, 3, "0,4;1,5;2,6", "3 ranks, 3 cores"}},
    {2, {"0;1,5;2,6", NULL, BIND_DEFAULT, 2, "0-1,5;2,6", "bound to cores: 2 ranks"}},
    {2, {"0;1,5;2", NULL, BIND_DEFAULT, 2, ";", "not bound: 2 ranks on 3 cores"}},
    {3, {"0,4;1;2,6", NULL, BIND_DEFAULT, 1, "0-1,4", "1 rank of 2 cores"}},
    {2, {"0;1,5", "1", BIND_TO, 1, "0-1,5", "1 core shared with other steps"}},
};

static void a_step_in_a_rank_is_told_whose_its_cores_are(void **state)
{
    struct plan_core core = {.threads = {0}};
    struct plan_topology t = {.cores = &core, .ncores = 1, .inside = 1};
    struct binding_request how = {.policy = BIND_DEFAULT};
    struct plan_binding b = {0};
    struct idset busy = {0};
    struct error err;
    idset_add(&core.threads, 3);
    assert_int_equal(plan_binding(&t, &how, 1, &busy, &b, &err), 0);
    assert_true(b.bound); /* it was not bound itself */
    plan_binding_free(&b);
    idset_add(&busy, 3);
    assert_int_equal(plan_binding(&t, &how, 1, &busy, &b, &err), 0);
    assert_true(!b.bound);
    assert_string_equal(b.reason,
                        "not bound: 1 rank on 1 core, which the rank has that this step runs in");
    plan_binding_free(&b);
    idset_free(&busy);
    idset_free(&core.threads);
}

static void build(struct plan_topology *t, const char *text);
static void format_binding(const struct plan_binding *b, char *buf, size_t n);

/* Two packages of two cores each; the second core of each is an efficiency core. */
static void free_cores_come_first_whatever_their_kind(void **state)
{
    static const struct {
        const char *busy;
        uint32_t ppr, nranks;
        const char *ranks;
    } rows[] = {
        {"9", 0, 2, "0;2"}, {"0,2", 0, 2, "1;3"}, {"0", 0, 2, "2;1"},
        {"0", 1, 2, "1;2"}, {"9", 1, 3, ";;"},    {"0-1", 1, 2, ";"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct plan_topology t = {0};
        struct plan_binding b = {0};
        struct idset busy = {0};
        struct binding_request how = {.ppr = rows[i].ppr,
                                      .map = rows[i].ppr ? LEVEL_PACKAGE : LEVEL_NONE};
        char ranks[256] = "";
        build(&t, "0;1;2;3");
        for (int c = 0; c < 4; c++) {
            t.cores[c].at[LEVEL_PACKAGE] = c / 2;
            t.cores[c].kind = c % 2 == 0;
        }
        assert_int_equal(idset_parse(rows[i].busy, &busy, NULL), 0);
        assert_int_equal(plan_binding(&t, &how, rows[i].nranks, &busy, &b, NULL), 0);
        format_binding(&b, ranks, sizeof(ranks));
        if (strcmp(ranks, rows[i].ranks) != 0)
            fail_msg("row %zu: '%s'", i, ranks);
        plan_binding_free(&b);
        plan_topology_free(&t);
        idset_free(&busy);
    }
}

/* "RANKS:CORES:EACH:TURN", and the cores 0 to 7. */
static const struct {
    uint32_t set_ranks, set_cores, each, turn, nranks;
    const char *ranks; /* NULL: refused */
} sets[] = {
    {2, 3, 0, 0, 4, "0-2;0-2;3-5;3-5"},
    {2, 4, 1, 0, 4, "0;1;4;5"},
    {2, 4, 2, 1, 4, "0-1;4-5;2-3;6-7"},
    {4, 4, 1, 2, 8, "0;1;4;5;2;3;6;7"},
    {3, 2, 1, 0, 3, "0;1;0"}, /* more ranks than cores: they go round */
    {2, 2, 5, 0, 2, "0-1;0-1"},
    {2, 3, 0, 0, 3, "0-2;0-2;3-5"},
    {2, 3, 0, 0, 5, NULL},
    {1, 9, 0, 0, 1, NULL},
    {4294967295u, 8, 0, 4294967295u, 3, "0-7;0-7;0-7"},
};

static void no_rank_leaves_the_list_of_cpu_set(void **state)
{
    static const struct {
        enum bind_policy policy;
        uint32_t nranks;
        const char *ranks, *says;
    } rows[] = {
        {BIND_DEFAULT, 2, "1;2", "bound to cores: 2 ranks, 2 cores"},
        {BIND_DEFAULT, 3, "1-2;1-2;1-2", "bound to all of --cpu-set: 3 ranks, 2 cores"},
        {BIND_NONE, 1, "1-2", "bound to all of --cpu-set: 1 rank, 2 cores"},
        {BIND_NONE, 0, "", "not bound: no ranks"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct plan_topology t = {0};
        struct plan_binding b = {0};
        struct binding_request how = {
            .policy = rows[i].policy, .list_kind = CPU_LIST_ONLY, .list = "1-2"};
        struct error err = {0};
        char ranks[256] = "";
        build(&t, "0;1;2;3/1");
        assert_int_equal(plan_binding(&t, &how, rows[i].nranks, NULL, &b, &err), 0);
        format_binding(&b, ranks, sizeof(ranks));
        assert_string_equal(ranks, rows[i].ranks);
        assert_int_equal(strncmp(b.reason, rows[i].says, strlen(rows[i].says)), 0);
        plan_binding_free(&b);
        plan_topology_free(&t);
    }
}

/* Four cores that may be used, of two packages; none has an L3 cache. */
static void lists_and_parts_are_those_that_may_be_used(void **state)
{
    static const struct {
        struct binding_request how;
        const char *ranks; /* NULL: refused */
    } rows[] = {
        {{.list_kind = CPU_LIST_EACH, .list = "0,9;2-3"}, "0;2-3"},
        {{.list_kind = CPU_LIST_EACH, .list = "9"}, NULL},
        {{.list_kind = CPU_LIST_EACH, .list = "N1;N0-1"}, "2-3;0-3"},
        {{.list_kind = CPU_LIST_EACH, .list = "N2"}, NULL},
        {{.policy = BIND_TO, .to = LEVEL_PACKAGE}, "0;1"}, /* and of their kind */
        {{.policy = BIND_TO, .to = LEVEL_PACKAGE, .map = LEVEL_PACKAGE}, "0;2-3"},
        {{.policy = BIND_TO, .to = LEVEL_L3}, NULL},
        {{.policy = BIND_TO, .to = LEVEL_L3, .if_supported = 1}, ";"},
        {{.policy = BIND_TO, .map = LEVEL_L3}, NULL},
        {{.policy = BIND_TO, .map = LEVEL_L3, .if_supported = 1}, "0;1"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct plan_topology t = {0};
        struct plan_binding b = {0};
        char ranks[256] = "";
        build(&t, "0;1;2;3");
        for (int c = 0; c < 4; c++) {
            t.cores[c].at[LEVEL_NUMA] = t.cores[c].at[LEVEL_PACKAGE] = c / 2;
            t.cores[c].at[LEVEL_L3] = -1;
            t.cores[c].kind = c == 0;
        }
        int rc = plan_binding(&t, &rows[i].how, 2, NULL, &b, NULL);
        format_binding(&b, ranks, sizeof(ranks));
        if (rc < 0 ? rows[i].ranks != NULL : !rows[i].ranks || strcmp(ranks, rows[i].ranks) != 0)
            fail_msg("row %zu: '%s'", i, ranks);
        plan_binding_free(&b);
        plan_topology_free(&t);
    }
}

static void ranks_of_a_set_share_its_cores(void **state)
{
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        struct plan_topology t = {0};
        struct plan_binding b = {0};
        struct binding_request how = {.policy = BIND_TO,
                                      .set_ranks = sets[i].set_ranks,
                                      .set_cores = sets[i].set_cores,
                                      .set_turn = sets[i].turn,
                                      .cores = sets[i].each};
        struct error err = {0};
        char ranks[256] = "";
        build(&t, "0;1;2;3;4;5;6;7");
        int rc = plan_binding(&t, &how, sets[i].nranks, NULL, &b, &err);
        format_binding(&b, ranks, sizeof(ranks));
        if (rc < 0 ? sets[i].ranks != NULL : !sets[i].ranks || strcmp(ranks, sets[i].ranks) != 0)
            fail_msg("set %zu: '%s' %s", i, ranks, rc < 0 ? err.text : "");
        plan_binding_free(&b);
        plan_topology_free(&t);
    }
}

/* ---- properties ------------------------------------------------------------------------------ */

static unsigned seed = 1;

static unsigned below(unsigned n)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % n;
}

/* 2 packages of 2 NUMA nodes of 2 L3 caches of `cores` cores of 1 to 2 threads, some not usable. */
static void make_machine(struct plan_topology *t, unsigned cores, bool has_kinds)
{
    unsigned thread = 0, total = 8 * cores;
    *t = (struct plan_topology){.cores = calloc(total, sizeof(*t->cores))};
    for (unsigned i = 0; i < total; i++) {
        struct plan_core *c = &t->cores[t->ncores];
        unsigned threads = 1 + below(2);
        c->kind = has_kinds ? (int)below(2) : 0;
        c->at[LEVEL_CORE] = (int)i;
        c->at[LEVEL_L1] = c->at[LEVEL_L2] = (int)i;
        c->at[LEVEL_L3] = (int)(i / cores);
        c->at[LEVEL_NUMA] = (int)(i / cores / 2);
        c->at[LEVEL_PACKAGE] = (int)(i / cores / 4);
        for (unsigned k = 0; k < threads; k++)
            idset_add(&c->threads, thread++);
        if (below(8) == 0)
            idset_free(&c->threads);
        else
            t->ncores++;
    }
}

static void make_request(struct binding_request *how)
{
    static const enum level maps[] = {LEVEL_NONE, LEVEL_HWTHREAD, LEVEL_L3, LEVEL_NUMA,
                                      LEVEL_PACKAGE};
    static const enum level tos[] = {LEVEL_NONE, LEVEL_HWTHREAD, LEVEL_L3, LEVEL_NUMA,
                                     LEVEL_PACKAGE};
    *how = (struct binding_request){
        .policy = BIND_TO,
        .cores = 1 + below(3),
        .map = maps[below(5)],
        .to = tos[below(5)],
        .in_turn = below(2),
        .threads = below(2),
        .overload = below(4) == 0,
    };
    if (how->map != LEVEL_NONE && below(3) == 0)
        how->ppr = 1 + below(3);
}

static int part_of(const struct plan_topology *t, enum level level, int thread)
{
    for (size_t i = 0; i < t->ncores; i++)
        if (idset_has(&t->cores[i].threads, (unsigned)thread))
            return t->cores[i].at[level];
    return -1;
}

/* No thread is in two ranks' sets, unless sets are larger parts or overload is allowed. */
static void check_apart(const struct plan_binding *b, const struct binding_request *how)
{
    struct idset seen = {0};
    if (how->overload || how->to > LEVEL_CORE)
        return;
    for (uint32_t i = 0; i < b->nranks; i++)
        for (int t = idset_next(&b->ranks[i], 0); t >= 0;
             t = idset_next(&b->ranks[i], (unsigned)t + 1)) {
            assert_false(idset_has(&seen, (unsigned)t));
            idset_add(&seen, (unsigned)t);
        }
    idset_free(&seen);
}

/* Each rank has usable threads, in one part; numbered part after part, or not; at most ppr in each.
 */
static void check_parts(const struct plan_topology *t, const struct plan_binding *b,
                        const struct binding_request *how)
{
    int before = -1, counts[16] = {0};
    for (uint32_t i = 0; i < b->nranks; i++) {
        int first = idset_next(&b->ranks[i], 0);
        assert_true(first >= 0);
        int part = part_of(t, LEVEL_L3, first);
        assert_true(part >= 0); /* usable */
        if (how->map < LEVEL_L3 || how->to > how->map)
            continue;
        part = part_of(t, how->map, first);
        for (int k = first; k >= 0; k = idset_next(&b->ranks[i], (unsigned)k + 1))
            assert_int_equal(part_of(t, how->map, k), part);
        counts[part]++;
        if (!how->in_turn)
            assert_true(part >= before);
        before = part;
    }
    for (size_t i = 0; how->ppr && i < 16; i++)
        assert_true(counts[i] <= (int)how->ppr);
}

static void any_request_is_met_or_refused(void **state)
{
    unsigned met = 0, refused = 0;
    for (unsigned i = 0; i < 20000; i++) {
        struct plan_topology t;
        struct binding_request how;
        struct plan_binding b = {0};
        struct error err;
        make_machine(&t, 1 + below(4), below(2));
        make_request(&how);
        uint32_t nranks = 1 + below(24);
        if (plan_binding(&t, &how, nranks, NULL, &b, &err) == 0) {
            assert_int_equal(b.nranks, nranks);
            assert_true(b.bound);
            check_apart(&b, &how);
            check_parts(&t, &b, &how);
            met++;
        } else {
            refused++;
        }
        plan_binding_free(&b);
        plan_topology_free(&t);
    }
    assert_true(met > 5000 && refused > 1000);
}

static void build(struct plan_topology *t, const char *text)
{
    char *copy = strdup(text), *save = NULL, *share = strchr(copy, '/');
    if (share) {
        t->share = (size_t)atoi(share + 1);
        *share = 0;
    }
    t->cores = calloc(16, sizeof(*t->cores));
    for (char *item = strtok_r(copy, ";", &save); item; item = strtok_r(NULL, ";", &save))
        assert_int_equal(idset_parse(item, &t->cores[t->ncores++].threads, NULL), 0);
    free(copy);
}

static void format_binding(const struct plan_binding *b, char *buf, size_t n)
{
    buf[0] = 0;
    for (uint32_t i = 0; i < b->nranks; i++) {
        char *set = idset_format(&b->ranks[i]);
        snprintf(buf + strlen(buf), n - strlen(buf), "%s%s", i ? ";" : "", set);
        free(set);
    }
}

static void check_case(const struct bind_case *c, uint32_t each, bool by_threads, size_t i)
{
    struct plan_topology t = {0};
    struct plan_binding b = {0};
    struct binding_request how = {.policy = c->policy, .cores = each, .by_threads = by_threads};
    struct idset busy = {0};
    struct error err = {0};
    char ranks[256] = "";
    build(&t, c->cores);
    if (c->busy)
        assert_int_equal(idset_parse(c->busy, &busy, NULL), 0);
    int rc = plan_binding(&t, &how, c->nranks, c->busy ? &busy : NULL, &b, &err);
    format_binding(&b, ranks, sizeof(ranks));
    if (rc == 0 && c->ranks && strcmp(ranks, c->ranks) != 0)
        fail_msg("case %zu: ranks have '%s'", i, ranks);
    if (rc == 0 && !c->ranks && c->nranks)
        fail_msg("case %zu: not refused", i);
    if (rc < 0 && c->ranks)
        fail_msg("case %zu: %s", i, err.text);
    if (!strstr(rc < 0 ? err.text : b.reason, c->says))
        fail_msg("case %zu: '%s' does not say '%s'", i, rc < 0 ? err.text : b.reason, c->says);
    assert_int_equal(b.bound, c->ranks && strspn(c->ranks, ";") < strlen(c->ranks));
    plan_binding_free(&b);
    plan_topology_free(&t);
    idset_free(&busy);
}

static void the_table_of_bindings_holds(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_case(&cases[i], 0, false, i);
    for (size_t i = 0; i < sizeof(several) / sizeof(several[0]); i++)
        check_case(&several[i].c, several[i].each, false, i);
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
        check_case(&threads[i].c, threads[i].each, true, i);
}

static void bound_ranks_never_share_while_there_are_free_cores(void **state)
{
    struct plan_topology t = {0};
    build(&t, "0,8;1,9;2,10;3,11;4,12;5,13;6,14;7,15");
    for (uint32_t n = 1; n <= 8; n++) {
        struct plan_binding b;
        struct idset seen = {0};
        assert_int_equal(
            plan_binding(&t, &(struct binding_request){.policy = BIND_TO}, n, NULL, &b, NULL), 0);
        for (uint32_t i = 0; i < n; i++) {
            struct idset both = {0};
            idset_copy(&both, &b.ranks[i]);
            idset_intersect(&both, &seen);
            assert_int_equal(idset_count(&both), 0);
            assert_int_equal(idset_count(&b.ranks[i]), 2);
            for (int id = idset_next(&b.ranks[i], 0); id >= 0;
                 id = idset_next(&b.ranks[i], (unsigned)id + 1))
                idset_add(&seen, (unsigned)id);
            idset_free(&both);
        }
        idset_free(&seen);
        plan_binding_free(&b);
    }
    plan_topology_free(&t);
}

/* Cores of a machine of two packages with three cores each; the last one may not be used. */
static const struct {
    const char *slots, *ranks; /* NULL: refused */
} slot_lists[] = {
    {"0", "0"},         {"4 0", "4;0"},   {"0-2", "0-2"},   {"0,4", "0,4"},     {"0:0", "0"},
    {"1:0", "3"},       {"1:0-1", "3-4"}, {"0:0,2", "0,2"}, {"0:0,1:1", "0,4"}, {"0:0;1", "0-1"},
    {"1:0;0:2", "2-3"}, {"0:*", "0-2"},   {"1:*", "3-4"}, /* what may be used of it */
    {"0-1:1", "1,4"},   {"*:0", "0,3"},   {"*", "0-4"},     {"5", NULL},        {"4-5", NULL},
    {"1:2", NULL},      {"2:0", NULL},    {"2:*", NULL},    {"99999", NULL},    {"100000", NULL},
    {"1:0;0", "0,3"},   {"0-1:2", NULL},  {"0:", NULL},     {":0", NULL},       {"2-1", NULL},
    {"0,", NULL},       {"0;;1", NULL},   {"S0:1", NULL},   {"0:1:2", NULL},    {"0 ", NULL},
    {"", NULL},
};

static void ranks_get_the_cores_that_a_rank_file_names(void **state)
{
    struct plan_topology t = {0};
    build(&t, "0;1;2;3;4");
    for (int i = 0; i < 5; i++) {
        t.cores[i].at[LEVEL_CORE] = i;
        t.cores[i].at[LEVEL_PACKAGE] = i / 3;
        t.cores[i].of_package = i % 3;
    }
    for (size_t i = 0; i < sizeof(slot_lists) / sizeof(slot_lists[0]); i++) {
        struct binding_request how = {.slots = slot_lists[i].slots};
        struct plan_binding b = {0};
        struct error err = {0};
        char ranks[256] = "";
        uint32_t n = strchr(how.slots, ' ') ? 2 : 1;
        int rc = plan_binding(&t, &how, n, NULL, &b, &err);
        format_binding(&b, ranks, sizeof(ranks));
        if (rc < 0 ? slot_lists[i].ranks != NULL
                   : !slot_lists[i].ranks || strcmp(ranks, slot_lists[i].ranks) != 0)
            fail_msg("'%s': '%s' %s", how.slots, ranks, rc < 0 ? err.text : "");
        plan_binding_free(&b);
    }
    plan_topology_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_request_is_met_or_refused),
        cmocka_unit_test(no_rank_leaves_the_list_of_cpu_set),
        cmocka_unit_test(free_cores_come_first_whatever_their_kind),
        cmocka_unit_test(lists_and_parts_are_those_that_may_be_used),
        cmocka_unit_test(ranks_of_a_set_share_its_cores),
        cmocka_unit_test(a_step_in_a_rank_is_told_whose_its_cores_are),
        cmocka_unit_test(the_table_of_bindings_holds),
        cmocka_unit_test(ranks_get_the_cores_that_a_rank_file_names),
        cmocka_unit_test(bound_ranks_never_share_while_there_are_free_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
