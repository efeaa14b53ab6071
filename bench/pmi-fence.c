/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi-fence.c - microseconds of a fence: rank 0 prints the median
 *
 *     pmi-fence pmix BYTES ROUNDS      each rank puts so many bytes before each fence; 0: no data
 *     pmi-fence pmi1 BYTES ROUNDS      over the descriptor PMI_FD, at most 1,000 bytes a value */
#define _GNU_SOURCE
#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pmix_proc_t me, all;
static FILE *pmi1;
static char answer[4096], *value;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "pmi-fence: %s failed\n", what);
        exit(1);
    }
}

/* ---- PMIx ------------------------------------------------------------------------------------ */

static void pmix_begin(void)
{
    must(PMIx_Init(&me, NULL, 0) == PMIX_SUCCESS, "PMIx_Init");
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
}

static void pmix_put(size_t bytes, int round)
{
    /* always the same key: a fence carries all that a rank has put so far */
    pmix_value_t v = {.type = PMIX_BYTE_OBJECT, .data.bo = {.bytes = value, .size = bytes}};
    (void)round;
    must(PMIx_Put(PMIX_GLOBAL, "bench", &v) == PMIX_SUCCESS && PMIx_Commit() == PMIX_SUCCESS,
         "put");
}

static void pmix_fence(size_t bytes)
{
    pmix_info_t info;
    bool yes = true;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    must(PMIx_Fence(&all, 1, &info, bytes ? 1 : 0) == PMIX_SUCCESS, "fence");
}

static void pmix_end(void)
{
    PMIx_Finalize(NULL, 0);
}

/* ---- PMI-1 ----------------------------------------------------------------------------------- */

static char kvs[256];

static void ask(const char *begin)
{
    must(fflush(pmi1) == 0 && fgets(answer, sizeof(answer), pmi1) &&
             !strncmp(answer, begin, strlen(begin)),
         begin);
}

static void pmi1_begin(void)
{
    const char *fd = getenv("PMI_FD"), *rank = getenv("PMI_RANK");
    must(fd && rank && (pmi1 = fdopen(atoi(fd), "r+")), "PMI_FD");
    me.rank = (pmix_rank_t)atoi(rank);
    fputs("cmd=init pmi_version=1 pmi_subversion=1\n", pmi1);
    ask("cmd=response_to_init");
    fputs("cmd=get_my_kvsname\n", pmi1);
    ask("cmd=my_kvsname kvsname=");
    sscanf(strchr(answer, ' '), " kvsname=%255s", kvs);
}

static void pmi1_put(size_t bytes, int round)
{
    fprintf(pmi1, "cmd=put kvsname=%s key=b-%u-%d value=%.*s\n", kvs, me.rank, round, (int)bytes,
            value);
    ask("cmd=put_result rc=0");
}

static void pmi1_fence(size_t bytes)
{
    (void)bytes;
    fputs("cmd=barrier_in\n", pmi1);
    ask("cmd=barrier_out");
}

static void pmi1_end(void)
{
    fputs("cmd=finalize\n", pmi1);
    ask("cmd=finalize_ack");
}

/* ---- both ------------------------------------------------------------------------------------ */

static const struct protocol {
    const char *name;
    void (*begin)(void), (*put)(size_t bytes, int round), (*fence)(size_t bytes), (*end)(void);
} protocols[] = {{"pmix", pmix_begin, pmix_put, pmix_fence, pmix_end},
                 {"pmi1", pmi1_begin, pmi1_put, pmi1_fence, pmi1_end}};

static int order(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
    must(argc == 4, "pmi-fence PROTOCOL BYTES ROUNDS");
    const struct protocol *p = &protocols[strcmp(argv[1], "pmi1") == 0];
    size_t bytes = (size_t)atol(argv[2]);
    int rounds = atoi(argv[3]);
    double *times = calloc((size_t)rounds, sizeof(*times));
    value = malloc(bytes + 1);
    must(times && value, "malloc");
    memset(value, 'x', bytes);
    value[bytes] = 0;
    p->begin();
    p->fence(0);
    for (int i = 0; i < rounds; i++) {
        if (bytes)
            p->put(bytes, i);
        double start = now();
        p->fence(bytes);
        times[i] = now() - start;
    }
    qsort(times, (size_t)rounds, sizeof(*times), order);
    p->end();
    if (me.rank == 0)
        printf("%.1f\n", times[rounds / 2]);
    return 0;
}
