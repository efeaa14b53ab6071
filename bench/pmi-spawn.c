/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi-spawn.c - how long a spawn of N ranks of this program takes: prints microseconds
 *
 *     pmi-spawn mpi N     MPI_Comm_spawn, until parent and children have a communicator
 *     pmi-spawn pmi1 N    a spawn by PMI-1, until all children have said that they run: each writes
 * a byte into a pipe that it inherits by name */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int over_mpi(int argc, char **argv)
{
    MPI_Comm parent, children;
    char *words[] = {"mpi", "0", NULL};
    int n = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        double begin = now_us();
        MPI_Comm_spawn(argv[0], words, n, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children,
                       MPI_ERRCODES_IGNORE);
        printf("%.0f\n", now_us() - begin);
        MPI_Comm_disconnect(&children);
    } else {
        MPI_Comm_disconnect(&parent);
    }
    MPI_Finalize();
    return 0;
}

static void ask(FILE *pmi, const char *text)
{
    char answer[1024];
    fputs(text, pmi);
    fflush(pmi);
    if (!fgets(answer, sizeof(answer), pmi))
        exit(1);
}

/* n and a name of the pipe: a child. */
static int over_pmi1(int argc, char **argv)
{
    char text[1024], name[64], here[4096] = "";
    FILE *pmi = fdopen(atoi(getenv("PMI_FD") ? getenv("PMI_FD") : "-1"), "r+");
    if (!pmi || readlink("/proc/self/exe", here, sizeof(here) - 1) < 0)
        return 1;
    setvbuf(pmi, NULL, _IOLBF, 4096);
    ask(pmi, "cmd=init pmi_version=1 pmi_subversion=1\n");
    if (argc > 3) {
        int fd = open(argv[3], O_WRONLY);
        if (write(fd, "x", 1) != 1)
            return 1;
    } else {
        snprintf(name, sizeof(name), "/tmp/pmi-spawn.%d", (int)getpid());
        if (mkfifo(name, 0600) < 0)
            return 1;
        int fd = open(name, O_RDWR);
        double begin = now_us();
        snprintf(text, sizeof(text),
                 "mcmd=spawn\nnprocs=%s\nexecname=%s\ntotspawns=1\nspawnssofar=1\narg1=pmi1\n"
                 "arg2=%s\narg3=%s\nargcnt=3\npreput_num=0\ninfo_num=0\nendcmd\n",
                 argv[2], here, argv[2], name);
        ask(pmi, text);
        for (int i = 0; i < atoi(argv[2]); i++)
            if (read(fd, text, 1) != 1)
                return 1;
        printf("%.0f\n", now_us() - begin);
        unlink(name);
    }
    ask(pmi, "cmd=finalize\n");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    return strcmp(argv[1], "pmi1") ? over_mpi(argc, argv) : over_pmi1(argc, argv);
}
