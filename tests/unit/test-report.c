/* SPDX-License-Identifier: BSD-3-Clause */
/* test-report.c - the report for people, against golden texts, and the one for programs, against
 * its schema */
#include "launcher/outcome/exit-code.h"
#include "launcher/report/report.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define T0  UINT64_C(1785665472000000000) /* 2026-08-02 10:11:12 */
#define S   UINT64_C(1000000000)

enum { RANKS_MAX = 600, HOSTS_MAX = 64 };

struct facts {
    struct report r;
    struct report_rank ranks[RANKS_MAX];
    struct rank_end ends[RANKS_MAX];
    struct report_host hosts[HOSTS_MAX];
    char names[HOSTS_MAX][32], threads[RANKS_MAX][32];
};

static void set_cpu(struct usage *u, double user, double system)
{
    usage_set(u, USAGE_CPU_USER, (uint64_t)(user * 1e6));
    usage_set(u, USAGE_CPU_SYSTEM, (uint64_t)(system * 1e6));
}

/* nranks on nhosts, bound, in cgroups: each took its share of an hour. */
static struct facts *make_facts(size_t nranks, size_t nhosts)
{
    struct facts *f = calloc(1, sizeof(*f));
    size_t per = nranks / nhosts;
    f->r = (struct report){
        .version = "0.1.0",
        .step_id = "1a2b",
        .job_id = "42",
        .adapter = "gridengine",
        .command = "./solver -i input.dat",
        .start_ns = T0,
        .end_ns = T0 + 3700 * S,
        .ranks = f->ranks,
        .nranks = nranks,
        .hosts = f->hosts,
        .nhosts = nhosts,
    };
    set_cpu(&f->r.launcher, 0.2, 0.1);
    for (size_t i = 0; i < nhosts; i++) {
        snprintf(f->names[i], sizeof(f->names[i]), "node%02zu", i + 1);
        f->hosts[i] = (struct report_host){.name = f->names[i],
                                           .ready = 1,
                                           .tracking = TRACK_RANK,
                                           .tracking_reason = "",
                                           .cgroup_kind = "v2",
                                           .cores = (uint32_t)per};
        set_cpu(&f->hosts[i].starter, 0.05, 0.05);
    }
    for (size_t i = 0; i < nranks; i++) {
        struct report_rank *k = &f->ranks[i];
        snprintf(f->threads[i], sizeof(f->threads[i]), "%zu", i % per);
        f->ends[i] = (struct rank_end){.name = {.rank = (uint32_t)i},
                                       .host = (uint32_t)(i / per),
                                       .cause = END_OK,
                                       .time_ns = T0 + 3600 * S};
        *k = (struct report_rank){.name = f->ends[i].name,
                                  .host = f->ends[i].host,
                                  .pid = (pid_t)(1000 + i),
                                  .start_ns = T0,
                                  .end = &f->ends[i],
                                  .bound_threads = f->threads[i],
                                  .cores = 1};
        set_cpu(&k->usage, 3500 - (double)i, 12.5);
        usage_set(&k->usage, USAGE_WALL, 3600 * UINT64_C(1000000));
        usage_set(&k->usage, USAGE_MEMORY_PEAK, 230 * MIB);
        usage_set(&k->usage, USAGE_RSS_PEAK, 229 * MIB);
        usage_set(&k->usage, USAGE_FAULTS_MAJOR, 0);
        usage_set(&k->usage, USAGE_READ_BYTES, 10 * MIB);
    }
    return f;
}

static void fail_rank(struct facts *f, size_t i, enum end_cause cause, int code)
{
    f->ends[i].cause = cause;
    f->ends[i].code = code;
    f->r.first_failure = &f->ends[i];
    f->r.exit_code = step_exit_code(&(struct verdict){.exit_code = -1}, &f->ends[i]);
}

/* The caller frees it. */
static char *text_of(const struct report *r, bool all)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    report_print(r, all, out);
    fclose(out);
    return text;
}

static void assert_text(const struct facts *f, bool all, const char *want)
{
    char *text = text_of(&f->r, all);
    if (strcmp(text, want) != 0)
        fail_msg("the report is\n%s", text);
    free(text);
}

static void assert_says(const struct facts *f, const char *part, int says)
{
    char *text = text_of(&f->r, false);
    if (!strstr(text, part) != !says)
        fail_msg("%s '%s':\n%s", says ? "does not say" : "says", part, text);
    free(text);
}

static void two_hosts_in_cgroups(void **state)
{
    struct facts *f = make_facts(4, 2);
    fail_rank(f, 3, END_SIGNAL, 11);
    f->ends[2].cause = END_KILLED;
    f->r.sample_period = 5;
    for (size_t i = 0; i < 4; i++) {
        usage_set(&f->ranks[i].usage, USAGE_ANON_PEAK, 200 * MIB);
        f->ranks[i].limits.memory = (struct limit){1, 1024 * MIB, HELD_BY_CGROUP};
    }
    usage_set(&f->hosts[0].total, USAGE_MEMORY_PEAK, 414 * MIB);
    f->hosts[1].limits.memory = (struct limit){1, 2048 * MIB, HELD_BY_CGROUP};
    f->hosts[1].limits.pids = (struct limit){1, 100, HELD_BY_NONE};
    f->hosts[0].threads = "0-1";
    f->hosts[1].threads = "0-1,8";
    f->hosts[1].memory_nodes = "0";
    f->hosts[0].gpus = f->hosts[1].gpus = "0,1";
    f->hosts[1].gpus_held = DEVICES_OF_JOB;
    f->hosts[1].gpus_why = "it is not root's";
    assert_text(f, 0,
                "step 1a2b of job 42 (gridengine): ./solver -i input.dat\n"
                "4 ranks on 2 hosts, from 2026-08-02 10:11:12 for 1:01:40, exit code 139\n"
                "first failure: rank 3 on node02: signal 11 (SEGV)\n"
                "\n"
                "  rank  host    cpus  limit        CPU   system     wall  eff.   memory    anon~  "
                "  read  end\n"
                "     0  node01  0     1 GiB  0:58:32.5  12.50 s  1:00:00  98 %  230 MiB  200 MiB  "
                "10 MiB  ok\n"
                "     1  node01  1     1 GiB  0:58:31.5  12.50 s  1:00:00  98 %  230 MiB  200 MiB  "
                "10 MiB  ok\n"
                "     2  node02  0     1 GiB  0:58:30.5  12.50 s  1:00:00  98 %  230 MiB  200 MiB  "
                "10 MiB  ended by mprun\n"
                "     3  node02  1     1 GiB  0:58:29.5  12.50 s  1:00:00  97 %  230 MiB  200 MiB  "
                "10 MiB  signal 11 (SEGV)\n"
                "\n"
                "  host       ranks  cores        CPU   system     wall  eff.      memory       "
                "anon~    read\n"
                "  node01         2      2    1:57:04  25.00 s  1:00:00  98 %     414 MiB  <= 400 "
                "MiB  20 MiB\n"
                "  node02         2      2    1:57:00  25.00 s  1:00:00  98 %  <= 460 MiB  <= 400 "
                "MiB  20 MiB\n"
                "  all ranks      4      4    3:54:04  50.00 s  1:00:00  98 %  <= 874 MiB  <= 800 "
                "MiB  40 MiB\n"
                "  mprun          -      -     0.50 s   0.20 s        -     -           -          "
                " -       -\n"
                "  step           -      -  3:54:04.5  50.20 s        -     -           -          "
                " -       -\n"
                "\n"
                "  Resources_used: walltime 1:01:40, cput 3:54:04.5\n"
                "  node01: hardware threads 0-1\n"
                "  node02: hardware threads 0-1,8, memory nodes 0\n"
                "  node01: GPUs 0,1; nothing is known to keep ranks from opening others\n"
                "  node02: GPUs 0,1; no other can be opened, but ranks can open each other's (it "
                "is not root's)\n"
                "  node01, node02: tracking rank in v2 cgroups\n"
                "  node02: memory of a host limited to 2 GiB, held by cgroup; processes of a host "
                "limited to 100, held by nothing\n"
                "  node01, node02: memory of a rank limited to 1 GiB, held by cgroup\n"
                "  ~ the highest of samples, one every 5 s\n");
    free(f);
}

static void one_host_without_any_cgroup_or_job(void **state)
{
    struct facts *f = make_facts(2, 1);
    f->r.job_id = "";
    f->r.adapter = "local";
    f->hosts[0].tracking = TRACK_TREE;
    f->hosts[0].tracking_reason = "no cgroup can be written";
    f->hosts[0].cgroup_kind = "";
    for (size_t i = 0; i < 2; i++) {
        f->ranks[i].usage.known &= ~(1u << USAGE_MEMORY_PEAK | 1u << USAGE_READ_BYTES);
        f->ranks[i].bound_threads = "";
        f->ranks[i].cores = 0;
    }
    assert_text(f, 0,
                "step 1a2b (local): ./solver -i input.dat\n"
                "2 ranks on 1 host, from 2026-08-02 10:11:12 for 1:01:40, exit code 0\n"
                "\n"
                "  rank  host    cpus        CPU   system     wall  eff.  largest  end\n"
                "     0  node01  any   0:58:32.5  12.50 s  1:00:00  98 %  229 MiB  ok\n"
                "     1  node01  any   0:58:31.5  12.50 s  1:00:00  98 %  229 MiB  ok\n"
                "\n"
                "  host    ranks  cores        CPU   system     wall  eff.  largest\n"
                "  node01      2      2    1:57:04  25.00 s  1:00:00  98 %  229 MiB\n"
                "  mprun       -      -     0.40 s   0.15 s        -     -        -\n"
                "  step        -      -  1:57:04.4  25.15 s        -     -        -\n"
                "\n"
                "  Resources_used: walltime 1:01:40, cput 1:57:04.4\n"
                "  node01: tracking tree (no cgroup can be written)\n");
    free(f);
}

static void many_ranks_are_summarised_and_failed_ones_shown(void **state)
{
    struct facts *f = make_facts(512, 64);
    fail_rank(f, 511, END_CODE, 3);
    f->ranks[7].usage = (struct usage){0};
    f->ranks[7].pid = 0; /* never started */
    assert_text(
        f, 0,
        "step 1a2b of job 42 (gridengine): ./solver -i input.dat\n"
        "512 ranks on 64 hosts, from 2026-08-02 10:11:12 for 1:01:40, exit code 3\n"
        "first failure: rank 511 on node64: code 3\n"
        "\n"
        "  of 512 ranks      least  rank     median       most  rank  unknown\n"
        "  CPU           0:50:01.5  511   0:54:16.5  0:58:32.5  0           1\n"
        "  system          12.50 s  all     12.50 s    12.50 s  all         1\n"
        "  wall            1:00:00  all     1:00:00    1:00:00  all         1\n"
        "  eff.               83 %  511        90 %       98 %  0           1\n"
        "  memory          230 MiB  all     230 MiB    230 MiB  all         1\n"
        "  read             10 MiB  all      10 MiB     10 MiB  all         1\n"
        "\n"
        "  rank  host    cpus        CPU   system     wall  eff.   memory    read  end\n"
        "   511  node64  7     0:50:01.5  12.50 s  1:00:00  83 %  230 MiB  10 MiB  code 3\n"
        "\n"
        "  of 64 hosts      least  host     median     most  host\n"
        "  CPU            6:40:40  node64  7:13:44  7:46:48  node02\n"
        "  system       0:01:27.5  node01  0:01:40  0:01:40  node64\n"
        "  wall           1:00:00  all     1:00:00  1:00:00  all\n"
        "  eff.              83 %  node64     90 %     97 %  node02\n"
        "  memory         1.6 GiB  node01  1.8 GiB  1.8 GiB  node64\n"
        "  read            70 MiB  node01   80 MiB   80 MiB  node64\n"
        "\n"
        "  host       ranks  cores          CPU     system     wall  eff.        memory     read\n"
        "  all ranks    512    512  462:14:38.5  1:46:27.5  1:00:00  90 %  <= 114.8 GiB  5.0 GiB\n"
        "  mprun          -      -       6.70 s     3.30 s        -     -             -        -\n"
        "  step           -      -  462:14:45.2  1:46:30.8        -     -             -        -\n"
        "\n"
        "  Resources_used: walltime 1:01:40, cput 462:14:45.2\n"
        "  node01, node02, node03, node04 and 60 more: tracking rank in v2 cgroups\n");
    char *text = text_of(&f->r, true);
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_true(lines > 512 + 64);
    assert_null(strstr(text, "median"));
    free(text);
    free(f);
}

static void many_failures_are_cut_and_counted(void **state)
{
    struct facts *f = make_facts(100, 2);
    for (size_t i = 0; i < 50; i++)
        fail_rank(f, 2 * i, END_CODE, 1);
    assert_says(f, "  and 18 more ranks that failed\n", 1);
    free(f);
}

static void a_lost_host_makes_sums_unknown_and_not_small(void **state)
{
    struct facts *f = make_facts(4, 2);
    struct report_sums s;
    f->ranks[2].usage = (struct usage){0}; /* it ran: its pid is known */
    f->ranks[3].usage = (struct usage){0};
    f->hosts[1].starter = (struct usage){0};
    report_sums_create(&f->r, &s);
    assert_true(usage_has(&s.hosts[0].usage, USAGE_CPU_USER));
    assert_int_equal(s.hosts[1].usage.known, 0);
    assert_int_equal(s.ranks.usage.known, 0);
    assert_int_equal(s.mprun.known, 0);
    assert_int_equal(s.step.known, 0);
    report_sums_free(&s);
    set_cpu(&f->hosts[1].total, 10, 1); /* unless the host's cgroup knows */
    set_cpu(&f->hosts[1].starter, 1, 1);
    report_sums_create(&f->r, &s);
    assert_true(usage_cpu_seconds(&s.hosts[1].usage) == 11);
    assert_true(usage_cpu_seconds(&s.step) > 7000);
    assert_false(usage_has(&s.ranks.usage, USAGE_WALL));
    report_sums_free(&s);
    free(f);
}

static void processes_of_nobody_count_and_take_no_wall_time(void **state)
{
    struct facts *f = make_facts(2, 1);
    struct report_sums s;
    set_cpu(&f->hosts[0].others, 10, 0);
    report_sums_create(&f->r, &s);
    assert_true(usage_cpu_seconds(&s.hosts[0].usage) == 3512.5 + 3511.5 + 10);
    assert_int_equal(s.hosts[0].usage.value[USAGE_WALL], 3600 * UINT64_C(1000000));
    assert_false(usage_has(&s.hosts[0].usage, USAGE_READ_BYTES)); /* theirs are not known */
    report_sums_free(&s);
    free(f);
}

static void ranks_one_after_another_take_the_time_of_all(void **state)
{
    struct facts *f = make_facts(2, 1);
    struct report_sums s;
    f->hosts[0].cores = 1;
    f->ranks[1].start_ns = T0 + 3600 * UINT64_C(1000000000);
    f->ends[1].time_ns = T0 + 7200 * UINT64_C(1000000000);
    f->ranks[1].name = (struct rank_name){.world = 1};
    report_sums_create(&f->r, &s);
    assert_int_equal(s.ranks.usage.value[USAGE_WALL], 7200 * UINT64_C(1000000));
    assert_true(report_efficiency(&s.ranks.usage, s.ranks.cores) < 1);
    report_sums_free(&s);
    f->ranks[0].cores = f->ranks[1].cores = 0; /* not bound: each had the host for itself */
    report_sums_create(&f->r, &s);
    assert_true(report_rank_cores(&f->r, &s, 0) == 1);
    report_sums_free(&s);
    free(f);
}

static void efficiency_is_of_the_cores_that_were_there(void **state)
{
    struct facts *f = make_facts(2, 1);
    struct report_sums s;
    struct usage u = {0};
    assert_true(report_efficiency(&u, 1) < 0);
    set_cpu(&u, 3, 1);
    assert_true(report_efficiency(&u, 1) < 0); /* no wall time */
    usage_set(&u, USAGE_WALL, 0);
    assert_true(report_efficiency(&u, 1) < 0);
    usage_set(&u, USAGE_WALL, 8000000);
    assert_true(report_efficiency(&u, 1) == 0.5);
    assert_true(report_efficiency(&u, 4) == 0.125);
    assert_true(report_efficiency(&u, 0) < 0);

    f->hosts[0].cores = 16;
    report_sums_create(&f->r, &s);
    assert_int_equal(s.hosts[0].cores, 2); /* bound ranks have their cores */
    report_sums_free(&s);
    f->ranks[1].cores = 0;
    report_sums_create(&f->r, &s);
    assert_int_equal(s.hosts[0].cores, 16); /* one is free to roam */
    assert_true(report_rank_cores(&f->r, &s, 0) == 1);
    assert_true(report_rank_cores(&f->r, &s, 1) == 8);
    report_sums_free(&s);
    f->hosts[0].cores = 1;
    f->ranks[1].cores = 1;
    report_sums_create(&f->r, &s);
    assert_int_equal(s.hosts[0].cores, 1); /* two ranks bound to the one core */
    report_sums_free(&s);
    f->hosts[0].ready = 0;
    f->ranks[1].cores = 0;
    report_sums_create(&f->r, &s);
    assert_int_equal(s.hosts[0].cores, 0);
    assert_true(report_rank_cores(&f->r, &s, 1) == 0);
    report_sums_free(&s);
    free(f);
}

static void what_was_used_by_the_way_is_shown_when_it_is_not_nothing(void **state)
{
    struct facts *f = make_facts(2, 1);
    assert_says(f, "majflt", 0); /* known, but 0 */
    assert_says(f, "swap~", 0);
    usage_set(&f->ranks[1].usage, USAGE_FAULTS_MAJOR, 3);
    usage_set(&f->ranks[0].usage, USAGE_SWAP_PEAK, MIB);
    assert_says(f, "majflt", 1);
    assert_says(f, "swap~", 1);
    free(f);
}

static void control_characters_and_long_commands_stay_out_of_the_head(void **state)
{
    struct facts *f = make_facts(1, 1);
    char longest[400];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0;
    f->r.command = longest;
    assert_says(f, "xxx...\n", 1);
    f->r.command = "sh -c 'a\nb\033[2J'";
    assert_says(f, "sh -c 'a\\nb\\x1b[2J'\n", 1);
    f->r.failure_text = "rank 0 on node01 exceeded its memory limit 1 GiB";
    assert_says(f, "\nfirst failure: rank 0 on node01 exceeded its memory limit 1 GiB\n", 1);
    free(f);
}

static void every_end_has_its_words(void **state)
{
    static const struct {
        enum end_cause cause;
        int code;
        const char *text;
    } cases[] = {
        {END_OK, 0, "ok"},
        {END_CODE, 3, "code 3"},
        {END_SIGNAL, 9, "signal 9 (KILL)"},
        {END_SIGNAL, 40, "signal 40 (real-time)"},
        {END_LIMIT, 9, "over limit"},
        {END_ABORT, -1, "abort -1"},
        {END_NOT_STARTED, 127, "not started"},
        {END_NO_FINALIZE, 0, "no finalize"},
        {END_NO_INIT, 0, "no init"},
        {END_KILLED, 15, "ended by mprun"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char buf[64];
        struct rank_end e = {.cause = cases[i].cause, .code = cases[i].code};
        assert_string_equal(report_end_text(&e, buf, sizeof(buf)), cases[i].text);
    }
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Hosts one after the other, a tenth of a second each; node03 is slow to report back. */
static struct facts *make_start(size_t nhosts)
{
    struct facts *f = make_facts(nhosts, nhosts);
    f->r.launch = (struct report_launch){.known = 0.0012,
                                         .sent = 5,
                                         .running = 6.25,
                                         .fanout = 2,
                                         .depth = 2,
                                         .links = 2,
                                         .starts_at_once = 4,
                                         .messages = 123,
                                         .cpu = 0.0234};
    for (size_t i = 0; i < nhosts; i++) {
        float *reached = f->hosts[i].reached, begun = 0.1f * (float)(i + 1);
        reached[LAUNCH_BEGUN] = begun;
        reached[LAUNCH_REPORTED] = begun + 0.25f + (i == 2 ? 4 : 0);
        reached[LAUNCH_PLACED] = reached[LAUNCH_REPORTED] + 0.002f * (float)i;
        reached[LAUNCH_READY] = 5.5f;
        reached[LAUNCH_RUNNING] = 6 + 0.25f * (float)(i % 2);
    }
    return f;
}

static void assert_launch(const struct facts *f, const char *want)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    report_print_launch(&f->r, out);
    fclose(out);
    if (strcmp(text, want) != 0)
        fail_msg("the report of the start is\n%s", text);
    free(text);
}

static void a_start_has_its_phases_and_slowest_hosts(void **state)
{
    struct facts *f = make_start(4);
    assert_launch(f,
                  "start of step 1a2b (gridengine): 4 ranks on 4 hosts, all started after 6.25 s\n"
                  "tree of 2 levels with fan-out 2; at most 4 starts at once; mprun took 123 "
                  "messages and used 23.4 ms of CPU time\n"
                  "\n"
                  "  phase            hosts     first    median      last  slowest hosts\n"
                  "  hosts known          -         -         -    1.2 ms  -\n"
                  "  start begun          4  100.0 ms  300.0 ms  400.0 ms  -\n"
                  "  reported back        4  350.0 ms  650.0 ms    4.55 s  node03 4.25 s, node01 "
                  "250.0 ms, node02 250.0 ms\n"
                  "  placed               4  350.0 ms  656.0 ms    4.55 s  node04 6.0 ms, node03 "
                  "4.0 ms, node02 2.0 ms\n"
                  "  launch sent          -         -         -    5.00 s  -\n"
                  "  ready for ranks      4    5.50 s    5.50 s    5.50 s  node01 500.0 ms, node02 "
                  "500.0 ms, node03 500.0 ms\n"
                  "  ranks started        4    6.00 s    6.25 s    6.25 s  node02 750.0 ms, node04 "
                  "750.0 ms, node01 500.0 ms\n");
    free(f);
}

static void a_start_that_failed_says_how_far_it_got(void **state)
{
    struct facts *f = make_start(3);
    f->r.launch = (struct report_launch){.known = 0.5, .depth = 1, .starts_at_once = 1};
    for (size_t i = 0; i < 3; i++)
        for (int p = i ? LAUNCH_BEGUN : LAUNCH_PLACED; p < LAUNCH_PHASE_COUNT; p++)
            f->hosts[i].reached[p] = 0;
    assert_launch(f, "start of step 1a2b (gridengine): 3 ranks on 3 hosts, not all started\n"
                     "every host is linked to mprun itself; at most 1 start at once\n"
                     "\n"
                     "  phase          hosts     first    median      last  slowest hosts\n"
                     "  hosts known        -         -         -  500.0 ms  -\n"
                     "  start begun        1  100.0 ms  100.0 ms  100.0 ms  -\n"
                     "  reported back      1  350.0 ms  350.0 ms  350.0 ms  node01 250.0 ms\n");
    free(f);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *schema;

static int load_schema(void **state)
{
    const char *source = getenv("MPRUN_SOURCE");
    char path[4096];
    json_error_t e;
    snprintf(path, sizeof(path), "%s/share/report-schema.json", source ? source : ".");
    schema = json_load_file(path, 0, &e);
    if (!schema)
        print_error("%s: %s, line %d\n", path, e.text, e.line);
    return schema ? 0 : -1;
}

static int drop_schema(void **state)
{
    json_decref(schema);
    return 0;
}

static const char *type_of(const json_t *v)
{
    static const char *const types[] = {
        [JSON_OBJECT] = "object",   [JSON_ARRAY] = "array", [JSON_STRING] = "string",
        [JSON_INTEGER] = "integer", [JSON_REAL] = "number", [JSON_TRUE] = "boolean",
        [JSON_FALSE] = "boolean",   [JSON_NULL] = "null",
    };
    return types[json_typeof(v)];
}

/* The part of JSON Schema that our schema uses: why the value does not fit, or NULL. */
static const char *misfit(const json_t *value, const json_t *rule, char *why, size_t n);

static const json_t *follow(const json_t *rule)
{
    const char *ref = json_string_value(json_object_get(rule, "$ref"));
    if (!ref)
        return rule;
    assert_int_equal(strncmp(ref, "#/definitions/", 14), 0);
    const json_t *found = json_object_get(json_object_get(schema, "definitions"), ref + 14);
    assert_non_null(found);
    return found;
}

static const char *misfit_object(const json_t *value, const json_t *rule, char *why, size_t n)
{
    const json_t *properties = json_object_get(rule, "properties");
    const char *key;
    json_t *item;
    size_t i;
    json_array_foreach(json_object_get(rule, "required"), i, item)
    {
        if (!json_object_get(value, json_string_value(item))) {
            snprintf(why, n, "'%s' is missing", json_string_value(item));
            return why;
        }
    }
    json_object_foreach((json_t *)value, key, item)
    {
        char inner[200];
        const json_t *r = json_object_get(properties, key);
        if (!r || misfit(item, r, inner, sizeof(inner))) {
            snprintf(why, n, "%s: %s", key, r ? inner : "unknown key");
            return why;
        }
    }
    return NULL;
}

static int is_in(const json_t *list, const json_t *value)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        if (json_equal(item, value))
            return 1;
    }
    return 0;
}

static const char *misfit(const json_t *value, const json_t *rule, char *why, size_t n)
{
    rule = follow(rule);
    const char *want = json_string_value(json_object_get(rule, "type"));
    const json_t *minimum = json_object_get(rule, "minimum");
    const json_t *words = json_object_get(rule, "enum");
    size_t i;
    json_t *item;
    snprintf(why, n, "is a %s, not a %s", type_of(value), want);
    if (strcmp(type_of(value), want) != 0 &&
        !(strcmp(want, "number") == 0 && json_is_integer(value)))
        return why;
    snprintf(why, n, "is out of range");
    if (minimum && json_number_value(value) < json_number_value(minimum))
        return why;
    snprintf(why, n, "is none of the words");
    if (words && !is_in(words, value))
        return why;
    json_array_foreach((json_t *)value, i, item)
    {
        if (misfit(item, json_object_get(rule, "items"), why, n))
            return why;
    }
    return json_is_object(value) ? misfit_object(value, rule, why, n) : NULL;
}

static json_t *write_and_load(const struct facts *f)
{
    char directory[] = "/tmp/mprun-test-report-XXXXXX", path[64];
    struct error err = {0};
    json_error_t e;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/usage.json", directory);
    if (report_write_json(&f->r, path, &err) < 0)
        fail_msg("%s", err.text);
    json_t *j = json_load_file(path, 0, &e);
    assert_non_null(j);
    unlink(path);
    rmdir(directory);
    return j;
}

static void assert_fits(const json_t *j)
{
    char why[256];
    if (misfit(j, schema, why, sizeof(why)))
        fail_msg("the report does not fit its schema: %s", why);
}

/* Follow keys and indexes: get(j, "ranks", 3, "end", NULL) with indexes as numbers in text. */
static json_t *get(json_t *j, ...)
{
    va_list ap;
    const char *key;
    va_start(ap, j);
    while (j && (key = va_arg(ap, const char *)))
        j = json_is_array(j) ? json_array_get(j, (size_t)atoi(key)) : json_object_get(j, key);
    va_end(ap);
    return j;
}

static void json_has_all_facts_and_fits_its_schema(void **state)
{
    struct facts *f = make_facts(4, 2);
    fail_rank(f, 3, END_LIMIT, 9);
    f->r.failure_text = "rank 3 on node02 exceeded its memory limit 1 GiB (peak 1 GiB)";
    f->r.sample_period = 5;
    f->ranks[3].limits.memory = (struct limit){1, 1024 * MIB, HELD_BY_CGROUP};
    f->hosts[0].limits.pids = (struct limit){1, 100, HELD_BY_SAMPLED};
    for (int i = 0; i < USAGE_FIELD_COUNT; i++) { /* every field is in the schema */
        usage_set(&f->hosts[0].total, (enum usage_field)i, 5);
        usage_set(&f->ranks[0].usage, (enum usage_field)i, 5);
    }
    json_t *j = write_and_load(f);
    assert_fits(j);
    assert_int_equal(json_integer_value(get(j, "step", "exit_code", NULL)), 137);
    assert_string_equal(json_string_value(get(j, "step", "start", NULL)),
                        "2026-08-02T10:11:12.000000Z");
    assert_string_equal(json_string_value(get(j, "step", "job", NULL)), "42");
    assert_string_equal(json_string_value(get(j, "step", "first_failure", "host", NULL)), "node02");
    assert_string_equal(json_string_value(get(j, "ranks", "3", "end", "cause", NULL)), "limit");
    assert_int_equal(
        json_integer_value(get(j, "ranks", "3", "limits", "memory_bytes", "value", NULL)),
        1024 * MIB);
    assert_string_equal(
        json_string_value(get(j, "hosts", "0", "limits", "processes", "held_by", NULL)), "sampled");
    assert_int_equal(json_array_size(get(j, "ranks", NULL)), 4);
    assert_true(json_real_value(get(j, "ranks", "1", "usage", "cpu_user_s", NULL)) == 3499);
    double e = json_real_value(get(j, "ranks", "1", "efficiency", NULL));
    assert_true(e > 0.97 && e < 0.98);
    json_decref(j);
    free(f);
}

static void json_has_the_start(void **state)
{
    struct facts *f = make_start(4);
    json_t *j = write_and_load(f);
    assert_fits(j);
    json_t *reported = get(j, "launch", "phases", "reported", NULL);
    assert_int_equal(json_integer_value(get(reported, "hosts", NULL)), 4);
    assert_string_equal(json_string_value(get(reported, "slowest", "0", "host", NULL)), "node03");
    assert_true(json_real_value(get(j, "launch", "launcher_cpu_s", NULL)) == 0.0234);
    assert_int_equal(json_integer_value(get(j, "launch", "depth", NULL)), 2);
    assert_true(json_real_value(get(j, "hosts", "1", "launch", "running_s", NULL)) == 6.25);
    json_decref(j);
    f->hosts[1].reached[LAUNCH_BEGUN] = 0; /* never started */
    j = write_and_load(f);
    assert_fits(j);
    assert_null(get(j, "hosts", "1", "launch", NULL));
    json_decref(j);
    free(f);
}

static void json_leaves_out_what_is_unknown(void **state)
{
    struct facts *f = make_facts(2, 1);
    f->r.job_id = "";
    f->r.launcher = (struct usage){0};
    f->hosts[0] = (struct report_host){.name = "node01"};
    f->ranks[1] = (struct report_rank){.name = {.rank = 1}};
    json_t *j = write_and_load(f);
    assert_fits(j);
    assert_null(get(j, "step", "job", NULL));
    assert_null(get(j, "step", "first_failure", NULL));
    assert_null(get(j, "launcher", NULL));
    assert_null(get(j, "launch", NULL));
    assert_null(get(j, "hosts", "0", "launch", NULL));
    assert_null(get(j, "usage", NULL));
    assert_null(get(j, "hosts", "0", "tracking", NULL));
    assert_null(get(j, "hosts", "0", "cores", NULL));
    assert_null(get(j, "ranks", "1", "usage", NULL));
    assert_null(get(j, "ranks", "1", "pid", NULL));
    assert_null(get(j, "ranks", "1", "end", NULL));
    assert_null(get(j, "ranks", "1", "bound_threads", NULL));
    assert_non_null(get(j, "ranks", "0", "usage", "cpu_user_s", NULL));
    assert_null(get(j, "ranks", "0", "usage", "swap_bytes", NULL));
    json_decref(j);
    free(f);
}

static void the_schema_check_can_fail(void **state)
{
    struct facts *f = make_facts(1, 1);
    char why[256];
    json_t *j = write_and_load(f);
    json_object_set_new(get(j, "ranks", "0", "usage", NULL), "cpu", json_integer(1));
    assert_non_null(misfit(j, schema, why, sizeof(why)));
    assert_string_equal(why, "ranks: usage: cpu: unknown key");
    json_object_del(get(j, "ranks", "0", "usage", NULL), "cpu");
    assert_fits(j);
    json_object_set_new(get(j, "step", NULL), "exit_code", json_string("0"));
    assert_non_null(misfit(j, schema, why, sizeof(why)));
    json_decref(j);
    free(f);
}

static void a_file_that_cannot_be_written_is_named(void **state)
{
    struct facts *f = make_facts(1, 1);
    struct error err = {0};
    assert_int_equal(report_write_json(&f->r, "/no/such/directory/usage.json", &err), -1);
    assert_non_null(strstr(err.text, "write the report '/no/such/directory/usage.json'"));
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_hosts_in_cgroups),
        cmocka_unit_test(one_host_without_any_cgroup_or_job),
        cmocka_unit_test(many_ranks_are_summarised_and_failed_ones_shown),
        cmocka_unit_test(many_failures_are_cut_and_counted),
        cmocka_unit_test(a_lost_host_makes_sums_unknown_and_not_small),
        cmocka_unit_test(processes_of_nobody_count_and_take_no_wall_time),
        cmocka_unit_test(ranks_one_after_another_take_the_time_of_all),
        cmocka_unit_test(efficiency_is_of_the_cores_that_were_there),
        cmocka_unit_test(what_was_used_by_the_way_is_shown_when_it_is_not_nothing),
        cmocka_unit_test(control_characters_and_long_commands_stay_out_of_the_head),
        cmocka_unit_test(every_end_has_its_words),
        cmocka_unit_test(a_start_has_its_phases_and_slowest_hosts),
        cmocka_unit_test(a_start_that_failed_says_how_far_it_got),
        cmocka_unit_test(json_has_the_start),
        cmocka_unit_test(json_has_all_facts_and_fits_its_schema),
        cmocka_unit_test(json_leaves_out_what_is_unknown),
        cmocka_unit_test(the_schema_check_can_fail),
        cmocka_unit_test(a_file_that_cannot_be_written_is_named),
    };
    setenv("TZ", "UTC", 1);
    return cmocka_run_group_tests(tests, load_schema, drop_schema);
}
