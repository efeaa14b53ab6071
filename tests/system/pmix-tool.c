/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix-tool.c - a PMIx tool that is no rank, for the tests of mppmi
 *
 *     pmix-tool FILE COMMAND...    FILE: where the server says how it is reached; "": the tool
 * looks for the only server itself */
#include <pmix.h>
#include <pmix_tool.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t me;
static volatile int has_last; /* the library's thread has seen the last line */
static pmix_nspace_t step;    /* the namespace of the step's first world */

static int fail(const char *what, pmix_status_t rc)
{
    printf("%s: %s\n", what, PMIx_Error_string(rc));
    return 1;
}

/* The value of one key, which must be an array; NULL: it is not there. */
static pmix_data_array_t *ask(const char *key, const char *nspace)
{
    pmix_query_t q;
    pmix_info_t *results = NULL;
    size_t n = 0;
    char *keys[] = {(char *)(uintptr_t)key, NULL};
    PMIX_QUERY_CONSTRUCT(&q);
    q.keys = keys;
    if (nspace) {
        q.nqual = 1;
        PMIX_INFO_CREATE(q.qualifiers, 1);
        PMIX_INFO_LOAD(&q.qualifiers[0], PMIX_NSPACE, nspace, PMIX_STRING);
    }
    pmix_status_t rc = PMIx_Query_info(&q, 1, &results, &n);
    if (rc == PMIX_SUCCESS && n == 1 && results[0].value.type == PMIX_DATA_ARRAY)
        return results[0].value.data.darray;
    fail(key, rc);
    return NULL;
}

/* The newest world is the first. */
static int namespaces(void)
{
    const pmix_data_array_t *all = ask(PMIX_QUERY_NAMESPACE_INFO, NULL);
    const pmix_info_t *each = all ? all->array : NULL;
    for (size_t i = 0; all && i < all->size; i++) {
        const pmix_info_t *of = each[i].value.data.darray->array;
        PMIX_LOAD_NSPACE(step, of[0].value.data.string);
        printf("namespace of %s\n", of[1].value.data.string);
    }
    return !all;
}

static int table(void)
{
    const pmix_data_array_t *all = ask(PMIX_QUERY_PROC_TABLE, step);
    const pmix_proc_info_t *p = all ? all->array : NULL;
    for (size_t i = 0; all && i < all->size; i++)
        printf("rank %u on %s: %s, %s\n", p[i].proc.rank, p[i].hostname, p[i].executable_name,
               PMIx_Proc_state_string(p[i].state));
    return !all;
}

static void print_figure(const char *key, bool is_local)
{
    pmix_query_t q;
    pmix_info_t *results = NULL;
    size_t n = 0;
    char *keys[] = {(char *)(uintptr_t)key, NULL};
    PMIX_QUERY_CONSTRUCT(&q);
    q.keys = keys;
    q.nqual = 1;
    PMIX_INFO_CREATE(q.qualifiers, 1);
    PMIX_INFO_LOAD(&q.qualifiers[0], PMIX_QUERY_LOCAL_ONLY, &is_local, PMIX_BOOL);
    pmix_status_t rc = PMIx_Query_info(&q, 1, &results, &n);
    const pmix_value_t *v = rc == PMIX_SUCCESS && n == 1 ? &results[0].value : NULL;
    printf("%s %s: ", is_local ? "here" : "all", key);
    if (!v)
        printf("%s\n", PMIx_Error_string(rc));
    else if (v->type == PMIX_DOUBLE)
        printf("%s\n", v->data.dval > 0 ? "some seconds" : "none");
    else if (v->type == PMIX_UINT64)
        printf("%lu\n", (unsigned long)v->data.uint64);
    else if (v->type == PMIX_DATA_ARRAY)
        printf("of %zu hosts\n", v->data.darray->size);
}

static int usage(void)
{
    for (int is_local = 0; is_local < 2; is_local++) {
        print_figure("mprun.usage.cpu", is_local);
        print_figure("mprun.usage.processes", is_local);
        print_figure("mprun.usage.memory", is_local);
        print_figure(PMIX_QUERY_MEMORY_USAGE, is_local);
    }
    return 0;
}

/* Asks PMIX_QUERY_MEMORY_USAGE with these qualifiers, and prints the answer. */
static void print_memory(const char *what, pmix_info_t *qualifiers, size_t nqualifiers)
{
    pmix_query_t q;
    pmix_info_t *results = NULL;
    size_t n = 0;
    char *keys[] = {PMIX_QUERY_MEMORY_USAGE, NULL};
    PMIX_QUERY_CONSTRUCT(&q);
    q.keys = keys;
    q.qualifiers = qualifiers;
    q.nqual = nqualifiers;
    pmix_status_t rc = PMIx_Query_info(&q, 1, &results, &n);
    printf("%s:%s%s", what, rc ? " " : "", rc ? PMIx_Error_string(rc) : "");
    const pmix_data_array_t *all = rc || n != 1 ? NULL : results[0].value.data.darray;
    for (size_t i = 0; all && i < all->size; i++) {
        const pmix_info_t *each = (pmix_info_t *)all->array + i;
        const pmix_info_t *of = each->value.data.darray->array;
        size_t last = each->value.data.darray->size - 1;
        if (PMIX_CHECK_KEY(each, PMIX_PROC_INFO_ARRAY))
            printf(" rank %u", of[1].value.data.rank);
        else
            printf(" a host");
        printf(of[last].value.data.fval >= 100 ? " 100 MB" : " less");
    }
    printf("\n");
}

static int memory(void)
{
    pmix_info_t two[2], one;
    pmix_proc_t proc;
    PMIX_INFO_LOAD(&two[0], PMIX_NSPACE, step, PMIX_STRING);
    for (pmix_rank_t rank = 0; rank < 3; rank++) {
        PMIX_INFO_LOAD(&two[1], PMIX_RANK, &rank, PMIX_PROC_RANK);
        print_memory("namespace and rank", two, 2);
        PMIX_LOAD_PROCID(&proc, step, rank);
        PMIX_INFO_LOAD(&one, PMIX_PROCID, &proc, PMIX_PROC);
        print_memory("process", &one, 1);
    }
    print_memory("namespace", two, 1);
    PMIX_LOAD_PROCID(&proc, "nobody's", 0);
    PMIX_INFO_LOAD(&one, PMIX_PROCID, &proc, PMIX_PROC);
    print_memory("process of nobody", &one, 1);
    return 0;
}

static int order(int signo, pmix_rank_t rank)
{
    pmix_proc_t to;
    pmix_info_t info, *results = NULL;
    size_t n = 0;
    PMIX_LOAD_PROCID(&to, step, rank);
    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_SIGNAL, &signo, PMIX_INT);
    printf("signal: %s\n", PMIx_Error_string(PMIx_Job_control(&to, 1, &info, 1, &results, &n)));
    return 0;
}

static void show_output(size_t id, pmix_iof_channel_t channel, pmix_proc_t *source,
                        pmix_byte_object_t *bytes, pmix_info_t info[], size_t ninfo)
{
    for (size_t at = 0; bytes && at < bytes->size;) { /* the tests' ranks write whole lines */
        const char *line = bytes->bytes + at;
        int n = (int)strcspn(line, "\n");
        printf("%s of %u: %.*s\n", channel == PMIX_FWD_STDOUT_CHANNEL ? "output" : "errors",
               source->rank, n, line);
        at += (size_t)n + 1;
        if (!strncmp(line, "last", 4))
            has_last = 1;
    }
}

static void is_pulled(pmix_status_t status, size_t id, void *cbdata)
{
    printf("pull: %s\n", PMIx_Error_string(status));
}

/* Output of one rank, until it writes "last". */
static int pull(pmix_rank_t rank)
{
    pmix_proc_t from;
    PMIX_LOAD_PROCID(&from, step, rank);
    pmix_status_t rc =
        PMIx_IOF_pull(&from, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL,
                      show_output, is_pulled, NULL);
    if (rc != PMIX_SUCCESS)
        return fail("pull", rc);
    while (!has_last)
        usleep(10000);
    return 0;
}

static volatile int answered;

static void is_pushed(pmix_status_t status, void *cbdata)
{
    printf("%s: %s\n", (const char *)cbdata, PMIx_Error_string(status));
    answered = 1;
}

static void push(pmix_rank_t rank, const char *what, const char *bytes, size_t n)
{
    pmix_proc_t to;
    pmix_byte_object_t object = {.bytes = (char *)(uintptr_t)bytes, .size = n};
    PMIX_LOAD_PROCID(&to, step, rank);
    answered = 0;
    pmix_status_t rc = PMIx_IOF_push(&to, 1, &object, NULL, 0, is_pushed, (void *)(uintptr_t)what);
    if (rc != PMIX_SUCCESS)
        is_pushed(rc, (void *)(uintptr_t)what);
    while (!answered)
        usleep(1000);
}

/* Bytes of its own input, or as many as a word says, to a rank; -1: to all. Then the end. */
static int push_all(int rank, size_t n)
{
    static char bytes[1024 * 1024];
    pmix_rank_t to = rank < 0 ? PMIX_RANK_WILDCARD : (pmix_rank_t)rank;
    if (n == 0)
        n = fread(bytes, 1, sizeof(bytes), stdin);
    push(to, "push", bytes, n);
    push(to, "end", "", 0);
    push(to, "more", "more", 4);
    return 0;
}

static int spawn(int count, char **words)
{
    pmix_app_t app;
    pmix_nspace_t child;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(words[0]);
    for (; *words; words++)
        pmix_argv_append_nosize(&app.argv, *words);
    app.maxprocs = count;
    pmix_status_t rc = PMIx_Spawn(NULL, 0, &app, 1, child);
    if (rc != PMIX_SUCCESS)
        return fail("spawn", rc);
    printf("spawned\n");
    PMIX_LOAD_NSPACE(step, child);
    return table();
}

static int run(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";
    if (namespaces() != 0)
        return 1;
    if (!strcmp(what, "namespaces"))
        return 0;
    if (!strcmp(what, "table"))
        return table();
    if (!strcmp(what, "pull") && argc > 3)
        return pull((pmix_rank_t)atoi(argv[3]));
    if (!strcmp(what, "push") && argc > 3)
        return push_all(atoi(argv[3]), argc > 4 ? strtoul(argv[4], NULL, 10) : 0);
    if (!strcmp(what, "usage"))
        return usage();
    if (!strcmp(what, "memory"))
        return memory();
    if (!strcmp(what, "signal") && argc > 4)
        return order(atoi(argv[3]), (pmix_rank_t)atoi(argv[4]));
    if (!strcmp(what, "spawn") && argc > 4)
        return spawn(atoi(argv[3]), argv + 4);
    fprintf(stderr, "usage: pmix-tool FILE COMMAND...\n");
    return 2;
}

/* The library frees little at the end: not what a build with sanitizers looks for. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

int main(int argc, char **argv)
{
    pmix_info_t info;
    size_t n = argc > 1 && argv[1][0];
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (n)
        PMIX_INFO_LOAD(&info, PMIX_TOOL_ATTACHMENT_FILE, argv[1], PMIX_STRING);
    pmix_status_t rc = PMIx_tool_init(&me, &info, n);
    if (rc != PMIX_SUCCESS)
        return fail("init", rc);
    int code = run(argc, argv);
    PMIx_tool_finalize();
    return code;
}
