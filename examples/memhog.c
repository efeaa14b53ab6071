/* SPDX-License-Identifier: BSD-3-Clause */
/* memhog.c - touch memory and hold it: what a memory limit does to a rank (no MPI)
 *
 *     memhog MIB [SECONDS [RATE]]   touch MIB mebibytes, at most RATE in a second, say so, wait
 *                                   SECONDS (0), free and exit
 *
 * With MPRUN_HOG_RANK=R in the environment only the rank of that number does; others wait. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *my_rank(void)
{
    static const char *const names[] = {"PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (getenv(names[i]))
            return getenv(names[i]);
    }
    return "0";
}

static long argument(const char *text, const char *what)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (end == text || *end || n < 0) {
        fprintf(stderr, "memhog: %s '%s' is no number of 0 or more\n", what, text);
        exit(2);
    }
    return n;
}

/* rate: mebibytes in a second; 0: as fast as it goes */
static void touch(char *block, long mib, long rate)
{
    struct timespec each = {0, 0};
    if (rate > 0) {
        each.tv_sec = 1 / rate;
        each.tv_nsec = 1000000000L / rate % 1000000000L;
    }
    for (long i = 0; i < mib; i++) {
        memset(block + ((size_t)i << 20), (int)i | 1, 1 << 20);
        if (rate > 0)
            nanosleep(&each, NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: memhog MIB [SECONDS [RATE]]\n");
        return 2;
    }
    long mib = argument(argv[1], "size");
    long seconds = argc > 2 ? argument(argv[2], "time") : 0;
    long rate = argc > 3 ? argument(argv[3], "rate") : 0;
    const char *only = getenv("MPRUN_HOG_RANK");
    char *block = NULL;

    if (!only || strcmp(only, my_rank()) == 0) {
        block = malloc((size_t)mib << 20);
        if (!block && mib) {
            perror("memhog: malloc");
            return 1;
        }
        touch(block, mib, rate);
        printf("rank %s: %ld MiB touched\n", my_rank(), mib);
        fflush(stdout);
    }
    for (unsigned left = (unsigned)seconds; left;)
        left = sleep(left);
    free(block);
    return 0;
}
