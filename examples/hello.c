/* SPDX-License-Identifier: BSD-3-Clause */
/* hello.c - every rank says where it is: the first program to try */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>

/* "0-1" for the hardware threads this process may run on. */
static void print_cpus(char *buf, size_t n)
{
    cpu_set_t set;
    size_t used = 0;

    buf[0] = '\0';
    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE && used + 16 < n; cpu++) {
        if (!CPU_ISSET(cpu, &set))
            continue;
        int last = cpu;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
            last++;
        used += (size_t)snprintf(buf + used, n - used, last > cpu ? "%s%d-%d" : "%s%d",
                                 used ? "," : "", cpu, last);
        cpu = last;
    }
}

int main(int argc, char **argv)
{
    char host[MPI_MAX_PROCESSOR_NAME], cpus[256];
    int rank, size, len;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &len);
    print_cpus(cpus, sizeof(cpus));
    printf("rank %d of %d on %s, hardware threads %s\n", rank, size, host, cpus);
    MPI_Finalize();
    return 0;
}
