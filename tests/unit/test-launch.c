/* SPDX-License-Identifier: BSD-3-Clause */
/* test-launch.c - LAUNCH comes back byte by byte, and one that cannot be is refused with a reason
 */
#include "wire/messages/launch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/messages/values.h"

/* The packed message; caller frees. */
static uint8_t *sent(const struct launch *l, size_t *ret_n)
{
    uint8_t *bytes = launch_pack(l, ret_n);
    assert_non_null(bytes);
    return bytes;
}

/* ---- a step ---------------------------------------------------------------------------------- */

static char *argv0[] = {"./solver", "", "caf\xe9 \xff\xfe", "a b\n", NULL};
static char *argv1[] = {"other", NULL};
static char *env0[] = {"PATH=/bin", "NOT_UTF8=\x80\xc0\xff", "EMPTY=", "no equals sign", NULL};
static char *env1[] = {NULL};
static char *given0[] = {"EMPTY", "NOT_UTF8", NULL};
static char *given1[] = {NULL};
/* Initializers of a struct rank_set. */
#define CYCLE(first, stride, count)                                                                \
    {                                                                                              \
        (struct rank_cycle[]){{0, first, stride, count, 0}}, 1                                     \
    }
#define BLOCK(first, count) CYCLE(first, 1, count)
static struct binding_request own_binding = {
    .policy = BIND_TO, .to = LEVEL_NUMA, .list_kind = CPU_LIST_ONLY, .list = "0-3"};
static struct limits own_limits = {.files = {.set = 1, .value = 99}};
static struct app apps[2] = {
    {.argv = argv0,
     .envp = env0,
     .given_env = given0,
     .directory = "/tmp/\xe9",
     .ranks = BLOCK(0, 3)},
    {.argv = argv1,
     .envp = env1,
     .given_env = given1,
     .directory = "/",
     .bind = &own_binding,
     .limits = &own_limits,
     .ranks = BLOCK(3, 1)},
};
static struct idset granted;
static char *wrapper[] = {"valgrind", "--log-file=a b", NULL};
static struct placement hosts[2] = {{"n1", BLOCK(0, 1), NULL, NULL, 0, NULL},
                                    {"n2", BLOCK(1, 3), NULL, NULL, 0, NULL}};

static char *host_env[] = {(char *)"TMPDIR", (char *)"SGE_BINDING", NULL};

static struct launch a_launch(void)
{
    struct launch l = {
        .step = {.id = "abc123",
                 .nspace = "mprun-secret",
                 .apps = apps,
                 .napps = 2,
                 .nranks = 4,
                 .bind = {.policy = BIND_TO, .cores = 3},
                 .pmi = PMI_KIND_PMIX | PMI_KIND_PMI1,
                 .stdin_target = STDIN_RANK,
                 .stdin_rank = 2,
                 .umask = 027,
                 .nice = -3,
                 .kill_grace = 2.5,
                 .sample_period = 1,
                 .wrapper = {.argv = wrapper},
                 .stop_point = STOP_IN_INIT},
        .hosts = hosts,
        .nhosts = 2,
        .same_machine = 1,
    };
    l.step.rank_limits.memory =
        (struct limit){.set = 1, .value = 1u << 30, .held_by = HELD_BY_CGROUP};
    for (int i = 0; i < RLIM_NLIMITS; i++)
        l.step.soft_limits[i].rlim_cur = (rlim_t)(1000 + i);
    l.step.soft_limits[RLIMIT_CORE].rlim_cur = RLIM_INFINITY;
    if (idset_count(&granted) == 0)
        idset_add_range(&granted, 2, 5);
    hosts[1].granted = &granted;
    hosts[1].granted_cores = "0,0:1,3";
    hosts[1].slots = "1:0-2 0:*";
    l.step.host_env = host_env;
    strcpy(l.step.gpu_env, "RESOURCE_GPU");
    l.step.wrapper.ranks = granted; /* borrowed */
    l.step.passed_signals = 1UL << 62 | 1UL << 10;
    l.step.stdin_file = (char *)(uintptr_t) "in.%r"; /* borrowed */
    return l;
}

static void same_strings(char *const *a, char *const *b)
{
    for (; *a && *b; a++, b++)
        assert_string_equal(*a, *b);
    assert_null(*a);
    assert_null(*b);
}

static void a_launch_comes_back_byte_by_byte(void **state)
{
    struct launch l = a_launch(), got;
    struct error e;
    size_t n;
    uint8_t *bytes = sent(&l, &n);
    assert_int_equal(launch_unpack(bytes, n, 1, &got, &e), 0);
    assert_string_equal(got.step.id, "abc123");
    assert_string_equal(got.step.nspace, "mprun-secret");
    assert_int_equal(got.step.napps, 2);
    for (int i = 0; i < 2; i++) {
        same_strings(got.step.apps[i].argv, apps[i].argv);
        same_strings(got.step.apps[i].envp, apps[i].envp);
        same_strings(got.step.apps[i].given_env, apps[i].given_env);
        assert_string_equal(got.step.apps[i].directory, apps[i].directory);
        assert_int_equal(rank_set_distance(&got.step.apps[i].ranks, &apps[i].ranks), 0);
    }
    assert_int_equal(got.nhosts, 2);
    assert_string_equal(got.hosts[1].host, "n2");
    assert_int_equal(rank_set_distance(&got.hosts[1].ranks, &hosts[1].ranks), 0);
    assert_int_equal(got.host_index, 1);
    assert_int_equal(got.step.bind.policy, BIND_TO);
    assert_int_equal(got.step.bind.cores, 3);
    assert_null(got.step.apps[0].bind);
    assert_int_equal(got.step.apps[1].bind->to, LEVEL_NUMA);
    assert_string_equal(got.step.apps[1].bind->list, "0-3");
    assert_null(got.step.apps[0].limits);
    assert_true(got.step.apps[1].limits->files.set && !got.step.apps[1].limits->memory.set);
    assert_int_equal(got.step.apps[1].limits->files.value, 99);
    assert_int_equal(got.step.nice, -3);
    assert_int_equal(got.step.umask, 027);
    assert_true(got.step.kill_grace == 2.5);
    assert_int_equal(got.step.stdin_rank, 2);
    assert_string_equal(got.step.stdin_file, "in.%r");
    assert_true(got.step.soft_limits[RLIMIT_CORE].rlim_cur == RLIM_INFINITY);
    assert_int_equal(got.step.soft_limits[RLIMIT_NOFILE].rlim_cur, 1000 + RLIMIT_NOFILE);
    assert_true(got.step.rank_limits.memory.set && !got.step.rank_limits.swap.set);
    assert_int_equal(got.step.rank_limits.memory.value, 1u << 30);
    assert_int_equal(idset_count(&got.granted), 4);
    assert_string_equal(got.granted_cores, "0,0:1,3");
    assert_string_equal(got.step.bind.slots, "1:0-2 0:*");
    same_strings(got.step.host_env, host_env);
    assert_string_equal(got.step.gpu_env, "RESOURCE_GPU");
    same_strings(got.step.wrapper.argv, wrapper);
    assert_true(idset_equal(&got.step.wrapper.ranks, &granted));
    assert_int_equal(got.step.stop_point, STOP_IN_INIT);
    assert_true(got.step.passed_signals == (1UL << 62 | 1UL << 10));
    assert_true(got.same_machine && !got.granted_all);
    launch_free(&got);
    free(bytes);
}

/* ---- many hosts ----------------------------------------------------------------------------- */

enum { MANY = 4096 };

/* Packs and unpacks these placements, and compares them. The packed message's size. */
static size_t comes_back(const struct placement *many, size_t n, uint32_t nranks)
{
    struct launch l = a_launch(), got;
    struct app all = apps[0];
    struct error e;
    size_t size;
    all.ranks = (struct rank_set)BLOCK(0, nranks);
    l.step.apps = &all;
    l.step.napps = 1;
    l.step.nranks = nranks;
    l.hosts = (struct placement *)(uintptr_t)many;
    l.nhosts = n;
    uint8_t *bytes = sent(&l, &size);
    for (uint32_t here = 0; here < n; here += (uint32_t)(n - 1)) {
        assert_int_equal(launch_unpack(bytes, size, here, &got, &e), 0);
        assert_int_equal(got.nhosts, n);
        for (size_t i = 0; i < n; i++) {
            assert_string_equal(got.hosts[i].host, many[i].host);
            assert_int_equal(rank_set_distance(&got.hosts[i].ranks, &many[i].ranks), 0);
            assert_int_equal(got.hosts[i].share, many[i].share);
        }
        assert_int_equal(got.granted_all, !many[here].granted);
        assert_true(got.granted_all || idset_equal(&got.granted, many[here].granted));
        launch_free(&got);
    }
    free(bytes);
    return size;
}

/* 4,096 hosts without ranks. */
static struct placement *many_hosts(void)
{
    static struct placement many[MANY];
    static char names[MANY][32];
    for (uint32_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "rack1-n%03u.x2", i);
        rank_set_free(&many[i].ranks);
        many[i] = (struct placement){.host = names[i], .share = 8};
    }
    return many;
}

static void hosts_whose_names_count_up_take_no_room(void **state)
{
    struct placement *many = many_hosts();
    size_t few, all;
    for (uint32_t i = 0; i < MANY; i++)
        rank_set_add_block(&many[i].ranks, 0, 2 * i, 2);
    few = comes_back(many, 2, 4);
    all = comes_back(many, MANY, 2 * MANY);
    assert_in_range(all, few, few + 16);
    many[7].host = (char *)(uintptr_t) "other"; /* three runs */
    assert_in_range(comes_back(many, MANY, 2 * MANY), all + 20, all + 100);
}

/* Deals the ranks of world 0 to n hosts in turn; hosts below `small` take no more than two. */
static void deal(struct placement *many, uint32_t n, uint32_t small, uint32_t nranks)
{
    struct rank_name r = {0};
    for (uint32_t i = 0; i < n; i++)
        rank_set_free(&many[i].ranks);
    for (uint32_t turn = 0; r.rank < nranks; turn++)
        for (uint32_t i = 0; i < n && r.rank < nranks; i++)
            if (turn < 2 || i >= small) {
                assert_int_equal(rank_set_add(&many[i].ranks, r), 0);
                r.rank++;
            }
}

static void ranks_dealt_in_turn_take_no_room_either(void **state)
{
    struct placement *many = many_hosts();
    deal(many, 2, 0, 6);
    size_t few = comes_back(many, 2, 6);
    deal(many, MANY, 0, 3 * MANY);
    assert_in_range(comes_back(many, MANY, 3 * MANY), few, few + 16);
    deal(many, MANY, 0, 3 * MANY + 5); /* the first five have one more */
    assert_in_range(comes_back(many, MANY, 3 * MANY + 5), few + 10, few + 60);
    deal(many, MANY, 1000, 3 * MANY); /* two runs, of one cycle and of two */
    assert_in_range(comes_back(many, MANY, 3 * MANY), few + 10, few + 100);
}

static void lists_of_ranks_come_back(void **state)
{
    struct rank_set one = {0}, other = {0};
    for (uint32_t rank = 0; rank < 64; rank++)
        rank_set_add(rank % 7 && rank % 5 ? &one : &other, (struct rank_name){.rank = rank});
    struct placement hosts[] = {{"n1", one, NULL, NULL, 0, NULL},
                                {"n2", BLOCK(64, 1), NULL, NULL, 0, NULL},
                                {"n3", other, NULL, NULL, 0, NULL}};
    comes_back(hosts, 3, 65);
    rank_set_free(&one);
    rank_set_free(&other);
}

static void hosts_that_differ_in_anything_come_back(void **state)
{
    struct idset one = {0}, two = {0};
    idset_add_range(&one, 0, 3);
    idset_add_range(&two, 4, 7);
    struct placement mixed[] = {
        {"n9", BLOCK(0, 1), NULL, NULL, 0, NULL},
        {"n10", BLOCK(1, 1), NULL, NULL, 0, NULL},
        {"n11", BLOCK(2, 2), NULL, NULL, 0, NULL},
        {"n12", BLOCK(4, 2), &one, NULL, 0, NULL},
        {"n13", BLOCK(6, 2), &one, "0,0", 0, NULL},
        {"n14", BLOCK(8, 2), &two, NULL, 0, NULL},
        {"n15", BLOCK(10, 2), NULL, NULL, 0, NULL},
        {"n16", BLOCK(12, 2), &two, NULL, 0, NULL},
        {"n016", BLOCK(14, 2), &two, NULL, 0, NULL},
        {"n18", BLOCK(16, 2), &two, NULL, 0, NULL},
        {"a", BLOCK(18, 2), &two, NULL, 0, NULL},
        {"", BLOCK(20, 2), NULL, NULL, 0, NULL},
        {"n999999999", BLOCK(22, 1), NULL, NULL, 4, NULL},
        {"n1000000000", BLOCK(23, 1), NULL, NULL, 5, NULL},
    };
    comes_back(mixed, sizeof(mixed) / sizeof(mixed[0]), 24);
    idset_free(&one);
    idset_free(&two);
}

static void an_environment_of_a_mebibyte_comes_back(void **state)
{
    enum { MIB = 1024 * 1024 };
    struct launch l = a_launch(), got;
    struct app big = apps[0];
    char *env[3] = {malloc(MIB), "LAST=1", NULL};
    struct error e;
    size_t n;
    memset(env[0], 0xee, MIB);
    memcpy(env[0], "BIG=", 4);
    env[0][MIB - 1] = 0;
    big.envp = env;
    big.ranks = (struct rank_set)BLOCK(0, 4);
    l.step.apps = &big;
    l.step.napps = 1;
    uint8_t *bytes = sent(&l, &n);
    assert_true(n > MIB);
    assert_int_equal(launch_unpack(bytes, n, 1, &got, &e), 0);
    same_strings(got.step.apps[0].envp, env);
    launch_free(&got);
    free(env[0]);
    free(bytes);
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* A LAUNCH as a message, to be changed before it is packed. */
static Mprun__Launch *message(void)
{
    struct launch l = a_launch();
    size_t n;
    uint8_t *bytes = sent(&l, &n);
    Mprun__Launch *m = mprun__launch__unpack(NULL, n, bytes);
    assert_non_null(m);
    free(bytes);
    return m;
}

/* Packs, frees and unpacks it. word: what the refusal has to say; NULL: it is taken. */
static struct launch unpacked(Mprun__Launch *m, const char *word)
{
    size_t n = mprun__launch__get_packed_size(m);
    uint8_t *bytes = malloc(n + 1);
    struct launch got;
    struct error e = {0};
    mprun__launch__pack(m, bytes);
    mprun__launch__free_unpacked(m, NULL);
    int r = launch_unpack(bytes, n, 1, &got, &e);
    free(bytes);
    if (word) {
        assert_int_equal(r, -1);
        if (!strstr(e.text, word))
            fail_msg("'%s' does not say '%s'", e.text, word);
        assert_memory_equal(e.text, "protocol error", 14);
        assert_int_equal(got.nhosts + got.step.napps, 0); /* nothing is left to be freed */
    } else if (r < 0) {
        fail_msg("%s", e.text);
    }
    return got;
}

static void numbers_that_do_not_agree_are_refused(void **state)
{
    Mprun__Launch *m = message();
    m->nranks = 5;
    unpacked(m, "another number of ranks than 5");
    m = message();
    m->nranks = 3;
    unpacked(m, "another number of ranks than 3");
    m = message();
    m->nranks = 0xffffffff;
    m->apps[1]->count = 0xffffffff - 3;
    m->hosts[1]->ranks[2] = 0xffffffff - 1;
    unpacked(m, "more than");
    m = message();
    mprun__placement__free_unpacked(m->hosts[--m->n_hosts], NULL);
    m->hosts[0]->ranks[2] = 4;
    unpacked(m, "no place for host 1");
    m = message();
    m->hosts[0]->following = 0xffffffff;
    unpacked(m, "more than 1048576 hosts");
    m = message();
    m->hosts[1]->following = 1;
    unpacked(m, "rank 1 has more than one host");
    m = message();
    m->hosts[1]->following = 1;
    m->hosts[1]->shift = 3;
    unpacked(m, "rank 4 of a world of 4 ranks");
    m = message();
    m->hosts[1]->following = 2;
    m->hosts[1]->shift = 0x80000000;
    unpacked(m, "rank 2147483649 of a world of 4 ranks");
    m = message();
    m->hosts[1]->following = 1;
    m->hosts[1]->shift = 0xffffffff;
    unpacked(m, "do not ascend");
    m = message();
    m->hosts[0]->following = 1;
    m->hosts[0]->shift = 1;
    unpacked(m, "rank 1 has more than one host");
    m = message();
    m->hosts[0]->host.len = 1; /* "n": no number to count from */
    m->hosts[0]->following = 1;
    unpacked(m, "names cannot be");
    m = message();
    m->hosts[1]->ranks[0] = 2;
    unpacked(m, "rank 4 of a world of 4 ranks");
    m = message();
    m->hosts[1]->ranks[0] = 0;
    unpacked(m, "rank 0 has more than one host");
    m = message();
    m->hosts[1]->ranks[2] = 2;
    unpacked(m, "rank 3 has no host");
    m = message();
    m->hosts[1]->ranks[2] = 0;
    unpacked(m, "do not ascend");
    m = message();
    m->hosts[1]->ranks[1] = 0x80000000;
    unpacked(m, "do not ascend");
    m = message();
    m->hosts[1]->n_ranks = 2;
    unpacked(m, "do not ascend");
    m = message();
    m->apps[0]->count = 0;
    unpacked(m, "a program without ranks");
    m = message();
    m->hosts[0]->ranks[2] = 0xffffffff;
    unpacked(m, "rank 4 of a world of 4 ranks");
}

static void an_empty_step_is_refused(void **state)
{
    Mprun__Launch *m = malloc(sizeof(*m));
    mprun__launch__init(m);
    unpacked(m, "LAUNCH");
}

static void strange_strings_are_refused(void **state)
{
    static const char *const names[] = {"", "../../etc", "a/b", "a b", "a.b", "caf\xc3\xa9"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        Mprun__Launch *m = message();
        free(m->step_id);
        m->step_id = strdup(names[i]);
        unpacked(m, "other characters");
    }
    Mprun__Launch *m = message();
    free(m->nspace);
    m->nspace = calloc(1, 65);
    memset(m->nspace, 'n', 64); /* one more than there is room for */
    unpacked(m, "other characters");
    m = message();
    m->apps[0]->argv[0].data[2] = 0;
    unpacked(m, "NUL");
    m = message();
    m->apps[0]->env[1].data[0] = 0;
    unpacked(m, "NUL");
    m = message();
    m->apps[0]->directory.data[0] = 0;
    unpacked(m, "NUL");
    m = message();
    m->hosts[0]->host.data[0] = 0;
    unpacked(m, "hosts");
    m = message();
    free(m->hosts[1]->granted_threads);
    m->hosts[1]->granted_threads = strdup("0-99999999999");
    unpacked(m, "LAUNCH");
}

static void a_program_has_a_name(void **state)
{
    Mprun__Launch *m = message();
    for (size_t i = 0; i < m->apps[1]->n_argv; i++)
        free(m->apps[1]->argv[i].data);
    m->apps[1]->n_argv = 0;
    unpacked(m, "without arguments");
}

static void unknown_policies_are_refused(void **state)
{
    Mprun__Launch *m = message();
    m->binding->policy = 99;
    unpacked(m, "a binding that this version does not know");
    m = message();
    m->tracking = 99;
    unpacked(m, "policy");
    m = message();
    m->stdin_target = 99;
    unpacked(m, "policy");
}

static void times_are_made_harmless(void **state)
{
    static const double strange[] = {NAN, -1, -INFINITY, -0.0};
    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
        Mprun__Launch *m = message();
        m->kill_grace = m->sample_period = strange[i];
        struct launch got = unpacked(m, NULL);
        assert_true(got.step.kill_grace == 0 && got.step.sample_period == 0);
        launch_free(&got);
    }
    Mprun__Launch *m = message();
    m->kill_grace = INFINITY;
    m->sample_period = 1e-300; /* would keep a processor busy */
    struct launch got = unpacked(m, NULL);
    assert_true(isfinite(got.step.kill_grace) && got.step.sample_period >= 0.001);
    launch_free(&got);
    assert_true(seconds_unpack(3.5) == 3.5);
}

static void bits_that_mean_nothing_are_dropped(void **state)
{
    Mprun__Launch *m = message();
    m->pmi = 0xffffffff;
    m->umask = -1;
    m->n_soft_limits = 1;
    m->rank_limits->limits[0]->held_by = 77;
    struct launch got = unpacked(m, NULL);
    assert_int_equal(got.step.pmi, PMI_KIND_PMIX | PMI_KIND_PMI1 | PMI_KIND_PMI2);
    assert_int_equal(got.step.umask, 0777);
    assert_true(got.step.soft_limits[1].rlim_cur == RLIM_INFINITY);
    assert_int_equal(got.step.rank_limits.memory.held_by, HELD_BY_NONE);
    launch_free(&got);
}

static void every_truncation_and_change_is_survived(void **state)
{
    struct launch l = a_launch(), got;
    struct error e;
    size_t n;
    uint8_t *bytes = sent(&l, &n), *copy = malloc(n);
    for (size_t part = 0; part < n; part++)
        if (launch_unpack(bytes, part, 1, &got, &e) == 0)
            launch_free(&got);
    for (size_t at = 0; at < n; at++)
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, bytes, n);
            copy[at] ^= (uint8_t)(1 << bit);
            if (launch_unpack(copy, n, 1, &got, &e) == 0)
                launch_free(&got);
        }
    free(copy);
    free(bytes);
}

/* ---- the small ones -------------------------------------------------------------------------- */

static void usage_comes_back_and_lies_are_survived(void **state)
{
    struct usage u = {0}, got;
    struct packed_usage packed;
    usage_set(&u, USAGE_CPU_USER, 5);
    usage_set(&u, USAGE_PROCESSES, UINT64_MAX);
    usage_pack(&u, &packed);
    usage_unpack(&packed.message, &got);
    assert_memory_equal(&u, &got, sizeof(u));
    packed.message.known = 0xffffffff; /* more fields than values */
    usage_unpack(&packed.message, &got);
    assert_true(usage_has(&got, USAGE_CPU_USER) && !usage_has(&got, USAGE_MEMORY_PEAK));
    usage_unpack(NULL, &got);
    assert_int_equal(got.known, 0);
}

static void names_and_bytes_come_back(void **state)
{
    Mprun__RankName m;
    rank_name_pack((struct rank_name){1, 2, 3}, &m);
    struct rank_name n = rank_name_unpack(&m);
    assert_true(n.world == 1 && n.rank == 2 && n.incarnation == 3);
    n = rank_name_unpack(NULL);
    assert_true(n.world == 0 && n.rank == 0 && n.incarnation == 0);
    ProtobufCBinaryData b = {.len = 0, .data = NULL};
    char *s = bytes_dup(&b);
    assert_string_equal(s, "");
    free(s);
    b = bytes_of(NULL);
    assert_int_equal(b.len, 0);
    b = (ProtobufCBinaryData){.len = 3, .data = (uint8_t *)"a\0b"};
    assert_null(bytes_dup(&b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_comes_back_byte_by_byte),
        cmocka_unit_test(hosts_whose_names_count_up_take_no_room),
        cmocka_unit_test(ranks_dealt_in_turn_take_no_room_either),
        cmocka_unit_test(lists_of_ranks_come_back),
        cmocka_unit_test(hosts_that_differ_in_anything_come_back),
        cmocka_unit_test(an_environment_of_a_mebibyte_comes_back),
        cmocka_unit_test(numbers_that_do_not_agree_are_refused),
        cmocka_unit_test(an_empty_step_is_refused),
        cmocka_unit_test(strange_strings_are_refused),
        cmocka_unit_test(a_program_has_a_name),
        cmocka_unit_test(unknown_policies_are_refused),
        cmocka_unit_test(times_are_made_harmless),
        cmocka_unit_test(bits_that_mean_nothing_are_dropped),
        cmocka_unit_test(every_truncation_and_change_is_survived),
        cmocka_unit_test(usage_comes_back_and_lies_are_survived),
        cmocka_unit_test(names_and_bytes_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
