/* SPDX-License-Identifier: BSD-3-Clause */
/* A step's cgroups on this very machine: found, made, born into, counted, ended, removed. Nothing
 * here sets a limit of memory. Where this process may write to no cgroup, the tests skip, but for
 * the one that reads why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/cgroup-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/machine/cpus.h"
#include "common/files/fdio.h"
#include "common/processes/proc.h"
#include "containment/cgroup/mounts.h"
#include "containment/step/orphans.h"

static int is_killed(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* Where a process is in the tracking hierarchy: an absolute directory; caller frees. */
static char *directory_of(const struct fixture *f, pid_t pid)
{
    struct cgroup_mounts mounts;
    struct cgroup_membership m;
    struct error err;
    const struct hierarchy *h = &f->tree->h[f->tree->track];
    int version = h->driver->version;
    enum cgroup_controller c = CGROUP_FREEZER;
    assert_int_equal(cgroup_mounts_read(&mounts, &err), 0);
    assert_int_equal(cgroup_membership_read(pid, &m, &err), 0);
    char *dir = cgroup_directory(&mounts, version, c, version == 2 ? m.v2 : m.v1[c], NULL, &err);
    if (!dir)
        fail_msg("%s", err.text);
    cgroup_mounts_free(&mounts);
    cgroup_membership_free(&m);
    return dir;
}

static void assert_in_leaf(const struct fixture *f, pid_t pid, const char *leaf)
{
    char wanted[CGROUP_PATH_MAX];
    char *dir = directory_of(f, pid);
    snprintf(wanted, sizeof(wanted), "%s/%s", f->tree->h[f->tree->track].ranks, leaf);
    assert_string_equal(dir, wanted);
    free(dir);
}

/* The only process of a leaf. */
static pid_t process_in(const struct cgroup_leaf *leaf)
{
    pid_t *pids = NULL;
    assert_int_equal(cgroup_leaf_pids(leaf, &pids), 1);
    pid_t pid = pids[0];
    free(pids);
    return pid;
}

/* ---- the place ------------------------------------------------------------------------------- */

static void the_own_source_finds_a_place_or_says_why_not(void **state)
{
    struct fixture f;
    if (fixture_try(&f, TRACK_RANK, NULL, NULL, 0) < 0) {
        assert_non_null(strstr(f.err.text, "find a cgroup of our own that is writable: "));
        assert_non_null(strstr(f.err.text, "systemd-run --user --scope"));
        if (geteuid() != 0) /* it names what it looked at, or that there is nothing */
            assert_true(strstr(f.err.text, "is not delegated to this user") ||
                        strstr(f.err.text, "not mounted") || strstr(f.err.text, "no mount of"));
        return;
    }
    assert_true(f.tree->nh > 0);
    fixture_close(&f);
}

/* Root never goes up from its own cgroup, and nobody goes where it cannot write. */
static void the_place_of_root_is_its_own_cgroup(void **state)
{
    struct fixture f;
    fixture_open(&f, TRACK_RANK, NULL);
    const struct hierarchy *h = &f.tree->h[f.tree->track];
    char *own = directory_of(&f, getpid());
    if (geteuid() == 0)
        assert_string_equal(h->parent, own);
    else
        assert_int_equal(strncmp(own, h->parent, strlen(h->parent)), 0);
    free(own);
    fixture_close(&f);
}

static void the_kind_fits_the_hierarchies(void **state)
{
    struct fixture f;
    fixture_open(&f, TRACK_RANK, NULL);
    const struct hierarchy *h = &f.tree->h[f.tree->track];
    const char *kind = cgroup_tree_kind(f.tree);
    const char *const *paths;
    size_t n = cgroup_tree_paths(f.tree, &paths);
    assert_int_equal(h->driver->version, !strcmp(kind, "v1") ? 1 : 2);
    assert_true(path_exists(h->ranks));
    if (!strcmp(kind, "v2"))
        assert_int_equal(n, 1);
    if (!strcmp(kind, "hybrid"))
        assert_true(n > 1);
    for (size_t i = 0; i < n; i++)
        assert_non_null(strstr(paths[i], f.step));
    fixture_close(&f);
}

static void a_step_cannot_be_made_twice(void **state)
{
    struct fixture f;
    struct error err;
    struct cgroup_parents p = {0};
    fixture_open(&f, TRACK_RANK, NULL);
    struct hierarchy *h = &f.tree->h[f.tree->track];
    if (h->driver->version == 2)
        p.v2 = strdup(h->parent);
    else
        p.v1[CGROUP_FREEZER] = strdup(h->parent);
    assert_null(cgroup_tree_create(f.loop, &p, f.step, TRACK_RANK, NULL, &err));
    assert_int_equal(err.code, EEXIST);
    assert_true(path_exists(h->ranks)); /* the first one is untouched */
    assert_null(cgroup_tree_create(f.loop, &p, "../up", TRACK_RANK, NULL, &err));
    assert_null(cgroup_tree_create(f.loop, &p, "", TRACK_RANK, NULL, &err));
    assert_null(cgroup_tree_create(f.loop, &p, "a", TRACK_TREE, NULL, &err));
    cgroup_parents_free(&p);
    fixture_close(&f);
}

/* ---- birth ----------------------------------------------------------------------------------- */

static void a_rank_is_born_in_its_leaf(void **state)
{
    struct fixture f;
    fixture_open(&f, TRACK_RANK, NULL);
    struct cgroup_leaf *leaf = fixture_leaf(&f, 7, NULL);
    pid_t pid = fixture_start(leaf, sleep_forever, NULL);
    assert_int_equal(process_in(leaf), pid);
    assert_in_leaf(&f, pid, "0.7.0");
    fixture_close(&f);
    fixture_assert_dead(pid);
}

static void a_rank_has_one_leaf(void **state)
{
    struct fixture f;
    struct rank_name name = {1, 2, 3};
    fixture_open(&f, TRACK_RANK, NULL);
    struct cgroup_leaf *leaf = cgroup_leaf_create(f.tree, name, NULL, &f.err);
    assert_non_null(leaf);
    assert_string_equal(leaf->name, "1.2.3");
    /* the same rank again is an error, and the first leaf stays */
    assert_null(cgroup_leaf_create(f.tree, name, NULL, &f.err));
    assert_int_equal(f.err.code, EEXIST);
    assert_int_equal(cgroup_leaf_remove(leaf, &f.err), 0);
    fixture_close(&f);
}

static void many_leaves_are_made_and_removed(void **state)
{
    struct fixture f;
    enum { N = 256 };
    struct cgroup_leaf *leaves[N];
    fixture_open(&f, TRACK_RANK, NULL);
    double t0 = loop_now();
    for (unsigned i = 0; i < N; i++)
        leaves[i] = fixture_leaf(&f, i, NULL);
    double t1 = loop_now();
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(cgroup_leaf_remove(leaves[i], &f.err), 0);
    print_message("# %s: %d leaves made in %.1f ms, removed in %.1f ms\n", cgroup_tree_kind(f.tree),
                  N, (t1 - t0) * 1e3, (loop_now() - t1) * 1e3);
    fixture_close(&f);
}

/* ---- hardware threads ------------------------------------------------------------------------ */

/* A tree whose ranks are held to the last thread that we have; skips where nothing can hold them.
 */
static int open_held(struct fixture *f, enum tracking level)
{
    struct idset allowed = {0}, last = {0};
    struct error err;
    int thread = -1;
    fixture_open(f, level, NULL);
    assert_int_equal(cpus_allowed(&allowed, &err), 0);
    for (int t = idset_next(&allowed, 0); t >= 0; t = idset_next(&allowed, (unsigned)t + 1))
        thread = t;
    idset_add(&last, (unsigned)thread);
    int held = cgroup_tree_hold_cpus(f->tree, &last, &err) == 0;
    size_t n = idset_count(&allowed);
    idset_free(&allowed);
    idset_free(&last);
    if (held && n > 1)
        return thread;
    if (!held) {
        assert_non_null(strstr(err.text, "no cgroup that can be made here has the controller"));
        print_message("# %s\n", err.text);
    }
    fixture_close(f);
    skip();
    return -1;
}

/* Asks for all threads: 0 when it then has this one and no other. */
static int widen(void *arg)
{
    cpu_set_t set;
    memset(&set, 0xff, sizeof(set));
    (void)sched_setaffinity(0, sizeof(set), &set);
    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        return 2;
    return CPU_COUNT(&set) == 1 && CPU_ISSET((size_t)(*(int *)arg), &set) ? 0 : 1;
}

static void ranks_stay_on_their_threads_whatever_they_set(void **state)
{
    struct fixture f;
    int thread = open_held(&f, TRACK_RANK);
    for (unsigned i = 0; i < 2; i++) {
        struct cgroup_leaf *leaf = fixture_leaf(&f, i, NULL);
        assert_int_equal(fixture_wait(fixture_start(leaf, widen, &thread)), 0);
        pid_t pid = fixture_start(leaf, sleep_forever, NULL); /* tracking is as without */
        assert_int_equal(process_in(leaf), pid);
    }
    fixture_close(&f);
}

static void ranks_that_share_a_cgroup_stay_on_their_threads_too(void **state)
{
    struct fixture f;
    int thread = open_held(&f, TRACK_STEP);
    assert_int_equal(fixture_wait(fixture_start(fixture_leaf(&f, 0, NULL), widen, &thread)), 0);
    fixture_close(&f);
}

static void threads_that_the_place_does_not_have_cannot_hold_anybody(void **state)
{
    struct fixture f;
    struct idset none = {0};
    struct error err;
    (void)open_held(&f, TRACK_RANK);
    idset_add(&none, IDSET_MAX - 1);
    assert_int_equal(cgroup_tree_hold_cpus(f.tree, &none, &err), -1);
    assert_non_null(strstr(err.text, "hold ranks to hardware threads 1048575 by cgroup '"));
    assert_non_null(strstr(err.text, "': it has only "));
    idset_free(&none);
    fixture_close(&f);
}

/* ---- the end --------------------------------------------------------------------------------- */

struct family {
    volatile pid_t grandchild;
};

static int have_escaping_child(void *arg)
{
    struct family *fam = arg;
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        signal(SIGTERM, SIG_IGN);
        if (fork() == 0) {
            fam->grandchild = getpid();
            sleep_forever(NULL);
        }
        _exit(0);
    }
    return sleep_forever(NULL);
}

static pid_t start_family(struct cgroup_leaf *leaf, struct family *fam)
{
    pid_t pid = fixture_start(leaf, have_escaping_child, fam);
    while (!fam->grandchild)
        sched_yield();
    return pid;
}

static void kill_ends_what_left_session_and_parent(void **state)
{
    struct fixture f;
    struct family *fam = shared_memory(sizeof(*fam));
    fixture_open(&f, TRACK_RANK, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t rank = start_family(fixture_leaf(&f, 0, NULL), fam);
    assert_int_equal(cgroup_tree_wait_empty(f.tree, fixture_flag, &f, &f.err), 0);
    assert_int_equal(cgroup_tree_kill(f.tree, &f.err), 0);
    assert_true(fixture_run(&f, 30));
    assert_true(is_killed(fixture_wait(rank)));
    assert_true(is_killed(fixture_wait(fam->grandchild)));
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    munmap(fam, sizeof(*fam));
    fixture_close(&f);
}

static int fork_for_ever(void *arg)
{
    volatile int *started = arg;
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        if (fork() == 0) {
            setsid();
            ++*started;
            struct timespec t = {0, 2000000};
            nanosleep(&t, NULL);
            _exit(0);
        }
        struct timespec t = {0, 500000};
        nanosleep(&t, NULL);
    }
    return 0;
}

static void kill_ends_what_forks_all_the_time(void **state)
{
    struct fixture f;
    volatile int *started = shared_memory(sizeof(*started));
    fixture_open(&f, TRACK_RANK, NULL);
    pid_t pid = fixture_start(fixture_leaf(&f, 0, NULL), fork_for_ever, (void *)started);
    while (*started < 5)
        sched_yield();
    assert_int_equal(cgroup_tree_wait_empty(f.tree, fixture_flag, &f, &f.err), 0);
    assert_int_equal(cgroup_tree_kill(f.tree, &f.err), 0);
    assert_true(fixture_run(&f, 30));
    assert_true(is_killed(fixture_wait(pid)));
    munmap((void *)started, sizeof(*started));
    fixture_close(&f);
}

static int wait_for_byte(void *arg)
{
    char c;
    return read(*(int *)arg, &c, 1) == 1 ? 0 : 1;
}

static void empty_is_told_when_the_last_process_ends_by_itself(void **state)
{
    struct fixture f;
    int pipe_fds[2];
    fixture_open(&f, TRACK_RANK, NULL);
    assert_int_equal(pipe(pipe_fds), 0);
    struct cgroup_leaf *leaf = fixture_leaf(&f, 0, NULL);
    pid_t pid = fixture_start(leaf, wait_for_byte, &pipe_fds[0]);
    assert_int_equal(process_in(leaf), pid);
    assert_int_equal(cgroup_tree_wait_empty(f.tree, fixture_flag, &f, &f.err), 0);
    assert_int_equal(cgroup_tree_wait_empty(f.tree, fixture_flag, &f, &f.err), -1); /* one only */
    assert_false(fixture_run(&f, 0.1)); /* it is alive */
    assert_int_equal(write(pipe_fds[1], "x", 1), 1);
    assert_true(fixture_run(&f, 30));
    assert_int_equal(fixture_wait(pid), 0);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    fixture_close(&f);
}

static void empty_is_told_from_the_loop_when_it_is_empty_already(void **state)
{
    struct fixture f;
    fixture_open(&f, TRACK_RANK, NULL);
    assert_int_equal(cgroup_tree_wait_empty(f.tree, fixture_flag, &f, &f.err), 0);
    assert_false(f.flag);
    assert_true(fixture_run(&f, 30));
    f.flag = 0; /* and once more */
    assert_int_equal(cgroup_tree_wait_empty(f.tree, fixture_flag, &f, &f.err), 0);
    assert_true(fixture_run(&f, 30));
    fixture_close(&f);
}

static void destroy_tree(void *arg)
{
    struct fixture *f = arg;
    if (cgroup_tree_remove(f->tree, &f->err) < 0)
        fail_msg("%s", f->err.text);
    cgroup_tree_destroy(f->tree);
    f->tree = NULL;
    fixture_flag(f);
}

static void the_tree_may_be_destroyed_when_it_is_empty(void **state)
{
    struct fixture f;
    fixture_open(&f, TRACK_RANK, NULL);
    pid_t pid = fixture_start(fixture_leaf(&f, 0, NULL), sleep_forever, NULL);
    assert_int_equal(cgroup_tree_wait_empty(f.tree, destroy_tree, &f, &f.err), 0);
    assert_int_equal(cgroup_tree_kill(f.tree, &f.err), 0);
    assert_true(fixture_run(&f, 30));
    assert_true(is_killed(fixture_wait(pid)));
    assert_null(f.tree);
    loop_destroy(f.loop);
}

static void what_is_populated_is_not_removed_and_said(void **state)
{
    struct fixture f;
    char who[32];
    fixture_open(&f, TRACK_RANK, NULL);
    struct cgroup_leaf *leaf = fixture_leaf(&f, 3, NULL);
    pid_t pid = fixture_start(leaf, sleep_forever, NULL);
    assert_int_equal(process_in(leaf), pid);
    snprintf(who, sizeof(who), "pid %d (", (int)pid);
    assert_int_equal(cgroup_leaf_remove(leaf, &f.err), -1);
    assert_int_equal(f.err.code, EBUSY);
    assert_non_null(strstr(f.err.text, "/0.3.0', in which is "));
    assert_non_null(strstr(f.err.text, who));
    assert_int_equal(cgroup_tree_remove(f.tree, &f.err), -1);
    assert_int_equal(f.err.code, EBUSY);
    /* nothing was lost: it can be killed and removed now */
    assert_int_equal(process_in(leaf), pid);
    fixture_close(&f);
}

static void cgroups_that_a_rank_made_go_with_its_leaf(void **state)
{
    struct fixture f;
    fixture_open(&f, TRACK_RANK, NULL);
    struct cgroup_leaf *leaf = fixture_leaf(&f, 0, NULL);
    struct cgroup_at d = leaf_at(leaf, f.tree->track);
    int fd = at_open(d);
    assert_true(fd >= 0);
    assert_int_equal(mkdirat(fd, "inner", 0755), 0);
    assert_int_equal(mkdirat(fd, "inner/deeper", 0755), 0);
    close(fd);
    assert_int_equal(cgroup_leaf_remove(leaf, &f.err), 0);
    fixture_close(&f);
}

/* ---- freezing -------------------------------------------------------------------------------- */

static int count_up(void *arg)
{
    volatile uint64_t *n = arg;
    for (;;)
        ++*n;
    return 0;
}

/* A v1 freezer can stay in FREEZING until it is told again. */
static void freeze(struct fixture *f, int frozen)
{
    const struct hierarchy *h = &f->tree->h[f->tree->track];
    int state;
    assert_true(cgroup_tree_freeze(f->tree, frozen) >= 0);
    while ((state = h->driver->freeze(hierarchy_ranks(h), frozen)) == 0)
        fixture_run(f, 0.005);
    assert_int_equal(state, 1);
}

static void a_frozen_rank_does_not_run_and_can_be_killed(void **state)
{
    struct fixture f;
    volatile uint64_t *n = shared_memory(sizeof(*n));
    fixture_open(&f, TRACK_RANK, NULL);
    pid_t pid = fixture_start(fixture_leaf(&f, 0, NULL), count_up, (void *)n);
    while (*n == 0)
        sched_yield();
    freeze(&f, 1);
    uint64_t before = *n;
    assert_false(fixture_run(&f, 0.1));
    assert_int_equal(*n, before);
    freeze(&f, 0);
    while (*n == before)
        sched_yield();
    freeze(&f, 1);
    munmap((void *)n, sizeof(*n));
    fixture_close(&f); /* kills it as it is */
    fixture_assert_dead(pid);
}

/* ---- usage ----------------------------------------------------------------------------------- */

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* 0.3 s from now on: before, on v1, it was not in its leaf */
static int burn(void *arg)
{
    double start = cpu_seconds();
    while (cpu_seconds() - start < 0.3)
        ;
    return 0;
}

static uint64_t cpu_of(const struct usage *u)
{
    assert_true(usage_has(u, USAGE_CPU_USER));
    assert_true(usage_has(u, USAGE_CPU_SYSTEM));
    return u->value[USAGE_CPU_USER] + u->value[USAGE_CPU_SYSTEM];
}

static void cpu_time_of_dead_processes_counts(void **state)
{
    struct fixture f;
    struct usage idle = {0}, busy = {0}, all = {0}, after = {0};
    fixture_open(&f, TRACK_RANK, NULL);
    struct cgroup_leaf *a = fixture_leaf(&f, 0, NULL), *b = fixture_leaf(&f, 1, NULL);
    assert_int_equal(fixture_wait(fixture_start(a, burn, NULL)), 0);
    cgroup_leaf_usage(a, &busy);
    cgroup_leaf_usage(b, &idle);
    cgroup_tree_usage(f.tree, &all);
    assert_in_range(cpu_of(&busy), 250000, 5000000);
    assert_true(cpu_of(&idle) < 50000);
    assert_true(cpu_of(&all) >= cpu_of(&busy));
    assert_int_equal(cgroup_leaf_remove(a, &f.err), 0);
    cgroup_tree_usage(f.tree, &after); /* the leaf is gone, its time is not */
    assert_true(cpu_of(&after) >= cpu_of(&busy));
    fixture_close(&f);
}

static void what_no_controller_counts_is_unknown(void **state)
{
    struct fixture f;
    struct usage u = {0};
    fixture_open(&f, TRACK_RANK, NULL);
    struct cgroup_leaf *leaf = fixture_leaf(&f, 0, NULL);
    cgroup_leaf_usage(leaf, &u);
    const struct hierarchy *v2 = &f.tree->h[0];
    int counts = v2->driver->version == 2 && (v2->for_ranks & CGROUP_BIT(CGROUP_MEMORY));
    assert_int_equal(usage_has(&u, USAGE_OOM_KILLS), counts);
    if (!counts)
        assert_false(usage_has(&u, USAGE_MEMORY_PEAK));
    assert_false(usage_has(&u, USAGE_WALL));
    assert_false(usage_has(&u, USAGE_RSS_PEAK));
    fixture_close(&f);
}

/* ---- one cgroup for all ---------------------------------------------------------------------- */

static void at_level_step_ranks_share_one_cgroup(void **state)
{
    struct fixture f;
    pid_t *pids = NULL;
    struct limits limits = {.pids = {.set = 1, .value = 100}};
    fixture_open(&f, TRACK_STEP, NULL);
    struct cgroup_leaf *a = fixture_leaf(&f, 0, &limits), *b = fixture_leaf(&f, 1, NULL);
    pid_t in_a = fixture_start(a, sleep_forever, NULL);
    assert_int_equal(fixture_wait(fixture_start(b, burn, NULL)), 0);
    const struct hierarchy *h = &f.tree->h[f.tree->track];
    char *dir = directory_of(&f, in_a);
    assert_string_equal(dir, h->ranks);
    free(dir);
    /* what is of all ranks is not given out as one's */
    struct usage one = {0}, all = {0};
    cgroup_leaf_usage(a, &one);
    cgroup_tree_usage(f.tree, &all);
    assert_int_equal(one.known, 0);
    assert_in_range(cpu_of(&all), 250000, 5000000);
    assert_int_equal(cgroup_leaf_pids(a, &pids), -1);
    assert_int_equal(errno, ENOTSUP);
    assert_int_equal(cgroup_leaf_limits(a)->pids.held_by, HELD_BY_NONE);
    assert_int_equal(cgroup_tree_controllers(f.tree), 0);
    assert_int_equal(waitpid(in_a, NULL, WNOHANG), 0);
    assert_int_equal(cgroup_leaf_remove(b, &f.err), 0);
    fixture_close(&f);
}

/* ---- the starter ----------------------------------------------------------------------------- */

/* Move a process into `starter`, as a tree does with those that sit in its place. */
static void adopt(struct fixture *f, pid_t pid)
{
    for (size_t i = 0; i < f->tree->nh; i++)
        if (hierarchy_made(&f->tree->h[i]) && hierarchy_adopt(&f->tree->h[i], pid, &f->err) < 0)
            fail_msg("%s", f->err.text);
}

static void a_starter_is_moved_in_spared_and_brought_back(void **state)
{
    struct fixture f;
    fixture_open(&f, TRACK_RANK, NULL);
    pid_t pid = fork();
    if (pid == 0)
        sleep_forever(NULL);
    char *before = directory_of(&f, pid);
    adopt(&f, pid);
    char *inside = directory_of(&f, pid);
    assert_non_null(strstr(inside, "/starter"));
    adopt(&f, pid); /* again is nothing */
    pid_t rank = fixture_start(fixture_leaf(&f, 0, NULL), sleep_forever, NULL);
    assert_int_equal(cgroup_tree_wait_empty(f.tree, fixture_flag, &f, &f.err), 0);
    assert_int_equal(cgroup_tree_kill(f.tree, &f.err), 0);
    assert_true(fixture_run(&f, 30)); /* the starter does not count as a rank */
    assert_true(is_killed(fixture_wait(rank)));
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    if (cgroup_tree_remove(f.tree, &f.err) < 0)
        fail_msg("%s", f.err.text);
    char *after = directory_of(&f, pid);
    assert_string_equal(after, before);
    assert_int_equal(kill(pid, SIGKILL), 0);
    fixture_wait(pid);
    free(before);
    free(inside);
    free(after);
    cgroup_tree_destroy(f.tree);
    loop_destroy(f.loop);
}

/* ---- sweeping -------------------------------------------------------------------------------- */

static size_t copy_paths(struct fixture *f, const char *copies[HIERARCHY_MAX])
{
    const char *const *paths;
    size_t n = cgroup_tree_paths(f->tree, &paths);
    for (size_t i = 0; i < n; i++)
        copies[i] = strdup(paths[i]);
    return n;
}

static void free_paths(const char *copies[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_false(path_exists(copies[i]));
        free((char *)copies[i]);
    }
}

static void a_sweep_needs_only_the_paths(void **state)
{
    struct fixture f;
    const char *paths[HIERARCHY_MAX];
    struct family *fam = shared_memory(sizeof(*fam));
    fixture_open(&f, TRACK_RANK, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t rank = start_family(fixture_leaf(&f, 0, NULL), fam);
    fixture_leaf(&f, 1, NULL);
    size_t n = copy_paths(&f, paths);
    cgroup_tree_destroy(f.tree); /* removes nothing */
    loop_destroy(f.loop);
    if (cgroup_sweep(paths, n, 30000, &f.err) < 0)
        fail_msg("%s", f.err.text);
    assert_true(is_killed(fixture_wait(rank)));
    assert_true(is_killed(fixture_wait(fam->grandchild)));
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    assert_int_equal(cgroup_sweep(paths, n, 0, &f.err), 0); /* a second time is nothing */
    free_paths(paths, n);
    munmap(fam, sizeof(*fam));
}

struct sweeper {
    const char *paths[HIERARCHY_MAX];
    size_t n;
    int go;
};

static int sweep_from_inside(struct sweeper *s)
{
    struct error err;
    if (wait_for_byte(&s->go) != 0)
        return 2;
    if (cgroup_sweep(s->paths, s->n, 30000, &err) == 0)
        return 0;
    fprintf(stderr, "# %s\n", err.text);
    return 1;
}

/* A keeper that was moved into `starter` ends the ranks, and not itself. */
static void a_sweep_by_the_starter_spares_the_starter(void **state)
{
    struct fixture f;
    struct sweeper s;
    int pipe_fds[2];
    fixture_open(&f, TRACK_RANK, NULL);
    assert_int_equal(pipe(pipe_fds), 0);
    s.go = pipe_fds[0];
    s.n = copy_paths(&f, s.paths);
    pid_t rank = fixture_start(fixture_leaf(&f, 0, NULL), sleep_forever, NULL);
    pid_t keeper = fork();
    if (keeper == 0)
        _exit(sweep_from_inside(&s));
    adopt(&f, keeper);
    /* where the place has controllers and processes of ours came from below it, they cannot go
     * back into it; then the keeper says so */
    int can_go_back = !f.v2_controllers || geteuid() == 0;
    cgroup_tree_destroy(f.tree);
    loop_destroy(f.loop);
    assert_int_equal(write(pipe_fds[1], "x", 1), 1);
    int status = fixture_wait(keeper);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), can_go_back ? 0 : 1);
    assert_true(is_killed(fixture_wait(rank)));
    if (!can_go_back)
        assert_int_equal(cgroup_sweep(s.paths, s.n, 1000, &f.err), 0);
    free_paths(s.paths, s.n);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

/* ---- steps without an owner ------------------------------------------------------------------ */

struct owner {
    char place[CGROUP_PATH_MAX];
    int version;
    volatile int exec_done; /* by the rank */
    volatile int rank;      /* its pid: everything is made */
};

static int own_a_step(struct owner *o)
{
    struct error err;
    struct cgroup_parents p = {0};
    struct loop *l = loop_create(&err);
    struct cgroup_leaf *leaf = NULL;
    if (o->version == 2)
        p.v2 = o->place;
    else
        p.v1[CGROUP_FREEZER] = o->place;
    struct cgroup_tree *t = cgroup_tree_create(l, &p, "owned", TRACK_RANK, NULL, &err);
    if (!t || !(leaf = cgroup_leaf_create(t, (struct rank_name){0}, NULL, &err)))
        return 1;
    pid_t pid = fork();
    if (pid == 0) {
        for (int fd = 3; fd < 256; fd++) /* as exec does */
            close(fd);
        o->exec_done = 1;
        sleep_forever(NULL);
    }
    while (!o->exec_done)
        sched_yield();
    if (at_write_u64(leaf_at(leaf, t->track), "cgroup.procs", (uint64_t)pid) < 0)
        return 2;
    o->rank = pid;
    return sleep_forever(NULL);
}

static void a_step_without_an_owner_is_swept_by_the_next(void **state)
{
    struct fixture f;
    struct owner *o = shared_memory(sizeof(*o));
    char step[CGROUP_PATH_MAX + 16];
    fixture_open(&f, TRACK_RANK, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    fixture_leaf(&f, 0, NULL); /* the place: nobody else looks here */
    const struct hierarchy *h = &f.tree->h[f.tree->track];
    snprintf(o->place, sizeof(o->place), "%s/0.0.0", h->ranks);
    snprintf(step, sizeof(step), "%s/mprun.owned", o->place);
    o->version = h->driver->version;
    pid_t owner = fork();
    if (owner == 0)
        _exit(own_a_step(o));
    while (!o->rank)
        assert_int_equal(waitpid(owner, NULL, WNOHANG), 0);
    orphans_sweep(o->place, 0); /* its owner lives */
    assert_true(path_exists(step));
    assert_int_equal(kill(owner, SIGKILL), 0);
    fixture_wait(owner);
    orphans_sweep(o->place, 1000); /* too young */
    assert_true(path_exists(step));
    orphans_sweep(o->place, 0);
    assert_true(is_killed(fixture_wait(o->rank)));
    while (path_exists(step)) /* on a slow machine it was left for the next time */
        orphans_sweep(o->place, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    munmap(o, sizeof(*o));
    fixture_close(&f);
}

/* ---- kernels that lack something ------------------------------------------------------------- */

static int absent(struct cgroup_at d)
{
    errno = ENOENT;
    return -1;
}

static int cannot_freeze(struct cgroup_at d, int frozen)
{
    errno = ENOENT;
    return -1;
}

static int stays_freezing(struct cgroup_at d, int frozen)
{
    return 0;
}

static void climb_down(const struct cgroup_driver *driver, struct fixture *f)
{
    struct kill_ladder ladder;
    volatile int *started = shared_memory(sizeof(*started));
    const struct hierarchy *h = &f->tree->h[f->tree->track];
    pid_t pid = fixture_start(fixture_leaf(f, 0, NULL), fork_for_ever, (void *)started);
    while (*started < 5)
        sched_yield();
    kill_ladder_init(&ladder, hierarchy_ranks(h), driver);
    int ms;
    while ((ms = kill_ladder_step(&ladder)) > 0)
        poll(NULL, 0, ms);
    assert_int_equal(ms, 0);
    assert_false(ladder.by_file);
    assert_true(ladder.rounds >= 1);
    assert_true(is_killed(fixture_wait(pid)));
    munmap((void *)started, sizeof(*started));
}

static void without_the_kill_file_freezing_helps(void **state)
{
    struct fixture f;
    fixture_open(&f, TRACK_RANK, NULL);
    struct cgroup_driver driver = *f.tree->h[f.tree->track].driver;
    driver.kill = absent;
    climb_down(&driver, &f);
    fixture_close(&f);
}

static void without_a_freezer_numbers_are_killed_until_none_is_left(void **state)
{
    struct fixture f;
    fixture_open(&f, TRACK_RANK, NULL);
    struct cgroup_driver driver = *f.tree->h[f.tree->track].driver;
    driver.kill = absent;
    driver.freeze = cannot_freeze;
    climb_down(&driver, &f);
    fixture_close(&f);
}

static void a_freezer_that_sticks_is_given_up_in_time(void **state)
{
    struct fixture f;
    fixture_open(&f, TRACK_RANK, NULL);
    struct cgroup_driver driver = *f.tree->h[f.tree->track].driver;
    driver.kill = absent;
    driver.freeze = stays_freezing;
    double t0 = loop_now();
    climb_down(&driver, &f);
    assert_true(loop_now() - t0 > 0.15); /* it did ask again */
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_own_source_finds_a_place_or_says_why_not),
        cmocka_unit_test(the_place_of_root_is_its_own_cgroup),
        cmocka_unit_test(the_kind_fits_the_hierarchies),
        cmocka_unit_test(a_step_cannot_be_made_twice),
        cmocka_unit_test(a_rank_is_born_in_its_leaf),
        cmocka_unit_test(a_rank_has_one_leaf),
        cmocka_unit_test(many_leaves_are_made_and_removed),
        cmocka_unit_test(ranks_stay_on_their_threads_whatever_they_set),
        cmocka_unit_test(ranks_that_share_a_cgroup_stay_on_their_threads_too),
        cmocka_unit_test(threads_that_the_place_does_not_have_cannot_hold_anybody),
        cmocka_unit_test(kill_ends_what_left_session_and_parent),
        cmocka_unit_test(kill_ends_what_forks_all_the_time),
        cmocka_unit_test(empty_is_told_when_the_last_process_ends_by_itself),
        cmocka_unit_test(empty_is_told_from_the_loop_when_it_is_empty_already),
        cmocka_unit_test(the_tree_may_be_destroyed_when_it_is_empty),
        cmocka_unit_test(what_is_populated_is_not_removed_and_said),
        cmocka_unit_test(cgroups_that_a_rank_made_go_with_its_leaf),
        cmocka_unit_test(a_frozen_rank_does_not_run_and_can_be_killed),
        cmocka_unit_test(cpu_time_of_dead_processes_counts),
        cmocka_unit_test(what_no_controller_counts_is_unknown),
        cmocka_unit_test(at_level_step_ranks_share_one_cgroup),
        cmocka_unit_test(a_starter_is_moved_in_spared_and_brought_back),
        cmocka_unit_test(a_sweep_needs_only_the_paths),
        cmocka_unit_test(a_sweep_by_the_starter_spares_the_starter),
        cmocka_unit_test(a_step_without_an_owner_is_swept_by_the_next),
        cmocka_unit_test(without_the_kill_file_freezing_helps),
        cmocka_unit_test(without_a_freezer_numbers_are_killed_until_none_is_left),
        cmocka_unit_test(a_freezer_that_sticks_is_given_up_in_time),
    };
    return cmocka_run_group_tests_name("cgroup", tests, NULL, NULL);
}
