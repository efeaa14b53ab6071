/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi2.c - a client of PMI-2 with Slurm's own client library, which MVAPICH2 and MPICH link, too
 *
 *     pmi2 world     each rank puts a value, and reads that of every other one after the fence
 *     pmi2 abort     the last rank aborts
 *     pmi2 spawn     rank 0 starts two programs, which find its port in two ways */
#include <pmi2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int bad(const char *what)
{
    printf("%s failed\n", what);
    return 1;
}

/* 1,000 bytes, which end with what the protocol separates fields by. */
static void value_of(int rank, int round, char *to)
{
    snprintf(to, 1001, "%d;%d=", rank, round);
    size_t n = strlen(to);
    memset(to + n, 'a' + rank % 26, 1000 - n);
    strcpy(to + 997, ";;b");
}

static int exchange(const char *job, int rank, int size, int round)
{
    char key[64], value[1024], wanted[1024];
    int length;
    value_of(rank, round, value);
    snprintf(key, sizeof(key), "key-%d-%d", round, rank);
    if (PMI2_KVS_Put(key, value) != PMI2_SUCCESS || PMI2_KVS_Fence() != PMI2_SUCCESS)
        return bad("put, fence");
    for (int other = 0; other < size; other++) {
        snprintf(key, sizeof(key), "key-%d-%d", round, other);
        value_of(other, round, wanted);
        if (PMI2_KVS_Get(other % 2 ? job : NULL, other, key, value, sizeof(value), &length) !=
                PMI2_SUCCESS ||
            length != (int)strlen(wanted) || strcmp(value, wanted) != 0)
            return bad(key);
    }
    return 0;
}

/* Odd ranks put a value that the others on the host wait for. */
static int node(int puts)
{
    char value[1024] = "";
    int found = 0;
    if (PMI2_Info_GetNodeAttr("never", value, sizeof(value), &found, 0) != PMI2_SUCCESS || found)
        return bad("an attribute of the node that is not there");
    if (puts && PMI2_Info_PutNodeAttr("shared", "segment 7") != PMI2_SUCCESS)
        return bad("put an attribute of the node");
    if (PMI2_Info_GetNodeAttr("shared", value, sizeof(value), &found, 1) != PMI2_SUCCESS ||
        !found || strcmp(value, "segment 7") != 0)
        return bad("wait for an attribute of the node");
    return 0;
}

static int parent(const char *self)
{
    const char *programs[] = {self, self}, *first[] = {"spawn", "a;b c"}, *second[] = {"spawn"};
    const char **argvs[] = {first, second};
    int argcs[] = {2, 1}, ranks[] = {1, 2}, nkeys[] = {1, 0}, errors[3] = {7, 7, 7};
    MPID_Info place = {.key = "wdir", .value = "/usr"};
    MPID_Info port = {.key = "PARENT_ROOT_PORT_NAME", .value = "tag;1$"};
    const MPID_Info *keys[] = {&place, NULL}, *pairs[] = {&port};
    char job[256] = "";
    if (PMI2_Nameserv_publish("spawner", NULL, "port;2$") != PMI2_SUCCESS)
        return bad("publish");
    if (PMI2_Nameserv_publish("spawner", NULL, "another") == PMI2_SUCCESS)
        return bad("the second publish is no error; it");
    if (PMI2_Job_Spawn(2, programs, argcs, argvs, ranks, nkeys, keys, 1, pairs, job, sizeof(job),
                       errors) != PMI2_SUCCESS)
        return bad("spawn");
    printf("job %s\n", job);
    for (int i = 0; i < 3; i++) { /* names end with the world that has published them */
        char name[16], found[16];
        snprintf(name, sizeof(name), "child %d", i);
        while (PMI2_Nameserv_lookup(name, NULL, found, sizeof(found)) != PMI2_SUCCESS)
            usleep(10000);
    }
    if (PMI2_Nameserv_unpublish("spawner", NULL) != PMI2_SUCCESS)
        return bad("unpublish");
    return 0;
}

static int child(const char *job, int rank, int app, const char *argument)
{
    char port[1024] = "", published[1024] = "", here[4096] = "";
    int length;
    if (PMI2_KVS_Get(job, 0, "PARENT_ROOT_PORT_NAME", port, sizeof(port), &length) !=
            PMI2_SUCCESS ||
        PMI2_Nameserv_lookup("spawner", NULL, published, sizeof(published)) != PMI2_SUCCESS ||
        !getcwd(here, sizeof(here)))
        return bad("the parent's port");
    printf("child %d app %d '%s' in %s ports %s %s\n", rank, app, argument,
           strcmp(here, "/usr") ? "elsewhere" : here, port, published);
    snprintf(here, sizeof(here), "child %d", rank);
    if (PMI2_Nameserv_publish(here, NULL, "done") != PMI2_SUCCESS)
        return bad("publish");
    while (PMI2_Nameserv_lookup("spawner", NULL, published, sizeof(published)) == PMI2_SUCCESS)
        usleep(10000);
    return PMI2_KVS_Fence() == PMI2_SUCCESS ? 0 : bad("fence");
}

int main(int argc, char **argv)
{
    int spawned, size, rank, app, found = 0;
    char job[256], mapping[1024] = "none", universe[1024] = "none";
    if (PMI2_Init(&spawned, &size, &rank, &app) != PMI2_SUCCESS ||
        PMI2_Job_GetId(job, sizeof(job)) != PMI2_SUCCESS)
        return bad("init");
    if (argc > 1 && !strcmp(argv[1], "abort")) {
        if (rank == size - 1)
            PMI2_Abort(1, "said by the last rank");
        PMI2_KVS_Fence();
    }
    if (argc > 1 && !strcmp(argv[1], "spawn")) {
        int rc = spawned ? child(job, rank, app, argc > 2 ? argv[2] : "") : parent(argv[0]);
        return PMI2_Finalize() == PMI2_SUCCESS ? rc : bad("finalize");
    }
    if (PMI2_Info_GetJobAttr("PMI_process_mapping", mapping, sizeof(mapping), &found) !=
            PMI2_SUCCESS ||
        PMI2_Info_GetJobAttr("universeSize", universe, sizeof(universe), &found) != PMI2_SUCCESS)
        return bad("attributes of the job");
    for (int round = 0; round < 3; round++)
        if (exchange(job, rank, size, round))
            return 1;
    if (node(rank % 2))
        return 1;
    printf("rank %d of %d app %d spawned %d %s universe %s ok\n", rank, size, app, spawned, mapping,
           universe);
    return PMI2_Finalize() == PMI2_SUCCESS ? 0 : bad("finalize");
}
