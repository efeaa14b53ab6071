/* SPDX-License-Identifier: BSD-3-Clause */
/* init-finalize.c - the shortest MPI program; fails when it is not the one world of N ranks
 *
 *     init-finalize N */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Finalize();
    return argc > 1 && size != atoi(argv[1]);
}
