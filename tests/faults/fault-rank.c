/* SPDX-License-Identifier: BSD-3-Clause */
/* fault-rank.c - what the fault tests run: a rank that stays, and a daemon that it leaves behind
 *
 *     fault-rank DIR LEAVER IGNORE
 *
 * The daemon (forked twice, a session of its own, deaf to TERM) holds the rank's pipes. When it is
 * there its pid is in DIR/grandchild.RANK, and then the rank's in DIR/ready.RANK. The rank numbered
 * LEAVER (-1: none) exits with 0; the others do when somebody opens the FIFO DIR/finish for
 * writing. IGNORE 1: they are deaf to TERM. Compiled with WITH_MPI it does this inside MPI, and
 * those that do not leave wait after MPI_Finalize where there is a leaver. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef WITH_MPI
#include <mpi.h>
#endif

static const char *dir;

static void die(const char *what)
{
    perror(what);
    exit(9);
}

/* The file appears with its whole text or not at all. */
static void write_number(const char *name, int rank, int number)
{
    char path[512], made[512];
    snprintf(path, sizeof(path), "%s/%s.%d", dir, name, rank);
    snprintf(made, sizeof(made), "%s/.%s.%d", dir, name, rank);
    FILE *f = fopen(made, "w");
    if (!f || fprintf(f, "%d\n", number) < 0 || fclose(f) != 0 || rename(made, path) != 0)
        die(path);
}

static void leave_daemon(int rank)
{
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child > 0) {
        if (waitpid(child, NULL, 0) < 0)
            die("waitpid");
        return;
    }
    setsid();
    pid_t daemon = fork();
    if (daemon < 0)
        die("fork");
    if (daemon > 0)
        _exit(0);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    write_number("grandchild", rank, getpid());
    for (;;)
        pause();
}

static void wait_for(const char *name, int rank)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s.%d", dir, name, rank);
    while (access(path, F_OK) < 0)
        usleep(1000);
}

static void wait_for_finish(void)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/finish", dir);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        die(path);
    close(fd);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 9;
    dir = argv[1];
    int leaver = atoi(argv[2]), rank;
    if (atoi(argv[3]))
        signal(SIGTERM, SIG_IGN);
#ifdef WITH_MPI
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#else
    rank = atoi(getenv("PMIX_RANK") ? getenv("PMIX_RANK") : "0");
#endif
    leave_daemon(rank);
    wait_for("grandchild", rank);
    write_number("ready", rank, getpid());
    if (leaver < 0)
        wait_for_finish();
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    if (leaver >= 0 && rank != leaver)
        wait_for_finish();
    return 0;
}
