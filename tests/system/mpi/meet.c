/* SPDX-License-Identifier: BSD-3-Clause */
/* meet.c - the ranks of two programs meet at a port
 *     meet open NAME               publishes a port under NAME, and accepts nobody there until it
 * is ended meet accept NAME [THEN]      publishes a port under NAME, and waits there meet connect
 * NAME [THEN]     comes to that port meet connect port=PORT       the same without a name
 *
 * Every rank sends to every rank of the other program, both ways, and all add up all. Then they
 * disconnect: THEN is a file that all await before. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "add-up.h"

static int rank, size;

/* False: some rank of the other side has sent something else than its number. */
static int exchange(MPI_Comm between, int remote)
{
    int *theirs = calloc((size_t)remote, sizeof(*theirs)), ok = 1, n = 2 * remote;
    MPI_Request *all = calloc((size_t)n, sizeof(*all));
    for (int i = 0; i < remote; i++) {
        MPI_Irecv(&theirs[i], 1, MPI_INT, i, 7, between, &all[i]);
        MPI_Isend(&rank, 1, MPI_INT, i, 7, between, &all[remote + i]);
    }
    MPI_Waitall(n, all, MPI_STATUSES_IGNORE);
    for (int i = 0; i < remote; i++)
        ok = ok && theirs[i] == i;
    free(theirs);
    free(all);
    return ok;
}

static int find_port(const char *name, char *port)
{
    if (!strncmp(name, "port=", 5)) {
        strncpy(port, name + 5, MPI_MAX_PORT_NAME - 1);
        return MPI_SUCCESS;
    }
    return MPI_Lookup_name(name, MPI_INFO_NULL, port);
}

static int come_together(const char *how, const char *name, MPI_Comm *ret)
{
    char port[MPI_MAX_PORT_NAME] = "";
    if (!strcmp(how, "connect"))
        return rank || find_port(name, port) == MPI_SUCCESS
                   ? MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, ret)
                   : MPI_ERR_NAME;
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name(name, MPI_INFO_NULL, port);
        printf("open %s\n", port);
        fflush(stdout);
    }
    while (!strcmp(how, "open"))
        pause();
    return MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, ret);
}

int main(int argc, char **argv)
{
    MPI_Comm between;
    int remote, accepts = argc > 1 && !strcmp(argv[1], "accept");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (argc < 3 || come_together(argv[1], argv[2], &between) != MPI_SUCCESS) {
        printf("rank %d: no connection\n", rank);
        fflush(stdout);
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
    MPI_Comm_remote_size(between, &remote);
    int ok = exchange(between, remote), all = add_up(between, accepts);
    printf("rank %d of %d met %d, all %d%s\n", rank, size, remote, all, ok ? "" : ", wrong");
    fflush(stdout);
    while (argc > 3 && access(argv[3], F_OK) < 0)
        usleep(10000);
    int rc = MPI_Comm_disconnect(&between);
    printf("rank %d: %s\n", rank, rc == MPI_SUCCESS ? "parted" : "could not part");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
