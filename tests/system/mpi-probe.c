/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi-probe.c - what the tests of PMI run as ranks: mpi-probe hello|abort|... */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

/* "rank R size N local L universe U sum S": the sum proves that all ranks reach each other. */
static int hello(void)
{
    MPI_Comm local;
    int nlocal, mine = rank + 1, sum = 0, has_universe, *universe;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    MPI_Comm_size(local, &nlocal);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &has_universe);
    printf("rank %d size %d local %d universe %d sum %d\n", rank, size, nlocal,
           has_universe ? *universe : -1, sum);
    MPI_Comm_free(&local);
    MPI_Finalize();
    return 0;
}

/* The last rank aborts while the others wait for it. */
static int abort_last(void)
{
    if (rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

static int die_last(void)
{
    if (rank == size - 1)
        raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

/* Exit without MPI_Finalize, and with success. */
static int leave(void)
{
    fflush(NULL);
    _exit(0);
}

/* The first rank publishes a name that the last one looks up. */
static int publish(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    if (rank == 0) {
        MPI_Publish_name("probe-service", MPI_INFO_NULL, "a port");
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Unpublish_name("probe-service", MPI_INFO_NULL, "a port");
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Lookup_name("probe-service", MPI_INFO_NULL, port);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    printf("found '%s'\n", port);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } commands[] = {
        {"hello", hello}, {"abort", abort_last}, {"die", die_last},
        {"leave", leave}, {"publish", publish},
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (argc == 2 && !strcmp(argv[1], commands[i].name))
            return commands[i].run();
    fprintf(stderr, "usage: mpi-probe COMMAND\n");
    return 2;
}
