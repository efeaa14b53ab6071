/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix-probe.c - a PMIx client without MPI, run as ranks by the tests of mppmi */
#include <dirent.h>
#include <fcntl.h>
#include <pmix.h>
#include <pmix_tool.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/patience.h"

static pmix_proc_t me, all;
static uint32_t size;

static int fail(const char *what, pmix_status_t rc)
{
    printf("%s: %s\n", what, PMIx_Error_string(rc));
    return 1;
}

static pmix_status_t put(const char *key, int bytes, unsigned seed)
{
    pmix_value_t v;
    char *data = malloc((size_t)bytes);
    for (int i = 0; i < bytes; i++) /* does not compress */
        data[i] = (char)((seed = seed * 1103515245 + 12345) >> 16);
    PMIX_VALUE_CONSTRUCT(&v);
    v.type = PMIX_BYTE_OBJECT;
    v.data.bo.bytes = data;
    v.data.bo.size = (size_t)bytes;
    pmix_status_t rc = PMIx_Put(PMIX_GLOBAL, key, &v);
    free(data);
    return rc == PMIX_SUCCESS ? PMIx_Commit() : rc;
}

/* Bytes that a rank put under a key, -1 when they cannot be had. */
static long got(uint32_t rank, const char *key)
{
    pmix_proc_t whose;
    pmix_value_t *v = NULL;
    PMIX_LOAD_PROCID(&whose, me.nspace, rank);
    if (PMIx_Get(&whose, key, NULL, 0, &v) != PMIX_SUCCESS)
        return -1;
    long n = v->type == PMIX_BYTE_OBJECT ? (long)v->data.bo.size : -1;
    PMIX_VALUE_RELEASE(v);
    return n;
}

static pmix_status_t fence(int collect, int seconds)
{
    pmix_info_t info[2];
    size_t n = 0;
    bool yes = true;
    if (collect)
        PMIX_INFO_LOAD(&info[n++], PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    if (seconds)
        PMIX_INFO_LOAD(&info[n++], PMIX_TIMEOUT, &seconds, PMIX_INT);
    return PMIx_Fence(&all, 1, info, n);
}

/* Every rank's value reaches every rank, time and again. */
static int fences(int times, int bytes)
{
    pmix_status_t rc = PMIX_SUCCESS;
    for (int i = 0; i < times && rc == PMIX_SUCCESS; i++)
        if ((rc = put("probe", bytes, (int)me.rank * 1000 + i)) == PMIX_SUCCESS)
            rc = fence(1, 0);
    if (rc != PMIX_SUCCESS)
        return fail("fence", rc);
    for (uint32_t r = 0; r < size; r++)
        if (got(r, "probe") != bytes)
            return fail("get", PMIX_ERR_NOT_FOUND);
    printf("fences ok\n");
    return 0;
}

/* Fences without data, then the last rank's value is fetched from where it is. */
/* Asks one rank, 0: the last one, for its data. */
static int modex(int bytes, int rank)
{
    pmix_status_t rc = put("probe", bytes, (int)me.rank);
    if (rc == PMIX_SUCCESS)
        rc = fence(0, 0);
    if (rc != PMIX_SUCCESS)
        return fail("fence", rc);
    printf("got %ld\n", got(rank ? (uint32_t)rank : size - 1, "probe"));
    fence(0, 0); /* the rank that is asked stays as long */
    return 0;
}

/* The last rank never comes to the fence, and has to be killed: the others are told after a second,
 * and leave without another word to the server. */
static int timeout(void)
{
    if (me.rank == size - 1) {
        for (;;)
            pause();
    }
    printf("fence: %s\n", PMIx_Error_string(fence(0, 1)));
    fflush(stdout);
    _exit(0);
}

static int connect_all(void)
{
    pmix_status_t rc = PMIx_Connect(&all, 1, NULL, 0);
    printf("connect: %s\n", PMIx_Error_string(rc));
    rc = PMIx_Disconnect(&all, 1, NULL, 0);
    printf("disconnect: %s\n", PMIx_Error_string(rc));
    return 0;
}

/* The last rank looks up and waits, before the first one has published. */
static int lookup(void)
{
    pmix_pdata_t found;
    pmix_info_t info[2];
    bool yes = true;
    int seconds = (int)patience(20);
    pmix_status_t rc;
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    if (me.rank == size - 1) {
        PMIX_PDATA_CONSTRUCT(&found);
        PMIX_LOAD_KEY(found.key, "probe-name");
        rc = PMIx_Lookup(&found, 1, info, 2);
        printf("lookup: %s %s\n", PMIx_Error_string(rc),
               rc == PMIX_SUCCESS ? found.value.data.string : "");
        return 0;
    }
    PMIX_INFO_LOAD(&info[0], "probe-name", "a value", PMIX_STRING);
    rc = PMIx_Publish(info, 1);
    printf("publish: %s\n", PMIx_Error_string(rc));
    rc = PMIx_Publish(info, 1);
    printf("again: %s\n", PMIx_Error_string(rc));
    return 0;
}

static int publish_much(int bytes)
{
    pmix_info_t info;
    char *text = malloc((size_t)bytes + 1);
    memset(text, 'x', (size_t)bytes);
    text[bytes] = 0;
    PMIX_INFO_LOAD(&info, "much", text, PMIX_STRING);
    free(text);
    return PMIx_Publish(&info, 1);
}

/* A rank tells another that it has come so far. */
static void say(const char *name)
{
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, name, "", PMIX_STRING);
    PMIx_Publish(&info, 1);
}

/* The namespace of the rank that publishes a name, once it does. */
static pmix_status_t nspace_of(const char *name, pmix_nspace_t ret)
{
    pmix_pdata_t found;
    pmix_info_t wait;
    bool yes = true;
    PMIX_PDATA_CONSTRUCT(&found);
    PMIX_LOAD_KEY(found.key, name);
    PMIX_INFO_LOAD(&wait, PMIX_WAIT, &yes, PMIX_BOOL);
    pmix_status_t rc = PMIx_Lookup(&found, 1, &wait, 1);
    PMIX_LOAD_NSPACE(ret, found.proc.nspace);
    PMIX_PDATA_DESTRUCT(&found);
    return rc;
}

static pmix_status_t await(const char *name)
{
    pmix_nspace_t publisher;
    return nspace_of(name, publisher);
}

/* What is found under a name, or two with a comma, now or (waits) once it is there. */
static void look_up(char *names, bool waits)
{
    pmix_pdata_t found[2];
    pmix_info_t wait;
    size_t n = 0;
    printf("%s:", names);
    for (char *name = strtok(names, ","); name && n < 2; name = strtok(NULL, ","), n++) {
        PMIX_PDATA_CONSTRUCT(&found[n]);
        PMIX_LOAD_KEY(found[n].key, name);
    }
    PMIX_INFO_LOAD(&wait, PMIX_WAIT, &waits, PMIX_BOOL);
    pmix_status_t rc = PMIx_Lookup(found, n, &wait, waits);
    printf(" %s", PMIx_Error_string(rc));
    for (size_t i = 0; i < n && rc == PMIX_SUCCESS; i++)
        printf(" %s", found[i].value.data.string);
    printf("\n");
    for (size_t i = 0; i < n; i++)
        PMIX_PDATA_DESTRUCT(&found[i]);
}

/* One after the other: +NAME=VALUE publishes, ?NAME looks it up, @NAME waits for it, /FILE makes a
 * file, and ^FILE waits for one. */
static int play_names(char **words)
{
    for (; *words; words++) {
        char *value = strchr(*words, '=');
        pmix_info_t info;
        if (value)
            *value++ = 0;
        if (**words == '+') {
            PMIX_INFO_LOAD(&info, *words + 1, value, PMIX_STRING);
            PMIx_Publish(&info, 1);
        } else if (**words == '/') {
            close(open(*words + 1, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        } else if (**words == '^') {
            while (access(*words + 1, F_OK) < 0)
                usleep(1000);
        } else {
            look_up(*words + 1, **words == '@');
        }
    }
    return 0;
}

static int count_descriptors(pid_t pid)
{
    char path[40];
    int n = 0;
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *d = opendir(path);
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* A field of /proc/PID/FILE, from 1; -1: there is none. */
static long number_of(pid_t pid, const char *file, int field)
{
    char path[40], text[1024] = "", *at = text;
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    FILE *f = fopen(path, "re");
    if (!f || !fgets(text, sizeof(text), f))
        field = 0;
    if (f)
        fclose(f);
    while (field > 1 && (at = strchr(at, ' '))) {
        at++;
        field--;
    }
    return field == 1 && at ? strtol(at, NULL, 10) : -1;
}

/* Pages of memory of the process above this one, or of that above by so many. */
static long pages_above(int levels)
{
    pid_t pid = getppid();
    while (levels-- > 0)
        pid = (pid_t)number_of(pid, "stat", 4);
    return number_of(pid, "statm", 2);
}

/* Connects with a world on another host, whose ranks end without having connected; or gets data
 * that they never put. */
static int wait_in_vain(char *own, const char *host, bool gets)
{
    pmix_app_t app;
    pmix_info_t where;
    pmix_proc_t both[2] = {all};
    pmix_nspace_t child;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(own);
    pmix_argv_append_nosize(&app.argv, own);
    pmix_argv_append_nosize(&app.argv, gets ? "linger" : "init");
    app.maxprocs = 1;
    PMIX_INFO_LOAD(&where, PMIX_HOST, host, PMIX_STRING);
    pmix_status_t rc = PMIx_Spawn(&where, 1, &app, 1, child);
    PMIX_APP_DESTRUCT(&app);
    if (rc != PMIX_SUCCESS)
        return fail("spawn", rc);
    PMIX_LOAD_PROCID(&both[1], child, gets ? 0 : PMIX_RANK_WILDCARD);
    pmix_value_t *v;
    rc = gets ? PMIx_Get(&both[1], "nothing", NULL, 0, &v) : PMIx_Connect(both, 2, NULL, 0);
    printf("%s: %s\n", gets ? "get" : "connect", PMIx_Error_string(rc));
    return 0;
}

/* Starts worlds of n ranks that do nothing, one after the other: the next when the last has ended.
 */
static int spawn(int times, int n)
{
    int before = 0;
    long worker = 0, mprun = 0; /* the keeper is between them */
    char here[4096] = "", key[40];
    if (readlink("/proc/self/exe", here, sizeof(here) - 1) < 0)
        return 1;
    for (int i = 0; i < times; i++) {
        pmix_app_t app;
        pmix_nspace_t child;
        snprintf(key, sizeof(key), "spawned-%d", i + 1);
        PMIX_APP_CONSTRUCT(&app);
        app.cmd = strdup(here);
        pmix_argv_append_nosize(&app.argv, here);
        pmix_argv_append_nosize(&app.argv, "spawned");
        app.maxprocs = n;
        pmix_status_t rc = PMIx_Spawn(NULL, 0, &app, 1, child);
        PMIX_APP_DESTRUCT(&app);
        if (rc != PMIX_SUCCESS)
            return fail("spawn", rc);
        if ((rc = await(key)) != PMIX_SUCCESS)
            return fail("lookup", rc);
        if (i == 2)
            before = count_descriptors(getppid());
        if (i == times / 4) {
            worker = pages_above(0);
            mprun = pages_above(2);
        }
    }
    printf("spawned %d times descriptors %d then %d pages %ld then %ld mprun %ld then %ld cgroups ",
           times, before, count_descriptors(getppid()), worker, pages_above(0), mprun,
           pages_above(2));
    fflush(stdout);
    return system("find /sys/fs/cgroup -type d -path \"*$MPRUN_STEP_ID*\" | wc -l") != 0;
}

/* Rank 0 of a spawned world says that it is there: under the number of its world, which may have
 * ended before anybody looks. */
static int spawned(void)
{
    char key[40];
    pmix_info_t info[2];
    pmix_persistence_t session = PMIX_PERSIST_SESSION;
    snprintf(key, sizeof(key), "spawned-%s", getenv("MPRUN_WORLD"));
    PMIX_INFO_LOAD(&info[0], PMIX_PERSISTENCE, &session, PMIX_PERSIST);
    PMIX_INFO_LOAD(&info[1], key, "here", PMIX_STRING);
    return me.rank == 0 && PMIx_Publish(info, 2) != PMIX_SUCCESS;
}

/* What one key is answered with. */
static void ask(const char *key, const char *nspace)
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
    printf("%s: %s", key, PMIx_Error_string(PMIx_Query_info(&q, 1, &results, &n)));
    for (size_t i = 0; i < n; i++) {
        if (results[i].value.type == PMIX_UINT32)
            printf(" %u", results[i].value.data.uint32);
        else if (results[i].value.type == PMIX_STRING)
            printf(" %s", strcmp(results[i].value.data.string, me.nspace) ? "text" : "own");
    }
    printf("\n");
}

static int query(void)
{
    ask("probe.unknown", NULL);
    ask(PMIX_QUERY_NAMESPACES, NULL);
    ask(PMIX_JOB_SIZE, NULL);
    ask(PMIX_NUM_NODES, me.nspace);
    ask(PMIX_JOB_SIZE, "of nobody");
    return 0;
}

static void print_string(const pmix_proc_t *of, const char *key)
{
    pmix_value_t *v = NULL;
    if (PMIx_Get(of, key, NULL, 0, &v) != PMIX_SUCCESS) {
        printf("%s none\n", key);
        return;
    }
    char *text = PMIx_Value_string(v);
    printf("%s %s\n", key, text);
    free(text);
    PMIX_VALUE_RELEASE(v);
}

/* The directory of the rank is in that of its world: both are there, and ours. */
static void print_directories(void)
{
    pmix_value_t *world = NULL, *own = NULL;
    if (PMIx_Get(&all, PMIX_NSDIR, NULL, 0, &world) != PMIX_SUCCESS ||
        PMIx_Get(&me, PMIX_PROCDIR, NULL, 0, &own) != PMIX_SUCCESS)
        return;
    size_t n = strlen(world->data.string);
    printf("directory %u %s\n", me.rank,
           !strncmp(own->data.string, world->data.string, n) && own->data.string[n] == '/' &&
                   access(own->data.string, W_OK) == 0
               ? own->data.string + n + 1
               : "wrong");
}

static int keys(void)
{
    static const char *const names[] = {PMIX_LOCAL_RANK, PMIX_HOSTNAME, PMIX_CPUSET,
                                        PMIX_LOCALITY_STRING, PMIX_APPNUM};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        print_string(&me, names[i]);
    print_string(&all, PMIX_LOCAL_PEERS);
    print_string(&all, PMIX_NUM_NODES);
    print_string(&all, PMIX_NSDIR);
    print_directories();
    return 0;
}

static void print_number(const pmix_proc_t *of, const char *key)
{
    pmix_value_t *v = NULL;
    long n = -1;
    if (PMIx_Get(of, key, NULL, 0, &v) != PMIX_SUCCESS) {
        printf(" none");
        return;
    }
    PMIX_VALUE_GET_NUMBER(n, v, n, long);
    printf(" %ld", n);
    PMIX_VALUE_RELEASE(v);
}

/* Where all ranks are, as this one sees it: "R HOST local L app-rank A" each, and the hosts
 * with their ranks out of the maps of nodes and processes. */
static int map(void)
{
    pmix_value_t *v = NULL;
    char *nodes = NULL, *save = NULL;
    if (PMIx_Get(&all, PMIX_LOCAL_PEERS, NULL, 0, &v) == PMIX_SUCCESS) {
        printf("peers %s leader", v->data.string);
        PMIX_VALUE_RELEASE(v);
    }
    print_number(&all, PMIX_LOCALLDR);
    printf("\n");
    for (uint32_t rank = 0; rank < size; rank++) {
        pmix_proc_t of;
        PMIX_LOAD_PROCID(&of, me.nspace, rank);
        if (PMIx_Get(&of, PMIX_HOSTNAME, NULL, 0, &v) != PMIX_SUCCESS)
            return 1;
        printf("%u %s local", rank, v->data.string);
        PMIX_VALUE_RELEASE(v);
        print_number(&of, PMIX_LOCAL_RANK);
        printf(" app-rank");
        print_number(&of, PMIX_APP_RANK);
        printf("\n");
    }
    if (PMIx_Resolve_nodes(me.nspace, &nodes) != PMIX_SUCCESS)
        return 1;
    for (char *node = strtok_r(nodes, ",", &save); node; node = strtok_r(NULL, ",", &save)) {
        pmix_proc_t *procs = NULL;
        size_t n = 0;
        if (PMIx_Resolve_peers(node, me.nspace, &procs, &n) != PMIX_SUCCESS)
            return 1;
        printf("%s:", node);
        for (size_t i = 0; i < n; i++)
            printf(" %u", procs[i].rank);
        printf("\n");
        PMIX_PROC_FREE(procs, n);
    }
    free(nodes);
    return 0;
}

/* ---- events and groups ----------------------------------------------------------------------- */

enum { EVENT = PMIX_EXTERNAL_ERR_BASE - 7 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int nheard, registered_as = -1;
static char heard[256];

static void event_came(size_t id, pmix_status_t status, const pmix_proc_t *source,
                       pmix_info_t info[], size_t ninfo, pmix_info_t results[], size_t nresults,
                       pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], "probe.text"))
            snprintf(heard, sizeof(heard), "%u says %s", source->rank, info[i].value.data.string);
    nheard++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void registered(pmix_status_t status, size_t id, void *cbdata)
{
    pthread_mutex_lock(&lock);
    registered_as = status == PMIX_SUCCESS ? (int)id : -2;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* A handler for an event. */
static int listen_for(pmix_status_t code)
{
    registered_as = -1;
    PMIx_Register_event_handler(&code, 1, NULL, 0, event_came, registered, NULL);
    pthread_mutex_lock(&lock);
    while (registered_as == -1)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return registered_as;
}

static void await_events(int n)
{
    pthread_mutex_lock(&lock);
    while (nheard < n)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static pmix_status_t notify(const char *text, pmix_data_range_t range)
{
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, "probe.text", text, PMIX_STRING);
    return PMIx_Notify_event(EVENT, &me, range, &info, 1, NULL, NULL);
}

/* The last rank says three things: to its host, to all, and to those that come late. The one on its
 * host alone has come by then where it comes at all. */
static int events(void)
{
    int is_last = me.rank == size - 1, id = -1;
    if (!is_last && (id = listen_for(EVENT)) < 0)
        return fail("register", PMIX_ERROR);
    fence(0, 0);
    if (is_last)
        printf("local: %s\n", PMIx_Error_string(notify("local", PMIX_RANGE_LOCAL)));
    if (is_last)
        printf("all: %s\n", PMIx_Error_string(notify("all", PMIX_RANGE_SESSION)));
    if (!is_last) {
        pmix_value_t *own = NULL, *others = NULL;
        pmix_proc_t last;
        PMIX_LOAD_PROCID(&last, me.nspace, size - 1);
        if (PMIx_Get(&me, PMIX_HOSTNAME, NULL, 0, &own) != PMIX_SUCCESS ||
            PMIx_Get(&last, PMIX_HOSTNAME, NULL, 0, &others) != PMIX_SUCCESS)
            return fail("get host", PMIX_ERROR);
        int here = !strcmp(own->data.string, others->data.string);
        await_events(here ? 2 : 1);
        printf("%s heard %d: %s\n", here ? "here" : "elsewhere", nheard, heard);
        PMIx_Deregister_event_handler((size_t)id, NULL, NULL);
    }
    fence(0, 0);
    if (is_last)
        notify("late", PMIX_RANGE_SESSION);
    fence(0, 0);
    if (me.rank == 0) { /* on another host than the last one, where the event was kept */
        nheard = 0;
        listen_for(EVENT);
        await_events(1);
        printf("kept: %s\n", heard);
    }
    fence(0, 0);
    return 0;
}

/* ---- two steps of a job ---------------------------------------------------------------------- */

/* The sum of the bytes that the ranks of a world have put. */
static long bytes_of_all(const char *nspace, uint32_t n)
{
    long sum = 0;
    for (uint32_t rank = 0; rank < n; rank++) {
        pmix_proc_t of;
        pmix_value_t *v = NULL;
        PMIX_LOAD_PROCID(&of, nspace, rank);
        if (PMIx_Get(&of, "probe", NULL, 0, &v) == PMIX_SUCCESS)
            sum += (long)v->data.bo.size;
        if (v)
            PMIX_VALUE_RELEASE(v);
    }
    return sum;
}

static uint32_t size_of(const pmix_proc_t *world)
{
    pmix_value_t *v = NULL;
    uint32_t n = 0;
    if (PMIx_Get(world, PMIX_JOB_SIZE, NULL, 0, &v) == PMIX_SUCCESS) {
        n = v->data.uint32;
        PMIX_VALUE_RELEASE(v);
    }
    return n;
}

/* In a fence to which the others do not come, as they are killed. */
static void be_left(const pmix_proc_t *both)
{
    nheard = 0;
    listen_for(PMIX_EVENT_JOB_END);
    if (me.rank == 0)
        say("waiting");
    printf("left: %s\n", PMIx_Error_string(PMIx_Fence(both, 2, NULL, 0)));
    await_events(1);
    printf("heard\n");
    printf("again: %s\n", PMIx_Error_string(PMIx_Connect(both, 2, NULL, 0)));
}

/* Publishes `own`, and connects with the step that publishes `other`. then: "part", "be-left",
 * "hang". bytes: of what each rank puts. */
static int meet(const char *own, const char *other, const char *then, int bytes)
{
    pmix_proc_t both[2] = {all};
    pmix_info_t info, *results = NULL;
    bool yes = true;
    size_t n = 0;
    pmix_status_t rc = put("probe", bytes, me.rank);
    if (rc == PMIX_SUCCESS && me.rank == 0) {
        PMIX_INFO_LOAD(&info, own, "here", PMIX_STRING);
        rc = PMIx_Publish(&info, 1);
    }
    both[1].rank = PMIX_RANK_WILDCARD;
    if (rc == PMIX_SUCCESS)
        rc = nspace_of(other, both[1].nspace);
    if (rc != PMIX_SUCCESS)
        return fail("look up", rc);
    size_of(&both[1]); /* an error at once, unless another rank is connected: not the end of it */
    /* libpmix 4.2 never completes a connect that a rank of the host begins in the meantime */
    fence(0, 0);
    rc = PMIx_Connect(both, 2, NULL, 0);
    printf("connect: %s\n", PMIx_Error_string(rc));
    uint32_t theirs = size_of(&both[1]);
    printf("%u ranks with %ld bytes\n", theirs, bytes_of_all(both[1].nspace, theirs));
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    for (int i = 0; i < 3; i++)
        printf("fence: %s\n", PMIx_Error_string(PMIx_Fence(both, 2, &info, 1)));
    rc = PMIx_Group_construct("both", both, 2, NULL, 0, &results, &n);
    printf("group: %s\n", PMIx_Error_string(rc));
    while (!strcmp(then, "hang"))
        pause();
    if (!strcmp(then, "be-left"))
        be_left(both);
    else
        printf("disconnect: %s\n", PMIx_Error_string(PMIx_Disconnect(both, 2, NULL, 0)));
    return 0;
}

/* Of two ranks the second has its heart monitored, which does not beat; the first hears of it. */
static int monitor(void)
{
    pmix_info_t what, how[2], *results = NULL;
    size_t n = 0;
    uint32_t seconds = 1, drops = 1;
    if (me.rank == 0 && listen_for(PMIX_MONITOR_HEARTBEAT_ALERT) < 0)
        return fail("register", PMIX_ERROR);
    fence(0, 0);
    if (me.rank == 0) {
        await_events(1);
        printf("alert\n");
        say("alerted");
        return 0;
    }
    PMIX_INFO_LOAD(&what, PMIX_MONITOR_HEARTBEAT, NULL, PMIX_POINTER);
    PMIX_INFO_LOAD(&how[0], PMIX_MONITOR_HEARTBEAT_TIME, &seconds, PMIX_UINT32);
    PMIX_INFO_LOAD(&how[1], PMIX_MONITOR_HEARTBEAT_DROPS, &drops, PMIX_UINT32);
    printf("monitor: %s\n", PMIx_Error_string(PMIx_Process_monitor(
                                &what, PMIX_MONITOR_HEARTBEAT_ALERT, how, 2, &results, &n)));
    await("alerted");
    return 0;
}

/* All make a group with a number, its halves others without; then they end them. */
static int group(void)
{
    pmix_info_t info, *results = NULL;
    size_t n = 0, id = 0;
    bool yes = true;
    PMIX_INFO_LOAD(&info, PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
    for (int turn = 0; turn < 2; turn++) {
        pmix_status_t rc = PMIx_Group_construct("probe", &all, 1, &info, 1, &results, &n);
        for (size_t i = 0; i < n; i++)
            if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_CONTEXT_ID))
                id = results[i].value.data.size;
        printf("construct: %s %zu\n", PMIx_Error_string(rc), id);
        rc = PMIx_Group_destruct("probe", NULL, 0);
        printf("destruct: %s\n", PMIx_Error_string(rc));
    }
    pmix_proc_t *odd_or_even = calloc(size, sizeof(*odd_or_even));
    char name[] = "half-0";
    size_t members = 0;
    name[5] = (char)('0' + me.rank % 2);
    for (uint32_t r = me.rank % 2; r < size; r += 2) {
        PMIX_LOAD_PROCID(&odd_or_even[members], me.nspace, r);
        members++;
    }
    pmix_status_t rc = PMIx_Group_construct(name, odd_or_even, members, NULL, 0, &results, &n);
    printf("%s: %s\n", name, PMIx_Error_string(rc));
    rc = PMIx_Group_destruct(name, NULL, 0);
    printf("%s: %s\n", name, PMIx_Error_string(rc));
    free(odd_or_even);
    return 0;
}

static volatile int pushed;

static void input_pushed(pmix_status_t status, void *cbdata)
{
    pushed = status;
}

/* With a text that is none. variable: as an MPI sets one; NULL: none. */
static pmix_status_t spawn_one(const char *program, const char *argument, const char *variable)
{
    pmix_app_t app;
    pmix_info_t info;
    pmix_nspace_t child;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(program);
    pmix_argv_append_nosize(&app.argv, program);
    pmix_argv_append_nosize(&app.argv, argument);
    app.maxprocs = 1;
    if (variable)
        pmix_argv_append_nosize(&app.env, variable);
    PMIX_INFO_LOAD(&info, PMIX_PERSONALITY, NULL, PMIX_STRING);
    pmix_status_t rc = PMIx_Spawn(&info, 1, &app, 1, child);
    PMIX_APP_DESTRUCT(&app);
    return rc;
}

/* What mppmi does not do is an error at once. */
static int refused(void)
{
    pmix_info_t info, *results = NULL;
    size_t n = 0;
    uint64_t nodes = 4;
    PMIX_INFO_LOAD(&info, PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64);
    pmix_byte_object_t bytes = {.bytes = (char[]){"x"}, .size = 1};
    printf("allocation: %s\n",
           PMIx_Error_string(PMIx_Allocation_request(PMIX_ALLOC_NEW, &info, 1, &results, &n)));
    printf("output: %s\n", PMIx_Error_string(PMIx_IOF_pull(&all, 1, NULL, 0, PMIX_FWD_ALL_CHANNELS,
                                                           NULL, NULL, NULL)));
    pushed = 0;
    PMIx_IOF_push(&all, 1, &bytes, NULL, 0, input_pushed, NULL);
    while (!pushed)
        usleep(1000);
    printf("input: %s\n", PMIx_Error_string((pmix_status_t)pushed));
    printf("credential: %s\n", PMIx_Error_string(PMIx_Get_credential(NULL, 0, &bytes)));
    query();
    fence(0, 0); /* the namespaces are as they were */
    printf("spawn: %s\n", PMIx_Error_string(spawn_one("./nothing", "", "OMPI_PARENT_PORT=1.0:2")));
    return 0;
}

/* ---- one rank does something to others ------------------------------------------------------- */

static pmix_status_t order(const char *nspace, uint32_t rank, const char *what, int signo)
{
    pmix_proc_t target;
    pmix_info_t info, *results = NULL;
    size_t n = 0;
    bool yes = true;
    PMIX_LOAD_PROCID(&target, nspace, rank);
    if (signo)
        PMIX_INFO_LOAD(&info, what, &signo, PMIX_INT);
    else
        PMIX_INFO_LOAD(&info, what, &yes, PMIX_BOOL);
    return PMIx_Job_control(&target, 1, &info, 1, &results, &n);
}

static char state_of(long pid)
{
    char path[40], state = '?';
    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%*d %*s %c", &state) != 1)
        state = '?';
    if (f)
        fclose(f);
    return state;
}

static int is_signalled;

static void on_signal(int signo)
{
    is_signalled = signo;
}

/* Four ranks: 0 signals 3, stops and continues 1, ends 2, and 3 with the rest of its world. */
static int control(long pid_of_1)
{
    sigset_t usr1, before;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    signal(SIGUSR1, on_signal);
    sigprocmask(SIG_BLOCK, &usr1, &before);
    fence(0, 0);
    if (me.rank == 3) {
        while (!is_signalled)
            sigsuspend(&before);
        printf("signal %d\n", is_signalled == SIGUSR1);
        say("signalled");
    }
    if (me.rank != 0)
        for (;;)
            pause();
    printf("nobody: %s\n", PMIx_Error_string(order(me.nspace, 4, PMIX_JOB_CTRL_KILL, 0)));
    printf("no world: %s\n", PMIx_Error_string(order("none", 0, PMIX_JOB_CTRL_KILL, 0)));
    printf("checkpoint: %s\n", PMIx_Error_string(order(me.nspace, 1, PMIX_JOB_CTRL_CHECKPOINT, 0)));
    printf("preemptible: %s\n",
           PMIx_Error_string(order(me.nspace, 0, PMIX_JOB_CTRL_PREEMPTIBLE, 0)));
    printf("signal 999: %s\n", PMIx_Error_string(order(me.nspace, 1, PMIX_JOB_CTRL_SIGNAL, 999)));
    if (order(me.nspace, 3, PMIX_JOB_CTRL_SIGNAL, SIGUSR1) != PMIX_SUCCESS ||
        order(me.nspace, 1, PMIX_JOB_CTRL_PAUSE, 0) != PMIX_SUCCESS)
        return 1;
    while (state_of(pid_of_1) != 'T')
        usleep(1000);
    order(me.nspace, 1, PMIX_JOB_CTRL_RESUME, 0);
    while (state_of(pid_of_1) == 'T')
        usleep(1000);
    printf("stopped and continued\n");
    await("signalled");
    return 0;
}

static int order_all(void)
{
    char key[] = "pid";
    pmix_value_t *v = NULL, own = {.type = PMIX_INT64, .data.int64 = getpid()};
    pmix_proc_t one;
    PMIx_Put(PMIX_GLOBAL, key, &own);
    PMIx_Commit();
    fence(1, 0);
    PMIX_LOAD_PROCID(&one, me.nspace, 1);
    if (PMIx_Get(&one, key, NULL, 0, &v) != PMIX_SUCCESS)
        return fail("get", PMIX_ERR_NOT_FOUND);
    int code = control((long)v->data.int64);
    printf("kill: %s\n", PMIx_Error_string(order(me.nspace, 2, PMIX_JOB_CTRL_KILL, 0)));
    fflush(stdout);
    order(me.nspace, PMIX_RANK_WILDCARD, PMIX_JOB_CTRL_TERMINATE, 0);
    for (;;)
        pause();
    return code;
}

/* Rank 0 aborts the last one; the others end by themselves. */
static int abort_last(void)
{
    pmix_proc_t last;
    PMIX_LOAD_PROCID(&last, me.nspace, size - 1);
    fence(0, 0);
    while (me.rank == size - 1)
        pause();
    if (me.rank == 0)
        printf("abort: %s\n", PMIx_Error_string(PMIx_Abort(3, "a text", &last, 1)));
    return 0;
}

/* The processes that a table has: NULL when there is none. The caller frees the results. */
static pmix_proc_info_t *processes(const char *key, size_t *ret_n, pmix_info_t **results)
{
    pmix_query_t q;
    size_t n = 0;
    char *keys[] = {(char *)(uintptr_t)key, NULL};
    PMIX_QUERY_CONSTRUCT(&q);
    q.keys = keys;
    *results = NULL;
    if (PMIx_Query_info(&q, 1, results, &n) != PMIX_SUCCESS || n != 1 ||
        (*results)[0].value.type != PMIX_DATA_ARRAY)
        return NULL;
    *ret_n = (*results)[0].value.data.darray->size;
    return (*results)[0].value.data.darray->array;
}

static void print_processes(const char *key)
{
    pmix_info_t *results;
    size_t n = 0, running = 0, named = 0, own = 0;
    pmix_proc_info_t *p = processes(key, &n, &results);
    for (size_t i = 0; p && i < n; i++) {
        running += p[i].state == PMIX_PROC_STATE_RUNNING && p[i].pid > 1;
        named += p[i].hostname && p[i].executable_name && strstr(p[i].executable_name, "probe");
        own += PMIX_CHECK_PROCID(&p[i].proc, &me) && p[i].pid == getpid();
    }
    printf("%s: %zu, %zu running, %zu with names, %zu is me\n", key, n, running, named, own);
}

/* The last rank is killed, and has the state for it then. */
/* Those that share the host, by the name that programs know it by. */
static int peers(void)
{
    char host[256] = "";
    pmix_proc_t *procs;
    size_t n = 0;
    gethostname(host, sizeof(host) - 1);
    pmix_status_t rc = PMIx_Resolve_peers(host, me.nspace, &procs, &n);
    if (rc != PMIX_SUCCESS)
        return fail("peers", rc);
    printf("rank %u has %zu from %u on\n", me.rank, n, procs[0].rank);
    return 0;
}

static int table(void)
{
    fence(0, 0);
    print_processes(PMIX_QUERY_PROC_TABLE);
    print_processes(PMIX_QUERY_LOCAL_PROC_TABLE);
    fence(0, 0);
    while (me.rank == size - 1)
        pause();
    if (me.rank)
        return 0;
    order(me.nspace, size - 1, PMIX_JOB_CTRL_KILL, 0);
    for (pmix_proc_state_t last = PMIX_PROC_STATE_RUNNING; last == PMIX_PROC_STATE_RUNNING;) {
        pmix_info_t *results;
        size_t n = 0;
        pmix_proc_info_t *p = processes(PMIX_QUERY_PROC_TABLE, &n, &results);
        last = p && n == size ? p[n - 1].state : PMIX_PROC_STATE_UNDEF;
        if (last == PMIX_PROC_STATE_KILLED_BY_CMD)
            printf("killed\n");
        PMIX_INFO_FREE(results, 1);
    }
    return 0;
}

static void write_log(const char *name, const char *key, const char *text)
{
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, key, text, PMIX_STRING);
    pmix_status_t rc = PMIx_Log(&info, 1, NULL, 0);
    printf("%s: %s\n", name, PMIx_Error_string(rc));
}

static int log_texts(void)
{
    write_log("stderr", PMIX_LOG_STDERR, "an error\n");
    write_log("stdout", PMIX_LOG_STDOUT, "a result\n");
    write_log("email", PMIX_LOG_EMAIL, "a letter");
    return 0;
}

static int run(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int a = argc > 2 ? atoi(argv[2]) : 0, b = argc > 3 ? atoi(argv[3]) : 0;
    if (!strcmp(what, "fences"))
        return fences(a, b);
    if (!strcmp(what, "modex"))
        return modex(a, b);
    if (!strcmp(what, "timeout"))
        return timeout();
    if (!strcmp(what, "connect"))
        return connect_all();
    if (!strcmp(what, "connect-in-vain"))
        return wait_in_vain(argv[0], argv[2], false);
    if (!strcmp(what, "get-in-vain"))
        return wait_in_vain(argv[0], argv[2], true);
    if (!strcmp(what, "spawn-program"))
        return spawn_one(argv[2], argv[3], argv[4]);
    if (!strcmp(what, "linger"))
        return (int)sleep(1);
    if (!strcmp(what, "lookup"))
        return lookup();
    if (!strcmp(what, "publish-much"))
        return publish_much(a);
    if (!strcmp(what, "query"))
        return query();
    if (!strcmp(what, "keys"))
        return keys();
    if (!strcmp(what, "map"))
        return map();
    if (!strcmp(what, "events"))
        return events();
    if (!strcmp(what, "monitor"))
        return monitor();
    if (!strcmp(what, "group"))
        return group();
    if (!strcmp(what, "refused"))
        return refused();
    if (!strcmp(what, "meet"))
        return meet(argv[2], argv[3], argv[4], argc > 5 ? atoi(argv[5]) : 100);
    if (!strcmp(what, "names"))
        return play_names(argv + 2);
    if (!strcmp(what, "control"))
        return order_all();
    if (!strcmp(what, "peers"))
        return peers();
    if (!strcmp(what, "table"))
        return table();
    if (!strcmp(what, "abort-last"))
        return abort_last();
    if (!strcmp(what, "log"))
        return log_texts();
    if (!strcmp(what, "spawn"))
        return spawn(a, b);
    if (!strcmp(what, "spawned"))
        return spawned();
    if (!strcmp(what, "init"))
        return 0;
    fprintf(stderr, "usage: pmix-probe COMMAND [NUMBER]...\n");
    return 2;
}

/* The client library frees little at the end: not what a build with sanitizers looks for. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

int main(int argc, char **argv)
{
    pmix_value_t *v = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    pmix_status_t rc = PMIx_Init(&me, NULL, 0);
    if (rc != PMIX_SUCCESS)
        return fail("init", rc);
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    rc = PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &v);
    if (rc != PMIX_SUCCESS)
        return fail("get size", rc);
    size = v->data.uint32;
    PMIX_VALUE_RELEASE(v);
    int code = run(argc, argv);
    fflush(stdout);
    PMIx_Finalize(NULL, 0);
    return code;
}
