/* SPDX-License-Identifier: BSD-3-Clause */
/* add-up.h - do the ranks of both sides of an intercommunicator reach each other? */
#pragma once

#include <mpi.h>

/* 1 + 2 + ... + all, by everybody of both sides. */
static int add_up(MPI_Comm between, int high)
{
    MPI_Comm all;
    int mine, n, sum = 0;
    MPI_Intercomm_merge(between, high, &all);
    MPI_Comm_rank(all, &mine);
    MPI_Comm_size(all, &n);
    mine++;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_free(&all);
    return sum == n * (n + 1) / 2 ? n : -1;
}
