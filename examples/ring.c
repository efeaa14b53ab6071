/* SPDX-License-Identifier: BSD-3-Clause */
/* ring.c - a number goes round all ranks; each adds its own, and rank 0 checks the sum
 *
 *     ring [ROUNDS]          (1000)
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static long long go_round(int rank, int size, long long value)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;

    if (size == 1)
        return value;
    if (rank == 0)
        MPI_Send(&value, 1, MPI_LONG_LONG, next, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_LONG_LONG, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0) {
        value += rank;
        MPI_Send(&value, 1, MPI_LONG_LONG, next, 0, MPI_COMM_WORLD);
    }
    return value;
}

int main(int argc, char **argv)
{
    int rank, size;
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    long long value = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double start = MPI_Wtime();
    for (long i = 0; i < rounds; i++)
        value = go_round(rank, size, value);
    double seconds = MPI_Wtime() - start;

    int wrong = 0;
    if (rank == 0) {
        long long expected = (long long)rounds * size * (size - 1) / 2;
        wrong = value != expected;
        printf("%d ranks, %ld rounds: sum %lld, expected %lld: %s (%.3f s)\n", size, rounds, value,
               expected, wrong ? "WRONG" : "ok", seconds);
    }
    MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong;
}
