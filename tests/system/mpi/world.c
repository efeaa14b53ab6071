/* SPDX-License-Identifier: BSD-3-Clause */
/* world.c - is this one world? Every rank talks to every other, and nobody passes a barrier, or the
 * end of MPI_Finalize, before all are there
 *
 *     world [DIRECTORY]
 *
 * DIRECTORY is empty, and of all ranks of this run: the files that prove the order are made there.
 * Each rank prints "rank R of N app A shared S ok", or what is wrong instead of ok. */
#include <mpi.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int rank, size;
static const char *directory;

/* Everybody's number from everybody, at once. */
static const char *gather(void)
{
    int *all = calloc((size_t)size, sizeof(*all)), mine = 1000 + rank;
    const char *wrong = NULL;
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        if (all[i] != 1000 + i)
            wrong = "allgather";
    free(all);
    return wrong;
}

/* Everybody's number from everybody, one after the other: a connection for each pair. */
static const char *pairs(void)
{
    for (int d = 1; d < size; d++) {
        int to = (rank + d) % size, from = (rank + size - d) % size, sent = rank * size + to, got;
        MPI_Sendrecv(&sent, 1, MPI_INT, to, d, &got, 1, MPI_INT, from, d, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (got != from * size + rank)
            return "a pair";
    }
    return NULL;
}

static void mark(const char *phase)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.%d", directory, phase, rank);
    int fd = open(path, O_CREAT | O_WRONLY | O_EXCL, 0600);
    if (fd < 0 || close(fd) < 0)
        perror(path);
}

static int all_marked(const char *phase)
{
    char path[4096];
    for (int i = 0; i < size; i++) {
        snprintf(path, sizeof(path), "%s/%s.%d", directory, phase, i);
        if (access(path, F_OK) < 0)
            return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    MPI_Comm shared;
    int nshared = 0, has_app = 0, *app = NULL;
    directory = argc > 1 ? argv[1] : NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &app, &has_app);
    int number = has_app ? *app : -1;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
    MPI_Comm_size(shared, &nshared);
    MPI_Comm_free(&shared);
    const char *wrong = gather();
    if (!wrong)
        wrong = pairs();
    if (directory)
        mark("barrier");
    MPI_Barrier(MPI_COMM_WORLD);
    if (!wrong && directory && !all_marked("barrier"))
        wrong = "the barrier";
    if (directory)
        mark("finalize");
    MPI_Finalize();
    if (!wrong && directory && !all_marked("finalize"))
        wrong = "the end of MPI_Finalize";
    printf("rank %d of %d app %d shared %d %s\n", rank, size, number, nshared,
           wrong ? wrong : "ok");
    return wrong != NULL;
}
